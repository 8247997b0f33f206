"""Lines: the owner's text file, one post a line, with words that are filled in and pictures that go with it."""

import hashlib
import re
import unicodedata
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from pi_appliance.errors import suggest
from pi_appliance.posting.model import UsedLines

WORDS = {
    "date": "the day, such as 1 May 2026",
    "time": "the time of day, such as 06:00",
    "temperature": "how warm the processor is, such as 48 °C",
    "hostname": "the name of this machine",
    "last-report": "what the run that wrote the newest report said of itself",
}
"""The words that may stand in braces, and what each stands for."""

_END = re.compile(r"\r\n|\r|\n")  # what editors count as the end of a line, and nothing else
_PICTURE = re.compile(r"\s*!\[([^\]]*)\]\(([^)]*)\)")
_BRACES = re.compile(r"\{\{|\}\}|\{([A-Za-z][\w-]*)\}")


@dataclass(frozen=True, slots=True)
class Line:
    """One post, as the owner wrote it."""

    number: int  # from 1
    text: str  # without its pictures; words still in {braces}
    pictures: tuple[tuple[str, str], ...] = ()  # (file as written, alt text)
    wrong: str = ""  # why it cannot be used as it stands, and what would be right


def parse(text: str) -> list[Line]:
    """Return the posts in TEXT: a line each, but blank ones and those that begin with #."""
    numbered = enumerate(_END.split(text.removeprefix("\ufeff")), start=1)
    return [_line(number, line) for number, each in numbered if (line := each.strip()) and not line.startswith("#")]


def words(line: Line) -> frozenset[str]:
    """Return the words that LINE uses, also those that stand for nothing."""
    return frozenset(_words(line.text))


def fill(text: str, values: Mapping[str, str]) -> str:
    """Return TEXT with each word in braces replaced by what VALUES has for it, and {{ and }} by one brace.

    Braces around anything that cannot be a word stay. Raises KeyError for a word that VALUES lacks.
    """
    doubled = {"{{": "{", "}}": "}"}
    return _BRACES.sub(lambda found: values[found[1]] if found[1] else doubled[found[0]], text)


def _line(number: int, line: str) -> Line:
    pictures = tuple((file.strip(), alt.strip()) for alt, file in _PICTURE.findall(line))
    text = _PICTURE.sub("", line).strip()
    return Line(number, text, pictures, _wrong(text, pictures))


def _words(text: str) -> Iterator[str]:
    return (found[1] for found in _BRACES.finditer(text) if found[1])


def _wrong(text: str, pictures: tuple[tuple[str, str], ...]) -> str:
    for word in _words(text):
        if word not in WORDS:
            return f"no word is called {{{word}}}; {_right(word)}"
    if any(not file for file, _ in pictures):
        return "a picture has no file; write ![what it shows](sky.png)"
    return ""


def _right(word: str) -> str:
    near = suggest(word, tuple(WORDS))
    if near.startswith("did"):
        return near.replace("'", "{", 1).replace("'", "}", 1)
    return f"write {{{{{word}}}}} to have it as it stands, or one of {', '.join(f'{{{each}}}' for each in WORDS)}"


_RESTING = 3  # one line in so many, the newest used, does not begin a new round


class Choose(StrEnum):
    """How the next line is chosen."""

    SHUFFLE = "shuffle"  # at random, but none again before all were used
    RANDOM = "random"  # any, each time
    IN_ORDER = "in-order"  # one after the other, once through


def normalize(line: Line) -> tuple[str, tuple[str, ...]]:
    """Return what LINE is to a reader, who sees no difference in capitals and spaces: its text and its pictures."""
    text = unicodedata.normalize("NFC", unicodedata.normalize("NFC", line.text).casefold())
    return " ".join(text.split()), tuple(file for file, _ in line.pictures)


def fingerprint(line: Line) -> str:
    """Return 16 hexadecimal digits that two lines share if a reader would take them for the same post.

    Capitals, spaces, the form of accents, where the line stands and how its pictures are described do not count.
    """
    text, pictures = normalize(line)
    return hashlib.sha256("\n".join([text, *pictures]).encode("utf-8", "surrogatepass")).hexdigest()[:16]


def pick(prints: Sequence[str], used: UsedLines, how: Choose, draw: float) -> int | None:
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


def use(used: UsedLines, line: str) -> UsedLines:
    """Return USED once the line with the fingerprint LINE is used, too. One of this round begins a new round."""
    now = frozenset({line}) if line in used.round else used.round | {line}
    return UsedLines(now, (*(each for each in used.last if each != line), line))


def _rested(lines: dict[str, int], used: UsedLines) -> list[str]:
    """Return the LINES that may begin a new round: not those used last, and never the very last one again."""
    resting = max(1, len(lines) // _RESTING) if len(lines) > 1 else 0
    newest = [each for each in reversed(used.last) if each in lines][:resting]
    return [each for each in lines if each not in newest]


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
