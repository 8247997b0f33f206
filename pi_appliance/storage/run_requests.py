"""Run requests, signals to active runs, checkpoints of unfinished work, and slots to skip.

The transaction that begins a run (`Store.start_run`) consumes its request, so only one run gets it.
"""

import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from pi_appliance.storage.database import (
    DatabaseCorrupt,
    Repository,
    Transaction,
    Values,
    format_instant,
    parse_instant,
)

_PREFIX = "request:"  # marks a request where a run has its slot
_TABLES = ("run_requests", "job_checkpoints", "run_signals", "skipped_slots")


@dataclass(frozen=True, slots=True, kw_only=True)
class RunRequest:
    """A run of `job` that a person requested. `arguments` override options under `with:`."""

    id: int
    job: str
    run_at: datetime
    arguments: Mapping[str, Any]
    created_at: datetime

    @property
    def slot_name(self) -> str:
        """The text that stands for this request where a run has its slot."""
        return request_key(self.id)

    @property
    def immediate(self) -> bool:
        """Whether the run was requested for at once.

        It then begins even if the clock is set back.
        """
        return self.run_at <= self.created_at


@dataclass(frozen=True, slots=True, kw_only=True)
class JobCheckpoint:
    """The unfinished work of `job`, as text."""

    job: str
    text: str
    saved_at: datetime


class RunRequestStore(Repository):
    """Access to run requests, signals, checkpoints and slots to skip."""

    def add(self, job: str, run_at: datetime, arguments: Mapping[str, Any], *, now: datetime) -> RunRequest:
        """Save the request, durably, that `job` runs at `run_at` with `arguments`."""
        with self._db.writing(durable=True) as db:
            row = db.execute(
                "INSERT INTO run_requests (job, run_at, arguments, created_at) VALUES (?, ?, ?, ?) RETURNING *",
                (job, format_instant(run_at), json.dumps(dict(arguments)), format_instant(now)),
            ).fetchone()
            return parse_request(row)

    def pending(self, job: str | None = None) -> list[RunRequest]:
        """Return the requests of `job`, or of all jobs, in the order of their times."""
        return self._find_requests("WHERE :job IS NULL OR job = :job ORDER BY run_at, id", {"job": job})

    def find(self, number: int) -> RunRequest | None:
        """Return the request `number`; None if it was consumed or removed."""
        return next(iter(self._find_requests("WHERE id = ?", (number,))), None) if 0 < number < 2**63 else None

    def remove(self, number: int) -> bool:
        """Delete the request `number`. Return False if there is none."""
        with self._db.writing(durable=True) as db:
            return consume_request(db, number)

    def save_checkpoint(self, job: str, state: str, *, now: datetime) -> None:
        """Save `state`, durably, as the unfinished work of `job`."""
        with self._db.writing(durable=True) as db:
            query = "INSERT OR REPLACE INTO job_checkpoints (job, state, saved_at) VALUES (?, ?, ?)"
            db.execute(query, (job, state, format_instant(now)))

    def delete_checkpoint(self, job: str) -> bool:
        """Delete the checkpoint of `job`. Return False if there is none."""
        with self._db.writing(durable=True) as db:
            return db.execute("DELETE FROM job_checkpoints WHERE job = ?", (job,)).rowcount > 0

    def checkpoint(self, job: str) -> JobCheckpoint | None:
        """Return the checkpoint of `job`."""
        rows = self._db.rows("SELECT * FROM job_checkpoints WHERE job = ?", (job,))
        return parse_checkpoint(rows[0]) if rows else None

    def checkpoints(self) -> list[JobCheckpoint]:
        """Return the checkpoints of all jobs."""
        return [parse_checkpoint(row) for row in self._db.rows("SELECT * FROM job_checkpoints ORDER BY job", ())]

    def send_signal(self, job: str, signal: str) -> None:
        """Send `signal` to the active run of `job`, or to its next one. The last signal counts."""
        with self._db.writing(durable=True) as db:
            db.execute("INSERT OR REPLACE INTO run_signals (job, signal) VALUES (?, ?)", (job, signal))

    def pending_signal(self, job: str) -> str:
        """Return the signal that `job` has not taken yet; '' without one."""
        rows = self._db.rows("SELECT signal FROM run_signals WHERE job = ?", (job,))
        return str(rows[0]["signal"]) if rows else ""

    def take_signal(self, job: str) -> str:
        """Return and delete the signal to `job`; '' if there is none, which writes nothing."""
        if not self.pending_signal(job):
            return ""
        with self._db.writing(durable=True) as db:
            row = db.execute("DELETE FROM run_signals WHERE job = ? RETURNING signal", (job,)).fetchone()
            return str(row["signal"]) if row else ""

    def set_skipped_slot(self, job: str, slot: str | None) -> None:
        """Let `job` skip `slot`; None lets it skip no slot."""
        with self._db.writing(durable=True) as db:
            if slot is None:
                db.execute("DELETE FROM skipped_slots WHERE job = ?", (job,))
            else:
                db.execute("INSERT OR REPLACE INTO skipped_slots (job, slot) VALUES (?, ?)", (job, slot))

    def skipped_slot(self, job: str) -> str | None:
        """Return the slot that `job` is to skip."""
        rows = self._db.rows("SELECT slot FROM skipped_slots WHERE job = ?", (job,))
        return str(rows[0]["slot"]) if rows else None

    def prune(self, jobs: Collection[str]) -> list[str]:
        """Delete the rows of jobs other than `jobs`, and return the names of those jobs."""
        union = " UNION ".join(f"SELECT job FROM {table}" for table in _TABLES)  # noqa: S608 - our own names
        removed = sorted({str(row["job"]) for row in self._db.rows(union, ())} - set(jobs))
        if removed:
            with self._db.writing() as db:
                for table in _TABLES:
                    db.executemany(f"DELETE FROM {table} WHERE job = ?", [(job,) for job in removed])  # noqa: S608
        return removed

    def _find_requests(self, where: str, values: Values) -> list[RunRequest]:
        return [parse_request(row) for row in self._db.rows(f"SELECT * FROM run_requests {where}", values)]  # noqa: S608


def request_key(number: int) -> str:
    """Return the text that stands for the request `number` where a run has its slot."""
    return f"{_PREFIX}{number}"


def request_id(slot: str | None) -> int | None:
    """Return the id of the request that `slot` stands for; None if it is not a request."""
    number = (slot or "").removeprefix(_PREFIX)
    return int(number) if slot != number and number.isdecimal() else None


def consume_request(db: Transaction, number: int) -> bool:
    """Delete the request `number`. Return False if another run was faster."""
    return db.execute("DELETE FROM run_requests WHERE id = ?", (number,)).rowcount > 0


def parse_request(row: Any) -> RunRequest:
    """Convert a row of `run_requests`. Raises `DatabaseCorrupt`."""
    return RunRequest(
        id=row["id"],
        job=row["job"],
        run_at=parse_instant(row["run_at"]),
        arguments=_parse_arguments(row["arguments"]),
        created_at=parse_instant(row["created_at"]),
    )


def parse_checkpoint(row: Any) -> JobCheckpoint:
    """Convert a row of `job_checkpoints`. Raises `DatabaseCorrupt`."""
    return JobCheckpoint(job=row["job"], text=row["state"], saved_at=parse_instant(row["saved_at"]))


def _parse_arguments(stored: str) -> Mapping[str, Any]:
    try:
        arguments = json.loads(stored)
        if not isinstance(arguments, dict):
            raise TypeError
    except (ValueError, TypeError):
        raise DatabaseCorrupt(f"the history is damaged: {stored[:40]!r} are not arguments") from None
    return arguments
