"""The radio watchdog: it reconnects a station that breaks off, and plays a fallback until then.

It does not disturb active sessions of music jobs.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from datetime import timedelta
from random import Random

from pi_appliance.config.options import Config, Radio
from pi_appliance.config.units import format_duration
from pi_appliance.errors import ConfigError, Refused, Uncertain, UnknownName
from pi_appliance.music import model
from pi_appliance.music.model import (
    CONNECTION,
    Capability,
    PlaybackState,
    PlayerState,
    QueuePosition,
    Sleep,
    Source,
    Track,
    Uri,
    describe_source,
    is_stream,
)
from pi_appliance.music.player import Player
from pi_appliance.music.player_hub import PlayerHub, Subscription
from pi_appliance.music.radio.stations import resolve_source, stations_of
from pi_appliance.system.backoff import Backoff

TRIES = 3  # attempts to reconnect before a fallback plays
# Limits of the delay between two attempts, as multiples of the silence timeout: from 1 s to 1 min
# at 20 s.
_FIRST_WAIT, _LONGEST_WAIT = 1 / 20, 3
_MAX_RETRY_INTERVAL = timedelta(hours=1)
_POLLS = 4  # reads of the elapsed time within one silence timeout
_log = logging.getLogger(__name__)


class _Superseded(Exception):
    """A user, a job or the player itself started something else: the watchdog gives up."""


@dataclass(slots=True)
class _Fallback:
    """The tracks of the fallback in the queue."""

    name: str
    ids: frozenset[int]


class RadioWatchdog:
    """Reconnect web radio that breaks off, or play a fallback and return to the station later.

    A stream has broken off if playback stopped with an error or at the end of the stream, also
    right after it was chosen, or if the time does not advance. A user's stop or pause causes
    neither and is respected. The watchdog also yields to any other user command and to music jobs,
    because an alarm handles its own music.
    """

    def __init__(
        self,
        hub: PlayerHub,
        radio: Radio,
        fallback: Callable[[], Awaitable[Sequence[Source]]],
        *,
        job_generation: Callable[[], int | None] = lambda: 0,
        sleep: Sleep = asyncio.sleep,
        random: Random | None = None,
    ) -> None:
        """Create a watchdog; `run()` starts it.

        Args:
            fallback: returns the sources to try while the station is unreachable, in order.
            job_generation: returns `None` while a job controls playback, else a number that changes
                once a job has stopped the music.
        """
        self._hub, self._radio, self._fallback, self._sleep = hub, radio, fallback, sleep
        self._random = random or Random()  # noqa: S311 - jitter
        self._job_generation = job_generation
        # generation of the jobs when the repair began; None: no repair is running
        self._own_generation: int | None = None
        self._timeout = radio.silence_timeout.total_seconds()
        self._own_count = 0  # number of user commands when the repair began

    async def run(self) -> None:
        """Watch until cancelled. Raises the player's errors."""
        with self._hub.subscribe() as changes:
            while True:
                stream, reason = await self._wait_for_stream(changes)
                try:
                    if not reason:
                        reason = await self._wait_for_silence(stream, changes)
                    await self._repair(stream, reason, changes)
                except _Superseded:
                    pass
                finally:
                    self._hub.set_status_text("")

    async def _wait_for_stream(self, changes: Subscription) -> tuple[Track, str]:
        """Return a stream that plays and "", or one that failed at once and the reason."""
        names = frozenset({CONNECTION})
        seen: PlayerState | None = None
        while True:
            state = self._hub.state
            if state is not None and state.track and is_stream(state.track.uri):
                if state.playback is PlaybackState.PLAYING:
                    return state.track, ""
                # Only a new state counts: the player may remember an old error.
                if state is not seen and "player" in names and CONNECTION not in names and _has_broken_off(state):
                    return state.track, state.error or "it ended"
            seen = state
            names = await changes.changes()

    async def _wait_for_silence(self, stream: Track, changes: Subscription) -> str:
        """Return the reason why `stream` broke off. Raises _Superseded if a user stopped it."""
        self._own_count, self._own_generation = self._hub.user_command_count, None
        elapsed, silent_seconds, step = -1.0, 0.0, self._timeout / _POLLS
        while True:
            names = await changes.changes_within(step, self._sleep)
            state = await self._state()
            if _has_broken_off(state) and (state.track is None or _is_same(state.track, stream)):
                return state.error or "it ended"
            if state.playback is not PlaybackState.PLAYING or not _is_same(state.track, stream):
                raise _Superseded
            if state.elapsed is not None and state.elapsed != elapsed:
                elapsed, silent_seconds = state.elapsed, 0.0
            elif not names:  # without a change, a full step has passed; only these count
                silent_seconds += step
            if silent_seconds >= self._timeout:
                return "no data is received"

    async def _repair(self, stream: Track, reason: str, changes: Subscription) -> None:
        """Reconnect `stream`, and play a fallback until that succeeds.

        Returns when `stream` plays.
        """
        self._own_count, self._own_generation = self._hub.user_command_count, self._job_generation()
        if self._own_generation is None:
            raise _Superseded
        _log.warning("music: %s broke off: %s", stream.label, reason)
        backoff = Backoff(
            self._radio.silence_timeout * _FIRST_WAIT, self._radio.silence_timeout * _LONGEST_WAIT, self._random
        )
        while True:
            for _ in range(TRIES):
                self._hub.set_status_text(f"{stream.label} broke off ({reason}); reconnecting")
                await self._wait(backoff.next_delay(), changes, stream)
                if await self._reconnect(stream, changes):
                    _log.info("music: %s is back", stream.label)
                    return
            for source in await self._fallback():
                if await self._play_fallback_until_back(stream, source, changes):
                    _log.info("music: %s is back", stream.label)
                    return

    async def _play_fallback_until_back(self, stream: Track, source: Source, changes: Subscription) -> bool:
        """Play `source` until `stream` is back; return False if `source` fails."""
        interval = self._radio.retry_every
        while True:
            fallback = await self._start_fallback(source, changes)
            if fallback is None:
                return False
            _log.warning("music: %s plays instead of %s", fallback.name, stream.label)
            self._hub.set_status_text(
                f"{fallback.name} plays instead of {stream.label}, which is tried again in {format_duration(interval)}"
            )
            lasted = await self._wait(interval, changes, stream, fallback)
            if await self._reconnect(stream, changes):
                await self._remove(fallback)
                return True
            await self._remove(fallback)
            if not lasted:
                return False
            interval = min(interval * 2, _MAX_RETRY_INTERVAL)

    async def _reconnect(self, stream: Track, changes: Subscription) -> bool:
        """Play `stream` at its place in the queue and return whether it sounds.

        Raises _Superseded if it is gone.
        """
        assert stream.id is not None
        player = await self._player()
        try:
            if Capability.REMOVE in self._hub.capabilities:
                await player.play_id(stream.id)
            else:  # the fallback has replaced the stream in the queue
                await player.add_source(Uri(uri=stream.uri, title=stream.title), QueuePosition.REPLACE, play=True)
        except Refused:  # the stream failed at once, or has left the queue
            state = await self._state()
            if _has_broken_off(state) and state.track is not None and state.track.uri == stream.uri:
                return False
            raise _Superseded from None
        return await self._is_sounding(lambda track: track is not None and track.uri == stream.uri, changes)

    async def _start_fallback(self, source: Source, changes: Subscription) -> _Fallback | None:
        """Play `source` at the end of the queue; return `None` if it does not sound."""
        player = await self._player()
        where = QueuePosition.END if Capability.REMOVE in self._hub.capabilities else QueuePosition.REPLACE
        length = (await self._state()).queue_length
        try:
            added = await player.add_source(source, where, play=True)
        except (Refused, Uncertain) as error:
            _log.warning("music: the fallback %s does not play: %s", describe_source(source), error)
            if where is QueuePosition.END:  # it may have been added before it failed
                await self._remove_from(length)
            return None
        page = await player.list_queue(added.position, added.count)
        fallback = _Fallback(added.name, frozenset(track.id for track in page.tracks if track.id is not None))
        if await self._is_sounding(lambda track: track is not None and track.id in fallback.ids, changes):
            return fallback
        await self._remove(fallback)
        return None

    async def _remove_from(self, length: int) -> None:
        player = await self._player()
        added = (await player.list_queue(length)).tracks
        await player.remove_tracks(frozenset(track.id for track in added if track.id is not None))

    async def _remove(self, fallback: _Fallback) -> None:
        if Capability.REMOVE in self._hub.capabilities:
            await (await self._player()).remove_tracks(fallback.ids)

    async def _is_sounding(self, is_expected: Callable[[Track | None], bool], changes: Subscription) -> bool:
        """Return whether the time of the expected track advances within the silence timeout."""
        first: float | None = None
        waited, step = 0.0, self._timeout / _POLLS
        while waited < self._timeout:
            if not await changes.changes_within(step, self._sleep):
                waited += step
            state = await self._state()
            if _has_broken_off(state):
                return False
            if state.playback is not PlaybackState.PLAYING or not is_expected(state.track):
                raise _Superseded
            if first is None:
                first = state.elapsed
            elif state.elapsed is not None and state.elapsed != first:
                return True
        return False

    async def _wait(
        self, delay: timedelta, changes: Subscription, stream: Track, fallback: _Fallback | None = None
    ) -> bool:
        """Wait for `delay`; return False as soon as the fallback breaks off.

        Raises _Superseded if a user, a job or the player started something else.
        """
        ids = fallback.ids if fallback is not None else {stream.id}
        timeout = asyncio.ensure_future(self._sleep(delay.total_seconds()))
        try:
            while not timeout.done():
                change = asyncio.ensure_future(changes.changes())
                try:
                    await asyncio.wait({timeout, change}, return_when=asyncio.FIRST_COMPLETED)
                finally:
                    change.cancel()
                state = await self._state()
                if _has_broken_off(state):
                    if fallback is not None:
                        return False
                elif state.playback is not PlaybackState.PLAYING or state.track is None or state.track.id not in ids:
                    raise _Superseded
        finally:
            timeout.cancel()
        return True

    async def _player(self) -> Player:
        """Return the player.

        Raises _Superseded if a user or a job used it since the repair started.
        """
        self._yield_to_others()
        return await self._hub.player(by_user=False)

    async def _state(self) -> PlayerState:
        return await (await self._player()).state()

    def _yield_to_others(self) -> None:
        if self._hub.user_command_count != self._own_count:
            raise _Superseded
        if self._own_generation is not None and self._job_generation() != self._own_generation:
            raise _Superseded


def _is_same(track: Track | None, stream: Track) -> bool:
    return track is not None and track.id == stream.id and track.uri == stream.uri


def _has_broken_off(state: PlayerState) -> bool:
    """Return whether playback stopped by an error, or as at the end of the queue."""
    if state.playback is not PlaybackState.STOPPED or state.queue_length == 0:
        return False
    return bool(state.error) or state.track is None


def fallback_sources(config: Config) -> list[Source]:
    """Return the sources to play while a station cannot be reached. Unknown sources are logged.

    It may wait for the network: call it in a thread.
    """
    sources: list[Source] = []
    station_service = stations_of(config)
    try:
        stations = station_service.all()
    except ConfigError as error:
        _log.warning("music: %s", error)
        stations = ()
    for name in config.radio.fallback:
        try:
            sources.append(resolve_source(station_service, model.parse_source(name, stations)))
        except (UnknownName, ValueError) as error:
            _log.warning("music: radio: fallback: %s", error)
    return sources
