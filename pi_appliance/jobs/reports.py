"""The reports of jobs.

A report set has the files of one run, published together in a dated folder and as the newest:

reports/pegs/2026-11-21_0330/result.txt ...     a dated folder
reports/pegs/.newest -> 2026-11-21_0330         the folder that was written last
reports/pegs/result.txt -> .newest/result.txt   the newest file, always of one run
reports/pegs/.2026-11-21_0330.new/              a draft, deleted by the next run after a power cut

The writer holds the lock of its job, so there is only one writer.
"""

import contextlib
import errno
import filecmp
import html
import os
import re
import shutil
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, tzinfo
from itertools import count
from pathlib import Path
from typing import IO
from urllib.parse import quote

from pi_appliance import plugins
from pi_appliance.config.options import Config
from pi_appliance.errors import Unavailable, UnknownName
from pi_appliance.scheduling.appliance import Appliance
from pi_appliance.storage.history import Store
from pi_appliance.storage.model import Outcome, Picture, Report, Run, read_slot
from pi_appliance.system import files

_NAME = re.compile(r"(\d{4}-\d\d-\d\d_\d{4})(?:-(\d{1,4}))?")
_RESULT = "result.txt"
_MAX_TEXT = 100_000  # characters that are read of a report
_CLOCK_TOLERANCE = timedelta(seconds=1)  # clocks of database and file system differ by this much
_DRAFT_SUFFIX = ".new"  # suffix of a set that is being written or deleted
_NEWEST_LINK = ".newest"
_LINK_SUFFIX = ".link"  # suffix of a link that is being created
_NO_LINK_ERRORS = (errno.EPERM, errno.EOPNOTSUPP, errno.ENOSYS)  # errors of a disk without links, such as FAT


def report_set_name(moment: datetime) -> str:
    """Return the name of the report set of `moment`."""
    return moment.strftime("%Y-%m-%d_%H%M")


def is_report_set_name(text: str) -> bool:
    """Return whether `text` is the name of a report set."""
    match = _NAME.fullmatch(text)
    if match is None:
        return False
    try:
        datetime.strptime(match[1], "%Y-%m-%d_%H%M")  # noqa: DTZ007 - a name, and no instant
    except ValueError:
        return False
    return True


def report_sets(folder: Path) -> list[str]:
    """Return the names of the report sets in `folder`, the newest first."""
    with contextlib.suppress(OSError):
        directories = (each for each in folder.iterdir() if each.is_dir() and not each.is_symlink())
        return sorted((each.name for each in directories if is_report_set_name(each.name)), key=_sort_key, reverse=True)
    return []


def _sort_key(name: str) -> tuple[str, int]:
    match = _NAME.fullmatch(name)
    assert match
    return match[1], int(match[2] or 1)


class ReportSet:
    """A report set that is being written."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    @contextlib.contextmanager
    def file(self, name: str) -> Iterator[IO[str]]:
        """Open the file `name` of the set. It is saved when the block ends without an error.

        Raises:
            Unavailable: The file cannot be written.
        """
        try:
            with files.atomic_write_text(self.folder / name) as file:
                yield file
        except Unavailable as error:
            # names the folder of the reports: the draft is deleted
            message = str(error).replace(str(self.folder), str(self.folder.parent))
            raise Unavailable(message, after=error.retry_after) from None


@contextlib.contextmanager
def report_set(folder: Path, moment: datetime, *, keep: int) -> Iterator[ReportSet]:
    """Create the report set of `moment` in `folder`, published when the block succeeds.

    The file names in `folder` then lead to the new set, whatever its date. At most `keep` sets
    stay: the new one and the newest others.

    Raises:
        Unavailable: The reports cannot be written.
    """
    files.make_directory(folder)
    try:
        _delete_drafts(folder)
    except OSError as error:
        raise files.write_error(folder, error) from None
    draft = files.make_directory(folder / f".{report_set_name(moment)}{_DRAFT_SUFFIX}")
    try:
        yield ReportSet(draft)
        try:
            name = _publish(folder, draft, report_set_name(moment))
            _delete_old_sets(folder, name, keep)
        except OSError as error:
            raise files.write_error(folder, error) from None
    finally:
        shutil.rmtree(draft, ignore_errors=True)


def _publish(folder: Path, draft: Path, name: str) -> str:
    """Rename `draft` to `name`, with a number if the name is in use. Return the final name."""
    files.sync_directory(draft)
    before = report_sets(folder)
    name = next(each for each in _possible_names(name) if not (folder / each).exists())
    new_set = draft.rename(folder / name)
    files.sync_directory(folder)
    _update_newest(folder, new_set, before)
    files.sync_directory(folder)
    return name


def _update_newest(folder: Path, new_set: Path, before: Sequence[str]) -> None:
    """Make the file names in `folder` lead to `new_set`; remove those that only `before` has."""
    names = _file_names(new_set)
    try:
        _symlink(folder, new_set.name, names)
    except OSError as error:
        if error.errno not in _NO_LINK_ERRORS:
            raise
        for each in names:
            _copy(new_set / each, folder / each)
    for path in folder.iterdir():
        if _is_ours(path) and not path.exists():
            path.unlink()
    for older in before:
        for each in _file_names(folder / older) - names:
            _delete_copy(folder / older / each, folder / each)


def _symlink(folder: Path, set_name: str, names: set[str]) -> None:
    """Make all `names` lead to the set `set_name`, with one atomic change."""
    for each in names:
        if not os.path.lexists(folder / each):
            # leads to nothing until the next line lets all names lead to the set
            _link(folder / each, Path(_NEWEST_LINK, each))
    _link(folder / _NEWEST_LINK, Path(set_name))
    for each in names:  # files that other programs wrote there are replaced
        if not _is_ours(folder / each):
            _link(folder / each, Path(_NEWEST_LINK, each))


def _is_ours(path: Path) -> bool:
    return path.is_symlink() and path.readlink() == Path(_NEWEST_LINK, path.name)


def _possible_names(name: str) -> Iterator[str]:
    yield name
    for number in count(2):
        yield f"{name}-{number}"


def _file_names(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir() if path.is_file()}


def _delete_copy(source: Path, target: Path) -> None:
    """Delete `target` if it is still the copy of `source`."""
    if target.is_file() and not target.is_symlink() and filecmp.cmp(source, target, shallow=False):
        target.unlink()


def _link(path: Path, target: Path) -> None:
    """Make `path` a link to `target`. A folder with that name stays."""
    if path.is_dir() and not path.is_symlink():
        return
    link = path.with_name(f".{path.name}{_LINK_SUFFIX}")
    link.unlink(missing_ok=True)
    link.symlink_to(target)
    link.replace(path)


def _copy(source: Path, target: Path) -> None:
    """Copy `source` to `target`, unless `target` is a folder."""
    if target.is_dir():
        return
    with source.open("rb") as file, files.atomic_write(target) as copy:
        shutil.copyfileobj(file, copy)


def _delete_old_sets(folder: Path, new: str, keep: int) -> None:
    """Delete all sets but the `new` one and the newest others, `keep` in all.

    The new set may have an old date, if its slot is late or the clock was not set. Errors are
    ignored, so folders of other programs may stay.
    """
    for name in [each for each in report_sets(folder) if each != new][keep - 1 :]:
        with contextlib.suppress(OSError):
            gone = (folder / name).rename(folder / f".{name}{_DRAFT_SUFFIX}")
            shutil.rmtree(gone, ignore_errors=True)


def _delete_drafts(folder: Path) -> None:
    """Delete drafts and links of interrupted runs."""
    for path in folder.iterdir():
        if not path.name.startswith("."):
            continue
        if path.is_symlink() and path.suffix == _LINK_SUFFIX:
            path.unlink()
        elif path.is_dir() and path.suffix == _DRAFT_SUFFIX and is_report_set_name(path.name.split(".")[1]):
            shutil.rmtree(path, ignore_errors=True)


def latest_report(config: Config, store: Store, job: str, *, picture: bool, animation: bool = False) -> Report | None:
    """Return the report of the last successful run of `job`, or None without one.

    With `picture` and `animation`, the kind of the job draws them from the files of the report
    (`report_picture`, `report_animation`).

    Raises:
        Refused: The library that draws pictures is not installed.
    """
    run = store.last_success(job)
    if run is None or run.outcome is not Outcome.SUCCEEDED:
        return None
    try:
        # one resolved folder, so that all files are of the same set
        result = _latest_result(config.reports / job, run.ended).resolve()
        with result.open(encoding="utf-8", errors="replace") as file:
            text = file.read(_MAX_TEXT)
    except OSError:
        return Report(job, run.summary, "")
    kind = plugins.load("jobs", run.kind) if picture or animation else None
    still, moving = (
        getattr(kind, name, _draw_nothing)(result) if wanted else None
        for name, wanted in (("report_picture", picture), ("report_animation", animation))
    )
    return Report(job, run.summary, text, still, moving)


def _draw_nothing(_: Path) -> Picture | None:
    return None


def _latest_result(folder: Path, ended: datetime | None) -> Path:
    """Return the newest result in `folder` that existed when the run `ended`.

    A newer result may belong to a run that was interrupted later. It is used if there is no older
    one.
    """
    paths = [folder / _RESULT, *(folder / name / _RESULT for name in report_sets(folder))]
    for path in paths:
        with contextlib.suppress(OSError):
            if ended and datetime.fromtimestamp(path.stat().st_mtime, UTC) <= ended + _CLOCK_TOLERANCE:
                return path
    return paths[0]


# All report files of an appliance


_TITLE = re.compile(rb"<title>([^<]*)</title>")
_TITLE_BYTES = 4096  # bytes at the beginning of a file, in which the title is searched
_KINDS = {".html": "page", ".svg": "picture", ".png": "picture", ".csv": "table", ".json": "data"}
_RANKS = {".html": 0, ".svg": 2, ".png": 2}  # pages first, then texts, then pictures


@dataclass(frozen=True, slots=True)
class ReportFile:
    """One file that a job wrote."""

    job: str
    file: str
    path: Path
    written: datetime
    size: int
    date: str = ""
    """The name of its report set, or '' for the newest reports."""

    @property
    def title(self) -> str:
        """The title in the page or drawing; for other files, their name as words."""
        if self.path.suffix.lower() in (".html", ".svg"):
            with contextlib.suppress(OSError), self.path.open("rb") as file:
                match = _TITLE.search(file.read(_TITLE_BYTES))
                if match and match[1].strip():
                    return html.unescape(match[1].decode(errors="replace")).strip()
        words = re.sub(r"[-_]+", " ", self.path.stem).strip()
        return words[:1].upper() + words[1:]

    @property
    def kind(self) -> str:
        """The kind of content, as a word for people."""
        return _KINDS.get(self.path.suffix.lower(), "text")

    @property
    def address(self) -> str:
        """Path of the report on the website."""
        return "/".join(["/reports", *(quote(part, safe="") for part in (self.job, self.date, self.file) if part)])


def list_reports(appliance: Appliance, *, folders: Collection[str] | None = None) -> list[ReportFile]:
    """Return the newest reports of all folders, or of `folders`, the newest job first."""
    paths = appliance.config.reports.glob("*/*")
    reports = _existing_files(
        (path, path.parent.name, "") for path in paths if folders is None or path.parent.name in folders
    )
    newest: dict[str, datetime] = {}
    for report in reports:
        newest[report.job] = max(report.written, newest.get(report.job, report.written))
    reports.sort(key=lambda report: report.written, reverse=True)
    reports.sort(key=lambda report: (report.job, _RANKS.get(report.path.suffix, 1)))
    return sorted(reports, key=lambda report: newest[report.job], reverse=True)


def _existing_files(candidates: Iterable[tuple[Path, str, str]]) -> list[ReportFile]:
    """Return the visible files among the `candidates` that still exist: path, job and date."""
    reports = []
    for path, job, date in candidates:
        with contextlib.suppress(FileNotFoundError):
            if path.is_file() and not path.name.startswith("."):
                stat = path.stat()
                written = datetime.fromtimestamp(stat.st_mtime, UTC)
                reports.append(ReportFile(job, path.name, path, written, stat.st_size, date))
    return reports


def report_dates(appliance: Appliance, job: str) -> list[str]:
    """Return the names of the report sets of `job`, the newest first."""
    folder = appliance.config.reports / job
    # a folder outside of the reports is never used
    is_report_folder = folder in appliance.config.reports.glob("*") and _is_plain_folder(folder)
    return [name for name in report_sets(folder) if _is_plain_folder(folder / name)] if is_report_folder else []


def _is_plain_folder(path: Path) -> bool:
    return path.is_dir() and not path.is_symlink() and not path.name.startswith(".")


def dated_reports(appliance: Appliance, job: str, date: str) -> list[ReportFile]:
    """Return the reports of `job` in the set `date`: pages, texts, pictures. Raises UnknownName."""
    dates = report_dates(appliance, job)
    if date not in dates:
        raise UnknownName(f"report of {job}", date, dates)
    folder, paths = appliance.config.reports / job / date, list[Path]()
    with contextlib.suppress(FileNotFoundError):  # the file may have just been deleted
        paths = list(folder.iterdir())
    reports = _existing_files((path, job, date) for path in paths)
    return sorted(reports, key=lambda report: (rank_file(report.path), report.file))


def rank_file(path: Path) -> int:
    """Return the rank of a file within its set: pages first, then texts, then pictures."""
    return _RANKS.get(path.suffix.lower(), 1)


def select_newest(reports: Sequence[ReportFile], count: int) -> list[ReportFile]:
    """Return at most `count` of the `reports`, with the same number for each job."""
    count_per_job = max(1, count // max(1, len({report.job for report in reports})))
    counts: Counter[str] = Counter()
    selected = []
    for report in reports:
        counts[report.job] += 1
        if counts[report.job] <= count_per_job:
            selected.append(report)
    return selected[:count]


def report_folders(appliance: Appliance, job: str) -> tuple[str, ...]:
    """Return the folders of `job`: its own, and those of the networks it posts to."""
    entry = appliance.config.jobs.get(job)
    return (job, *(getattr(entry.options, "network", None) or ())) if entry else (job,)


def find_writer(appliance: Appliance, folder: str) -> str | None:
    """Return the first job that writes into `folder`, or None."""
    if folder in appliance.config.jobs:
        return folder
    return next((job for job in appliance.config.jobs if folder in report_folders(appliance, job)), None)


def find_report(appliance: Appliance, job: str, file: str, date: str = "") -> ReportFile:
    """Return the report `file` of `job`, of the set `date` or the newest.

    Raises:
        UnknownName: There is none, or it is outside of the report folder.
    """
    folder = appliance.config.reports.resolve()
    reports = dated_reports(appliance, job, date) if date else list_reports(appliance, folders=(job,))
    for report in reports:
        # A name cannot lead out of the folder, but a link may.
        if report.file == file and report.path.resolve().is_relative_to(folder):
            return report
    raise UnknownName(f"report of {job}", file, [report.file for report in reports])


# The index of a job: its reports by year and month, and the runs without a report.
# Nothing is written for it: titles are read from the reports that are kept.

_LEFT_OUT = frozenset({Outcome.SKIPPED})
"""Outcomes of runs without a night of their own."""


@dataclass(frozen=True, slots=True)
class IndexEntry:
    """A report set, or a run whose report was deleted."""

    at: datetime  # the local time of the job
    title: str
    result: str  # how the run ended, in words; "" if the history has lost it
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
    """Return the run of each report set.

    Sets of the same minute are matched with its runs in order.
    """
    waiting: dict[str, list[Run]] = {}
    for run in _shown(runs):  # newest first
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
    """Return the title of a set: the title of its page, else of its first file."""
    paths: list[Path] = []
    with contextlib.suppress(OSError):  # the set may have just been deleted
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
