"""The only way a job ever runs: one call is one run, one row of the history, one child process an attempt."""

from dataclasses import replace
from datetime import datetime, timedelta
from random import Random
from zoneinfo import ZoneInfo

from pi_appliance.core import cron, durations
from pi_appliance.core.chance import picks
from pi_appliance.engine.assemble import Appliance
from pi_appliance.engine.attempts import Attempts as _Attempts
from pi_appliance.engine.attempts import Listener
from pi_appliance.engine.attempts import Verdict as _Verdict
from pi_appliance.errors import UnknownName
from pi_appliance.model.config import Job
from pi_appliance.model.run import Outcome, Run, Trigger
from pi_appliance.model.schedule import AtBoot, Cron, Every
from pi_appliance.system import clock, locks, process

__all__ = ["Listener", "run"]

_LONGEST_REPLAY = timedelta(hours=4)  # cron itself looks back three hours after the clock was put forward
_SWEEP = 1.0  # seconds; the page and the daemon hold the lock for a moment where they close what was cut off


def run(
    appliance: Appliance,
    name: str,
    trigger: Trigger,
    *,
    due: str | None = None,
    as_scheduled: bool = False,
    listener: Listener | None = None,
    random: Random,
) -> Run:
    """Run the job NAME and return how it went.

    DUE is the slot; where a schedule started the run and none is given, it is the slot of this moment. A run by hand
    has none, and asks no chance, unless AS_SCHEDULED. Raises UnknownName; Unavailable if the state folder is no use.
    """
    job = appliance.job(name)
    now = clock.now()
    misfire = ""
    if due is not None:
        _require_slot(job, due, appliance.config.time_zone)
    if due is None and (trigger is not Trigger.HAND or as_scheduled):
        due, misfire = _slot_of(job, now, appliance, by_hand=trigger is Trigger.HAND)
    store = appliance.store
    # From here on a signal ends the run, not this process: the history hears of it whenever it comes.
    with process.Stop().caught() as stop, locks.taken(appliance.lock_path(name), patience=_SWEEP) as lock:
        if lock is not None:
            store.abandon(name, now=now)
        number, used_by = store.begin(job=name, kind=job.kind, trigger=trigger, due=due, now=now)
        verdict = _reason_not_to(appliance, job, due, misfire, used_by)
        if verdict is None and lock is None:
            verdict = _Verdict(Outcome.SKIPPED, _overlap(appliance, name), {})
        attempts = 0
        if verdict is None:
            assert lock is not None
            lock.say(number, None, "starting")
            attempt = _Attempts(appliance, job, number, due, lock, stop, listener or Listener())
            verdict = attempt.until_done(random)
            verdict = replace(verdict, summary=verdict.summary + attempt.unkept)
            attempts = attempt.count
        store.end(number, verdict.outcome, verdict.summary, now=clock.now(), attempts=attempts, facts=verdict.facts)
    ended = store.run(number)
    assert ended is not None
    return ended


def _require_slot(job: Job, due: str, zone: ZoneInfo) -> None:
    """Raise UnknownName unless DUE names a slot of JOB: any other would be a second claim to the same post."""
    real = None
    match job.schedule:
        case AtBoot():
            real = clock.boot_name()
        case Cron() | Every():
            just_before = datetime.fromisoformat(due) - timedelta(microseconds=1) if due[:1].isdigit() else clock.now()
            real = cron.due_name(next(cron.slots(job.schedule, just_before, zone)))
    if due != real:
        raise UnknownName(f"slot of {job.name}", due, [real] if real else [])


def _slot_of(job: Job, now: datetime, appliance: Appliance, *, by_hand: bool) -> tuple[str | None, str]:
    """Return the slot that a run started NOW belongs to, and why it is a misfire, if it is."""
    zone = appliance.config.time_zone
    if job.schedule is None:
        return None, "its schedule is gone; take the entry out with: pi-appliance jobs install"
    if isinstance(job.schedule, AtBoot):
        return clock.boot_name(), ""
    slot = cron.last_slot(job.schedule, now, zone, within=job.grace)
    if slot is not None:
        return cron.due_name(slot), ""
    if by_hand:  # between two slots: the next one, which is then used
        return cron.due_name(next(cron.slots(job.schedule, now, zone))), ""
    slot = cron.last_slot(job.schedule, now, zone, within=max(job.grace, _LONGEST_REPLAY))
    if slot is None:
        return None, "its schedule names no slot here; bring cron in step with: pi-appliance jobs install"
    late = durations.render(timedelta(seconds=int((now - slot).total_seconds())))
    return cron.due_name(slot), f"{late} late, more than its grace of {durations.render(job.grace)}"


def _reason_not_to(
    appliance: Appliance, job: Job, due: str | None, misfire: str, used_by: int | None
) -> _Verdict | None:
    if used_by is not None:
        return _Verdict(Outcome.SKIPPED, f"its slot {due} was used by run {used_by}", {})
    if misfire:
        return _Verdict(Outcome.MISFIRED, misfire, {})
    if due is not None and not picks(job.chance, secret=appliance.secret, job=job.name, due=due):
        return _Verdict(Outcome.SKIPPED, f"by chance ({job.chance})", {})
    return None


def _overlap(appliance: Appliance, name: str) -> str:
    going_on = appliance.store.going_on(name)
    return f"run {going_on[0].id} of it still goes on" if len(going_on) > 1 else "another run of it still goes on"
