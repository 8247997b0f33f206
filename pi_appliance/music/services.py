"""The services of the daemon on the player, started together: hub, volume, radio, resumption."""

import asyncio
from collections.abc import Callable, Mapping

from pi_appliance.config.options import Config
from pi_appliance.errors import Unavailable
from pi_appliance.music.alarms.music_job import KIND, RINGING, action_of, phase_of
from pi_appliance.music.playback_resume import PlaybackResumer
from pi_appliance.music.player_hub import PlayerHub, keep_running
from pi_appliance.music.radio.watchdog import RadioWatchdog, fallback_sources
from pi_appliance.music.volume_limits import PlayerPolicy, VolumeLimiter
from pi_appliance.storage.database import Database
from pi_appliance.storage.history import Store
from pi_appliance.storage.run_requests import RunRequestStore
from pi_appliance.system import clock

_CONTROLS_PLAYBACK = {RINGING, "announcing", "fading-out"}
_STOPS_SOON = {"fading-out", "playing-out"}
_STOPPING_ACTIONS = {"alarm", "sleep", "stop"}


class ActiveSessions:
    """The phases of the music jobs of `config`, read from the database that `store` returns."""

    def __init__(self, config: Config, store: Callable[[], Database]) -> None:
        jobs = (job for job in config.jobs.values() if job.kind == KIND)
        self._stopping_jobs = tuple(job.name for job in jobs if action_of(job) in _STOPPING_ACTIONS)
        self._store = store

    @property
    def alarm_ringing(self) -> bool:
        """Whether an alarm rings, or will as soon as its run is resumed."""
        return RINGING in self._phases()

    @property
    def stops_soon(self) -> bool:
        """Whether a session is about to stop the music."""
        return bool(self._phases() & _STOPS_SOON)

    def generation(self) -> int | None:
        """Return None while a job controls playback, else a number that changes when one ends."""
        if self._phases() & _CONTROLS_PLAYBACK:
            return None
        marks = ", ".join("?" * len(self._stopping_jobs))
        sql = f"SELECT max(id) AS last FROM runs WHERE job IN ({marks}) AND ended IS NOT NULL"  # noqa: S608 - marks alone
        try:
            return int(self._store().rows(sql, self._stopping_jobs)[0]["last"] or 0) if self._stopping_jobs else 0
        except Unavailable:  # music must go on even if the history cannot be read
            return 0

    def _phases(self) -> set[str]:
        try:
            return {phase_of(checkpoint.text) for checkpoint in RunRequestStore(self._store()).checkpoints()}
        except Unavailable:
            return set()


def create_hub(config: Config, store: Store, secrets: Mapping[str, str]) -> PlayerHub:
    """Return the player hub of `config`, with mute and ratings stored in `store`."""
    policy = PlayerPolicy(volume_policy=config.volume, time_zone=config.time_zone, open_store=lambda: store)
    return PlayerHub(config.player, config.state_dir, secrets, policy=policy)


async def run_services(hub: PlayerHub, config: Config) -> None:
    """Run `hub` and the services that `config` enables until cancelled."""
    boot, sessions = clock.boot_id(), ActiveSessions(config, hub.policy.open_store)
    services = [hub.run(), keep_running("volume", VolumeLimiter(hub, boot=boot, sleep=asyncio.sleep).run)]
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


def music_settings(config: Config) -> tuple[object, ...]:
    """Return the settings whose change requires a new connection to the player."""
    return (config.player, config.volume, config.radio, config.resume, config.time_zone, config.stations)
