"""The music services of the daemon: player connection, volume limiter, radio watchdog, playback resumer."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping

from pi_appliance.config.model import Config
from pi_appliance.errors import ApplianceError, ConfigError, UnknownName
from pi_appliance.music import sources
from pi_appliance.music.alarms.active import ActiveSessions
from pi_appliance.music.hub import PlayerHub
from pi_appliance.music.limited_player import PlayerPolicy
from pi_appliance.music.model import Source
from pi_appliance.music.reconnect import RadioWatchdog
from pi_appliance.music.resume import PlaybackResumer
from pi_appliance.music.stations.service import Stations, resolve_source
from pi_appliance.music.volume_limiter import VolumeLimiter
from pi_appliance.storage.history import Store
from pi_appliance.system import clock

_FAULT_DELAY = 60.0  # seconds before a service with an internal error is restarted
_log = logging.getLogger(__name__)


def create_hub(config: Config, store: Store, secrets: Mapping[str, str]) -> PlayerHub:
    """Return the player hub of `config`, with mute and ratings stored in `store`."""
    policy = PlayerPolicy(volume_policy=config.volume, time_zone=config.time_zone, open_store=lambda: store)
    return PlayerHub(config.player, config.state_dir, secrets, policy=policy)


async def run_services(hub: PlayerHub, config: Config) -> None:
    """Run `hub` and the services that `config` enables until cancelled."""
    boot, sessions = clock.boot_id(), ActiveSessions(config, hub.policy.open_store)
    services = [hub.run(), keep_running("volume", VolumeLimiter(hub, boot=boot).run)]
    if config.radio.auto_reconnect:
        watchdog = RadioWatchdog(
            hub, config.radio, lambda: asyncio.to_thread(fallback_sources, config), job_generation=sessions.generation
        )
        services.append(keep_running("radio", watchdog.run))
    if config.resume:
        resumer = PlaybackResumer(hub, config.state_dir / "resume", boot=boot, sessions=sessions)
        services.append(keep_running("resume", resumer.run))
    async with asyncio.TaskGroup() as group:
        for service in services:
            group.create_task(service)


def fallback_sources(config: Config) -> list[Source]:
    """Return the sources to play while a station is unreachable; unknown names are logged and skipped.

    It may wait for the network: call it in a thread.
    """
    found: list[Source] = []
    station_service = Stations(config.stations, config.state_dir)
    try:
        stations = station_service.all()
    except ConfigError as error:
        _log.warning("music: %s", error)
        stations = ()
    for name in config.radio.fallback:
        try:
            found.append(resolve_source(station_service, sources.parse_source(name, stations)))
        except (UnknownName, ValueError) as error:
            _log.warning("music: radio: fallback: %s", error)
    return found


def music_settings(config: Config) -> tuple[object, ...]:
    """Return the part of `config` that needs a new hub when it changes."""
    return (config.player, config.volume, config.radio, config.resume, config.time_zone, config.stations)


async def keep_running(name: str, service: Callable[[], Awaitable[None]], fault_delay: float = _FAULT_DELAY) -> None:
    """Run `service` until cancelled and restart it after errors, such as a lost player."""
    last_error = ""
    while True:
        try:
            await service()
        except ApplianceError as error:
            if str(error) != last_error:  # a full SD card is logged once, not every second
                last_error = str(error)
                _log.info("music: %s: %s", name, last_error)
            await asyncio.sleep(1.0)
        except Exception:  # noqa: BLE001 - a bug in a service must not end the music
            _log.exception("music: %s: internal error", name)
            await asyncio.sleep(fault_delay)
