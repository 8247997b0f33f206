"""What the machine feels: heat, power, room on the card, a way out. All from files, so that a sandbox may read them.

A sensor that a machine does not have says None. Heat: /sys/class/thermal. Power: the alarm of the rpi_volt driver in
/sys/class/hwmon, and the firmware's get_throttled (bit 0 under-voltage, 1 frequency capped, 2 throttled, 3 soft
temperature limit; 16 to 19 the same at any time since the start), which older kernels show in sysfs.
"""

import contextlib
import os
from dataclasses import dataclass
from pathlib import Path

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


def free(folder: Path) -> int:
    """Return how many bytes an ordinary user may still write where FOLDER is."""
    found = os.statvfs(folder)
    return found.f_bavail * found.f_frsize
