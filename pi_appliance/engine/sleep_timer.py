"""The sleep timer and announcements, as persons ask for them: runs of the jobs that the file has for that."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from pi_appliance.core import durations
from pi_appliance.engine import music_jobs
from pi_appliance.engine.assemble import Appliance
from pi_appliance.engine.music_jobs import Session
from pi_appliance.errors import Refused, WrongArgument
from pi_appliance.model.config import Job
from pi_appliance.reports import as_json
from pi_appliance.store.asks import Ask

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
    for job in music_jobs.of_kind(appliance, SLEEP):
        asks = appliance.store.asks.all(job.name)
        session = music_jobs.session(appliance, job)
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
) -> Ask:
    """Let the music sleep after IN_, or AT a time of the day; then play out what FINISH names; fade for FADE.

    It takes the place of a timer that is set. Raises Refused where no job does that, saying what to write;
    WrongArgument where it cannot be so.
    """
    job = music_jobs.for_hands(appliance, SLEEP)
    if in_ is not None and not timedelta(0) < in_ <= _LONGEST:
        raise WrongArgument(f"{durations.render(in_)} is no time to fall asleep; write 1m to 24h")
    given: dict[str, object] = {"in": in_ and durations.render(in_), "at": at, "finish": finish}
    if given == dict.fromkeys(given):
        given = {}  # nothing was said, so all is as the file has it
    if fade is not None:
        given["fade"] = durations.render(fade)
    music_jobs.require(appliance, job, given)
    _end_all(appliance)
    return music_jobs.ask(appliance, job, now, given, now=now)


def cancel_sleep(appliance: Appliance) -> None:
    """Let the music go on. Raises Refused if no sleep timer is set."""
    if not _end_all(appliance):
        raise Refused("no sleep timer is set")


def _end_all(appliance: Appliance) -> bool:
    """End the sleep timers that are set or asked for; say whether there were any."""
    appliance.sweep()
    jobs = music_jobs.of_kind(appliance, SLEEP)
    return any([_end(appliance, job) for job in jobs])  # noqa: C419 - all of them, not up to the first


def _end(appliance: Appliance, job: Job) -> bool:
    asks = appliance.store.asks
    dropped = [asks.drop(ask.id) for ask in asks.all(job.name)]
    session = music_jobs.session(appliance, job)
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
) -> Ask:
    """Let the text SAY be spoken, or SOUND be played, over the music; then that goes on as it was.

    Raises Refused where no job does that, saying what to write; WrongArgument where it cannot be so.
    """
    job = music_jobs.for_hands(appliance, ANNOUNCE)
    given: dict[str, object] = {"say": say, "sound": sound}
    if given == dict.fromkeys(given):
        given = {}
    if volume is not None:
        given["volume"] = volume
    return music_jobs.ask(appliance, job, now, given, now=now)


def values(sleep: Sleep | None) -> dict[str, Any]:
    """Return SLEEP as plain values; all are there if no timer is set, too."""
    return {
        "set": sleep is not None,
        "job": sleep.job if sleep else None,
        "phase": sleep.phase if sleep else None,
        "ends": as_json.instant(sleep.ends) if sleep else None,
        "note": sleep.note if sleep else "",
    }
