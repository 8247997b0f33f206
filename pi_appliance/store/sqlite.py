"""The history and the claims, in one SQLite file. The only file that imports sqlite3.

Journal: WAL. A claim, and the row of a run that is about to act, are on the disk before anything is done
(synchronous=FULL); the end of a run is not worth a second flush (NORMAL): at worst it reads "abandoned" after a power
cut.
"""

import contextlib
import json
import os
import sqlite3
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Self

from pi_appliance.errors import ApplianceError, Unavailable
from pi_appliance.model.run import Outcome, Run, Trigger
from pi_appliance.store.migrations import STEPS

Values = Sequence[Any] | Mapping[str, Any]
_PATIENCE = 10.0  # seconds that a writer waits for another
_LOOK = 0.02  # seconds between two tries where SQLite itself does not wait


@dataclass(frozen=True, slots=True)
class Total:
    """Over all time: how many runs of a job ended so, how long they took together, how late they began together."""

    job: str
    outcome: Outcome
    runs: int
    seconds: float
    late: float


class Store:
    """One open database. Cheap to open; every process has its own."""

    def __init__(self, path: Path, *, only_look: bool = False) -> None:
        """Open the file PATH, making or upgrading it. Raises Unavailable if it cannot be used.

        ONLY_LOOK: as it is. Nothing is made, upgraded or written, and nothing can be.
        """
        self.path = path
        with self._errors():
            # Autocommit, so that every transaction begins where the code says so.
            place = _to_look_at(path) if only_look else path
            self._db = sqlite3.connect(
                place, uri=only_look, timeout=_PATIENCE, isolation_level=None, check_same_thread=False
            )
            self._db.row_factory = sqlite3.Row
            try:
                if only_look:
                    self._refuse_another_version()
                    return
                self._use_wal()
                self._db.execute("PRAGMA synchronous = NORMAL")
                self._upgrade()
            except BaseException:
                self._db.close()
                raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Let go of the file."""
        self._db.close()

    def begin(self, *, job: str, kind: str, trigger: Trigger, due: str | None, now: datetime) -> tuple[int, int | None]:
        """Open a run and claim its slot, durably. Return the run, and the run that had the slot before, if one had."""
        with self._writing(durable=due is not None) as db:
            row = db.execute(
                "INSERT INTO runs (job, kind, trigger, due, started) VALUES (?, ?, ?, ?, ?)",
                (job, kind, trigger, due, _text(now)),
            )
            run = int(row.lastrowid or 0)
            return run, None if due is None else self._take(db, slot_key(job, due), run, now)

    def end(
        self,
        run: int,
        outcome: Outcome,
        summary: str,
        *,
        now: datetime,
        attempts: int = 0,
        facts: Mapping[str, Any] | None = None,
    ) -> None:
        """Close a run. One that was closed before stays as it was."""
        with self._writing() as db:
            db.execute(
                "UPDATE runs SET ended = ?, outcome = ?, summary = ?, facts = ?, attempts = ?"
                " WHERE id = ? AND ended IS NULL",
                (_text(now), outcome, summary, json.dumps(dict(facts or {})), attempts, run),
            )

    def abandon(self, job: str, *, now: datetime) -> None:
        """Close the runs of JOB that never ended. For the holder of the job's lock, which proves that none goes on."""
        if not self.going_on(job):
            return
        with self._writing() as db:
            db.execute(
                "UPDATE runs SET ended = ?, outcome = ?, summary = ? WHERE job = ? AND ended IS NULL",
                (_text(now), Outcome.ABANDONED, "its process vanished: a power cut, or it was killed", job),
            )

    def claim(self, key: str, run: int, *, now: datetime) -> bool:
        """Take KEY for ever, on the disk before this returns. False if it was taken before."""
        with self._writing(durable=True) as db:
            return self._take(db, key, run, now) is None

    def release(self, key: str) -> None:
        """Give KEY back, on the disk before this returns."""
        with self._writing(durable=True) as db:
            db.execute("DELETE FROM claims WHERE key = ?", (key,))

    def claimed(self, key: str) -> bool:
        """Say whether KEY was taken."""
        return bool(self._rows("SELECT 1 FROM claims WHERE key = ?", (key,)))

    def run(self, run: int) -> Run | None:
        """Return the run of that number."""
        if not 0 < run < 2**63:  # more than SQLite counts to
            return None
        return next(iter(self._runs("WHERE id = ?", (run,))), None)

    def history(self, *, job: str | None = None, limit: int = 50, before: int | None = None) -> list[Run]:
        """Return runs, the newest first: of JOB or of all, LIMIT at the most, older than run BEFORE."""
        return self._runs(
            "WHERE (:job IS NULL OR job = :job) AND (:before IS NULL OR id < :before) ORDER BY id DESC LIMIT :limit",
            {"job": job, "before": before, "limit": limit},
        )

    def last_of_each(self) -> dict[str, Run]:
        """Return the newest run of every job."""
        return {run.job: run for run in self._runs("WHERE id IN (SELECT max(id) FROM runs GROUP BY job)", ())}

    def going_on(self, job: str | None = None) -> list[Run]:
        """Return the runs that have not ended, of JOB or of all."""
        return self._runs("WHERE ended IS NULL AND (:job IS NULL OR job = :job) ORDER BY id", {"job": job})

    def version(self) -> int:
        """Return a number that changes when another process has written. Costs a few microseconds, no disk."""
        return int(self._rows("PRAGMA data_version", ())[0][0])

    def check(self) -> str:
        """Return what SQLite finds wrong with the whole file; '' if nothing. Reads all of it."""
        found = str(self._rows("PRAGMA quick_check(1)", ())[0][0])
        return "" if found == "ok" else found

    def newest(self) -> list[Run]:
        """Return, for each job and each outcome that it ever had, the newest run."""
        return self._runs("WHERE id IN (SELECT max(id) FROM runs WHERE ended IS NOT NULL GROUP BY job, outcome)", ())

    def totals(self) -> list[Total]:
        """Return what was counted since the beginning, for each job and outcome."""
        late = "CASE WHEN due GLOB '[0-9]*' AND attempts THEN max(0, julianday(started) - julianday(due)) ELSE 0 END"
        took = "CASE WHEN attempts THEN julianday(ended) - julianday(started) ELSE 0 END"
        rows = self._rows(
            f"SELECT job, outcome, count(*), 86400 * sum({took}), 86400 * sum({late}) FROM runs"  # noqa: S608 - ours alone
            " WHERE ended IS NOT NULL GROUP BY job, outcome",
            (),
        )
        return [Total(row[0], Outcome(row[1]), row[2], row[3], row[4]) for row in rows]

    def paused(self) -> dict[str, str | None]:
        """Return the jobs that pause, and until when; None: until somebody lets them go on."""
        return {row["job"]: row["until"] for row in self._rows("SELECT job, until FROM pauses", ())}

    def undelivered(self) -> int:
        """Return how many notices still wait to be sent."""
        return int(self._rows("SELECT count(*) FROM outbox", ())[0][0])

    def _use_wal(self) -> None:
        """Switch the journal over. Of several that make the file at once SQLite turns some away without waiting."""
        until = time.monotonic() + _PATIENCE
        while True:
            try:
                self._db.execute("PRAGMA journal_mode = WAL")
            except sqlite3.OperationalError as error:
                if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY or time.monotonic() >= until:
                    raise
                time.sleep(_LOOK)
            else:
                return

    def _upgrade(self) -> None:
        if self._version() < len(STEPS):
            self._db.execute("BEGIN IMMEDIATE")  # two that start at once: the second finds the work done
            for number, step in enumerate(STEPS[self._version() :], start=self._version() + 1):
                for statement in filter(str.strip, step.split(";")):
                    self._db.execute(statement)
                self._db.execute(f"PRAGMA user_version = {number}")
            self._db.execute("COMMIT")
        if self._version() > len(STEPS):
            raise ApplianceError(f"{self.path} was written by a newer pi-appliance; install that version again")

    def _refuse_another_version(self) -> None:
        if self._version() < len(STEPS):
            raise Unavailable(
                f"{self.path} is of an older version; the next start of the appliance brings it up to date"
            )
        self._upgrade()

    def _version(self) -> int:
        return int(self._db.execute("PRAGMA user_version").fetchone()[0])

    def _take(self, db: sqlite3.Connection, key: str, run: int, now: datetime) -> int | None:
        taken = db.execute("SELECT run FROM claims WHERE key = ?", (key,)).fetchone()
        if taken is not None:
            return int(taken["run"])
        db.execute("INSERT INTO claims (key, run, at) VALUES (?, ?, ?)", (key, run, _text(now)))
        return None

    def _rows(self, query: str, values: Values) -> list[sqlite3.Row]:
        with self._errors():
            try:
                return self._db.execute(query, values).fetchall()
            except (OverflowError, UnicodeEncodeError):  # a number or a name that no row can bear
                return []

    def _runs(self, where: str, values: Values) -> list[Run]:
        return [_run(row) for row in self._rows(f"SELECT * FROM runs {where}", values)]  # noqa: S608 - ours alone

    @contextlib.contextmanager
    def _writing(self, *, durable: bool = False) -> Iterator[sqlite3.Connection]:
        """One transaction, whole or not at all."""
        with self._errors():
            self._db.execute(f"PRAGMA synchronous = {'FULL' if durable else 'NORMAL'}")
            self._db.execute("BEGIN IMMEDIATE")
            try:
                yield self._db
                self._db.execute("COMMIT")
            except BaseException:
                with contextlib.suppress(sqlite3.Error):
                    self._db.execute("ROLLBACK")
                raise

    @contextlib.contextmanager
    def _errors(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.OperationalError as error:
            raise Unavailable(f"{self.path} cannot be used: {error}; check its rights and the free space") from None
        except sqlite3.DatabaseError as error:
            hint = "move it aside, and a new history begins"
            raise Unavailable(f"{self.path} is damaged: {error}; {hint}") from None


def _to_look_at(path: Path) -> str:
    """Return the address by which SQLite reads PATH and makes no file beside it.

    Where there is no journal, nobody has the file open: read as one that does not change, it needs no locks, and so
    can be looked at on a disk that takes no writes either.
    """
    journal = os.access(path.with_name(f"{path.name}-wal"), os.F_OK)
    return f"{path.absolute().as_uri()}?mode=ro{'' if journal else '&immutable=1'}"


def slot_key(job: str, due: str) -> str:
    """Return the claim that stands for the slot DUE of JOB."""
    return f"slot {job} {due}"


def _text(when: datetime) -> str:
    return when.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _run(row: sqlite3.Row) -> Run:
    return Run(
        id=row["id"],
        job=row["job"],
        kind=row["kind"],
        trigger=Trigger(row["trigger"]),
        due=row["due"],
        started=datetime.fromisoformat(row["started"]),
        ended=row["ended"] and datetime.fromisoformat(row["ended"]),
        outcome=row["outcome"] and Outcome(row["outcome"]),
        summary=row["summary"],
        facts=json.loads(row["facts"]),
        attempts=row["attempts"],
    )
