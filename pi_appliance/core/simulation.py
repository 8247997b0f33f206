"""What would become of slots: the slots of jobs in any span of time, the chance and the jitter included."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from heapq import merge
from itertools import takewhile
from zoneinfo import ZoneInfo

from pi_appliance.core import cron
from pi_appliance.core.chance import picks, share
from pi_appliance.model.config import Config, Job

_INSTANT = timedelta(microseconds=1)


@dataclass(frozen=True, slots=True)
class Foretold:
    """A slot at `at`, in UTC; the zone of its job; whether the chance uses it, and when it would start then."""

    job: str
    at: datetime
    zone: ZoneInfo
    picked: bool
    starts: datetime

    @property
    def due(self) -> str:
        """The name of the slot in the history."""
        return cron.due_name(self.at)


def foretell(
    config: Config, jobs: Iterable[Job], first: datetime, end: datetime, *, secret: bytes
) -> Iterator[Foretold]:
    """Yield the slots of JOBS from FIRST until before END, in order."""
    each = (_of_job(job, config.zone_of(job), first, end, secret) for job in jobs if job.schedule)
    return merge(*each, key=lambda slot: slot.at)


def _of_job(job: Job, zone: ZoneInfo, first: datetime, end: datetime, secret: bytes) -> Iterator[Foretold]:
    assert job.schedule is not None
    for at in takewhile(lambda slot: slot < end, cron.slots(job.schedule, first - _INSTANT, zone)):
        due = cron.due_name(at)
        picked = picks(job.chance, secret=secret, job=job.name, due=due)
        later = job.jitter * share(secret, job.name, due) if job.jitter else timedelta(0)
        yield Foretold(job.name, at, zone, picked, at + later)
