"""Editions: what one run of a job reports, all at once, in a folder named by its date, and in place of the newest.

reports/pegs/2026-11-21_0330/result.txt ...     one of the dated folders that are kept
reports/pegs/result.txt ...                     the newest, the same files
reports/pegs/.2026-11-21_0330.4711.new/         being written; what a power cut leaves of it, goes the next time
"""

import contextlib
import re
import shutil
from collections.abc import Iterator
from datetime import datetime
from itertools import count
from pathlib import Path
from typing import IO

from pi_appliance.system import files

_NAME = re.compile(r"(\d{4}-\d\d-\d\d_\d{4})(?:-(\d{1,4}))?")
_DRAFT = re.compile(r"\..+\.(\d+)\.new")


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
    """Return the editions in FOLDER, the newest first."""
    with contextlib.suppress(OSError):
        return sorted((each.name for each in folder.iterdir() if is_name(each.name)), key=_order, reverse=True)
    return []


def _order(name: str) -> tuple[str, int]:
    found = _NAME.fullmatch(name)
    assert found
    return found[1], int(found[2] or 1)


class Draft:
    """An edition that is being written."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    @contextlib.contextmanager
    def file(self, name: str) -> Iterator[IO[str]]:
        """Give a file to write, which becomes NAME of the edition when the block ends well. Raises Unavailable."""
        with files.replacing_text(self.folder / name) as file:
            yield file


@contextlib.contextmanager
def edition(folder: Path, moment: datetime, *, process: int, keep: int) -> Iterator[Draft]:
    """Give the draft of an edition of MOMENT in FOLDER; it appears, whole, when the block ends well.

    Then it is also the newest, and of all editions the newest KEEP stay. PROCESS is who writes. Raises Unavailable.
    """
    files.make_folder(folder)
    _sweep(folder)
    draft = files.make_folder(folder / f".{name_of(moment)}.{process}.new")
    try:
        yield Draft(draft)
        try:
            _appear(folder, draft, name_of(moment))
            _forget(folder, keep, process)
        except OSError as error:
            raise files.cannot_write(folder, error) from None
    finally:
        shutil.rmtree(draft, ignore_errors=True)


def _appear(folder: Path, draft: Path, name: str) -> None:
    files.sync_folder(draft)
    before = names(folder)
    free = next(each for each in _wanted(name) if not (folder / each).exists())
    place = draft.rename(folder / free)
    files.sync_folder(folder)
    written = {path.name for path in place.iterdir()}
    for each in sorted(written):
        _put(place / each, folder / each)
    for each in _listed(folder / before[0]) - written if before else ():
        (folder / each).unlink(missing_ok=True)  # the newest is this edition, and nothing of an older one
    files.sync_folder(folder)


def _wanted(name: str) -> Iterator[str]:
    yield name
    for number in count(2):
        yield f"{name}-{number}"


def _listed(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


def _put(source: Path, target: Path) -> None:
    """Let TARGET be SOURCE: the same file, or a copy where the disk knows no second name for one."""
    link = target.with_name(f".{target.name}.link")
    link.unlink(missing_ok=True)
    try:
        link.hardlink_to(source)
    except OSError:
        with source.open("rb") as file, files.replacing(target) as copy:
            shutil.copyfileobj(file, copy)
    else:
        link.replace(target)


def _forget(folder: Path, keep: int, process: int) -> None:
    """Take away all editions but the newest KEEP; each vanishes at once, whatever is left of its files."""
    for name in names(folder)[keep:]:
        gone = (folder / name).rename(folder / f".{name}.{process}.new")
        shutil.rmtree(gone, ignore_errors=True)


def _sweep(folder: Path) -> None:
    """Take away the drafts of those who are no more."""
    for path in folder.iterdir():
        if (found := _DRAFT.fullmatch(path.name)) and path.is_dir() and not Path("/proc", found[1]).exists():
            shutil.rmtree(path, ignore_errors=True)
