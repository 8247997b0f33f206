"""Rings when the wall clock is put forward or back: a timer of the kernel that such a step cancels (timerfd_create(2)).

Python has it from 3.13 on; before, the C library is asked. Where the kernel has no such timer it never rings, and who
looks at the clock once a minute notices all the same.
"""

import asyncio
import ctypes
import errno
import os
import time
from collections.abc import Callable

_CLOCK_REALTIME = 0
_TFD_NONBLOCK, _TFD_CLOEXEC = os.O_NONBLOCK, os.O_CLOEXEC
_TFD_TIMER_ABSTIME, _TFD_TIMER_CANCEL_ON_SET = 1, 2
_FAR = 10 * 365 * 86_400  # seconds ahead
_LAST = 2 ** (8 * ctypes.sizeof(ctypes.c_long) - 1) - 1  # second that the C library can name; with 32 bits in 2038


class _Timespec(ctypes.Structure):
    _fields_ = (("seconds", ctypes.c_long), ("nanoseconds", ctypes.c_long))


class _Itimerspec(ctypes.Structure):
    _fields_ = (("interval", _Timespec), ("value", _Timespec))


class ClockStepWatcher:
    """Calls RING in the running loop after each step of the clock, and once in FAR seconds for nothing."""

    def __init__(self, ring: Callable[[], None], far: float = _FAR) -> None:
        self._ring, self._far, self._loop = ring, far, asyncio.get_running_loop()
        self._timer = _new_timer(far)
        if self._timer is not None:
            self._loop.add_reader(self._timer, self._rung)

    def close(self) -> None:
        """Ring no more."""
        if self._timer is not None:
            self._loop.remove_reader(self._timer)
            os.close(self._timer)
            self._timer = None

    def _rung(self) -> None:
        assert self._timer is not None
        try:
            os.read(self._timer, 8)
        except BlockingIOError:
            return
        except OSError as error:
            if error.errno != errno.ECANCELED:
                raise
        # Also where it ran out, rather than was cancelled: a step that goes beyond its date may look like that.
        _arm(self._timer, self._far)
        self._ring()


def _new_timer(far: float) -> int | None:
    library = ctypes.CDLL(None, use_errno=True)
    number = int(library.timerfd_create(_CLOCK_REALTIME, _TFD_NONBLOCK | _TFD_CLOEXEC))
    if number < 0:
        return None
    if not _arm(number, far):
        os.close(number)
        return None
    return number


def _arm(number: int, far: float) -> bool:
    """Let the timer NUMBER run to a moment FAR seconds ahead; any step of the clock cancels it.

    Say whether it runs. Where no moment ahead can be named it does not: it would ring without end.
    """
    library, now = ctypes.CDLL(None, use_errno=True), time.time()
    moment = min(now + far, _LAST)
    if moment <= now:
        return False
    seconds = int(moment)
    when = _Itimerspec(_Timespec(0, 0), _Timespec(seconds, int((moment - seconds) * 1e9)))
    flags = _TFD_TIMER_ABSTIME | _TFD_TIMER_CANCEL_ON_SET
    return int(library.timerfd_settime(number, flags, ctypes.byref(when), None)) == 0
