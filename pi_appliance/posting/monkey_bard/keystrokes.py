"""Keyboard, keystrokes and progress of the monkey bard.

The stream follows from the seed. Block `b` is SHAKE-256 of `monkey <seed> <b>`, 65,536 bytes. Each
byte is a keystroke: the key whose number is the remainder of the byte divided by the number of
keys. Bytes above the last multiple of that number are left out, so that all keys are equally
likely.

The progress is the longest beginning of the text that occurs anywhere in the stream so far.
"""

import hashlib
import re
import unicodedata
from dataclasses import dataclass
from enum import StrEnum

from pi_appliance.errors import ConfigError, Problem

BLOCK = 65_536  # bytes of the stream generated at a time
# Characters that a typewriter types with other keys: quotes of all countries, long dashes.
_STAND_INS = (
    dict.fromkeys("\u2018\u2019\u201a\u2039\u203a", "'")
    | dict.fromkeys("\u201c\u201d\u201e\u00ab\u00bb", '"')
    | dict.fromkeys("\u2014\u2015", "--")
)


class Keyboard(StrEnum):
    """Keyboard of a monkey."""

    # a to z and the space bar. A line end is a space, capitals and punctuation do not count.
    LETTERS = "letters"
    TYPEWRITER = "typewriter"  # every printable character of ASCII, and the line end

    @property
    def keys(self) -> bytes:
        """The keys, one byte each."""
        if self is Keyboard.LETTERS:
            return b"abcdefghijklmnopqrstuvwxyz "
        return bytes(range(0x20, 0x7F)) + b"\n"


@dataclass(frozen=True, slots=True)
class Target:
    """A text as a keyboard can type it."""

    keyboard: Keyboard
    lines: str  # the text with its line ends, for the report
    keys: bytes  # the text to type, one byte a key, as long as `lines`


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a monkey is."""

    keystrokes: int = 0
    block: int = 0  # the next keystroke is number `offset` of this block of the stream
    offset: int = 0
    matched: int = 0  # length of the longest prefix of the text found in the stream
    standing: int = 0  # length of the longest prefix at the end of the stream, to be continued


@dataclass(frozen=True, slots=True)
class LengthRecord:
    """A prefix of the text that occurred in the stream for the first time."""

    length: int
    keystroke: int  # number of the keystroke that completed it, from 1


def prepare_target(text: str, keyboard: Keyboard, file: str) -> Target:
    """Convert `text` to the keys of `keyboard`.

    Raises:
        ConfigError: a character has no key, or the text is empty. It names the place in `file`.

    """
    allowed = keyboard.keys.decode("ascii") + "\n"
    typed = {char: _keys_of_char(char, keyboard) for char in set(text)}
    strange = {char for char, keys in typed.items() if not set(keys) <= set(allowed)}
    if strange:
        raise ConfigError([_no_key(text, strange, keyboard, file)])
    lines = text.translate({ord(char): keys for char, keys in typed.items()}).split("\n")
    if keyboard is Keyboard.LETTERS:
        clean_lines = [line for line in (re.sub(" +", " ", line).strip() for line in lines) if line]
    else:
        clean_lines = [line.rstrip() for line in lines]
    typed_text = "\n".join(clean_lines).strip("\n")
    if not typed_text:
        raise ConfigError([Problem(file, 1, 1, "there is nothing to type in here", "write what the monkey shall type")])
    keys = typed_text.replace("\n", " ") if keyboard is Keyboard.LETTERS else typed_text
    return Target(keyboard, typed_text, keys.encode("ascii"))


def _keys_of_char(char: str, keyboard: Keyboard) -> str:
    """Return the keys that type `char`."""
    if char.isspace():
        return "\n" if char == "\n" else " "
    if keyboard is Keyboard.TYPEWRITER and char in _STAND_INS:
        return _STAND_INS[char]
    plain = unicodedata.normalize("NFKD", char.casefold() if keyboard is Keyboard.LETTERS else char)
    return "".join(_simplify_char(each, keyboard) for each in plain)


def _simplify_char(char: str, keyboard: Keyboard) -> str:
    category = unicodedata.category(char)
    if category in ("Mn", "Cf"):  # accents and invisible characters
        return ""
    if category == "Pd" and char != "-":
        char = "-"
    if keyboard is Keyboard.LETTERS and (category[0] == "P" or category == "Sk"):
        return " " if char == "-" else ""
    return char


def _no_key(text: str, strange: set[str], keyboard: Keyboard, file: str) -> Problem:
    """Return the problem for the first of the `strange` characters in `text`."""
    at = min(text.index(char) for char in strange)
    line, column = text.count("\n", 0, at) + 1, at - text.rfind("\n", 0, at)
    others = f" (nor for {len(strange) - 1} more)" if len(strange) > 1 else ""
    right = "write it in plain ASCII"
    if keyboard is Keyboard.LETTERS:
        right = "write it in letters, or take `keyboard: typewriter`"
    return Problem(file, line, column, f"the monkey has no key for {text[at]!r}{others}", right)


def keystroke_block(seed: int, keyboard: Keyboard, block: int) -> bytes:
    """Return the keystrokes of block number `block`."""
    keys = keyboard.keys
    fair = 256 // len(keys) * len(keys)
    table = bytes(keys[byte % len(keys)] for byte in range(256))
    raw = hashlib.shake_256(b"monkey %d %d" % (seed, block)).digest(BLOCK)
    return raw.translate(table, bytes(range(fair, 256)))


def advance(place: Progress, target: Target, seed: int, most: int) -> tuple[Progress, list[LengthRecord]]:
    """Type to the end of the block, at most `most` keys, and not beyond the end of the text.

    Returns:
        The new progress and the new length records.

    """
    keys = target.keys
    if place.matched == len(keys):
        return place, []
    block = keystroke_block(seed, target.keyboard, place.block)
    typed = block[place.offset : place.offset + most]
    # The unfinished prefix comes first, so that a match across two blocks is found.
    window, before = keys[: place.standing] + typed, place.keystrokes - place.standing
    matched, at, records = place.matched, 0, []
    while matched < len(keys) and (at := window.find(keys[: matched + 1], at)) >= 0:
        matched += 1
        records.append(LengthRecord(matched, before + at + matched))
    if matched == len(keys):
        window = window[: at + matched]
    standing = next(length for length in range(min(matched, len(window)), -1, -1) if window.endswith(keys[:length]))
    total = before + len(window)
    offset = place.offset + total - place.keystrokes
    where = (place.block, offset) if offset < len(block) else (place.block + 1, 0)
    return Progress(total, *where, matched, standing), records


def expected_keystrokes(target: Target, place: Progress) -> int:
    """Return the mean number of keystrokes to the next key of the text, or 0 at its end.

    Conway's leading number gives the mean time until a text occurs. It is a sum over every length
    `j` at which the text starts and ends with the same `j` keys, its own length included. Each term
    is the number of keys to the power `j`. The part that the newest keystrokes have done already is
    subtracted.
    """
    goal = place.matched + 1
    if goal > len(target.keys):
        return 0
    keys, size = target.keys[:goal], len(target.keyboard.keys)
    borders = _border_lengths(keys)
    return _mean_keystrokes(borders, goal, size) - _mean_keystrokes(borders, place.standing, size)


def _mean_keystrokes(borders: list[int], length: int, size: int) -> int:
    total = 0
    while length:
        total += size**length
        length = borders[length]
    return total


def _border_lengths(keys: bytes) -> list[int]:
    """Return the length of the longest border of each prefix of `keys`. The first entry is 0."""
    borders, longest = [0, 0], 0
    for key in keys[1:]:
        while longest and keys[longest] != key:
            longest = borders[longest]
        longest += keys[longest] == key
        borders.append(longest)
    return borders
