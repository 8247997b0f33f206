"""Report sets: the files of one run, published together in a dated folder and as the newest.

reports/pegs/2026-11-21_0330/result.txt ...     a dated folder
reports/pegs/.newest -> 2026-11-21_0330         the folder that was written last
reports/pegs/result.txt -> .newest/result.txt   the newest file, always of one run
reports/pegs/.2026-11-21_0330.new/              a draft, deleted by the next run after a power cut

The writer holds the lock of its job, so there is only one writer.
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
from pi_appliance.storage.history import Store
from pi_appliance.storage.model import Outcome, Report
from pi_appliance.system import files

_NAME = re.compile(r"(\d{4}-\d\d-\d\d_\d{4})(?:-(\d{1,4}))?")
_RESULT = "result.txt"
_MAX_TEXT = 100_000  # characters of a report that are read
_CLOCK_TOLERANCE = timedelta(seconds=1)  # database and file system use different clocks
_DRAFT = ".new"  # suffix of a set that is being written or deleted
_NEWEST = ".newest"
_LINK = ".link"  # suffix of a link that is being created
_NO_LINKS = (errno.EPERM, errno.EOPNOTSUPP, errno.ENOSYS)  # errors of a disk without links, such as FAT


def name_of(moment: datetime) -> str:
    """Return the name of the report set of `moment`."""
    return moment.strftime("%Y-%m-%d_%H%M")


def is_name(text: str) -> bool:
    """Return whether `text` is the name of a report set."""
    match = _NAME.fullmatch(text)
    if match is None:
        return False
    try:
        datetime.strptime(match[1], "%Y-%m-%d_%H%M")  # noqa: DTZ007 - a name, and no instant
    except ValueError:
        return False
    return True


def names(folder: Path) -> list[str]:
    """Return the report sets in `folder`, the newest first. Other files and links are ignored."""
    with contextlib.suppress(OSError):
        directories = (each for each in folder.iterdir() if each.is_dir() and not each.is_symlink())
        return sorted((each.name for each in directories if is_name(each.name)), key=_order, reverse=True)
    return []


def _order(name: str) -> tuple[str, int]:
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
            Unavailable: the file cannot be written.

        """
        try:
            with files.atomic_write_text(self.folder / name) as file:
                yield file
        except Unavailable as error:
            message = str(error).replace(str(self.folder), str(self.folder.parent))  # the draft is deleted
            raise Unavailable(message, after=error.retry_after) from None


@contextlib.contextmanager
def report_set(folder: Path, moment: datetime, *, keep: int) -> Iterator[ReportSet]:
    """Create the report set of `moment` in `folder`, published when the block succeeds.

    The old file names then lead to the new set, whatever its date. At most `keep` sets stay, the
    new one and the newest others.

    Raises:
        Unavailable: the reports cannot be written.

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
    """Rename `draft` to `name`, with a number if the name is in use. Return the final name."""
    files.sync_directory(draft)
    before = names(folder)
    free = next(each for each in _wanted(name) if not (folder / each).exists())
    place = draft.rename(folder / free)
    files.sync_directory(folder)
    _update_latest(folder, place, before)
    files.sync_directory(folder)
    return free


def _update_latest(folder: Path, place: Path, before: Sequence[str]) -> None:
    """Make the old file names lead to the set `place`, and remove those of the sets `before`."""
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
    """Make all names in `written` lead to the set `name`, with one atomic change."""
    for each in written:
        if not os.path.lexists(folder / each):
            _link(folder / each, Path(_NEWEST, each))  # leads to nothing yet
    _link(folder / _NEWEST, Path(name))
    for each in written:  # replace files of other programs
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
    """Delete `target` if it is still the copy of `source`."""
    if target.is_file() and not target.is_symlink() and filecmp.cmp(source, target, shallow=False):
        target.unlink()


def _link(path: Path, target: Path) -> None:
    """Make `path` a link to `target`. A folder with that name stays."""
    if path.is_dir() and not path.is_symlink():
        return
    link = path.with_name(f".{path.name}{_LINK}")
    link.unlink(missing_ok=True)
    link.symlink_to(target)
    link.replace(path)


def _copy(source: Path, target: Path) -> None:
    """Copy `source` to `target`, unless `target` is a folder."""
    if target.is_dir():
        return
    with source.open("rb") as file, files.atomic_write(target) as copy:
        shutil.copyfileobj(file, copy)


def _forget(folder: Path, new: str, keep: int) -> None:
    """Delete all sets but the `new` one and the newest others, `keep` in all.

    The new set may have an old date: that of a late slot, or of an unset clock. Errors are ignored,
    so foreign folders may stay.
    """
    for name in [each for each in names(folder) if each != new][keep - 1 :]:
        with contextlib.suppress(OSError):
            gone = (folder / name).rename(folder / f".{name}{_DRAFT}")
            shutil.rmtree(gone, ignore_errors=True)


def _sweep(folder: Path) -> None:
    """Delete drafts and links of interrupted runs."""
    for path in folder.iterdir():
        if not path.name.startswith("."):
            continue
        if path.is_symlink() and path.suffix == _LINK:
            path.unlink()
        elif path.is_dir() and path.suffix == _DRAFT and is_name(path.name.split(".")[1]):
            shutil.rmtree(path, ignore_errors=True)


def latest_report(config: Config, store: Store, job: str, *, picture: bool) -> Report | None:
    """Return the report of the last successful run of `job`, or None without one.

    With `picture`, the kind of the job draws one (`report_picture`).

    Raises:
        Refused: the library that draws pictures is not installed.

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
