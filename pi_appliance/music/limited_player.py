"""A player as the household wants it: never louder than allowed, with mute and opinions where it has none of its own.

All that is not named here goes to the player as it is.
"""

from collections.abc import Awaitable, Callable, Collection, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import datetime, time, timedelta
from itertools import takewhile
from typing import Any, cast
from zoneinfo import ZoneInfo

from pi_appliance.config.model import QuietHours, VolumePolicy
from pi_appliance.errors import Refused, Unavailable
from pi_appliance.music.model import AddResult, Capability, Entry, Page, PlayerState, QueuePosition, Source, TrackRating
from pi_appliance.music.player import Player
from pi_appliance.music.ratings import RatingStore
from pi_appliance.scheduling import dst
from pi_appliance.storage.database import Database
from pi_appliance.storage.key_value import KeyValueStore
from pi_appliance.system import clock

LOUDEST = 100
_AHEAD = timedelta(days=9)
"""How far a change is looked for: quiet hours may hold on one day of the week, and the clock may leave that one out."""


def allowed(policy: VolumePolicy | None, local: datetime) -> int:
    """Return the loudest that is allowed, 0 to 100, where the clock on the wall shows LOCAL."""
    if policy is None:
        return LOUDEST
    return min([policy.maximum, *(hours.maximum for hours in policy.quiet if _holds(hours, local))])


def next_change(policy: VolumePolicy | None, now: datetime, zone: ZoneInfo) -> datetime | None:
    """Return the next instant after NOW, in UTC, from which something else is allowed in ZONE; None: no such comes.

    A change of the clock counts: it may jump into quiet hours, or out of them.
    """
    if policy is None or not policy.quiet:
        return None
    edges = sorted({edge for hours in policy.quiet for edge in (hours.from_, hours.to)})
    before = allowed(policy, now.astimezone(zone))
    for span in takewhile(lambda span: span.start < now + _AHEAD, dst.spans(zone, now)):
        for instant in _looked_at(span, now, edges):
            if allowed(policy, span.local(instant)) != before:
                return instant
    return None


def _looked_at(span: dst.Span, now: datetime, edges: list[time]) -> list[datetime]:
    """Return the instants of SPAN after NOW at which quiet hours may begin or end, in their order."""
    low, high = max(span.start, now), min(span.end, now + _AHEAD)
    first = span.local(low).date()
    days = (first + timedelta(days=number) for number in range((span.local(high).date() - first).days + 1))
    found = [span.start, *(span.instant(datetime.combine(day, edge)) for day in days for edge in edges)]
    return sorted(instant for instant in found if now < instant and span.start <= instant < high)


def _holds(hours: QuietHours, local: datetime) -> bool:
    shown = local.time().replace(tzinfo=None)
    today = local.isoweekday() % 7
    if hours.from_ < hours.to:
        return hours.from_ <= shown < hours.to and today in hours.days
    yesterday = (today - 1) % 7
    return (shown >= hours.from_ and today in hours.days) or (shown < hours.to and yesterday in hours.days)


MUTE = "volume before the mute"
"""The name of the note."""


def _nowhere() -> Database:
    raise Unavailable("there is no history here to remember it in")


@dataclass(frozen=True, slots=True, kw_only=True)
class PlayerPolicy:
    """What the household has laid down, and where it remembers. `store` opens the history when it is first asked."""

    policy: VolumePolicy | None = None
    zone: ZoneInfo = field(default_factory=lambda: ZoneInfo("UTC"))
    now: Callable[[], datetime] = clock.now
    store: Callable[[], Database] = _nowhere
    close: Callable[[], None] = lambda: None
    """Called when the player is closed."""

    def allowed(self) -> int:
        """Return the loudest that is allowed now, 0 to 100."""
        return allowed(self.policy, self.now().astimezone(self.zone))

    @property
    def notes(self) -> KeyValueStore:
        """What is known again after a restart."""
        return KeyValueStore(self.store())

    @property
    def opinions(self) -> RatingStore:
        """What is thought of tracks."""
        return RatingStore(self.store())


def apply_policy(player: Player, house: PlayerPolicy, touched: Callable[[], None] = lambda: None) -> Player:
    """Return PLAYER as HOUSE wants it. TOUCHED is called before each command that says what is to play."""
    return cast("Player", LimitedPlayer(player, house, touched))  # the rest of a Player is the player's own


class LimitedPlayer:
    """Stands before a player. Where something was above what is allowed, it becomes what is allowed: no refusal."""

    def __init__(self, player: Player, house: PlayerPolicy, touched: Callable[[], None]) -> None:
        self._player, self._house, self._touched = player, house, touched
        self._can: frozenset[Capability] | None = None

    def __getattr__(self, name: str) -> Any:
        return getattr(self._player, name)

    def allowed(self, now: datetime) -> int:
        """Return the loudest that is allowed at NOW, 0 to 100."""
        return allowed(self._house.policy, now.astimezone(self._house.zone))

    async def abilities(self) -> frozenset[Capability]:
        """Return what the player can, and what the appliance does for it."""
        self._can = await self._player.abilities()
        return self._can | {Capability.STICKERS} | ({Capability.MUTE} if Capability.VOLUME in self._can else set())

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

    async def add(self, source: Source, where: QueuePosition = QueuePosition.END, *, play: bool = False) -> AddResult:
        """Put SOURCE into the queue, and PLAY it, not louder than allowed."""
        if not play and where is not QueuePosition.INSTEAD:
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
        if await self._has(Capability.MUTE):
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

    async def opinions(self, uris: Collection[str]) -> Mapping[str, TrackRating]:
        """Return what is thought of those of URIS that something is thought of."""
        if await self._has(Capability.STICKERS):
            return await self._player.opinions(uris)
        return self._house.opinions.of(uris)

    async def set_opinion(self, uri: str, opinion: TrackRating) -> None:
        """Keep what is thought of the track URI."""
        if await self._has(Capability.STICKERS):
            return await self._player.set_opinion(uri, opinion)
        return self._house.opinions.put(uri, opinion)

    async def favourites(self, start: int = 0, count: int = 100) -> Page[Entry]:
        """Return the favourite tracks, in the order of their addresses."""
        if await self._has(Capability.STICKERS):
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

    async def _has(self, ability: Capability) -> bool:
        if self._can is None:
            self._can = await self._player.abilities()
        return ability in self._can
