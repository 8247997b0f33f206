"""Web radio that comes back: a stream that falls silent by itself is connected anew, then replaced, then returned to.

Silent is: stopped with an error or at its end, or time does not go on although it plays. A person's stop or pause has
neither an error nor an end, and is left alone; so is everything as soon as a hand does anything else, or a job: an
alarm sees to its own music.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from datetime import timedelta
from random import Random

from pi_appliance.config.model import Radio
from pi_appliance.config.units import format_duration
from pi_appliance.errors import Refused, Uncertain
from pi_appliance.music.hub import Hub, Listener, Nap
from pi_appliance.music.model import Capability, Play, PlayerState, QueuePosition, Source, Track, Uri
from pi_appliance.music.player import Player
from pi_appliance.music.sources import describe
from pi_appliance.system import backoff

TRIES = 3  # before something else plays
_FIRST, _LONGEST = 1 / 20, 3  # waits between two tries, in patiences: with 20 seconds, a second and a minute
_SLOW_INTERVAL = timedelta(hours=1)  # the longest between two returns
_POLLS = 4  # at how time goes on, within one patience
_log = logging.getLogger(__name__)


class _Ended(Exception):
    """A hand, or the player, is doing something else by now."""


@dataclass(slots=True)
class _Instead:
    """What plays in place of the stream: its tracks in the queue."""

    name: str
    ids: frozenset[int]


class Watchdog:
    """Looks after the web radio on HUB. FALLBACK gives what may play instead, in order, when it is needed.

    JOBS returns None while a job says what plays; else a number, another one once a job has ended the music.
    """

    def __init__(
        self,
        hub: Hub,
        radio: Radio,
        fallback: Callable[[], Awaitable[Sequence[Source]]],
        *,
        jobs: Callable[[], int | None] = lambda: 0,
        nap: Nap = asyncio.sleep,
        random: Random | None = None,
    ) -> None:
        self._hub, self._radio, self._fallback, self._nap = hub, radio, fallback, nap
        self._random = random or Random()  # noqa: S311 - jitter
        self._jobs = jobs
        self._turn: int | None = None  # what `jobs` said when our own doings began; None: there are none
        self._patience = radio.patience.total_seconds()
        self._hands = 0  # how many commands there had been when our own work began

    async def run(self) -> None:
        """Watch until cancelled. Raises what the player does when it is lost in the middle."""
        with self._hub.listening() as listener:
            while True:
                stream = await self._until_a_stream_plays(listener)
                try:
                    why = await self._until_it_is_silent(stream, listener)
                    await self._bring_back(stream, why, listener)
                except _Ended:
                    pass
                finally:
                    self._hub.say("")

    async def _until_a_stream_plays(self, listener: Listener) -> Track:
        while True:
            state = self._hub.state
            if state is not None and state.play is Play.PLAYING and state.track and _is_stream(state.track):
                return state.track
            await listener.news()

    async def _until_it_is_silent(self, stream: Track, listener: Listener) -> str:
        """Return why STREAM fell silent. Raises _Ended if somebody wants it so."""
        self._hands, self._turn = self._hub.hands, None
        elapsed, still = -1.0, 0.0
        while True:
            step = self._patience / _POLLS
            news = await listener.news_within(step, self._nap)
            state = await self._state()
            if _broke_off(state) and (state.track is None or _is_same(state.track, stream)):
                return state.error or "it ended"
            if state.play is not Play.PLAYING or not _is_same(state.track, stream):
                raise _Ended
            if state.elapsed is not None and state.elapsed != elapsed:
                elapsed, still = state.elapsed, 0.0
            elif not news:  # news come at any time; only what was waited for counts
                still += step
            if still >= self._patience:
                return "nothing comes any more"

    async def _bring_back(self, stream: Track, why: str, listener: Listener) -> None:
        """Connect STREAM anew; else play something else and return. Comes back only when STREAM plays."""
        self._hands, self._turn = self._hub.hands, self._jobs()
        if self._turn is None:
            raise _Ended
        _log.warning("music: %s fell silent: %s", stream.label, why)
        attempt = 0
        while True:
            for _ in range(TRIES):
                attempt += 1
                self._hub.say(f"{stream.label} fell silent ({why}); it is tried again")
                await self._rest(self._wait(attempt), listener, stream)
                if await self._plays_again(stream, listener):
                    _log.info("music: %s is back", stream.label)
                    return
            for source in await self._fallback():
                if await self._until_return(stream, source, listener):
                    _log.info("music: %s is back", stream.label)
                    return

    def _wait(self, attempt: int) -> timedelta:
        first, longest = self._radio.patience * _FIRST, self._radio.patience * _LONGEST
        return backoff.wait(attempt, first=first, at_most=longest, random=self._random)

    async def _until_return(self, stream: Track, source: Source, listener: Listener) -> bool:
        """Play SOURCE until STREAM is back; False if SOURCE falls silent or does not begin."""
        back = self._radio.back
        while True:
            instead = await self._play_instead(source, listener)
            if instead is None:
                return False
            _log.warning("music: %s plays in place of %s", instead.name, stream.label)
            self._hub.say(
                f"{instead.name} plays while {stream.label} is away; that is tried again in {format_duration(back)}"
            )
            lasted = await self._rest(back, listener, stream, on=instead)
            if await self._plays_again(stream, listener):
                await self._take_out(instead)
                return True
            await self._take_out(instead)
            if not lasted:
                return False
            back = min(back * 2, _SLOW_INTERVAL)

    async def _plays_again(self, stream: Track, listener: Listener) -> bool:
        """Let STREAM play from its place in the queue, and say whether it does. Raises _Ended if it is gone."""
        assert stream.id is not None
        player = await self._player()
        try:
            if Capability.REMOVE in self._hub.abilities:
                await player.play_id(stream.id)
            else:  # it is not in the queue any more, if anything has played instead
                await player.add(Uri(uri=stream.uri, title=stream.title), QueuePosition.INSTEAD, play=True)
        except Refused:  # because it failed at once, or because it is not in the queue any more
            state = await self._state()
            if _broke_off(state) and state.track is not None and state.track.uri == stream.uri:
                return False
            raise _Ended from None
        return await self._proved(lambda track: track is not None and track.uri == stream.uri, listener)

    async def _play_instead(self, source: Source, listener: Listener) -> _Instead | None:
        """Let SOURCE play, behind all that is in the queue; None if it does not."""
        player = await self._player()
        where = QueuePosition.END if Capability.REMOVE in self._hub.abilities else QueuePosition.INSTEAD
        length = (await self._state()).queue_length
        try:
            added = await player.add(source, where, play=True)
        except (Refused, Uncertain) as error:
            _log.warning("music: %s cannot play instead: %s", describe(source), error)
            if where is QueuePosition.END:  # it may have come into the queue, and failed only then
                await self._take_out_from(length)
            return None
        window = await player.queue(added.position, added.count)
        instead = _Instead(added.name, frozenset(track.id for track in window.tracks if track.id is not None))
        if await self._proved(lambda track: track is not None and track.id in instead.ids, listener):
            return instead
        await self._take_out(instead)
        return None

    async def _take_out_from(self, length: int) -> None:
        player = await self._player()
        came = (await player.queue(length)).tracks
        await player.remove(frozenset(track.id for track in came if track.id is not None))

    async def _take_out(self, instead: _Instead) -> None:
        if Capability.REMOVE in self._hub.abilities:
            await (await self._player()).remove(instead.ids)

    async def _proved(self, ours: Callable[[Track | None], bool], listener: Listener) -> bool:
        """Say whether time goes on within the patience, on a track that is OURS."""
        first: float | None = None
        waited, step = 0.0, self._patience / _POLLS
        while waited < self._patience:
            if not await listener.news_within(step, self._nap):
                waited += step
            state = await self._state()
            if _broke_off(state):
                return False
            if state.play is not Play.PLAYING or not ours(state.track):
                raise _Ended
            if first is None:
                first = state.elapsed
            elif state.elapsed is not None and state.elapsed != first:
                return True
        return False

    async def _rest(self, wait: timedelta, listener: Listener, stream: Track, on: _Instead | None = None) -> bool:
        """Let WAIT pass, in silence, or with what plays ON instead; False if that falls silent. Raises _Ended."""
        ids = on.ids if on is not None else {stream.id}
        over = asyncio.ensure_future(self._nap(wait.total_seconds()))
        try:
            while not over.done():
                news = asyncio.ensure_future(listener.news())
                try:
                    await asyncio.wait({over, news}, return_when=asyncio.FIRST_COMPLETED)
                finally:
                    news.cancel()
                state = await self._state()
                if _broke_off(state):
                    if on is not None:
                        return False
                elif state.play is not Play.PLAYING or state.track is None or state.track.id not in ids:
                    raise _Ended
        finally:
            over.cancel()
        return True

    async def _player(self) -> Player:
        """Return the player for our own doings. Raises _Ended if a hand, or a job, was on it since they began."""
        self._stand_back()
        return await self._hub.player(by_hand=False)

    async def _state(self) -> PlayerState:
        """Return what the player does. Raises _Ended if a hand was on it since our own doings began."""
        return await (await self._player()).state()

    def _stand_back(self) -> None:
        if self._hub.hands != self._hands or (self._turn is not None and self._jobs() != self._turn):
            raise _Ended


def _is_stream(track: Track) -> bool:
    return "://" in track.uri


def _is_same(track: Track | None, stream: Track) -> bool:
    return track is not None and track.id == stream.id and track.uri == stream.uri


def _broke_off(state: PlayerState) -> bool:
    """Say whether it stopped by itself: there is an error, or no current track any more, as at the end of the queue."""
    if state.play is not Play.STOPPED or state.queue_length == 0:
        return False
    return bool(state.error) or state.track is None
