"""Conversion of rows to runs, and the totals counted when a run ends."""

import json
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from pi_appliance.config.notifications import NotifyTargets
from pi_appliance.storage.database import DatabaseCorrupt, Transaction, instant
from pi_appliance.storage.model import Outcome, Run, Trigger
from pi_appliance.storage.outbox import note_end


@dataclass(frozen=True, slots=True)
class Total:
    """Totals since the installation: the runs of a job with this outcome, their seconds and their delay."""

    job: str
    outcome: Outcome
    runs: int
    seconds: float
    delay_seconds: float


def closed(db: Transaction, run: Run, told: NotifyTargets | None, *, now: datetime) -> None:
    """Count the ended `run` and queue notifications to `told`, in the transaction that ends it."""
    _count(db, run)
    if told is not None and run.outcome is not None:
        note_end(db, run.job, run.id, run.outcome, told, now=now)


def _count(db: Transaction, run: Run) -> None:
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
            started=instant(row["started"]),
            ended=instant(row["ended"]) if row["ended"] else None,
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
