"""What changes at the player, as events: each with what a client needs, kept for those who missed it.

The player is asked once for each change, and its answer is written once, however many phones listen. The first listener
begins it; from then on it goes on as long as the service, so that a phone that slept can be told what it missed. It
costs nothing while nothing changes.
"""

import asyncio
import contextlib
from collections.abc import Callable, Iterator
from typing import Any

from pi_appliance.errors import ApplianceError, Refused
from pi_appliance.music import serializers
from pi_appliance.music.interface import MusicDaemon
from pi_appliance.operations import Operation, text
from pi_appliance.web.params import Call
from pi_appliance.web.sse import EventStream, Listeners, ReplayBuffer, encode_event

STATE = "state"
_OF_STATE = ("player", "mixer", "options")
_NAMES = {"playlist": "queue", "stored_playlist": "stored-playlist"}  # in our words, where MPD has others
_TO_BE_ASKED = ("output", "database", "update")  # what of them is new, the state does not tell
_OTHER_LIBRARY = {"database", "connection", "partition"}
_LOOK = 1.0  # seconds between two looks at an update that goes on


class PlayerEvents:
    """The source of /api/v1/player/events. STEADY is a clock in seconds that is never put forward or back."""

    def __init__(self, daemon: MusicDaemon, steady: Callable[[], float]) -> None:
        self._daemon, self._steady = daemon, steady
        self._listeners, self._ring = Listeners(), ReplayBuffer()
        self._tasks: list[asyncio.Task[None]] = []
        self._to_ask, self._some = set[str](), asyncio.Event()
        self.library_version = 0
        """Another one whenever what is in the library may be another."""
        self.closed = False

    def operation(self) -> Operation:
        """Return the operation that streams the events."""
        return Operation(
            method="GET",
            path="/player/events",
            summary="Stream the changes as server-sent events; continues after `Last-Event-ID` or `after` if possible.",
            handler=self._answer,
            arguments=(text("after", "the id of the last event that was received", 100, example="a1b2c3d4-17"),),
            media="text/event-stream",
            result="Events",
        )

    async def _answer(self, call: Call) -> EventStream:
        last = call.request.headers.get("last-event-id") or call.given["after"] or ""
        return EventStream(self, self.place(last))

    @contextlib.contextmanager
    def listening(self) -> Iterator[asyncio.Event]:
        """Give an event that is set whenever there is news; there is some at once."""
        self.begin()
        with self._listeners.register() as news:
            yield news

    def begin(self) -> None:
        """Follow the player from now on."""
        if not self._tasks and not self.closed:
            self._tasks = [asyncio.create_task(self._hear()), asyncio.create_task(self._ask())]

    def close(self) -> None:
        """End every stream."""
        self.closed = True
        for task in self._tasks:
            task.cancel()
        self._listeners.wake()

    def place(self, told: str) -> int | None:
        """Return where to go on for who heard the event TOLD last; None if what came since is not known."""
        return self._ring.position_of(told)

    def initial_events(self) -> bytes:
        """Return what time it is by the clock of `at`: a client may tell from it how old an event is."""
        return encode_event("hello", {"now": round(self._steady(), 3)})

    def next_events(self, place: int | None) -> tuple[bytes, int | None]:
        """Return what came after PLACE; for None, and for who is too far behind, everything as it is now."""
        found = None if place is None else self._ring.events_after(place)
        if found is None:
            return encode_event(STATE, self._everything(), self._ring.id), self._ring.number
        return found

    async def _hear(self) -> None:
        # The first names come at once and are told, too: something may have changed since the first listener came.
        # Nobody has kept anything of the library before that.
        first = True
        async for names in self._daemon.hub.watch_changes():
            if names & _OTHER_LIBRARY and not first:
                self.library_version += 1
            first = False
            self._tell(names)

    def _tell(self, names: frozenset[str]) -> None:
        for name in sorted(names - set(_TO_BE_ASKED), key=lambda name: (name != "connection", name)):
            self._ring.add(_NAMES.get(name, name), self._data(name))
        if asked := names & set(_TO_BE_ASKED):
            self._to_ask |= asked
            self._some.set()
        self._listeners.wake()

    def _data(self, name: str) -> dict[str, Any]:
        state = self._daemon.hub.state
        match name:
            case "connection":
                return self._everything()
            case "playlist":
                return {"version": state.queue_version, "length": state.queue_length} if state else {}
            case "partition":
                return {"partition": state.partition} if state else {}
            case _ if name in _OF_STATE:
                return {"player": serializers.player(state), "at": round(self._steady(), 3)}
        return {}

    def _everything(self) -> dict[str, Any]:
        return {**serializers.music(self._daemon.hub), "at": round(self._steady(), 3)}

    async def _ask(self) -> None:
        """Ask for what the state does not tell; while an update goes on and somebody listens, how far it is."""
        tracks: int | None = None
        while True:
            state = self._daemon.hub.state
            watched = state is not None and state.updating is not None and self._listeners
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._some.wait(), _LOOK if watched else None)
            self._some.clear()
            names, self._to_ask = self._to_ask, set()
            for name in sorted(names or {"progress"}):
                with contextlib.suppress(ApplianceError):  # it is lost just now: `connection` tells
                    data = await self._asked(name)
                    if name != "progress" or data["tracks"] != tracks:
                        self._ring.add("update" if name == "progress" else name, data)
                    tracks = data.get("tracks", tracks)
            self._listeners.wake()

    async def _asked(self, name: str) -> dict[str, Any]:
        """Return the data of the event NAME, as far as this player tells. Raises ApplianceError if it is away."""
        player, found = await self._daemon.hub.player(), dict[str, Any]()
        with contextlib.suppress(Refused):
            if name == "output":
                found = {"outputs": [serializers.output(each) for each in await player.list_outputs()]}
            else:
                found = serializers.stats(await player.library_stats())
        if name in ("output", "database"):
            return found
        state = self._daemon.hub.state
        return {"updating": state.updating if state else None, "tracks": found.get("tracks")}
