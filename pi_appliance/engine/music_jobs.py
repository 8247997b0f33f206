"""The jobs of kind music, and what one of them is in the middle of: an alarm that rings, a sleep timer that is set."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from pi_appliance.config import arguments
from pi_appliance.engine.assemble import Appliance
from pi_appliance.errors import Refused, UnknownName
from pi_appliance.model.config import Job
from pi_appliance.model.run import Run
from pi_appliance.ports import Moment
from pi_appliance.store.asks import Ask
from pi_appliance.system import clock

KIND = "music"
WRITE = {
    "alarm": "wake: {kind: music, schedule: {times: ['06:45'], days: [mon-fri]}, with: {do: alarm, play: [fip]}}",
    "sleep": "sleep: {kind: music, with: {do: sleep}}",
    "announce": "announce: {kind: music, with: {do: announce}}",
}
_MOST = 20  # asks of one job: each begins a process, and a button that hangs must not begin hundreds
_WORDS = {"alarm": "is an alarm", "sleep": "sets a sleep timer", "announce": "announces something"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Session:
    """What a job is in the middle of.

    `phase` is one word of the job's own, such as ringing, snoozing, waiting; '' where it has not said so yet.
    `ends` is when the phase does, where that is known. `run`: the one that goes on; None while it is cut off.
    """

    job: str
    phase: str
    ends: datetime | None
    run: Run | None


def of_kind(appliance: Appliance, do: str) -> list[Job]:
    """Return the jobs that DO this with the music, in the order of the file."""
    jobs = appliance.config.jobs.values()
    return [job for job in jobs if job.kind == KIND and str(getattr(job.with_, "do", "")) == do]


def named(appliance: Appliance, name: str, do: str) -> Job:
    """Return the job NAME, which must DO this. Raises UnknownName with the nearest there is."""
    known = {job.name: job for job in of_kind(appliance, do)}
    if name not in known:
        _require_some(appliance, do)
        raise UnknownName("alarm" if do == "alarm" else f"job that {_WORDS[do]}", name, tuple(known))
    return known[name]


def for_hands(appliance: Appliance, do: str) -> Job:
    """Return the job by which a person does this: the first without a schedule, else the first.

    Raises Refused, saying what to write, where there is none.
    """
    return min(_require_some(appliance, do), key=lambda job: job.schedule is not None)


def _require_some(appliance: Appliance, do: str) -> list[Job]:
    jobs = of_kind(appliance, do)
    if not jobs:
        raise Refused(f"no job {_WORDS[do]}; write into {appliance.config.path.name}, under jobs:  {WRITE[do]}")
    return jobs


def ask(appliance: Appliance, job: Job, due: datetime, given: Mapping[str, object], *, now: datetime) -> Ask:
    """Write down that JOB is to run at DUE with the GIVEN keys.

    Raises WrongArgument for what it does not take, Refused where too much is asked of it already.
    """
    require(appliance, job, given)
    if len(appliance.store.asks.all(job.name)) >= _MOST:
        raise Refused(f"{_MOST} runs of {job.name} are asked for already; wait until they have begun, or cancel some")
    return appliance.store.asks.add(job.name, due, given, now=now)


def require(appliance: Appliance, job: Job, given: Mapping[str, object]) -> None:
    """Raise WrongArgument, in one line, unless JOB takes the GIVEN keys."""
    arguments.options(appliance.config, job, given)


def session(appliance: Appliance, job: Job) -> Session | None:
    """Return what JOB is in the middle of, None if nothing."""
    run = next(iter(appliance.store.going_on(job.name)), None)
    held = appliance.store.asks.held(job.name)
    if held is None:
        return Session(job=job.name, phase="", ends=None, run=run) if run else None
    try:
        said = json.loads(held.text)["session"]
        phase, ends = str(said["phase"]), _ends(said, appliance, job)
    except (ValueError, KeyError, TypeError):  # of another release
        phase, ends = "", None
    return Session(job=job.name, phase=phase, ends=ends, run=run)


def _ends(said: Mapping[str, Any], appliance: Appliance, job: Job) -> datetime | None:
    """Return when the phase ends: at a time on the wall, or after its seconds by the steady clock."""
    if said.get("until") and said["phase"] == "waiting":
        return datetime.fromisoformat(said["until"]).replace(tzinfo=appliance.config.zone_of(job))
    since, now = said["since"], Moment(clock.now(), clock.MachineClock().steady(), clock.boot_name())
    gone = now.seconds_since(Moment(datetime.fromisoformat(since["wall"]), float(since["steady"]), str(since["boot"])))
    return now.wall + timedelta(seconds=float(said["seconds"]) - gone) if said["seconds"] else None
