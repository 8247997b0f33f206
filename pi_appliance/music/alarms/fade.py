"""The fade of an alarm or a sleep timer: a change of the volume that is even to the ear."""

import math
from dataclasses import dataclass

_CURVE = 25.0
"""MPD's software mixer has the amplitude exp(volume / 25) - 1; those of sound cards are similar."""
_ALMOST_SILENT = 0.5  # stands for volume 0, whose decibels are minus infinity


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
        # Rounded towards the start, so that each step comes late rather than early.
        step = math.floor(volume + 1e-9) if self.end > self.start else math.ceil(volume - 1e-9)
        return min(max(step, min(self.start, self.end)), max(self.start, self.end))


def decibels(volume: int) -> float:
    """Convert `volume` (0 to 100) to decibels, relative to an arbitrary level."""
    return 20 * math.log10(math.expm1(max(volume, _ALMOST_SILENT) / _CURVE))


def amplitude(volume: int) -> float:
    """Convert `volume` (0 to 100) to a factor from 0 to 1 for the samples of a wave."""
    return math.expm1(min(max(volume, 0), 100) / _CURVE) / math.expm1(100 / _CURVE)
