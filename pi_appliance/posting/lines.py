"""Text files with one post per line: parsing, placeholders, choice of a line, and threads."""

import hashlib
import re
import unicodedata
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from pi_appliance.errors import suggest
from pi_appliance.posting.model import UsedLines

PLACEHOLDERS = {
    "date": "the day, such as 1 May 2026",
    "time": "the time of day, such as 06:00",
    "temperature": "the temperature of the processor, such as 48 °C",
    "hostname": "the name of this machine",
    "last-report": "the summary of the run that wrote the latest report",
}
"""Placeholders that a line may use in braces, with their meaning."""

LINE_END = re.compile(r"\r\n|\r|\n")
"""The end of a line, as editors count them; str.splitlines() splits at more characters."""
_PICTURE = re.compile(r"\s*!\[([^\]]*)\]\(([^)]*)\)")
_COMMENT = re.compile(r"#+(?:\s|$)")
_ESCAPED_HASH = re.compile(r"\\+#")
_BRACES = re.compile(r"\{\{|\}\}|\{([A-Za-z][\w-]*)\}")


@dataclass(frozen=True, slots=True)
class PostLine:
    """One line of the text file."""

    number: int  # line number in the file, from 1
    text: str  # text without the pictures; placeholders are not filled in
    pictures: tuple[tuple[str, str], ...] = ()  # (path as written, alt text)
    error: str = ""  # why the line cannot be used, and the remedy


def parse_lines(text: str) -> list[PostLine]:
    """Parse a text file. Blank lines and comments are ignored."""
    numbered = enumerate(LINE_END.split(text.removeprefix("\ufeff")), start=1)
    return [parse_line(number, line) for number, raw in numbered if (line := raw.strip()) and not is_comment(line)]


def decode_text(data: bytes) -> str:
    """Decode the content of a text file. Raises UnicodeDecodeError, also for a NUL."""
    text = data.decode("utf-8")
    if (place := data.find(b"\0")) >= 0:  # found in UTF-16 without a byte order mark
        raise UnicodeDecodeError("utf-8", data, place, place + 1, "NUL")
    return text


def is_comment(line: str) -> bool:
    """Return whether a stripped line is a comment: # alone or before a space. #word is a post."""
    return _COMMENT.match(line) is not None


def escape_line(line: str) -> str:
    """Return `line` as it must stand in the file.

    A line that looks like a comment gets a backslash.
    """
    return f"\\{line}" if is_comment(line) else line


def unescape_line(line: str) -> str:
    """Return `line` without the backslash that `escape_line` adds, for an editor that uses both."""
    return line[1:] if line.startswith("\\") and is_comment(line[1:]) else line


def find_placeholders(line: PostLine) -> frozenset[str]:
    """Return the names of the placeholders in `line`, known or not."""
    return frozenset(_iter_placeholders(line.text))


def fill_placeholders(text: str, values: Mapping[str, str]) -> str:
    """Replace each placeholder by its value, and {{ and }} by one brace.

    Braces around text that cannot be a name stay. Raises KeyError if a value is missing.
    """
    doubled = {"{{": "{", "}}": "}"}
    return _BRACES.sub(lambda match: values[match[1]] if match[1] else doubled[match[0]], text)


def parse_line(number: int, line: str) -> PostLine:
    """Parse one stripped line."""
    pictures = tuple((file.strip(), alt.strip()) for alt, file in _PICTURE.findall(line))
    text = _PICTURE.sub("", line).strip()
    if _ESCAPED_HASH.match(text):
        text = text[1:]
    return PostLine(number, text, pictures, _find_error(text, pictures))


def _iter_placeholders(text: str) -> Iterator[str]:
    return (match[1] for match in _BRACES.finditer(text) if match[1])


def _find_error(text: str, pictures: tuple[tuple[str, str], ...]) -> str:
    for name in _iter_placeholders(text):
        if name not in PLACEHOLDERS:
            return f"{{{name}}} is not a placeholder; {_suggest_placeholder(name)}"
    if "\0" in text:
        return "it contains the character NUL; remove it"
    if any(not file for file, _ in pictures):
        return "a picture has no file; write ![description](sky.png)"
    return ""


def _suggest_placeholder(name: str) -> str:
    suggestion = suggest(name, tuple(PLACEHOLDERS))
    if suggestion.startswith("did"):
        return suggestion.replace("'", "{", 1).replace("'", "}", 1)
    choices = ", ".join(f"{{{each}}}" for each in PLACEHOLDERS)
    return f"write {{{{{name}}}}} for the text in braces itself, or use one of {choices}"


_RESTING_SHARE = 3  # of three lines, the one that was used last does not start a new round


class LineOrder(StrEnum):
    """How the next line is chosen."""

    SHUFFLE = "shuffle"  # at random, but each line once per round
    RANDOM = "random"  # any line each time
    IN_ORDER = "in-order"  # from first to last, each once


def normalize_line(line: PostLine) -> tuple[str, tuple[str, ...]]:
    """Return text and pictures of `line`, normalized in case, spaces and composed accents."""
    text = unicodedata.normalize("NFC", unicodedata.normalize("NFC", line.text).casefold())
    return " ".join(text.split()), tuple(file for file, _ in line.pictures)


def line_fingerprint(line: PostLine) -> str:
    """Return 16 hexadecimal digits, equal for lines with the same normalized content."""
    text, pictures = normalize_line(line)
    return hashlib.sha256("\n".join([text, *pictures]).encode("utf-8", "surrogatepass")).hexdigest()[:16]


def is_used(fingerprint: str, used: UsedLines, order: LineOrder) -> bool:
    """Return whether the line is not picked again: in this round, or at all with `in-order`."""
    return fingerprint in (used.by_last_use if order is LineOrder.IN_ORDER else used.current_round)


def pick_line(fingerprints: Sequence[str], used: UsedLines, order: LineOrder, draw: float) -> int | None:
    """Choose the next line.

    Args:
        fingerprints: Fingerprints of the lines. Of equal lines only the first counts.
        draw: Random number from 0 to below 1.

    Returns:
        Index of the line; None if there is none, or every line of an ordered file was used.
    """
    first_index: dict[str, int] = {}
    for index, fingerprint in enumerate(fingerprints):
        first_index.setdefault(fingerprint, index)
    match order:
        case LineOrder.RANDOM:
            candidates = list(first_index)
        case LineOrder.SHUFFLE:
            candidates = [each for each in first_index if each not in used.current_round]
            candidates = candidates or _new_round(first_index, used)
        case LineOrder.IN_ORDER:
            used_before = frozenset(used.by_last_use)
            candidates = [each for each in first_index if each not in used_before][:1]
    return first_index[candidates[int(draw * len(candidates))]] if candidates else None


def mark_used(used: UsedLines, line: str) -> UsedLines:
    """Return `used` with `line` added.

    If the current round has used it already, a new round begins.
    """
    current = frozenset({line}) if line in used.current_round else used.current_round | {line}
    return UsedLines(current, (*(each for each in used.by_last_use if each != line), line))


def _new_round(fingerprints: Mapping[str, int], used: UsedLines) -> list[str]:
    """Return the lines that may start a new round: not the ones used last."""
    resting = max(1, len(fingerprints) // _RESTING_SHARE) if len(fingerprints) > 1 else 0
    newest = [each for each in reversed(used.by_last_use) if each in fingerprints][:resting]
    return [each for each in fingerprints if each not in newest]


_CLOSING = r"[\"'\u201d\u2019\u00bb)\]]*"
_WIDE_CLOSING = r"[\u300d\u300f\u201d\uff09]*"
# A part may end at white space, or after the punctuation of scripts that use no spaces.
_WORD = re.compile(rf"\S+?(?:[\u3002\uff01\uff1f\u3001\uff0c]{_WIDE_CLOSING}|(?=\s)|$)")
_SENTENCE = re.compile(rf"[.!?\u2026]{_CLOSING}(?=\s+(\S)|\s*$)|[\u3002\uff01\uff1f]{_WIDE_CLOSING}")
_MAX_TRIES = 9  # more parts need longer numbers, which may need more parts again; 3 tries were enough so far
_SHOWN_WORD = 40  # characters of a word that are shown in a message


def split_thread(text: str, fits: Callable[[str], bool]) -> list[str]:
    """Split `text` into the parts of a thread, each with its number: " (1/3)".

    A text that `fits` one post stays as it is. A part ends with a sentence, or with a word if the
    sentence would leave half of the part empty.

    Raises:
        ValueError: One word does not fit.
    """
    if fits(text):
        return [text]
    word_ends = [word.end() for word in _WORD.finditer(text)]
    # A full stop before a small letter ends an abbreviation, e.g. this one, and not a sentence.
    sentence_ends = {match.end() for match in _SENTENCE.finditer(text) if not (match[1] or "").islower()}
    total = 2
    for _ in range(_MAX_TRIES):
        parts = list(_cut_parts(text, word_ends, sentence_ends, fits, total))
        if len(parts) == total:
            return parts
        total = len(parts)
    raise ValueError("it cannot be cut into posts")


def _cut_parts(
    text: str, word_ends: list[int], sentence_ends: set[int], fits: Callable[[str], bool], total: int
) -> Iterator[str]:
    """Yield the parts, numbered as if there were `total`."""
    start, first, number = 0, 0, 1
    while first < len(word_ends):
        suffix = f" ({number}/{total})"
        last = first
        while last < len(word_ends) and fits(text[start : word_ends[last]].strip() + suffix):
            last += 1
        if last == first:
            word = text[start : word_ends[first]].strip()
            shown = word if len(word) <= _SHOWN_WORD else word[: _SHOWN_WORD - 1] + "…"
            raise ValueError(f"{shown} alone does not fit into a post")
        last = last if last == len(word_ends) else _last_sentence(start, word_ends, sentence_ends, first, last)
        yield text[start : word_ends[last - 1]].strip() + suffix
        start, first, number = word_ends[last - 1], last, number + 1


def _last_sentence(start: int, word_ends: list[int], sentence_ends: set[int], first: int, last: int) -> int:
    """Return the number of words up to the last sentence end in the second half, else `last`."""
    half = (start + word_ends[last - 1]) / 2
    candidates = (
        index + 1
        for index in range(last - 1, first - 1, -1)
        if word_ends[index] in sentence_ends and word_ends[index] >= half
    )
    return next(candidates, last)
