"""Alarms, sleep timer and announcements, for the pages, the API and the command line.

After a change, the caller wakes the daemon. `MusicDaemon.start_request` starts a requested run.
"""

import contextlib
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import islice
from typing import Annotated, Any, TypedDict

from pi_appliance.config import loader, units
from pi_appliance.config.options import Job
from pi_appliance.errors import InvalidOption, Refused, UnknownName
from pi_appliance.jobs.editor import version_of
from pi_appliance.jobs.run_options import request_run
from pi_appliance.json_schema import Instant
from pi_appliance.music.alarms import music_session
from pi_appliance.music.alarms.editor import AlarmSettings, AlarmSettingsJson, settings_of, settings_values
from pi_appliance.music.alarms.music_job import action_of
from pi_appliance.music.alarms.music_session import Checkpoint, Phase
from pi_appliance.music.model import describe_text
from pi_appliance.music.volume_limits import max_volume
from pi_appliance.scheduling import schedule, slot_times
from pi_appliance.scheduling.appliance import Appliance, Slot
from pi_appliance.scheduling.schedule import Cron
from pi_appliance.storage import model
from pi_appliance.storage.history import Pause
from pi_appliance.storage.model import Run
from pi_appliance.storage.run_requests import RunRequest
from pi_appliance.system import clock
from pi_appliance.system.clock import Timestamp

ALARM, SLEEP, ANNOUNCE = "alarm", "sleep", "announce"
SNOOZE, STOP = "snooze", "stop"
STARTING = "starting"
EXAMPLE_JOBS = {
    ALARM: "wake: {kind: music, schedule: {times: ['06:45'], days: [mon-fri]}, with: {action: alarm, play: [fip]}}",
    SLEEP: "sleep: {kind: music, with: {action: sleep}}",
    ANNOUNCE: "announce: {kind: music, with: {action: announce}}",
}
_MAX_SLOTS = 200  # scheduled times in which the next selected one is searched
_MAX_SLEEP = timedelta(hours=24)


@dataclass(frozen=True, slots=True, kw_only=True)
class ActiveSession:
    """The session of a music job that runs now or was interrupted.

    `phase` is '' until the run has saved its first checkpoint. `ends_at` is the end of the phase,
    if known. `run` is None while the session is interrupted. `ending` is "snooze" or "stop" from
    the moment at which a person asks for it until it is done.
    """

    job: str
    phase: str
    ends_at: datetime | None
    run: Run | None
    ending: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Alarm:
    """The state of one alarm.

    `next_slot` is the next scheduled time. `rings` are the scheduled times that the page shows: up
    to the first one that really rings, and up to the last one-off ring. `requests` are the one-off
    rings. `session` is set while the alarm rings or snoozes. `limit` is the maximum volume at its
    next ring. `version` changes with the entry in the configuration.
    """

    job: str
    next_slot: Slot | None
    rings: Sequence[Slot]
    skipped: datetime | None
    pause: Pause | None
    requests: Sequence[RunRequest]
    session: ActiveSession | None
    settings: AlarmSettings
    limit: int
    description: str
    version: str

    @property
    def next_ring(self) -> datetime | None:
        """When the alarm rings next by its schedule."""
        return next((slot.starts_at for slot in self.rings if slot.selected), None)

    @property
    def next(self) -> datetime | None:
        """When the alarm rings next: by its schedule, on request, or after a snooze."""
        snooze_end = self.session.ends_at if self.session and self.session.phase == Phase.SNOOZING else None
        times = (snooze_end, self.next_ring, *(request.run_at for request in self.requests))
        return min((each for each in times if each), default=None)


@dataclass(frozen=True, slots=True, kw_only=True)
class SleepTimer:
    """The active sleep timer. `phase` is starting, waiting, playing-out or fading-out."""

    job: str
    phase: str
    ends_at: datetime | None
    status_text: str = ""


# Jobs


def jobs_with_action(appliance: Appliance, action: str) -> list[Job]:
    """Return the music jobs with `action`, in the order of the file."""
    return [job for job in appliance.config.jobs.values() if action_of(job) == action]


def get_job(appliance: Appliance, name: str, action: str) -> Job:
    """Return the music job `name`, which must have `action`."""
    jobs = {job.name: job for job in jobs_with_action(appliance, action)}
    if name not in jobs:
        _require_jobs(appliance, action)
        raise UnknownName("alarm" if action == ALARM else f"job with action: {action}", name, tuple(jobs))
    return jobs[name]


def only_alarm(appliance: Appliance) -> str:
    """Return the name of the only alarm.

    Raises:
        Refused: There are several, or none.
    """
    names = [job.name for job in _require_jobs(appliance, ALARM)]
    if len(names) > 1:
        raise Refused(f"name one of the alarms: {', '.join(names)}")
    return names[0]


def manual_job(appliance: Appliance, action: str) -> Job:
    """Return the job for requests by a person: the first one without a schedule, else the first.

    Raises:
        Refused: No job has this action.
    """
    return min(_require_jobs(appliance, action), key=lambda job: job.schedule is not None)


def _require_jobs(appliance: Appliance, action: str) -> list[Job]:
    jobs = jobs_with_action(appliance, action)
    if not jobs:
        file = appliance.config.path.name
        raise Refused(f"no music job has action: {action}; add to {file}, under jobs:  {EXAMPLE_JOBS[action]}")
    return jobs


def active_session(appliance: Appliance, job: Job) -> ActiveSession | None:
    """Return the session of `job` that runs now or was interrupted."""
    run = next(iter(appliance.store.active_runs(job.name)), None)
    checkpoint = appliance.store.requests.checkpoint(job.name)
    ending = appliance.store.requests.pending_signal(job.name)
    if checkpoint is None:
        return ActiveSession(job=job.name, phase="", ends_at=None, run=run, ending=ending) if run else None
    loaded = music_session.load(checkpoint.text)
    if loaded is None:  # written by another release
        return ActiveSession(job=job.name, phase="", ends_at=None, run=run, ending=ending)
    session = loaded[1]
    if session.phase == Phase.FADING_OUT:
        ending = ending or (SNOOZE if session.snoozes else STOP)
    ends_at = None
    with contextlib.suppress(ValueError):  # another release wrote `until` in another form
        ends_at = _phase_end(session, appliance, job)
    return ActiveSession(job=job.name, phase=session.phase, ends_at=ends_at, run=run, ending=ending)


def _phase_end(session: Checkpoint, appliance: Appliance, job: Job) -> datetime | None:
    if session.until and session.phase is Phase.WAITING:
        return datetime.fromisoformat(session.until).replace(tzinfo=appliance.config.zone_of(job))
    now = Timestamp(clock.now(), clock.SystemClock().monotonic(), clock.boot_id())
    age = now.seconds_since(session.phase_started)
    return now.wall + timedelta(seconds=session.seconds - age) if session.seconds else None


# Alarms


def alarms(appliance: Appliance, now: datetime) -> list[Alarm]:
    """Return every alarm, in the order of the file."""
    appliance.sweep()
    pauses = {name: pause for name, pause in appliance.store.slots.pauses().items() if pause.is_active(now)}
    return [_alarm(appliance, job, pauses.get(job.name), now) for job in jobs_with_action(appliance, ALARM)]


def get_alarm(appliance: Appliance, name: str, now: datetime) -> Alarm:
    """Return the alarm `name`. Raises UnknownName."""
    job = get_job(appliance, name, ALARM)
    pause = appliance.store.slots.pauses().get(name)
    return _alarm(appliance, job, pause if pause and pause.is_active(now) else None, now)


def _alarm(appliance: Appliance, job: Job, pause: Pause | None, now: datetime) -> Alarm:
    config, skipped = appliance.config, appliance.skipped_slot(job.name, now)
    requests = appliance.store.requests.pending(job.name)
    rings = _scheduled_rings(appliance, job, pause, requests, now)
    settings = settings_of(job)
    times = [*(slot.starts_at for slot in rings if slot.selected), *(request.run_at for request in requests)]
    loudest_at = (min(times, default=now) + settings.fade).astimezone(config.time_zone)
    limit = max_volume(config.volume, loudest_at)
    return Alarm(
        job=job.name,
        next_slot=next(iter(appliance.slots(job.name, now)), None),
        rings=rings,
        skipped=skipped.at if skipped else None,
        pause=pause,
        requests=requests,
        session=active_session(appliance, job),
        settings=settings,
        limit=limit,
        description=describe(job, limit),
        version=version_of(job),
    )


def _scheduled_rings(
    appliance: Appliance, job: Job, pause: Pause | None, requests: Sequence[RunRequest], now: datetime
) -> list[Slot]:
    if pause is not None and pause.until is None:
        return []
    after = now if pause is None or pause.until is None else pause.until
    zone, rings = appliance.config.zone_of(job), list[Slot]()
    last_day = max((request.run_at.astimezone(zone).date() for request in requests), default=None)
    for slot in islice(appliance.slots(job.name, after), _MAX_SLOTS):
        rings_already = any(each.selected for each in rings)
        if rings_already and (settings_of(job).one_shot or not last_day or slot.at.astimezone(zone).date() > last_day):
            break
        if slot.selected or slot.skipped:
            rings.append(slot)
    return rings


def describe(job: Job, limit: int = 100) -> str:
    """Describe the sources, volume and duration of an alarm. `limit` is the maximum volume."""
    options: Any = job.options
    names = ", else ".join(describe_text(each) for each in options.play or ())
    volume = min(options.final_volume, limit)
    limited = f" (the highest allowed, not {options.final_volume})" if volume < options.final_volume else ""
    fade = f" in {units.format_duration(options.fade_time)}" if options.fade_time else ""
    duration = f", for {units.format_duration(options.duration)}" if options.duration else ""
    return f"{names}; up to volume {volume}{limited}{fade}{duration}"


def skip(appliance: Appliance, name: str, *, now: datetime, day: str | None = None) -> datetime:
    """Skip the next ring of alarm `name`, and return its time.

    Args:
        day: The date of the ring, with or without a time of day; by default the next ring.
    """
    job = get_job(appliance, name, ALARM)
    if day is None:
        return appliance.skip_slot(name, now=now).at
    zone, wanted = appliance.config.zone_of(job), day.strip().replace("T", " ")
    for slot in islice(appliance.slots(name, now), _MAX_SLOTS):
        if f"{slot.at.astimezone(zone):%Y-%m-%d %H:%M}".startswith(wanted):
            return appliance.skip_slot(name, now=now, at=slot.at).at
    raise Refused(f"{name} does not ring on {wanted}, so there is nothing to skip")


def unskip(appliance: Appliance, name: str, *, now: datetime) -> datetime:
    """Undo `skip`, and return the time of the next ring."""
    get_job(appliance, name, ALARM)
    return appliance.unskip_slot(name, now=now).at


def ring_at(appliance: Appliance, name: str, at: str, *, now: datetime) -> RunRequest:
    """Let alarm `name` ring once, the next time the local clock shows `at`, such as 06:45.

    A time that a clock change leaves out rings at the change; one that occurs twice rings the first
    time. A repeated request for the same time changes nothing.
    """
    job = get_job(appliance, name, ALARM)
    due = next(slot_times.fire_times(_daily_cron(at), now, appliance.config.zone_of(job)))
    same = [request for request in appliance.store.requests.pending(name) if request.run_at == due]
    return same[0] if same else request_run(appliance, job, due, {}, now=now)


def _daily_cron(at: str) -> Cron:
    hour, colon, minute = at.strip().partition(":")
    is_number = hour.isdecimal() and minute.isdecimal() and len(hour) <= 2 and len(minute) == 2
    if not (colon and is_number and int(hour) < 24 and int(minute) < 60):
        raise InvalidOption(f'{at!r} is not a valid time of day; write a time such as "06:45"')
    return Cron((f"{int(minute)} {int(hour)} * * *",))


def set_enabled(appliance: Appliance, name: str, enabled: bool, *, now: datetime) -> None:
    """Switch alarm `name` on or off: an alarm that is off is a paused job."""
    job = get_job(appliance, name, ALARM)
    pause = appliance.store.slots.pauses().get(name)
    if not enabled:
        appliance.pause(job.name, now=now)
    elif pause is not None and pause.is_active(now):
        appliance.resume(job.name, now=now)


def require_silent(appliance: Appliance, name: str) -> None:
    """Raise Refused if alarm `name` rings or snoozes."""
    if active_session(appliance, get_job(appliance, name, ALARM)):
        raise Refused(f"{name} is ringing; stop it first")


def cancel_rings(appliance: Appliance, name: str) -> int:
    """Cancel the one-off rings that `ring_at` has requested, and return their number."""
    get_job(appliance, name, ALARM)
    requests = appliance.store.requests
    cancelled = sum(requests.remove(request.id) for request in requests.pending(name))
    if not cancelled:
        raise Refused(f"no single ring of {name} is set")
    return cancelled


def snooze(appliance: Appliance, name: str | None = None) -> list[str]:
    """Snooze alarm `name`, or every ringing alarm; return the names."""
    return _signal(appliance, name, SNOOZE)


def stop_ringing(appliance: Appliance, name: str | None = None) -> list[str]:
    """Stop alarm `name`, or every alarm that rings or snoozes; return the names."""
    return _signal(appliance, name, STOP)


def _signal(appliance: Appliance, name: str | None, signal: str) -> list[str]:
    jobs = jobs_with_action(appliance, ALARM) if name is None else [get_job(appliance, name, ALARM)]
    appliance.sweep()
    active = [job.name for job in jobs if active_session(appliance, job)]
    if not active:
        raise Refused(f"{name} is not ringing" if name else "no alarm is ringing")
    for each in active:
        appliance.store.requests.send_signal(each, signal)
    return active


class RingJson(TypedDict):
    """A scheduled ring of an alarm."""

    at: Instant
    skipped: bool


class AlarmJson(AlarmSettingsJson):
    """The state and the settings of an alarm."""

    job: str
    next: Annotated[Instant | None, "the next ring, scheduled or single"]
    next_ring: Annotated[Instant | None, "the next ring by the schedule"]
    slot: Annotated[Instant | None, "the next scheduled time, even if skipped"]
    skipped: Instant | None
    paused: bool
    paused_until: Instant | None
    one_off_rings: list[Instant]
    rings: Annotated[list[RingJson], "the scheduled times up to the next ring, and those until the last one-off ring"]
    ringing: bool
    snoozed_until: Instant | None
    run: int | None
    description: str
    limit: Annotated[int, "the maximum volume at the next ring"]
    version: Annotated[str, "changes with the entry in the configuration"]


def alarm_values(alarm: Alarm) -> AlarmJson:
    """Return `alarm` as a JSON object."""
    session = alarm.session
    return {
        "job": alarm.job,
        "next": model.iso_time(alarm.next),
        "next_ring": model.iso_time(alarm.next_ring),
        "slot": model.iso_time(alarm.next_slot.at) if alarm.next_slot else None,
        "skipped": model.iso_time(alarm.skipped),
        "paused": alarm.pause is not None,
        "paused_until": model.iso_time(alarm.pause.until) if alarm.pause else None,
        "one_off_rings": [model.iso_time(request.run_at) for request in alarm.requests],
        "rings": [{"at": model.iso_time(slot.starts_at), "skipped": slot.skipped} for slot in alarm.rings],
        "ringing": session is not None and session.phase != Phase.SNOOZING,
        "snoozed_until": model.iso_time(session.ends_at) if session and session.phase == Phase.SNOOZING else None,
        "run": session.run.id if session and session.run else None,
        "description": alarm.description,
        **settings_values(alarm.settings),
        "limit": alarm.limit,
        "version": alarm.version,
    }


# Sleep timer


def sleep_timer(appliance: Appliance) -> SleepTimer | None:
    """Return the active sleep timer; none once it was cancelled, even before its run has ended."""
    appliance.sweep()
    for job in jobs_with_action(appliance, SLEEP):
        session = active_session(appliance, job)
        if requests := appliance.store.requests.pending(job.name):  # the newest request will replace the active timer
            return SleepTimer(job=job.name, phase=STARTING, ends_at=_requested_end(appliance, job, requests[-1]))
        if session is not None and appliance.store.requests.pending_signal(job.name) != STOP:
            status = _status_text(appliance, session)
            return SleepTimer(
                job=job.name, phase=session.phase or STARTING, ends_at=session.ends_at, status_text=status
            )
    return None


def _requested_end(appliance: Appliance, job: Job, request: RunRequest) -> datetime | None:
    """Return when the music will stop; None if it depends on the music."""
    try:
        options = loader.override_options(appliance.config, job, request.arguments)
    except InvalidOption:  # the configuration has changed since the request
        return None
    zone = appliance.config.zone_of(job)
    if options.at is not None:
        return schedule.next_time(options.at, request.run_at.astimezone(zone)).replace(tzinfo=zone)
    return request.run_at + options.time_until_sleep if options.time_until_sleep else None


def _status_text(appliance: Appliance, session: ActiveSession) -> str:
    if session.run is None:
        return "interrupted; the daemon will resume it"
    return next(
        (run.status_text for run in appliance.history(job=session.job, limit=5) if run.id == session.run.id), ""
    )


def set_sleep_timer(
    appliance: Appliance,
    *,
    now: datetime,
    in_: str | None = None,
    at: str | None = None,
    play_out: str | None = None,
    fade: str | None = None,
) -> RunRequest:
    """Set the sleep timer, in place of an active one.

    Without arguments, the job's own options apply.

    Raises:
        Refused: No job is a sleep timer.
        InvalidOption: The arguments are not valid.
    """
    job = manual_job(appliance, SLEEP)
    if in_ is not None and not timedelta(0) < units.parse_duration(in_) <= _MAX_SLEEP:
        raise InvalidOption(f"{in_} is not a valid sleep time; write 1m to 24h")
    arguments: dict[str, object] = {"in": in_, "at": at, "play-out": play_out}
    if not any(value is not None for value in arguments.values()):
        arguments = {}
    if fade is not None:
        arguments["fade"] = fade
    loader.override_options(appliance.config, job, arguments)  # raises InvalidOption if an argument is wrong
    _end_sleep_timers(appliance)
    return request_run(appliance, job, now, arguments, now=now)


def cancel_sleep_timer(appliance: Appliance) -> None:
    """Cancel the sleep timer; the music continues."""
    if not _end_sleep_timers(appliance):
        raise Refused("no sleep timer is set")


def _end_sleep_timers(appliance: Appliance) -> bool:
    """End all sleep timers and requests for one; return whether there were any."""
    appliance.sweep()
    jobs = jobs_with_action(appliance, SLEEP)
    return any([_end_sleep_timer(appliance, job) for job in jobs])  # noqa: C419 - all of them, not up to the first


def _end_sleep_timer(appliance: Appliance, job: Job) -> bool:
    requests = appliance.store.requests
    cancelled = [requests.remove(request.id) for request in requests.pending(job.name)]
    session = active_session(appliance, job)
    if session is not None:
        requests.send_signal(job.name, STOP)
    return session is not None or any(cancelled)


class SleepTimerJson(TypedDict):
    """The sleep timer; the keys are the same if none is set."""

    set: bool
    job: str | None
    phase: str | None
    ends_at: Instant | None
    status_text: str


def sleep_values(timer: SleepTimer | None) -> SleepTimerJson:
    """Return `timer` as a JSON object."""
    return {
        "set": timer is not None,
        "job": timer.job if timer else None,
        "phase": timer.phase if timer else None,
        "ends_at": model.iso_time(timer.ends_at) if timer else None,
        "status_text": timer.status_text if timer else "",
    }


# Announcements


def announcement_arguments(
    appliance: Appliance, *, text: str | None = None, source: str | None = None, volume: int | None = None
) -> tuple[Job, dict[str, object]]:
    """Return the job that speaks `text` or plays `source`, and the options of its run.

    Raises:
        Refused: No job announces.
        InvalidOption: The arguments are not valid.
    """
    job = manual_job(appliance, ANNOUNCE)
    arguments: dict[str, object] = {"text": text, "source": source}
    if text is None and source is None:
        arguments = {}
    if volume is not None:
        arguments["volume"] = volume
    options: Any = job.options
    if not (text or source or options.text or options.source):
        raise InvalidOption("nothing to announce; give a text or a source")
    loader.override_options(appliance.config, job, arguments)  # raises InvalidOption if an argument is wrong
    return job, arguments
