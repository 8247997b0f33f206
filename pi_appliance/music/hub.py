"""The hub: one connection to the player for everybody, held for as long as the appliance runs.

`run()` keeps it; `player()` gives the player, as the household wants it, to whoever wants something done; `watch()`
tells whoever shows music what changed. It sleeps until the player itself says that something changed. Without a player
it says why, in `trouble`, and looks for it: often at first, then seldom, and at once when somebody asks for it.
"""

import asyncio
import contextlib
import dataclasses
import logging
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from datetime import timedelta
from pathlib import Path
from random import Random
from typing import Any

from pi_appliance import plugins
from pi_appliance.config.model import Config, PluginConfig
from pi_appliance.errors import ApplianceError, Unavailable
from pi_appliance.music.limited_player import PlayerPolicy, apply_policy
from pi_appliance.music.model import Capability, Play, PlayerState
from pi_appliance.music.mpd import private
from pi_appliance.music.player import Player
from pi_appliance.storage.recovery import LazyStore
from pi_appliance.system import backoff

CONNECTION = "connection"  # among the names of what changed: the player came, went or is another one
Nap = Callable[[float], Awaitable[None]]


class Listener:
    """What one listener has not heard yet; at first, that everything is new."""

    def __init__(self) -> None:
        self._names: frozenset[str] = frozenset({CONNECTION})
        self._some = asyncio.Event()
        self._some.set()

    def hear(self, names: frozenset[str]) -> None:
        """Keep NAMES until he listens."""
        self._names |= names
        self._some.set()

    async def news(self) -> frozenset[str]:
        """Wait for news and return what changed. May be cancelled: nothing is lost by that."""
        await self._some.wait()
        self._some.clear()
        names, self._names = self._names, frozenset()
        return names

    async def news_within(self, seconds: float | None, nap: Nap = asyncio.sleep) -> frozenset[str]:
        """Wait for news for SECONDS at the most, as NAP counts them; None: however long. Nothing: it took longer."""
        if seconds is None:
            return await self.news()
        if self._some.is_set():
            return await self.news()
        some, over = asyncio.ensure_future(self._some.wait()), asyncio.ensure_future(nap(seconds))
        try:
            await asyncio.wait({some, over}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            some.cancel()
            over.cancel()
        return await self.news() if self._some.is_set() else frozenset()


class ChangeBus:
    """Tells every listener."""

    def __init__(self) -> None:
        self._listeners: set[Listener] = set()

    def tell(self, names: frozenset[str]) -> None:
        """Let everybody who listens know that NAMES changed."""
        for listener in self._listeners:
            listener.hear(names)

    @contextmanager
    def listening(self) -> Iterator[Listener]:
        """Give a listener, who hears until the end of the block."""
        listener = Listener()
        self._listeners.add(listener)
        try:
            yield listener
        finally:
            self._listeners.discard(listener)


Upstream = Path | tuple[str, int]
FOLDER = "mpd"  # in the state folder: what belongs to the stand-in
STAND_IN_NOTE = ". Until then a silent stand-in plays"
NO_PLAYER = 'no player is configured; write  player: {kind: mpd}  into appliance.yaml and see "pi-appliance music"'
_log = logging.getLogger(__name__)


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class ReconnectPolicy:
    """How long the hub waits before it tries again; each wait is twice the last, up to a longest one."""

    first: timedelta = timedelta(seconds=0.2)
    soon: timedelta = timedelta(seconds=1.2)  # the longest at first: who restarts a player wants it back
    at_first: timedelta = timedelta(minutes=10)
    longest: timedelta = timedelta(seconds=30)
    knock: timedelta = timedelta(seconds=0.25)  # the shortest, however often somebody asks for the player
    on_stand_in: timedelta = timedelta(seconds=60)  # the longest while a stand-in plays: nobody waits then


class Hub:
    """Holds the player. Every attribute may be read at any time, from the same event loop."""

    def __init__(
        self,
        part: PluginConfig | None,
        state_folder: Path,
        secrets: Mapping[str, str],
        *,
        house: PlayerPolicy | None = None,
        patience: ReconnectPolicy | None = None,
        random: Random | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """HOUSE is how loud it may be, and where is remembered what the player cannot; without it, all goes."""
        self._part, self._folder, self._secrets = part, state_folder, secrets
        self._kind: str = part.kind if part else ""
        self._options: Any = part.with_ if part else None
        self._patience, self._random, self._clock = patience or ReconnectPolicy(), random or Random(), clock  # noqa: S311 - jitter
        self.house, self._news, self._asked = house or PlayerPolicy(), ChangeBus(), asyncio.Event()
        self._player: Player | None = None
        self._state: PlayerState | None = None
        self._read_at = 0.0
        self._met = False  # whether the configured player was ever there
        self.kind = self._kind
        self.abilities: frozenset[Capability] = frozenset()
        self.hands = 0
        """How often somebody gave a command that says what is to play; another number: a hand was on the player."""
        self.note = ""
        """What the appliance does for the music just now, in words for people; '' most of the time."""
        self.stand_in = False
        self.upstream: Upstream | None = None
        self.trouble = NO_PLAYER if part is None else "the player is not reached yet"

    @property
    def state(self) -> PlayerState | None:
        """What the player does at this moment, its elapsed time included; None while there is no player."""
        state = self._state
        if state is None or state.play is not Play.PLAYING or state.elapsed is None:
            return state
        elapsed = state.elapsed + self._clock() - self._read_at
        end = state.track.duration if state.track else None
        return dataclasses.replace(state, elapsed=elapsed if end is None else min(elapsed, end))

    @property
    def configured(self) -> Upstream | None:
        """Where the configured MPD is; None for a player that is no MPD."""
        place: Upstream | None = getattr(self._options, "place", None)
        return place

    async def player(self, *, by_hand: bool = True) -> Player:
        """Return the player that is connected, as the household wants it.

        BY_HAND: what is done with it is somebody's wish, before which the appliance's own doings stand back. Raises
        Unavailable at once, with the reason, if there is none; then it is looked for at once.
        """
        return apply_policy(self.bare_player(), self.house, self._touched if by_hand else lambda: None)

    def bare_player(self) -> Player:
        """Return the player without anything before it: for who enforces the rules. Raises Unavailable as player()."""
        if self._player is None:
            self.seek()
            raise Unavailable(self.trouble)
        return self._player

    def seek(self) -> None:
        """Look for a player that is lost now rather than later: somebody wants it."""
        self._asked.set()

    def say(self, note: str) -> None:
        """Let everybody see NOTE, what the appliance does for the music just now; '': nothing any more."""
        if note != self.note:
            self.note = note
            self._news.tell(frozenset({"player"}))

    def listening(self) -> AbstractContextManager[Listener]:
        """Give a listener, as `watch` is one, whose waiting may be cut short."""
        return self._news.listening()

    async def watch(self) -> AsyncIterator[frozenset[str]]:
        """Yield what changed, as MPD calls it (player, mixer, playlist, …), or "connection": read everything anew.

        The first item comes at once. Who listens slowly gets the changes since his last item in one.
        """
        with self._news.listening() as listener:
            while True:
                yield await listener.news()

    async def run(self) -> None:
        """Keep the player connected until cancelled. The private MPD ends with it."""
        if self._part is None:
            await asyncio.Event().wait()
        attempt, lost_at = 0, 0.0
        while True:
            try:
                trouble = await self._until_lost()
            except Exception as error:  # noqa: BLE001 - the edge: a fault here must not end the music without a word
                _log.exception("music: a fault of the program")
                trouble = f"a fault of the program: {type(error).__name__}: {error}"
            attempt = 1 if self._player is not None else attempt + 1
            lost_at = self._clock() if attempt == 1 else lost_at
            self._lose(trouble or "the player has just appeared")
            if trouble:
                lately = self._clock() - lost_at < self._patience.at_first.total_seconds()
                longest = min(self._patience.soon, self._patience.longest) if lately else self._patience.longest
                await self._pause(attempt, longest)

    async def _until_lost(self) -> str:
        """Follow the configured player, or a stand-in, while it lives; return why it is gone, '' for a better one."""
        try:
            await self._follow(self._connect(), self.configured)
        except Unavailable as error:
            # Where there was a player once, it shall come back: a silent one in its place would only hide that.
            if self._met or not getattr(self._options, "stand_in", False):
                return str(error)
            return await self._stand_in_for(str(error))
        except ApplianceError as error:
            return str(error)
        return "the player hung up"

    async def _stand_in_for(self, absent: str) -> str:
        """Follow a private MPD until the configured player appears; return why there is none, '' if it appeared."""
        try:
            async with private.running(self._folder / FOLDER, self._options.music) as place:
                stand_in = _stand_in_at(place, self._kind, self._options)
                return await self._unless_it_appears(self._follow(stand_in, place, absent + STAND_IN_NOTE))
        except ApplianceError as error:
            return f"{absent}. There is no stand-in: {error}"

    async def _unless_it_appears(self, following: Coroutine[Any, Any, None]) -> str:
        """Go on FOLLOWING the stand-in until the configured player appears; return ''. Raises what FOLLOWING does."""
        tasks = [asyncio.create_task(following), asyncio.create_task(self._until_it_appears())]
        try:
            await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            if not tasks[1].done():
                await tasks[0]
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
        return ""

    async def _until_it_appears(self) -> None:
        attempt = 0
        while True:
            attempt += 1
            await self._pause(attempt, self._patience.on_stand_in)
            with contextlib.suppress(ApplianceError):
                await self._connect().state()
                return

    async def _follow(self, player: Player, upstream: Upstream | None, silence: str = "") -> None:
        """Read the state at each change until PLAYER is lost. SILENCE says why only a stand-in plays."""
        governed = apply_policy(player, self.house)
        try:
            async for names in player.changes():
                state = await governed.state()
                # All at once: nobody is to see what plays beside the reason why nothing does.
                abilities = self.abilities if self._player is player else await governed.abilities()
                self._state, self._read_at = state, self._clock()
                if self._player is player:
                    self._news.tell(names)
                    continue
                self.abilities = abilities
                self._player, self.upstream, self.stand_in, self.trouble = player, upstream, bool(silence), silence
                self._met = self._met or not silence
                _log.log(
                    logging.WARNING if silence else logging.INFO, "music: %s", silence or "connected to the player"
                )
                self._news.tell(names | {CONNECTION})
        finally:
            await player.close()

    def _lose(self, trouble: str) -> None:
        if self._player is not None or trouble != self.trouble:
            _log.warning("music: %s", trouble)
            self._player = self._state = self.upstream = None
            self.abilities = frozenset()
            self.stand_in, self.trouble, self.note = False, trouble, ""
            self._news.tell(frozenset({CONNECTION}))

    def _touched(self) -> None:
        self.hands += 1

    def _connect(self) -> Player:
        return _connected(self._kind, self._options, self._secrets)

    async def _pause(self, attempt: int, longest: timedelta) -> None:
        wait = backoff.wait(attempt, first=self._patience.first, at_most=longest, random=self._random).total_seconds()
        knock = min(self._patience.knock.total_seconds(), wait)
        self._asked.clear()
        await asyncio.sleep(knock)
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(wait - knock):
                await self._asked.wait()


async def open_player(config: Config, secrets: Mapping[str, str], *, tell: Callable[[str], None] = _log.info) -> Player:
    """Return the player for a short while: the configured one, else the stand-in that the daemon started, if it runs.

    It is as the household wants it: within the volume policy of CONFIG. TELL gets a line if it is the stand-in. The
    caller closes it. Raises Unavailable where neither answers.
    """
    part = config.player
    if part is None:
        raise Unavailable(NO_PLAYER)
    player = _connected(part.kind, part.with_, secrets)
    try:
        await player.state()
    except Unavailable as absent:
        place = private.socket_in(config.state_dir / FOLDER)
        if not getattr(part.with_, "stand_in", False):
            raise
        player = _stand_in_at(place, part.kind, part.with_)
        try:
            await player.state()
        except Unavailable:
            raise absent from None
        tell(f"{absent}{STAND_IN_NOTE}")
    history = LazyStore(config.state_dir)
    return apply_policy(
        player, PlayerPolicy(policy=config.volume, zone=config.time_zone, store=history.open, close=history.close)
    )


def _stand_in_at(place: Path, kind: str, options: Any) -> Player:
    # Whatever partition the configured one has: this one has its first only.
    return _connected(kind, dataclasses.replace(options, address=str(place), stand_in=False, partition=""), {})


def _connected(kind: str, options: Any, secrets: Mapping[str, str]) -> Player:
    player: Player = plugins.load("players", kind).connect(options, secrets)
    return player
