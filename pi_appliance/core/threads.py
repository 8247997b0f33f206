"""Threads: a text too long for one post becomes several, numbered, cut where a reader would pause."""

import re
from collections.abc import Callable, Iterator

_CLOSING = r"[\"'\u201d\u2019\u00bb)\]]*"
_WIDE_CLOSING = r"[\u300d\u300f\u201d\uff09]*"
# Where to cut: at white space, or behind the stops and commas of scripts that write no spaces.
_WORD = re.compile(rf"\S+?(?:[\u3002\uff01\uff1f\u3001\uff0c]{_WIDE_CLOSING}|(?=\s)|$)")
_SENTENCE = re.compile(rf"[.!?\u2026]{_CLOSING}(?=\s+(\S)|\s*$)|[\u3002\uff01\uff1f]{_WIDE_CLOSING}")
_TRIES = 9  # more parts may need longer numbers, and longer numbers more parts; three is the most that was seen


def split(text: str, fits: Callable[[str], bool]) -> list[str]:
    """Return TEXT as one post if it FITS, else as the parts of a thread, each with its number behind it: ' (1/3)'.

    A part ends with a sentence, unless that would leave half of the room empty; then with a word. Raises ValueError
    if one word alone does not fit.
    """
    if fits(text):
        return [text]
    ends = [word.end() for word in _WORD.finditer(text)]
    # What goes on in small letters was no end of a sentence, but e.g. something like this.
    pauses = {found.end() for found in _SENTENCE.finditer(text) if not (found[1] or "").islower()}
    total = 2
    for _ in range(_TRIES):
        parts = list(_parts(text, ends, pauses, fits, total))
        if len(parts) == total:
            return parts
        total = len(parts)
    raise ValueError("it cannot be cut into posts")


def _parts(text: str, ends: list[int], pauses: set[int], fits: Callable[[str], bool], total: int) -> Iterator[str]:
    """Yield the parts, numbered as if there were TOTAL. Words end at ENDS, sentences at PAUSES."""
    start, first, number = 0, 0, 1
    while first < len(ends):
        number_text = f" ({number}/{total})"
        last = first
        while last < len(ends) and fits(text[start : ends[last]].strip() + number_text):
            last += 1
        if last == first:
            word = text[start : ends[first]].strip()
            raise ValueError(f"{word if len(word) <= 40 else word[:39] + '…'} does not fit into a post by itself")
        last = last if last == len(ends) else _pause(start, ends, pauses, first, last)
        yield text[start : ends[last - 1]].strip() + number_text
        start, first, number = ends[last - 1], last, number + 1


def _pause(start: int, ends: list[int], pauses: set[int], first: int, last: int) -> int:
    """Return up to which word, of those from FIRST to before LAST, the next part had best go."""
    half = (start + ends[last - 1]) / 2
    return next(
        (each + 1 for each in range(last - 1, first - 1, -1) if ends[each] in pauses and ends[each] >= half), last
    )
