"""Runs at the same time: of one job, its `concurrency:`, and of all jobs, `max-concurrent-runs`.

`OVERLAP_RULES` says what happens at a slot of a job while a run of that job is active. The
scheduler applies it before it starts a process. The runner (`jobs/runner.py`) applies it again
before it takes the lock of the job, because cron and people start runs, too.

The limit of all runs is shared by all processes of one appliance. A place is a locked file in the
state folder. The processes of a run inherit the open file, so the kernel frees the place when the
last of them has ended, also after `kill -9`.

The daemon takes a place before it starts a process. Other processes, such as runs of cron, wait
here, one at a time for the next place. The daemon starts nothing while one of them waits.
"""

import contextlib
import fcntl
import os
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from pathlib import Path

from pi_appliance import plugins
from pi_appliance.config.options import ConcurrencyPolicy, Config, Job, Priority
from pi_appliance.scheduling.appliance import Appliance
from pi_appliance.system import files, process_tree

MAX_QUEUED = 10  # slots of one job that may wait
REPLACE_TIMEOUT = 2 * process_tree.TERM_TIMEOUT  # seconds that a replaced run has to end
PLACE = "PI_APPLIANCE_PLACE"
"""Environment variable of a run: the descriptor of the place that the daemon took for it."""
_MEMORY_SHARE = 0.25  # share of the memory that runs may use
_RUN_MEMORY = 64_000_000  # bytes of one run with a small program
_POLL_INTERVAL = 0.25  # seconds between two looks for a free place


@dataclass(frozen=True, slots=True)
class OverlapRule:
    """What happens at a slot of a job while a run of the job is active.

    By default the slot is skipped.
    """

    waits: bool = False  # the slot waits for the active run, in order, with at most `MAX_QUEUED` others
    replaces: bool = False  # the slot's run replaces the active run, which is stopped


OVERLAP_RULES: Mapping[ConcurrencyPolicy, OverlapRule] = {
    ConcurrencyPolicy.SKIP: OverlapRule(),
    ConcurrencyPolicy.QUEUE: OverlapRule(waits=True),
    ConcurrencyPolicy.REPLACE: OverlapRule(replaces=True),
}


class StartQueue:
    """The slots that wait for an active run: one queue per job, in the order of the slots."""

    def __init__(self) -> None:
        self._slots: dict[str, list[tuple[datetime, float]]] = {}  # the slots of each job, each with its earliest start

    def __len__(self) -> int:
        return sum(map(len, self._slots.values()))

    def has_slots(self, job: str) -> bool:
        """Return whether a slot of `job` waits."""
        return bool(self._slots.get(job))

    def add(self, job: str, slot: datetime, not_before: float) -> bool:
        """Queue `slot` of `job`, not to start before `not_before`. Return False if it is full."""
        slots = self._slots.setdefault(job, [])
        if len(slots) >= MAX_QUEUED:
            return False
        slots.append((slot, not_before))
        return True

    def ready_jobs(self, monotonic: float) -> list[str]:
        """Return the jobs whose first slot may start now."""
        return [job for job, slots in self._slots.items() if slots and slots[0][1] <= monotonic]

    def pop_slot(self, job: str) -> datetime:
        """Remove the first slot of `job` from its queue and return it."""
        return self._slots[job].pop(0)[0]

    def remove_job(self, job: str) -> None:
        """Remove the queue of `job`."""
        self._slots.pop(job, None)

    def start_delays(self, monotonic: float) -> list[float]:
        """Return the seconds until each slot that waits for a time.

        Slots that wait for the end of a run are not included, because the end wakes the loop.
        """
        starts = [slots[0][1] for slots in self._slots.values() if slots]
        return [start - monotonic for start in starts if start > monotonic]


def stop_active_runs(appliance: Appliance, job: str, reason: str) -> None:
    """Ask the active runs of `job` to end. Their summary says the `reason`."""
    for run in appliance.store.active_runs(job):
        files.request_stop(appliance.lock_path(job), run.id, reason)


def describe_overlap(appliance: Appliance, job: str) -> str:
    """Return why a run of `job` is skipped: because another run of the job is active."""
    active = appliance.store.active_runs(job)
    return f"run {active[0].id} is still active" if len(active) > 1 else "another run is still active"


def priority_of(job: Job) -> Priority:
    """Return the priority of `job`. Without one in the configuration, its kind decides."""
    is_urgent = getattr(plugins.load("jobs", job.kind), "URGENT", False)
    return job.priority or (Priority.URGENT if is_urgent else Priority.NORMAL)


def is_limited(job: Job) -> bool:
    """Return whether scheduled runs of `job` need a place.

    Runs by a person or an event never do.
    """
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
    """The places for runs: at most as many runs as `max-concurrent-runs` are active at once."""

    def __init__(self, config: Config) -> None:
        self._folder = config.state_dir / "places"
        self.count = config.max_concurrent_runs or default_limit()

    def take(self) -> int | None:
        """Return the descriptor of a place, or None if none is free or another process is next."""
        return None if files.is_locked(self._next) else self._take_any()

    @contextlib.contextmanager
    def wait(self, seconds: float, give_up: Callable[[], object]) -> Iterator[int | None]:
        """Hold a place for the block.

        Yield None if no place becomes free within `seconds`, or as soon as `give_up` returns true.

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
