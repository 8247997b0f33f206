"""Data to text for a terminal: tables that line up, and one line for one run."""

from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from zoneinfo import ZoneInfo

from pi_appliance.config import units
from pi_appliance.storage.model import Outcome, Run


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return HEAD and ROWS as columns that line up; the last one may be as long as it likes."""
    lines = [tuple(head), *(tuple(row) for row in rows)]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip() for line in lines
    )


def instant(when: datetime | None, zone: ZoneInfo) -> str:
    """Return `when` in `zone` with its weekday, to the minute, or a dash."""
    return units.format_time(when, zone) if when else "-"


def slot(at: datetime, zone: ZoneInfo) -> str:
    """Return the slot AT in ZONE, with its weekday: to the minute, or to the second where it has some."""
    return instant(at, zone) + (f":{at.second:02}" if at.second else "")


def length(elapsed: timedelta | None) -> str:
    """Return `elapsed` as text, or a dash."""
    return "-" if elapsed is None else units.format_elapsed(elapsed)


def outcome(run: Run | None) -> str:
    """Return how RUN ended in one word, or how far it is."""
    if run is None:
        return "-"
    if run.outcome is None:
        return "running" if run.progress is None else f"running {run.progress:.0%}"
    return str(run.outcome)


def one_run(run: Run) -> str:
    """Return RUN in one line."""
    how = outcome(run)
    took = f" in {length(run.duration)}" if run.attempts else ""
    tries = f" at try {run.attempts}" if run.attempts > 1 else ""
    return f"{run.job}: {how}{took}{tries}: {run.summary or run.status_text or 'nothing to say'}"


def history(runs: Iterable[Run], zone: ZoneInfo) -> str:
    """Return RUNS as a table, a line each."""
    return table(
        ("RUN", "JOB", "STARTED", "BY", "TOOK", "OUTCOME", "SUMMARY"),
        (
            (
                str(run.id),
                run.job,
                instant(run.started, zone),
                str(run.trigger),
                length(run.duration) if run.attempts else "-",
                outcome(run),
                run.summary or run.status_text,
            )
            for run in runs
        ),
    )


def good(run: Run) -> bool:
    """Say whether RUN ended as it should: it did its work, or was meant not to."""
    return run.outcome in (Outcome.SUCCEEDED, Outcome.SKIPPED)
