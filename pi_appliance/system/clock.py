"""The clocks of the machine, and whether the one on the wall was set by somebody who knows."""

import ctypes
import time
from datetime import UTC, datetime
from pathlib import Path

_SYNCHRONISED = Path("/run/systemd/timesync/synchronized")  # made by systemd-timesyncd, once a boot
_STA_UNSYNC = 0x40  # linux/timex.h
_TIME_ERROR = 5


class _Timex(ctypes.Structure):
    """The first fields of struct timex (linux/timex.h), and room for the others."""

    _fields_ = (
        ("modes", ctypes.c_uint),
        ("offset", ctypes.c_long),
        ("freq", ctypes.c_long),
        ("maxerror", ctypes.c_long),
        ("esterror", ctypes.c_long),
        ("status", ctypes.c_int),
        ("room", ctypes.c_byte * 256),
    )


def now() -> datetime:
    """Return the wall clock's instant, aware, in UTC."""
    return datetime.now(UTC)


def boot_name() -> str:
    """Return a name that is the same until the machine starts anew."""
    return "boot:" + Path("/proc/sys/kernel/random/boot_id").read_text("ascii").strip()


class MachineClock:
    """The clock of this machine: the Clock of ports.py."""

    def now(self) -> datetime:
        """Return the wall clock's instant."""
        return now()

    def steady(self) -> float:
        """Return seconds since the machine started, sleep included."""
        return time.clock_gettime(time.CLOCK_BOOTTIME)

    def synchronised(self) -> bool:
        """Say whether timesyncd has set the clock, or another (chrony, ntpd) told the kernel that it is right."""
        if _SYNCHRONISED.exists():
            return True
        timex = _Timex()
        state = ctypes.CDLL(None).adjtimex(ctypes.byref(timex))
        return state not in (-1, _TIME_ERROR) and not timex.status & _STA_UNSYNC
