"""Which USB sticks there are, by the folder that they appear in and the kernel's list of what is mounted.

An entry of the folder is a stick that is here if something is mounted at it, or where it leads to. It is one that is
away if it is an empty folder, or a link to the folder itself (see usb_root.py). Anything else is no stick.
"""

import contextlib
import os
import unicodedata
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from pi_appliance.system import mounts

AWAY = "."  # where the link of a stick that is away leads to
# What MPD plays with the decoders of Debian's package; to know how far it is, one more or less does not matter.
_SOUND = frozenset(
    "aac aif aiff ape dff dsf flac m4a m4b mka mp2 mp3 mp4 mpc oga ogg opus ra tta wav wma wv".split()  # noqa: SIM905
)


@dataclass(frozen=True, slots=True)
class Found:
    """A stick. `mount` is where its file system lies; None while it is away."""

    name: str
    mount: mounts.Mount | None


def find_drives(folder: Path, list_of_mounts: Path = mounts.MOUNT_TABLE) -> list[Found]:
    """Return the sticks of FOLDER by name; none where there is no such folder. Raises OSError without a list."""
    known = {each.folder: each for each in mounts.read_mounts(list_of_mounts)}
    sticks = []
    for entry in _entries(folder):
        mount = known.get(Path(os.path.realpath(entry)))
        if mount is not None or _is_away(entry):
            sticks.append(Found(entry.name, mount))
    return sticks


def linked(below: Path, names: Collection[str], list_of_mounts: Path = mounts.MOUNT_TABLE) -> bool:
    """Say whether all that is mounted right BELOW a folder has its name among NAMES."""
    return all(each.folder.name in names for each in mounts.read_mounts(list_of_mounts) if each.folder.parent == below)


def disk_space(mount: mounts.Mount) -> tuple[int, int] | None:
    """Return how many bytes there are on MOUNT, and how many are used; None if it does not say."""
    try:
        told = os.statvfs(mount.folder)
    except OSError:  # pulled a moment ago
        return None
    return told.f_blocks * told.f_frsize, (told.f_blocks - told.f_bfree) * told.f_frsize


def count_sound(folder: Path) -> int:
    """Return how many files below FOLDER are sound, by their names. It reads every folder: not for an event loop."""
    return sum(1 for _, _, names in os.walk(folder) for name in names if name.rpartition(".")[2].lower() in _SOUND)


def _entries(folder: Path) -> Iterator[Path]:
    with contextlib.suppress(OSError):
        yield from sorted(each for each in folder.iterdir() if not each.name.startswith("."))


def _is_away(entry: Path) -> bool:
    try:
        if entry.is_symlink():
            return str(entry.readlink()) == AWAY
        return entry.is_dir() and next(entry.iterdir(), None) is None
    except OSError:
        return False


_ALSO = " -_."  # beside letters and digits of any script


_LONGEST = 60  # bytes; a name of 255 would do, but it is to be read on a phone


_NAMELESS = "USB stick"


def clean(label: str) -> str:
    """Return LABEL as the name of a folder: no slash, no control character, no dot or hyphen in front.

    A label is written by whoever owned the stick last, so nothing in it is trusted. Where nothing is left of it, it is
    called "USB stick".
    """
    letters = (each if each.isalnum() or each in _ALSO else " " for each in unicodedata.normalize("NFC", label))
    words = " ".join("".join(letters).split()).lstrip("-. ")
    return words.encode()[:_LONGEST].decode("utf-8", "ignore").strip(" .") or _NAMELESS


def name_for(label: str, identity: str, known: Mapping[str, str], taken: Collection[str] = ()) -> str:
    """Return the name of the stick IDENTITY: the one it has in KNOWN (identity by name), else one that is free.

    A number tells it from another stick of the same label, and from a folder in TAKEN. Capitals do not count.
    """
    for name, bearer in known.items():
        if bearer == identity:
            return name
    used = {name.casefold() for name in (*known, *taken)}
    wanted = clean(label)
    number, name = 1, wanted
    while name.casefold() in used:
        number += 1
        name = f"{wanted} {number}"
    return name
