"""The history and the claims.

A claim, and the row of a run that is about to act, are on the disk before anything is done; the end of a run is not
worth a second flush: at worst it reads "abandoned" after a power cut.
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

_LONGEST = timedelta(days=36_500)  # a century before 1970 there is no history
_WITNESSES = 100  # runs of a job that are looked through for one that had a slot before
UNKNOWN_RUN = 0  # stands for the run that may have had a slot, where the history was damaged
_AT_ONCE = 50  # rows that one end of a run prunes at the most
_CLAIMS_KEPT = 5000  # of the newest runs, whatever their age: a clock may be years ahead for a day, and then put back


@auto_repair
class Store(Database):
    """Runs and what they claimed. `slots` tells of those that none was started for, `asks` of what persons ask."""

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
        """Close a run, and let those be told who are to be TOLD. One that was closed before stays as it was."""
        with self.writing() as db:
            row = db.execute(
                "UPDATE runs SET ended = ?, outcome = ?, summary = ?, details = ?, attempts = ?"
                " WHERE id = ? AND ended IS NULL RETURNING *",
                (text(now), outcome, summary, json.dumps(dict(details or {})), attempts, run),
            ).fetchone()
            if row is not None:
                closed(db, parse_run(row), told, now=now)

    def restore_run(self, run: Run) -> Run:
        """Write RUN, which began but stands in the file no more: that was damaged while it ran."""
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
        """Return the highest number that a run was ever given."""
        found = self.rows("SELECT seq FROM sqlite_sequence WHERE name = 'runs'", ())
        return int(found[0]["seq"]) if found else 0

    def seal(self, *, at: datetime, boot: str, newest: int, known: Mapping[str, int]) -> None:
        """Claim what is KNOWN to be taken, by which runs; and let nothing of before AT and of the start BOOT be used.

        For a history that knows nothing of run NEWEST, which began: it may have lost more.
        """
        with self.writing(durable=True) as db:
            insert_claims(db, known, at=at)
            block_unknown_slots(db, at=at, boot=boot, newest=newest)

    def abandon_runs(self, job: str, *, now: datetime, told: NotifyTargets | None = None) -> None:
        """Close the runs of JOB that never ended, and let those be told who are to be TOLD.

        For the holder of the job's lock, which proves that none goes on.
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
        """Say whether KEY was taken."""
        return bool(self.rows("SELECT 1 FROM claims WHERE key = ?", (key,)))

    def find_run(self, run: int) -> Run | None:
        """Return the run of that number."""
        if not 0 < run < 2**63:  # more than SQLite counts to
            return None
        return next(iter(self._runs("WHERE id = ?", (run,))), None)

    def history(self, *, job: str | None = None, limit: int = 50, before: int | None = None) -> list[Run]:
        """Return runs, the newest first: of JOB or of all, LIMIT at the most, older than run BEFORE."""
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
        """Return the newest run of JOB that succeeded."""
        return next(
            iter(self._runs("WHERE job = ? AND outcome = ? ORDER BY id DESC LIMIT 1", (job, Outcome.SUCCEEDED))), None
        )

    def newest(self) -> list[Run]:
        """Return, for each job and each outcome that it ever had, the newest run."""
        return self._runs("WHERE id IN (SELECT max(id) FROM runs WHERE ended IS NOT NULL GROUP BY job, outcome)", ())

    def undelivered(self) -> int:
        """Return how many notices still wait to be sent."""
        return int(self.rows("SELECT count(*) FROM outbox WHERE sent IS NULL", ())[0][0])

    def last_unskipped_run(self, job: str) -> Run | None:
        """Return the newest run of JOB that was not skipped: the one that tells how the job is."""
        where = "WHERE job = ? AND outcome IS NOT ? ORDER BY id DESC LIMIT 1"
        return next(iter(self._runs(where, (job, Outcome.SKIPPED))), None)

    def active_runs(self, job: str | None = None) -> list[Run]:
        """Return the runs that have not ended, of JOB or of all."""
        return self._runs("WHERE ended IS NULL AND (:job IS NULL OR job = :job) ORDER BY id", {"job": job})

    def totals(self) -> list[Total]:
        """Return what was counted since the beginning, for each job and outcome; pruning takes nothing away."""
        return [parse_total(row) for row in self.rows("SELECT * FROM run_totals ORDER BY job, outcome", ())]

    def prune(self, job: str, keep: Retention, *, now: datetime) -> list[tuple[str, int]]:
        """Forget runs of JOB beyond KEEP.runs, and the oldest of all jobs beyond KEEP.age. Return what went: job, run.

        A little at each call, so that no call takes long. The claims of slots go with their age, but for those of the
        newest runs, which a clock that is wrong must not make old; all other claims stay.
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
        """Claim the slot. The runs themselves are asked as well: a claim that a bad card has garbled is found so."""
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
    """Return the run before RUN that took the ask DUE; UNKNOWN_RUN where none is known."""
    query = "SELECT id FROM runs WHERE job = ? AND scheduled_for = ? AND id < ? ORDER BY id DESC LIMIT 1"
    row = db.execute(query, (job, due, run)).fetchone()
    return int(row["id"]) if row else UNKNOWN_RUN


__all__ = ["Store", "slot_key"]
