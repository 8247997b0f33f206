"""The reports of a job by year and month, with their titles, and the nights without a report.

Nothing is written for it: the titles are read from the reports that are kept, and the results from
the history.
"""

import contextlib
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, tzinfo
from pathlib import Path
from urllib.parse import quote

from pi_appliance.jobs.context import read_slot
from pi_appliance.jobs.reports import ReportFile, rank_file, report_set_name
from pi_appliance.storage.model import Outcome, Run

_LEFT_OUT = frozenset({Outcome.SKIPPED})
"""Outcomes of runs without a night of their own."""


@dataclass(frozen=True, slots=True)
class IndexEntry:
    """A report set, or a run whose report is not kept."""

    at: datetime  # the local time of the job
    title: str
    result: str  # how the run ended, in words; "" if the history does not have it any more
    address: str


@dataclass(frozen=True, slots=True)
class Month:
    """A month with its entries, the newest first."""

    name: str
    entries: Sequence[IndexEntry]


def set_time(name: str) -> datetime:
    """Return the local time in the name of a report set."""
    return datetime.strptime(name[:15], "%Y-%m-%d_%H%M")  # noqa: DTZ007 - in the time zone of the job


def list_years(sets: Iterable[str], runs: Iterable[Run], zone: tzinfo) -> list[int]:
    """Return the years with a report or a run, the newest first."""
    years = {set_time(name).year for name in sets} | {_run_time(run, zone).year for run in _shown(runs)}
    return sorted(years, reverse=True)


def list_months(folder: Path, sets: Sequence[str], runs: Sequence[Run], year: int, zone: tzinfo) -> list[Month]:
    """Return the months of `year`, the newest first.

    Args:
        folder: The reports of the job.
        sets: The names of its report sets.
        runs: Its runs, the newest first.
        year: The year.
        zone: The time zone of the job.
    """
    kept = {name for name in sets if set_time(name).year == year}
    of_set = _match_runs(kept, runs, zone)
    matched = {run.id for run in of_set.values()}
    entries = [_set_entry(folder, name, of_set.get(name)) for name in kept]
    entries += [
        IndexEntry(_run_time(run, zone), "", _describe(run), f"/runs/{run.id}")
        for run in _shown(runs)
        if run.id not in matched and _run_time(run, zone).year == year
    ]
    months: dict[tuple[int, str], list[IndexEntry]] = {}
    for entry in sorted(entries, key=lambda each: (each.at, each.address), reverse=True):
        months.setdefault((entry.at.month, f"{entry.at:%B %Y}"), []).append(entry)
    return [Month(name, each) for (_, name), each in months.items()]


def _shown(runs: Iterable[Run]) -> Iterable[Run]:
    return (run for run in runs if run.outcome is not None and run.outcome not in _LEFT_OUT)


def _run_time(run: Run, zone: tzinfo) -> datetime:
    """Return the local time that names the report set of `run`."""
    return (read_slot(run.scheduled_for) or run.started).astimezone(zone).replace(second=0, microsecond=0, tzinfo=None)


def _match_runs(sets: Iterable[str], runs: Iterable[Run], zone: tzinfo) -> Mapping[str, Run]:
    """Return the run of each report set. Sets of one minute belong to its runs in their order."""
    waiting: dict[str, list[Run]] = {}
    for run in _shown(runs):  # the newest first
        waiting.setdefault(report_set_name(_run_time(run, zone)), []).append(run)
    found = {}
    for name in sorted(sets, key=lambda name: (name[:15], len(name), name)):
        if of_minute := waiting.get(name[:15]):
            found[name] = of_minute.pop()
    return found


def _set_entry(folder: Path, name: str, run: Run | None) -> IndexEntry:
    address = f"/reports/{quote(folder.name, safe='')}/{name}"
    return IndexEntry(set_time(name), _read_title(folder, name), _describe(run) if run else "", address)


def _read_title(folder: Path, name: str) -> str:
    """Return the title of the first file of a set: of its page, if it has one."""
    paths: list[Path] = []
    with contextlib.suppress(OSError):  # it has just been deleted
        paths = sorted(path for path in (folder / name).iterdir() if path.is_file() and not path.name.startswith("."))
    if not paths:
        return ""
    first = min(paths, key=lambda path: (rank_file(path), path.name))
    title = ReportFile(folder.name, first.name, first, datetime.min, 0, name).title  # noqa: DTZ901 - not shown
    return re.sub(rf" · {re.escape(folder.name)}$", "", title)


def _describe(run: Run) -> str:
    return run.summary if run.outcome is Outcome.SUCCEEDED and run.summary else _with_outcome(run)


def _with_outcome(run: Run) -> str:
    return f"{run.outcome}: {run.summary}" if run.summary else str(run.outcome)
