"""Lines: the owner's text file, one post a line, with words that are filled in and pictures that go with it."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from pi_appliance.errors import nearest

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
    near = nearest(word, tuple(WORDS))
    if near.startswith("did"):
        return near.replace("'", "{", 1).replace("'", "}", 1)
    return f"write {{{{{word}}}}} to have it as it stands, or one of {', '.join(f'{{{each}}}' for each in WORDS)}"
