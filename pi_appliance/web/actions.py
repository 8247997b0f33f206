"""What forms and the API may do: command the player; run, pause, resume or cancel a job."""

from collections.abc import Callable, Mapping
from datetime import datetime, timedelta

from starlette.exceptions import HTTPException

from pi_appliance.config import units
from pi_appliance.errors import Refused, suggest
from pi_appliance.music import player_commands
from pi_appliance.music.stations.service import Stations
from pi_appliance.storage.history import Pause
from pi_appliance.storage.model import Run, Trigger
from pi_appliance.web.interface import Daemon
from pi_appliance.web.params import Given

_LONGEST = timedelta(days=3650)  # of a pause that ends by itself


class Actions:
    """The actions on one daemon."""

    def __init__(self, daemon: Daemon, now: Callable[[], datetime]) -> None:
        self._daemon, self.now = daemon, now
        self._stations: tuple[object, Stations] | None = None

    @property
    def stations(self) -> Stations:
        """The stations of the current configuration."""
        config = self._daemon.appliance.config
        places = (config.stations, config.state_dir)
        if self._stations is None or self._stations[0] != places:
            self._stations = (places, Stations(*places))
        return self._stations[1]

    async def ask_player(self, command: str, given: Given) -> None:
        """Do COMMAND. Raises as player.command does."""
        await player_commands.command(self._daemon.hub, command, given, self.stations)

    async def run_job(self, name: str) -> None:
        """Start a run of the job NAME. Raises UnknownName, or Refused if a run of it goes on."""
        appliance = self._daemon.appliance
        appliance.job(name)
        appliance.sweep()
        if going_on := appliance.store.active_runs(name):
            raise Refused(f"{name} is running already, as run {going_on[0].id}; wait until it has ended")
        await self._daemon.runs.start(name, Trigger.MANUAL)

    def pause_job(self, name: str, given: Mapping[str, object]) -> Pause:
        """Let the job NAME use no slot, for as long as GIVEN says under `for`, else until it is resumed.

        Raises UnknownName; Refused if it has no schedule; HTTPException for a wrong length.
        """
        appliance, now = self._daemon.appliance, self.now()
        appliance.job(name)
        length = _length(given)
        appliance.pause(name, now=now, until=now + length if length else None)
        self._daemon.wake()
        return appliance.store.slots.pauses()[name]

    def resume_job(self, name: str) -> None:
        """Let the job NAME use its slots again. Raises UnknownName; Refused if it does not pause."""
        self._daemon.appliance.resume(name, now=self.now())
        self._daemon.wake()

    def cancel_job(self, name: str) -> Run:
        """Ask the run of the job NAME to end, and return it. Raises UnknownName; Refused if none goes on."""
        run = self._daemon.appliance.cancel(name)
        self._daemon.wake()
        return run


def _length(given: Mapping[str, object]) -> timedelta | None:
    """Return the length under `for`; None where it is missing or, as a form may leave it, empty."""
    for key in given:
        if key != "for":
            raise HTTPException(400, f"pause takes no {key!r}; {suggest(key, ['for'])}")
    text = given.get("for", "")
    if not isinstance(text, str):
        raise HTTPException(400, "'for' must be a length of time such as 90s, 15m, 1h30m or 2d")
    try:
        length = units.parse_duration(text) if text else None
    except ValueError as error:
        raise HTTPException(400, f"'for' is wrong: {error}") from None
    if length is not None and not timedelta(0) < length <= _LONGEST:
        raise HTTPException(400, "'for' must be from 1s to 3650d; without it the job pauses until it is resumed")
    return length
