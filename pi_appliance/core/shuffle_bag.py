"""Shuffle bag: which line comes next. What was used is known by its content, so the file may be edited at any time."""

import hashlib
import unicodedata
from collections.abc import Sequence
from enum import StrEnum

from pi_appliance.core.lines import Line
from pi_appliance.model.post import Used

_RESTING = 3  # one line in so many, the newest used, does not begin a new round


class Choose(StrEnum):
    """How the next line is chosen."""

    SHUFFLE = "shuffle"  # at random, but none again before all were used
    RANDOM = "random"  # any, each time
    IN_ORDER = "in-order"  # one after the other, once through


def fingerprint(line: Line) -> str:
    """Return 16 hexadecimal digits that two lines share if a reader would take them for the same post.

    Capitals, spaces, the form of accents, where the line stands and how its pictures are described do not count.
    """
    text = unicodedata.normalize("NFC", unicodedata.normalize("NFC", line.text).casefold())
    content = "\n".join([" ".join(text.split()), *(file for file, _ in line.pictures)])
    return hashlib.sha256(content.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def pick(prints: Sequence[str], used: Used, how: Choose, draw: float) -> int | None:
    """Return which of PRINTS, the fingerprints of a file's lines, is next; DRAW, from 0 to below 1, decides.

    None: there are none, or HOW is in-order and all were used. Of equal lines only the first counts.
    """
    first: dict[str, int] = {}
    for index, each in enumerate(prints):
        first.setdefault(each, index)
    match how:
        case Choose.RANDOM:
            among = list(first)
        case Choose.SHUFFLE:
            among = [each for each in first if each not in used.round] or _rested(first, used)
        case Choose.IN_ORDER:
            known = frozenset(used.last)
            among = [each for each in first if each not in known][:1]
    return first[among[int(draw * len(among))]] if among else None


def use(used: Used, line: str) -> Used:
    """Return USED once the line with the fingerprint LINE is used, too. One of this round begins a new round."""
    now = frozenset({line}) if line in used.round else used.round | {line}
    return Used(now, (*(each for each in used.last if each != line), line))


def _rested(lines: dict[str, int], used: Used) -> list[str]:
    """Return the LINES that may begin a new round: not those used last, and never the very last one again."""
    resting = max(1, len(lines) // _RESTING) if len(lines) > 1 else 0
    newest = [each for each in reversed(used.last) if each in lines][:resting]
    return [each for each in lines if each not in newest]
