"""The volume in our hand: set no more often than it changes, and known as ours until somebody else takes it."""

from collections.abc import Callable

from pi_appliance.errors import Refused
from pi_appliance.music.model import PlayerState
from pi_appliance.music.player import Player


class Volume:
    """Sets the volume of a player, and tells a hand on it. One without a mixer is as loud as it is.

    LOUDEST returns what is allowed: when that falls, so does the volume, and by nobody's hand.
    """

    def __init__(self, player: Player, loudest: Callable[[], int]) -> None:
        self._player, self._loudest = player, loudest
        self._asked: int | None = None
        self._low, self._high = 0, 100

    async def set(self, volume: int) -> None:
        """Set it, as far as it is allowed, unless it was set so last. What the player shows then counts as set."""
        volume = min(volume, self._loudest())
        if volume == self._asked:
            return
        before = (await self._player.state()).volume
        try:
            await self._player.set_volume(volume)
        except Refused:  # no mixer, or none before something plays
            self._asked = None
            return
        self._asked = volume
        seen = (await self._player.state()).volume
        # One that does not show it yet is on its way there, and anything between is ours.
        around = {volume} if seen == volume else {volume, *(each for each in (before, seen) if each is not None)}
        self._low, self._high = min(around), max(around)

    def adopt(self, low: int, high: int) -> None:
        """Take whatever is between LOW and HIGH for set by an earlier run."""
        self._asked, (self._low, self._high) = None, (low, high)

    def is_ours(self, state: PlayerState) -> bool:
        """Say whether the volume of STATE is what we have set; if not, a hand was on it."""
        if state.volume is None:
            return True
        if not min(self._low, self._loudest()) <= state.volume <= self._high:
            return False
        self._low = self._high = state.volume  # where it has come to rest
        return True

    def was_raised(self, state: PlayerState) -> bool:
        """Say whether a hand made it louder than we have."""
        return state.volume is not None and state.volume > self._high
