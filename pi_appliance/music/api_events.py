"""Changes of the player as server-sent events, with a buffer for clients that were disconnected.

Each change is read from the player once and encoded once, for any number of clients. It starts with
the first client and runs until the service ends, so that a phone that slept gets what it missed. It
is idle while nothing changes.
"""

import asyncio
import contextlib
import dataclasses
from collections.abc import Callable, Iterator
from typing import Any

from pi_appliance.errors import ApplianceError, Refused
from pi_appliance.music.model import player_values
from pi_appliance.music.player_hub import MusicDaemon, music_values
from pi_appliance.operations import Operation, text
from pi_appliance.web.params import Call
from pi_appliance.web.sse import EventStream, Listeners, ReplayBuffer, encode_event

STATE = "state"
_STATE_SUBSYSTEMS = ("player", "mixer", "options")
_EVENT_NAMES = {"playlist": "queue", "stored_playlist": "stored-playlist"}  # by the subsystem of MPD
_QUERIED_SUBSYSTEMS = ("output", "database", "update")  # their data is not part of the state
_LIBRARY_SUBSYSTEMS = {"database", "connection", "partition"}
_PROGRESS_INTERVAL = 1.0  # seconds between two reads of the progress of an update


class PlayerEvents:
    """The source of /api/v1/player/events. `monotonic` is a clock in seconds."""

    def __init__(self, daemon: MusicDaemon, monotonic: Callable[[], float]) -> None:
        self._daemon, self._monotonic = daemon, monotonic
        self._listeners, self._buffer = Listeners(), ReplayBuffer()
        self._tasks: list[asyncio.Task[None]] = []
        self._queries, self._query_pending = set[str](), asyncio.Event()
        self.library_version = 0
        """Changes whenever the library may have changed."""
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
        )

    async def _answer(self, call: Call) -> EventStream:
        last_id = call.request.headers.get("last-event-id") or call.arguments["after"] or ""
        return EventStream(self, self._buffer.position_of(last_id))

    @contextlib.contextmanager
    def listening(self) -> Iterator[asyncio.Event]:
        """Provide an event that is set whenever there are new events, and at the start."""
        self.begin()
        with self._listeners.register() as news:
            yield news

    def begin(self) -> None:
        """Follow the player from now on."""
        if not self._tasks and not self.closed:
            self._tasks = [asyncio.create_task(self._follow_player()), asyncio.create_task(self._run_queries())]

    def close(self) -> None:
        """End every stream."""
        self.closed = True
        for task in self._tasks:
            task.cancel()
        self._listeners.wake()

    def initial_events(self) -> bytes:
        """Return the clock that `at` uses, from which a client computes the age of an event."""
        return encode_event("hello", {"now": round(self._monotonic(), 3)})

    def next_events(self, place: int | None) -> tuple[bytes, int | None]:
        """Return the events after `place` and the new place; the whole state if it is too old."""
        events = None if place is None else self._buffer.events_after(place)
        if events is None:
            return encode_event(STATE, self._whole_state(), self._buffer.id), self._buffer.number
        return events

    async def _follow_player(self) -> None:
        # The first change comes at once. It is published, because something may have changed since
        # the first client connected. The cached library is kept, because nothing was cached before.
        is_first = True
        async for names in self._daemon.hub.watch_changes():
            if names & _LIBRARY_SUBSYSTEMS and not is_first:
                self.library_version += 1
            is_first = False
            self._publish(names)

    def _publish(self, names: frozenset[str]) -> None:
        for name in sorted(names - set(_QUERIED_SUBSYSTEMS), key=lambda name: (name != "connection", name)):
            self._buffer.add(_EVENT_NAMES.get(name, name), self._state_data(name))
        if queries := names & set(_QUERIED_SUBSYSTEMS):
            self._queries |= queries
            self._query_pending.set()
        self._listeners.wake()

    def _state_data(self, name: str) -> dict[str, Any]:
        state = self._daemon.hub.state
        match name:
            case "connection":
                return self._whole_state()
            case "playlist":
                return {"version": state.queue_version, "length": state.queue_length} if state else {}
            case "partition":
                return {"partition": state.partition} if state else {}
            case _ if name in _STATE_SUBSYSTEMS:
                return {"player": player_values(state) if state else None, "at": round(self._monotonic(), 3)}
        return {}

    def _whole_state(self) -> dict[str, Any]:
        return {**music_values(self._daemon.hub), "at": round(self._monotonic(), 3)}

    async def _run_queries(self) -> None:
        """Query values outside of the state after changes.

        During an update of the library, this is its progress.
        """
        tracks: int | None = None
        while True:
            state = self._daemon.hub.state
            shows_progress = state is not None and state.updating is not None and self._listeners
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(_PROGRESS_INTERVAL if shows_progress else None):
                    await self._query_pending.wait()
            self._query_pending.clear()
            names, self._queries = self._queries, set()
            for name in sorted(names or {"progress"}):
                with contextlib.suppress(ApplianceError):  # the event `connection` reports a lost player
                    data = await self._query(name)
                    if name != "progress" or data["tracks"] != tracks:
                        self._buffer.add("update" if name == "progress" else name, data)
                    tracks = data.get("tracks", tracks)
            self._listeners.wake()

    async def _query(self, name: str) -> dict[str, Any]:
        """Return the data of the event `name`; empty if the player lacks it.

        Raises ApplianceError.
        """
        player, data = await self._daemon.hub.player(), dict[str, Any]()
        with contextlib.suppress(Refused):
            if name == "output":
                data = {"outputs": await player.list_outputs()}
            else:
                data = dataclasses.asdict(await player.library_stats())
        if name in ("output", "database"):
            return data
        state = self._daemon.hub.state
        return {"updating": state.updating if state else None, "tracks": data.get("tracks")}
