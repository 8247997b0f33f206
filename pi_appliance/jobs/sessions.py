"""Sessions of runs, such as a ringing alarm: their start, preemption and end."""

import contextlib
import time
from collections.abc import Iterator
from datetime import datetime

from pi_appliance import plugins
from pi_appliance.config.model import Job
from pi_appliance.errors import Unavailable
from pi_appliance.scheduling.appliance import Appliance
from pi_appliance.storage.model import PREEMPT, RESUME

_PREEMPT_TIMEOUT = 10.0  # seconds; a slow Pi starts a process in three
_POLL_INTERVAL = 0.1  # seconds


def discard_signal(appliance: Appliance, job: Job, named: str | None) -> None:
    """Delete a signal to an earlier run of `job`. A run that resumes that one still gets it."""
    if named != RESUME:
        with contextlib.suppress(Unavailable):
            appliance.store.requests.take_signal(job.name)


def on_run_started(appliance: Appliance, job: Job, named: str | None, now: datetime) -> str:
    """Pause a `one-shot` job at the start of its run, and return a note for the summary.

    The pause comes first, so that an interrupted run is not repeated.
    """
    with contextlib.suppress(Unavailable):  # the run is worth more than the pause
        if getattr(job.options, "one_shot", False) and named is not None and named[:1].isdigit():
            appliance.pause(job.name, now=now)
            return "; it pauses now, for it was to be once"
    return ""


def preempt_others(appliance: Appliance, job: Job, run: int, slot: str | None) -> None:
    """End the sessions of other jobs that are in the way of `job`, such as those beside which no alarm can ring.

    A kind of job that preempts others defines `preempts(job)` and `is_preemptible(checkpoint)`. Of two preempting
    jobs at the same minute, the later one stays. The wait is short, because an alarm must ring.
    """
    if slot == RESUME or not _preempts(job):
        return
    with contextlib.suppress(Unavailable):
        others = set(_find_preemptible(appliance, job, run))
        for name in others:
            appliance.store.requests.send_signal(name, PREEMPT)
        until = time.monotonic() + _PREEMPT_TIMEOUT
        while others & set(_find_preemptible(appliance, job, run)) and time.monotonic() < until:
            time.sleep(_POLL_INTERVAL)


def _preempts(job: Job) -> bool:
    preempts = getattr(plugins.load("jobs", job.kind), "preempts", None)
    return preempts is not None and bool(preempts(job))


def _find_preemptible(appliance: Appliance, job: Job, run: int) -> Iterator[str]:
    """Yield the jobs in the way of `job`. An alarm that began before `run` may not have saved a checkpoint yet."""
    kind = plugins.load("jobs", job.kind)
    for checkpoint in appliance.store.requests.checkpoints():
        if checkpoint.job != job.name and kind.is_preemptible(checkpoint.text):
            yield checkpoint.job
    for other in appliance.config.jobs.values():
        if other.name != job.name and _preempts(other):
            yield from (active.job for active in appliance.store.active_runs(other.name) if active.id < run)


def on_run_aborted(appliance: Appliance, job: Job) -> None:
    """Delete the checkpoint of `job`: a person stopped its run, or it timed out."""
    with contextlib.suppress(Unavailable):
        appliance.store.requests.delete_checkpoint(job.name)
