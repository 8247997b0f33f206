"""The alarms of the house: when each rings, and what a person may do about it. For the page, the API, the command line.

Who changes something lets the daemon look at once: Daemon.wake(), or system/wakeup.py from another process.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import islice
from typing import Any

from pi_appliance.config import loader, units
from pi_appliance.config.model import Job
from pi_appliance.errors import Refused, UnknownName, WrongArgument
from pi_appliance.music import sources
from pi_appliance.scheduling import cron, slot_ledger
from pi_appliance.scheduling.appliance import Appliance, Slot
from pi_appliance.scheduling.model import Cron
from pi_appliance.storage import serializers
from pi_appliance.storage.model import Run
from pi_appliance.storage.run_requests import RunRequest
from pi_appliance.storage.slots import Pause
from pi_appliance.system import clock
from pi_appliance.system.clock import Timestamp

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


def get_job(appliance: Appliance, name: str, do: str) -> Job:
    """Return the job NAME, which must DO this. Raises UnknownName with the nearest there is."""
    known = {job.name: job for job in of_kind(appliance, do)}
    if name not in known:
        _require_some(appliance, do)
        raise UnknownName("alarm" if do == "alarm" else f"job that {_WORDS[do]}", name, tuple(known))
    return known[name]


def manual_job(appliance: Appliance, do: str) -> Job:
    """Return the job by which a person does this: the first without a schedule, else the first.

    Raises Refused, saying what to write, where there is none.
    """
    return min(_require_some(appliance, do), key=lambda job: job.schedule is not None)


def _require_some(appliance: Appliance, do: str) -> list[Job]:
    jobs = of_kind(appliance, do)
    if not jobs:
        raise Refused(f"no job {_WORDS[do]}; write into {appliance.config.path.name}, under jobs:  {WRITE[do]}")
    return jobs


def ask(appliance: Appliance, job: Job, due: datetime, given: Mapping[str, object], *, now: datetime) -> RunRequest:
    """Write down that JOB is to run at DUE with the GIVEN keys.

    Raises WrongArgument for what it does not take, Refused where too much is asked of it already.
    """
    validate_arguments(appliance, job, given)
    if len(appliance.store.asks.all(job.name)) >= _MOST:
        raise Refused(f"{_MOST} runs of {job.name} are asked for already; wait until they have begun, or cancel some")
    return appliance.store.asks.add(job.name, due, given, now=now)


def validate_arguments(appliance: Appliance, job: Job, given: Mapping[str, object]) -> None:
    """Raise WrongArgument, in one line, unless JOB takes the GIVEN keys."""
    loader.options(appliance.config, job, given)


def active_session(appliance: Appliance, job: Job) -> Session | None:
    """Return what JOB is in the middle of, None if nothing."""
    run = next(iter(appliance.store.going_on(job.name)), None)
    held = appliance.store.asks.held(job.name)
    if held is None:
        return Session(job=job.name, phase="", ends=None, run=run) if run else None
    try:
        said = json.loads(held.text)["active_session"]
        phase, ends = str(said["phase"]), _ends(said, appliance, job)
    except (ValueError, KeyError, TypeError):  # of another release
        phase, ends = "", None
    return Session(job=job.name, phase=phase, ends=ends, run=run)


def _ends(said: Mapping[str, Any], appliance: Appliance, job: Job) -> datetime | None:
    """Return when the phase ends: at a time on the wall, or after its seconds by the steady clock."""
    if said.get("until") and said["phase"] == "waiting":
        return datetime.fromisoformat(said["until"]).replace(tzinfo=appliance.config.zone_of(job))
    since, now = said["since"], Timestamp(clock.now(), clock.MachineClock().steady(), clock.boot_name())
    gone = now.seconds_since(
        Timestamp(datetime.fromisoformat(since["wall"]), float(since["steady"]), str(since["boot"]))
    )
    return now.wall + timedelta(seconds=float(said["seconds"]) - gone) if said["seconds"] else None


ALARM = "alarm"
SNOOZE, STOP = "snooze", "stop"
SNOOZING = "snoozing"
_FAR_ENOUGH = 200  # slots looked at for one that is used
_RIGHT = 'write a time such as "06:45"'


@dataclass(frozen=True, slots=True, kw_only=True)
class Alarm:
    """One alarm as it stands.

    `next` is its next slot, `rings` when it rings next by its schedule: not at a slot that is skipped or left to
    chance, nor while it pauses. `asks` are the times at which it rings once beside that. `session`: it rings just now,
    or snoozes.
    """

    job: str
    next: Slot | None
    rings: datetime | None
    skipped: datetime | None
    pause: Pause | None
    once: bool
    asks: Sequence[RunRequest]
    session: Session | None
    words: str
    """What it plays, how loud, and how slowly that comes."""

    @property
    def soonest(self) -> datetime | None:
        """When it rings next, by its schedule or because a person wants that; after a snooze, when it goes on."""
        again = self.session.ends if self.session and self.session.phase == SNOOZING else None
        return min((each for each in (again, self.rings, *(ask.due for ask in self.asks)) if each), default=None)


def alarms(appliance: Appliance, now: datetime) -> list[Alarm]:
    """Return every alarm, in the order of the file."""
    appliance.sweep()
    pauses = {name: pause for name, pause in appliance.store.slots.pauses().items() if pause.holds(now)}
    return [_alarm(appliance, job, pauses.get(job.name), now) for job in of_kind(appliance, ALARM)]


def _alarm(appliance: Appliance, job: Job, pause: Pause | None, now: datetime) -> Alarm:
    coming = list(islice(appliance.slots(job.name, now), 1))
    skipped = slot_ledger.skipped(appliance, job.name, now)
    return Alarm(
        job=job.name,
        next=coming[0] if coming else None,
        rings=_next_ring(appliance, job, pause, now),
        skipped=skipped.at if skipped else None,
        pause=pause,
        once=bool(getattr(job.with_, "once", False)),
        asks=appliance.store.asks.all(job.name),
        session=active_session(appliance, job),
        words=describe(job),
    )


def _next_ring(appliance: Appliance, job: Job, pause: Pause | None, now: datetime) -> datetime | None:
    if pause is not None and pause.until is None:
        return None
    after = now if pause is None or pause.until is None else pause.until
    return next((slot.begins for slot in islice(appliance.slots(job.name, after), _FAR_ENOUGH) if slot.picked), None)


def describe(job: Job) -> str:
    """Return what the alarm JOB does, in words."""
    options: Any = job.with_
    parts = [", else ".join(sources.in_words(each) for each in options.play or ()), f"to volume {options.loudness}"]
    if options.fading:
        parts[-1] += f" in {units.format_duration(options.fading)}"
    if options.for_:
        parts.append(f"for {units.format_duration(options.for_)}")
    return "; ".join(part for part in parts if part)


def skip(appliance: Appliance, name: str, *, now: datetime) -> datetime:
    """Let the alarm NAME not ring the next time, and return when that is. Raises UnknownName, Refused."""
    get_job(appliance, name, ALARM)
    return slot_ledger.skip(appliance, name, now=now).at


def unskip(appliance: Appliance, name: str, *, now: datetime) -> datetime:
    """Let the alarm NAME ring after all the next time, and return when that is. Raises UnknownName, Refused."""
    get_job(appliance, name, ALARM)
    return slot_ledger.unskip(appliance, name, now=now).at


def ring_at(appliance: Appliance, name: str, at: str, *, now: datetime) -> RunRequest:
    """Let the alarm NAME ring once, when the clock on its wall shows AT next, such as 06:45; said twice, it is once.

    Where the clock leaves that time out, it rings when it is put forward; where it shows it twice, the first time.
    Raises UnknownName; Refused where there are no alarms; WrongArgument where AT is no time.
    """
    job = get_job(appliance, name, ALARM)
    due = next(cron.fire_times(_daily(at), now, appliance.config.zone_of(job)))
    known = [ask for ask in appliance.store.asks.all(name) if ask.due == due]
    return known[0] if known else ask(appliance, job, due, {}, now=now)


def _daily(at: str) -> Cron:
    hour, colon, minute = at.strip().partition(":")
    whole = hour.isdecimal() and minute.isdecimal() and len(hour) <= 2 and len(minute) == 2
    if not (colon and whole and int(hour) < 24 and int(minute) < 60):
        raise WrongArgument(f"{at!r} is no time of the day; {_RIGHT}")
    return Cron((f"{int(minute)} {int(hour)} * * *",))


def forget_once(appliance: Appliance, name: str) -> int:
    """Let the alarm NAME not ring at the times that were asked for; return how many. Raises UnknownName, Refused."""
    get_job(appliance, name, ALARM)
    asks = appliance.store.asks
    dropped = sum(asks.drop(ask.id) for ask in asks.all(name))
    if not dropped:
        raise Refused(f"{name} was not asked to ring at a time of its own")
    return dropped


def snooze(appliance: Appliance, name: str | None = None) -> list[str]:
    """Let the alarm NAME, or whichever rings, be silent for a while; return the names. Raises UnknownName, Refused."""
    return _say(appliance, name, SNOOZE)


def stop_ringing(appliance: Appliance, name: str | None = None) -> list[str]:
    """Let the alarm NAME, or whichever rings or snoozes, end; return the names. Raises UnknownName, Refused."""
    return _say(appliance, name, STOP)


def _say(appliance: Appliance, name: str | None, word: str) -> list[str]:
    jobs = of_kind(appliance, ALARM) if name is None else [get_job(appliance, name, ALARM)]
    appliance.sweep()
    ringing = [job.name for job in jobs if active_session(appliance, job)]
    if not ringing:
        raise Refused(f"{name or 'no alarm'} {'does not ring' if name else 'rings'} just now")
    for each in ringing:
        appliance.store.asks.say(each, word)
    return ringing


def alarm_values(alarm: Alarm) -> dict[str, Any]:
    """Return ALARM as plain values."""
    session = alarm.session
    return {
        "job": alarm.job,
        "next": serializers.instant(alarm.soonest),
        "rings": serializers.instant(alarm.rings),
        "slot": serializers.instant(alarm.next.at) if alarm.next else None,
        "skipped": serializers.instant(alarm.skipped),
        "paused": alarm.pause is not None,
        "paused-until": serializers.instant(alarm.pause.until) if alarm.pause else None,
        "once": alarm.once,
        "once-at": [serializers.instant(ask.due) for ask in alarm.asks],
        "ringing": session is not None and session.phase != SNOOZING,
        "snoozed-until": serializers.instant(session.ends) if session and session.phase == SNOOZING else None,
        "run": session.run.id if session and session.run else None,
        "words": alarm.words,
    }


SLEEP, ANNOUNCE = "sleep", "announce"
_STOP = "stop"
_LONGEST = timedelta(hours=24)
BEGINS = "begins"  # the phase of a timer that was asked for and whose run has not said anything yet


@dataclass(frozen=True, slots=True, kw_only=True)
class Sleep:
    """A sleep timer that is set: by which job, what it does (begins, waiting, finishing, falling), until when."""

    job: str
    phase: str
    ends: datetime | None
    note: str = ""


def sleep_state(appliance: Appliance) -> Sleep | None:
    """Return the sleep timer that is set, None if none is."""
    appliance.sweep()
    for job in of_kind(appliance, SLEEP):
        asks = appliance.store.asks.all(job.name)
        session = active_session(appliance, job)
        if asks:  # it takes the place of what goes on
            return Sleep(job=job.name, phase=BEGINS, ends=None)
        if session is not None:
            return Sleep(job=job.name, phase=session.phase or BEGINS, ends=session.ends, note=_note(appliance, session))
    return None


def _note(appliance: Appliance, session: Session) -> str:
    if session.run is None:
        return "cut off; the daemon goes on with it"
    return next((run.note for run in appliance.history(job=session.job, limit=5) if run.id == session.run.id), "")


def set_sleep(
    appliance: Appliance,
    *,
    now: datetime,
    in_: timedelta | None = None,
    at: str | None = None,
    finish: str | None = None,
    fade: timedelta | None = None,
) -> RunRequest:
    """Let the music sleep after IN_, or AT a time of the day; then play out what FINISH names; fade for FADE.

    It takes the place of a timer that is set. Raises Refused where no job does that, saying what to write;
    WrongArgument where it cannot be so.
    """
    job = manual_job(appliance, SLEEP)
    if in_ is not None and not timedelta(0) < in_ <= _LONGEST:
        raise WrongArgument(f"{units.format_duration(in_)} is no time to fall asleep; write 1m to 24h")
    given: dict[str, object] = {"in": in_ and units.format_duration(in_), "at": at, "finish": finish}
    if given == dict.fromkeys(given):
        given = {}  # nothing was said, so all is as the file has it
    if fade is not None:
        given["fade"] = units.format_duration(fade)
    validate_arguments(appliance, job, given)
    _end_all(appliance)
    return ask(appliance, job, now, given, now=now)


def cancel_sleep(appliance: Appliance) -> None:
    """Let the music go on. Raises Refused if no sleep timer is set."""
    if not _end_all(appliance):
        raise Refused("no sleep timer is set")


def _end_all(appliance: Appliance) -> bool:
    """End the sleep timers that are set or asked for; say whether there were any."""
    appliance.sweep()
    jobs = of_kind(appliance, SLEEP)
    return any([_end(appliance, job) for job in jobs])  # noqa: C419 - all of them, not up to the first


def _end(appliance: Appliance, job: Job) -> bool:
    asks = appliance.store.asks
    dropped = [asks.drop(ask.id) for ask in asks.all(job.name)]
    session = active_session(appliance, job)
    if session is not None:
        asks.say(job.name, _STOP)
    return session is not None or any(dropped)


def announce(
    appliance: Appliance,
    *,
    now: datetime,
    say: str | None = None,
    sound: str | None = None,
    volume: int | None = None,
) -> RunRequest:
    """Let the text SAY be spoken, or SOUND be played, over the music; then that goes on as it was.

    Raises Refused where no job does that, saying what to write; WrongArgument where it cannot be so.
    """
    job = manual_job(appliance, ANNOUNCE)
    given: dict[str, object] = {"say": say, "sound": sound}
    if given == dict.fromkeys(given):
        given = {}
    if volume is not None:
        given["volume"] = volume
    options: Any = job.with_
    if not (say or sound or options.say or options.sound):
        raise WrongArgument("nothing is to be announced; give a text to say, or a sound")
    return ask(appliance, job, now, given, now=now)


def sleep_values(sleep: Sleep | None) -> dict[str, Any]:
    """Return SLEEP as plain values; all are there if no timer is set, too."""
    return {
        "set": sleep is not None,
        "job": sleep.job if sleep else None,
        "phase": sleep.phase if sleep else None,
        "ends": serializers.instant(sleep.ends) if sleep else None,
        "note": sleep.note if sleep else "",
    }
