"""Data to plain values for JSON: instants in UTC, lengths in seconds."""

from datetime import UTC, datetime
from typing import Any

from pi_appliance.posting.model import PENDING_STATES, PostRecord
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


def post(intent: PostRecord) -> dict[str, Any]:
    """Return INTENT with what became of it; parts count from 1, dollars are text."""
    return {
        "post": intent.id,
        "job": intent.job,
        "slot": intent.slot,
        "network": intent.network,
        "part": intent.part + 1,
        "parts": intent.parts,
        "text": intent.text,
        "state": intent.state,
        "why": intent.why or None,
        "made": instant(intent.made),
        "until": instant(intent.until),
        "next": instant(intent.next) if intent.state in PENDING_STATES else None,
        "tries": intent.tries,
        "link": (intent.sent.link or None) if intent.sent else None,
        "sent": instant(intent.sent_at),
        "cost": str(intent.cost),
        "run": intent.run,
    }
