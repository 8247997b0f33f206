"""Jobs that come after others: due when all those have succeeded since the last time."""

from dataclasses import dataclass
from datetime import datetime, timedelta

from pi_appliance.core import durations
from pi_appliance.engine.assemble import Appliance
from pi_appliance.model.config import Job
from pi_appliance.model.notice import Told
from pi_appliance.model.run import Outcome, Trigger
from pi_appliance.store.slots import Settled
from pi_appliance.store.sqlite import slot_key

_BEGIN = "after:"


@dataclass(frozen=True, slots=True)
class Due:
    """The successes that a job was waiting for, by the name they have in the history; WHY it is too late, if it is."""

    name: str
    why: str = ""


def name_of(runs: list[int]) -> str:
    """Return the name of the slot that RUNS, one for each job under `after`, make together."""
    return _BEGIN + "+".join(map(str, runs))


def due(appliance: Appliance, job: Job, now: datetime) -> Due | None:
    """Return what JOB is to run for now, None if it waits. One that is new waits for the successes to come."""
    store = appliance.store
    text = name_of([]) + " ".join(job.after)
    known = store.slots.watched().get(job.name)
    if known is None or known.schedule != text:
        store.slots.watch(job.name, text, since=now)
        return None
    found = [store.last_success(before) for before in job.after]
    runs = [run for run in found if run is not None and run.ended is not None and run.ended > known.since]
    name = name_of([run.id for run in runs])
    if len(runs) < len(job.after) or store.claimed(slot_key(job.name, name)):
        return None
    used = store.slots.last_chain(job.name, _BEGIN)
    if used is not None and any(run.id <= before for run, before in zip(runs, _numbers(used), strict=False)):
        return None  # one of them has not succeeded again yet
    age = now - max(run.ended for run in runs if run.ended is not None)
    limit = max(job.grace, job.catch_up.window)
    late = durations.render(timedelta(seconds=int(age.total_seconds())))
    return Due(name, f"{late} late, more than {durations.render(limit)}" if age > limit else "")


def settle(appliance: Appliance, job: Job, due: Due, now: datetime) -> None:
    """Write down that DUE came to nothing."""
    what = Settled(
        job=job.name,
        kind=job.kind,
        trigger=Trigger.DAEMON,
        first=due.name,
        last=due.name,
        count=1,
        outcome=Outcome.MISFIRED,
        summary=due.why,
        told=Told.of(appliance.config, job),
    )
    appliance.store.slots.settle([what], now=now)


def names(job: Job, due: str, appliance: Appliance) -> bool:
    """Say whether DUE names successes of the jobs under `after`."""
    numbers = _numbers(due)
    if not due.startswith(_BEGIN) or len(numbers) != len(job.after):
        return False
    runs = [appliance.store.run(number) for number in numbers]
    return all(
        run is not None and run.job == before and run.outcome is Outcome.SUCCEEDED
        for run, before in zip(runs, job.after, strict=True)
    )


def _numbers(due: str) -> list[int]:
    return [int(number) for number in due.removeprefix(_BEGIN).split("+") if number.isdigit()]
