"""Fades: how loud at which second, so that the ear hears it rise or fall evenly."""

import math
from dataclasses import dataclass

_BEND = 25.0
"""Of the volume scale. MPD's own mixer makes the amplitude exp(volume / 25) - 1; sound cards' mixers are bent alike."""
_NOTHING = 0.5  # stands for a volume of 0 where its decibels are asked for: those of silence are infinite


@dataclass(frozen=True, slots=True, kw_only=True)
class Fade:
    """From one volume to another, 0 to 100 each, within `seconds`: by the same number of decibels each second."""

    start: int
    end: int
    seconds: float

    def at(self, elapsed: float) -> int:
        """Return the volume at ELAPSED seconds. It never turns back, and never leaves the way from start to end."""
        if elapsed >= self.seconds:
            return self.end
        if elapsed <= 0 or self.start == self.end:
            return self.start
        low, high = decibels(self.start), decibels(self.end)
        reached = low + (high - low) * elapsed / self.seconds
        volume = _BEND * math.log1p(10 ** (reached / 20))
        # Rounded towards the start: whoever wakes up hears each step late rather than early.
        step = math.floor(volume + 1e-9) if self.end > self.start else math.ceil(volume - 1e-9)
        return min(max(step, min(self.start, self.end)), max(self.start, self.end))


def decibels(volume: int) -> float:
    """Return how loud VOLUME is, beside any other."""
    return 20 * math.log10(math.expm1(max(volume, _NOTHING) / _BEND))


def amplitude(volume: int) -> float:
    """Return what a wave is multiplied by to sound as VOLUME does where 100 leaves it as it is: 0 to 1."""
    return math.expm1(min(max(volume, 0), 100) / _BEND) / math.expm1(100 / _BEND)
