"""The fade of an alarm or a sleep timer: linear in decibels; a change by the user ends it."""

import math
from collections.abc import Callable
from dataclasses import dataclass

from pi_appliance.errors import Refused
from pi_appliance.music.model import PlayerState
from pi_appliance.music.player import Player

_CURVE = 25.0
"""MPD's software mixer has the amplitude exp(volume / 25) - 1; those of sound cards are similar."""
_ALMOST_SILENT = 0.5  # volume that stands for 0, because 0 would be minus infinity in decibels


@dataclass(frozen=True, slots=True, kw_only=True)
class Fade:
    """A change from one volume (0 to 100) to another in `seconds`, linear in decibels."""

    start: int
    end: int
    seconds: float

    def at(self, elapsed: float) -> int:
        """Return the volume after `elapsed` seconds: monotonic, and between both ends."""
        if elapsed >= self.seconds:
            return self.end
        if elapsed <= 0 or self.start == self.end:
            return self.start
        low, high = decibels(self.start), decibels(self.end)
        level = low + (high - low) * elapsed / self.seconds
        volume = _CURVE * math.log1p(10 ** (level / 20))
        # Rounded towards the start volume, so that a step comes late rather than early.
        step = math.floor(volume + 1e-9) if self.end > self.start else math.ceil(volume - 1e-9)
        return min(max(step, min(self.start, self.end)), max(self.start, self.end))


def decibels(volume: int) -> float:
    """Convert `volume` (0 to 100) to decibels, relative to an arbitrary level."""
    return 20 * math.log10(math.expm1(max(volume, _ALMOST_SILENT) / _CURVE))


def amplitude(volume: int) -> float:
    """Convert `volume` (0 to 100) to a factor from 0 to 1 for the samples of a wave."""
    return math.expm1(min(max(volume, 0), 100) / _CURVE) / math.expm1(100 / _CURVE)


class VolumeControl:
    """Sets the volume if it changes, and distinguishes our own changes from the user's.

    A player without a mixer keeps its volume.

    Args:
        player: One without a mixer keeps its volume.
        max_volume: Returns the current limit, which may lower the volume as well.
    """

    def __init__(self, player: Player, max_volume: Callable[[], int]) -> None:
        self._player, self._max_volume = player, max_volume
        self._requested: int | None = None
        self._before_last: int | None = None  # the volume before our last change
        self._low, self._high = 0, 100

    async def set(self, volume: int) -> None:
        """Set the volume, within the limit. The same volume is not set twice."""
        volume = min(volume, self._max_volume())
        if volume == self._requested:
            return
        previous = (await self._player.state()).volume
        try:
            await self._player.set_volume(volume)
        except Refused:  # there is no mixer, or none before something plays
            self._requested = None
            return
        self._requested, self._before_last = volume, previous
        current = (await self._player.state()).volume
        # While the player still reports another volume, it may pass all values in between: they are
        # ours.
        values = {volume} if current == volume else {volume, *(x for x in (previous, current) if x is not None)}
        self._low, self._high = min(values), max(values)

    def assume(self, low: int, high: int) -> None:
        """Treat any volume from `low` to `high` as set by an earlier run."""
        self._requested, (self._low, self._high) = None, (low, high)

    def accept_restored(self) -> None:
        """Treat the volume before our last change as ours, too, and always set the next one.

        An announcement that began while we changed the volume may restore the old volume.
        """
        self._requested = None
        if self._before_last is not None:
            self._low, self._high = min(self._low, self._before_last), max(self._high, self._before_last)

    def is_ours(self, state: PlayerState) -> bool:
        """Return whether the volume is the one that we set; otherwise the user changed it."""
        if state.volume is None:
            return True
        if not min(self._low, self._max_volume()) <= state.volume <= self._high:
            return False
        self._low = self._high = state.volume
        return True

    def raised_by_user(self, state: PlayerState) -> bool:
        """Return whether the player is louder than we set it."""
        return state.volume is not None and state.volume > self._high
