"""Runs and claims.

The claim and the row of a run are on the disk before the run does anything. The end of a run is not flushed: after a
power cut it may read "abandoned".
"""

import json
from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from pi_appliance.config.model import Retention
from pi_appliance.config.notifications import NotifyTargets
from pi_appliance.storage.database import Database, Transaction, Values, auto_repair, text
from pi_appliance.storage.model import Outcome, Run, Trigger
from pi_appliance.storage.rows import Total, closed, parse_run, parse_total
from pi_appliance.storage.run_requests import RunRequestStore, consume_request, request_id
from pi_appliance.storage.slots import Slots, block_unknown_slots, insert_claims, is_blocked, slot_key

_LONGEST = timedelta(days=36_500)  # keeps the date calculation in range
_WITNESSES = 100  # recent runs of a job that are checked for the same slot besides the claim
UNKNOWN_RUN = 0  # the run of a slot whose claim may have been lost
_AT_ONCE = 50  # rows deleted at the end of one run
_CLAIMS_KEPT = 5000  # of the newest runs, whatever their age: the clock may be years ahead for a day


@auto_repair
class Store(Database):
    """The database: runs and claims, unused slots (`slots`) and requests of persons (`requests`)."""

    def __init__(self, path: Path, *, only_look: bool = False, mend: Callable[[Path, str], None] | None = None) -> None:
        super().__init__(path, only_look=only_look, mend=mend)
        self.slots, self.requests = Slots(self), RunRequestStore(self)

    def start_run(
        self, *, job: str, kind: str, trigger: Trigger, due: str | None, now: datetime
    ) -> tuple[int, int | None]:
        """Begin a run and claim its slot, or consume its run request, in one durable transaction.

        A manual run is durable too: after a power cut no lock may name a run that the database does not know.

        Returns:
            The id of the run, and the id of the run that had the slot before: None without one, `UNKNOWN_RUN` if the
            claim may have been lost with a damaged file.

        """
        with self.writing(durable=True) as db:
            row = db.execute(
                "INSERT INTO runs (job, kind, trigger, scheduled_for, started) VALUES (?, ?, ?, ?, ?)",
                (job, kind, trigger, due, text(now)),
            )
            run = int(row.lastrowid or 0)
            if (ask := request_id(due)) is not None:
                return run, None if consume_request(db, ask) else _who_took(db, job, due, run)
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
        told: NotifyTargets | None = None,
    ) -> None:
        """Save the end of a run and notify `told`. A run that has ended already stays as it was."""
        with self.writing() as db:
            row = db.execute(
                "UPDATE runs SET ended = ?, outcome = ?, summary = ?, details = ?, attempts = ?"
                " WHERE id = ? AND ended IS NULL RETURNING *",
                (text(now), outcome, summary, json.dumps(dict(details or {})), attempts, run),
            ).fetchone()
            if row is not None:
                closed(db, parse_run(row), told, now=now)

    def restore_run(self, run: Run) -> Run:
        """Insert `run`, which is missing because the database was replaced while it ran."""
        with self.writing() as db:
            db.execute(
                "INSERT OR REPLACE INTO runs"
                " (id, job, kind, trigger, scheduled_for, started, ended, outcome, summary, attempts)"
                " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                (
                    *(run.id, run.job, run.kind, run.trigger, run.scheduled_for, text(run.started)),
                    *(run.ended and text(run.ended), run.outcome, run.summary, run.attempts),
                ),
            )
            closed(db, run, None, now=run.ended or run.started)
        return run

    def max_run_id(self) -> int:
        """Return the highest run id ever used."""
        found = self.rows("SELECT seq FROM sqlite_sequence WHERE name = 'runs'", ())
        return int(found[0]["seq"]) if found else 0

    def seal(self, *, at: datetime, boot: str, newest: int, known: Mapping[str, int]) -> None:
        """Insert the claims `known`, and block all slots before `at` and of this `boot`.

        Used for a database that does not know the run `newest`, which began: it may have lost more.
        """
        with self.writing(durable=True) as db:
            insert_claims(db, known, at=at)
            block_unknown_slots(db, at=at, boot=boot, newest=newest)

    def abandon_runs(self, job: str, *, now: datetime, told: NotifyTargets | None = None) -> None:
        """Mark the runs of `job` that never ended as abandoned, and notify `told`.

        The caller holds the lock of the job, so none is active.
        """
        if not self.active_runs(job):
            return
        with self.writing() as db:
            rows = db.execute(
                "UPDATE runs SET ended = ?, outcome = ?, summary = ? WHERE job = ? AND ended IS NULL RETURNING *",
                (text(now), Outcome.ABANDONED, "its process vanished: a power cut, or it was killed", job),
            ).fetchall()
            for run in sorted(map(parse_run, rows), key=lambda run: run.id):
                closed(db, run, told, now=now)

    def is_claimed(self, key: str) -> bool:
        """Return whether `key` is claimed."""
        return bool(self.rows("SELECT 1 FROM claims WHERE key = ?", (key,)))

    def find_run(self, run: int) -> Run | None:
        """Return the run with the id `run`."""
        if not 0 < run < 2**63:  # more than SQLite counts to
            return None
        return next(iter(self._runs("WHERE id = ?", (run,))), None)

    def history(self, *, job: str | None = None, limit: int = 50, before: int | None = None) -> list[Run]:
        """Return at most `limit` runs of `job` or of all jobs, the newest first, older than run `before`."""
        # Not "job IS NULL OR …" in one query: SQLite would walk through all rows rather than use the index.
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

    def undelivered(self) -> int:
        """Return the number of notifications that wait to be sent."""
        return int(self.rows("SELECT count(*) FROM outbox WHERE sent IS NULL", ())[0][0])

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
        """Delete runs of `job` beyond the limits `keep`, a few at each call, and return them as job and id.

        Old claims of slots are deleted too, except those of the newest runs, in case the clock was wrong.
        """
        old = text(now - min(keep.max_age, _LONGEST))
        query = (
            "SELECT job, id FROM runs WHERE ended IS NOT NULL AND ("
            "id IN (SELECT id FROM runs ORDER BY id LIMIT :few) AND started < :old OR "
            "id IN (SELECT id FROM runs WHERE job = :job ORDER BY id DESC LIMIT :few OFFSET :runs))"
        )
        going = self.rows(query, {"job": job, "few": _AT_ONCE, "old": old, "runs": keep.max_runs})
        if going:
            with self.writing() as db:
                db.executemany("DELETE FROM runs WHERE id = ?", [(row["id"],) for row in going])
                db.execute(
                    "DELETE FROM claims WHERE key GLOB 'slot *' AND at < ? AND run <= (SELECT max(id) FROM runs) - ?",
                    (old, _CLAIMS_KEPT),
                )
        return [(row["job"], row["id"]) for row in going]

    def _take_slot(self, db: Transaction, job: str, due: str, run: int, now: datetime) -> int | None:
        """Claim the slot. Recent runs are checked as well, in case a damaged card garbled the claim."""
        before = self._take(db, slot_key(job, due), run, now)
        if before is not None:
            return before
        witness = db.execute(
            "SELECT id FROM (SELECT id, scheduled_for, attempts, ended, outcome FROM runs WHERE job = ? AND id < ?"
            " ORDER BY id DESC LIMIT ?) WHERE scheduled_for = ? AND (attempts > 0 OR ended IS NULL OR outcome = ?)",
            (job, run, _WITNESSES, due, Outcome.ABANDONED),
        ).fetchone()
        if witness is not None:
            return int(witness["id"])
        return UNKNOWN_RUN if is_blocked(db, due) else None

    def _take(self, db: Transaction, key: str, run: int, now: datetime) -> int | None:
        taken = db.execute("SELECT run FROM claims WHERE key = ?", (key,)).fetchone()
        if taken is not None:
            return int(taken["run"])
        db.execute("INSERT INTO claims (key, run, at) VALUES (?, ?, ?)", (key, run, text(now)))
        return None

    def _runs(self, where: str, values: Values) -> list[Run]:
        return [parse_run(row) for row in self.rows(f"SELECT * FROM runs {where}", values)]  # noqa: S608 - ours alone


def _who_took(db: Transaction, job: str, due: str | None, run: int) -> int:
    """Return the run before `run` that consumed the request `due`; `UNKNOWN_RUN` if none is known."""
    query = "SELECT id FROM runs WHERE job = ? AND scheduled_for = ? AND id < ? ORDER BY id DESC LIMIT 1"
    row = db.execute(query, (job, due, run)).fetchone()
    return int(row["id"]) if row else UNKNOWN_RUN


__all__ = ["Store", "slot_key"]
