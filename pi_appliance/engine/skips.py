"""The next slot of a job, left out because a person wants that; the ones after it are used as ever."""

from datetime import datetime

from pi_appliance.core import cron
from pi_appliance.engine.assemble import Appliance, Slot
from pi_appliance.errors import Refused
from pi_appliance.model.schedule import Cron, Every

_FAR_ENOUGH = 1000  # slots looked at for one that the chance uses


def skip(appliance: Appliance, name: str, *, now: datetime) -> Slot:
    """Let the job NAME not use the next slot that it would, and return that. Asked twice, it is still that one.

    Raises UnknownName; Refused where no slot can be foretold, or the job pauses.
    """
    job = appliance.job(name)
    pause = appliance.store.slots.pauses().get(name)
    if not isinstance(job.schedule, (Cron, Every)):
        raise Refused(f"{name} has no times of its own, so there is no next one to skip")
    if pause is not None and pause.holds(now):
        raise Refused(f"{name} pauses, so there is nothing to skip; go on with: pi-appliance jobs resume {name}")
    for _, slot in zip(range(_FAR_ENOUGH), appliance.slots(name, now - job.jitter), strict=False):
        if slot.begins > now and (slot.picked or (slot.skipped and not slot.used)):
            appliance.store.asks.skip(name, cron.due_name(slot.at))
            return slot
    raise Refused(f"{name} has no slot to come that would be used")


def unskip(appliance: Appliance, name: str, *, now: datetime) -> Slot:
    """Let the job NAME use the slot after all that was to be skipped, and return it. Raises UnknownName, Refused."""
    job = appliance.job(name)
    slot = skipped(appliance, name, now - job.jitter)
    if slot is None:
        raise Refused(f"no slot of {name} is to be skipped")
    appliance.store.asks.skip(name, None)
    return slot


def skipped(appliance: Appliance, name: str, after: datetime) -> Slot | None:
    """Return the slot of the job NAME after AFTER that is to be skipped."""
    due = appliance.store.asks.skipped(name)
    if due is None:
        return None
    for slot in appliance.slots(name, after):
        if slot.skipped or cron.due_name(slot.at) > due:
            return slot if slot.skipped else None
    return None


def is_skipped(appliance: Appliance, name: str, due: str | None) -> bool:
    """Say whether a person wants the slot DUE of the job NAME left out."""
    return due is not None and appliance.store.asks.skipped(name) == due


def forget_until(appliance: Appliance, name: str, due: str | None) -> None:
    """Forget what was to be skipped up to the slot DUE, which was accounted for."""
    skip_ = appliance.store.asks.skipped(name)
    if skip_ is not None and due is not None and due[:1].isdigit() and skip_ <= due:
        appliance.store.asks.skip(name, None)
