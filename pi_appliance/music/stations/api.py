"""The API of the stations: those of the owner's file and the household's own."""

import asyncio

from pi_appliance.music import serializers
from pi_appliance.music.model import Station
from pi_appliance.music.player_commands import play_station
from pi_appliance.operations import Operation, boolean, integer, text
from pi_appliance.web.actions import Actions
from pi_appliance.web.interface import Daemon
from pi_appliance.web.params import Call

_KEYS = (
    text("name", "what to call it; capitals do not count", 200, required=True),
    text("url", "of its stream, or of a list of streams (.m3u, .m3u8, .pls)", 2000, required=True),
    text("genre", "what it plays", 200, default=""),
    text("country", "where it comes from", 200, default=""),
    boolean("check", "whether its address is tried first", default=True),
)
_WINDOW = (
    integer("start", "the first one, counted from 0", 0, 10_000_000, default=0, example=0),
    integer("count", "how many at the most", 1, 5000, default=5000, example=50),
)
_EXAMPLE = {"name": "Groove", "url": "http://radio.example/groove", "genre": "Jazz", "check": False}


class StationApi:
    """The endpoints under /stations."""

    def __init__(self, daemon: Daemon, actions: Actions) -> None:
        self._daemon, self._actions = daemon, actions

    def endpoints(self) -> list[Operation]:
        """Return every row."""
        one = "/stations/{station}"
        return [
            Operation(
                method="GET",
                path="/stations",
                summary="The stations, the household's own first.",
                handler=self.all,
                arguments=_WINDOW,
                result="Stations",
            ),
            Operation(
                method="GET",
                path="/stations/removed",
                summary="The stations of the owner's file that were removed or edited, as they are in it.",
                handler=self.gone,
                result="RemovedStations",
            ),
            Operation(
                method="POST",
                path="/stations",
                summary="Add a station.",
                handler=self.add,
                arguments=_KEYS,
                result="Station",
                status=201,
                example={**_EXAMPLE, "name": "Radio X"},
            ),
            Operation(
                method="PUT",
                path=one,
                summary="Edit a station, its name too. The owner's file stays as it is.",
                handler=self.edit,
                arguments=_KEYS,
                result="Station",
                example={**_EXAMPLE, "station": "Groove", "genre": "Soul"},
            ),
            Operation(
                method="DELETE",
                path=one,
                summary="Remove a station. One of the owner's file is hidden.",
                handler=self.remove,
                result="Removed",
                example={"station": "Groove"},
            ),
            Operation(
                method="POST",
                path=f"{one}/restore",
                summary="Bring back a station of the owner's file that was removed or edited.",
                handler=self.restore,
                result="Station",
                example={"station": "Quiet"},
            ),
            Operation(
                method="POST",
                path=f"{one}/play",
                summary="Play it, in place of the queue.",
                handler=self.play,
                example={"station": "Groove"},
            ),
        ]

    async def all(self, call: Call) -> object:
        """Return the stations."""
        start, count = call.given["start"], call.given["count"]
        return [serializers.shown_station(each) for each in self._actions.stations.shown()[start : start + count]]

    async def gone(self, _: Call) -> object:
        """Return those that could be brought back."""
        return [serializers.station(each) for each in self._actions.stations.gone()]

    async def add(self, call: Call) -> object:
        """Add one, once its address has answered."""
        check = call.given["check"]
        return serializers.station(await asyncio.to_thread(self._actions.stations.add, _station(call), check=check))

    async def edit(self, call: Call) -> object:
        """Let it be as given."""
        check = call.given["check"]
        return serializers.station(
            await asyncio.to_thread(self._actions.stations.edit, call.path["station"], _station(call), check=check)
        )

    async def remove(self, call: Call) -> object:
        """Take it away."""
        await asyncio.to_thread(self._actions.stations.remove, call.path["station"])
        return {"removed": call.path["station"]}

    async def restore(self, call: Call) -> object:
        """Bring it back."""
        return serializers.station(await asyncio.to_thread(self._actions.stations.restore, call.path["station"]))

    async def play(self, call: Call) -> object:
        """Play it."""
        await play_station(self._daemon.hub, self._actions.stations, call.path["station"])
        return serializers.music(self._daemon.hub, await (await self._daemon.hub.player()).state())


def _station(call: Call) -> Station:
    return Station(**{name: call.given[name] for name in ("name", "url", "genre", "country")})
