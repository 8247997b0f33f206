"""Editions: what one run of a job reports, all at once, in a folder named by its date, and in place of the newest.

reports/pegs/2026-11-21_0330/result.txt ...     one of the dated folders that are kept
reports/pegs/.newest -> 2026-11-21_0330         which of them was written last
reports/pegs/result.txt -> .newest/result.txt   the newest: all of one run at any moment, also after a power cut
reports/pegs/.2026-11-21_0330.new/              being written; what a power cut leaves of it, goes the next time

Who writes has the lock of its job: nobody else does meanwhile.
"""

import contextlib
import errno
import filecmp
import os
import re
import shutil
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from itertools import count
from pathlib import Path
from typing import IO

from pi_appliance import plugins
from pi_appliance.config.model import Config
from pi_appliance.errors import Unavailable
from pi_appliance.storage.model import Outcome, Report
from pi_appliance.storage.runs import Store
from pi_appliance.system import files

_NAME = re.compile(r"(\d{4}-\d\d-\d\d_\d{4})(?:-(\d{1,4}))?")
_RESULT = "result.txt"
_MAX_TEXT = 100_000  # characters of a report that are read
_CLOCK_TOLERANCE = timedelta(seconds=1)  # the database has milliseconds, the file system its own clock
_DRAFT = ".new"  # behind the name of what is being written, or taken away
_NEWEST = ".newest"
_LINK = ".link"  # behind the name of a link that is being made
_NO_LINKS = (errno.EPERM, errno.EOPNOTSUPP, errno.ENOSYS)  # of a disk that knows none, such as FAT


def name_of(moment: datetime) -> str:
    """Return the name of the edition of MOMENT."""
    return moment.strftime("%Y-%m-%d_%H%M")


def is_name(text: str) -> bool:
    """Say whether TEXT is the name of an edition."""
    found = _NAME.fullmatch(text)
    if found is None:
        return False
    try:
        datetime.strptime(found[1], "%Y-%m-%d_%H%M")  # noqa: DTZ007 - a name, and no instant
    except ValueError:
        return False
    return True


def names(folder: Path) -> list[str]:
    """Return the editions in FOLDER, the newest first. A file or a link of such a name is somebody else's."""
    with contextlib.suppress(OSError):
        found = (each for each in folder.iterdir() if each.is_dir() and not each.is_symlink())
        return sorted((each.name for each in found if is_name(each.name)), key=_order, reverse=True)
    return []


def _order(name: str) -> tuple[str, int]:
    found = _NAME.fullmatch(name)
    assert found
    return found[1], int(found[2] or 1)


class ReportSet:
    """An edition that is being written."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    @contextlib.contextmanager
    def file(self, name: str) -> Iterator[IO[str]]:
        """Give a file to write, which becomes NAME of the edition when the block ends well. Raises Unavailable."""
        try:
            with files.atomic_write_text(self.folder / name) as file:
                yield file
        except Unavailable as error:
            told = str(error).replace(str(self.folder), str(self.folder.parent))  # the draft is gone by then
            raise Unavailable(told, after=error.retry_after) from None


@contextlib.contextmanager
def report_set(folder: Path, moment: datetime, *, keep: int) -> Iterator[ReportSet]:
    """Give the draft of an edition of MOMENT in FOLDER; it appears, whole, when the block ends well.

    Then its files stand at the old names, too, whatever its date, and of all others the newest stay, KEEP in all.
    Raises Unavailable.
    """
    files.make_directory(folder)
    try:
        _sweep(folder)
    except OSError as error:
        raise files.write_error(folder, error) from None
    draft = files.make_directory(folder / f".{name_of(moment)}{_DRAFT}")
    try:
        yield ReportSet(draft)
        try:
            name = _publish(folder, draft, name_of(moment))
            _forget(folder, name, keep)
        except OSError as error:
            raise files.write_error(folder, error) from None
    finally:
        shutil.rmtree(draft, ignore_errors=True)


def _publish(folder: Path, draft: Path, name: str) -> str:
    """Let DRAFT be an edition of FOLDER, called NAME if that is free; return what it is called."""
    files.sync_directory(draft)
    before = names(folder)
    free = next(each for each in _wanted(name) if not (folder / each).exists())
    place = draft.rename(folder / free)
    files.sync_directory(folder)
    _update_latest(folder, place, before)
    files.sync_directory(folder)
    return free


def _update_latest(folder: Path, place: Path, before: Sequence[str]) -> None:
    """Let the files of PLACE stand at the old names, all at once, and none of those that were there BEFORE."""
    written = _listed(place)
    try:
        _symlink(folder, place.name, written)
    except OSError as error:
        if error.errno not in _NO_LINKS:
            raise
        for each in written:
            _copy(place / each, folder / each)
    for path in folder.iterdir():
        if _is_ours(path) and not path.exists():
            path.unlink()
    for older in before:
        for each in _listed(folder / older) - written:
            _take_back(folder / older / each, folder / each)


def _symlink(folder: Path, name: str, written: set[str]) -> None:
    """Let all names in WRITTEN lead to the edition NAME by one change."""
    for each in written:
        if not os.path.lexists(folder / each):
            _link(folder / each, Path(_NEWEST, each))  # to nothing yet
    _link(folder / _NEWEST, Path(name))
    for each in written:  # what stood there was written by somebody else
        if not _is_ours(folder / each):
            _link(folder / each, Path(_NEWEST, each))


def _is_ours(path: Path) -> bool:
    return path.is_symlink() and path.readlink() == Path(_NEWEST, path.name)


def _wanted(name: str) -> Iterator[str]:
    yield name
    for number in count(2):
        yield f"{name}-{number}"


def _listed(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir() if path.is_file()}


def _take_back(source: Path, target: Path) -> None:
    """Take away TARGET if SOURCE was put there, and nobody has put anything else there since."""
    if target.is_file() and not target.is_symlink() and filecmp.cmp(source, target, shallow=False):
        target.unlink()


def _link(path: Path, target: Path) -> None:
    """Let PATH lead to TARGET. Where somebody has a folder of that name, it stays: what is new has its date."""
    if path.is_dir() and not path.is_symlink():
        return
    link = path.with_name(f".{path.name}{_LINK}")
    link.unlink(missing_ok=True)
    link.symlink_to(target)
    link.replace(path)


def _copy(source: Path, target: Path) -> None:
    """Let TARGET be a copy of SOURCE, unless it is somebody's folder."""
    if target.is_dir():
        return
    with source.open("rb") as file, files.atomic_write(target) as copy:
        shutil.copyfileobj(file, copy)


def _forget(folder: Path, new: str, keep: int) -> None:
    """Take away all editions but KEEP: the NEW one and the newest others; each vanishes at once.

    The new one may bear an old date: that of a slot that was caught up, or of a Pi whose clock is not set yet. What is
    not ours to take away, stays.
    """
    for name in [each for each in names(folder) if each != new][keep - 1 :]:
        with contextlib.suppress(OSError):
            gone = (folder / name).rename(folder / f".{name}{_DRAFT}")
            shutil.rmtree(gone, ignore_errors=True)


def _sweep(folder: Path) -> None:
    """Take away what runs that are no more have left half done."""
    for path in folder.iterdir():
        if not path.name.startswith("."):
            continue
        if path.is_symlink() and path.suffix == _LINK:
            path.unlink()
        elif path.is_dir() and path.suffix == _DRAFT and is_name(path.name.split(".")[1]):
            shutil.rmtree(path, ignore_errors=True)


def latest_report(config: Config, store: Store, job: str, *, picture: bool) -> Report | None:
    """Return the report of the last successful run of `job`; None if it never succeeded.

    With `picture`, the kind of the job draws one (`report_picture`).
    Raises `Refused` if the library that draws pictures is not installed.
    """
    run = store.last_success(job)
    if run is None or run.outcome is not Outcome.SUCCEEDED:
        return None
    draw = getattr(plugins.load("jobs", run.kind), "report_picture", None) if picture else None
    try:
        with _latest_result(config.reports / job, run.ended).open(encoding="utf-8", errors="replace") as file:
            text = file.read(_MAX_TEXT)
            file.seek(0)
            return Report(job, run.summary, text, draw(file) if draw else None)
    except OSError:
        return Report(job, run.summary, "")


def _latest_result(folder: Path, ended: datetime | None) -> Path:
    """Return the newest result in `folder` that existed when the run `ended`.

    A newer one may belong to a run that was interrupted later. It is used if there is no older one.
    """
    paths = [folder / _RESULT, *(folder / name / _RESULT for name in names(folder))]
    for path in paths:
        with contextlib.suppress(OSError):
            if ended and datetime.fromtimestamp(path.stat().st_mtime, UTC) <= ended + _CLOCK_TOLERANCE:
                return path
    return paths[0]
