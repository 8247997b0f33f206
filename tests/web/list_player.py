"""A player made of a list, and what the daemon's hub is to the page, over it."""

import asyncio
import dataclasses
from collections.abc import AsyncIterator, Callable, Sequence
from typing import Any

from pi_appliance.errors import Refused, Unavailable
from pi_appliance.model.music import Play, PlayerState, Queue, Track

SONG = Track(
    uri="a.ogg", title="Blue Train", artist="John Coltrane", album="Blue Train", duration=643.0, position=0, id=1
)
OTHER = Track(uri="b.ogg", title="Moment's Notice", artist="John Coltrane", duration=550.0, position=1, id=2)


class ListPlayer:
    """A player of a list of tracks; it makes no sound and no time passes."""

    def __init__(self, tracks: Sequence[Track] = (SONG, OTHER)) -> None:
        self.tracks = list(tracks)
        self.now = PlayerState(play=Play.PLAYING, track=self.tracks[0], elapsed=61.0, volume=40, queue_length=2)
        self.on_change: Callable[[], None] = lambda: None

    def become(self, **changes: Any) -> None:
        """Change the state, and tell."""
        self.now = dataclasses.replace(self.now, **changes)
        self.on_change()

    async def state(self) -> PlayerState:
        return self.now

    async def queue(self, start: int = 0, count: int = 100) -> Queue:
        return Queue(tracks=self.tracks[start : start + count], start=start, length=len(self.tracks))

    async def play(self, position: int | None = None) -> None:
        place = (self.now.track.position or 0 if self.now.track else 0) if position is None else position
        if place >= len(self.tracks):
            raise Refused(f"there is nothing at position {place}; the queue holds {len(self.tracks)}")
        self.become(play=Play.PLAYING, track=self.tracks[place])

    async def pause(self) -> None:
        self.become(play=Play.PAUSED)

    async def toggle(self) -> None:
        self.become(play=Play.PAUSED if self.now.play is Play.PLAYING else Play.PLAYING)

    async def stop(self) -> None:
        self.become(play=Play.STOPPED, elapsed=None)

    async def next(self) -> None:
        await self._go(1)

    async def previous(self) -> None:
        await self._go(-1)

    async def seek(self, seconds: float) -> None:
        self.become(elapsed=seconds)

    async def set_volume(self, volume: int) -> None:
        self.become(volume=volume)

    async def add(self, uri: str) -> Track:
        self.tracks.append(Track(uri=uri, position=len(self.tracks)))
        return self.tracks[-1]

    async def clear(self) -> None:
        self.tracks = []
        self.become(track=None)

    async def play_uri(self, uri: str, title: str = "") -> None:
        self.tracks = [Track(uri=uri, title=title, position=0)]
        self.become(play=Play.PLAYING, track=self.tracks[0], elapsed=0.0, queue_length=1)

    async def library(self, folder: str = "") -> Sequence[Track]:
        return [track for track in self.tracks if track.uri.startswith(folder)]

    async def changes(self) -> AsyncIterator[frozenset[str]]:
        yield frozenset({"player"})

    async def close(self) -> None:
        pass

    async def _go(self, step: int) -> None:
        place = (self.now.track.position or 0 if self.now.track else 0) + step
        await self.play(place % len(self.tracks))


class ListMusic:
    """What the daemon's hub is to the page, over a ListPlayer; without one it says `trouble`."""

    def __init__(self, player: ListPlayer | None, trouble: str = "") -> None:
        self.trouble, self.stand_in = trouble, False
        self.list_player = player
        self.watchers: set[asyncio.Event] = set()
        if player:
            player.on_change = self.tell

    @property
    def state(self) -> PlayerState | None:
        return self.list_player.now if self.list_player else None

    async def player(self) -> ListPlayer:
        if self.list_player is None:
            raise Unavailable(self.trouble)
        return self.list_player

    def tell(self) -> None:
        for each in self.watchers:
            each.set()

    async def watch(self) -> AsyncIterator[frozenset[str]]:
        news = asyncio.Event()
        news.set()
        self.watchers.add(news)
        try:
            while True:
                await news.wait()
                news.clear()
                yield frozenset({"player"})
        finally:
            self.watchers.discard(news)
