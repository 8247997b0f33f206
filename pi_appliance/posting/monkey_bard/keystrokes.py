"""A monkey that types at random: its keyboard, its endless stream of keystrokes, and how far a text has come in it.

The stream follows from the seed alone. Its block number B is SHAKE-256 of `monkey SEED B`, 65,536 bytes; each byte is
one keystroke, the key whose number is the byte's remainder by the count of keys; bytes beyond the last multiple of that
count are left out, or some keys would be likelier. So the stream is the same on every machine and however it is cut.

A text has come as far as the longest beginning of it that stands, letter by letter, anywhere in the stream so far.
"""

import hashlib
import re
import unicodedata
from dataclasses import dataclass
from enum import StrEnum

from pi_appliance.errors import ConfigError, Problem

BLOCK = 65_536  # bytes of the stream that are made at once
# What a typewriter has other keys for: quotes of all countries, long dashes.
_STAND_INS = (
    dict.fromkeys("\u2018\u2019\u201a\u2039\u203a", "'")
    | dict.fromkeys("\u201c\u201d\u201e\u00ab\u00bb", '"')
    | dict.fromkeys("\u2014\u2015", "--")
)


class Keyboard(StrEnum):
    """Which keys a monkey has."""

    LETTERS = "letters"  # a to z and the space bar; a line end is a space, capitals and punctuation do not count
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
    lines: str  # with its line ends, to be shown
    keys: bytes  # what is to be typed, one byte a key; as long as `lines`


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a monkey is."""

    keystrokes: int = 0
    block: int = 0  # the next keystroke is number `offset` of this block of the stream
    offset: int = 0
    matched: int = 0  # so many keys of the text stood in the stream, from its first one on
    standing: int = 0  # so many of them are the newest keystrokes, and may be gone on with


@dataclass(frozen=True, slots=True)
class LengthRecord:
    """A beginning of the text that stood in the stream for the first time."""

    length: int
    keystroke: int  # the number, from 1, of the one that completed it


def prepare_target(text: str, keyboard: Keyboard, file: str) -> Target:
    """Return TEXT as KEYBOARD can type it.

    Raises ConfigError, with the place in FILE of the first character that it has no key for, or if nothing is left.
    """
    allowed = keyboard.keys.decode("ascii") + "\n"
    typed = {char: _typed(char, keyboard) for char in set(text)}
    strange = {char for char, keys in typed.items() if not set(keys) <= set(allowed)}
    if strange:
        raise ConfigError([_no_key(text, strange, keyboard, file)])
    lines = text.translate({ord(char): keys for char, keys in typed.items()}).split("\n")
    if keyboard is Keyboard.LETTERS:
        kept = [line for line in (re.sub(" +", " ", line).strip() for line in lines) if line]
    else:
        kept = [line.rstrip() for line in lines]
    taken = "\n".join(kept).strip("\n")
    if not taken:
        raise ConfigError([Problem(file, 1, 1, "there is nothing to type in here", "write what the monkey shall type")])
    keys = taken.replace("\n", " ") if keyboard is Keyboard.LETTERS else taken
    return Target(keyboard, taken, keys.encode("ascii"))


def _typed(char: str, keyboard: Keyboard) -> str:
    """Return the keys that CHAR is typed with, as far as there are such."""
    if char.isspace():
        return "\n" if char == "\n" else " "
    if keyboard is Keyboard.TYPEWRITER and char in _STAND_INS:
        return _STAND_INS[char]
    plain = unicodedata.normalize("NFKD", char.casefold() if keyboard is Keyboard.LETTERS else char)
    return "".join(_key(each, keyboard) for each in plain)


def _key(char: str, keyboard: Keyboard) -> str:
    category = unicodedata.category(char)
    if category in ("Mn", "Cf"):  # accents, and what nobody sees
        return ""
    if category == "Pd" and char != "-":
        char = "-"
    if keyboard is Keyboard.LETTERS and (category[0] == "P" or category == "Sk"):
        return " " if char == "-" else ""
    return char


def _no_key(text: str, strange: set[str], keyboard: Keyboard, file: str) -> Problem:
    """Return as a problem of FILE the first of the STRANGE characters in TEXT."""
    at = min(text.index(char) for char in strange)
    line, column = text.count("\n", 0, at) + 1, at - text.rfind("\n", 0, at)
    others = f" (nor for {len(strange) - 1} more)" if len(strange) > 1 else ""
    right = "write it in plain ASCII"
    if keyboard is Keyboard.LETTERS:
        right = "write it in letters, or take `keyboard: typewriter`"
    return Problem(file, line, column, f"the monkey has no key for {text[at]!r}{others}", right)


def keystroke_block(seed: int, keyboard: Keyboard, block: int) -> bytes:
    """Return the keystrokes of BLOCK of the stream that follows from SEED."""
    keys = keyboard.keys
    fair = 256 // len(keys) * len(keys)
    table = bytes(keys[byte % len(keys)] for byte in range(256))
    raw = hashlib.shake_256(b"monkey %d %d" % (seed, block)).digest(BLOCK)
    return raw.translate(table, bytes(range(fair, 256)))


def advance(place: Progress, target: Target, seed: int, most: int) -> tuple[Progress, list[LengthRecord]]:
    """Let the monkey type to the end of its block, at most MOST keys and none beyond the end of TARGET's text.

    Return how far it is then, and what stood in the stream for the first time.
    """
    keys = target.keys
    if place.matched == len(keys):
        return place, []
    block = keystroke_block(seed, target.keyboard, place.block)
    typed = block[place.offset : place.offset + most]
    # What was standing comes first, so that what goes across two blocks is found.
    seen, before = keys[: place.standing] + typed, place.keystrokes - place.standing
    matched, at, records = place.matched, 0, []
    while matched < len(keys) and (at := seen.find(keys[: matched + 1], at)) >= 0:
        matched += 1
        records.append(LengthRecord(matched, before + at + matched))
    if matched == len(keys):
        seen = seen[: at + matched]
    standing = next(length for length in range(min(matched, len(seen)), -1, -1) if seen.endswith(keys[:length]))
    total = before + len(seen)
    offset = place.offset + total - place.keystrokes
    where = (place.block, offset) if offset < len(block) else (place.block + 1, 0)
    return Progress(total, *where, matched, standing), records


def expected_keystrokes(target: Target, place: Progress) -> int:
    """Return the keystrokes from PLACE until one more key of the text has come, on average; 0 at its end.

    The mean time until a text stands in random letters is the sum of K to the power of each length at which the text
    begins as it ends, its whole length included; K is the count of keys. (Conway's leading number says which lengths
    these are.) The newest keystrokes are a start: what they would have taken is taken off.
    """
    goal = place.matched + 1
    if goal > len(target.keys):
        return 0
    keys, size = target.keys[:goal], len(target.keyboard.keys)
    borders = _borders(keys)
    return _mean(borders, goal, size) - _mean(borders, place.standing, size)


def _mean(borders: list[int], length: int, size: int) -> int:
    total = 0
    while length:
        total += size**length
        length = borders[length]
    return total


def _borders(keys: bytes) -> list[int]:
    """Return for each length of beginning of KEYS the longest shorter one that it ends with; the first entry is 0."""
    borders, longest = [0, 0], 0
    for key in keys[1:]:
        while longest and keys[longest] != key:
            longest = borders[longest]
        longest += keys[longest] == key
        borders.append(longest)
    return borders
