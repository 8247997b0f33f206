"""A player in virtual time, with faulty streams, user input, and a record of its volumes."""

from collections.abc import AsyncIterator, Callable, Collection
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

from pi_appliance.errors import Refused, Unavailable
from pi_appliance.music.model import (
    AddResult,
    Capability,
    Mode,
    PlaybackState,
    PlayerState,
    Queue,
    QueuePosition,
    SavedPlaylist,
    Source,
    Track,
    Uri,
)
from pi_appliance.music.player import Player
from pi_appliance.system.clock import Timestamp

ALL = frozenset(Capability)


class RunKilled(BaseException):
    """The run is killed."""


@dataclass
class Timeline:
    """The clocks of a test, which advance only during a sleep."""

    wall: datetime
    monotonic_time: float = 1000.0
    boot: str = "boot-1"
    events: list[tuple[float, Callable[[], object]]] = field(default_factory=list)
    kill_at: float | None = None

    def timestamp(self) -> Timestamp:
        return Timestamp(self.wall, self.monotonic_time, self.boot)

    def at(self, seconds: float, event: Callable[[], object]) -> None:
        """Call `event` after `seconds`."""
        self.events.append((self.monotonic_time + seconds, event))

    def kill_after(self, seconds: float) -> None:
        """Kill the run after `seconds`."""
        self.kill_at = self.monotonic_time + seconds

    def advance(self, seconds: float) -> None:
        """Advance the time by `seconds` with all events. Raises `RunKilled`."""
        end = self.monotonic_time + seconds
        while True:
            events = sorted((each for each in self.events if each[0] <= end), key=lambda each: each[0])
            stop = end if self.kill_at is None else min(end, self.kill_at)
            if not events or events[0][0] > stop:
                self._move(stop)
                if self.kill_at is not None and stop >= self.kill_at:
                    self.kill_at = None
                    raise RunKilled
                return
            self.events.remove(events[0])
            self._move(events[0][0])
            events[0][1]()

    def _move(self, monotonic_time: float) -> None:
        self.wall += timedelta(seconds=max(0.0, monotonic_time - self.monotonic_time))
        self.monotonic_time = max(self.monotonic_time, monotonic_time)


@dataclass
class Sound:
    """The stream or file of an address: its duration and faults."""

    duration: float | None = None  # seconds; None for a stream
    error: str = ""  # the player's error, if it cannot be played
    silent: bool = False  # it is opened, but sends no data
    stalls_after: float | None = None  # seconds after which no more data arrives
    ends_after: float | None = None  # seconds after which it ends without an error
    title: str = ""
    album: str = ""


class TimedPlayer(Player):
    """A player in memory with the time of a `Timeline`. `max_volume` is the volume limit."""

    def __init__(self, time: Timeline, sounds: dict[str, Sound] | None = None, *, volume: int | None = 60) -> None:
        self.time, self.sounds = time, sounds or {}
        self.max_volume = 100
        self.is_unreachable = False  # every command raises Unavailable
        self.fault: Exception | None = None  # every command raises it
        self.supported = ALL
        self.volumes: list[tuple[float, int, bool]] = []  # (time, volume, whether it played)
        self.commands: list[str] = []
        self.tracks: list[Track] = []
        self.current: int | None = None
        self.now = PlayerState(playback=PlaybackState.STOPPED, volume=volume)
        self._ids = 0
        self._unmuted = volume
        self._elapsed, self._since = 0.0, time.monotonic_time

    # Controls of the test

    def change_volume(self, volume: int) -> None:
        """Change the volume as a user."""
        self.now = replace(self.now, volume=volume)
        self._note()

    def fill(self, *uris: str, play: bool = True, elapsed: float = 0.0) -> None:
        """Replace the queue by `uris` and play the first."""
        self.tracks = [self._track(uri) for uri in uris]
        self.current = 0 if uris else None
        self._go(PlaybackState.PLAYING if play else PlaybackState.STOPPED, elapsed)

    def change_playback(self, play: PlaybackState) -> None:
        """Change the playback as a user."""
        self._go(play, self._position() if play is not PlaybackState.STOPPED else 0.0)

    def restart(self, *, volume: int = 100) -> None:
        """Restart the player without its former state."""
        self.tracks, self.current, self.is_unreachable = [], None, False
        self.now = PlayerState(playback=PlaybackState.STOPPED, volume=volume)

    # The interface

    async def state(self) -> PlayerState:
        self._reach()
        self._pass()
        track = None if self.current is None else replace(self.tracks[self.current], position=self.current)
        elapsed = None if track is None or self.now.playback is PlaybackState.STOPPED else self._position()
        return replace(self.now, track=track, elapsed=elapsed, queue_length=len(self.tracks))

    async def capabilities(self) -> frozenset[Capability]:
        self._reach()
        return self.supported

    async def play(self, position: int | None = None, *, at: float = 0.0) -> None:
        self._reach()
        if not self.tracks:
            raise Refused("the queue is empty")
        again = position is None and self.now.playback is PlaybackState.PAUSED
        elapsed = self._position() if again else at
        self.current = self.current or 0 if position is None else position
        self.commands.append("play")
        self._go(PlaybackState.PLAYING, elapsed)

    async def play_id(self, id: int) -> None:  # noqa: A002 - the port's word
        self._reach()
        await self.play(next(number for number, each in enumerate(self.tracks) if each.id == id))

    async def pause(self) -> None:
        self._reach()
        self._pass()
        if self.now.playback is PlaybackState.PLAYING:
            self.commands.append("pause")
            self._go(PlaybackState.PAUSED, self._position())

    async def stop(self) -> None:
        self._reach()
        self.commands.append("stop")
        self._go(PlaybackState.STOPPED, 0.0)

    async def seek(self, seconds: float) -> None:
        self._reach()
        self._elapsed, self._since = seconds, self.time.monotonic_time

    async def set_volume(self, volume: int) -> None:
        self._reach()
        self._pass()
        if self.now.volume is None:
            raise Refused("no mixer")
        self.now = replace(self.now, volume=min(volume, self.max_volume))
        self._note()

    async def set_mute(self, on: bool) -> None:
        self._reach()
        if on != self.now.muted:  # as the appliance mutes: by the volume
            before, self._unmuted = self._unmuted, self.now.volume
            self.now = replace(self.now, muted=on, volume=0 if on else before)
        self._note()

    async def set_modes(
        self,
        *,
        repeat: bool | None = None,
        random: bool | None = None,
        single: Mode | None = None,
        consume: Mode | None = None,
    ) -> None:
        self._reach()
        wanted = {"repeat": repeat, "random": random, "single": single, "consume": consume}
        self.now = replace(self.now, **{name: mode for name, mode in wanted.items() if mode is not None})

    async def list_queue(self, start: int = 0, count: int = 100) -> Queue:
        self._reach()
        tracks = [replace(each, position=number) for number, each in enumerate(self.tracks)]
        return Queue(tracks=tracks[start : start + count], start=start, length=len(tracks))

    async def add_source(
        self, source: Source, where: QueuePosition = QueuePosition.END, *, play: bool = False
    ) -> AddResult:
        self._reach()
        self._pass()
        uri = source.uri if isinstance(source, Uri) else str(source)
        if isinstance(source, SavedPlaylist):
            raise Refused(f"there is no playlist {source.playlist}")
        if where is QueuePosition.REPLACE:
            self.tracks, self.current = [], None
        self.tracks.append(self._track(uri))
        self.now = replace(self.now, queue_version=self.now.queue_version + 1)
        self.commands.append(f"add {uri}")
        if play:
            self.current = len(self.tracks) - 1
            self._go(PlaybackState.PLAYING, 0.0)
        return AddResult(name=uri, position=len(self.tracks) - 1, count=1)

    async def remove_tracks(self, ids: Collection[int]) -> None:
        self._reach()
        here = None if self.current is None else self.tracks[self.current].id
        self.tracks = [each for each in self.tracks if each.id not in ids]
        places = [number for number, each in enumerate(self.tracks) if each.id == here]
        if here is not None and not places:
            self._go(PlaybackState.STOPPED, 0.0)
        self.current = places[0] if places else None

    async def close(self) -> None:
        self.commands.append("close")

    def watch_changes(self) -> AsyncIterator[frozenset[str]]:
        raise NotImplementedError

    # Its insides

    def sound(self, uri: str) -> Sound:
        return self.sounds.get(uri, Sound(duration=None if uri.startswith("http") else 200.0))

    def _track(self, uri: str) -> Track:
        self._ids += 1
        sound = self.sound(uri)
        return Track(uri=uri, id=self._ids, title=sound.title, album=sound.album, duration=sound.duration)

    def _reach(self) -> None:
        if self.fault:
            raise self.fault
        if self.is_unreachable:
            raise Unavailable("the player does not answer")

    def _go(self, play: PlaybackState, elapsed: float) -> None:
        self._elapsed, self._since = elapsed, self.time.monotonic_time
        self.now = replace(self.now, playback=play, error="")
        self._note()

    def _note(self) -> None:
        if self.now.volume is not None:
            self.volumes.append((self.time.monotonic_time, self.now.volume, self.now.playback is PlaybackState.PLAYING))

    def _position(self) -> float:
        if self.now.playback is not PlaybackState.PLAYING or self.current is None:
            return self._elapsed
        sound = self.sound(self.tracks[self.current].uri)
        if sound.silent:
            return 0.0
        position = self._elapsed + self.time.monotonic_time - self._since
        return position if sound.stalls_after is None else min(position, sound.stalls_after)

    def _pass(self) -> None:
        """Apply the ends, starts and failures since the last call."""
        while self.now.playback is PlaybackState.PLAYING and self.current is not None:
            sound = self.sound(self.tracks[self.current].uri)
            if sound.error:
                self._go(PlaybackState.STOPPED, 0.0)
                self.now = replace(self.now, error=sound.error)
                return
            end = sound.duration if sound.ends_after is None else sound.ends_after
            if end is None or self._position() < end:
                return
            over = self._position() - end
            following = self.current if self.now.single is Mode.ON else self.current + 1
            ends = self.now.single is Mode.ON and not self.now.repeat
            if not ends and following >= len(self.tracks) and self.now.repeat:
                following = 0
            if ends or following >= len(self.tracks):
                self._go(PlaybackState.STOPPED, 0.0)
                self.current = None
                return
            self.current = following
            self._go(PlaybackState.PLAYING, over)
