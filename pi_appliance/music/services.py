"""What looks after the music as long as the appliance runs: the hub, and those who act on the household's behalf."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping

from pi_appliance.config.model import Config
from pi_appliance.errors import ApplianceError, ConfigError, UnknownName
from pi_appliance.music import sources
from pi_appliance.music.alarms.active import ActiveSessions
from pi_appliance.music.hub import Hub
from pi_appliance.music.limited_player import PlayerPolicy
from pi_appliance.music.model import Source
from pi_appliance.music.reconnect import Watchdog
from pi_appliance.music.resume import Resume
from pi_appliance.music.stations.service import Stations, tuned
from pi_appliance.music.volume_limiter import VolumeLimiter
from pi_appliance.storage.runs import Store
from pi_appliance.system import clock

_REST = 60.0  # seconds after a fault of the program
_log = logging.getLogger(__name__)


def new_hub(config: Config, store: Store, secrets: Mapping[str, str]) -> Hub:
    """Return the hub of CONFIG, which remembers in STORE."""
    house = PlayerPolicy(policy=config.volume, zone=config.time_zone, store=lambda: store)
    return Hub(config.player, config.state_dir, secrets, house=house)


async def run(hub: Hub, config: Config) -> None:
    """Keep HUB connected, and look after the music on it as CONFIG says, until cancelled."""
    boot, jobs = clock.boot_name(), ActiveSessions(config, hub.house.store)
    work = [hub.run(), keep_running("volume", VolumeLimiter(hub, boot=boot).run)]
    if config.radio.watch:
        work.append(
            keep_running(
                "radio",
                Watchdog(hub, config.radio, lambda: asyncio.to_thread(fallback, config), jobs=jobs.generation).run,
            )
        )
    if config.resume:
        work.append(keep_running("resume", Resume(hub, config.state_dir / "resume", boot=boot, work=jobs).run))
    async with asyncio.TaskGroup() as group:
        for each in work:
            group.create_task(each)


def fallback(config: Config) -> list[Source]:
    """Return what may play in place of a station that is away; what is no name of anything is told and left out.

    It may wait for the network: call it in a thread.
    """
    found: list[Source] = []
    known = Stations(config.stations, config.state_dir)
    try:
        stations = known.all()
    except ConfigError as error:
        _log.warning("music: %s", error)
        stations = ()
    for name in config.radio.fallback:
        try:
            found.append(tuned(known, sources.parse(name, stations)))
        except (UnknownName, ValueError) as error:
            _log.warning("music: radio: fallback: %s", error)
    return found


def music_of(config: Config) -> tuple[object, ...]:
    """Return all of CONFIG that the music goes by: where it is another one, the hub must be one, too."""
    return (config.player, config.volume, config.radio, config.resume, config.time_zone, config.stations)


async def keep_running(name: str, work: Callable[[], Awaitable[None]], rest: float = _REST) -> None:
    """Do WORK until cancelled; it begins anew where the player was lost in the middle of it."""
    said = ""
    while True:
        try:
            await work()
        except ApplianceError as error:
            if str(error) != said:  # a card that is full for days is told once
                said = str(error)
                _log.info("music: %s: %s", name, said)
            await asyncio.sleep(1.0)
        except Exception:  # noqa: BLE001 - the edge: a fault here must not end the music
            _log.exception("music: %s: a fault of the program", name)
            await asyncio.sleep(rest)
