"""The types of schedules, and the chance."""

from dataclasses import dataclass
from datetime import timedelta
from fractions import Fraction


@dataclass(frozen=True, slots=True)
class Cron:
    """Slots by the wall clock: the times of any of the cron expressions, of five fields each."""

    expressions: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Every:
    """One slot each interval, counted from 1970-01-01 00:00 UTC and so independent of restarts."""

    interval: timedelta


@dataclass(frozen=True, slots=True)
class AtBoot:
    """One slot each time the machine boots."""


Schedule = Cron | Every | AtBoot


@dataclass(frozen=True, slots=True)
class Chance:
    """The probability that a slot is used: `hits` out of `draws`."""

    hits: int
    draws: int

    def __post_init__(self) -> None:
        if not 0 < self.hits <= self.draws:
            raise ValueError("a chance is more than 0 and at most 1, such as 1/4")

    @property
    def fraction(self) -> Fraction:
        """The probability, exactly."""
        return Fraction(self.hits, self.draws)

    def __str__(self) -> str:
        """Return it as it is written in the YAML, such as 1/4."""
        return f"{self.hits}/{self.draws}"
