"""What a person may have done: ask the player for something, start a run of a job. Nothing else."""

from collections.abc import Callable
from datetime import datetime

from pi_appliance.errors import Refused
from pi_appliance.model.run import Trigger
from pi_appliance.web import player
from pi_appliance.web.world import Daemon


class Actions:
    """Does what forms and the API ask for."""

    def __init__(self, daemon: Daemon, now: Callable[[], datetime]) -> None:
        self._daemon, self.now = daemon, now
        self.stations = player.Stations()

    async def ask_player(self, command: str, given: player.Given) -> None:
        """Do COMMAND. Raises as player.command does."""
        file = self._daemon.appliance.config.stations
        await player.command(self._daemon.hub, command, given, self.stations, file)

    async def run_job(self, name: str) -> None:
        """Start a run of the job NAME. Raises UnknownName, or Refused if a run of it goes on."""
        appliance = self._daemon.appliance
        appliance.job(name)
        appliance.sweep()
        if going_on := appliance.store.going_on(name):
            raise Refused(f"{name} is running already, as run {going_on[0].id}; wait until it has ended")
        await self._daemon.runs.start(name, Trigger.HAND)
