"""The history of runs, and the claims of their slots.

The claim and the row of a run are on the disk before the run does anything. The end of a run is not
flushed: after a power cut it may read "abandoned".
"""

import json
import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any

from pi_appliance.config.options import NotifyTargets, Retention
from pi_appliance.storage.database import (
    Database,
    DatabaseCorrupt,
    Repository,
    Transaction,
    Values,
    auto_repair,
    format_instant,
    parse_instant,
)
from pi_appliance.storage.model import Outcome, Run, Trigger
from pi_appliance.storage.notification_rules import queue_notifications
from pi_appliance.storage.run_requests import RunRequestStore, consume_request, request_id
from pi_appliance.system import clock, files

log = logging.getLogger("pi_appliance.history")
DATABASE = "history.db"


@dataclass(frozen=True, slots=True)
class Total:
    """All runs of a job with one outcome since the installation: number, seconds and delay."""

    job: str
    outcome: Outcome
    runs: int
    seconds: float
    delay_seconds: float


def record_end(db: Transaction, run: Run, targets: NotifyTargets | None, *, now: datetime) -> None:
    """Count the ended `run` and queue notifications, in the transaction that ends it."""
    _add_to_totals(db, run)
    if targets is not None and run.outcome is not None:
        queue_notifications(db, run.job, run.id, run.outcome, targets, now=now)


def _add_to_totals(db: Transaction, run: Run) -> None:
    late = 0.0
    if run.scheduled_for and run.scheduled_for[:1].isdigit() and run.attempts:
        late = max(0.0, (run.started - datetime.fromisoformat(run.scheduled_for)).total_seconds())
    seconds = max(0.0, run.duration.total_seconds()) if run.duration and run.attempts else 0.0
    db.execute(
        "INSERT INTO run_totals (job, outcome, runs, seconds, delay_seconds)"
        " VALUES (:job, :outcome, :runs, :seconds, :delay)"
        " ON CONFLICT DO UPDATE SET runs = runs + :runs, seconds = seconds + :seconds,"
        " delay_seconds = delay_seconds + :delay",
        {"job": run.job, "outcome": run.outcome, "runs": run.slot_count, "seconds": seconds, "delay": late},
    )


def parse_run(row: Any) -> Run:
    """Convert a row of `runs`. Raises `DatabaseCorrupt`."""
    try:
        return Run(
            id=row["id"],
            job=row["job"],
            kind=row["kind"],
            trigger=Trigger(row["trigger"]),
            scheduled_for=row["scheduled_for"],
            first_slot=row["first_slot"],
            slot_count=row["slot_count"],
            started=parse_instant(row["started"]),
            ended=parse_instant(row["ended"]) if row["ended"] else None,
            outcome=Outcome(row["outcome"]) if row["outcome"] else None,
            summary=row["summary"],
            details=json.loads(row["details"]),
            attempts=row["attempts"],
        )
    except (ValueError, TypeError) as error:
        raise DatabaseCorrupt(f"the history is damaged: a run is invalid: {error}") from None


def parse_total(row: Any) -> Total:
    """Convert a row of `run_totals`. Raises `DatabaseCorrupt`."""
    try:
        return Total(row["job"], Outcome(row["outcome"]), row["runs"], row["seconds"], row["delay_seconds"])
    except ValueError as error:
        raise DatabaseCorrupt(f"the history is damaged: a total is invalid: {error}") from None


_SEAL = "lost "  # prefix of claims that block all earlier slots, because claims were lost


@dataclass(frozen=True, slots=True)
class ScheduleCursor:
    """The schedule of a job since `since`. Its slots up to `accounted_until` are accounted for."""

    schedule: str
    since: datetime
    accounted_until: datetime


@dataclass(frozen=True, slots=True)
class Pause:
    """A pause of a job from `since` to `until`. Without `until`, a person ends it."""

    since: datetime
    until: datetime | None
    ended: bool = False
    """Whether a person ended it."""

    def is_active(self, now: datetime) -> bool:
        """Return whether the pause applies at `now`. One in the future (wrong clock) does not."""
        if self.ended:
            return False
        return self.until is None or self.since <= now < self.until


@dataclass(frozen=True, slots=True, kw_only=True)
class AccountedSlots:
    """`count` unused slots of a job from `first` to `last`, and the reason."""

    job: str
    kind: str
    trigger: Trigger
    first: str
    last: str
    count: int
    outcome: Outcome
    summary: str
    notify_targets: NotifyTargets | None = None


class Slots(Repository):
    """Access to unused slots, cursors and pauses."""

    def record_unused(self, unused: Sequence[AccountedSlots], *, now: datetime, until: datetime | None = None) -> None:
        """Save `unused` in one transaction and account for all slots of that job up to `until`.

        A single slot that is not before `until` is claimed, so that it is not recorded twice.
        """
        if not unused:
            return
        with self._db.writing(durable=until is None) as db:
            for each in unused:
                row = db.execute(
                    "INSERT INTO runs"
                    " (job, kind, trigger, scheduled_for, first_slot, slot_count, started, ended, outcome, summary)"
                    " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?) RETURNING *",
                    (
                        *(each.job, each.kind, each.trigger, each.last, each.first if each.count > 1 else None),
                        *(each.count, format_instant(now), format_instant(now), each.outcome, each.summary),
                    ),
                ).fetchone()
                record_end(db, parse_run(row), each.notify_targets, now=now)
                if each.count == 1 and (until is None or each.last[:19] > format_instant(until)[:19]):
                    db.execute(
                        "INSERT OR IGNORE INTO claims (key, run, at) VALUES (?, ?, ?)",
                        (slot_key(each.job, each.last), row["id"], format_instant(now)),
                    )
            if until is not None:
                db.execute(
                    "UPDATE schedule_cursors SET accounted_until = ? WHERE job = ?",
                    (format_instant(until), unused[0].job),
                )

    def cursors(self) -> dict[str, ScheduleCursor]:
        """Return how far the slots of each job are accounted for."""
        rows = self._db.rows("SELECT * FROM schedule_cursors", ())
        return {
            row["job"]: ScheduleCursor(
                row["schedule"], parse_instant(row["since"]), parse_instant(row["accounted_until"])
            )
            for row in rows
        }

    def start_cursor(self, job: str, schedule: str, *, since: datetime) -> None:
        """Set the schedule of `job`, valid from `since`."""
        with self._db.writing() as db:
            db.execute(
                "INSERT OR REPLACE INTO schedule_cursors VALUES (?, ?, ?, ?)",
                (job, schedule, format_instant(since), format_instant(since)),
            )

    def advance_cursor(self, job: str, until: datetime) -> None:
        """Record that all slots of `job` up to `until` are accounted for."""
        with self._db.writing() as db:
            db.execute("UPDATE schedule_cursors SET accounted_until = ? WHERE job = ?", (format_instant(until), job))

    def claimed_slots(self, job: str, after: datetime, until: datetime) -> set[str]:
        """Return the claimed slots of `job` from `after` to `until`, both included, in seconds."""
        first, last = slot_key(job, format_instant(after)[:19]), slot_key(job, format_instant(until)[:19])
        rows = self._db.rows("SELECT key FROM claims WHERE key BETWEEN ? AND ?", (first, last + "Z"))
        start = len(slot_key(job, ""))
        return {row["key"][start:] for row in rows}

    def find_runs(self, job: str, first: str, last: str) -> list[Run]:
        """Return the runs that account for slots from `first` to `last`, the newest first."""
        query = (
            "SELECT * FROM runs WHERE job = ? AND scheduled_for >= ?"
            " AND coalesce(first_slot, scheduled_for) <= ? ORDER BY id DESC"
        )
        return [parse_run(row) for row in self._db.rows(query, (job, first, last))]

    def last_slot_with_prefix(self, job: str, beginning: str) -> str | None:
        """Return the newest slot of `job` that starts with `beginning`."""
        query = "SELECT scheduled_for FROM runs WHERE job = ? AND scheduled_for GLOB ? ORDER BY id DESC LIMIT 1"
        return next((str(row["scheduled_for"]) for row in self._db.rows(query, (job, beginning + "*"))), None)

    def pauses(self) -> dict[str, Pause]:
        """Return the pause of each job, also ended ones whose slots are not accounted for yet."""
        rows = self._db.rows("SELECT * FROM job_pauses", ())
        return {
            row["job"]: Pause(
                parse_instant(row["since"]), parse_instant(row["until"]) if row["until"] else None, bool(row["ended"])
            )
            for row in rows
        }

    def pause(self, job: str, *, since: datetime, until: datetime | None) -> None:
        """Pause `job`. A job that is already paused keeps its `since`."""
        with self._db.writing(durable=True) as db:
            db.execute(
                "INSERT INTO job_pauses (job, since, until) VALUES (:job, :since, :until)"
                " ON CONFLICT DO UPDATE SET until = :until, ended = 0",
                {"job": job, "since": format_instant(since), "until": until and format_instant(until)},
            )

    def end_pause(self, job: str, *, at: datetime) -> None:
        """End the pause of `job`. Its slots are accounted for later."""
        with self._db.writing(durable=True) as db:
            db.execute("UPDATE job_pauses SET until = ?, ended = 1 WHERE job = ?", (format_instant(at), job))

    def delete_pause(self, job: str) -> None:
        """Delete the pause of `job`."""
        with self._db.writing(durable=True) as db:
            db.execute("DELETE FROM job_pauses WHERE job = ?", (job,))


def slot_key(job: str, due: str) -> str:
    """Return the key of the claim to the slot `due` of `job`."""
    return f"slot {job} {due}"


def insert_claims(db: Transaction, known: Mapping[str, int], *, at: datetime) -> None:
    """Insert the claims `known`: the key of a slot, and the run that claimed it.

    Existing claims stay.
    """
    db.executemany(
        "INSERT OR IGNORE INTO claims (key, run, at) VALUES (?, ?, ?)",
        [(key, run, format_instant(at)) for key, run in known.items()],
    )


def bump_run_id(db: Transaction, newest: int) -> None:
    """Let the next run id be higher than `newest`."""
    db.execute("INSERT INTO sqlite_sequence SELECT 'runs', 0 WHERE 'runs' NOT IN (SELECT name FROM sqlite_sequence)")
    db.execute("UPDATE sqlite_sequence SET seq = max(seq, ?) WHERE name = 'runs'", (newest,))


def block_unknown_slots(db: Transaction, *, at: datetime, boot: str, newest: int) -> None:
    """Block all slots before `at`, of this `boot`, and those that depend on runs up to `newest`.

    Used after claims were lost: an unknown slot may have run.
    """
    bump_run_id(db, newest)
    db.execute(
        "INSERT OR REPLACE INTO claims (key, run, at) VALUES (?, ?, ?)", (_SEAL + boot, newest, format_instant(at))
    )
    db.execute("UPDATE schedule_cursors SET accounted_until = max(accounted_until, ?)", (format_instant(at),))
    db.execute("UPDATE schedule_cursors SET since = max(since, ?) WHERE schedule GLOB 'after:*'", (format_instant(at),))


def is_blocked(db: Transaction, due: str) -> bool:
    """Return whether the claim to the slot `due` may have been lost."""
    for row in db.execute(f"SELECT key, run, at FROM claims WHERE key GLOB '{_SEAL}*'").fetchall():  # noqa: S608 - ours
        numbers = [int(number) for number in due.removeprefix("after:").split("+") if number.isdigit()]
        if due == row["key"].removeprefix(_SEAL) or (due[:1].isdigit() and due[:19] <= row["at"][:19]):
            return True
        if due.startswith("after:") and any(number <= row["run"] for number in numbers):
            return True
    return False


_MAX_AGE = timedelta(days=36_500)  # keeps the date calculation in range
_CHECKED_RUNS = 100  # recent runs of a job that are also checked for a slot, besides its claim
UNKNOWN_RUN = 0  # stands for the run of a slot whose claim may have been lost
_PRUNE_BATCH = 50  # rows deleted at the end of one run
_CLAIMS_KEPT = 5000  # of the newest runs, at any age: the clock may be years ahead for a day


@auto_repair
class Store(Database):
    """The database: runs and claims, unused slots (`slots`) and run requests (`requests`)."""

    def __init__(
        self, path: Path, *, read_only: bool = False, replace_file: Callable[[Path, str], None] | None = None
    ) -> None:
        super().__init__(path, read_only=read_only, replace_file=replace_file)
        self.slots, self.requests = Slots(self), RunRequestStore(self)

    def start_run(
        self, *, job: str, kind: str, trigger: Trigger, due: str | None, now: datetime
    ) -> tuple[int, int | None]:
        """Begin a run and claim its slot, or consume its run request, in one durable transaction.

        A manual run is durable, too: the lock of a job must not name a run that the database lacks.

        Returns:
            The id of the run, and the id of the run that had the slot before: None without one,
            `UNKNOWN_RUN` if the claim may have been lost with a damaged file.
        """
        with self.writing(durable=True) as db:
            row = db.execute(
                "INSERT INTO runs (job, kind, trigger, scheduled_for, started) VALUES (?, ?, ?, ?, ?)",
                (job, kind, trigger, due, format_instant(now)),
            )
            run = int(row.lastrowid or 0)
            if (ask := request_id(due)) is not None:
                return run, None if consume_request(db, ask) else _find_consumer(db, job, due, run)
            return run, None if due is None else self._take_slot(db, job, due, run, now)

    def finish_run(
        self,
        run: int,
        outcome: Outcome,
        summary: str,
        *,
        now: datetime,
        attempts: int = 0,
        details: Mapping[str, Any] | None = None,
        targets: NotifyTargets | None = None,
    ) -> None:
        """Save the end of a run and notify `targets`. A run that has ended is not changed."""
        with self.writing() as db:
            row = db.execute(
                "UPDATE runs SET ended = ?, outcome = ?, summary = ?, details = ?, attempts = ?"
                " WHERE id = ? AND ended IS NULL RETURNING *",
                (format_instant(now), outcome, summary, json.dumps(dict(details or {})), attempts, run),
            ).fetchone()
            if row is not None:
                record_end(db, parse_run(row), targets, now=now)

    def restore_run(self, run: Run) -> Run:
        """Insert `run`, which is missing because the database was replaced while it ran."""
        with self.writing() as db:
            db.execute(
                "INSERT OR REPLACE INTO runs"
                " (id, job, kind, trigger, scheduled_for, started, ended, outcome, summary, attempts)"
                " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                (
                    *(run.id, run.job, run.kind, run.trigger, run.scheduled_for, format_instant(run.started)),
                    *(run.ended and format_instant(run.ended), run.outcome, run.summary, run.attempts),
                ),
            )
            record_end(db, run, None, now=run.ended or run.started)
        return run

    def max_run_id(self) -> int:
        """Return the highest run id ever used."""
        rows = self.rows("SELECT seq FROM sqlite_sequence WHERE name = 'runs'", ())
        return int(rows[0]["seq"]) if rows else 0

    def seal(self, *, at: datetime, boot: str, newest: int, known: Mapping[str, int]) -> None:
        """Insert the claims `known`, and block all slots before `at` and of this `boot`.

        This is used if a run `newest` began that the database does not know: it may lack more.
        """
        with self.writing(durable=True) as db:
            insert_claims(db, known, at=at)
            block_unknown_slots(db, at=at, boot=boot, newest=newest)

    def abandon_runs(self, job: str, *, now: datetime, targets: NotifyTargets | None = None) -> None:
        """Mark the unfinished runs of `job` as abandoned, and notify `targets`.

        The caller holds its lock.
        """
        if not self.active_runs(job):
            return
        with self.writing() as db:
            rows = db.execute(
                "UPDATE runs SET ended = ?, outcome = ?, summary = ? WHERE job = ? AND ended IS NULL RETURNING *",
                (format_instant(now), Outcome.ABANDONED, "its process vanished: a power cut, or it was killed", job),
            ).fetchall()
            for run in sorted(map(parse_run, rows), key=lambda run: run.id):
                record_end(db, run, targets, now=now)

    def is_claimed(self, key: str) -> bool:
        """Return whether `key` is claimed."""
        return bool(self.rows("SELECT 1 FROM claims WHERE key = ?", (key,)))

    def find_run(self, run: int) -> Run | None:
        """Return the run with the id `run`."""
        if not 0 < run < 2**63:  # SQLite cannot count further
            return None
        return next(iter(self._runs("WHERE id = ?", (run,))), None)

    def history(self, *, job: str | None = None, limit: int = 50, before: int | None = None) -> list[Run]:
        """Return at most `limit` runs of `job` or all jobs, newest first, older than `before`."""
        # Two queries, because SQLite would not use the index for "job IS NULL OR …".
        of_job = "job = :job AND " if job is not None else ""
        return self._runs(
            f"WHERE {of_job}id < coalesce(:before, 9223372036854775807) ORDER BY id DESC LIMIT :limit",
            {"job": job, "before": before, "limit": limit},
        )

    def latest_runs(self) -> dict[str, Run]:
        """Return the newest run of every job."""
        return {run.job: run for run in self._runs("WHERE id IN (SELECT max(id) FROM runs GROUP BY job)", ())}

    def last_success(self, job: str) -> Run | None:
        """Return the newest successful run of `job`."""
        return next(
            iter(self._runs("WHERE job = ? AND outcome = ? ORDER BY id DESC LIMIT 1", (job, Outcome.SUCCEEDED))), None
        )

    def newest(self) -> list[Run]:
        """Return, for each job and each outcome that it ever had, the newest run."""
        return self._runs("WHERE id IN (SELECT max(id) FROM runs WHERE ended IS NOT NULL GROUP BY job, outcome)", ())

    def count_undelivered(self) -> int:
        """Return the number of notifications that wait to be sent."""
        return int(self.rows("SELECT count(*) FROM outbox WHERE sent_at IS NULL", ())[0][0])

    def last_unskipped_run(self, job: str) -> Run | None:
        """Return the newest run of `job` that was not skipped."""
        where = "WHERE job = ? AND outcome IS NOT ? ORDER BY id DESC LIMIT 1"
        return next(iter(self._runs(where, (job, Outcome.SKIPPED))), None)

    def active_runs(self, job: str | None = None) -> list[Run]:
        """Return the runs of `job`, or of all jobs, that have not ended."""
        return self._runs("WHERE ended IS NULL AND (:job IS NULL OR job = :job) ORDER BY id", {"job": job})

    def totals(self) -> list[Total]:
        """Return the totals since the installation for each job and outcome."""
        return [parse_total(row) for row in self.rows("SELECT * FROM run_totals ORDER BY job, outcome", ())]

    def prune(self, job: str, keep: Retention, *, now: datetime) -> list[tuple[str, int]]:
        """Delete a few runs of `job` beyond the limits `keep`, and return them as job and id.

        Old claims are deleted too, except those of the newest runs, in case the clock was wrong.
        """
        old = format_instant(now - min(keep.max_age, _MAX_AGE))
        query = (
            "SELECT job, id FROM runs WHERE ended IS NOT NULL AND ("
            "id IN (SELECT id FROM runs ORDER BY id LIMIT :few) AND started < :old OR "
            "id IN (SELECT id FROM runs WHERE job = :job ORDER BY id DESC LIMIT :few OFFSET :runs))"
        )
        going = self.rows(query, {"job": job, "few": _PRUNE_BATCH, "old": old, "runs": keep.max_runs})
        if going:
            with self.writing() as db:
                db.executemany("DELETE FROM runs WHERE id = ?", [(row["id"],) for row in going])
                db.execute(
                    "DELETE FROM claims WHERE key GLOB 'slot *' AND at < ? AND run <= (SELECT max(id) FROM runs) - ?",
                    (old, _CLAIMS_KEPT),
                )
        return [(row["job"], row["id"]) for row in going]

    def _take_slot(self, db: Transaction, job: str, due: str, run: int, now: datetime) -> int | None:
        """Claim the slot, or return the run that has it.

        Recent runs are checked, in case a claim is lost.
        """
        before = self._take(db, slot_key(job, due), run, now)
        if before is not None:
            return before
        witness = db.execute(
            "SELECT id FROM (SELECT id, scheduled_for, attempts, ended, outcome FROM runs WHERE job = ? AND id < ?"
            " ORDER BY id DESC LIMIT ?) WHERE scheduled_for = ? AND (attempts > 0 OR ended IS NULL OR outcome = ?)",
            (job, run, _CHECKED_RUNS, due, Outcome.ABANDONED),
        ).fetchone()
        if witness is not None:
            return int(witness["id"])
        return UNKNOWN_RUN if is_blocked(db, due) else None

    def _take(self, db: Transaction, key: str, run: int, now: datetime) -> int | None:
        taken = db.execute("SELECT run FROM claims WHERE key = ?", (key,)).fetchone()
        if taken is not None:
            return int(taken["run"])
        db.execute("INSERT INTO claims (key, run, at) VALUES (?, ?, ?)", (key, run, format_instant(now)))
        return None

    def _runs(self, where: str, values: Values) -> list[Run]:
        return [parse_run(row) for row in self.rows(f"SELECT * FROM runs {where}", values)]  # noqa: S608 - ours alone


def _find_consumer(db: Transaction, job: str, due: str | None, run: int) -> int:
    """Return the run before `run` that consumed the request `due`, else `UNKNOWN_RUN`."""
    query = "SELECT id FROM runs WHERE job = ? AND scheduled_for = ? AND id < ? ORDER BY id DESC LIMIT 1"
    row = db.execute(query, (job, due, run)).fetchone()
    return int(row["id"]) if row else UNKNOWN_RUN


def open_history(state: Path) -> Store:
    """Open the database in `state`; replace a damaged one with a warning. Raises Unavailable."""
    claims = _read_lock_claims(state)
    store = Store(state / DATABASE, replace_file=partial(_replace_damaged, state))
    newest = max((run for _, run, _ in claims), default=0)
    if newest > store.max_run_id():
        now = clock.now()
        store.seal(at=now, boot=clock.boot_id(), newest=newest, known=_claimed_slots(claims))
        log.warning(
            "%s does not know run %s, which was started: it was lost or replaced; no slot before %s is run again",
            *(store.path, newest, f"{now:%Y-%m-%d %H:%M:%S} UTC"),
        )
    return store


def _read_lock_claims(state: Path) -> list[tuple[str, int, str | None]]:
    """Return the job, run and slot that each lock file remembers."""
    claims = ((path.stem, files.read_lock_claim(path)) for path in (state / "locks").glob("*.lock"))
    return [(job, *claim) for job, claim in claims if claim]


def claims_of_locks(state: Path) -> dict[str, int]:
    """Return the slots that the lock files in `state` remember, with the ids of their runs."""
    return _claimed_slots(_read_lock_claims(state))


def _claimed_slots(claims: list[tuple[str, int, str | None]]) -> dict[str, int]:
    return {slot_key(job, slot): run for job, run, slot in claims if slot}


def _replace_damaged(state: Path, path: Path, damage: str) -> None:
    from pi_appliance.storage.damage_recovery import replace_and_warn  # noqa: PLC0415 - it needs this module

    replace_and_warn(state, path, damage)
