"""Archives of the state: made in chunks, unpacked, checked, restored; and encryption of secrets."""

import contextlib
import fcntl
import gzip
import hashlib
import importlib.util
import io
import json
import os
import shutil
import tarfile
import threading
import zlib
from base64 import urlsafe_b64encode
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path, PurePosixPath
from typing import BinaryIO

from pi_appliance import __version__
from pi_appliance.errors import ApplianceError, Refused, Unavailable
from pi_appliance.storage.daily_backups import FOLDER, copy_database
from pi_appliance.storage.damage_recovery import delete_database, replace_damaged
from pi_appliance.storage.database import (
    Database,
    DatabaseCorrupt,
    SchemaMismatch,
    format_instant,
    parse_instant,
    replacement_path,
)
from pi_appliance.storage.history import DATABASE, claims_of_locks
from pi_appliance.system import clock, files

# An old list of devices would sign in devices that were signed out since. The keys of a cluster
# allow to run programs on its machines.
_LEFT_OUT = {FOLDER, "cluster", "locks", "logs", "reports", "devices.json", files.WAKEUP_FILE}
"""Files and folders of the state directory that are not part of an archive."""
ABOUT = "about.json"
"""The file of an archive with its version and its date."""
CONFIGURATION, REPORTS, PLAYLISTS = "configuration", "reports", "playlists"
"""Folders of an archive that are not part of the state."""
PRIVATE = "private.enc"
"""The file of an archive with the secrets, encrypted."""
_ARCHIVE_FREE_FACTOR = 2  # an archive is made only if this many times the size of the database is free
_CHUNK = 256 * 1024  # bytes copied at a time
_MAX_ABOUT = 10_000  # bytes read of the file that describes the archive
_MAGIC = b"pi-appliance private 1\n"
_SALT_SIZE = 16  # bytes
# Parameters of scrypt: 32 MB of memory, and about two seconds on a Raspberry Pi Zero 2 W. From the
# OWASP Password Storage Cheat Sheet,
# https://cheatsheetseries.owasp.org/cheatsheets/Password_Storage_Cheat_Sheet.html
_COST, _BLOCK_SIZE, _PARALLELISM = 2**15, 8, 3
_NO_LIBRARY = "secrets can be encrypted only with cryptography; install it with: pip install 'pi-appliance[backup]'"
_copy_lock = threading.Lock()


def archive_chunks(
    state_dir: Path,
    *,
    names: Collection[str] | None = None,
    without: Collection[Path] = (),
    more: Mapping[str, bytes | Path] | None = None,
    main: str = "",
) -> Iterator[bytes]:
    """Copy the database, and return the archive in chunks. It needs little memory.

    Args:
        state_dir: The folder of the state.
        names: The only files and folders of the state in it; by default all but logs and reports.
        without: Files and folders below the state that are left out, relative to it.
        more: Further files, or their contents, by their names in the archive.
        main: The name of the main file of the configuration, for the restore.

    Raises:
        Unavailable: The database cannot be copied, or there is no space for a copy of it.
    """
    path, copy = state_dir / DATABASE, state_dir / f".{DATABASE}.archive"
    with Database(path) as database, _copy_lock:
        if shutil.disk_usage(state_dir).free < _ARCHIVE_FREE_FACTOR * path.stat().st_size:
            raise Unavailable(f"{state_dir} has no space for a copy of {DATABASE}: make room there")
        copy_database(database, copy)
        opened = copy.open("rb")
        copy.unlink()  # deleted while it is open, so that nothing is left even if this process is killed
    about = {"version": __version__, "created_at": format_instant(clock.now()), "main": main}
    sources: list[tuple[str, BinaryIO | bytes | Path]] = [
        (ABOUT, json.dumps(about).encode()),
        (DATABASE, opened),
        *(more or {}).items(),
    ]
    for item in sorted(state_dir.iterdir()):
        if not _is_left_out(item) and (names is None or item.name in names):
            found = [item] if item.is_file() else sorted(item.rglob("*"))
            files = [(each.relative_to(state_dir), each) for each in found if _is_plain_file(each)]
            sources += [
                (str(name), each) for name, each in files if not any(name.is_relative_to(other) for other in without)
            ]
    return _compress(sources)


def database_archive(path: Path) -> Iterator[bytes]:
    """Return an archive of the database `path` only, in chunks."""
    made_at = datetime.fromtimestamp(path.stat().st_mtime, UTC)
    about = {"version": __version__, "created_at": format_instant(made_at)}
    return _compress([(ABOUT, json.dumps(about).encode()), (DATABASE, path)])


def _compress(sources: Sequence[tuple[str, BinaryIO | bytes | Path]]) -> Iterator[bytes]:
    """Yield a .tar.gz of `sources`. `tarfile` would need memory for the largest of them."""
    zipper = zlib.compressobj(wbits=31)
    for name, source in sources:
        try:
            file = io.BytesIO(source) if isinstance(source, bytes) else source
            file = file.open("rb") if isinstance(file, Path) else file
        except FileNotFoundError:  # the file was deleted meanwhile
            continue
        with file:
            info = tarfile.TarInfo(name)
            info.size, info.mode = file.seek(0, os.SEEK_END), 0o600
            info.mtime = clock.now().timestamp() if isinstance(source, bytes) else os.fstat(file.fileno()).st_mtime
            file.seek(0)
            yield zipper.compress(info.tobuf(tarfile.PAX_FORMAT, "utf-8", "surrogateescape"))
            missing = info.size
            while missing:  # a file that became shorter meanwhile is filled up with zeros
                chunk = file.read(min(_CHUNK, missing)) or bytes(min(_CHUNK, missing))
                missing -= len(chunk)
                yield zipper.compress(chunk)
            yield zipper.compress(bytes(-info.size % tarfile.BLOCKSIZE))
    yield zipper.compress(bytes(2 * tarfile.BLOCKSIZE)) + zipper.flush()


def _is_plain_file(path: Path) -> bool:
    return path.is_file() and not path.is_symlink()


def _is_left_out(item: Path) -> bool:
    special = not (item.is_file() or item.is_dir())
    is_backup = item.name.endswith(".tar.gz")  # such as the backup before an update
    return special or is_backup or item.name in _LEFT_OUT or item.name.startswith((DATABASE, "history.lock", "."))


@dataclass(frozen=True, slots=True)
class ArchiveSummary:
    """The content of an archive."""

    version: str
    created_at: datetime | None
    names: Sequence[str]  # files and folders of the state besides the database
    size: int  # bytes, unpacked
    runs: int
    posts: int
    newest_run: datetime | None


def check_archive(path: Path, folder: Path, *, max_size: int) -> ArchiveSummary:
    """Read the whole archive `path`, check its database, and return a summary of its content.

    Args:
        path: The archive.
        folder: An existing folder for the unpacked database, which is deleted at the end.
        max_size: The largest size of its unpacked content in bytes.

    Raises:
        Refused: It is not such an archive, damaged, of another version, or too large.
        Unavailable: It cannot be unpacked.
    """
    draft, about, names, size = folder / ".archive-check.db", b"", set[str](), 0
    try:
        with tarfile.open(path, "r:gz") as archive:
            for member in archive:
                size += member.size
                if size > max_size:
                    raise Refused(f"it holds more than {max_size // 1_000_000} MB, for which there is no space")
                file = archive.extractfile(member) if member.isreg() else None
                if file is not None and member.name == ABOUT:
                    about = file.read(_MAX_ABOUT)
                elif file is not None and member.name == DATABASE:
                    with draft.open("wb") as target:
                        shutil.copyfileobj(file, target)
                else:
                    names.add(member.name.partition("/")[0])
        if not draft.exists() or not draft.stat().st_size:
            raise Refused(f"it is not a backup of pi-appliance: it has no {DATABASE}")
        with Database(draft) as database:
            database.ensure_intact()
            counted = database.rows("SELECT count(*), max(started) FROM runs", ())[0]
            posts = database.rows("SELECT count(*) FROM posts", ())[0][0]
    except (tarfile.TarError, EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise Refused(f"it is not a backup of pi-appliance, or not all of it arrived: {archive_error(error)}") from None
    except SchemaMismatch as error:
        raise Refused(f"it cannot be used: {error.reason}") from None
    except DatabaseCorrupt as error:
        raise Refused(f"its database is damaged: {error}") from None
    except OSError as error:
        raise Unavailable(f"it cannot be unpacked: {error}") from None
    finally:
        delete_database(draft)
    version, created_at = _parse_about(about)
    newest = parse_instant(counted[1]) if counted[1] else None
    return ArchiveSummary(version, created_at, sorted(names), size, counted[0], posts, newest)


def _parse_about(content: bytes) -> tuple[str, datetime | None]:
    with contextlib.suppress(ValueError, TypeError, KeyError):
        values = json.loads(content)
        return str(values["version"])[:40], parse_instant(values["created_at"])
    return "", None


def restore_archive(path: Path, state_dir: Path, names: Collection[str] | None = None) -> None:
    """Replace the state by the archive `path`, and make its database the newest backup.

    No other process may use the state meanwhile. `restore_state` then puts the
    database in place.

    Raises:
        Refused: the file is not such an archive.
        Unavailable: the state cannot be written.
    """
    files.make_directory(state_dir, mode=0o750)
    folder = state_dir / ".restore"
    shutil.rmtree(folder, ignore_errors=True)
    try:
        with tarfile.open(path) as archive:
            members = [each for each in archive if names is None or _is_wanted(each, names)]
            unpack_files(archive, members, folder)
        if not (folder / DATABASE).is_file():
            raise Refused(f"{path} is not a backup of pi-appliance: it has no {DATABASE}")
        try:
            with Database(folder / DATABASE) as database:
                database.ensure_intact()
        except SchemaMismatch as error:
            raise Refused(f"{path} cannot be restored: {error.reason}") from None
        for name in ("history.lock", f"{DATABASE}-wal", f"{DATABASE}-shm", ABOUT, PRIVATE):
            (folder / name).unlink(missing_ok=True)
        for name in (CONFIGURATION, REPORTS, PLAYLISTS):  # these are not part of the state
            shutil.rmtree(folder / name, ignore_errors=True)
        backups = files.make_directory(state_dir / FOLDER, mode=0o750)
        (folder / DATABASE).rename(backups / f"history-{clock.now():%Y%m%dT%H%M%SZ}.db")
        for item in folder.iterdir():
            target = state_dir / item.name
            if target.is_dir():
                shutil.rmtree(target)
            item.rename(target)
    except (tarfile.TarError, EOFError) as error:
        raise Refused(f"{path} is not a backup of pi-appliance: {archive_error(error)}") from None
    except OSError as error:
        raise Unavailable(f"{path} cannot be restored: {error}") from None
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def archive_error(error: Exception) -> str:
    """Return why an archive cannot be read, without the list of methods that `tarfile` tried."""
    if str(error).startswith("file could not be opened"):
        return "it is not an archive; use a file that `pi-appliance backup` or the page has written"
    return f"{error}; copy it again, or use another one"


def _is_wanted(member: tarfile.TarInfo, names: Collection[str]) -> bool:
    return member.isreg() and member.name.partition("/")[0] in {DATABASE, *names}


def restore_state(archive: Path, state_dir: Path, names: Collection[str] | None = None) -> None:
    """Restore database and state from `archive`, so that nothing that was done since is done again.

    Slots up to now are not run. Posts, used lines and spending of the present database are kept.

    Args:
        archive: The archive.
        state_dir: The folder of the state.
        names: The only files and folders of the archive that are used besides the database.

    Raises:
        Refused: `archive` is not an archive of `backup`, or a run is active.
        Unavailable: the state cannot be written.
    """
    for lock_path in (state_dir / "locks").glob("*.lock"):
        if files.is_locked(lock_path):
            job = lock_path.stem
            raise Refused(f"a run of {job} is active; end it first: pi-appliance jobs cancel {job}")
    path = state_dir / DATABASE
    restore_archive(archive, state_dir, names)
    with path.with_suffix(".lock").open("a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        replacement_path(path).unlink(missing_ok=True)
        known = claims_of_locks(state_dir)
        replace_damaged(path, now=clock.now(), boot=clock.boot_id(), known=known, keeps_posts=_is_usable(path))


def _is_usable(path: Path) -> bool:
    """Return whether the database `path` exists, is intact and of this version."""
    try:
        with Database(path, read_only=True) as database:
            return not database.check()
    except (ApplianceError, OSError):
        return False


def is_inside(name: str) -> bool:
    """Return whether `name` in an archive stays below the folder that it is unpacked to."""
    path = PurePosixPath(name)
    return bool(path.parts) and not path.is_absolute() and ".." not in path.parts


def unpack_files(archive: tarfile.TarFile, members: Iterable[tarfile.TarInfo], folder: Path) -> None:
    """Write the regular files among `members` below `folder`, which only their owner can read.

    Links, devices and folders without files are left out. `TarFile.extractall(filter="data")` needs
    Python 3.11.4, and Debian 12 has 3.11.2.

    Raises:
        Refused: The name of a member leads out of `folder`.
        OSError: A file cannot be written.
        tarfile.TarError: The archive is damaged.
    """
    for member in members:
        if not is_inside(member.name):
            raise Refused(f"{archive.name!s} is not a backup of pi-appliance: {member.name!r} leads out of it")
        source = archive.extractfile(member) if member.isreg() else None
        if source is not None:
            path = folder / member.name
            path.parent.mkdir(parents=True, exist_ok=True)
            private = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW, 0o600)
            with os.fdopen(private, "wb") as target:
                shutil.copyfileobj(source, target, _CHUNK)


def require_encryption() -> None:
    """Raise Refused if the library that encrypts is not installed."""
    if importlib.util.find_spec("cryptography") is None:
        raise Refused(_NO_LIBRARY)


def encrypt_secrets(content: bytes, passphrase: str) -> bytes:
    """Encrypt `content` so that a later change of the result is detected.

    The key comes from `passphrase` by scrypt (RFC 7914), the encryption is Fernet: AES-128 in CBC
    mode, authenticated by HMAC-SHA256.

    Raises:
        Refused: The library is not installed.
    """
    require_encryption()
    from cryptography.fernet import Fernet  # noqa: PLC0415 - 40 ms, and an optional extra

    salt = os.urandom(_SALT_SIZE)
    return _MAGIC + salt + Fernet(_derive_key(passphrase, salt)).encrypt(content)


def decrypt_secrets(content: bytes, passphrase: str) -> bytes:
    """Return the content that `encrypt_secrets` has encrypted.

    Raises:
        Refused: The passphrase is wrong, the content was changed, or the library is not installed.
    """
    require_encryption()
    from cryptography.fernet import Fernet, InvalidToken  # noqa: PLC0415

    if not content.startswith(_MAGIC):
        raise Refused("its secrets were encrypted by another version of pi-appliance")
    salt, token = content[len(_MAGIC) :][:_SALT_SIZE], content[len(_MAGIC) + _SALT_SIZE :]
    try:
        return Fernet(_derive_key(passphrase, salt)).decrypt(token)
    except InvalidToken:
        raise Refused("the passphrase does not fit its secrets") from None


def _derive_key(passphrase: str, salt: bytes) -> bytes:
    size = 128 * _COST * _BLOCK_SIZE + 128 * _BLOCK_SIZE * (_PARALLELISM + 2)  # RFC 7914, section 6
    key = hashlib.scrypt(
        passphrase.encode(), salt=salt, n=_COST, r=_BLOCK_SIZE, p=_PARALLELISM, maxmem=2 * size, dklen=32
    )
    return urlsafe_b64encode(key)
