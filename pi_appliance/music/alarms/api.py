"""Handlers of the operations on alarms, the sleep timer and announcements."""

from pi_appliance.music.alarms import service
from pi_appliance.music.interface import MusicServices
from pi_appliance.operations import Values
from pi_appliance.storage import model


async def list_alarms(services: MusicServices, _: Values) -> object:
    """Return every alarm."""
    return [service.alarm_values(each) for each in service.alarms(services.appliance, services.now())]


async def skip(services: MusicServices, values: Values) -> object:
    """Skip the next ring of an alarm."""
    service.skip(services.appliance, _alarm_name(services, values), now=services.now())
    return await _changed(services)


async def unskip(services: MusicServices, values: Values) -> object:
    """Undo `skip`."""
    service.unskip(services.appliance, _alarm_name(services, values), now=services.now())
    return await _changed(services)


async def snooze(services: MusicServices, values: Values) -> object:
    """Snooze one alarm or all that ring."""
    service.snooze(services.appliance, values["job"])
    return await _changed(services)


async def stop(services: MusicServices, values: Values) -> object:
    """Stop one alarm or all that ring or snooze."""
    service.stop_ringing(services.appliance, values["job"])
    return await _changed(services)


async def once(services: MusicServices, values: Values) -> object:
    """Let an alarm ring once."""
    service.ring_at(services.appliance, _alarm_name(services, values), values["at"], now=services.now())
    return await _changed(services)


async def cancel_once(services: MusicServices, values: Values) -> object:
    """Cancel the single rings of an alarm."""
    service.cancel_rings(services.appliance, _alarm_name(services, values))
    return await _changed(services)


async def get_sleep_timer(services: MusicServices, _: Values) -> object:
    """Return the sleep timer."""
    return service.sleep_values(service.sleep_timer(services.appliance))


async def set_sleep_timer(services: MusicServices, values: Values) -> object:
    """Set the sleep timer, whose run starts at once, or return it if no value is given."""
    if all(value is None for value in values.values()):
        return await get_sleep_timer(services, values)
    request = service.set_sleep_timer(
        services.appliance,
        now=services.now(),
        in_=values["in"],
        at=values["at"],
        play_out=values["play_out"],
        fade=values["fade"],
    )
    services.daemon.start_request(request)
    return await get_sleep_timer(services, values)


async def cancel_sleep_timer(services: MusicServices, values: Values) -> object:
    """Cancel the sleep timer."""
    service.cancel_sleep_timer(services.appliance)
    services.daemon.wake()
    return await get_sleep_timer(services, values)


async def announce(services: MusicServices, values: Values) -> object:
    """Request an announcement."""
    request = service.announce(services.appliance, now=services.now(), **values)
    services.daemon.start_request(request)
    return {"request": request.id, "job": request.job, "run_at": model.iso_time(request.run_at)}


def _alarm_name(services: MusicServices, values: Values) -> str:
    return values["job"] or service.only_alarm(services.appliance)


async def _changed(services: MusicServices) -> object:
    services.daemon.wake()
    return await list_alarms(services, {})
