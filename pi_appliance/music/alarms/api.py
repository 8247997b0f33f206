"""Handlers of the operations on alarms, the sleep timer and announcements."""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Sequence
from datetime import datetime
from typing import Annotated, TypedDict

from pi_appliance.errors import Refused, Unavailable, Uncertain
from pi_appliance.jobs import editor as job_editor
from pi_appliance.jobs.run_options import request_run
from pi_appliance.json_schema import Instant
from pi_appliance.music.alarms import alarm_control, editor
from pi_appliance.music.alarms.alarm_control import AlarmJson, SleepTimerJson
from pi_appliance.music.api import check_address
from pi_appliance.music.player_hub import MusicServices
from pi_appliance.operations import Values
from pi_appliance.scheduling.appliance import Appliance
from pi_appliance.storage import model
from pi_appliance.storage.run_requests import RunRequest

_POLL_INTERVAL = 0.2  # seconds between two checks whether a run has ended
_RECENT_RUNS = 20  # runs in which the requested one is searched: several announcements may wait for one another

Handler = Callable[[MusicServices, Values], Awaitable[list[AlarmJson]]]


async def list_alarms(services: MusicServices, _: Values) -> list[AlarmJson]:
    """Return every alarm."""
    return [alarm_control.alarm_values(each) for each in alarm_control.alarms(services.appliance, services.now())]


async def get_alarm(services: MusicServices, values: Values) -> AlarmJson:
    """Return one alarm."""
    return alarm_control.alarm_values(alarm_control.get_alarm(services.appliance, values["job"], services.now()))


async def add(services: MusicServices, values: Values) -> AlarmJson:
    """Add an alarm to the configuration."""
    await _check_addresses(services, values["play"] or (), ())
    return await _added(services, await asyncio.to_thread(editor.add_alarm, services.config_file, values))


async def copy(services: MusicServices, values: Values) -> AlarmJson:
    """Add a copy of an alarm to the configuration."""
    name = await asyncio.to_thread(editor.copy_alarm, services.config_file, values["job"], values["name"])
    return await _added(services, name)


async def _added(services: MusicServices, name: str) -> AlarmJson:
    # the state of an earlier alarm of that name, which was removed in an editor
    job_editor.forget(services.appliance, name)
    await services.daemon.apply_configuration()
    return await get_alarm(services, {"job": name})


async def edit(services: MusicServices, values: Values) -> AlarmJson:
    """Change fields of an alarm in the configuration."""
    appliance, old = services.appliance, values["job"]
    current = alarm_control.get_alarm(appliance, old, services.now())
    await _check_addresses(services, values["play"] or (), current.settings.play)
    if values["name"] not in (None, old):
        alarm_control.require_silent(appliance, old)
    name = await asyncio.to_thread(editor.edit_alarm, services.config_file, old, values)
    if name != old:
        job_editor.move_state(appliance, old, name)
    await services.daemon.apply_configuration()
    return await get_alarm(services, {"job": name})


async def _check_addresses(services: MusicServices, sources: Sequence[str], current: Sequence[str]) -> None:
    for source in sources:
        if source not in current:
            await asyncio.to_thread(check_address, services, source)


async def remove(services: MusicServices, values: Values) -> list[AlarmJson]:
    """Remove an alarm from the configuration."""
    alarm_control.require_silent(services.appliance, values["job"])
    await asyncio.to_thread(editor.remove_alarm, services.config_file, values["job"])
    job_editor.forget(services.appliance, values["job"])
    await services.daemon.apply_configuration()
    return await list_alarms(services, {})


def _alarm_command(act: Callable[[Appliance, str, Values, datetime], object]) -> Handler:
    """Return a handler that calls `act` for an alarm, and returns all alarms after it."""

    async def handle(services: MusicServices, values: Values) -> list[AlarmJson]:
        name = values["job"] or alarm_control.only_alarm(services.appliance)
        act(services.appliance, name, values, services.now())
        return await _changed(services)

    return handle


switch_on = _alarm_command(lambda appliance, name, _, now: alarm_control.set_enabled(appliance, name, True, now=now))
switch_off = _alarm_command(lambda appliance, name, _, now: alarm_control.set_enabled(appliance, name, False, now=now))
skip = _alarm_command(
    lambda appliance, name, values, now: alarm_control.skip(appliance, name, now=now, day=values["day"])
)
unskip = _alarm_command(lambda appliance, name, _, now: alarm_control.unskip(appliance, name, now=now))
once = _alarm_command(
    lambda appliance, name, values, now: alarm_control.ring_at(appliance, name, values["at"], now=now)
)
cancel_once = _alarm_command(lambda appliance, name, *_: alarm_control.cancel_rings(appliance, name))


async def snooze(services: MusicServices, values: Values) -> list[AlarmJson]:
    """Snooze one alarm or all that ring."""
    alarm_control.snooze(services.appliance, values["job"])
    return await _changed(services)


async def stop(services: MusicServices, values: Values) -> list[AlarmJson]:
    """Stop one alarm or all that ring or snooze."""
    alarm_control.stop_ringing(services.appliance, values["job"])
    return await _changed(services)


async def get_sleep_timer(services: MusicServices, _: Values) -> SleepTimerJson:
    """Return the sleep timer."""
    return alarm_control.sleep_values(alarm_control.sleep_timer(services.appliance))


async def set_sleep_timer(services: MusicServices, values: Values) -> SleepTimerJson:
    """Set the sleep timer, whose run starts at once, or return it if no value is given."""
    if all(value is None for value in values.values()):
        return await get_sleep_timer(services, values)
    request = alarm_control.set_sleep_timer(
        services.appliance,
        now=services.now(),
        in_=values["in"],
        at=values["at"],
        play_out=values["play_out"],
        fade=values["fade"],
    )
    services.daemon.start_request(request)
    return await get_sleep_timer(services, values)


async def cancel_sleep_timer(services: MusicServices, values: Values) -> SleepTimerJson:
    """Cancel the sleep timer."""
    alarm_control.cancel_sleep_timer(services.appliance)
    services.daemon.wake()
    return await get_sleep_timer(services, values)


class AnnouncementJson(TypedDict):
    """A requested announcement, and how it ended."""

    request: int
    job: str
    run_at: Instant
    outcome: Annotated[model.Outcome | None, "null while it has not ended"]
    summary: str


async def announce(services: MusicServices, values: Values) -> AnnouncementJson:
    """Announce, and return when it has ended or `wait` seconds have passed.

    Raises:
        Unavailable: The player is not reached, or it is the silent one.
        Refused: The announcement failed, with the reason.
        Uncertain: It may have been heard.
    """
    sound, hub = {name: value for name, value in values.items() if name != "wait"}, services.daemon.hub
    job, arguments = alarm_control.announcement_arguments(services.appliance, **sound)
    await hub.player()
    if hub.uses_fallback:
        raise Unavailable(f"{hub.error}, which cannot announce")
    now = services.now()
    request = request_run(services.appliance, job, now, arguments, now=now)
    services.daemon.start_request(request)
    run = await _wait_for_end(services, request, values["wait"])
    if run is not None and run.outcome is model.Outcome.UNCERTAIN:
        raise Uncertain(run.summary)
    if run is not None and run.outcome is not model.Outcome.SUCCEEDED:
        raise Refused(run.summary)
    return {
        "request": request.id,
        "job": request.job,
        "run_at": model.iso_time(request.run_at),
        "outcome": run.outcome if run else None,
        "summary": run.summary if run else f"the announcement starts; see: pi-appliance jobs history {request.job}",
    }


async def _wait_for_end(services: MusicServices, request: RunRequest, seconds: int) -> model.Run | None:
    """Return the run of `request` when it has ended; None if that takes longer."""
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            while True:
                runs = services.appliance.store.history(job=request.job, limit=_RECENT_RUNS)
                run = next((run for run in runs if run.scheduled_for == request.slot_name), None)
                if run is not None and run.outcome is not None:
                    return run
                await asyncio.sleep(_POLL_INTERVAL)
    return None


async def _changed(services: MusicServices) -> list[AlarmJson]:
    services.daemon.wake()
    return await list_alarms(services, {})
