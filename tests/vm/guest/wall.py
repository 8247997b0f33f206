"""Sets the clock of this machine. Only for a disposable virtual machine."""

import ctypes
import errno
import os
import time
from datetime import datetime, timedelta
from pathlib import Path

_ADJ_MAXERROR, _ADJ_ESTERROR, _ADJ_STATUS, _ADJ_SETOFFSET = 0x4, 0x8, 0x10, 0x100  # linux/timex.h


class _Timex(ctypes.Structure):
    """The fields of struct timex (linux/timex.h) up to the last used one, and padding."""

    _fields_ = (
        ("modes", ctypes.c_uint),
        *((name, ctypes.c_long) for name in ("offset", "freq", "maxerror", "esterror")),
        ("status", ctypes.c_int),
        *((name, ctypes.c_long) for name in ("constant", "precision", "tolerance", "seconds", "microseconds")),
        ("room", ctypes.c_byte * 256),
    )


def put_by(shift: timedelta) -> None:
    """Step the clock by `shift` like a manual change: it stays unsynchronized."""
    _only_here()
    time.clock_settime(time.CLOCK_REALTIME, time.time() + shift.total_seconds())


def put_to(when: datetime) -> None:
    """Step the clock to `when` in the same way."""
    _only_here()
    time.clock_settime(time.CLOCK_REALTIME, when.timestamp())


def synchronise(when: datetime) -> None:
    """Set the clock to `when` as systemd-timesyncd does, in one call that marks it synchronized."""
    _only_here()
    shift = when.timestamp() - time.time()
    timex = _Timex(modes=_ADJ_SETOFFSET | _ADJ_STATUS | _ADJ_MAXERROR | _ADJ_ESTERROR, status=0)
    whole, part = divmod(shift, 1)  # the part of a second is never negative
    timex.seconds = int(whole)
    timex.microseconds = int(part * 1_000_000)
    if ctypes.CDLL(None, use_errno=True).adjtimex(ctypes.byref(timex)) < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))


def _only_here() -> None:
    """Refuse to run without the marker on the kernel's command line."""
    if "pi-appliance-vm" not in Path("/proc/cmdline").read_text("ascii").split():
        raise PermissionError(errno.EPERM, "this is not the virtual machine of the tests")
