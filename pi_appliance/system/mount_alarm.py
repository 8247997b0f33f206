"""Rings when something is mounted or unmounted: the kernel says so of its own list (man 5 proc_pid_mountinfo).

The list can always be read, so an event loop that waits for that would never sleep. Asked for "priority" data alone,
through an epoll of its own, it is told of changes and of nothing else. A plain file in its place never rings.
"""

import asyncio
import contextlib
import select
from collections.abc import Callable
from pathlib import Path

from pi_appliance.system.mounts import LIST


class MountAlarm:
    """Calls RING in the running loop after each change of the LIST of mounts."""

    def __init__(self, ring: Callable[[], None], path: Path = LIST) -> None:
        self._ring, self._loop = ring, asyncio.get_running_loop()
        self._epoll: select.epoll | None = None
        try:
            self._file = path.open("rb")
        except OSError:  # no such list here: nothing rings
            return
        epoll = select.epoll()
        try:
            epoll.register(self._file.fileno(), select.EPOLLPRI)
        except PermissionError:  # a plain file
            epoll.close()
            self._file.close()
            return
        self._epoll = epoll
        self._loop.add_reader(epoll.fileno(), self._rung)

    def close(self) -> None:
        """Ring no more."""
        if self._epoll is not None:
            self._loop.remove_reader(self._epoll.fileno())
            self._epoll.close()
            self._file.close()
            self._epoll = None

    def _rung(self) -> None:
        assert self._epoll is not None
        with contextlib.suppress(InterruptedError):
            self._epoll.poll(0)  # else it would be told again and again
        self._ring()
