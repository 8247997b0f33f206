"""What the machine feels: heat, power, room on the card, a way out. All from files, so that a sandbox may read them.

A sensor that a machine does not have says None. Heat: /sys/class/thermal. Power: the alarm of the rpi_volt driver in
/sys/class/hwmon, and the firmware's get_throttled (bit 0 under-voltage, 1 frequency capped, 2 throttled, 3 soft
temperature limit; 16 to 19 the same at any time since the start), which older kernels show in sysfs.
"""

import contextlib
import importlib.metadata
import os
import platform
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from pi_appliance import __version__

_THROTTLED = "devices/platform/soc/soc:firmware/get_throttled"
_NOW, _SINCE_START = 0xF, 16
_SENSIBLE = range(-60_000, 150_000)  # thousandths of a degree; zones that are switched off tell of other worlds
_UP, _REJECT = 0x1, 0x200  # linux/route.h
_NOT_THERE = (OSError, ValueError, IndexError)  # no such file, or other words in it than there should be


@dataclass(frozen=True, slots=True)
class Power:
    """What is known of the supply; None where nothing can tell."""

    under_voltage: bool | None = None
    throttled: bool | None = None  # under-voltage, or slowed down by heat, at this moment
    was_throttled: bool | None = None  # at any time since the machine started


class Sensors:
    """The sensors below SYS and PROC, which tests put elsewhere."""

    def __init__(self, sys: Path = Path("/sys"), proc: Path = Path("/proc")) -> None:
        self._sys, self._proc = sys, proc

    def temperature(self) -> float | None:
        """Return the heat of the hottest zone in degrees Celsius."""
        found = []
        for zone in self._sys.glob("class/thermal/thermal_zone*/temp"):
            with contextlib.suppress(OSError, ValueError):  # some zones cannot be read while they sleep
                found.append(int(zone.read_text("ascii")))
        return max((each / 1000 for each in found if each in _SENSIBLE), default=None)

    def power(self) -> Power:
        """Return what is known of the supply."""
        alarm = None
        for name in self._sys.glob("class/hwmon/hwmon*/name"):
            with contextlib.suppress(OSError, ValueError):
                if name.read_text("ascii").strip() == "rpi_volt":
                    alarm = bool(int((name.parent / "in0_lcrit_alarm").read_text("ascii")))
        with contextlib.suppress(OSError, ValueError):
            bits = int((self._sys / _THROTTLED).read_text("ascii"), 16)
            now = bool(bits & _NOW) or bool(alarm)
            return Power(bool(bits & 1) or bool(alarm), now, now or bool(bits >> _SINCE_START & _NOW))
        return Power(alarm, alarm, None)

    def online(self) -> bool:
        """Say whether there is a way out of the local network: a default route, by IPv4 or IPv6."""
        return any(self._default_routes())

    def _default_routes(self) -> list[str]:
        routes = []
        with contextlib.suppress(*_NOT_THERE):
            rows = [line.split() for line in (self._proc / "net/route").read_text("ascii").splitlines()[1:]]
            # destination and mask all zero
            routes += [row[0] for row in rows if row[1] == row[7] == "00000000" and _leads_out(row[3])]
        with contextlib.suppress(*_NOT_THERE):
            rows = [line.split() for line in (self._proc / "net/ipv6_route").read_text("ascii").splitlines()]
            routes += [row[9] for row in rows if set(row[0]) == {"0"} and row[1] == "00" and _leads_out(row[8])]
        return [name for name in routes if name != "lo"]


def _leads_out(flags: str) -> bool:
    """Say whether a route with FLAGS is in use, and is not one of those that say "unreachable"."""
    return int(flags, 16) & (_UP | _REJECT) == _UP


def free_space(folder: Path) -> int:
    """Return how many bytes an ordinary user may still write where FOLDER is."""
    found = os.statvfs(folder)
    return found.f_bavail * found.f_frsize


_URGENT = 3  # of pre_eol_info: 1 normal, 2 four fifths of the spare blocks are used, 3 nine tenths


@dataclass(frozen=True, slots=True)
class FilesystemErrors:
    """How many errors the kernel met on a file system, and when the first and the newest of them."""

    device: str
    count: int
    first: datetime | None
    last: datetime | None


@dataclass(frozen=True, slots=True)
class StorageWear:
    """How much of a card's life is used, in hundredths as it says itself, and whether its spare blocks run out."""

    device: str
    used: int
    spare_low: bool


def filesystem_errors(sys: Path = Path("/sys")) -> list[FilesystemErrors]:
    """Return the counters of all ext4 file systems, those without an error too; none where there is no ext4."""
    found = []
    for path in sorted(sys.glob("fs/ext4/*/errors_count")):
        count = _number(path)
        if count is not None:
            times = (_instant(path.with_name(f"{which}_error_time")) for which in ("first", "last"))
            found.append(FilesystemErrors(path.parent.name, count, *times))
    return found


def storage_wear(sys: Path = Path("/sys")) -> list[StorageWear]:
    """Return what cards say of their own life; few SD cards say anything."""
    found = []
    for path in sorted(sys.glob("block/mmcblk*/device/life_time")):
        tenths = [tenth for word in _words(path) if (tenth := _hexadecimal(word)) is not None]
        if any(tenths):  # 0: it does not know
            spare = _hexadecimal("".join(_words(path.with_name("pre_eol_info"))))
            low = spare is not None and spare >= _URGENT
            found.append(StorageWear(path.parents[1].name, max(tenths) * 10, low))
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


def system_versions(root: Path = Path("/")) -> dict[str, str]:
    """Return the versions of program, Python, kernel and system, and the model of the machine, by name."""
    kernel = os.uname()
    return {
        "pi-appliance": __version__,
        "python": platform.python_version(),
        "kernel": f"{kernel.sysname} {kernel.release} {kernel.machine}",
        "system": _system(root),
        "model": machine_model(root) or "it does not say",
        "memory": _memory(root),
    }


def machine_model(root: Path = Path("/")) -> str:
    """Return which Raspberry Pi this is, '' for a machine that does not say."""
    with contextlib.suppress(OSError):
        return (root / "proc/device-tree/model").read_bytes().rstrip(b"\0").decode("utf-8", "replace")
    return ""


def package_versions() -> dict[str, str]:
    """Return the version of every Python package that can be imported here."""
    found = ((each.name, each.version) for each in importlib.metadata.distributions())
    return dict(sorted((name, version) for name, version in found if name))


def _system(root: Path) -> str:
    with contextlib.suppress(OSError):
        for line in (root / "etc/os-release").read_text("utf-8", "replace").splitlines():
            if line.startswith("PRETTY_NAME="):
                return line.partition("=")[2].strip('"')
    return "it does not say"


def _memory(root: Path) -> str:
    with contextlib.suppress(OSError):
        lines = (root / "proc/meminfo").read_text("ascii", "replace").splitlines()
        return "; ".join(" ".join(line.split()) for line in lines if line.startswith(("MemTotal", "MemAvailable")))
    return "it does not say"


_START = 19  # of the words behind the name in /proc/self/stat: clock ticks after the machine started


def bytes_written(proc: Path = Path("/proc")) -> int | None:
    """Return how many bytes this process has had written to disks; None where the kernel does not count."""
    with contextlib.suppress(OSError, ValueError):
        lines = (proc / "self/io").read_text("ascii").splitlines()
        return next((int(line.split()[1]) for line in lines if line.startswith("write_bytes:")), None)
    return None


def rss(proc: Path = Path("/proc")) -> int | None:
    """Return how many bytes of memory it holds."""
    with contextlib.suppress(OSError, ValueError, IndexError):
        return int((proc / "self/statm").read_text("ascii").split()[1]) * os.sysconf("SC_PAGE_SIZE")
    return None


def start_time(proc: Path = Path("/proc")) -> float | None:
    """Return when it started, in seconds since 1970 by the clock of the machine as it is set now."""
    with contextlib.suppress(OSError, ValueError, IndexError):
        ticks = int((proc / "self/stat").read_text("ascii", "replace").rpartition(")")[2].split()[_START])
        lines = (proc / "stat").read_text("ascii").splitlines()
        (boot,) = (int(line.split()[1]) for line in lines if line.startswith("btime "))
        return boot + ticks / os.sysconf("SC_CLK_TCK")
    return None
