"""Where the music was: kept on the disk with few writes, and taken up again by a player that has lost its queue.

The queue is written when it has changed and come to rest; the place in it when something other than time has changed,
and every two minutes while a file plays. Who has restored a queue of his own keeps it.
"""

import asyncio
import json
import logging
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, get_type_hints

from pi_appliance.errors import Refused, Unavailable
from pi_appliance.music.alarms.active import ActiveSessions
from pi_appliance.music.hub import CONNECTION, Hub, Nap
from pi_appliance.music.model import Mode, Play, PlayerState, Track, Uri
from pi_appliance.music.player import Player
from pi_appliance.system import files

DEBOUNCE = 5.0  # seconds without news, after which what has changed is written
MAX_DELAY = 30.0  # seconds after which it is written though there are news all the time
INTERVAL = 120.0  # seconds between two writes while a file plays
WINDOW = 500  # tracks asked for at a time
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class PlaybackSnapshot:
    """Where the music was, and how. `version` is that of the queue, `boot` the start of the machine."""

    version: int
    boot: str
    play: Play
    position: int | None
    uri: str
    elapsed: float | None
    volume: int | None
    repeat: bool
    random: bool
    single: Mode
    consume: Mode

    @property
    def key(self) -> tuple[object, ...]:
        """All but what changes by itself."""
        place = (self.play, self.position, self.uri, self.volume)
        return (*place, self.repeat, self.random, self.single, self.consume)


class Resume:
    """Keeps in FOLDER where the music on HUB was. BOOT names this start of the machine."""

    def __init__(
        self,
        hub: Hub,
        folder: Path,
        *,
        boot: str,
        work: ActiveSessions | None = None,
        nap: Nap = asyncio.sleep,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._hub, self._boot, self._nap, self._clock = hub, boot, nap, clock
        self._work = work
        self._queue_file, self._place_file = folder / "queue.json", folder / "place.json"
        self._tracks = _read_tracks(self._queue_file)
        self._place = _read_place(self._place_file)
        self._version: int | None = None  # of the queue, as it was read last; None: not since it is connected
        self._changed: float | None = None  # when the first of what is not written was seen
        self._saved = 0.0

    async def run(self) -> None:
        """Keep it until cancelled. Raises what the player does when it is lost in the middle; Unavailable."""
        with self._hub.listening() as listener:
            try:
                while True:
                    names = await listener.news_within(self._wait(), self._nap)
                    await self._look(names)
            finally:
                self._version = None
                with suppress(Unavailable):
                    self._write_place()  # the last moment: more of it will not be known

    async def _look(self, names: frozenset[str]) -> None:
        if self._hub.state is None or self._hub.stand_in:
            self._version = self._changed = None
            return
        if CONNECTION in names:
            await self._restore()
        if self._changed is None and self._is_other():
            self._changed = self._clock()
        waited = self._changed is not None and self._clock() - self._changed >= MAX_DELAY
        if not names or waited:
            await self._save()

    def _wait(self) -> float | None:
        """Return after how many seconds something is to be written, if there are no news; None: nothing is."""
        if self._changed is not None:
            return max(0.0, min(DEBOUNCE, self._changed + MAX_DELAY - self._clock()))
        state = self._hub.state
        if state is None or self._hub.stand_in or state.play is not Play.PLAYING or not _is_file(state.track):
            return None
        return max(0.0, self._saved + INTERVAL - self._clock())

    def _is_other(self) -> bool:
        """Say whether something is other than it was written, time aside."""
        now = self._now()
        if now is None or self._place is None:
            return True
        return now.version != self._version or now.key != self._place.key or now.version < self._place.version

    async def _save(self) -> None:
        state = self._hub.state
        if state is None:
            return
        if state.queue_version != self._version:
            tracks = await self._read_queue()
            self._version = state.queue_version
            if tracks != self._tracks:
                _write(self._queue_file, {"tracks": tracks})
                self._tracks = tracks
        self._write_place()
        self._changed, self._saved = None, self._clock()

    def _write_place(self) -> None:
        now = self._now()
        if now is None or now == self._place:
            return
        _write(self._place_file, asdict(now))
        self._place = now

    async def _read_queue(self) -> list[tuple[str, str]]:
        """Return the address and the name of each track; a stream keeps the name that it was known by first."""
        player, known = await self._hub.player(by_hand=False), dict(self._tracks)
        found: list[tuple[str, str]] = []
        while True:
            window = await player.queue(len(found), WINDOW)
            found += [
                (track.uri, "" if _is_file(track) else known.get(track.uri) or track.album or track.title)
                for track in window.tracks
            ]
            if not window.tracks or len(found) >= window.length:
                return found

    def _now(self) -> PlaybackSnapshot | None:
        state = self._hub.state
        if state is None or self._hub.stand_in:
            return None
        track = state.track
        return PlaybackSnapshot(
            version=state.queue_version,
            boot=self._boot,
            play=state.play,
            position=track.position if track else None,
            uri=track.uri if track else "",
            elapsed=round(state.elapsed, 1) if state.elapsed is not None and _is_file(track) else None,
            volume=state.volume,
            repeat=state.repeat,
            random=state.random,
            single=state.single,
            consume=state.consume,
        )

    async def _restore(self) -> None:
        """Take up where it was, if this player has lost its queue; an alarm that rings sees to its own music."""
        state, place = self._hub.state, self._place
        if state is None or place is None or not self._tracks or not self._lost_its_queue(state, place):
            return
        if self._alarm_rings():
            return
        hands, player = self._hub.hands, await self._hub.player(by_hand=False)
        positions = await self._refill(player)
        if self._alarm_rings():
            return
        await self._set_up(player, place)
        now = await player.state()
        if (
            not self._alarm_rings()
            and now.play is Play.STOPPED
            and now.queue_length == len(positions)
            and hands == self._hub.hands
        ):
            await self._go_on(player, place, positions)
        _log.info("music: the queue is back, %d of %d tracks", len(positions), len(self._tracks))

    def _alarm_rings(self) -> bool:
        return self._work is not None and self._work.alarm_ringing

    def _lost_its_queue(self, state: PlayerState, place: PlaybackSnapshot) -> bool:
        """Say whether the queue is empty because the player, or the machine, was started anew.

        MPD counts the versions of its queue from its start; for another player, only the machine's start is known.
        """
        if state.queue_length:
            return False
        return state.queue_version < place.version if self._hub.configured is not None else self._boot != place.boot

    async def _refill(self, player: Player) -> dict[int, int]:
        """Put the tracks into the queue again, and return the new position of each old one; some may be gone."""
        positions: dict[int, int] = {}
        for number, (uri, title) in enumerate(self._tracks):
            with suppress(Refused):
                await player.add(Uri(uri=uri, title=title))
                positions[number] = len(positions)
        return positions

    async def _set_up(self, player: Player, place: PlaybackSnapshot) -> None:
        for modes in ({"repeat": place.repeat, "random": place.random}, {"single": place.single}):
            with suppress(Refused):  # not every player has each of them
                await player.set_modes(**modes)
        with suppress(Refused):
            await player.set_modes(consume=place.consume)
        if place.volume is not None and self._hub.state and self._hub.state.volume is not None:
            await player.set_volume(self._loudest(place.volume))

    def _loudest(self, volume: int) -> int:
        policy = self._hub.house.policy
        return volume if policy is None or policy.start is None else min(volume, policy.start)

    async def _go_on(self, player: Player, place: PlaybackSnapshot, positions: dict[int, int]) -> None:
        """Play, or be paused, where it was. Nothing begins to play by itself in quiet hours, nor what was to sleep."""
        position = positions.get(_position(place, self._tracks))
        if position is None or place.play is Play.STOPPED:
            return
        policy = self._hub.house.policy
        quiet = policy is not None and self._hub.house.allowed() < policy.maximum
        asleep = self._work is not None and self._work.stops_soon
        if place.play is Play.PLAYING and not (quiet or asleep):
            await player.play(position, at=place.elapsed or 0.0)
        elif place.elapsed is not None:  # a stream has no place to be paused at
            await self._pause_at(player, place, position)

    async def _pause_at(self, player: Player, place: PlaybackSnapshot, position: int) -> None:
        """Be paused at PLACE. It has to play for a moment; that is not heard."""
        volume = (await player.state()).volume
        bare = self._hub.bare_player()
        try:
            if volume:
                await bare.set_volume(0)
            await bare.play(position, at=place.elapsed or 0.0)
            await bare.pause()
        finally:
            if volume:
                await bare.set_volume(volume)


def _position(place: PlaybackSnapshot, tracks: Sequence[tuple[str, str]]) -> int:
    """Return which of TRACKS it was; -1 if it is none of them. The queue may have been written a little earlier."""
    if place.position is not None and place.position < len(tracks) and tracks[place.position][0] == place.uri:
        return place.position
    return next((number for number, (uri, _) in enumerate(tracks) if uri == place.uri), -1)


def _is_file(track: Track | None) -> bool:
    return track is not None and "://" not in track.uri


def _read_tracks(path: Path) -> list[tuple[str, str]]:
    try:
        return [(str(uri), str(title)) for uri, title in _read(path)["tracks"]]
    except (KeyError, TypeError, ValueError):
        return []


def _read_place(path: Path) -> PlaybackSnapshot | None:
    try:
        found = _read(path)
        words = {"play": Play(found["play"]), "single": Mode(found["single"]), "consume": Mode(found["consume"])}
        place = PlaybackSnapshot(**{**found, **words})
    except (KeyError, TypeError, ValueError):
        return None
    sound = all(isinstance(getattr(place, name), kind) for name, kind in get_type_hints(PlaybackSnapshot).items())
    return place if sound and 0 <= (place.volume or 0) <= 100 else None


def _write(path: Path, content: dict[str, Any]) -> None:
    files.make_folder(path.parent)
    files.write(path, json.dumps(content, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "surrogateescape"))


def _read(path: Path) -> dict[str, Any]:
    """Return what stands in the file; nothing if it is not there or is not ours: then there is nothing to take up."""
    try:
        found = json.loads(path.read_bytes())
    except (OSError, ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}
