"""Text for a terminal: aligned tables, times, durations and runs."""

from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from zoneinfo import ZoneInfo

from pi_appliance.config import units
from pi_appliance.storage.model import Outcome, Run


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return `head` and `rows` as aligned columns."""
    lines = [tuple(head), *(tuple(row) for row in rows)]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip() for line in lines
    )


def instant(when: datetime | None, zone: ZoneInfo) -> str:
    """Return `when` in `zone`, to the minute, with the weekday; a dash for None."""
    return when.astimezone(zone).strftime("%a %Y-%m-%d %H:%M") if when else "-"


def slot(at: datetime, zone: ZoneInfo) -> str:
    """Return the slot `at` in `zone`, with the weekday, and with seconds if it has some."""
    return instant(at, zone) + (f":{at.second:02}" if at.second else "")


def length(took: timedelta | None) -> str:
    """Return a duration, with tenths of a second if it is short."""
    if took is None:
        return "-"
    seconds = took.total_seconds()
    return f"{seconds:.1f}s" if seconds < 10 else units.format_duration(timedelta(seconds=round(seconds)))


def outcome(run: Run | None) -> str:
    """Return the outcome of `run`, or its progress while it is running."""
    if run is None:
        return "-"
    if run.outcome is None:
        return "running" if run.progress is None else f"running {run.progress:.0%}"
    return str(run.outcome)


def one_run(run: Run) -> str:
    """Return `run` in one line."""
    how = outcome(run)
    took = f" in {length(run.duration)}" if run.attempts else ""
    tries = f" at try {run.attempts}" if run.attempts > 1 else ""
    return f"{run.job}: {how}{took}{tries}: {run.summary or run.status_text or 'nothing to say'}"


def history(runs: Iterable[Run], zone: ZoneInfo) -> str:
    """Return `runs` as a table."""
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
    """Return whether `run` did its work, or was skipped as intended."""
    return run.outcome in (Outcome.SUCCEEDED, Outcome.SKIPPED)
