"""The API of the stations: those of the owner's file and the household's own."""

import asyncio

from pi_appliance.music import serializers
from pi_appliance.music.model import Station
from pi_appliance.music.player_commands import play_station
from pi_appliance.web.actions import Actions
from pi_appliance.web.interface import Daemon
from pi_appliance.web.params import Call, Endpoint, boolean, integer, text

_KEYS = (
    text("name", "what to call it; capitals do not count", 200, needed=True),
    text("url", "of its stream, or of a list of streams (.m3u, .m3u8, .pls)", 2000, needed=True),
    text("genre", "what it plays", 200, otherwise=""),
    text("country", "where it comes from", 200, otherwise=""),
    boolean("check", "whether its address is tried first", otherwise=True),
)
_WINDOW = (
    integer("start", "the first one, counted from 0", 0, 10_000_000, otherwise=0, example=0),
    integer("count", "how many at the most", 1, 5000, otherwise=5000, example=50),
)
_EXAMPLE = {"name": "Groove", "url": "http://radio.example/groove", "genre": "Jazz", "check": False}


class StationApi:
    """The endpoints under /stations."""

    def __init__(self, daemon: Daemon, actions: Actions) -> None:
        self._daemon, self._actions = daemon, actions

    def endpoints(self) -> list[Endpoint]:
        """Return every row."""
        one = "/stations/{name}"
        return [
            Endpoint(
                method="GET",
                path="/stations",
                what="The stations, the household's own first.",
                act=self.all,
                query=_WINDOW,
                answer="Stations",
            ),
            Endpoint(
                method="GET",
                path="/stations/removed",
                what="The stations of the owner's file that were removed or edited, as they are in it.",
                act=self.gone,
                answer="RemovedStations",
            ),
            Endpoint(
                method="POST",
                path="/stations",
                what="Add a station.",
                act=self.add,
                body=_KEYS,
                answer="Station",
                status=201,
                example={**_EXAMPLE, "name": "Radio X"},
            ),
            Endpoint(
                method="PUT",
                path=one,
                what="Edit a station, its name too. The owner's file stays as it is.",
                act=self.edit,
                body=_KEYS,
                answer="Station",
                example={**_EXAMPLE, "genre": "Soul"},
            ),
            Endpoint(
                method="DELETE",
                path=one,
                what="Remove a station. One of the owner's file is hidden.",
                act=self.remove,
                answer="Removed",
                example={"name": "Groove"},
            ),
            Endpoint(
                method="POST",
                path=f"{one}/restore",
                what="Bring back a station of the owner's file that was removed or edited.",
                act=self.restore,
                answer="Station",
                example={"name": "Quiet"},
            ),
            Endpoint(
                method="POST",
                path=f"{one}/play",
                what="Play it, in place of the queue.",
                act=self.play,
                example={"name": "Groove"},
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
            await asyncio.to_thread(self._actions.stations.edit, call.path["name"], _station(call), check=check)
        )

    async def remove(self, call: Call) -> object:
        """Take it away."""
        await asyncio.to_thread(self._actions.stations.remove, call.path["name"])
        return {"removed": call.path["name"]}

    async def restore(self, call: Call) -> object:
        """Bring it back."""
        return serializers.station(await asyncio.to_thread(self._actions.stations.restore, call.path["name"]))

    async def play(self, call: Call) -> object:
        """Play it."""
        await play_station(self._daemon.hub, self._actions.stations, call.path["name"])
        return serializers.music(self._daemon.hub, await (await self._daemon.hub.player()).state())


def _station(call: Call) -> Station:
    return Station(**{name: call.given[name] for name in ("name", "url", "genre", "country")})
