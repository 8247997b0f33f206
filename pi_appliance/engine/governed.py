"""A player as the household wants it: never louder than allowed, with mute and opinions where it has none of its own.

All that is not named here goes to the player as it is.
"""

from collections.abc import Awaitable, Callable, Collection, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, cast
from zoneinfo import ZoneInfo

from pi_appliance.core import volume as rule
from pi_appliance.errors import Refused, Unavailable
from pi_appliance.model.config import VolumePolicy
from pi_appliance.model.music import Added, Can, Entry, Opinion, PlayerState, Source, Where, Window
from pi_appliance.ports_player import Player
from pi_appliance.store.database import Database
from pi_appliance.store.notes import Notes
from pi_appliance.store.opinions import Opinions
from pi_appliance.system import clock

MUTE = "volume before the mute"
"""The name of the note."""


def _nowhere() -> Database:
    raise Unavailable("there is no history here to remember it in")


@dataclass(frozen=True, slots=True, kw_only=True)
class House:
    """What the household has laid down, and where it remembers. `store` opens the history when it is first asked."""

    policy: VolumePolicy | None = None
    zone: ZoneInfo = field(default_factory=lambda: ZoneInfo("UTC"))
    now: Callable[[], datetime] = clock.now
    store: Callable[[], Database] = _nowhere
    close: Callable[[], None] = lambda: None
    """Called when the player is closed."""

    def allowed(self) -> int:
        """Return the loudest that is allowed now, 0 to 100."""
        return rule.allowed(self.policy, self.now().astimezone(self.zone))

    @property
    def notes(self) -> Notes:
        """What is known again after a restart."""
        return Notes(self.store())

    @property
    def opinions(self) -> Opinions:
        """What is thought of tracks."""
        return Opinions(self.store())


def govern(player: Player, house: House, touched: Callable[[], None] = lambda: None) -> Player:
    """Return PLAYER as HOUSE wants it. TOUCHED is called before each command that says what is to play."""
    return cast("Player", Governed(player, house, touched))  # the rest of a Player is the player's own


class Governed:
    """Stands before a player. Where something was above what is allowed, it becomes what is allowed: no refusal."""

    def __init__(self, player: Player, house: House, touched: Callable[[], None]) -> None:
        self._player, self._house, self._touched = player, house, touched
        self._can: frozenset[Can] | None = None

    def __getattr__(self, name: str) -> Any:
        return getattr(self._player, name)

    def allowed(self, now: datetime) -> int:
        """Return the loudest that is allowed at NOW, 0 to 100."""
        return rule.allowed(self._house.policy, now.astimezone(self._house.zone))

    async def abilities(self) -> frozenset[Can]:
        """Return what the player can, and what the appliance does for it."""
        self._can = await self._player.abilities()
        return self._can | {Can.STICKERS} | ({Can.MUTE} if Can.VOLUME in self._can else set())

    async def state(self) -> PlayerState:
        """Return what it is doing now; muted too where the appliance has muted it."""
        state = await self._player.state()
        if state.volume != 0 or state.muted:
            return state
        with suppress(Unavailable):  # the history cannot be read: no reason to hide the music
            return replace(state, muted=self._house.notes.get(MUTE) is not None)
        return state

    async def play(self, position: int | None = None, *, at: float = 0.0) -> None:
        """Play, not louder than allowed."""
        await self._press(lambda: self._player.play(position, at=at), loud=True)

    async def play_id(self, id: int) -> None:  # noqa: A002 - MPD's word
        """Play a track of the queue, not louder than allowed."""
        await self._press(lambda: self._player.play_id(id), loud=True)

    async def toggle(self) -> None:
        """Pause if it plays, else play, not louder than allowed."""
        await self._press(self._player.toggle, loud=True)

    async def next(self) -> None:
        """Go to the next track."""
        await self._press(self._player.next, loud=True)

    async def previous(self) -> None:
        """Go to the previous track."""
        await self._press(self._player.previous, loud=True)

    async def pause(self) -> None:
        """Pause; nothing happens unless it plays."""
        await self._press(self._player.pause)

    async def stop(self) -> None:
        """Stop."""
        await self._press(self._player.stop)

    async def seek(self, seconds: float) -> None:
        """Go to SECONDS from the start of the current track."""
        await self._press(lambda: self._player.seek(seconds))

    async def clear(self) -> None:
        """Empty the queue."""
        await self._press(self._player.clear)

    async def add(self, source: Source, where: Where = Where.END, *, play: bool = False) -> Added:
        """Put SOURCE into the queue, and PLAY it, not louder than allowed."""
        if not play and where is not Where.INSTEAD:
            return await self._player.add(source, where)
        self._touched()
        if play:
            await self._lower()
        return await self._player.add(source, where, play=play)

    async def use_partition(self, name: str) -> None:
        """Speak of another partition from now on, which may not be louder either."""
        await self._player.use_partition(name)
        await self._lower()

    async def set_volume(self, volume: int) -> None:
        """Set the volume, as far as it is allowed. It ends the mute, unless it is 0."""
        await self._player.set_volume(min(volume, self._house.allowed()))
        if volume > 0:
            with suppress(Unavailable):  # the history cannot be written: no reason to say the volume was not set
                self._house.notes.drop(MUTE)

    async def set_mute(self, on: bool) -> None:
        """Be silent, or as loud as before and allowed. Raises Refused where there is no volume either."""
        if await self._has(Can.MUTE):
            if not on:
                await self._lower()
            return await self._player.set_mute(on)
        notes, state = self._house.notes, await self._player.state()
        if state.volume is None:
            raise Refused("the player has no volume to mute; switch its output off, or the amplifier")
        if on and state.volume > 0:
            notes.put(MUTE, str(state.volume))  # first: a power cut in between must not leave it silent for good
            await self._player.set_volume(0)
        elif not on and (before := notes.get(MUTE)) is not None:
            if state.volume == 0:
                await self._player.set_volume(min(int(before), self._house.allowed()))
            notes.drop(MUTE)
        return None

    async def opinions(self, uris: Collection[str]) -> Mapping[str, Opinion]:
        """Return what is thought of those of URIS that something is thought of."""
        if await self._has(Can.STICKERS):
            return await self._player.opinions(uris)
        return self._house.opinions.of(uris)

    async def set_opinion(self, uri: str, opinion: Opinion) -> None:
        """Keep what is thought of the track URI."""
        if await self._has(Can.STICKERS):
            return await self._player.set_opinion(uri, opinion)
        return self._house.opinions.put(uri, opinion)

    async def favourites(self, start: int = 0, count: int = 100) -> Window[Entry]:
        """Return the favourite tracks, in the order of their addresses."""
        if await self._has(Can.STICKERS):
            return await self._player.favourites(start, count)
        return self._house.opinions.favourites(start, count)

    async def close(self) -> None:
        """Let go of every connection, and of what was opened to remember."""
        await self._player.close()
        self._house.close()

    async def _press(self, button: Callable[[], Awaitable[None]], *, loud: bool = False) -> None:
        self._touched()
        if loud:
            await self._lower()
        await button()

    async def _lower(self) -> None:
        """Put the volume down to what is allowed, before anything sounds."""
        if self._house.policy is None:
            return
        state, loudest = await self._player.state(), self._house.allowed()
        if state.volume is not None and state.volume > loudest:
            await self._player.set_volume(loudest)

    async def _has(self, ability: Can) -> bool:
        if self._can is None:
            self._can = await self._player.abilities()
        return ability in self._can
