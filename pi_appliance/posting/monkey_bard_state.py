"""Keyboard, keystrokes and progress of the monkey bard.

The stream follows from the seed. Block `b` is SHAKE-256 of `monkey <seed> <b>`, 65,536 bytes. Each
byte is a keystroke: the key whose number is the remainder of the byte divided by the number of
keys. Bytes above the last multiple of that number are left out, so that all keys are equally
likely.

The progress is the longest beginning of the text that occurs anywhere in the stream so far.
"""

import hashlib
import json
import re
import unicodedata
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from itertools import pairwise
from typing import Any

from pi_appliance.errors import ConfigError, Problem, Refused

BLOCK = 65_536  # bytes of the stream that are generated at a time
# Characters that a typewriter types with other keys: quotation marks of all countries, long dashes.
_STAND_INS = (
    dict.fromkeys("\u2018\u2019\u201a\u2039\u203a", "'")
    | dict.fromkeys("\u201c\u201d\u201e\u00ab\u00bb", '"')
    | dict.fromkeys("\u2014\u2015", "--")
)


class Keyboard(StrEnum):
    """Keyboard of a monkey."""

    # The letters a to z and the space bar. A line end counts as a space; capitals and punctuation
    # are ignored.
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
    """A text, converted to the keys that a keyboard has."""

    keyboard: Keyboard
    lines: str  # the text with its line ends, for the report
    keys: bytes  # text to type, one byte per key, as long as `lines`


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a monkey has typed."""

    keystrokes: int = 0
    block: int = 0  # the next keystroke is number `offset` of this block of the stream
    offset: int = 0
    matched: int = 0  # length of the longest prefix of the text found in the stream
    overlap: int = 0  # length of the prefix at the end of the stream, which the next key may continue


@dataclass(frozen=True, slots=True)
class LengthRecord:
    """A prefix of the text that occurred in the stream for the first time."""

    length: int
    keystroke: int  # number of the keystroke that completed the prefix, from 1


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
        raise ConfigError(
            [Problem(file, 1, 1, "there is nothing to type in here", "write the text for the monkey to type")]
        )
    keys = typed_text.replace("\n", " ") if keyboard is Keyboard.LETTERS else typed_text
    return Target(keyboard, typed_text, keys.encode("ascii"))


def _keys_of_char(char: str, keyboard: Keyboard) -> str:
    if char.isspace():
        return "\n" if char == "\n" else " "
    if keyboard is Keyboard.TYPEWRITER and char in _STAND_INS:
        return _STAND_INS[char]
    plain = unicodedata.normalize("NFKD", char.casefold() if keyboard is Keyboard.LETTERS else char)
    return "".join(_simplify_char(each, keyboard) for each in plain)


def _simplify_char(char: str, keyboard: Keyboard) -> str:
    category = unicodedata.category(char)
    if category in ("Mn", "Cf"):  # accents and invisible characters need no key
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


def advance(progress: Progress, target: Target, seed: int, most: int) -> tuple[Progress, list[LengthRecord]]:
    """Type to the end of the block, but at most `most` keys, and not beyond the end of the text.

    Returns:
        The new progress and the new length records.
    """
    keys = target.keys
    if progress.matched == len(keys):
        return progress, []
    block = keystroke_block(seed, target.keyboard, progress.block)
    typed = block[progress.offset : progress.offset + most]
    # The unfinished prefix comes first, so that a match across two blocks is found, too.
    window, before = keys[: progress.overlap] + typed, progress.keystrokes - progress.overlap
    matched, at, records = progress.matched, 0, []
    while matched < len(keys) and (at := window.find(keys[: matched + 1], at)) >= 0:
        matched += 1
        records.append(LengthRecord(matched, before + at + matched))
    if matched == len(keys):
        window = window[: at + matched]
    overlap = next(length for length in range(min(matched, len(window)), -1, -1) if window.endswith(keys[:length]))
    total = before + len(window)
    offset = progress.offset + total - progress.keystrokes
    where = (progress.block, offset) if offset < len(block) else (progress.block + 1, 0)
    return Progress(total, *where, matched, overlap), records


def expected_keystrokes(target: Target, progress: Progress) -> int:
    """Return the mean number of keystrokes to the next key of the text, or 0 at its end.

    Conway's leading number gives the mean time until a text occurs. It is a sum over every length
    `j` at which the text starts and ends with the same `j` keys, its own length included. Each term
    is the number of keys to the power `j`. The part that the newest keystrokes have done already is
    subtracted.
    """
    goal = progress.matched + 1
    if goal > len(target.keys):
        return 0
    keys, size = target.keys[:goal], len(target.keyboard.keys)
    borders = _border_lengths(keys)
    return _mean_keystrokes(borders, goal, size) - _mean_keystrokes(borders, progress.overlap, size)


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


VERSION = 1


@dataclass(frozen=True, slots=True)
class DatedRecord:
    """A length record and its time."""

    record: LengthRecord
    when: datetime


@dataclass(frozen=True, slots=True)
class Announcement:
    """A post about the monkey: its slot, time and length."""

    slot: str
    when: datetime
    length: int


@dataclass(frozen=True, slots=True)
class RetiredMonkey:
    """A monkey that was replaced because of another text, keyboard or seed."""

    text: str  # name of the text file
    keyboard: Keyboard
    seed: int
    keystrokes: int
    typed: str
    retired_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class MonkeyState:
    """The saved state."""

    text: str  # name of the text file
    digest: str  # SHA-256 of the keys to type
    keyboard: Keyboard
    seed: int
    began: datetime
    progress: Progress = field(default_factory=Progress)
    typed: str = ""  # the longest prefix of the text found in the stream
    events: tuple[DatedRecord, ...] = ()  # record of each length, from 1 on
    slot: str = ""  # slot of the newest run that typed
    goal: int = 0  # total number of keystrokes at the end of that run
    ends: tuple[tuple[datetime, int], ...] = ()  # end and total keystrokes of the newest runs
    last_announcement: Announcement | None = None  # newest post about the monkey
    pending_announcement: Announcement | None = None  # a post that is about to be stored
    retired: tuple[RetiredMonkey, ...] = ()  # earlier monkeys, newest last


def dump_state(monkey: MonkeyState) -> str:
    """Return `monkey` as one line of JSON."""
    progress, announcements = monkey.progress, (monkey.last_announcement, monkey.pending_announcement)
    return json.dumps(
        {
            "version": VERSION,
            "text": [monkey.text, monkey.digest],
            "keyboard": monkey.keyboard,
            "seed": monkey.seed,
            "began": monkey.began.isoformat(),
            "progress": [progress.keystrokes, progress.block, progress.offset, progress.matched, progress.overlap],
            "typed": monkey.typed,
            "events": [[each.record.length, each.record.keystroke, each.when.isoformat()] for each in monkey.events],
            "run": [monkey.slot, monkey.goal],
            "ends": [[when.isoformat(), keystrokes] for when, keystrokes in monkey.ends],
            "announcements": [each and [each.slot, each.when.isoformat(), each.length] for each in announcements],
            "retired": [
                [each.text, each.keyboard, each.seed, each.keystrokes, each.typed, each.retired_at.isoformat()]
                for each in monkey.retired
            ],
        },
        ensure_ascii=False,
    )


def load_state(text: str, job: str) -> MonkeyState:
    """Parse the output of `dump_state` for `job`.

    Raises:
        Refused: it is damaged, or another version of pi-appliance wrote it.
    """
    file, remedy = f"memory/{job}.txt in the state folder", "move it away to let a new monkey begin"
    try:
        data = json.loads(text)
        version = data["version"]
        if version == VERSION:
            return _parse_state(data)
    except (ValueError, TypeError, KeyError, AttributeError, IndexError):
        raise Refused(f"{file} is damaged, so its progress is unknown; {remedy}") from None
    raise Refused(f"{file} was written by another pi-appliance (its version {version}); update this one, or {remedy}")


def _parse_state(data: Any) -> MonkeyState:
    """Parse `data`. Raises ValueError, TypeError or KeyError."""
    slot, goal = data["run"]
    name, digest = data["text"]
    progress = Progress(*map(_parse_count, data["progress"]))
    events = tuple(
        DatedRecord(LengthRecord(_parse_count(n), _parse_count(at)), _parse_instant(when))
        for n, at, when in data["events"]
    )
    last_announcement, pending_announcement = (
        each and Announcement(str(each[0]), _parse_instant(each[1]), _parse_count(each[2]))
        for each in data["announcements"]
    )
    monkey = MonkeyState(
        text=str(name),
        digest=str(digest),
        keyboard=Keyboard(data["keyboard"]),
        seed=int(data["seed"]),
        began=_parse_instant(data["began"]),
        progress=progress,
        typed=str(data["typed"]),
        events=events,
        slot=str(slot),
        goal=_parse_count(goal),
        ends=tuple((_parse_instant(when), _parse_count(keystrokes)) for when, keystrokes in data["ends"]),
        last_announcement=last_announcement,
        pending_announcement=pending_announcement,
        retired=tuple(_parse_retired(*each) for each in data["retired"]),
    )
    if not _is_consistent(monkey):
        raise ValueError("it contradicts itself")
    return monkey


def _is_consistent(monkey: MonkeyState) -> bool:
    """Return whether the counts are consistent."""
    progress, records = monkey.progress, [each.record for each in monkey.events]
    return (
        [each.length for each in records] == list(range(1, progress.matched + 1))
        and all(one.keystroke < later.keystroke for one, later in pairwise(records))
        and all(each.length <= each.keystroke <= progress.keystrokes for each in records)
        and progress.overlap <= progress.matched == len(monkey.typed)
        and all(one[1] < later[1] <= progress.keystrokes for one, later in pairwise(monkey.ends))
    )


def _parse_retired(text: str, keyboard: str, seed: int, keystrokes: int, typed: str, retired_at: str) -> RetiredMonkey:
    return RetiredMonkey(
        str(text), Keyboard(keyboard), int(seed), _parse_count(keystrokes), str(typed), _parse_instant(retired_at)
    )


def _parse_count(value: Any) -> int:
    if type(value) is not int or value < 0:
        raise ValueError(value)
    return value


def _parse_instant(value: Any) -> datetime:
    when = datetime.fromisoformat(value)
    if when.tzinfo is None:
        raise ValueError(value)
    return when
