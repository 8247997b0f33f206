"""What persons ask of jobs: runs at their own time, words to one that goes on; and what a job is in the middle of.

An ask is taken in the transaction that begins its run (`Store.begin`), so whoever comes second finds it gone.
"""

import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from pi_appliance.storage.database import Database, DatabaseCorrupt, Transaction, Values, auto_repair, instant, text

_PREFIX = "request:"  # begins what stands in place of a slot
_TABLES = ("asks", "held", "words", "skips")


@dataclass(frozen=True, slots=True, kw_only=True)
class RunRequest:
    """A run of JOB that somebody asked for: when, and with which keys in place of those under `with:`."""

    id: int
    job: str
    run_at: datetime
    arguments: Mapping[str, Any]
    created_at: datetime

    @property
    def slot_name(self) -> str:
        """What stands in the history in place of a slot."""
        return request_key(self.id)

    @property
    def immediate(self) -> bool:
        """Whether it was to begin when it was made, whatever the clock says since."""
        return self.run_at <= self.created_at


@dataclass(frozen=True, slots=True, kw_only=True)
class JobCheckpoint:
    """What JOB is in the middle of, and since when nothing was added to it."""

    job: str
    text: str
    saved_at: datetime


@auto_repair
class RunRequestStore:
    """The asks of all jobs, in the database of STORE."""

    def __init__(self, store: Database) -> None:
        self._db = store

    def repair(self, error: DatabaseCorrupt) -> None:
        """Put the file right that was found damaged. Raises ERROR if nobody said how."""
        self._db.repair(error)

    def add(self, job: str, due: datetime, arguments: Mapping[str, Any], *, now: datetime) -> RunRequest:
        """Write down, durably, that JOB is to run at DUE with ARGUMENTS."""
        with self._db.writing(durable=True) as db:
            row = db.execute(
                "INSERT INTO asks (job, due, arguments, made) VALUES (?, ?, ?, ?) RETURNING *",
                (job, text(due), json.dumps(dict(arguments)), text(now)),
            ).fetchone()
            return parse_request(row)

    def pending(self, job: str | None = None) -> list[RunRequest]:
        """Return what is asked of JOB, or of all, the first to come first."""
        return self._find_requests("WHERE :job IS NULL OR job = :job ORDER BY due, id", {"job": job})

    def find(self, number: int) -> RunRequest | None:
        """Return the ask of that number, if nothing has come of it yet."""
        return next(iter(self._find_requests("WHERE id = ?", (number,))), None) if 0 < number < 2**63 else None

    def due_requests(self, now: datetime) -> list[RunRequest]:
        """Return what is to begin by NOW. The clock may have been put back since what was to begin at once was made."""
        return self._find_requests("WHERE due <= :now OR due <= made ORDER BY due, id", {"now": text(now)})

    def remove(self, number: int) -> bool:
        """Forget the ask of that number. False if it is gone already."""
        with self._db.writing(durable=True) as db:
            return consume_request(db, number)

    def save_checkpoint(self, job: str, words: str, *, now: datetime) -> None:
        """Keep WORDS, durably, as what JOB is in the middle of."""
        with self._db.writing(durable=True) as db:
            db.execute("INSERT OR REPLACE INTO held (job, text, since) VALUES (?, ?, ?)", (job, words, text(now)))

    def delete_checkpoint(self, job: str) -> bool:
        """JOB is through with what it was in the middle of. False if there was nothing."""
        with self._db.writing(durable=True) as db:
            return db.execute("DELETE FROM held WHERE job = ?", (job,)).rowcount > 0

    def checkpoint(self, job: str) -> JobCheckpoint | None:
        """Return what JOB is in the middle of."""
        return next((parse_checkpoint(row) for row in self._db.rows("SELECT * FROM held WHERE job = ?", (job,))), None)

    def checkpoints(self) -> list[JobCheckpoint]:
        """Return what all jobs are in the middle of."""
        return [parse_checkpoint(row) for row in self._db.rows("SELECT * FROM held ORDER BY job", ())]

    def send_signal(self, job: str, word: str) -> None:
        """Let the run of JOB that goes on, or that is to finish what is held, hear WORD; the last one counts."""
        with self._db.writing(durable=True) as db:
            db.execute("INSERT OR REPLACE INTO words (job, word) VALUES (?, ?)", (job, word))

    def take_signal(self, job: str) -> str:
        """Return what was said to JOB, once; '' if nothing was. Where nothing was said, nothing is written."""
        if not self._db.rows("SELECT 1 FROM words WHERE job = ?", (job,)):
            return ""
        with self._db.writing(durable=True) as db:
            row = db.execute("DELETE FROM words WHERE job = ? RETURNING word", (job,)).fetchone()
            return str(row["word"]) if row else ""

    def set_skipped_slot(self, job: str, slot: str | None) -> None:
        """Let JOB not use SLOT, named as in the history; None: let it use all its slots again."""
        with self._db.writing(durable=True) as db:
            if slot is None:
                db.execute("DELETE FROM skips WHERE job = ?", (job,))
            else:
                db.execute("INSERT OR REPLACE INTO skips (job, slot) VALUES (?, ?)", (job, slot))

    def skipped_slot(self, job: str) -> str | None:
        """Return the slot that JOB is not to use, by its name."""
        found = self._db.rows("SELECT slot FROM skips WHERE job = ?", (job,))
        return str(found[0]["slot"]) if found else None

    def prune(self, jobs: Collection[str]) -> list[str]:
        """Forget what belongs to none of JOBS, and return whose it was. Costs little where there is nothing."""
        union = " UNION ".join(f"SELECT job FROM {table}" for table in _TABLES)  # noqa: S608 - ours alone
        gone = sorted({str(row["job"]) for row in self._db.rows(union, ())} - set(jobs))
        if gone:
            with self._db.writing() as db:
                for table in _TABLES:
                    db.executemany(f"DELETE FROM {table} WHERE job = ?", [(job,) for job in gone])  # noqa: S608 - ours
        return gone

    def _find_requests(self, where: str, values: Values) -> list[RunRequest]:
        return [parse_request(row) for row in self._db.rows(f"SELECT * FROM asks {where}", values)]  # noqa: S608 - ours


def request_key(number: int) -> str:
    """Return what the ask of that number is called in the history, in place of a slot."""
    return f"{_PREFIX}{number}"


def request_id(due: str | None) -> int | None:
    """Return the number of the ask that DUE names; None if it names none."""
    number = (due or "").removeprefix(_PREFIX)
    return int(number) if due != number and number.isdecimal() else None


def consume_request(db: Transaction, number: int) -> bool:
    """Take the ask of that number out. False if somebody was faster."""
    return db.execute("DELETE FROM asks WHERE id = ?", (number,)).rowcount > 0


def parse_request(row: Any) -> RunRequest:
    """Return what ROW of the table `asks` says. Raises Damaged if it makes no sense."""
    return RunRequest(
        id=row["id"],
        job=row["job"],
        run_at=instant(row["due"]),
        arguments=_object(row["arguments"]),
        created_at=instant(row["made"]),
    )


def parse_checkpoint(row: Any) -> JobCheckpoint:
    """Return what ROW of the table `held` says. Raises Damaged if it makes no sense."""
    return JobCheckpoint(job=row["job"], text=row["text"], saved_at=instant(row["since"]))


def _object(stored: str) -> Mapping[str, Any]:
    try:
        found = json.loads(stored)
        if not isinstance(found, dict):
            raise TypeError
    except (ValueError, TypeError):
        raise DatabaseCorrupt(f"the history is damaged: {stored[:40]!r} are no arguments") from None
    return found
