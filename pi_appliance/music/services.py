"""Lower the volume to the limit whenever a knob or another program turns it up.

A timer runs only if quiet hours are configured, or while MPD has other partitions. While music
plays it checks twice a minute, because the wall clock may be changed. Otherwise it sleeps until the
limit changes. MPD reports no changes of other partitions, so they are checked every few seconds.
"""

import asyncio
import contextlib
import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from datetime import datetime

from pi_appliance.config.model import Config
from pi_appliance.errors import ApplianceError, ConfigError, Unavailable, UnknownName
from pi_appliance.music import limited_player, model
from pi_appliance.music.alarms.context import ActiveSessions
from pi_appliance.music.limited_player import MUTE_KEY, PlayerPolicy
from pi_appliance.music.model import Capability, PlaybackState, PlayerState, Source
from pi_appliance.music.player_hub import CONNECTION, PlayerHub, Sleep
from pi_appliance.music.radio_watchdog import RadioWatchdog
from pi_appliance.music.resume import PlaybackResumer
from pi_appliance.music.stations.service import Stations, resolve_source
from pi_appliance.storage.history import Store
from pi_appliance.system import clock

POLL_INTERVAL = 30.0  # seconds, while music plays and quiet hours are configured
PARTITION_INTERVAL = 5.0  # seconds between two checks of other partitions, while there are any
FADE_SECONDS = 4.0  # duration of the fade at the start of quiet hours
FADE_STEPS = 8
BOOT_KEY = "start of the machine whose start volume is set"  # in the key-value store
_ROUNDING = 3  # how much louder than requested a mixer with few steps may become
_log = logging.getLogger(__name__)


class VolumeLimiter:
    """Keep the volume of `hub` within its policy. `boot` is the boot id of the machine."""

    def __init__(self, hub: PlayerHub, *, boot: str, sleep: Sleep = asyncio.sleep) -> None:
        self._hub, self._policy, self._boot, self._sleep = hub, hub.policy, boot, sleep
        self._last_volume: int | None = None
        self._was_muted, self._boot_unsaved = False, False
        self._last_limit = limited_player.FULL_VOLUME
        self._has_other_partitions = False
        self._closest: tuple[int, int] = (0, 0)  # a limit and the closest volume that the mixer supports

    async def run(self) -> None:
        """Limit the volume until cancelled. Raises the player's errors."""
        with self._hub.subscribe() as subscription:
            names = await subscription.changes()
            while True:
                await self.check(names)
                names = await subscription.changes_within(self._timeout(), self._sleep)

    async def check(self, names: frozenset[str] = frozenset()) -> None:
        """Lower the volume if it is too high. `names` are the changed subsystems."""
        state = self._hub.state
        if state is None:
            return
        if CONNECTION in names:
            state = await self._apply_start_volume(state)
        if self._was_muted and state.volume and Capability.MUTE not in await self._hub.raw_player().capabilities():
            with contextlib.suppress(Unavailable):
                self._policy.key_values.delete(MUTE_KEY)  # the user turned it up, which ends the mute
        limit = self._policy.max_volume()
        limit_fell, self._last_limit = limit < self._last_limit, limit
        self._was_muted, self._last_volume = state.muted, state.volume
        if self._is_too_loud(state, limit):
            is_playing = state.playback is PlaybackState.PLAYING
            await self._lower(limit, fade=limit_fell and is_playing and CONNECTION not in names)
        if self._has_other_partitions or names & {CONNECTION, "partition"}:
            self._has_other_partitions = await self._limit_other_partitions()

    async def _limit_other_partitions(self) -> bool:
        """Lower the volume of other partitions to the limit; return whether there are any."""
        if self._policy.volume_policy is None or Capability.PARTITIONS not in self._hub.capabilities:
            return False
        return bool(await self._hub.raw_player().limit_other_partitions(self._policy.max_volume()))

    async def _apply_start_volume(self, state: PlayerState) -> PlayerState:
        """Lower a newly started player to the start volume unless it plays."""
        policy = self._policy.volume_policy
        if policy is None or policy.start is None or state.volume is None or self._hub.uses_fallback:
            return state
        is_louder = self._last_volume is not None and state.volume > self._last_volume
        was_restarted = self._is_first_since_boot() or is_louder
        limit = min(policy.start, self._policy.max_volume())
        if not was_restarted or state.volume <= limit or state.playback is PlaybackState.PLAYING:
            return state
        player = self._hub.raw_player()
        now = await player.state()  # an alarm may have started and set the volume meanwhile
        if now.playback is PlaybackState.PLAYING or (now.volume or 0) <= limit:
            return now
        _log.info("music: volume lowered at the start from=%d to=%d", state.volume, limit)
        await player.set_volume(limit)
        return await player.state()

    def _is_first_since_boot(self) -> bool:
        try:
            is_first = self._policy.key_values.get(BOOT_KEY) != self._boot
            if is_first:
                self._policy.key_values.put(BOOT_KEY, self._boot)
        except Unavailable as error:  # a database error must not make it loud
            _log.warning("music: the start volume: %s", error)
            is_first, self._boot_unsaved = not self._boot_unsaved, True
        return is_first

    def _is_too_loud(self, state: PlayerState, limit: int) -> bool:
        if state.volume is None or state.volume <= limit:
            return False
        return self._closest[0] != limit or state.volume > self._closest[1]

    async def _lower(self, limit: int, *, fade: bool) -> None:
        player = self._hub.raw_player()
        state = await player.state()
        if state.volume is None or state.volume <= limit:
            return
        _log.info("music: volume lowered to the limit from=%d to=%d", state.volume, limit)
        last = state.volume
        for step in _fade_steps(last, limit) if fade else ():
            await self._sleep(FADE_SECONDS / FADE_STEPS)
            now = (await player.state()).volume
            if now is None or now <= limit:
                return  # the user turned it down meanwhile
            if now > last + _ROUNDING:
                break  # the user turned it up meanwhile
            await player.set_volume(step)
            last = step
        await player.set_volume(limit)
        self._closest = (limit, min((await player.state()).volume or 0, limit + _ROUNDING))

    def _timeout(self) -> float | None:
        """Return the seconds until the next check if no change is reported; `None`: not needed."""
        state, policy = self._hub.state, self._policy
        longest = PARTITION_INTERVAL if state is not None and self._has_other_partitions else None
        change = limited_player.next_limit_change(policy.volume_policy, now := policy.now(), policy.time_zone)
        if state is None or state.volume is None or change is None:
            return longest
        if state.playback is PlaybackState.PLAYING:
            longest = longest or POLL_INTERVAL
        seconds = _seconds_until(change, now)
        return seconds if longest is None else min(longest, seconds)


def _fade_steps(volume: int, limit: int) -> Sequence[int]:
    """Return the volumes between `volume` and `limit`, descending."""
    return [volume + round((limit - volume) * number / FADE_STEPS) for number in range(1, FADE_STEPS)]


def _seconds_until(change: datetime, now: datetime) -> float:
    return max(0.05, (change - now).total_seconds())


_FAULT_DELAY = 60.0  # seconds before a service with an internal error is restarted


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
    """Return the sources to play while a station is unreachable; unknown ones are logged.

    It may wait for the network: call it in a thread.
    """
    sources: list[Source] = []
    station_service = Stations(config.stations, config.state_dir)
    try:
        stations = station_service.all()
    except ConfigError as error:
        _log.warning("music: %s", error)
        stations = ()
    for name in config.radio.fallback:
        try:
            sources.append(resolve_source(station_service, model.parse_source(name, stations)))
        except (UnknownName, ValueError) as error:
            _log.warning("music: radio: fallback: %s", error)
    return sources


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
