"""The guard of the volume: whatever turns it up, a knob or another program, it is put down to what is allowed.

A timer runs only where quiet hours are to come. While music plays it looks twice a minute, for the clock on the wall
may be put forward; else it sleeps until they begin.
"""

import asyncio
import contextlib
import logging
from collections.abc import Sequence
from datetime import datetime

from pi_appliance.errors import Unavailable
from pi_appliance.music import limited_player as rule
from pi_appliance.music.hub import CONNECTION, Hub, Nap
from pi_appliance.music.limited_player import MUTE
from pi_appliance.music.model import Capability, Play, PlayerState

LOOK = 30.0  # seconds between two looks while music plays and quiet hours may come
FADE = 4.0  # seconds that the music takes to become as quiet as quiet hours want it
STEPS = 8
BOOT = "start of the machine whose start volume is set"
"""The name of the note."""
_ROUNDED = 3  # how much louder a mixer may be than it was told to; some have few steps
_log = logging.getLogger(__name__)


class VolumeLimiter:
    """Keeps the volume of HUB within the policy of its house. BOOT names this start of the machine."""

    def __init__(self, hub: Hub, *, boot: str, nap: Nap = asyncio.sleep) -> None:
        self._hub, self._house, self._boot, self._nap = hub, hub.house, boot, nap
        self._volume: int | None = None  # as it was last seen
        self._muted, self._boot_unknown = False, False
        self._known = rule.LOUDEST  # what was allowed when it looked last
        self._nearest: tuple[int, int] = (0, 0)  # what was allowed, and what the mixer made of it

    async def run(self) -> None:
        """Guard until cancelled. Raises what the player does when it is lost in the middle."""
        with self._hub.listening() as listener:
            names = await listener.news()
            while True:
                await self.look(names)
                names = await listener.news_within(self._wait(), self._nap)

    async def look(self, names: frozenset[str] = frozenset()) -> None:
        """Put the volume down if it is too loud. NAMES are what changed."""
        state = self._hub.state
        if state is None:
            return
        if CONNECTION in names:
            state = await self.arrive(state)
        if self._muted and state.volume and Capability.MUTE not in await self._hub.bare_player().abilities():
            with contextlib.suppress(Unavailable):
                self._house.notes.drop(MUTE)  # somebody has turned it up, so it is not muted any more
        loudest = self._house.allowed()
        fell, self._known = loudest < self._known, loudest
        self._muted, self._volume = state.muted, state.volume
        if self._is_too_loud(state, loudest):
            await self._lower(loudest, gently=fell and state.play is Play.PLAYING and CONNECTION not in names)

    async def arrive(self, state: PlayerState) -> PlayerState:
        """Turn a player that has just started down to the start volume, unless it plays; return its STATE then."""
        policy = self._house.policy
        if policy is None or policy.start is None or state.volume is None or self._hub.stand_in:
            return state
        louder = self._volume is not None and state.volume > self._volume
        started_anew = self._is_first() or louder
        loudest = min(policy.start, self._house.allowed())
        if not started_anew or state.volume <= loudest or state.play is Play.PLAYING:
            return state
        player = self._hub.bare_player()
        now = await player.state()  # an alarm may have set it meanwhile, and play
        if now.play is Play.PLAYING or (now.volume or 0) <= loudest:
            return now
        _log.info("music: the volume was %d at the start, it is %d now", state.volume, loudest)
        await player.set_volume(loudest)
        return await player.state()

    def _is_first(self) -> bool:
        """Say whether no player was met yet since the start of the machine."""
        try:
            first = self._house.notes.get(BOOT) != self._boot
            if first:
                self._house.notes.put(BOOT, self._boot)
        except Unavailable as error:  # it cannot be written down: no reason to be loud
            _log.warning("music: the start volume: %s", error)
            first, self._boot_unknown = not self._boot_unknown, True
        return first

    def _is_too_loud(self, state: PlayerState, loudest: int) -> bool:
        if state.volume is None or state.volume <= loudest:
            return False
        return self._nearest[0] != loudest or state.volume > self._nearest[1]

    async def _lower(self, loudest: int, *, gently: bool) -> None:
        player = self._hub.bare_player()
        state = await player.state()
        if state.volume is None or state.volume <= loudest:
            return
        _log.info("music: the volume was %d, %d is allowed now", state.volume, loudest)
        last = state.volume
        for step in _steps(last, loudest) if gently else ():
            await self._nap(FADE / STEPS)
            now = (await player.state()).volume
            if now is None or now <= loudest:
                return  # a hand was quicker
            if now > last + _ROUNDED:
                break  # a hand turned it up meanwhile
            await player.set_volume(step)
            last = step
        await player.set_volume(loudest)
        self._nearest = (loudest, min((await player.state()).volume or 0, loudest + _ROUNDED))

    def _wait(self) -> float | None:
        """Return how many seconds to wait for news at the most; None: as long as it takes."""
        state = self._hub.state
        change = rule.next_change(self._house.policy, now := self._house.now(), self._house.zone)
        if state is None or state.volume is None or change is None:
            return None
        seconds = _seconds(now, change)
        return min(LOOK, seconds) if state.play is Play.PLAYING else seconds


def _steps(volume: int, loudest: int) -> Sequence[int]:
    """Return the volumes between VOLUME and LOUDEST on the way down."""
    return [volume + round((loudest - volume) * number / STEPS) for number in range(1, STEPS)]


def _seconds(now: datetime, change: datetime) -> float:
    return max(0.05, (change - now).total_seconds())
