"""Commands to the player."""

from collections.abc import Callable
from datetime import datetime

from pi_appliance.errors import UnknownName
from pi_appliance.music.stations.service import Stations
from pi_appliance.operations import MODULES, Operation, operations_in
from pi_appliance.web.interface import Daemon, Services
from pi_appliance.web.params import Given


def player_commands() -> dict[str, Operation]:
    """Return the operations at POST /player/NAME by their names."""
    found = {
        each.path.removeprefix("/player/"): each for each in operations_in(*MODULES["music"]) if each.method == "POST"
    }
    return {name: each for name, each in found.items() if "/" not in name}


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
        """Run the operation `command` on the player. Raises UnknownName, and what the operation raises."""
        operation = player_commands().get(command)
        if operation is None:
            raise UnknownName("command of the player", command, list(player_commands()))
        await operation.load_handler()(Services(self._daemon, self), operation.parse(given))
