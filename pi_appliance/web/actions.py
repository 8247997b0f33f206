"""Commands to the player."""

from collections.abc import Callable
from datetime import datetime

from pi_appliance.music import player_commands
from pi_appliance.music.stations.service import Stations
from pi_appliance.web.interface import Daemon
from pi_appliance.web.params import Given


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
