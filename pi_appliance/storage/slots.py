"""Unused slots, how far the slots of each job are accounted for, and paused jobs."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from pi_appliance.config.notifications import NotifyTargets
from pi_appliance.storage.database import Database, DatabaseCorrupt, Transaction, auto_repair, instant, text
from pi_appliance.storage.model import Outcome, Run, Trigger
from pi_appliance.storage.rows import closed, parse_run

_SEAL = "lost "  # prefix of claims that block all earlier slots, after claims were lost


@dataclass(frozen=True, slots=True)
class ScheduleCursor:
    """The current schedule of a job since `since`; all its slots up to `accounted_until` are accounted for."""

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
        """Return whether the pause holds at `now`. One in the future, set by a wrong clock, does not."""
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


@auto_repair
class Slots:
    """Access to unused slots, cursors and pauses. Methods raise `Unavailable`."""

    def __init__(self, db: Database) -> None:
        self._db = db

    def repair(self, error: DatabaseCorrupt) -> None:
        """Replace the damaged database. Raises `error` if it cannot be replaced."""
        self._db.repair(error)

    def record_unused(self, what: Sequence[AccountedSlots], *, now: datetime, until: datetime | None = None) -> None:
        """Save `what` in one transaction. All slots of that job up to `until` are accounted for then.

        A single slot that is not before `until` is claimed, so that it is not recorded twice.
        """
        if not what:
            return
        with self._db.writing(durable=until is None) as db:
            for each in what:
                row = db.execute(
                    "INSERT INTO runs"
                    " (job, kind, trigger, scheduled_for, first_slot, slot_count, started, ended, outcome, summary)"
                    " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?) RETURNING *",
                    (
                        *(each.job, each.kind, each.trigger, each.last, each.first if each.count > 1 else None),
                        *(each.count, text(now), text(now), each.outcome, each.summary),
                    ),
                ).fetchone()
                closed(db, parse_run(row), each.notify_targets, now=now)
                if each.count == 1 and (until is None or each.last[:19] > text(until)[:19]):
                    db.execute(
                        "INSERT OR IGNORE INTO claims (key, run, at) VALUES (?, ?, ?)",
                        (slot_key(each.job, each.last), row["id"], text(now)),
                    )
            if until is not None:
                db.execute("UPDATE schedule_cursors SET accounted_until = ? WHERE job = ?", (text(until), what[0].job))

    def cursors(self) -> dict[str, ScheduleCursor]:
        """Return the cursor of each job."""
        rows = self._db.rows("SELECT * FROM schedule_cursors", ())
        return {
            row["job"]: ScheduleCursor(row["schedule"], instant(row["since"]), instant(row["accounted_until"]))
            for row in rows
        }

    def start_cursor(self, job: str, schedule: str, *, since: datetime) -> None:
        """Set the schedule of `job`, valid from `since`."""
        with self._db.writing() as db:
            db.execute(
                "INSERT OR REPLACE INTO schedule_cursors VALUES (?, ?, ?, ?)", (job, schedule, text(since), text(since))
            )

    def advance_cursor(self, job: str, until: datetime) -> None:
        """Record that all slots of `job` up to `until` are accounted for."""
        with self._db.writing() as db:
            db.execute("UPDATE schedule_cursors SET accounted_until = ? WHERE job = ?", (text(until), job))

    def claimed_slots(self, job: str, after: datetime, until: datetime) -> set[str]:
        """Return the claimed slots of `job` from `after` to `until`, both inclusive to the second."""
        first, last = slot_key(job, text(after)[:19]), slot_key(job, text(until)[:19])
        rows = self._db.rows("SELECT key FROM claims WHERE key BETWEEN ? AND ?", (first, last + "Z"))
        start = len(slot_key(job, ""))
        return {row["key"][start:] for row in rows}

    def find_runs(self, job: str, first: str, last: str) -> list[Run]:
        """Return the runs of `job` that account for slots from `first` to `last`, the newest first."""
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
                instant(row["since"]), instant(row["until"]) if row["until"] else None, bool(row["ended"])
            )
            for row in rows
        }

    def pause(self, job: str, *, since: datetime, until: datetime | None) -> None:
        """Pause `job`. A job that is already paused keeps its `since`."""
        with self._db.writing(durable=True) as db:
            db.execute(
                "INSERT INTO job_pauses (job, since, until) VALUES (:job, :since, :until)"
                " ON CONFLICT DO UPDATE SET until = :until, ended = 0",
                {"job": job, "since": text(since), "until": until and text(until)},
            )

    def end_pause(self, job: str, *, at: datetime) -> None:
        """End the pause of `job`. Its slots are accounted for later."""
        with self._db.writing(durable=True) as db:
            db.execute("UPDATE job_pauses SET until = ?, ended = 1 WHERE job = ?", (text(at), job))

    def delete_pause(self, job: str) -> None:
        """Delete the pause of `job`."""
        with self._db.writing(durable=True) as db:
            db.execute("DELETE FROM job_pauses WHERE job = ?", (job,))


def slot_key(job: str, due: str) -> str:
    """Return the key of the claim to the slot `due` of `job`."""
    return f"slot {job} {due}"


def insert_claims(db: Transaction, known: Mapping[str, int], *, at: datetime) -> None:
    """Insert the claims `known`, by key, of the given runs. Existing claims stay."""
    db.executemany(
        "INSERT OR IGNORE INTO claims (key, run, at) VALUES (?, ?, ?)",
        [(key, run, text(at)) for key, run in known.items()],
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
    db.execute("INSERT OR REPLACE INTO claims (key, run, at) VALUES (?, ?, ?)", (_SEAL + boot, newest, text(at)))
    db.execute("UPDATE schedule_cursors SET accounted_until = max(accounted_until, ?)", (text(at),))
    db.execute("UPDATE schedule_cursors SET since = max(since, ?) WHERE schedule GLOB 'after:*'", (text(at),))


def is_blocked(db: Transaction, due: str) -> bool:
    """Return whether the claim to the slot `due` may have been lost."""
    for row in db.execute(f"SELECT key, run, at FROM claims WHERE key GLOB '{_SEAL}*'").fetchall():  # noqa: S608 - ours
        numbers = [int(number) for number in due.removeprefix("after:").split("+") if number.isdigit()]
        if due == row["key"].removeprefix(_SEAL) or (due[:1].isdigit() and due[:19] <= row["at"][:19]):
            return True
        if due.startswith("after:") and any(number <= row["run"] for number in numbers):
            return True
    return False
