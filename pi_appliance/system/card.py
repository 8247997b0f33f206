"""How the card or disk is: the errors that the kernel has counted on it, and how much of its life is used up.

Errors: /sys/fs/ext4/DEVICE. The count stands in the file system itself and stays until it is checked (fsck). Life: eMMC
and a few cards tell it in /sys/block/mmcblkN/device, in tenths; the kernel's documentation calls them life_time and
pre_eol_info.
"""

import contextlib
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

_URGENT = 3  # of pre_eol_info: 1 normal, 2 four fifths of the spare blocks are used, 3 nine tenths


@dataclass(frozen=True, slots=True)
class Errors:
    """How many errors the kernel met on a file system, and when the first and the newest of them."""

    device: str
    count: int
    first: datetime | None
    last: datetime | None


@dataclass(frozen=True, slots=True)
class Wear:
    """How much of a card's life is used, in hundredths as it says itself, and whether its spare blocks run out."""

    device: str
    used: int
    spare_low: bool


def errors(sys: Path = Path("/sys")) -> list[Errors]:
    """Return the counters of all ext4 file systems, those without an error too; none where there is no ext4."""
    found = []
    for path in sorted(sys.glob("fs/ext4/*/errors_count")):
        count = _number(path)
        if count is not None:
            times = (_instant(path.with_name(f"{which}_error_time")) for which in ("first", "last"))
            found.append(Errors(path.parent.name, count, *times))
    return found


def wear(sys: Path = Path("/sys")) -> list[Wear]:
    """Return what cards say of their own life; few SD cards say anything."""
    found = []
    for path in sorted(sys.glob("block/mmcblk*/device/life_time")):
        tenths = [tenth for word in _words(path) if (tenth := _hexadecimal(word)) is not None]
        if any(tenths):  # 0: it does not know
            spare = _hexadecimal("".join(_words(path.with_name("pre_eol_info"))))
            low = spare is not None and spare >= _URGENT
            found.append(Wear(path.parents[1].name, max(tenths) * 10, low))
    return found


def _instant(path: Path) -> datetime | None:
    seconds = _number(path)
    return datetime.fromtimestamp(seconds, UTC) if seconds else None


def _number(path: Path) -> int | None:
    with contextlib.suppress(OSError, ValueError):
        return int(path.read_text("ascii"))
    return None


def _words(path: Path) -> list[str]:
    with contextlib.suppress(OSError, ValueError):
        return path.read_text("ascii").split()
    return []


def _hexadecimal(text: str) -> int | None:
    with contextlib.suppress(ValueError):
        return int(text, 16)
    return None
