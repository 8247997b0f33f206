"""The reports that jobs wrote, and which of them a browser may see how."""

import contextlib
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from urllib.parse import quote

from starlette.exceptions import HTTPException

from pi_appliance.jobs import reports as editions
from pi_appliance.scheduling.appliance import Appliance

# How a file goes to the browser as it is. Anything else is offered for download, never shown.
TYPES = {
    ".csv": "text/csv; charset=utf-8",
    ".html": "text/html; charset=utf-8",
    ".json": "application/json",
    ".log": "text/plain; charset=utf-8",
    ".md": "text/plain; charset=utf-8",
    ".png": "image/png",
    ".svg": "image/svg+xml",
    ".txt": "text/plain; charset=utf-8",
}
TEXTS = (".txt", ".md", ".log", ".csv", ".json", "")  # shown within a page of ours
TABLES = (".csv",)  # texts whose lines are rows: they are scrolled, not wrapped
PICTURES = (".svg", ".png")  # so are these
PAGES = (".html",)  # shown in a frame of a page of ours, which leads back
# A report is data: whatever it holds, it runs no script and loads nothing from anywhere.
SAFE_CSP_TYPES = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; sandbox; frame-ancestors 'self'"
HEADERS = {"Content-Security-Policy": SAFE_CSP_TYPES, "X-Frame-Options": "SAMEORIGIN"}


_RANKS = {**dict.fromkeys(PAGES, 0), **dict.fromkeys(PICTURES, 2)}


@dataclass(frozen=True, slots=True)
class Report:
    """One file that a job wrote."""

    job: str
    file: str
    path: Path
    written: datetime
    size: int
    date: str = ""
    """The edition it belongs to; empty for the newest reports."""

    @property
    def address(self) -> str:
        """Where it is on the page."""
        return "/".join(["/reports", *(quote(part, safe="") for part in (self.job, self.date, self.file) if part)])


def reports(appliance: Appliance, *, of: Collection[str] | None = None) -> list[Report]:
    """Return the reports there are, those of who wrote last first: of all, or of the folders OF."""
    folder = appliance.config.reports
    paths = [path for path in appliance.report_files() if of is None or path.parts[0] in of]
    return list(_still_there((folder / path, path.parts[0], "") for path in paths))


def _still_there(found: Iterable[tuple[Path, str, str]]) -> Iterator[Report]:
    """Yield the reports FOUND; what a run has taken away meanwhile is none any more."""
    for path, job, date in found:
        with contextlib.suppress(FileNotFoundError):
            yield _report(path, job, date)


def _report(path: Path, job: str, date: str = "") -> Report:
    stat = path.stat()
    return Report(job, path.name, path, datetime.fromtimestamp(stat.st_mtime, UTC), stat.st_size, date)


def dates(appliance: Appliance, job: str) -> list[str]:
    """Return the editions of JOB that are kept, the newest first."""
    if not _is_writer(appliance, job):
        return []
    folder = appliance.config.reports / job
    return [name for name in editions.names(folder) if _is_folder(folder / name)]


def edition(appliance: Appliance, job: str, date: str) -> list[Report]:
    """Return the reports of JOB of DATE: pages before texts before pictures. Raises HTTPException 404."""
    gone = HTTPException(404, f"there is no report of {job!r} of {date!r}")
    if date not in dates(appliance, job):
        raise gone
    try:
        paths = [path for path in (appliance.config.reports / job / date).iterdir() if _is_shown(path)]
    except FileNotFoundError:  # it had its time
        raise gone from None
    found = _still_there((path, job, date) for path in paths)
    return sorted(found, key=lambda each: (_RANKS.get(each.path.suffix.lower(), 1), each.file))


def _is_writer(appliance: Appliance, job: str) -> bool:
    """Say whether JOB is the name of a folder of reports, and nothing that leads elsewhere."""
    return job in {path.name for path in appliance.config.reports.glob("*") if _is_folder(path)}


def _is_folder(path: Path) -> bool:
    return path.is_dir() and not path.is_symlink() and not path.name.startswith(".")


def _is_shown(path: Path) -> bool:
    return path.is_file() and not path.name.startswith(".")


def newest(found: Sequence[Report], most: int) -> list[Report]:
    """Return MOST of FOUND at the most, the first ones of each writer: as many as leave room for the others."""
    each = max(1, most // max(1, len({report.job for report in found})))
    seen: Counter[str] = Counter()
    shown = []
    for report in found:
        seen[report.job] += 1
        if seen[report.job] <= each:
            shown.append(report)
    return shown[:most]


def folders(appliance: Appliance, job: str) -> tuple[str, ...]:
    """Return the folders that JOB writes into: its own, and those of the networks it posts to."""
    known = appliance.config.jobs.get(job)
    return (job, *(getattr(known.options, "network", None) or ())) if known else (job,)


def writer(appliance: Appliance, folder: str) -> str | None:
    """Return the job that writes into FOLDER, if there is one: the first of those that post to that network."""
    if folder in appliance.config.jobs:
        return folder
    return next((job for job in appliance.config.jobs if folder in folders(appliance, job)), None)


def report(appliance: Appliance, job: str, file: str, date: str = "") -> Report:
    """Return the report FILE of JOB, of DATE or the newest.

    Raises HTTPException 404 for anything that is not in the folder of reports.
    """
    folder = appliance.config.reports.resolve()
    for found in edition(appliance, job, date) if date else reports(appliance, of=(job,)):
        # A name that stands in the list cannot lead elsewhere, but a link might.
        if found.file == file and found.path.resolve().is_relative_to(folder):
            return found
    raise HTTPException(404, f"there is no report {file!r} of {job!r}")
