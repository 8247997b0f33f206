"""The reports that jobs wrote, and which of them a browser may see how."""

from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from starlette.exceptions import HTTPException

from pi_appliance.engine.assemble import Appliance

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
# A report is data: whatever it holds, it runs no script and loads nothing from anywhere.
HARMLESS = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; sandbox; frame-ancestors 'none'"


@dataclass(frozen=True, slots=True)
class Report:
    """One file that a job wrote."""

    job: str
    file: str
    path: Path
    written: datetime
    size: int


def reports(appliance: Appliance, *, job: str | None = None) -> list[Report]:
    """Return the reports there are, the newest first: of JOB or of all."""
    folder = appliance.config.reports
    found = []
    for path in appliance.report_files():
        stat = (folder / path).stat()
        if job is None or path.parts[0] == job:
            written = datetime.fromtimestamp(stat.st_mtime, UTC)
            found.append(Report(path.parts[0], path.name, folder / path, written, stat.st_size))
    return found


def report(appliance: Appliance, job: str, file: str) -> Report:
    """Return the report FILE of JOB. Raises HTTPException 404 for anything that is not in the folder of reports."""
    folder = appliance.config.reports.resolve()
    for found in reports(appliance, job=job):
        # A name that stands in the list cannot lead elsewhere, but a link might.
        if found.file == file and found.path.resolve().is_relative_to(folder):
            return found
    raise HTTPException(404, f"there is no report {file!r} of {job!r}")
