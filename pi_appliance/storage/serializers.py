"""Conversion to JSON values: instants in UTC, durations in seconds."""

from datetime import UTC, datetime
from typing import Any

from pi_appliance.storage.model import Run


def instant(when: datetime | None) -> str | None:
    """Return `when` in UTC as ISO 8601 to the second."""
    return None if when is None else when.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def run(run: Run | None) -> dict[str, Any] | None:
    """Return all fields of `run`."""
    if run is None:
        return None
    return {
        "id": run.id,
        "job": run.job,
        "kind": run.kind,
        "trigger": run.trigger,
        "scheduled_for": run.scheduled_for,
        "started": instant(run.started),
        "ended": instant(run.ended),
        "seconds": None if run.duration is None else round(run.duration.total_seconds(), 3),
        "outcome": run.outcome,
        "summary": run.summary,
        "details": dict(run.details),
        "attempts": run.attempts,
        "progress": run.progress,
        "status_text": run.status_text,
    }
