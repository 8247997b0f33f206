"""Files that are whole or not there: written beside the old one, made durable, then put in its place."""

import contextlib
import io
import os
import secrets
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from pi_appliance.errors import Unavailable


@contextlib.contextmanager
def replacing(path: Path, *, mode: int = 0o644) -> Iterator[IO[bytes]]:
    """Give a file to write; it takes the place of PATH when the block ends well, else PATH stays as it was.

    The folder must exist. Raises Unavailable when the disk is full or the folder cannot be written.
    """
    draft = path.with_name(f".{path.name}.{secrets.token_hex(4)}.new")
    try:
        try:
            with os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode), "wb") as file:
                os.fchmod(file.fileno(), mode)  # whatever the umask says
                yield file
                file.flush()
                os.fsync(file.fileno())
            draft.replace(path)
            sync_folder(path.parent)
        except OSError as error:
            raise cannot_write(path, error) from None
    finally:
        with contextlib.suppress(OSError):
            draft.unlink()


@contextlib.contextmanager
def replacing_text(path: Path) -> Iterator[IO[str]]:
    """As `replacing`, for text in UTF-8."""
    with replacing(path) as file:
        text = io.TextIOWrapper(file, encoding="utf-8", newline="\n")
        yield text
        text.flush()
        text.detach()


def write(path: Path, content: bytes, *, mode: int = 0o644) -> None:
    """Put CONTENT in the place of PATH, wholly or not at all. Raises Unavailable."""
    with replacing(path, mode=mode) as file:
        file.write(content)


def make_folder(path: Path, *, mode: int = 0o755) -> Path:
    """Make the folder PATH and those above it, and return it. Raises Unavailable."""
    try:
        path.mkdir(mode=mode, parents=True, exist_ok=True)
    except OSError as error:
        raise cannot_write(path, error) from None
    return path


def sync_folder(folder: Path) -> None:
    """Make the names in FOLDER survive a power cut."""
    number = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(number)
    finally:
        os.close(number)


def cannot_write(path: Path, error: OSError) -> Unavailable:
    """Return the error that tells the owner that PATH cannot be written, and why."""
    return Unavailable(
        f"{path} cannot be written: {error.strerror}; check the rights and the free space of {path.parent}"
    )
