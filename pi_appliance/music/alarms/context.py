"""The context of jobs that play music, and the phases of their sessions."""

import json
from collections.abc import Sequence

from pi_appliance import plugins
from pi_appliance.config import secrets
from pi_appliance.config.model import Job
from pi_appliance.config.secrets import secret_names
from pi_appliance.errors import Unavailable
from pi_appliance.jobs.context import JobContext
from pi_appliance.music.limited_player import PlayerPolicy, apply_policy, max_volume
from pi_appliance.music.model import Source, Station
from pi_appliance.music.player import NO_PLAYER, Player
from pi_appliance.music.stations import service
from pi_appliance.system import clock
from pi_appliance.system.clock import Timestamp

KIND = "music"
RINGING = "ringing"
BLOCKS_ALARM = {RINGING, "snoozing", "fading-out", "playing-out", "changing-volume"}
"""Phases of other sessions that must end before an alarm can ring."""


def action_of(job: Job) -> str:
    """Return the action of a music job; '' for other jobs."""
    return str(getattr(job.options, "action", "")) if job.kind == KIND else ""


def is_alarm(job: Job) -> bool:
    """Return whether `job` is an alarm."""
    return action_of(job) == "alarm"


def phase_of(checkpoint: str) -> str:
    """Return the phase in a `checkpoint` of `session.dump`; '' for one of another kind."""
    try:
        return str(json.loads(checkpoint)["session"]["phase"])
    except (ValueError, KeyError, TypeError):
        return ""


class MusicContext(JobContext):
    """The context of a run that may play music."""

    def player(self) -> Player:
        """Return the configured player within the volume policy. The caller closes it.

        Raises:
            Unavailable: no player is configured.
        """
        part = self.config.player
        if part is None:
            raise Unavailable(NO_PLAYER)
        keys = secrets.load(self.config.path, self.parameters.environment, secret_names(self.config))
        player: Player = plugins.load("players", part.kind).connect(part.options, keys)
        zone = self.config.time_zone
        return apply_policy(
            player, PlayerPolicy(volume_policy=self.config.volume, time_zone=zone, open_store=lambda: self.store)
        )

    def stations(self) -> Sequence[Station]:
        """Return the web radio stations, the owner's first.

        Raises `ConfigError` if the file is invalid.
        """
        return self._stations().all()

    def resolve_stream(self, source: Source) -> Source:
        """Return `source` with the address of the stream if its own is a playlist."""
        return service.resolve_source(self._stations(), source)

    def _stations(self) -> service.Stations:
        return service.Stations(self.config.stations, self.config.state_dir)

    def max_volume(self) -> int:
        """Return the maximum volume allowed now, 0 to 100."""
        return max_volume(self.config.volume, clock.now().astimezone(self.config.time_zone))

    def timestamp(self) -> Timestamp:
        """Return the current time by the wall clock and by the monotonic clock."""
        return Timestamp(clock.now(), clock.SystemClock().monotonic(), clock.boot_id())

    async def sleep(self, seconds: float) -> None:
        """Wait for `seconds`, measured by the monotonic clock."""
        import asyncio  # noqa: PLC0415  # loading a configuration loads this module

        await asyncio.sleep(max(0.0, seconds))
