"""How long something will take, from how far it is by now."""

from collections.abc import Callable
from datetime import timedelta

from pi_appliance.config import units

_SURE = 3.0  # seconds before an estimate is worth saying
_SURE_PART = 0.02


class Estimate:
    """Says how long it will take, from how far it is: honest where the parts take as long as each other."""

    def __init__(self, seconds: Callable[[], float]) -> None:
        self._seconds, self._begun = seconds, seconds()
        self._from: float | None = None

    def of(self, part: float | None) -> str:
        """Return the time that is left in words; '' while nobody can tell."""
        now = self._seconds()
        if part is None or (self._from is not None and part < self._from):
            self._begun, self._from = now, part
            return ""
        if self._from is None:
            self._begun, self._from = now, part
        done, took = part - self._from, now - self._begun
        if done < _SURE_PART or took < _SURE or part >= 1:
            return ""
        left = round(took * (1 - part) / done)
        rounded = left - left % (10 if left > 60 else 1)
        return f"about {units.format_duration(timedelta(seconds=max(1, rounded)))} left"
