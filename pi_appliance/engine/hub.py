"""The hub: one connection to the player for everybody, held for as long as the appliance runs.

`run()` keeps it; `player()` gives the player to whoever wants something done; `watch()` tells whoever shows music what
changed. It sleeps until the player itself says that something changed. Without a player it says why, in `trouble`.
"""

import asyncio
import contextlib
import dataclasses
import logging
import time
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping
from datetime import timedelta
from pathlib import Path
from random import Random
from typing import Any

from pi_appliance import registry
from pi_appliance.core import backoff
from pi_appliance.errors import ApplianceError, Unavailable
from pi_appliance.model.config import Part
from pi_appliance.model.music import Play, PlayerState
from pi_appliance.ports_player import Player
from pi_appliance.system import private_mpd

Upstream = Path | tuple[str, int]
FOLDER = "mpd"  # in the state folder: what belongs to the stand-in
SILENCE = ". Until then a silent stand-in plays"
CONNECTION = "connection"  # among the names of what changed: the player came, went or is another one
NO_PLAYER = 'no player is configured; write  player: {kind: mpd}  into appliance.yaml and see "pi-appliance music"'
_log = logging.getLogger(__name__)


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Patience:
    """How long the hub waits before it tries again; each wait is twice the last, up to a longest one."""

    first: timedelta = timedelta(seconds=1)
    longest: timedelta = timedelta(seconds=30)
    on_stand_in: timedelta = timedelta(seconds=60)  # the longest while a stand-in plays: nobody waits then


class Hub:
    """Holds the player. Every attribute may be read at any time, from the same event loop."""

    def __init__(
        self,
        part: Part | None,
        state_folder: Path,
        secrets: Mapping[str, str],
        *,
        patience: Patience | None = None,
        random: Random | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._part, self._folder, self._secrets = part, state_folder, secrets
        self._kind: str = part.kind if part else ""
        self._options: Any = part.with_ if part else None
        self._patience, self._random, self._clock = patience or Patience(), random or Random(), clock  # noqa: S311 - jitter
        self._listeners: set[_Listener] = set()
        self._player: Player | None = None
        self._state: PlayerState | None = None
        self._read_at = 0.0
        self._met = False  # whether the configured player was ever there
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

    async def player(self) -> Player:
        """Return the player that is connected. Raises Unavailable at once, with the reason, if there is none."""
        if self._player is None:
            raise Unavailable(self.trouble)
        return self._player

    async def watch(self) -> AsyncIterator[frozenset[str]]:
        """Yield what changed, as MPD calls it (player, mixer, playlist, …), or "connection": read everything anew.

        The first item comes at once. Who listens slowly gets the changes since his last item in one.
        """
        listener = _Listener()
        self._listeners.add(listener)
        try:
            while True:
                yield await listener.news()
        finally:
            self._listeners.discard(listener)

    async def run(self) -> None:
        """Keep the player connected until cancelled. The private MPD ends with it."""
        if self._part is None:
            await asyncio.Event().wait()
        attempt = 0
        while True:
            try:
                trouble = await self._until_lost()
            except Exception as error:  # noqa: BLE001 - the edge: a fault here must not end the music without a word
                _log.exception("music: a fault of the program")
                trouble = f"a fault of the program: {type(error).__name__}: {error}"
            attempt = 1 if self._player is not None else attempt + 1
            self._lose(trouble or "the player has just appeared")
            if trouble:
                await self._pause(attempt, self._patience.longest)

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
            async with private_mpd.running(self._folder / FOLDER, self._options.music) as place:
                stand_in = _stand_in_at(place, self._kind, self._options)
                return await self._unless_it_appears(self._follow(stand_in, place, absent + SILENCE))
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
        try:
            async for names in player.changes():
                state = await player.state()
                self._state, self._read_at = state, self._clock()
                if self._player is player:
                    self._tell(names)
                    continue
                self._player, self.upstream, self.stand_in, self.trouble = player, upstream, bool(silence), silence
                self._met = self._met or not silence
                _log.log(
                    logging.WARNING if silence else logging.INFO, "music: %s", silence or "connected to the player"
                )
                self._tell(names | {CONNECTION})
        finally:
            await player.close()

    def _lose(self, trouble: str) -> None:
        if self._player is not None or trouble != self.trouble:
            _log.warning("music: %s", trouble)
            self._player = self._state = self.upstream = None
            self.stand_in, self.trouble = False, trouble
            self._tell(frozenset({CONNECTION}))

    def _tell(self, names: frozenset[str]) -> None:
        for listener in self._listeners:
            listener.hear(names)

    def _connect(self) -> Player:
        return _connected(self._kind, self._options, self._secrets)

    async def _pause(self, attempt: int, longest: timedelta) -> None:
        wait = backoff.wait(attempt, first=self._patience.first, at_most=longest, random=self._random)
        await asyncio.sleep(wait.total_seconds())


class _Listener:
    """What one listener has not heard yet."""

    def __init__(self) -> None:
        self._names: frozenset[str] = frozenset({CONNECTION})
        self._some = asyncio.Event()
        self._some.set()

    def hear(self, names: frozenset[str]) -> None:
        self._names |= names
        self._some.set()

    async def news(self) -> frozenset[str]:
        await self._some.wait()
        self._some.clear()
        names, self._names = self._names, frozenset()
        return names


async def open_player(
    part: Part | None,
    state_folder: Path,
    secrets: Mapping[str, str],
    *,
    tell: Callable[[str], None] = _log.info,
) -> Player:
    """Return the player for a short while: the configured one, else the stand-in that the daemon started, if it runs.

    TELL gets a line if it is the stand-in. The caller closes it. Raises Unavailable where neither answers.
    """
    if part is None:
        raise Unavailable(NO_PLAYER)
    player = _connected(part.kind, part.with_, secrets)
    try:
        await player.state()
    except Unavailable as absent:
        place = private_mpd.socket_in(state_folder / FOLDER)
        if not getattr(part.with_, "stand_in", False):
            raise
        player = _stand_in_at(place, part.kind, part.with_)
        try:
            await player.state()
        except Unavailable:
            raise absent from None
        tell(f"{absent}{SILENCE}")
    return player


def _stand_in_at(place: Path, kind: str, options: Any) -> Player:
    return _connected(kind, dataclasses.replace(options, address=str(place), stand_in=False), {})


def _connected(kind: str, options: Any, secrets: Mapping[str, str]) -> Player:
    player: Player = registry.load("players", kind).connect(options, secrets)
    return player
