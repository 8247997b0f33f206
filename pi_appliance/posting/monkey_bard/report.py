"""Report and posts of a monkey bard."""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta, tzinfo

from pi_appliance.posting.monkey_bard import keystrokes
from pi_appliance.posting.monkey_bard.keystrokes import Target
from pi_appliance.posting.monkey_bard.state import MonkeyState

_NAMES = {10**15: "quadrillion", 10**12: "trillion", 10**9: "billion", 10**6: "million"}
_RAISED = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")
_SPANS = {31_556_952: "year", 86_400: "day", 3_600: "hour", 60: "minute"}  # seconds


def format_count(number: int) -> str:
    """Format `number` with three significant digits, with a name from a million."""
    size = 10 ** max(0, len(str(number)) - 3)
    rounded = (number + size // 2) // size * size
    if rounded < 10**6:
        return f"{rounded:,}"
    if rounded >= 10**18:
        return format_power(len(str(rounded)) - 1, str(rounded)[:2])
    unit, name = next((unit, name) for unit, name in _NAMES.items() if rounded >= unit)
    whole, rest = divmod(rounded, unit)
    return f"{whole}.{rest * 100 // unit:02}".rstrip("0").rstrip(".") + f" {name}"


def format_power(exponent: int, digits: str = "") -> str:
    """Format ten to the power `exponent`, multiplied by a number with the first two `digits`."""
    times = f"{digits[0]}.{digits[1:]}".rstrip("0").rstrip(".") + " \u00d7 " if digits else ""
    return f"{times}10{str(exponent).translate(_RAISED)}"


def format_span(seconds: int) -> str:
    """Format `seconds` in the largest unit that fits."""
    for size, name in _SPANS.items():
        if seconds >= size:
            number = (seconds + size // 2) // size
            return f"{format_count(number)} {name}{'' if number == 1 else 's'}"
    return "less than a minute"


_SHOWN = 20  # records and earlier monkeys in the report
_PACE = timedelta(hours=1)  # a shorter time does not show how many runs there are in a year
_SENTENCES = (
    "After {keystrokes} keystrokes the monkey has typed {typed}. One more letter takes it about {next} keystrokes:"
    " {time}{pace}.",
    "News from the monkey at the typewriter: {typed}. So far it hit {keystrokes} keys; the next letter should come in"
    " {time}.",
    "{typed}: that is how far chance has come with {keystrokes} keystrokes. For one letter more it needs some {next},"
    " which takes {time}.",
    "{keystrokes} keys were hit at random, and among them stood {typed}. The next letter? In {time}, on average.",
    "The monkey types on. Its best so far, out of {keystrokes} keystrokes: {typed}. One letter more is a matter of"
    " {next} keystrokes. Call back in {time}.",
    "Letter {length} of {of} is done: {typed}. It took {keystrokes} keystrokes; expect number {following} in {time}.",
)
_NOTHING_YET = "{keystrokes} keys were hit, and the first letter was not among them. The monkey is in no hurry."
_ENDS = (
    "It is done. After {keystrokes} keystrokes hit at random, the monkey has typed the whole text: {typed}",
    "{keystrokes} keystrokes, no plan, and there it stands, all {of} letters of it: {typed}. The monkey rests.",
)
_CUTS = (160, 80, 40, 20)  # last letters of the typed text that a post shows if it is too long


@dataclass(frozen=True, slots=True)
class MonkeyView:
    """State and target of a monkey, its keystrokes per run, and the owner's time zone."""

    memory: MonkeyState
    target: Target
    per_run: int
    zone: tzinfo | None

    @property
    def finished(self) -> bool:
        """Whether the whole text is typed."""
        return self.memory.place.matched == len(self.target.keys)

    @property
    def wanted(self) -> int:
        """Mean number of keystrokes to the next letter."""
        return keystrokes.expected_keystrokes(self.target, self.memory.place)

    def time(self) -> str:
        """Return the expected time to the next letter, in runs if the pace is unknown."""
        pace = self._measure_pace()
        if pace:
            return format_span(self.wanted * pace[1] // pace[0])
        runs = -(-self.wanted // self.per_run)
        return f"{format_count(runs)} run{'' if runs == 1 else 's'}"

    def at(self) -> str:
        """Return ' at this pace' if the pace is known."""
        return " at this pace" if self._measure_pace() else ""

    def _measure_pace(self) -> tuple[int, int] | None:
        """Return keystrokes and seconds of the newest runs, pauses included."""
        ends = self.memory.ends
        if len(ends) < 2 or ends[-1][0] - ends[0][0] < _PACE:
            return None
        return ends[-1][1] - ends[0][1], int((ends[-1][0] - ends[0][0]).total_seconds())

    def instant(self, when: datetime) -> str:
        """Format `when` in the owner's time zone."""
        return when.astimezone(self.zone).isoformat(" ", "minutes")


def summary_line(view: MonkeyView) -> str:
    """Return the progress in one line."""
    place = view.memory.place
    progress = f"{place.keystrokes:,} keystrokes: {_quote_tail(view.memory.typed, 40)}"
    if view.finished:
        return f"{progress}, the whole text; there is nothing left to type"
    forecast = f"the next letter in about {format_count(view.wanted)} more ({view.time()})"
    return f"{progress}, {place.matched} of {len(view.target.keys)} letters; {forecast}"


def announcement_text(view: MonkeyView, draw: float, fits: Callable[[str], bool]) -> str:
    """Return a post that `fits`, its wording selected by `draw`. If none fits, return the shortest."""
    place = view.memory.place
    wordings: Sequence[str] = _ENDS if view.finished else _SENTENCES if view.memory.typed else (_NOTHING_YET,)
    wording, text = wordings[int(draw * len(wordings))], ""
    for most in (len(view.memory.typed), *_CUTS):
        text = wording.format(
            keystrokes=f"{place.keystrokes:,}",
            typed=_quote_tail(view.memory.typed, most),
            length=place.matched,
            following=place.matched + 1,
            of=len(view.target.keys),
            next=format_count(view.wanted),
            time=view.time(),
            pace=view.at(),
        )
        if fits(text):
            break
    return text


def report_text(view: MonkeyView) -> str:
    """Return the report."""
    memory, target = view.memory, view.target
    place, keyboard = memory.place, memory.keyboard
    rest = target.lines[place.matched :].partition("\n")[0]
    records = reversed(memory.events[-_SHOWN:])
    return "".join(
        f"{line}\n"
        for line in (
            f"Typed so far: [{memory.typed}]{rest}",
            "",
            f"Keystrokes:   {place.keystrokes:,} since {view.instant(memory.began)}",
            f"Longest:      {place.matched} of {len(target.keys)} letters of {memory.text}",
            *_forecast_lines(view),
            f"Keyboard:     {keyboard}, {len(keyboard.keys)} keys",
            f"Seed:         {memory.seed}",
            *(["", "Records, the newest first (letters, keystroke, when)"] if memory.events else []),
            *(f"{each.record.length:6}  {each.record.keystroke:>20,}  {view.instant(each.when)}" for each in records),
            *_earlier_monkeys(view),
        )
    )


def _forecast_lines(view: MonkeyView) -> Iterator[str]:
    if view.finished:
        yield "Next letter:  none; it has typed all of it"
        return
    yield f"Next letter:  expected after {view.wanted:,} more keystrokes: {view.time()}{view.at()}"
    # The first term of the sum is larger than the rest, so it determines the power of ten.
    power = int(len(view.target.keys) * math.log10(len(view.memory.keyboard.keys)))
    if power > len(str(view.wanted)):
        yield f"The whole:    expected after about {format_power(power)} keystrokes"


def _earlier_monkeys(view: MonkeyView) -> Iterator[str]:
    if view.memory.earlier:
        yield ""
        yield "Earlier monkeys, the newest first"
    for each in reversed(view.memory.earlier[-_SHOWN:]):
        yield (
            f"until {view.instant(each.gone)}: {_quote_tail(each.typed, 40)} of {each.text} with {each.keystrokes:,}"
            f" keystrokes ({each.keyboard}, seed {each.seed})"
        )


def _quote_tail(typed: str, most: int) -> str:
    """Return the last `most` letters of `typed` in quotes, on one line."""
    shown = typed if len(typed) <= most else "…" + typed[len(typed) - most :]
    return f"“{' / '.join(shown.split(chr(10)))}”"
