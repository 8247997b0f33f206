"""Check of the jobs: how each ended last, and whether a slot passed without anything coming of it."""

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta

from pi_appliance.core import cron, durations
from pi_appliance.core.standing import last_word
from pi_appliance.engine.checks.patient import UNKNOWN, Patient
from pi_appliance.errors import ApplianceError
from pi_appliance.model.config import Config, Job, RunsBy
from pi_appliance.model.finding import Finding, fail, not_here, ok, warn
from pi_appliance.model.run import Outcome, Run
from pi_appliance.model.schedule import AtBoot
from pi_appliance.store.sqlite import Store

_LATE = timedelta(minutes=15)  # beyond its grace; by then something would have come of a slot
_SETTLING = timedelta(minutes=15)  # after the start of the machine
_LONGEST = timedelta(days=40)


def jobs(patient: Patient) -> Iterator[Finding]:
    """Tell which jobs fail, and which were left out."""
    name, config = "jobs", patient.config
    if config is None or patient.trouble:
        yield not_here(name, UNKNOWN)
        return
    if not config.jobs:
        yield not_here(name, "the configuration names none")
        return
    if patient.kept_out or not patient.is_us:
        yield not_here(name, "only the owner of the state folder can read the history")
        return
    try:
        with patient.history() as store:
            found = list(_all(patient, config, store))
    except ApplianceError:
        yield not_here(name, "the history cannot be read, see there")
        return
    yield from found
    if not found:
        count = "1 job" if len(config.jobs) == 1 else f"{len(config.jobs)} jobs"
        yield ok(name, f"{count}, none fails, no slot was left out")


def _all(patient: Patient, config: Config, store: Store | None) -> Iterator[Finding]:
    newest = store.newest() if store else []
    going_on = {run.job for run in store.going_on()} if store else set()
    now = patient.clock.now()
    pauses = store.slots.pauses() if store else {}
    paused = {name for name, pause in pauses.items() if pause.holds(now)}
    for job in config.jobs.values():
        runs = [run for run in newest if run.job == job.name]
        yield from _outcome(patient, job, runs, now)
        slot = None if job.name in paused | going_on else _left_out(patient, config, job, runs)
        if slot is not None:
            yield _passed(patient, job, slot.astimezone(config.zone_of(job)))


def _outcome(patient: Patient, job: Job, runs: Sequence[Run], now: datetime) -> Iterator[Finding]:
    word, newest = last_word(runs), max(runs, key=lambda run: run.id, default=None)
    name = f"job {job.name}"
    if word is not None and word.outcome is not Outcome.SUCCEEDED:
        why = f"{word.outcome} {_ago(word, now)}: {word.summary}"
        yield fail(name, why, patient.command(f"jobs log {word.id}"))
    elif newest is not None and newest.outcome is Outcome.MISFIRED:
        why = f"its newest slot came to nothing {_ago(newest, now)}: {newest.summary}"
        yield warn(name, why, "let it run later than that: `grace:` or `catch-up:` of the job")


def _ago(run: Run, now: datetime) -> str:
    passed = max(timedelta(0), now - run.started)
    return f"{durations.render(timedelta(minutes=passed // timedelta(minutes=1)))} ago".replace("0s ago", "just now")


def _passed(patient: Patient, job: Job, slot: datetime) -> Finding:
    mend = patient.command("jobs plan" if job.runs_by is RunsBy.CRON else f"jobs run {job.name}")
    starter = "cron" if job.runs_by is RunsBy.CRON else "the daemon"
    why = f"its slot of {slot:%a %Y-%m-%d %H:%M} has passed, and nothing came of it: does {starter} run?"
    return fail(f"job {job.name}", why, mend)


def _left_out(patient: Patient, config: Config, job: Job, runs: Sequence[Run]) -> datetime | None:
    """Return the newest slot of JOB that should have come to something by now and did not.

    Not one from before the machine started, nor from before the configuration was last changed: those prove nothing.
    """
    if job.schedule is None or isinstance(job.schedule, AtBoot):
        return None
    now = patient.clock.now()
    since = max(
        now - timedelta(seconds=patient.clock.steady()) + _SETTLING,
        datetime.fromtimestamp(config.path.stat().st_mtime, UTC),
        now - _LONGEST,
    )
    until = now - (job.grace + job.jitter + job.catch_up.spread + _LATE)
    if until <= since:
        return None
    slot = cron.last_slot(job.schedule, until, config.zone_of(job), within=until - since)
    if slot is None or any(run.started >= slot or (run.due or "") >= cron.due_name(slot) for run in runs):
        return None
    return slot
