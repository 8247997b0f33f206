"""Data to plain values for JSON: instants in UTC, lengths in seconds."""

from datetime import UTC, datetime
from typing import Any

from pi_appliance.storage.model import Run


def instant(when: datetime | None) -> str | None:
    """Return WHEN in UTC as ISO 8601 to the second."""
    return None if when is None else when.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def run(run: Run | None) -> dict[str, Any] | None:
    """Return RUN with every field it has."""
    if run is None:
        return None
    return {
        "id": run.id,
        "job": run.job,
        "kind": run.kind,
        "trigger": run.trigger,
        "due": run.due,
        "started": instant(run.started),
        "ended": instant(run.ended),
        "seconds": None if run.took is None else round(run.took.total_seconds(), 3),
        "outcome": run.outcome,
        "summary": run.summary,
        "facts": dict(run.facts),
        "attempts": run.attempts,
        "progress": run.progress,
        "note": run.note,
    }
