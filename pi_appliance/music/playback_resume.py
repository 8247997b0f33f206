"""Store queue and playback with few writes; restore them on a player that has lost its queue.

The queue is written some time after its last change. The playback state is written when it changes,
and every two minutes while a file plays. A player that restores its own queue keeps it.
"""

import asyncio
import json
import logging
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_type_hints

from pi_appliance.errors import Refused, Unavailable
from pi_appliance.music.model import CONNECTION, Mode, PlaybackState, PlayerState, Sleep, Track, Uri, is_stream
from pi_appliance.music.player import Player
from pi_appliance.music.player_hub import PlayerHub
from pi_appliance.system import files

if TYPE_CHECKING:
    from pi_appliance.music.services import ActiveSessions

DEBOUNCE = 5.0  # seconds without a change before a write
MAX_DELAY = 30.0  # seconds after which a change is written even if more changes follow
INTERVAL = 120.0  # seconds between two writes while a file plays
WINDOW = 500  # tracks per request
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class PlaybackSnapshot:
    """The stored state of playback.

    `version` is the version of the queue, `boot` identifies the boot of the machine.
    """

    version: int
    boot: str
    playback: PlaybackState
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
        """All values except those that change during playback."""
        state = (self.playback, self.position, self.uri, self.volume)
        return (*state, self.repeat, self.random, self.single, self.consume)


class PlaybackResumer:
    """Save and restore the playback of `hub`."""

    def __init__(
        self,
        hub: PlayerHub,
        folder: Path,
        *,
        boot: str,
        sessions: "ActiveSessions | None" = None,
        sleep: Sleep = asyncio.sleep,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Read the files in `folder`.

        Args:
            folder: for the files `queue.json` and `playback.json`.
            sessions: alarms and other music jobs, which take precedence.
            clock: seconds of a monotonic clock.
        """
        self._hub, self._boot, self._sleep, self._clock = hub, boot, sleep, clock
        self._sessions = sessions
        self._queue_file, self._playback_file = folder / "queue.json", folder / "playback.json"
        self._tracks = _read_tracks(self._queue_file)
        self._snapshot = _read_snapshot(self._playback_file)
        self._version: int | None = None  # version of the queue that was read last; None: none on this connection yet
        self._changed_at: float | None = None  # when the first change occurred that is not written yet
        self._saved_at = 0.0

    async def run(self) -> None:
        """Save playback until cancelled. Raises Unavailable and the player's errors."""
        with self._hub.subscribe() as subscription:
            try:
                while True:
                    names = await subscription.changes_within(self._timeout(), self._sleep)
                    await self._process(names)
            finally:
                self._version = None
                with suppress(Unavailable):
                    self._write_snapshot()  # writes the last known state

    async def _process(self, names: frozenset[str]) -> None:
        if self._hub.state is None or self._hub.uses_fallback:
            self._version = self._changed_at = None
            return
        if CONNECTION in names:
            await self._restore()
        if self._changed_at is None and self._is_unsaved():
            self._changed_at = self._clock()
        overdue = self._changed_at is not None and self._clock() - self._changed_at >= MAX_DELAY
        if not names or overdue:
            await self._save()

    def _timeout(self) -> float | None:
        """Return the seconds until the next write if nothing changes.

        `None` if nothing has to be written.
        """
        if self._changed_at is not None:
            return max(0.0, min(DEBOUNCE, self._changed_at + MAX_DELAY - self._clock()))
        state = self._hub.state
        if state is None or self._hub.uses_fallback:
            return None
        if state.playback is not PlaybackState.PLAYING or not _is_file(state.track):
            return None
        return max(0.0, self._saved_at + INTERVAL - self._clock())

    def _is_unsaved(self) -> bool:
        """Return whether anything but the elapsed time differs from the files."""
        now, saved = self._take_snapshot(), self._snapshot
        if now is None or saved is None:
            return True
        return now.version != self._version or now.key != saved.key or now.version < saved.version

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
        self._write_snapshot()
        self._changed_at, self._saved_at = None, self._clock()

    def _write_snapshot(self) -> None:
        now = self._take_snapshot()
        if now is None or now == self._snapshot:
            return
        _write(self._playback_file, asdict(now))
        self._snapshot = now

    async def _read_queue(self) -> list[tuple[str, str]]:
        """Return URI and title of each track.

        A stream keeps the first title under which it was known.
        """
        player, titles = await self._hub.player(by_user=False), dict(self._tracks)
        tracks: list[tuple[str, str]] = []
        while True:
            page = await player.list_queue(len(tracks), WINDOW)
            tracks += [
                (track.uri, "" if _is_file(track) else titles.get(track.uri) or track.album or track.title)
                for track in page.tracks
            ]
            if not page.tracks or len(tracks) >= page.length:
                return tracks

    def _take_snapshot(self) -> PlaybackSnapshot | None:
        state = self._hub.state
        if state is None or self._hub.uses_fallback:
            return None
        track = state.track
        return PlaybackSnapshot(
            version=state.queue_version,
            boot=self._boot,
            playback=state.playback,
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
        """Restore queue and playback if the player lost its queue and no alarm is ringing."""
        state, saved = self._hub.state, self._snapshot
        if state is None or saved is None or not self._tracks or not self._has_lost_queue(state, saved):
            return
        if self._alarm_rings():
            return
        commands_before, player = self._hub.user_command_count, await self._hub.player(by_user=False)
        positions = await self._refill_queue(player)
        if self._alarm_rings():
            return
        await self._restore_settings(player, saved)
        now = await player.state()
        if (
            not self._alarm_rings()
            and now.playback is PlaybackState.STOPPED
            and now.queue_length == len(positions)
            and commands_before == self._hub.user_command_count
        ):
            await self._resume_playback(player, saved, positions)
        _log.info("music: queue restored, %d of %d tracks", len(positions), len(self._tracks))

    def _alarm_rings(self) -> bool:
        return self._sessions is not None and self._sessions.alarm_ringing

    def _has_lost_queue(self, state: PlayerState, saved: PlaybackSnapshot) -> bool:
        """Return whether the queue is empty because the player or the machine was restarted.

        MPD counts queue versions from its start. For other players only a restart of the machine is
        visible.
        """
        if state.queue_length:
            return False
        if self._hub.mpd_address is not None:
            return state.queue_version < saved.version
        return self._boot != saved.boot

    async def _refill_queue(self, player: Player) -> dict[int, int]:
        """Add the saved tracks, and return the new position of each old one; some may be gone."""
        positions: dict[int, int] = {}
        for number, (uri, title) in enumerate(self._tracks):
            with suppress(Refused):
                await player.add_source(Uri(uri=uri, title=title))
                positions[number] = len(positions)
        return positions

    async def _restore_settings(self, player: Player, saved: PlaybackSnapshot) -> None:
        for modes in ({"repeat": saved.repeat, "random": saved.random}, {"single": saved.single}):
            with suppress(Refused):  # some players lack one of the modes
                await player.set_modes(**modes)
        with suppress(Refused):
            await player.set_modes(consume=saved.consume)
        if saved.volume is not None and self._hub.state and self._hub.state.volume is not None:
            policy = self._hub.policy.volume_policy
            start = None if policy is None else policy.start
            await player.set_volume(saved.volume if start is None else min(saved.volume, start))

    async def _resume_playback(self, player: Player, saved: PlaybackSnapshot, positions: dict[int, int]) -> None:
        """Play or pause at the saved position.

        In quiet hours, or when a sleep timer was ending, only pause.
        """
        position = positions.get(_find_position(saved, self._tracks))
        if position is None or saved.playback is PlaybackState.STOPPED:
            return
        policy = self._hub.policy.volume_policy
        is_quiet = policy is not None and self._hub.policy.max_volume() < policy.maximum
        stops_soon = self._sessions is not None and self._sessions.stops_soon
        if saved.playback is PlaybackState.PLAYING and not (is_quiet or stops_soon):
            await player.play(position, at=saved.elapsed or 0.0)
        elif saved.elapsed is not None:  # a stream has no position at which it could be paused
            await self._pause_at(player, saved, position)

    async def _pause_at(self, player: Player, saved: PlaybackSnapshot, position: int) -> None:
        """Pause at the saved time. The player has to play for a moment, which is muted."""
        volume = (await player.state()).volume
        raw = self._hub.raw_player()
        try:
            if volume:
                await raw.set_volume(0)
            await raw.play(position, at=saved.elapsed or 0.0)
            await raw.pause()
        finally:
            if volume:
                await raw.set_volume(volume)


def _find_position(saved: PlaybackSnapshot, tracks: Sequence[tuple[str, str]]) -> int:
    """Return the index of the saved track in `tracks`, else -1.

    The queue may have been written earlier.
    """
    if saved.position is not None and saved.position < len(tracks) and tracks[saved.position][0] == saved.uri:
        return saved.position
    return next((number for number, (uri, _) in enumerate(tracks) if uri == saved.uri), -1)


def _is_file(track: Track | None) -> bool:
    return track is not None and not is_stream(track.uri)


def _read_tracks(path: Path) -> list[tuple[str, str]]:
    try:
        return [(str(uri), str(title)) for uri, title in _read(path)["tracks"]]
    except (KeyError, TypeError, ValueError):
        return []


def _read_snapshot(path: Path) -> PlaybackSnapshot | None:
    try:
        data = _read(path)
        enums = {
            "playback": PlaybackState(data["playback"]),
            "single": Mode(data["single"]),
            "consume": Mode(data["consume"]),
        }
        snapshot = PlaybackSnapshot(**{**data, **enums})
    except (KeyError, TypeError, ValueError):
        return None
    valid = all(isinstance(getattr(snapshot, name), kind) for name, kind in get_type_hints(PlaybackSnapshot).items())
    return snapshot if valid and 0 <= (snapshot.volume or 0) <= 100 else None


def _write(path: Path, content: dict[str, Any]) -> None:
    files.make_directory(path.parent)
    files.write_file(
        path, json.dumps(content, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "surrogateescape")
    )


def _read(path: Path) -> dict[str, Any]:
    """Return the JSON object in the file; empty if the file is missing or invalid."""
    try:
        data = json.loads(path.read_bytes())
    except (OSError, ValueError, RecursionError):
        return {}
    return data if isinstance(data, dict) else {}
