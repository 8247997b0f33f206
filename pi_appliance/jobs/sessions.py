"""What a run is in the middle of, such as an alarm that rings: what begins with it, and who gives it up."""

import contextlib
import time
from collections.abc import Iterator
from datetime import datetime

from pi_appliance.config.model import Job
from pi_appliance.errors import Unavailable
from pi_appliance.music.alarms import active
from pi_appliance.scheduling.appliance import Appliance
from pi_appliance.storage.model import PREEMPT, RESUME

_ROOM = 10.0  # seconds; a slow Pi starts a process in three
_LOOK = 0.1


def forget_words(appliance: Appliance, job: Job, named: str | None) -> None:
    """Forget what was said to a run of JOB before this one for NAMED, which is about to begin and nobody sees yet.

    What finishes something that is left is still meant by it.
    """
    if named != RESUME:
        with contextlib.suppress(Unavailable):
            appliance.store.requests.take_signal(job.name)


def on_run_started(appliance: Appliance, job: Job, named: str | None, now: datetime) -> str:
    """Do what the beginning of a run of JOB for NAMED brings with it; return what its summary is to say of that.

    A job that is to use one slot only (`one-shot`) pauses from here on, before anything can cut its run off.
    """
    with contextlib.suppress(Unavailable):  # no run comes to nothing because of that
        if getattr(job.options, "one_shot", False) and named is not None and named[:1].isdigit():
            appliance.pause(job.name, now=now)
            return "; it pauses now, for it was to be once"
    return ""


def make_room(appliance: Appliance, job: Job, run: int, named: str | None) -> None:
    """Where JOB is an alarm, let RUN of it have the music to itself: whoever turns the volume or ends it makes room.

    Of two alarms at the same minute, the later one rings. It is waited for, but not for long: an alarm must ring.
    """
    if named == RESUME or not active.is_alarm(job):
        return
    with contextlib.suppress(Unavailable):
        asked = set(_in_the_way(appliance, job, run))
        for name in asked:
            appliance.store.requests.send_signal(name, PREEMPT)
        until = time.monotonic() + _ROOM
        while asked & set(_in_the_way(appliance, job, run)) and time.monotonic() < until:
            time.sleep(_LOOK)


def _in_the_way(appliance: Appliance, job: Job, run: int) -> Iterator[str]:
    """Yield the jobs beside which JOB cannot ring; an alarm that began before RUN may hold nothing yet."""
    for held in appliance.store.requests.checkpoints():
        if held.job != job.name and active.phase_of(held.text) in active.BLOCKS_ALARM:
            yield held.job
    for other in appliance.config.jobs.values():
        if other.name != job.name and active.is_alarm(other):
            yield from (going.job for going in appliance.store.active_runs(other.name) if going.id < run)


def on_run_aborted(appliance: Appliance, job: Job) -> None:
    """Let nothing be held for JOB any more: a person ended its run, or its time is over."""
    with contextlib.suppress(Unavailable):
        appliance.store.requests.delete_checkpoint(job.name)
