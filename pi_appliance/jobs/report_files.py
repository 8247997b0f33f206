"""The reports of jobs, and how a browser may show them."""

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
# A report is data. It must not run scripts or load anything.
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
    """The date of its report set, or '' for the newest reports."""

    @property
    def address(self) -> str:
        """Path of the report on the website."""
        return "/".join(["/reports", *(quote(part, safe="") for part in (self.job, self.date, self.file) if part)])


def reports(appliance: Appliance, *, of: Collection[str] | None = None) -> list[Report]:
    """Return the reports of all folders, or of the folders `of`. The newest job comes first."""
    folder = appliance.config.reports
    paths = [path for path in appliance.report_files() if of is None or path.parts[0] in of]
    return list(_still_there((folder / path, path.parts[0], "") for path in paths))


def _still_there(candidates: Iterable[tuple[Path, str, str]]) -> Iterator[Report]:
    """Yield the reports that still exist. A run may have deleted some."""
    for path, job, date in candidates:
        with contextlib.suppress(FileNotFoundError):
            yield _report(path, job, date)


def _report(path: Path, job: str, date: str = "") -> Report:
    stat = path.stat()
    return Report(job, path.name, path, datetime.fromtimestamp(stat.st_mtime, UTC), stat.st_size, date)


def dates(appliance: Appliance, job: str) -> list[str]:
    """Return the dates of the reports of `job`, the newest first."""
    if not _is_writer(appliance, job):
        return []
    folder = appliance.config.reports / job
    return [name for name in editions.names(folder) if _is_folder(folder / name)]


def edition(appliance: Appliance, job: str, date: str) -> list[Report]:
    """Return the reports of `job` of `date`: pages, texts, pictures. Raises HTTPException 404."""
    gone = HTTPException(404, f"there is no report of {job!r} of {date!r}")
    if date not in dates(appliance, job):
        raise gone
    try:
        paths = [path for path in (appliance.config.reports / job / date).iterdir() if _is_shown(path)]
    except FileNotFoundError:  # it has just been deleted
        raise gone from None
    found = _still_there((path, job, date) for path in paths)
    return sorted(found, key=lambda each: (_RANKS.get(each.path.suffix.lower(), 1), each.file))


def _is_writer(appliance: Appliance, job: str) -> bool:
    """Return whether `job` is the name of a report folder. It must not lead elsewhere."""
    return job in {path.name for path in appliance.config.reports.glob("*") if _is_folder(path)}


def _is_folder(path: Path) -> bool:
    return path.is_dir() and not path.is_symlink() and not path.name.startswith(".")


def _is_shown(path: Path) -> bool:
    return path.is_file() and not path.name.startswith(".")


def newest(found: Sequence[Report], most: int) -> list[Report]:
    """Return at most `most` of the reports, with the same number for each job."""
    each = max(1, most // max(1, len({report.job for report in found})))
    seen: Counter[str] = Counter()
    shown = []
    for report in found:
        seen[report.job] += 1
        if seen[report.job] <= each:
            shown.append(report)
    return shown[:most]


def folders(appliance: Appliance, job: str) -> tuple[str, ...]:
    """Return the folders of `job`: its own, and those of the networks it posts to."""
    known = appliance.config.jobs.get(job)
    return (job, *(getattr(known.options, "network", None) or ())) if known else (job,)


def writer(appliance: Appliance, folder: str) -> str | None:
    """Return the first job that writes into `folder`, or None."""
    if folder in appliance.config.jobs:
        return folder
    return next((job for job in appliance.config.jobs if folder in folders(appliance, job)), None)


def report(appliance: Appliance, job: str, file: str, date: str = "") -> Report:
    """Return the report `file` of `job`, of `date` or the newest.

    Raises:
        HTTPException: 404 for anything outside the folder of reports.

    """
    folder = appliance.config.reports.resolve()
    for found in edition(appliance, job, date) if date else reports(appliance, of=(job,)):
        # A listed name is safe, but a link may lead elsewhere.
        if found.file == file and found.path.resolve().is_relative_to(folder):
            return found
    raise HTTPException(404, f"there is no report {file!r} of {job!r}")
