"""The alarms of the house: when each rings, and what a person may do about it. For the page, the API, the command line.

Who changes something lets the daemon look at once: Daemon.wake(), or system/doorbell.py from another process.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import islice
from typing import Any

from pi_appliance.core import cron, durations, sources
from pi_appliance.engine import music_jobs, skips
from pi_appliance.engine.assemble import Appliance, Slot
from pi_appliance.engine.music_jobs import Session
from pi_appliance.errors import Refused, WrongArgument
from pi_appliance.model.config import Job
from pi_appliance.model.schedule import Cron
from pi_appliance.reports import as_json
from pi_appliance.store.asks import Ask
from pi_appliance.store.slots import Pause

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
    asks: Sequence[Ask]
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
    return [_alarm(appliance, job, pauses.get(job.name), now) for job in music_jobs.of_kind(appliance, ALARM)]


def _alarm(appliance: Appliance, job: Job, pause: Pause | None, now: datetime) -> Alarm:
    coming = list(islice(appliance.slots(job.name, now), 1))
    skipped = skips.skipped(appliance, job.name, now)
    return Alarm(
        job=job.name,
        next=coming[0] if coming else None,
        rings=_next_ring(appliance, job, pause, now),
        skipped=skipped.at if skipped else None,
        pause=pause,
        once=bool(getattr(job.with_, "once", False)),
        asks=appliance.store.asks.all(job.name),
        session=music_jobs.session(appliance, job),
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
        parts[-1] += f" in {durations.render(options.fading)}"
    if options.for_:
        parts.append(f"for {durations.render(options.for_)}")
    return "; ".join(part for part in parts if part)


def skip(appliance: Appliance, name: str, *, now: datetime) -> datetime:
    """Let the alarm NAME not ring the next time, and return when that is. Raises UnknownName, Refused."""
    music_jobs.named(appliance, name, ALARM)
    return skips.skip(appliance, name, now=now).at


def unskip(appliance: Appliance, name: str, *, now: datetime) -> datetime:
    """Let the alarm NAME ring after all the next time, and return when that is. Raises UnknownName, Refused."""
    music_jobs.named(appliance, name, ALARM)
    return skips.unskip(appliance, name, now=now).at


def ring_at(appliance: Appliance, name: str, at: str, *, now: datetime) -> Ask:
    """Let the alarm NAME ring once, when the clock on its wall shows AT next, such as 06:45; said twice, it is once.

    Where the clock leaves that time out, it rings when it is put forward; where it shows it twice, the first time.
    Raises UnknownName; Refused where there are no alarms; WrongArgument where AT is no time.
    """
    job = music_jobs.named(appliance, name, ALARM)
    due = next(cron.slots(_daily(at), now, appliance.config.zone_of(job)))
    known = [ask for ask in appliance.store.asks.all(name) if ask.due == due]
    return known[0] if known else music_jobs.ask(appliance, job, due, {}, now=now)


def _daily(at: str) -> Cron:
    hour, colon, minute = at.strip().partition(":")
    whole = hour.isdecimal() and minute.isdecimal() and len(hour) <= 2 and len(minute) == 2
    if not (colon and whole and int(hour) < 24 and int(minute) < 60):
        raise WrongArgument(f"{at!r} is no time of the day; {_RIGHT}")
    return Cron((f"{int(minute)} {int(hour)} * * *",))


def forget_once(appliance: Appliance, name: str) -> int:
    """Let the alarm NAME not ring at the times that were asked for; return how many. Raises UnknownName, Refused."""
    music_jobs.named(appliance, name, ALARM)
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
    jobs = music_jobs.of_kind(appliance, ALARM) if name is None else [music_jobs.named(appliance, name, ALARM)]
    appliance.sweep()
    ringing = [job.name for job in jobs if music_jobs.session(appliance, job)]
    if not ringing:
        raise Refused(f"{name or 'no alarm'} {'does not ring' if name else 'rings'} just now")
    for each in ringing:
        appliance.store.asks.say(each, word)
    return ringing


def values(alarm: Alarm) -> dict[str, Any]:
    """Return ALARM as plain values."""
    session = alarm.session
    return {
        "job": alarm.job,
        "next": as_json.instant(alarm.soonest),
        "rings": as_json.instant(alarm.rings),
        "slot": as_json.instant(alarm.next.at) if alarm.next else None,
        "skipped": as_json.instant(alarm.skipped),
        "paused": alarm.pause is not None,
        "paused-until": as_json.instant(alarm.pause.until) if alarm.pause else None,
        "once": alarm.once,
        "once-at": [as_json.instant(ask.due) for ask in alarm.asks],
        "ringing": session is not None and session.phase != SNOOZING,
        "snoozed-until": as_json.instant(session.ends) if session and session.phase == SNOOZING else None,
        "run": session.run.id if session and session.run else None,
        "words": alarm.words,
    }
