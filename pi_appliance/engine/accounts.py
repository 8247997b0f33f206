"""What became of every slot of a job, for a person who asks: no slot is left out, and none is told twice."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from pi_appliance.core import cron
from pi_appliance.engine.assemble import Appliance
from pi_appliance.model.config import Job
from pi_appliance.model.run import Run
from pi_appliance.model.schedule import Cron, Every

_PIECE = timedelta(days=30)  # of the past, looked up at a time


@dataclass(frozen=True, slots=True)
class Account:
    """What became of one slot: the run that tells of it, or in words why there is none."""

    job: str
    at: datetime
    run: Run | None
    words: str = ""


@dataclass(slots=True)
class Past:
    """The runs that account for slots from OLDEST on."""

    oldest: str = ""
    single: dict[str, Run] = field(default_factory=dict)
    ranges: Sequence[Run] = ()

    def of(self, slot: str) -> Run | None:
        """Return the run that accounts for SLOT."""
        return self.single.get(slot) or next((run for run in self.ranges if _covers(run, slot)), None)


def accounts(appliance: Appliance, job: Job, now: datetime) -> Iterator[Account]:
    """Yield what became of the slots of JOB up to NOW, the newest first, since it is watched."""
    if not isinstance(job.schedule, (Cron, Every)):
        return
    known = appliance.store.slots.watched().get(job.name)
    pause = appliance.store.slots.pauses().get(job.name)
    past = Past()
    for at in cron.slots_back(job.schedule, now, appliance.config.zone_of(job)):
        name = cron.due_name(at)
        if not past.oldest or name < past.oldest:
            past = look_up(appliance, job.name, cron.due_name(at - _PIECE), name)
        run = past.of(name)
        if run is None and (known is None or at <= known.since):
            return
        if run is not None:
            yield Account(job.name, at, run)
        elif pause is not None and at > pause.since:
            yield Account(job.name, at, None, "paused")
        elif known is not None and at > known.until:
            yield Account(job.name, at, None, "not accounted for yet: it waits, or the daemon is down")
        else:
            yield Account(job.name, at, None, "no longer known: older than what is kept")


def look_up(appliance: Appliance, job: str, oldest: str, newest: str) -> Past:
    """Return what the history knows of the slots of JOB from OLDEST to NEWEST, by name."""
    past, ranges = Past(oldest), list[Run]()
    for run in appliance.store.slots.accounts(job, oldest, newest):
        if run.slots > 1:
            ranges.append(run)
        elif run.due and (run.due not in past.single or _ran(run)):  # one that ran says more than one that did not
            past.single[run.due] = run
    past.ranges = ranges
    return past


def _ran(run: Run) -> bool:
    return run.outcome is None or run.attempts > 0


def _covers(run: Run, slot: str) -> bool:
    return run.since is not None and run.due is not None and run.since <= slot <= run.due
