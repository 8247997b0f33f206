"""What became of every slot of a job, for a person who asks: no slot is left out, and none is told twice."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from pi_appliance.core import cron
from pi_appliance.engine.assemble import Appliance
from pi_appliance.model.config import Job
from pi_appliance.model.run import Outcome, Run
from pi_appliance.model.schedule import Cron, Every
from pi_appliance.reports import as_json

_PIECE = timedelta(days=30)  # of the past, looked up at a time
_PAUSED = "paused"  # how the words of a slot begin that a pause left unused


@dataclass(frozen=True, slots=True)
class Account:
    """What became of one slot: the run that tells of it, or in words why there is none."""

    job: str
    at: datetime
    run: Run | None
    words: str = ""

    @property
    def reason(self) -> str:
        """Why it came to that, or what its run says."""
        return (self.run.summary or self.run.note) if self.run else self.words

    @property
    def what(self) -> str:
        """What became of it in one word: an outcome, running, paused; unknown where nothing tells."""
        if self.reason.startswith(_PAUSED) and (self.run is None or self.run.outcome is Outcome.SKIPPED):
            return "paused"
        if self.run is None:
            return "unknown"
        return str(self.run.outcome or "running")


@dataclass(slots=True)
class Past:
    """The runs that account for slots from OLDEST on."""

    oldest: str = ""
    single: dict[str, Run] = field(default_factory=dict)
    ranges: Sequence[Run] = ()

    def of(self, slot: str) -> Run | None:
        """Return the run that accounts for SLOT."""
        return self.single.get(slot) or next((run for run in self.ranges if _covers(run, slot)), None)


def values(account: Account) -> dict[str, Any]:
    """Return ACCOUNT as plain values."""
    return {
        "job": account.job,
        "slot": as_json.instant(account.at),
        "run": account.run.id if account.run else None,
        "outcome": account.run.outcome if account.run else None,
        "summary": account.reason,
    }


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
            yield Account(job.name, at, None, _PAUSED)
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
