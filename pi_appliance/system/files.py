"""Files that are whole or not there: written beside the old one, made durable, then put in its place."""

import contextlib
import errno
import io
import os
import pwd
import secrets
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from pi_appliance.errors import Unavailable

_LITTLE = 128 * 1024  # bytes; a run that begins needs a little less for what is written of it


@contextlib.contextmanager
def atomic_write(path: Path, *, mode: int = 0o644) -> Iterator[IO[bytes]]:
    """Give a file to write; it takes the place of PATH when the block ends well, else PATH stays as it was.

    The folder must exist. Raises Unavailable when the disk is full or the folder cannot be written, and when PATH is
    something else than a file: put in the place of /dev/null, a file would be the ruin of the machine.
    """
    if path.exists() and not path.is_file():
        raise Unavailable(f"{path} is no file, so none is put in its place; name another")
    draft = path.with_name(f".{path.name}.{secrets.token_hex(4)}.new")
    try:
        try:
            with os.fdopen(_open_draft(draft, mode), "wb") as file:
                os.fchmod(file.fileno(), mode)  # whatever the umask says
                yield file
                file.flush()
                os.fsync(file.fileno())
                if not draft.exists():
                    _name(file.fileno(), draft)
            draft.replace(path)
            sync_directory(path.parent)
        except OSError as error:
            raise write_error(path, error) from None
    finally:
        with contextlib.suppress(OSError):
            draft.unlink()


def _name(number: int, draft: Path) -> None:
    """Give the open file NUMBER its name. A folder must be given, or Python links the link in /proc itself."""
    folder = os.open(draft.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.link(f"/proc/self/fd/{number}", draft.name, dst_dir_fd=folder, follow_symlinks=True)
    finally:
        os.close(folder)


def _open_draft(draft: Path, mode: int) -> int:
    """Open a file for DRAFT that has no name yet, so that a process which is killed leaves nothing behind.

    Where the file system knows no such files (FAT, old overlays), it has its name from the start.
    """
    try:
        return os.open(draft.parent, os.O_TMPFILE | os.O_WRONLY | os.O_CLOEXEC, mode)
    except OSError as error:
        if error.errno not in (errno.EOPNOTSUPP, errno.EISDIR, errno.ENOENT, errno.EINVAL):
            raise
    return os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, mode)


@contextlib.contextmanager
def atomic_write_text(path: Path) -> Iterator[IO[str]]:
    """As `replacing`, for text in UTF-8."""
    with atomic_write(path) as file:
        text = io.TextIOWrapper(file, encoding="utf-8", newline="\n")
        yield text
        text.flush()
        text.detach()


def write_file(path: Path, content: bytes, *, mode: int = 0o644) -> None:
    """Put CONTENT in the place of PATH, wholly or not at all. Raises Unavailable."""
    with atomic_write(path, mode=mode) as file:
        file.write(content)


def make_directory(path: Path, *, mode: int = 0o755) -> Path:
    """Make the folder PATH and those above it, and return it. Raises Unavailable."""
    try:
        path.mkdir(mode=mode, parents=True, exist_ok=True)
    except OSError as error:
        raise write_error(path, error) from None
    return path


def require_free_space(folder: Path) -> None:
    """Raise Unavailable, with what to do, if FOLDER cannot be written or has next to no room left."""
    found = os.statvfs(folder)
    if found.f_flag & os.ST_RDONLY:
        raise Unavailable(f"{folder} is read-only: mount it so that it can be written; is the card worn out?")
    if not os.access(folder, os.W_OK):
        raise Unavailable(f"{folder} cannot be written; check its rights")
    if found.f_bavail * found.f_frsize < _LITTLE:
        raise Unavailable(f"{folder} is full: make room there")


def sync_directory(folder: Path) -> None:
    """Make the names in FOLDER survive a power cut."""
    number = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(number)
    finally:
        os.close(number)


def write_error(path: Path, error: OSError) -> Unavailable:
    """Return the error that tells the owner that PATH cannot be written, and why."""
    return Unavailable(
        f"{path} cannot be written: {error.strerror}; check the rights and the free space of {path.parent}"
    )


def probe_write(folder: Path) -> str:
    """Write a small file into FOLDER, have it on the disk, and remove it. Return why that fails, '' if it does not."""
    path = folder / f".trial.{secrets.token_hex(4)}"
    try:
        number = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        try:
            os.write(number, b"can this be written?\n")
            os.fsync(number)
        finally:
            os.close(number)
            path.unlink()
    except OSError as error:
        return str(error.strerror)
    return ""


def nearest_existing(folder: Path) -> Path:
    """Return FOLDER, or the folder above it that is there."""
    while folder != folder.parent and not _is_there(folder):
        folder = folder.parent
    return folder


def _is_there(path: Path) -> bool:
    try:
        return path.exists()
    except OSError:  # it lies in a folder that keeps us out
        return False


def user_name(user: int) -> str:
    """Return the name of the user with that number, or #NUMBER."""
    try:
        return pwd.getpwuid(user).pw_name
    except KeyError:
        return f"#{user}"


@contextlib.contextmanager
def as_user(user: int) -> Iterator[None]:
    """Let root do what is in the block as USER would; nothing for others, who cannot change who they are."""
    if os.geteuid() != 0 or user == 0:
        yield
        return
    try:
        group = pwd.getpwuid(user).pw_gid
    except KeyError:
        group = user
    before, groups = os.getegid(), os.getgroups()
    os.setgroups([group])
    os.setegid(group)
    os.seteuid(user)
    try:
        yield
    finally:
        os.seteuid(0)
        os.setegid(before)
        os.setgroups(groups)
