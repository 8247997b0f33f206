"""The clocks of this machine, steps of the wall clock, and a time limit for a block.

A Pi without a battery starts with the time of its last shutdown, or with 1970, until it has asked a
time server.
"""

import contextlib
import ctypes
import errno
import os
import signal
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from pathlib import Path
from typing import Protocol

from pi_appliance.errors import DeadlineExceeded

# smaller steps are not reported: a slewed clock gains at most 30 ms per minute (500 ppm)
_MIN_STEP = timedelta(milliseconds=500)


class Clock(Protocol):
    """The time, and whether it is synchronized."""

    def now(self) -> datetime:
        """Return the time of the wall clock in UTC."""

    def monotonic(self) -> float:
        """Return the seconds since the machine started, with sleep; steps do not change them."""

    def is_synchronized(self) -> bool:
        """Return whether a time source has set the wall clock since the machine started."""


@dataclass(frozen=True, slots=True)
class Timestamp:
    """One time by both clocks. `monotonic` is in seconds since the start that `boot` identifies."""

    wall: datetime
    monotonic: float
    boot: str

    def seconds_since(self, earlier: "Timestamp") -> float:
        """Return the seconds from `earlier` to this: monotonic, or wall clock after a restart."""
        if self.boot == earlier.boot:
            return self.monotonic - earlier.monotonic
        return max(0.0, (self.wall - earlier.wall).total_seconds())


class ClockState(StrEnum):
    """Whether the wall clock can be trusted."""

    UNTRUSTED = "untrusted"  # the clock is not synchronized yet, but still may be
    TRUSTED = "trusted"
    STEPPED = "stepped"  # the clock jumped since the last reading


@dataclass(frozen=True, slots=True)
class ClockReading:
    """One reading of the clocks.

    `step` is how far the wall clock jumped; a negative one is backwards.
    """

    state: ClockState
    step: timedelta = timedelta(0)


class ClockWatch:
    """Compare successive readings of the wall clock and the monotonic clock."""

    def __init__(self, max_wait: timedelta) -> None:
        """Wait `max_wait` after the start of the machine for a clock that is not synchronized."""
        self.max_wait = max_wait
        self.is_trusted = False
        self._last: tuple[datetime, float] | None = None

    def read(self, wall: datetime, monotonic: float, *, is_synchronized: bool) -> ClockReading:
        """Return the reading; `monotonic` is in seconds since the machine started."""
        self.is_trusted = self.is_trusted or is_synchronized or monotonic >= self.max_wait.total_seconds()
        step = timedelta(0)
        if self._last is not None:
            last_wall, last_monotonic = self._last
            step = wall - last_wall - timedelta(seconds=monotonic - last_monotonic)
        self._last = wall, monotonic
        if abs(step) < _MIN_STEP:
            return ClockReading(ClockState.TRUSTED if self.is_trusted else ClockState.UNTRUSTED)
        return ClockReading(ClockState.STEPPED if self.is_trusted else ClockState.UNTRUSTED, step)

    def seconds_left(self, monotonic: float) -> float:
        """Return how long to wait for synchronization from now on."""
        return 0.0 if self.is_trusted else max(0.0, self.max_wait.total_seconds() - monotonic)


_SYNCHRONIZED = Path("/run/systemd/timesync/synchronized")  # systemd-timesyncd creates it once after each boot
_STA_UNSYNC = 0x40  # from linux/timex.h
_TIME_ERROR = 5


class _Timex(ctypes.Structure):
    """The first fields of `struct timex` (linux/timex.h), with space for its other fields."""

    _fields_ = (
        ("modes", ctypes.c_uint),
        ("offset", ctypes.c_long),
        ("freq", ctypes.c_long),
        ("maxerror", ctypes.c_long),
        ("esterror", ctypes.c_long),
        ("status", ctypes.c_int),
        ("rest", ctypes.c_byte * 256),
    )


def now() -> datetime:
    """Return the time of the wall clock in UTC."""
    return datetime.now(UTC)


def boot_id() -> str:
    """Return a name for the time since the last start of the machine."""
    return "boot:" + Path("/proc/sys/kernel/random/boot_id").read_text("ascii").strip()


class SystemClock:
    """The `Clock` that reads the clocks of this machine."""

    def now(self) -> datetime:
        """Return the time of the wall clock in UTC."""
        return now()

    def monotonic(self) -> float:
        """Return the seconds since the machine started, sleep included."""
        return time.clock_gettime(time.CLOCK_BOOTTIME)

    def is_synchronized(self) -> bool:
        """Return whether timesyncd, chrony or ntpd has synchronized the clock."""
        if _SYNCHRONIZED.exists():
            return True
        timex = _Timex()
        state = ctypes.CDLL(None).adjtimex(ctypes.byref(timex))
        return state not in (-1, _TIME_ERROR) and not timex.status & _STA_UNSYNC


_CLOCK_REALTIME = 0
_TFD_NONBLOCK, _TFD_CLOEXEC = os.O_NONBLOCK, os.O_CLOEXEC
_TFD_TIMER_ABSTIME, _TFD_TIMER_CANCEL_ON_SET = 1, 2
_FAR_AHEAD = 10 * 365 * 86_400  # seconds until the timer expires; until then only a clock step fires it
_MAX_TIME = 2 ** (8 * ctypes.sizeof(ctypes.c_long) - 1) - 1  # the last second of a C long; with 32 bits in 2038


class _Timespec(ctypes.Structure):
    _fields_ = (("seconds", ctypes.c_long), ("nanoseconds", ctypes.c_long))


class _Itimerspec(ctypes.Structure):
    _fields_ = (("interval", _Timespec), ("value", _Timespec))


class ClockStepWatcher:
    """Call `on_step` in the running event loop after each step of the wall clock.

    It uses a kernel timer that a step cancels (timerfd_create(2)). Python has it since 3.13, so the
    C library is called directly. On a kernel without such timers nothing is called; the scheduler
    also reads the clock once a minute.
    """

    def __init__(self, on_step: Callable[[], None], seconds_ahead: float = _FAR_AHEAD) -> None:
        """Start to watch.

        `on_step` is also called every `seconds_ahead` seconds, when the timer expires.
        """
        import asyncio  # noqa: PLC0415  # every command loads this module

        self._on_step, self._seconds_ahead, self._loop = on_step, seconds_ahead, asyncio.get_running_loop()
        self._timer = _new_timer(seconds_ahead)
        if self._timer is not None:
            self._loop.add_reader(self._timer, self._on_timer)

    def close(self) -> None:
        """Stop watching."""
        if self._timer is not None:
            self._loop.remove_reader(self._timer)
            os.close(self._timer)
            self._timer = None

    def _on_timer(self) -> None:
        assert self._timer is not None
        try:
            os.read(self._timer, 8)
        except BlockingIOError:
            return
        except OSError as error:
            if error.errno != errno.ECANCELED:
                raise
        # Also if the timer has expired instead of being cancelled: a step beyond its date may look
        # like that.
        _arm(self._timer, self._seconds_ahead)
        self._on_step()


def _new_timer(seconds_ahead: float) -> int | None:
    library = ctypes.CDLL(None, use_errno=True)
    fd = int(library.timerfd_create(_CLOCK_REALTIME, _TFD_NONBLOCK | _TFD_CLOEXEC))
    if fd < 0:
        return None
    if not _arm(fd, seconds_ahead):
        os.close(fd)
        return None
    return fd


def _arm(fd: int, seconds_ahead: float) -> bool:
    """Set the timer `fd`, and return whether it runs.

    It is not set to a time that C cannot represent: it would expire again and again.
    """
    library, wall = ctypes.CDLL(None, use_errno=True), time.time()
    expiry = min(wall + seconds_ahead, _MAX_TIME)
    if expiry <= wall:
        return False
    seconds = int(expiry)
    spec = _Itimerspec(_Timespec(0, 0), _Timespec(seconds, int((expiry - seconds) * 1e9)))
    flags = _TFD_TIMER_ABSTIME | _TFD_TIMER_CANCEL_ON_SET
    return int(library.timerfd_settime(fd, flags, ctypes.byref(spec), None)) == 0


@contextlib.contextmanager
def time_limit(seconds: float) -> Iterator[None]:
    """Raise DeadlineExceeded in the block after `seconds`, then each second until it ends.

    A host name look-up cannot be interrupted: the error is raised when it returns.
    """

    def on_alarm(*_: object) -> None:
        raise DeadlineExceeded(f"it took longer than {seconds:.0f}s")

    before = signal.signal(signal.SIGALRM, on_alarm)
    signal.setitimer(signal.ITIMER_REAL, seconds, 1)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
