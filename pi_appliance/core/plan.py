"""What the daemon owes when it looks at the clock: slots to start now, and slots that are past saving."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from zoneinfo import ZoneInfo

from pi_appliance.core import cron, durations
from pi_appliance.model.config import Job, RunsBy
from pi_appliance.model.schedule import AtBoot

_LONGEST_LOOK_BACK = timedelta(days=1)  # a clock that jumps by years must not cost a million slots


@dataclass(frozen=True, slots=True)
class Due:
    """A slot that has come. `misfire` says why it is not to be started; empty if it is."""

    job: str
    slot: str
    misfire: str = ""


def due(jobs: Iterable[Job], after: datetime, until: datetime, zone: ZoneInfo) -> Iterator[Due]:
    """Yield what JOBS of the daemon owe for the time from AFTER (not included) to UNTIL.

    Of each job the newest slot is started, if it is within its grace; older ones are told as one misfire.
    """
    start = max(after, until - _LONGEST_LOOK_BACK)
    for job in _scheduled(jobs):
        assert job.schedule is not None
        passed = []
        for slot in cron.slots(job.schedule, start, zone):
            if slot > until:
                break
            passed.append(slot)
        if passed and until - passed[-1] <= job.grace:
            newest = passed.pop()
            if passed:
                yield _missed(job, passed, until)
            yield Due(job.name, cron.due_name(newest))
        elif passed:
            yield _missed(job, passed, until)


def _missed(job: Job, slots: list[datetime], now: datetime) -> Due:
    late = durations.render(timedelta(seconds=int((now - slots[-1]).total_seconds())))
    count = f"{len(slots)} slots since {cron.due_name(slots[0])}, the last one" if len(slots) > 1 else "its slot is"
    why = f"{count} {late} late, more than its grace of {durations.render(job.grace)}, when the daemon could look"
    return Due(job.name, cron.due_name(slots[-1]), why)


def next_slot(jobs: Iterable[Job], now: datetime, zone: ZoneInfo) -> tuple[datetime, Job] | None:
    """Return the next slot of all that the daemon starts, and the job it belongs to."""
    coming = [
        (slot, job)
        for job in _scheduled(jobs)
        if job.schedule and (slot := next(cron.slots(job.schedule, now, zone), None))
    ]
    return min(coming, key=lambda pair: pair[0]) if coming else None


def _scheduled(jobs: Iterable[Job]) -> Iterator[Job]:
    return (
        job
        for job in jobs
        if job.runs_by is RunsBy.DAEMON and job.schedule is not None and not isinstance(job.schedule, AtBoot)
    )
