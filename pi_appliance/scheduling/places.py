"""The limit of runs at the same time, shared by all processes of one appliance.

A place is a locked file in the state folder. The processes of a run inherit the open file, so the
kernel frees the place when the last of them has ended, also after `kill -9`.

The daemon takes a place before it starts a process. Other processes, such as runs of cron, wait
here, one at a time for the next place. The daemon starts nothing while one of them waits.
"""

import contextlib
import fcntl
import os
import time
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

from pi_appliance import plugins
from pi_appliance.config.model import Config, Job, Priority
from pi_appliance.system import files

PLACE = "PI_APPLIANCE_PLACE"
"""Environment variable of a run: the descriptor of the place that the daemon took for it."""
_MEMORY_SHARE = 0.25  # of the memory, for runs
_RUN_MEMORY = 64_000_000  # bytes of one run with a small program
_POLL_INTERVAL = 0.25  # seconds


def priority_of(job: Job) -> Priority:
    """Return the priority of `job`. Without one in the configuration, its kind decides."""
    is_urgent = getattr(plugins.load("jobs", job.kind), "URGENT", False)
    return job.priority or (Priority.URGENT if is_urgent else Priority.NORMAL)


def is_limited(job: Job) -> bool:
    """Return whether scheduled runs of `job` need a place, unlike those of a person or an event."""
    return priority_of(job) is not Priority.URGENT


@cache
def default_limit() -> int:
    """Return the number of runs at the same time that suits this machine."""
    memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return max(2, min(2 * len(os.sched_getaffinity(0)), round(memory * _MEMORY_SHARE / _RUN_MEMORY)))


def describe_wait(count: int) -> str:
    """Return why a run that needs one of `count` places began late or never."""
    return f"waited for other runs to end ({count} may be active at the same time)"


class Places:
    """The places of the appliance with `config`."""

    def __init__(self, config: Config) -> None:
        self._folder = config.state_dir / "places"
        self.count = config.max_concurrent_runs or default_limit()

    def take(self) -> int | None:
        """Return the descriptor of a place, or None if none is free or another process is next."""
        return None if files.is_locked(self._next) else self._take_any()

    @contextlib.contextmanager
    def wait(self, seconds: float, give_up: Callable[[], object]) -> Iterator[int | None]:
        """Hold a place for the block. Yield None if none is free within `seconds`, or to `give_up`.

        Raises:
            Unavailable: The folder cannot be written.
        """
        until, place = time.monotonic() + seconds, None
        files.make_directory(self._folder)
        with files.acquire_lock(self._next, patience=seconds, give_up=give_up) as turn:
            while turn is not None and (place := self._take_any()) is None:
                if time.monotonic() >= until or give_up():
                    break
                time.sleep(_POLL_INTERVAL)
        try:
            yield place
        finally:
            if place is not None:
                os.close(place)

    @property
    def _next(self) -> Path:
        """The lock of the process that gets the next free place."""
        return self._folder / "next.lock"

    def _take_any(self) -> int | None:
        files.make_directory(self._folder)
        for number in range(self.count):
            path = self._folder / f"{number}.lock"
            try:
                place = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
            except OSError as error:
                raise files.write_error(path, error) from None
            try:
                fcntl.flock(place, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                os.close(place)
            else:
                return place
        return None


def inherited_place() -> int | None:
    """Return the descriptor of the place that the daemon took for this process.

    The programs that this process starts neither inherit it nor know of it.
    """
    text = os.environ.pop(PLACE, "")
    if not text.isdigit():
        return None
    with contextlib.suppress(OSError):
        os.set_inheritable(int(text), False)
        return int(text)
    return None
