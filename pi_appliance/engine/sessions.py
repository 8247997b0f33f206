"""What a run is in the middle of, such as an alarm that rings: what begins with it, and who gives it up."""

import contextlib
from datetime import datetime

from pi_appliance.engine.assemble import Appliance
from pi_appliance.errors import Unavailable
from pi_appliance.model.config import Job
from pi_appliance.model.run import LEFT


def forget_words(appliance: Appliance, job: Job, named: str | None) -> None:
    """Forget what was said to a run of JOB before this one for NAMED, which is about to begin and nobody sees yet.

    What finishes something that is left is still meant by it.
    """
    if named != LEFT:
        with contextlib.suppress(Unavailable):
            appliance.store.asks.hear(job.name)


def begun(appliance: Appliance, job: Job, named: str | None, now: datetime) -> str:
    """Do what the beginning of a run of JOB for NAMED brings with it; return what its summary is to say of that.

    A job that is to use one slot only (`once`) pauses from here on, before anything can cut its run off.
    """
    with contextlib.suppress(Unavailable):  # no run comes to nothing because of that
        if getattr(job.with_, "once", False) and named is not None and named[:1].isdigit():
            appliance.pause(job.name, now=now)
            return "; it pauses now, for it was to be once"
    return ""


def given_up(appliance: Appliance, job: Job) -> None:
    """Let nothing be held for JOB any more: a person ended its run, or its time is over."""
    with contextlib.suppress(Unavailable):
        appliance.store.asks.let_go(job.name)
