"""The machine: sensors, storage wear, versions, this process, and mounts.

Everything is read from files. A missing sensor returns None. Temperature: /sys/class/thermal.
Power: the alarm of the rpi_volt driver in /sys/class/hwmon, and the firmware's get_throttled, which
older kernels show in sysfs. Its bits: 0 under-voltage, 1 frequency capped, 2 throttled, 3 soft
temperature limit; 16 to 19 the same at any time since the start.

A missing sensor returns None. Temperature: /sys/class/thermal. Power: the alarm of the rpi_volt
driver in /sys/class/hwmon, and the firmware's get_throttled, which older kernels show in sysfs. Its
bits: 0 under-voltage, 1 frequency capped, 2 throttled, 3 soft temperature limit; 16 to 19 the same
at any time since the start.
"""

import contextlib
import os
import platform
import re
import select
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from pi_appliance import __version__

_THROTTLED = "devices/platform/soc/soc:firmware/get_throttled"
_NOW, _SINCE_START = 0xF, 16
_PLAUSIBLE = range(-60_000, 150_000)  # thousandths of a degree; a disabled zone returns nonsense
_UP, _REJECT = 0x1, 0x200  # flags from linux/route.h
_READ_ERRORS = (OSError, ValueError, IndexError)  # the file does not exist, or has unexpected content


@dataclass(frozen=True, slots=True)
class Power:
    """State of the power supply; None if there is no sensor."""

    under_voltage: bool | None = None
    throttled: bool | None = None  # whether the machine is slowed down now, by under-voltage or heat
    was_throttled: bool | None = None  # whether it was slowed down since it started


class Sensors:
    """The sensors below the folders `sys` and `proc`."""

    def __init__(self, sys: Path = Path("/sys"), proc: Path = Path("/proc")) -> None:
        self._sys, self._proc = sys, proc

    def temperature(self) -> float | None:
        """Return the temperature of the hottest zone in degrees Celsius."""
        temperatures = []
        for zone in self._sys.glob("class/thermal/thermal_zone*/temp"):
            with contextlib.suppress(OSError, ValueError):  # some zones cannot be read in standby
                temperatures.append(int(zone.read_text("ascii")))
        return max((each / 1000 for each in temperatures if each in _PLAUSIBLE), default=None)

    def power(self) -> Power:
        """Return the state of the power supply."""
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
        """Return whether there is a default route, by IPv4 or IPv6."""
        return any(self._default_routes())

    def _default_routes(self) -> list[str]:
        routes = []
        with contextlib.suppress(*_READ_ERRORS):
            rows = [line.split() for line in (self._proc / "net/route").read_text("ascii").splitlines()[1:]]
            # The default route has a destination and a mask of zeros.
            routes += [row[0] for row in rows if row[1] == row[7] == "00000000" and _is_usable(row[3])]
        with contextlib.suppress(*_READ_ERRORS):
            rows = [line.split() for line in (self._proc / "net/ipv6_route").read_text("ascii").splitlines()]
            routes += [row[9] for row in rows if set(row[0]) == {"0"} and row[1] == "00" and _is_usable(row[8])]
        return [name for name in routes if name != "lo"]


def _is_usable(flags: str) -> bool:
    """Return whether a route with `flags` is up and does not reject packets."""
    return int(flags, 16) & (_UP | _REJECT) == _UP


def free_space(folder: Path) -> int:
    """Return the free bytes for an ordinary user on the disk of `folder`."""
    disk = os.statvfs(folder)
    return disk.f_bavail * disk.f_frsize


_MIN_PRE_EOL = 3  # value of pre_eol_info: 1 normal, 2: 80 % of the spare blocks are used, 3: 90 %


@dataclass(frozen=True, slots=True)
class FilesystemErrors:
    """Errors that the kernel counted on a file system, with the times of the first and the last."""

    device: str
    count: int
    first: datetime | None
    last: datetime | None


@dataclass(frozen=True, slots=True)
class StorageWear:
    """Wear of an SD card or eMMC: the percentage used, and whether spare blocks run out."""

    device: str
    used: int
    spare_low: bool


def filesystem_errors(sys: Path = Path("/sys")) -> list[FilesystemErrors]:
    """Return the error counters of all ext4 file systems, also those without errors."""
    counters = []
    for path in sorted(sys.glob("fs/ext4/*/errors_count")):
        count = _number(path)
        if count is not None:
            times = (_instant(path.with_name(f"{which}_error_time")) for which in ("first", "last"))
            counters.append(FilesystemErrors(path.parent.name, count, *times))
    return counters


def storage_wear(sys: Path = Path("/sys")) -> list[StorageWear]:
    """Return the wear that cards report. Few SD cards do."""
    wear = []
    for path in sorted(sys.glob("block/mmcblk*/device/life_time")):
        tenths = [tenth for word in _words(path) if (tenth := _hexadecimal(word)) is not None]
        if any(tenths):  # 0 means unknown
            spare = _hexadecimal("".join(_words(path.with_name("pre_eol_info"))))
            low = spare is not None and spare >= _MIN_PRE_EOL
            wear.append(StorageWear(path.parents[1].name, max(tenths) * 10, low))
    return wear


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
    """Return the versions of program, Python, kernel and system, and the machine's model."""
    kernel = os.uname()
    return {
        "pi-appliance": __version__,
        "python": platform.python_version(),
        "kernel": f"{kernel.sysname} {kernel.release} {kernel.machine}",
        "system": _system(root),
        "model": machine_model(root) or "unknown",
        "memory": _memory(root),
    }


def machine_model(root: Path = Path("/")) -> str:
    """Return the model of the Raspberry Pi; '' if unknown."""
    with contextlib.suppress(OSError):
        return (root / "proc/device-tree/model").read_bytes().rstrip(b"\0").decode("utf-8", "replace")
    return ""


def package_versions() -> dict[str, str]:
    """Return the version of every Python package that can be imported here."""
    from importlib.metadata import distributions  # noqa: PLC0415 - 10 ms, which every command would take

    packages = ((each.name, each.version) for each in distributions())
    return dict(sorted((name, version) for name, version in packages if name))


def _system(root: Path) -> str:
    with contextlib.suppress(OSError):
        for line in (root / "etc/os-release").read_text("utf-8", "replace").splitlines():
            if line.startswith("PRETTY_NAME="):
                return line.partition("=")[2].strip('"')
    return "unknown"


def _memory(root: Path) -> str:
    with contextlib.suppress(OSError):
        lines = (root / "proc/meminfo").read_text("ascii", "replace").splitlines()
        return "; ".join(" ".join(line.split()) for line in lines if line.startswith(("MemTotal", "MemAvailable")))
    return "unknown"


_START = 19  # index after the name in /proc/self/stat: clock ticks between boot and start


def bytes_written(proc: Path = Path("/proc")) -> int | None:
    """Return the number of bytes that this process wrote to disks, if the kernel counts them."""
    with contextlib.suppress(OSError, ValueError):
        lines = (proc / "self/io").read_text("ascii").splitlines()
        return next((int(line.split()[1]) for line in lines if line.startswith("write_bytes:")), None)
    return None


def resident_memory(proc: Path = Path("/proc")) -> int | None:
    """Return the resident memory of this process in bytes."""
    with contextlib.suppress(OSError, ValueError, IndexError):
        return int((proc / "self/statm").read_text("ascii").split()[1]) * os.sysconf("SC_PAGE_SIZE")
    return None


def start_time(proc: Path = Path("/proc")) -> float | None:
    """Return the start of this process in seconds since 1970, by the present wall clock."""
    with contextlib.suppress(OSError, ValueError, IndexError):
        ticks = int((proc / "self/stat").read_text("ascii", "replace").rpartition(")")[2].split()[_START])
        lines = (proc / "stat").read_text("ascii").splitlines()
        (boot,) = (int(line.split()[1]) for line in lines if line.startswith("btime "))
        return boot + ticks / os.sysconf("SC_CLK_TCK")
    return None


MOUNT_TABLE = Path("/proc/self/mountinfo")
_IN_MEMORY = {"tmpfs", "ramfs", "devtmpfs"}
_OVERLAYS = {"overlay", "overlayfs", "aufs", "fuse-overlayfs", "unionfs"}
_MEMORY_DEVICE = re.compile(r"/dev/(zram|ram)\d")
_ESCAPE = re.compile(r"\\([0-7]{3})")


@dataclass(frozen=True, slots=True)
class Mount:
    """One line of the mount table.

    `options` are those of the mount and of the file system. `device` is the device number, such as
    8:1.
    """

    folder: Path
    kind: str
    source: str
    options: frozenset[str]
    device: str = ""

    @property
    def read_only(self) -> bool:
        """Whether the file system is mounted read-only."""
        return bool(self.options & {"ro", "emergency_ro"})

    def option(self, name: str) -> str | None:
        """Return the value of the mount option `name`."""
        return next((each.partition("=")[2] for each in self.options if each.startswith(f"{name}=")), None)


def read_mounts(path: Path = MOUNT_TABLE) -> list[Mount]:
    """Return all mounts in the order of mounting. Raises OSError without a mount table."""
    return [mount for line in path.read_text("utf-8", "surrogateescape").splitlines() if (mount := _parse(line))]


def find_mount(folder: Path, known: Sequence[Mount]) -> Mount | None:
    """Return the mount in `known` that contains `folder`, or will contain it once it exists."""
    folder = folder.resolve()
    best = None
    for mount in known:  # a later mount hides an earlier one
        if folder.is_relative_to(mount.folder) and (best is None or mount.folder.is_relative_to(best.folder)):
            best = mount
    return best


def is_volatile(mount: Mount, known: Sequence[Mount]) -> bool:
    """Return whether files on `mount` are lost when the machine or its container restarts."""
    if mount.kind in _IN_MEMORY or _MEMORY_DEVICE.match(mount.source):
        return True
    if mount.kind not in _OVERLAYS:
        return False
    upper = Path(mount.option("upperdir") or "")
    below = None
    with contextlib.suppress(OSError):
        if upper.is_absolute() and upper.is_dir():  # otherwise the folder is outside of this container
            below = find_mount(upper, [each for each in known if each.kind not in _OVERLAYS])
    return below is None or is_volatile(below, known)


def _parse(line: str) -> Mount | None:
    """Parse a line: id parent device root FOLDER OPTIONS tags… - KIND SOURCE OPTIONS."""
    before, _, after = line.partition(" - ")
    place, system = before.split(" "), after.split(" ")
    if len(place) < 6 or len(system) < 3:
        return None
    options = frozenset((*place[5].split(","), *_unescape(system[2]).split(",")))
    return Mount(Path(_unescape(place[4])), system[0], _unescape(system[1]), options, place[2])


def _unescape(text: str) -> str:
    """Decode the octal escapes of spaces and other characters."""
    return _ESCAPE.sub(lambda match: chr(int(match[1], 8)), text)


class MountWatcher:
    """Call `on_change` in the running event loop after each change of the mount table."""

    def __init__(self, on_change: Callable[[], None], path: Path = MOUNT_TABLE) -> None:
        import asyncio  # noqa: PLC0415 - commands that run as root read the table without it

        self._on_change, self._loop = on_change, asyncio.get_running_loop()
        self._epoll: select.epoll | None = None
        try:
            self._file = path.open("rb")
        except OSError:  # without a mount table, changes are not reported
            return
        epoll = select.epoll()
        try:
            epoll.register(self._file.fileno(), select.EPOLLPRI)
        except PermissionError:  # an ordinary file cannot be watched
            epoll.close()
            self._file.close()
            return
        self._epoll = epoll
        self._loop.add_reader(epoll.fileno(), self._on_event)

    def close(self) -> None:
        """Stop watching."""
        if self._epoll is not None:
            self._loop.remove_reader(self._epoll.fileno())
            self._epoll.close()
            self._file.close()
            self._epoll = None

    def _on_event(self) -> None:
        assert self._epoll is not None
        with contextlib.suppress(InterruptedError):
            self._epoll.poll(0)  # consumes the event, which would be reported again and again
        self._on_change()
