"""Near duplicates: which lines of a file say almost the same as an earlier one."""

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain

from pi_appliance.core.lines import Line
from pi_appliance.core.shuffle_bag import fingerprint

NEAR = 0.9  # of 1: twice the letters that two lines have in common, in the same order, by the letters of both
_FEW = 5  # words; a line with fewer, or in a script without spaces, is known by pieces of so many letters
_PIECE = 3
_KEPT = 16  # lines that are remembered for a word: to be told of one earlier line is enough
_COMPARED = 4  # lines, of those with the most words in common
_COMMON = 1 / 3  # of the words; with fewer in common, lines are not compared letter by letter


@dataclass(frozen=True, slots=True)
class Near:
    """A line that is like an earlier one; both by their numbers."""

    line: int
    like: int
    ratio: float  # 1: the same to a reader


def find(lines: Sequence[Line]) -> list[Near]:
    """Return for each line that is like an earlier one which one that is, in the order of the file."""
    found, first, seen = [], dict[str, int](), _Seen()
    for line in lines:
        same = first.setdefault(fingerprint(line), line.number)
        near = seen.nearest(line) if same == line.number else Near(line.number, same, 1.0)
        if near:
            found.append(near)
        if same == line.number:
            seen.add(line)
    return found


def ratio(text: str, other: str) -> float:
    """Return how much of TEXT and OTHER is the same, from 0 to 1."""
    if not text or not other:
        return float(text == other)
    # The longest common subsequence, a bit for each letter of TEXT: what it has not in common so far is 1. A column of
    # the usual table is one addition of whole numbers this way.
    places: dict[str, int] = defaultdict(int)
    for place, letter in enumerate(text):
        places[letter] |= 1 << place
    apart = whole = (1 << len(text)) - 1
    for letter in other:
        hits = apart & places.get(letter, 0)
        apart = ((apart + hits) | (apart - hits)) & whole
    return 2 * (len(text) - apart.bit_count()) / (len(text) + len(other))


class _Seen:
    """The lines so far, found by their words: to compare each with each would take minutes on a Pi."""

    def __init__(self) -> None:
        self._lines: list[tuple[int, str, frozenset[str]]] = []
        self._with: defaultdict[str, list[int]] = defaultdict(list)

    def add(self, line: Line) -> None:
        text, words = _words(line)
        for word in words:
            if len(self._with[word]) < _KEPT:
                self._with[word].append(len(self._lines))
        self._lines.append((line.number, text, words))

    def nearest(self, line: Line) -> Near | None:
        """Return the line so far that LINE is most like, if it is near."""
        text, words = _words(line)
        best, number = max((self._compared(text, words, index) for index in self._candidates(words)), default=(0.0, 0))
        return Near(line.number, -number, best) if best >= NEAR else None

    def _candidates(self, words: frozenset[str]) -> set[int]:
        """Return those with the most WORDS in common, and those with the most rare ones: all may begin alike."""
        known = [self._with[word] for word in sorted(words) if word in self._with]
        rare = [lines for lines in known if len(lines) < _KEPT]
        most = (Counter(chain.from_iterable(some)).most_common(_COMPARED) for some in (known, rare))
        return {index for index, _ in chain.from_iterable(most)}

    def _compared(self, text: str, words: frozenset[str], index: int) -> tuple[float, int]:
        """Return how much TEXT of WORDS is like the line at INDEX, and its number, the less the better."""
        number, other, others = self._lines[index]
        shorter, longer = sorted((len(text), len(other)))
        if 2 * shorter < NEAR * (shorter + longer) or len(words & others) < _COMMON * min(len(words), len(others)):
            return 0.0, -number
        return ratio(text, other), -number


def _words(line: Line) -> tuple[str, frozenset[str]]:
    words = [*line.text.casefold().split(), *(file for file, _ in line.pictures)]
    text = " ".join(words)
    if len(words) >= _FEW:
        return text, frozenset(words)
    return text, frozenset(text[start : start + _PIECE] for start in range(max(1, len(text) - _PIECE + 1)))
