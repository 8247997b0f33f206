"""Instants as the database keeps them: UTC to the millisecond, so that texts sort as the instants do."""

from datetime import UTC, datetime


def to_text(when: datetime) -> str:
    """Return WHEN, which is aware, as it is kept."""
    return when.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
