"""A player in memory with virtual time, whose streams can fail, stall or end."""

import asyncio
import dataclasses
import sys
from collections.abc import AsyncIterator, Collection, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from pi_appliance import plugins
from pi_appliance.config.options import PluginConfig
from pi_appliance.errors import Refused, Unavailable
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
    Uri,
)
from pi_appliance.music.player import Player
from tests.fakes.driven_time import DrivenTime

ALL = frozenset({Capability.VOLUME, Capability.SEEK, Capability.REMOVE, Capability.NEXT})
DURATION = 5000.0  # seconds of a file


class SoftPlayer(Player):
    """A player of a list. `commands` lists all commands in order."""

    def __init__(self, time: DrivenTime, uris: Sequence[str] = (), *, volume: int | None = 50) -> None:
        self.time, self.volume, self.supported = time, volume, ALL
        self.tracks = list[Track]()
        self.version, self._ids = 1, 0
        self.play_state, self.current, self.error = PlaybackState.STOPPED, None, ""
        self.modes: dict[str, Any] = {"repeat": False, "random": False, "single": Mode.OFF, "consume": Mode.OFF}
        self.broken_uris, self.unknown = set[str](), set[str]()
        self.is_unreachable, self.stalled = False, False
        self.fails_at_once = False  # add_source already refuses `broken_uris`
        self.rounds_up = 0
        self.commands = list[str]()
        self.max_volume = 0  # the highest volume during playback
        self._began, self._at = 0.0, 0.0
        self._listeners = list[asyncio.Queue[frozenset[str] | None]]()
        for uri in uris:
            self._append(uri, "", len(self.tracks))

    current: int | None

    # Controls of the test.

    def notify(self, *names: str) -> None:
        for listener in self._listeners:
            listener.put_nowait(frozenset(names))

    def change_volume(self, volume: int) -> None:
        """Change the volume from outside."""
        self.volume = volume
        self._note_loudness()
        self.notify("mixer")

    def stall(self) -> None:
        """Stall the stream without an error."""
        self._began, self.stalled = self._elapsed() or 0.0, True

    def fail(self, why: str = "the stream broke") -> None:
        """End the stream with an error."""
        self.play_state, self.error = PlaybackState.STOPPED, why
        self.notify("player")

    def end(self) -> None:
        """End the last track."""
        self.play_state, self.current = PlaybackState.STOPPED, None
        self.notify("player")

    def change_playback(self, play: PlaybackState) -> None:
        """Change the playback from outside."""
        self._began, self._at = self._elapsed() or 0.0, self.time.monotonic_time
        self.play_state, self.error = play, ""
        self._note_loudness()
        self.notify("player")

    def disconnect(self) -> None:
        """Make it unreachable."""
        self.is_unreachable = True
        for listener in self._listeners:
            listener.put_nowait(None)

    def restart(self, *, volume: int | None = None) -> None:
        """Make it reachable again, without its former state."""
        self.tracks, self.version, self.play_state, self.current, self.error = [], 1, PlaybackState.STOPPED, None, ""
        self.volume, self.is_unreachable = self.volume if volume is None else volume, False

    # The interface.

    async def state(self) -> PlayerState:
        self._require_connection()
        track = None if self.current is None else self.tracks[self.current]
        return PlayerState(
            playback=self.play_state,
            track=track,
            elapsed=self._elapsed(),
            volume=self.volume,
            queue_length=len(self.tracks),
            queue_version=self.version,
            error=self.error,
            **self.modes,
        )

    async def capabilities(self) -> frozenset[Capability]:
        self._require_connection()
        return self.supported

    async def play(self, position: int | None = None, *, at: float = 0.0) -> None:
        self._execute(f"play {position}" if position is not None else "play")
        if not self.tracks:
            raise Refused("the queue is empty")
        if position is None and self.play_state is PlaybackState.PAUSED:
            self.change_playback(PlaybackState.PLAYING)
        else:
            self._play(position if position is not None else self.current or 0)
        if at:
            await self.seek(at)

    async def play_id(self, id: int) -> None:  # noqa: A002 - MPD's word
        self._execute(f"play_id {id}")
        self._play(self._position(id))

    async def pause(self) -> None:
        self._execute("pause")
        if self.play_state is PlaybackState.PLAYING:
            self.change_playback(PlaybackState.PAUSED)

    async def toggle(self) -> None:
        self._execute("toggle")
        self.change_playback(
            PlaybackState.PAUSED if self.play_state is PlaybackState.PLAYING else PlaybackState.PLAYING
        )

    async def stop(self) -> None:
        self._execute("stop")
        self.change_playback(PlaybackState.STOPPED)

    async def next(self) -> None:
        self._execute("next")
        self._play((self.current or 0) + 1)

    async def seek(self, seconds: float) -> None:
        self._execute(f"seek {seconds:g}")
        self._began, self._at = seconds, self.time.monotonic_time
        self.notify("player")

    async def set_volume(self, volume: int) -> None:
        self._execute(f"volume {volume}")
        self.change_volume(volume + self.rounds_up)

    async def set_mute(self, on: bool) -> None:
        self._execute(f"mute {on}")

    async def set_modes(self, **modes: Any) -> None:
        self._execute("modes")
        self.modes.update({name: value for name, value in modes.items() if value is not None})
        self.notify("options")

    async def list_queue(self, start: int = 0, count: int = 100) -> Queue:
        self._require_connection()
        tracks = self.tracks[start : start + count]
        return Queue(tracks=tracks, start=start, length=len(self.tracks), version=self.version)

    async def add_source(
        self, source: Source, where: QueuePosition = QueuePosition.END, *, play: bool = False
    ) -> AddResult:
        assert isinstance(source, Uri)
        self._execute(f"add {source.uri} {where}{' play' if play else ''}")
        if source.uri in self.unknown:
            raise Refused(f"there is no {source.uri}")
        if where is QueuePosition.REPLACE:
            self.tracks, self.current = [], None
        position = len(self.tracks) if where is not QueuePosition.NEXT else (self.current or 0) + 1
        self._append(source.uri, source.title, position)
        if play:
            self._play(position)
        self.notify("playlist")
        return AddResult(name=source.title or source.uri, position=position, count=1)

    async def remove_tracks(self, ids: Collection[int]) -> None:
        self._execute(f"remove {sorted(ids)}")
        now = None if self.current is None else self.tracks[self.current].id
        self._load_tracks([track for track in self.tracks if track.id not in ids])
        self.current = next((track.position for track in self.tracks if track.id == now), None)
        self.notify("playlist")

    async def clear_queue(self) -> None:
        self._execute("clear")
        self._load_tracks([])
        self.play_state, self.current = PlaybackState.STOPPED, None
        self.notify("playlist", "player")

    async def watch_changes(self) -> AsyncIterator[frozenset[str]]:
        self._require_connection()
        changes = asyncio.Queue[frozenset[str] | None]()
        self._listeners.append(changes)
        try:
            yield frozenset({"player", "mixer", "playlist", "options"})
            while (names := await changes.get()) is not None:
                yield names
            raise Unavailable("the player hung up")
        finally:
            self._listeners.remove(changes)

    async def close(self) -> None:
        pass

    def _require_connection(self) -> None:
        if self.is_unreachable:
            raise Unavailable("the player is not reached")

    def _execute(self, command: str) -> None:
        self._require_connection()
        self.commands.append(command)

    def _play(self, position: int) -> None:
        if not 0 <= position < len(self.tracks):
            raise Refused("there is no such track")
        self.current, self.stalled = position, False
        if self.tracks[position].uri in self.broken_uris:
            self.fail("cannot connect")
            if self.fails_at_once:
                raise Refused("cannot connect")
            return None
        self.play_state, self.error, self._began, self._at = PlaybackState.PLAYING, "", 0.0, self.time.monotonic_time
        self._note_loudness()
        return self.notify("player")

    def _elapsed(self) -> float | None:
        if self.play_state is PlaybackState.STOPPED:
            return None
        if self.play_state is PlaybackState.PAUSED or self.stalled:
            return self._began
        return self._began + self.time.monotonic_time - self._at

    def _append(self, uri: str, title: str, position: int) -> None:
        self._ids += 1
        duration = None if "://" in uri else DURATION
        track = Track(uri=uri, title=title, id=self._ids, duration=duration)
        self._load_tracks([*self.tracks[:position], track, *self.tracks[position:]])

    def _load_tracks(self, tracks: Sequence[Track]) -> None:
        self.tracks = [dataclasses.replace(track, position=number) for number, track in enumerate(tracks)]
        self.version += 1

    def _position(self, id: int) -> int:  # noqa: A002 - MPD's word
        for number, track in enumerate(self.tracks):
            if track.id == id:
                return number
        raise Refused("it is gone from the queue")

    def _note_loudness(self) -> None:
        if self.play_state is PlaybackState.PLAYING:
            self.max_volume = max(self.max_volume, self.volume or 0)


@contextmanager
def registered_soft_kind() -> Iterator[None]:
    """Register `kind: soft` during the block."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "path", [str(Path(__file__).parent / "plugins"), *sys.path])
        plugins.forget_installed()
        yield
    plugins.forget_installed()


def soft_player_config(player: SoftPlayer) -> PluginConfig:
    """Return the configuration of `player`."""
    return PluginConfig(kind="soft", options=player)
