"""Whether the wall clock is to be believed, and by how much it was put forward or back. Pure: told what clocks show.

A Pi without a battery starts with the time of its last shutdown, or with 1970, until somebody on the network is asked.
"""

import ctypes
import time
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from pathlib import Path
from typing import Protocol

_NOT_A_STEP = timedelta(milliseconds=500)  # a clock that is steered gains 30 ms in a minute at the most (500 ppm)


class ClockState(StrEnum):
    """What is thought of the wall clock."""

    UNTRUSTED = "untrusted"  # nobody has set it yet, and there is still hope that somebody will
    TRUSTED = "trusted"
    STEPPED = "stepped"  # it was put forward or back since the last look


@dataclass(frozen=True, slots=True)
class ClockReading:
    """What one look at the clocks told: the state, and how far the wall clock was put (back: negative)."""

    state: ClockState
    step: timedelta = timedelta(0)


class ClockWatch:
    """Looks at the clocks again and again."""

    def __init__(self, wait: timedelta) -> None:
        """WAIT: how long after the start of the machine a clock that nobody has set is waited for."""
        self.wait = wait
        self.trusted = False
        self._last: tuple[datetime, float] | None = None

    def look(self, wall: datetime, steady: float, *, synchronised: bool) -> ClockReading:
        """Return what WALL, and STEADY seconds since the machine started, tell. SYNCHRONISED: somebody has set WALL."""
        self.trusted = self.trusted or synchronised or steady >= self.wait.total_seconds()
        step = timedelta(0)
        if self._last is not None:
            before, then = self._last
            step = wall - before - timedelta(seconds=steady - then)
        self._last = wall, steady
        if abs(step) < _NOT_A_STEP:
            return ClockReading(ClockState.TRUSTED if self.trusted else ClockState.UNTRUSTED)
        return ClockReading(ClockState.STEPPED if self.trusted else ClockState.UNTRUSTED, step)

    def seconds_left(self, steady: float) -> float:
        """Return how long the clock will still be waited for."""
        return 0.0 if self.trusted else max(0.0, self.wait.total_seconds() - steady)


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
    """The clock of this machine."""

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


@dataclass(frozen=True, slots=True)
class Timestamp:
    """A moment by the wall clock, and by the steady one: seconds since the start of the machine that BOOT names."""

    wall: datetime
    steady: float
    boot: str

    def seconds_since(self, earlier: "Timestamp") -> float:
        """Return how much later this is: by the steady clock, or after another start of the machine by the wall's."""
        if self.boot == earlier.boot:
            return self.steady - earlier.steady
        return max(0.0, (self.wall - earlier.wall).total_seconds())


class Clock(Protocol):
    """What time it is, and whether to believe it."""

    def now(self) -> datetime:
        """Return the wall clock's instant, aware, in UTC."""

    def steady(self) -> float:
        """Return seconds since the machine started, sleep included; never put forward or back."""

    def synchronised(self) -> bool:
        """Say whether somebody who knows has set the wall clock since the machine started."""
