"""Programs that jobs start: where one lies, and in plain words why it cannot be run."""

import errno
import os
import shutil
from pathlib import Path

_HEAD = 256  # bytes; the kernel reads no more of a first line


def find(name: str, *, here: Path) -> str:
    """Return the program NAME: with a / in it a file, taken from HERE or from home (~); else one of $PATH."""
    return str(here / Path(name).expanduser()) if "/" in name else name


def why_not(name: str, program: str, directory: Path | None, error: OSError) -> str:
    """Say why PROGRAM, called NAME by the owner, could not be run in DIRECTORY, and what to do."""
    if directory is not None and not directory.is_dir():
        return f"{name} cannot be run: {directory} is no folder; check `directory`"
    found = shutil.which(program, mode=os.F_OK)
    path = Path(found or program)
    if path.is_dir():
        return f"{name} cannot be run: it is a folder; name the program in it"
    what = _trouble(path, error) if found else f"{error.strerror}; check `run`"
    return f"{name} cannot be run: {what}"


def _trouble(path: Path, error: OSError) -> str:
    if error.errno == errno.EACCES and not os.access(path, os.X_OK):
        return f"it may not be executed; say: chmod +x {path}"
    first = _first_line(path)
    if error.errno == errno.ENOEXEC and not first.startswith(b"\x7fELF"):
        return "it has no #! line; begin it with one such as #!/bin/sh"
    if error.errno == errno.ENOENT and first.startswith(b"#!"):
        if first.endswith(b"\r"):
            return f"its lines end as on Windows; say: sed -i 's/\\r$//' {path}"
        words = first[2:].split()
        interpreter = words[0].decode("utf-8", "replace") if words else "nothing"
        return f"its first line names {interpreter}, which is not there"
    return f"{error.strerror}; is it made for this machine, and may programs be run where it lies?"


def _first_line(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            return file.read(_HEAD).partition(b"\n")[0]
    except OSError:
        return b""
