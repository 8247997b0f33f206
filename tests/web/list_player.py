"""A player made of lists, and a hub over it."""

import asyncio
import dataclasses
import itertools
from collections.abc import AsyncIterator, Callable, Collection, Sequence
from typing import Any

from pi_appliance.errors import Refused, Unavailable
from pi_appliance.music import model
from pi_appliance.music.model import (
    AddResult,
    Capability,
    Mode,
    PlaybackState,
    PlayerState,
    Queue,
    QueuePosition,
    Source,
    Track,
)
from pi_appliance.music.player import Player
from pi_appliance.music.player_settings import PlayerSetting
from tests.web.list_library import ListLibrary

COLTRANE = "John Coltrane"
SONG = Track(
    uri="a.ogg", title="Blue Train", artist=COLTRANE, album="Blue Train", duration=643.0, genre="Jazz", position=0, id=1
)
OTHER = Track(
    uri="b.ogg", title="Moment's Notice", artist=COLTRANE, album="Blue Train", duration=550.0, position=1, id=2
)
LIBRARY = (
    Track(uri="Albums/Kind of Blue/1.ogg", title="So What", artist="Miles Davis", album="Kind of Blue", genre="Jazz"),
    Track(uri="Albums/Kind of Blue/2.ogg", title="Blue in Green", artist="Miles Davis", album="Kind of Blue"),
)


class ListPlayer(ListLibrary):
    """A player of a list of tracks; it makes no sound and no time passes."""

    def __init__(self, tracks: Sequence[Track] = (SONG, OTHER), library: Sequence[Track] = LIBRARY) -> None:
        super().__init__([*tracks, *library])
        self.tracks = list(tracks)
        self._ids = itertools.count(max((track.id or 0 for track in tracks), default=0) + 1)
        first = self.tracks[0] if self.tracks else None
        self.now = PlayerState(
            playback=PlaybackState.PLAYING,
            track=first,
            elapsed=61.0,
            volume=40,
            queue_length=len(tracks),
            partition="default",
        )
        self.on_change: Callable[[frozenset[str]], None] = lambda _: None
        self.priorities: dict[int, int] = {}
        self.loudest = 100

    def set_state(self, **changes: Any) -> None:
        """Change the state and notify."""
        self.changed("player", **changes)

    def changed(self, *names: str, **state: Any) -> None:
        """Set `state` and notify about `names`."""
        self.now = dataclasses.replace(self.now, **state)
        self.on_change(frozenset(names))

    async def state(self) -> PlayerState:
        return self.now

    async def play(self, position: int | None = None, *, at: float = 0.0) -> None:
        place = self._place if position is None else position
        if place >= len(self.tracks):
            raise Refused(f"there is nothing at position {place}; the queue holds {len(self.tracks)}")
        elapsed = self.now.elapsed if position is None else at
        self.set_state(playback=PlaybackState.PLAYING, track=self.tracks[place], elapsed=elapsed or 0.0)

    async def play_id(self, id: int) -> None:  # noqa: A002 - MPD's word
        await self.play(self._at_id(id))

    async def pause(self) -> None:
        if self.now.playback is PlaybackState.PLAYING:
            self.set_state(playback=PlaybackState.PAUSED)

    async def toggle(self) -> None:
        await (self.pause() if self.now.playback is PlaybackState.PLAYING else self.play())

    async def stop(self) -> None:
        self.set_state(playback=PlaybackState.STOPPED, elapsed=None)

    async def next(self) -> None:
        await self._go(1)

    async def previous(self) -> None:
        await self._go(-1)

    async def seek(self, seconds: float) -> None:
        self.need(Capability.SEEK)
        self.set_state(elapsed=seconds)

    async def set_volume(self, volume: int) -> None:
        if self.now.volume is None:
            raise Refused("this player has no volume to set; set it on the amplifier")
        if (volume := min(volume, self.loudest)) != self.now.volume:
            self.changed("mixer", volume=volume)

    async def set_mute(self, on: bool) -> None:
        self.need(Capability.MUTE)
        self.changed("mixer", muted=on)

    async def set_modes(
        self,
        *,
        repeat: bool | None = None,
        random: bool | None = None,
        single: Mode | None = None,
        consume: Mode | None = None,
    ) -> None:
        given = {"repeat": repeat, "random": random, "single": single, "consume": consume}
        self.changed("options", **{name: value for name, value in given.items() if value is not None})

    async def change_setting(self, setting: PlayerSetting, value: Any) -> None:
        self.need(Capability(setting.name))
        self.changed("options", **{setting.field: value})

    async def list_queue(self, start: int = 0, count: int = 100) -> Queue:
        result = self.tracks[start : start + count]
        return Queue(tracks=result, start=start, length=len(self.tracks), version=self.now.queue_version)

    async def add_source(
        self, source: Source, where: QueuePosition = QueuePosition.END, *, play: bool = False
    ) -> AddResult:
        if where is QueuePosition.NEXT:
            self.need(Capability.NEXT)
        new = [dataclasses.replace(track, id=next(self._ids)) for track in self.tracks_of(source)]
        old = [] if where is QueuePosition.REPLACE else self.tracks
        place = self._place + 1 if where is QueuePosition.NEXT and self.now.track else len(old)
        self._set_queue([*old[:place], *new, *old[place:]])
        if play:
            await self.play(place)
        return AddResult(name=model.describe_source(source), position=place, count=len(new))

    async def move_track(self, id: int, to: int) -> None:  # noqa: A002 - MPD's word
        self.need(Capability.MOVE)
        tracks = list(self.tracks)
        track = tracks.pop(self._at_id(id))
        if to > len(tracks):
            raise Refused(f"there is no position {to}; the queue holds {len(self.tracks)}")
        tracks.insert(to, track)
        self._set_queue(tracks)

    async def remove_tracks(self, ids: Collection[int]) -> None:
        self.need(Capability.REMOVE)
        self._set_queue([track for track in self.tracks if track.id not in ids])

    async def set_priority(self, ids: Collection[int], priority: int) -> None:
        self.need(Capability.PRIORITY)
        self.priorities |= dict.fromkeys(ids, priority)

    async def clear_queue(self) -> None:
        self._set_queue([])

    async def shuffle_queue(self) -> None:
        self.need(Capability.SHUFFLE)
        self._set_queue(self.tracks[::-1])  # an order that no dice chose is one, too

    async def save_queue(self, name: str, *, replace: bool = False) -> None:
        self.need(Capability.SAVE)
        if name in self.saved and not replace:
            raise Refused(f"there is a playlist {name!r} already")
        self.saved[name] = list(self.tracks)
        self.changed("stored_playlist")

    async def watch_changes(self) -> AsyncIterator[frozenset[str]]:
        yield frozenset({"player"})

    async def close(self) -> None:
        pass

    @property
    def _place(self) -> int:
        return self.now.track.position or 0 if self.now.track else 0

    def _at_id(self, number: int) -> int:
        place = next((place for place, track in enumerate(self.tracks) if track.id == number), None)
        if place is None:
            raise Refused(f"the track {number} is gone from the queue")
        return place

    def _set_queue(self, tracks: Sequence[Track]) -> None:
        """Replace the queue by `tracks`; the current track continues if it is among them."""
        self.tracks = [dataclasses.replace(track, position=place) for place, track in enumerate(tracks)]
        current = next((each for each in self.tracks if self.now.track and each.id == self.now.track.id), None)
        gone = {} if current or not self.now.track else {"playback": PlaybackState.STOPPED, "elapsed": None}
        version = self.now.queue_version + 1
        self.changed("playlist", "player", track=current, queue_length=len(self.tracks), queue_version=version, **gone)

    async def _go(self, step: int) -> None:
        if self.tracks:
            await self.play((self._place + step) % len(self.tracks))


_: type[Player] = ListPlayer  # a new method of the interface is added here, too


class ListMusic:
    """A hub over a `ListPlayer`; without one it has an `error`."""

    def __init__(self, player: ListPlayer | None, error: str = "") -> None:
        self.error, self.status_text, self.uses_fallback = error, "", False
        self.list_player, self.reconnects = player, 0
        self.watchers: dict[asyncio.Event, set[str]] = {}
        if player:
            player.on_change = self.notify

    @property
    def state(self) -> PlayerState | None:
        return self.list_player.now if self.list_player else None

    @property
    def capabilities(self) -> frozenset[Capability]:
        return frozenset(self.list_player.can if self.list_player else ())

    async def player(self) -> ListPlayer:
        if self.list_player is None:
            raise Unavailable(self.error)
        return self.list_player

    def reconnect_now(self) -> None:
        self.reconnects += 1

    def notify(self, names: frozenset[str] = frozenset({"connection"})) -> None:
        for event, pending in self.watchers.items():
            pending.update(names)
            event.set()

    async def watch_changes(self) -> AsyncIterator[frozenset[str]]:
        changed, changed_names = asyncio.Event(), {"connection"}
        changed.set()
        self.watchers[changed] = changed_names
        try:
            while True:
                await changed.wait()
                changed.clear()
                names = frozenset(changed_names)
                changed_names.clear()
                yield names
        finally:
            del self.watchers[changed]
