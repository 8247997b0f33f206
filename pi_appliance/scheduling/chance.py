"""The chance of a job, `chance:`, and the draws that decide by it.

A draw is a keyed hash of the slot, so it can be predicted, shown and repeated: the daemon, cron and
a preview of the next posts come to the same result.
"""

import hashlib
import hmac
import re
from dataclasses import dataclass
from fractions import Fraction

_FRACTION = re.compile(r"\s*(\d{1,9})\s*/\s*(\d{1,9})\s*")
_CHANCE_ERROR = "a chance is more than 0 and at most 1, such as 1/4"


@dataclass(frozen=True, slots=True)
class Chance:
    """The probability that a slot is used, as a fraction."""

    numerator: int
    denominator: int

    def __post_init__(self) -> None:
        if not 0 < self.numerator <= self.denominator:
            raise ValueError(_CHANCE_ERROR)

    @property
    def fraction(self) -> Fraction:
        """The probability, exactly."""
        return Fraction(self.numerator, self.denominator)

    def __str__(self) -> str:
        """Return the chance as in the configuration, such as 1/4."""
        return f"{self.numerator}/{self.denominator}"


def parse_chance(value: object) -> Chance:
    """Parse 1/4, or a number such as 0.25. Raises ValueError with advice."""
    if match := _FRACTION.fullmatch(str(value)):
        return Chance(int(match[1]), int(match[2]))
    if isinstance(value, (int, float)) and not isinstance(value, bool) and 0 < value <= 1:
        return Chance(1, 1) if value == 1 else Chance(round(value * 1_000_000), 1_000_000)
    raise ValueError(_CHANCE_ERROR)


def is_selected(chance: Chance | None, *, secret: bytes, job: str, due: str) -> bool:
    """Return whether the slot `due` of `job` is used. Without a chance every slot is."""
    if chance is None:
        return True
    digest = hmac.digest(secret, f"{job}\n{due}".encode(), hashlib.sha256)
    # With integers there is no rounding: 1/1 always selects, and other chances are as uniform as
    # HMAC.
    return int.from_bytes(digest[:16]) * chance.denominator < chance.numerator << 128


def uniform_for_slot(secret: bytes, job: str, due: str) -> float:
    """Return a uniform number from 0 to below 1: always the same for the slot `due` of `job`."""
    return _uniform_draw(secret, "slot", job, due)


def uniform_for_label(secret: bytes, job: str, slot: str, label: str) -> float:
    """Return a uniform number from 0 to below 1: always the same for `label` at `slot` of `job`."""
    return _uniform_draw(secret, "label", job, slot, label)


def _uniform_draw(secret: bytes, *message: str) -> float:
    """Return a number drawn from `message`. Its first part separates the kinds of draws."""
    digest = hmac.digest(secret, "\n".join(message).encode(), hashlib.sha256)
    return (int.from_bytes(digest[:8]) >> 11) / (1 << 53)  # a float holds 53 bits
