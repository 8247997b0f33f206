"""Starts of jobs after other jobs have succeeded (`after` in the configuration)."""

from dataclasses import dataclass
from datetime import datetime, timedelta

from pi_appliance.config import units
from pi_appliance.config.model import Job, NotifyTargets
from pi_appliance.scheduling.appliance import Appliance
from pi_appliance.storage.history import AccountedSlots, slot_key
from pi_appliance.storage.model import Outcome, Trigger

_BEGIN = "after:"


@dataclass(frozen=True, slots=True)
class Due:
    """The successful runs that a job waited for, by their name in the history.

    `why` is the reason if it is too late.
    """

    name: str
    why: str = ""


def name_of(runs: list[int]) -> str:
    """Return the slot name of `runs`, one for each job under `after`."""
    return _BEGIN + "+".join(map(str, runs))


def dependency_due(appliance: Appliance, job: Job, now: datetime) -> Due | None:
    """Return the dependencies for which `job` runs now, or None if it waits.

    A new job waits for runs in the future.
    """
    store = appliance.store
    text = name_of([]) + " ".join(job.depends_on)
    known = store.slots.cursors().get(job.name)
    if known is None or known.schedule != text:
        store.slots.start_cursor(job.name, text, since=now)
        return None
    successes = [store.last_success(before) for before in job.depends_on]
    runs = [run for run in successes if run is not None and run.ended is not None and run.ended > known.since]
    name = name_of([run.id for run in runs])
    if len(runs) < len(job.depends_on) or store.is_claimed(slot_key(job.name, name)):
        return None
    used = store.slots.last_slot_with_prefix(job.name, _BEGIN)
    if used is not None and any(run.id <= before for run, before in zip(runs, _run_numbers(used), strict=False)):
        return None  # a dependency has not succeeded again yet
    age = now - max(run.ended for run in runs if run.ended is not None)
    limit = max(job.misfire_grace, job.catch_up.max_age)
    late = units.format_duration(timedelta(seconds=int(age.total_seconds())))
    return Due(name, f"{late} late, more than {units.format_duration(limit)}" if age > limit else "")


def record_expired(appliance: Appliance, job: Job, due: Due, now: datetime) -> None:
    """Record that `due` was not used."""
    slots = AccountedSlots(
        job=job.name,
        kind=job.kind,
        trigger=Trigger.DAEMON,
        first=due.name,
        last=due.name,
        count=1,
        outcome=Outcome.MISFIRED,
        summary=due.why,
        notify_targets=NotifyTargets.for_job(appliance.config, job),
    )
    appliance.store.slots.record_unused([slots], now=now)


def names_dependencies(job: Job, due: str, appliance: Appliance) -> bool:
    """Return whether `due` names successful runs of the jobs under `after`."""
    numbers = _run_numbers(due)
    if not due.startswith(_BEGIN) or len(numbers) != len(job.depends_on):
        return False
    runs = [appliance.store.find_run(number) for number in numbers]
    return all(
        run is not None and run.job == before and run.outcome is Outcome.SUCCEEDED
        for run, before in zip(runs, job.depends_on, strict=True)
    )


def _run_numbers(due: str) -> list[int]:
    return [int(number) for number in due.removeprefix(_BEGIN).split("+") if number.isdigit()]
