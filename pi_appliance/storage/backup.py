"""Backups: a daily copy of the database in the state directory, and an archive of the whole state for the owner."""

import os
import shutil
import tarfile
from datetime import UTC, datetime, timedelta
from pathlib import Path

from pi_appliance.errors import Refused, Unavailable
from pi_appliance.storage.database import Database
from pi_appliance.system import clock, files

FOLDER = "backup"
_DATABASE = "history.db"
_KEPT = 7
_INTERVAL = timedelta(hours=20)  # less than a day, so that a job that runs once a day makes a backup each day
_FREE_FACTOR = 4  # a backup is made only with so many times its size free
_LEFT_OUT = {FOLDER, "locks", "logs", "reports"}
"""Folders of the state directory that are not part of an archive."""


def list_backups(state_dir: Path) -> list[Path]:
    """Return the daily backups, the newest first."""
    return sorted((state_dir / FOLDER).glob("history-*.db"), reverse=True)


def back_up_daily(database: Database, *, now: datetime | None = None) -> Path | None:
    """Make a backup of `database` if the newest is about a day old. Keep the newest seven.

    Returns:
        The backup; None if none was made.

    Raises:
        Unavailable: it cannot be written, or the database cannot be read.

    """
    now = now or clock.now()
    state_dir = database.path.parent
    newest = next(iter(list_backups(state_dir)), None)
    if newest is not None and abs(now.timestamp() - newest.stat().st_mtime) < _INTERVAL.total_seconds():
        return None
    folder = files.make_directory(state_dir / FOLDER, mode=0o750)
    if shutil.disk_usage(folder).free < _FREE_FACTOR * database.path.stat().st_size:
        return None
    target = folder / f"history-{now.astimezone(UTC):%Y%m%dT%H%M%SZ}.db"
    _copy_database(database, target)
    for old in list_backups(state_dir)[_KEPT:]:
        old.unlink(missing_ok=True)
    return target


def _copy_database(database: Database, target: Path) -> None:
    draft = target.with_name(f".{target.name}.new")
    draft.unlink(missing_ok=True)
    try:
        database.rows("VACUUM INTO ?", (str(draft),))
        with draft.open("rb") as file:
            os.fsync(file.fileno())
        draft.rename(target)
        files.sync_directory(target.parent)
    finally:
        draft.unlink(missing_ok=True)


def write_archive(database: Database, path: Path) -> None:
    """Write database and state to the archive `path`, a .tar.gz.

    Only its owner can read it, because it contains a key.

    Raises:
        Unavailable: it cannot be written.

    """
    state_dir = database.path.parent
    copy = state_dir / f".{_DATABASE}.archive"
    try:
        _copy_database(database, copy)
        with files.atomic_write(path, mode=0o600) as file, tarfile.open(fileobj=file, mode="w:gz") as archive:
            archive.add(copy, _DATABASE)
            for item in sorted(state_dir.iterdir()):
                if not _is_left_out(item):
                    archive.add(item, item.name)
    except OSError as error:
        raise files.write_error(path, error) from None
    finally:
        copy.unlink(missing_ok=True)


def _is_left_out(item: Path) -> bool:
    special = not (item.is_file() or item.is_dir())
    return special or item.name in _LEFT_OUT or item.name.startswith((_DATABASE, "history.lock", "."))


def restore_archive(path: Path, state_dir: Path) -> None:
    """Replace the state by the archive `path`, and make its database the newest backup.

    No other process may use the state meanwhile. `recovery.restore` then puts the database in
    place.

    Raises:
        Refused: the file is not such an archive.
        Unavailable: the state cannot be written.

    """
    files.make_directory(state_dir, mode=0o750)
    folder = state_dir / ".restore"
    shutil.rmtree(folder, ignore_errors=True)
    try:
        with tarfile.open(path) as archive:
            archive.extractall(folder, filter="data")
        if not (folder / _DATABASE).is_file():
            raise Refused(f"{path} is not a backup of pi-appliance: it has no {_DATABASE}")
        with Database(folder / _DATABASE) as database:
            database.ensure_intact()
        for name in ("history.lock", f"{_DATABASE}-wal", f"{_DATABASE}-shm"):
            (folder / name).unlink(missing_ok=True)
        backups = files.make_directory(state_dir / FOLDER, mode=0o750)
        (folder / _DATABASE).rename(backups / f"history-{clock.now():%Y%m%dT%H%M%SZ}.db")
        for item in folder.iterdir():
            target = state_dir / item.name
            if target.is_dir():
                shutil.rmtree(target)
            item.rename(target)
    except (tarfile.TarError, EOFError) as error:
        raise Refused(f"{path} is not a backup of pi-appliance: {error}") from None
    except OSError as error:
        raise Unavailable(f"{path} cannot be restored: {error}") from None
    finally:
        shutil.rmtree(folder, ignore_errors=True)
