"""Make, list and delete the daily backups; and make the backup that the owner downloads.

The card keeps copies of the database, the newest seven. If the configuration has `backup:`, an
archive is also written to the folder there, which keeps the newest `keep` archives.
"""

import contextlib
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import BinaryIO

from pi_appliance.config import secrets
from pi_appliance.config.options import Config
from pi_appliance.errors import ApplianceError, Unavailable
from pi_appliance.storage.database import Database
from pi_appliance.storage.history import DATABASE
from pi_appliance.system import clock, files, machine, network

FOLDER = "backup"
"""The folder of the state with the copies of the database."""
KEPT_ON_CARD = 7
BACKUP_INTERVAL = timedelta(hours=20)  # less than a day, so that a job that runs once a day makes a backup each day
_FREE_FACTOR = 4  # a backup is made only if this many times its size is free
SHARED = frozenset({"memory", "resume", "stations.json", "partition"})
"""Files and folders of the state that a backup without secrets holds besides the database."""
WHOLE = "-whole"
"""In the name of a backup of the whole appliance, with its secrets encrypted."""
_WHOLE_TIMEOUT = 1800.0  # seconds that a backup of the whole appliance may take
_MAX_TEXT = 1_000_000  # bytes that a file of the configuration may have
_FOR_DRIVES = tuple(map(Path, ("/media", "/mnt", "/run/media", "/run/pi-appliance-usb")))
"""Folders whose subfolders are drives. Without its drive, such a subfolder is empty."""
_MAX_LAG = 2 * 86400.0  # seconds by which the folder may be behind the card


def list_backups(state_dir: Path) -> list[Path]:
    """Return the daily backups, the newest first."""
    return sorted((state_dir / FOLDER).glob("history-*.db"), reverse=True)


def back_up_daily(
    database: Database, *, now: datetime | None = None, interval: timedelta = BACKUP_INTERVAL
) -> Path | None:
    """Make a backup of `database` if the newest is as old as `interval`. Keep the newest seven.

    Returns:
        The backup; None if none was made.

    Raises:
        Unavailable: it cannot be written, or the database cannot be read.
    """
    now = now or clock.now()
    state_dir = database.path.parent
    newest = next(iter(list_backups(state_dir)), None)
    if newest is not None and abs(now.timestamp() - newest.stat().st_mtime) < interval.total_seconds():
        return None
    folder = files.make_directory(state_dir / FOLDER, mode=0o750)
    if shutil.disk_usage(folder).free < _FREE_FACTOR * database.path.stat().st_size:
        return None
    target = folder / f"history-{now.astimezone(UTC):%Y%m%dT%H%M%SZ}.db"
    copy_database(database, target)
    for old in list_backups(state_dir)[KEPT_ON_CARD:]:
        old.unlink(missing_ok=True)
    return target


def copy_database(database: Database, target: Path) -> None:
    """Copy `database` to the file `target`. Raises Unavailable."""
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


def backup_chunks(config: Config) -> Iterator[bytes]:
    """Return a backup in chunks, without secrets. Raises Unavailable without space for a copy."""
    # Imported only here: a run only makes the copy on the card, and starts faster without these.
    from pi_appliance.config import hidden_programs  # noqa: PLC0415
    from pi_appliance.storage.backup_archive import CONFIGURATION, archive_chunks  # noqa: PLC0415

    more = {f"{CONFIGURATION}/{config.path.name}": hidden_programs.shown_text(config.text).encode()}
    paths = [config.stations, *(getattr(job.options, "lines", None) for job in config.jobs.values())]
    for path in paths:
        if isinstance(path, Path) and path.is_file() and path.stat().st_size < _MAX_TEXT:
            more[f"{CONFIGURATION}/{path.name}"] = path.read_bytes()
    return archive_chunks(config.state_dir, names=SHARED, more=more)


def list_folder(config: Config) -> list[Path]:
    """Return the backups of this machine in the folder of `backup:`, the newest first."""
    if config.backup is None:
        return []
    name = re.compile(rf"{re.escape(network.host_name())}-\d{{8}}T\d{{6}}Z(?:{WHOLE})?\.tar\.gz")
    try:
        found = [each for each in config.backup.folder.iterdir() if name.fullmatch(each.name)]
    except OSError:
        return []
    return sorted(found, reverse=True)


def back_up_to_folder(config: Config, now: datetime, interval: timedelta = BACKUP_INTERVAL) -> Path | None:
    """Write a backup to the folder of `backup:`, if the newest there is at least `interval` old.

    Returns:
        The backup; None if none was made.

    Raises:
        Unavailable: It cannot be written. Nothing is written elsewhere.
    """
    if config.backup is None:
        return None
    newest = next(iter(list_folder(config)), None)
    if newest is not None and abs(now.timestamp() - newest.stat().st_mtime) < interval.total_seconds():
        return None
    if problem := find_obstacle(config):
        raise Unavailable(problem)
    kind = WHOLE if config.backup.whole else ""
    target = config.backup.folder / f"{network.host_name()}-{now.astimezone(UTC):%Y%m%dT%H%M%SZ}{kind}.tar.gz"
    # a draft beside the target, because a drive with FAT has neither links nor rights
    draft = target.with_name(f".{target.name}.new")
    try:
        with open(draft, "wb", opener=_open_closed) as file:
            if config.backup.whole:
                _write_whole(config, file)
            else:
                file.writelines(backup_chunks(config))
            file.flush()
            os.fsync(file.fileno())
        draft.replace(target)
        files.sync_directory(target.parent)
    except OSError as error:
        raise files.write_error(target, error) from None
    finally:
        with contextlib.suppress(OSError):  # the drive may have been pulled
            draft.unlink()
    for old in list_folder(config)[config.backup.keep :]:
        with contextlib.suppress(OSError):
            old.unlink()
    return target


def _open_closed(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)


def _write_whole(config: Config, file: BinaryIO) -> None:
    """Write a backup of the whole appliance.

    The command does that, because it also gets the playlists.
    """
    words = [sys.executable, "-m", "pi_appliance", "backup", "-", "--secrets", "--config", str(config.path)]
    typed = _passphrase(config).encode() + b"\n"
    try:
        subprocess.run(words, input=typed, stdout=file, stderr=subprocess.PIPE, check=True, timeout=_WHOLE_TIMEOUT)
    except subprocess.CalledProcessError as error:
        said = error.stderr.decode(errors="replace").strip().splitlines() or [f"status {error.returncode}"]
        raise Unavailable(f"the backup of the whole appliance failed: {said[-1]}") from None
    except subprocess.TimeoutExpired:
        raise Unavailable("the backup of the whole appliance took too long; look at its drive") from None


def _passphrase(config: Config) -> str:
    """Return the passphrase for the secrets. Raises Unavailable or Refused if there is none."""
    from pi_appliance.storage.backup_archive import require_encryption  # noqa: PLC0415 - as above

    require_encryption()
    passphrase = secrets.load(config.path, os.environ).get("BACKUP_PASSPHRASE", "")
    if len(passphrase) < secrets.MIN_PASSPHRASE:
        number = f"{secrets.MIN_PASSPHRASE} or more characters"
        raise Unavailable(
            f"a whole backup needs a passphrase: write BACKUP_PASSPHRASE=… with {number} into secrets.env"
        )
    return passphrase


def find_obstacle(config: Config) -> str:
    """Return why no backup can be written to the folder of `backup:`, with the remedy, or ""."""
    if config.backup is None:
        return ""
    try:
        if config.backup.whole:
            _passphrase(config)
        return _find_obstacle(config.backup.folder, config.state_dir / DATABASE)
    except ApplianceError as error:
        return str(error)
    except OSError as error:  # such as a failing drive
        return f"the folder for backups, {config.backup.folder}, cannot be used: {error.strerror}; check its drive"


def _find_obstacle(folder: Path, database: Path) -> str:
    if not folder.is_dir():
        return f"the folder for backups, {folder}, is not there; connect its drive, or create it"
    if any(folder.is_relative_to(each) and _is_same_drive(folder, each.parent) for each in _FOR_DRIVES):
        return f"no drive is mounted at the folder for backups, {folder}; connect and mount it"
    if os.statvfs(folder).f_flag & os.ST_RDONLY:
        return (
            f"the folder for backups, {folder}, is read-only for the appliance; mount its drive so that it can be"
            " written, and allow it with: sudo systemctl edit pi-appliance, the lines [Service] and"
            f" ReadWritePaths=-{folder}, and a restart"
        )
    if not os.access(folder, os.W_OK | os.X_OK):
        return f"the folder for backups, {folder}, cannot be written; {files.access_advice(folder)}"
    if machine.free_space(folder) < (database.stat().st_size if database.exists() else 0):
        return f"the folder for backups, {folder}, is full; make room there"
    return ""


def find_problem(config: Config) -> str:
    """Return why the backups in the folder of `backup:` are too old, with the remedy, or ""."""
    if obstacle := find_obstacle(config):
        return obstacle
    newest, nightly = next(iter(list_folder(config)), None), next(iter(list_backups(config.state_dir)), None)
    with contextlib.suppress(OSError):  # the backup may have been deleted meanwhile
        if newest and nightly and (late := nightly.stat().st_mtime - newest.stat().st_mtime) > _MAX_LAG:
            return f"the newest backup in {newest.parent} is {late // 86400:.0f} days older than the one on the card"
    return ""


def _is_same_drive(one: Path, other: Path) -> bool:
    return one.stat().st_dev == other.stat().st_dev
