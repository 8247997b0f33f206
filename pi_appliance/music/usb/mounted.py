"""Find USB drives: entries of the mount folder, compared with the kernel's mount table.

An entry is a mounted drive if something is mounted at it or at its target. It is an unmounted drive
if it is an empty folder, or a link to the mount folder itself (see `root_helper.py`). Other entries
are not drives.
"""

import contextlib
import os
import unicodedata
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from pi_appliance.system import machine

UNMOUNTED_TARGET = "."  # of the link of an unmounted drive
# Formats of the decoders in Debian's MPD; used for the progress of a scan only.
_AUDIO_SUFFIXES = frozenset(
    "aac aif aiff ape dff dsf flac m4a m4b mka mp2 mp3 mp4 mpc oga ogg opus ra tta wav wma wv".split()  # noqa: SIM905
)
_NAME_CHARACTERS = " -_."  # besides letters and digits of any script
_MAX_NAME = 60  # bytes; short enough for a phone
_DEFAULT_NAME = "USB drive"


@dataclass(frozen=True, slots=True)
class Drive:
    """A USB drive; `mount` is None while it is not mounted."""

    name: str
    mount: machine.Mount | None


def find_drives(folder: Path, mount_table: Path = machine.MOUNT_TABLE) -> list[Drive]:
    """Return the drives in `folder`, by name.

    Raises `OSError` if the mount table cannot be read.
    """
    by_folder = {each.folder: each for each in machine.read_mounts(mount_table)}
    drives = []
    for entry in _entries(folder):
        mount = by_folder.get(Path(os.path.realpath(entry)))
        if mount is not None or _is_unmounted(entry):
            drives.append(Drive(entry.name, mount))
    return drives


def all_linked(parent: Path, names: Collection[str], mount_table: Path = machine.MOUNT_TABLE) -> bool:
    """Return whether the name of every mount directly below `parent` is one of `names`."""
    return all(each.folder.name in names for each in machine.read_mounts(mount_table) if each.folder.parent == parent)


def disk_space(mount: machine.Mount) -> tuple[int, int] | None:
    """Return the size and the used space of `mount` in bytes; None if it cannot be read."""
    try:
        stat = os.statvfs(mount.folder)
    except OSError:  # unplugged a moment ago
        return None
    return stat.f_blocks * stat.f_frsize, (stat.f_blocks - stat.f_bfree) * stat.f_frsize


def count_audio_files(folder: Path) -> int:
    """Count the audio files below `folder` by their suffix.

    It reads every folder: call it in a thread.
    """
    return sum(
        1 for _, _, names in os.walk(folder) for name in names if name.rpartition(".")[2].lower() in _AUDIO_SUFFIXES
    )


def _entries(folder: Path) -> Iterator[Path]:
    with contextlib.suppress(OSError):
        yield from sorted(each for each in folder.iterdir() if not each.name.startswith("."))


def _is_unmounted(entry: Path) -> bool:
    try:
        if entry.is_symlink():
            return str(entry.readlink()) == UNMOUNTED_TARGET
        return entry.is_dir() and next(entry.iterdir(), None) is None
    except OSError:
        return False


def folder_name(label: str) -> str:
    """Convert a volume label to a safe folder name.

    A label is untrusted: slashes, control characters, and leading dots and hyphens are removed.
    """
    letters = (
        each if each.isalnum() or each in _NAME_CHARACTERS else " " for each in unicodedata.normalize("NFC", label)
    )
    name = " ".join("".join(letters).split()).lstrip("-. ")
    return name.encode()[:_MAX_NAME].decode("utf-8", "ignore").strip(" .") or _DEFAULT_NAME


def name_for(label: str, identity: str, known: Mapping[str, str], reserved: Collection[str] = ()) -> str:
    """Return the name of the drive `identity`: its `known` name, else a free one.

    A number distinguishes it from equal labels and `reserved` folders, ignoring case.
    """
    for name, other in known.items():
        if other == identity:
            return name
    used = {name.casefold() for name in (*known, *reserved)}
    base = folder_name(label)
    number, name = 1, base
    while name.casefold() in used:
        number += 1
        name = f"{base} {number}"
    return name
