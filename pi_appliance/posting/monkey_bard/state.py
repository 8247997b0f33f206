"""Saved state of a monkey bard, as JSON."""

import json
from dataclasses import dataclass, field
from datetime import datetime
from itertools import pairwise
from typing import Any

from pi_appliance.errors import Refused
from pi_appliance.posting.monkey_bard.keystrokes import Keyboard, LengthRecord, Progress

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

    text: str  # the name of its file
    keyboard: Keyboard
    seed: int
    keystrokes: int
    typed: str
    gone: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class MonkeyState:
    """The saved state."""

    text: str  # the name of the file
    digest: str  # SHA-256 of the keys to type
    keyboard: Keyboard
    seed: int
    began: datetime
    place: Progress = field(default_factory=Progress)
    typed: str = ""  # the longest prefix of the text found in the stream
    events: tuple[DatedRecord, ...] = ()  # a record for each length, from 1 on
    slot: str = ""  # of the newest run that typed
    goal: int = 0  # total number of keystrokes at the end of that run
    ends: tuple[tuple[datetime, int], ...] = ()  # end and total keystrokes of the newest runs
    told: Announcement | None = None  # the newest post
    telling: Announcement | None = None  # a post that is about to be stored
    earlier: tuple[RetiredMonkey, ...] = ()  # the newest last


def dump_state(memory: MonkeyState) -> str:
    """Return `memory` as one line of JSON."""
    place, announcements = memory.place, (memory.told, memory.telling)
    return json.dumps(
        {
            "version": VERSION,
            "text": [memory.text, memory.digest],
            "keyboard": memory.keyboard,
            "seed": memory.seed,
            "began": memory.began.isoformat(),
            "place": [place.keystrokes, place.block, place.offset, place.matched, place.standing],
            "typed": memory.typed,
            "events": [[each.record.length, each.record.keystroke, each.when.isoformat()] for each in memory.events],
            "run": [memory.slot, memory.goal],
            "ends": [[when.isoformat(), keystrokes] for when, keystrokes in memory.ends],
            "told": [each and [each.slot, each.when.isoformat(), each.length] for each in announcements],
            "earlier": [
                [each.text, each.keyboard, each.seed, each.keystrokes, each.typed, each.gone.isoformat()]
                for each in memory.earlier
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
        raise Refused(f"{file} is damaged, so nobody knows how far the monkey is; {remedy}") from None
    raise Refused(f"{file} was written by another pi-appliance (its version {version}); update this one, or {remedy}")


def _parse_state(data: Any) -> MonkeyState:
    """Parse `data`. Raises ValueError, TypeError or KeyError."""
    slot, goal = data["run"]
    name, digest = data["text"]
    place = Progress(*map(_parse_count, data["place"]))
    events = tuple(
        DatedRecord(LengthRecord(_parse_count(n), _parse_count(at)), _parse_instant(when))
        for n, at, when in data["events"]
    )
    told, telling = (
        each and Announcement(str(each[0]), _parse_instant(each[1]), _parse_count(each[2])) for each in data["told"]
    )
    memory = MonkeyState(
        text=str(name),
        digest=str(digest),
        keyboard=Keyboard(data["keyboard"]),
        seed=int(data["seed"]),
        began=_parse_instant(data["began"]),
        place=place,
        typed=str(data["typed"]),
        events=events,
        slot=str(slot),
        goal=_parse_count(goal),
        ends=tuple((_parse_instant(when), _parse_count(keystrokes)) for when, keystrokes in data["ends"]),
        told=told,
        telling=telling,
        earlier=tuple(_parse_retired(*each) for each in data["earlier"]),
    )
    if not _is_consistent(memory):
        raise ValueError("it contradicts itself")
    return memory


def _is_consistent(memory: MonkeyState) -> bool:
    """Return whether the counts are consistent."""
    place, records = memory.place, [each.record for each in memory.events]
    return (
        [each.length for each in records] == list(range(1, place.matched + 1))
        and all(one.keystroke < later.keystroke for one, later in pairwise(records))
        and all(each.length <= each.keystroke <= place.keystrokes for each in records)
        and place.standing <= place.matched == len(memory.typed)
        and all(one[1] < later[1] <= place.keystrokes for one, later in pairwise(memory.ends))
    )


def _parse_retired(text: str, keyboard: str, seed: int, keystrokes: int, typed: str, gone: str) -> RetiredMonkey:
    return RetiredMonkey(
        str(text), Keyboard(keyboard), int(seed), _parse_count(keystrokes), str(typed), _parse_instant(gone)
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
