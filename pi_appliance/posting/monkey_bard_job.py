"""Job kind `monkey-bard`: type at random towards a text in each run, and report the progress."""

import hashlib
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta, tzinfo
from enum import StrEnum
from pathlib import Path
from typing import Annotated

from pi_appliance.config.units import Limits, Names
from pi_appliance.errors import ConfigError, Issues, Problem
from pi_appliance.posting import monkey_bard_state, store
from pi_appliance.posting.exactly_once import PostingContext, RunPoster
from pi_appliance.posting.model import Post
from pi_appliance.posting.monkey_bard_state import (
    Announcement,
    DatedRecord,
    Keyboard,
    MonkeyState,
    RetiredMonkey,
    Target,
)
from pi_appliance.storage.model import Result
from pi_appliance.system.files import display_path

_COUNT_NAMES = {10**15: "quadrillion", 10**12: "trillion", 10**9: "billion", 10**6: "million"}
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
    unit, name = next((unit, name) for unit, name in _COUNT_NAMES.items() if rounded >= unit)
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


_SHOWN = 20  # records, and earlier monkeys, listed in the report
_PACE = timedelta(hours=1)  # shortest history from which the number of runs per year is estimated
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
_FINAL_SENTENCES = (
    "It is done. After {keystrokes} keystrokes hit at random, the monkey has typed the whole text: {typed}",
    "{keystrokes} keystrokes, no plan, and there it stands, all {of} letters of it: {typed}. The monkey rests.",
)
_CUTS = (160, 80, 40, 20)  # lengths to which the typed text is cut in a post that would be too long


@dataclass(frozen=True, slots=True)
class MonkeyView:
    """A monkey with everything that its reports need."""

    monkey: MonkeyState
    target: Target
    per_run: int
    zone: tzinfo | None

    @property
    def finished(self) -> bool:
        """Whether the whole text is typed."""
        return self.monkey.progress.matched == len(self.target.keys)

    @property
    def mean_keystrokes(self) -> int:
        """Mean number of keystrokes to the next letter."""
        return monkey_bard_state.expected_keystrokes(self.target, self.monkey.progress)

    def time(self) -> str:
        """Return the expected time to the next letter, in runs if the pace is unknown."""
        pace = self._measure_pace()
        if pace:
            return format_span(self.mean_keystrokes * pace[1] // pace[0])
        runs = -(-self.mean_keystrokes // self.per_run)
        return f"{format_count(runs)} run{'' if runs == 1 else 's'}"

    def at(self) -> str:
        """Return ' at this pace' if the pace is known."""
        return " at this pace" if self._measure_pace() else ""

    def _measure_pace(self) -> tuple[int, int] | None:
        """Return keystrokes and seconds of the newest runs, pauses included."""
        ends = self.monkey.ends
        if len(ends) < 2 or ends[-1][0] - ends[0][0] < _PACE:
            return None
        return ends[-1][1] - ends[0][1], int((ends[-1][0] - ends[0][0]).total_seconds())

    def instant(self, when: datetime) -> str:
        """Format `when` in the owner's time zone."""
        return when.astimezone(self.zone).isoformat(" ", "minutes")


def summary_line(view: MonkeyView) -> str:
    """Return the progress in one line."""
    progress = view.monkey.progress
    counts = f"{progress.keystrokes:,} keystrokes: {_quote_tail(view.monkey.typed, 40)}"
    if view.finished:
        return f"{counts}, the whole text; there is nothing left to type"
    forecast = f"the next letter in about {format_count(view.mean_keystrokes)} more ({view.time()})"
    return f"{counts}, {progress.matched} of {len(view.target.keys)} letters; {forecast}"


def announcement_text(view: MonkeyView, draw: float, fits: Callable[[str], bool]) -> str:
    """Return a post that `fits`, else the shortest one. `draw` selects the wording."""
    progress = view.monkey.progress
    wordings: Sequence[str] = (
        _FINAL_SENTENCES if view.finished else _SENTENCES if view.monkey.typed else (_NOTHING_YET,)
    )
    wording, text = wordings[int(draw * len(wordings))], ""
    for most in (len(view.monkey.typed), *_CUTS):
        text = wording.format(
            keystrokes=f"{progress.keystrokes:,}",
            typed=_quote_tail(view.monkey.typed, most),
            length=progress.matched,
            following=progress.matched + 1,
            of=len(view.target.keys),
            next=format_count(view.mean_keystrokes),
            time=view.time(),
            pace=view.at(),
        )
        if fits(text):
            break
    return text


def report_text(view: MonkeyView) -> str:
    """Return the text of the report of a monkey: progress, the line that it types, records."""
    monkey, target = view.monkey, view.target
    progress, keyboard = monkey.progress, monkey.keyboard
    rest = target.lines[progress.matched :].partition("\n")[0]
    records = reversed(monkey.events[-_SHOWN:])
    return "".join(
        f"{line}\n"
        for line in (
            f"Typed so far: [{monkey.typed}]{rest}",
            "",
            f"Keystrokes:   {progress.keystrokes:,} since {view.instant(monkey.began)}",
            f"Longest:      {progress.matched} of {len(target.keys)} letters of {monkey.text}",
            *_forecast_lines(view),
            f"Keyboard:     {keyboard}, {len(keyboard.keys)} keys",
            f"Seed:         {monkey.seed}",
            *(["", "Records, the newest first (letters, keystroke, when)"] if monkey.events else []),
            *(f"{each.record.length:6}  {each.record.keystroke:>20,}  {view.instant(each.when)}" for each in records),
            *_earlier_monkeys(view),
        )
    )


def _forecast_lines(view: MonkeyView) -> Iterator[str]:
    if view.finished:
        yield "Next letter:  none; it has typed all of it"
        return
    yield f"Next letter:  expected after {view.mean_keystrokes:,} more keystrokes: {view.time()}{view.at()}"
    # The first term of the sum is larger than all others together, so it determines the power of
    # ten.
    power = int(len(view.target.keys) * math.log10(len(view.monkey.keyboard.keys)))
    if power > len(str(view.mean_keystrokes)):
        yield f"The whole:    expected after about {format_power(power)} keystrokes"


def _earlier_monkeys(view: MonkeyView) -> Iterator[str]:
    if view.monkey.retired:
        yield ""
        yield "Earlier monkeys, the newest first"
    for each in reversed(view.monkey.retired[-_SHOWN:]):
        yield (
            f"until {view.instant(each.retired_at)}: {_quote_tail(each.typed, 40)} of {each.text}"
            f" with {each.keystrokes:,} keystrokes ({each.keyboard}, seed {each.seed})"
        )


def _quote_tail(typed: str, most: int) -> str:
    """Return the last `most` letters of `typed` in quotes, on one line."""
    tail = typed if len(typed) <= most else "…" + typed[len(typed) - most :]
    return f"“{' / '.join(tail.split(chr(10)))}”"


Context = PostingContext
has_pending_work, prune = store.has_pending_work, store.prune
RESUMABLE = True
"""A run may leave a post for a later run to send."""

REPORT = "result.txt"
_SAVED = timedelta(minutes=1)  # time between two saves; after a power cut, the same keys are typed again
_ENDS = 30  # numbers of runs that are stored to measure the pace
_EARLIER = 100  # retired monkeys that are stored
_SEEDS = 10**9


class Announce(StrEnum):
    """When the monkey's progress is posted."""

    RECORD = "record"  # after a new record, but not more often than `min-interval`
    EVERY_RUN = "every-run"  # after each run that typed


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """The keys a job of this kind takes under `with:`."""

    text: Annotated[Path, "the text it types towards, such as sonnet.txt"]
    keyboard: Annotated[
        Keyboard,
        "its keys: letters (and the space; capitals and punctuation do not count) or typewriter (all of ASCII)",
    ] = Keyboard.LETTERS
    keystrokes: Annotated[int, "how many keys it hits in a run", Limits(1, wrong="types nothing")] = 100_000
    seed: Annotated[
        int | None,
        "seed of its random keystrokes; without it, drawn once and shown in the report",
        Limits(0, wrong="is not a valid seed"),
    ] = None
    network: Annotated[Names | None, "where news of it is posted: names from `networks:`; without it, nowhere"] = None
    announce: Annotated[Announce, "when: after each new record, or after every-run"] = Announce.RECORD
    min_interval: Annotated[
        timedelta, "shortest time between two posts about records; the end of the text is always posted"
    ] = timedelta(days=1)
    send_within: Annotated[timedelta, "for how long a post that could not be sent is still sent"] = timedelta(hours=6)

    def warnings(self) -> Issues:
        """Return the problems that a run would meet now: key, problem, remedy."""
        try:
            _load_target(self)
        except ConfigError as error:
            wrong, _, right = str(error).partition("; ")
            return [(("text",), wrong, right)]
        return []


def run_options(_: Options) -> Sequence[str]:
    """Return the keys that may differ for one run."""
    return ("keystrokes", "seed")


def run(options: Options, context: PostingContext) -> Result:
    """Type, then post the progress if there is news.

    The keystrokes are saved and reported before anything is posted.

    Raises:
        ConfigError: the text cannot be typed.
        Refused: the saved state cannot be read.
        ApplianceError: a network did not accept the post.
    """
    poster = RunPoster(context)
    pending_posts = poster.send_pending()
    if context.resume_only:
        return poster.pending_result(pending_posts)
    target = _load_target(options)
    monkey, note = _restore_monkey(options, target, context)
    monkey = _plan_announcement(options, target, _type_keys(options, target, monkey, context), context)
    context.save_state(monkey_bard_state.dump_state(monkey))
    zone = context.local_time().tzinfo
    view = MonkeyView(monkey, target, options.keystrokes, zone)
    with context.report(REPORT) as file:
        file.write(report_text(view))
    summary, progress = note + summary_line(view), monkey.progress
    facts = {
        "keystrokes": progress.keystrokes,
        "letters": progress.matched,
        "of": len(target.keys),
        "seed": monkey.seed,
    }
    if monkey.pending_announcement is None:
        return Result(summary, facts)
    sent_posts = poster.post(lambda: (_build_posts(options, view, context), ""), send_within=options.send_within)
    result = poster.result(sent_posts, sent_posts[0].text)
    context.save_state(
        monkey_bard_state.dump_state(
            replace(monkey, last_announcement=monkey.pending_announcement, pending_announcement=None)
        )
    )
    return Result(f"{summary}; {result.summary}", {**facts, **result.details})


def _load_target(options: Options) -> Target:
    try:
        text = options.text.read_text("utf-8-sig")
    except OSError as error:
        problem = Problem(
            display_path(options.text), 1, 1, f"cannot be read: {error.strerror}", "check its name and rights"
        )
        raise ConfigError([problem]) from None
    except UnicodeDecodeError:
        problem = Problem(display_path(options.text), 1, 1, "this is not a text file", "save it as UTF-8")
        raise ConfigError([problem]) from None
    return monkey_bard_state.prepare_target(text, options.keyboard, display_path(options.text))


def _restore_monkey(options: Options, target: Target, context: PostingContext) -> tuple[MonkeyState, str]:
    """Return the state of the monkey, and a note for the summary if it is a new monkey."""
    text = context.load_state()
    before = None if text is None else monkey_bard_state.load_state(text, context.job)
    digest = hashlib.sha256(target.keys).hexdigest()
    changed = [] if before is None else _changed_options(options, digest, before)
    if before and not changed:
        return replace(_settle_announcement(before, context), text=options.text.name), ""
    new = MonkeyState(
        text=options.text.name,
        digest=digest,
        keyboard=options.keyboard,
        seed=context.random.randrange(_SEEDS) if options.seed is None else options.seed,
        began=context.now,
    )
    if before is None:
        return new, ""
    before = _settle_announcement(before, context)
    last_post = before.last_announcement
    retired = RetiredMonkey(
        before.text, before.keyboard, before.seed, before.progress.keystrokes, before.typed, context.now
    )
    return (
        replace(
            new,
            retired=(*before.retired, retired)[-_EARLIER:],
            last_announcement=last_post and replace(last_post, length=0),
        ),
        f"a new monkey, for another {' and another '.join(changed)} was set; ",
    )


def _changed_options(options: Options, digest: str, monkey: MonkeyState) -> list[str]:
    """Return the options that differ from those with which the saved monkey began."""
    is_same = {
        # The digest depends on the keyboard, so digests are only compared for the same keyboard.
        "text": monkey.digest == digest or monkey.keyboard != options.keyboard,
        "keyboard": monkey.keyboard == options.keyboard,
        "seed": options.seed in (None, monkey.seed),
    }
    return [name for name, same in is_same.items() if not same]


def _settle_announcement(monkey: MonkeyState, context: PostingContext) -> MonkeyState:
    """Return `monkey` with an interrupted announcement resolved from the store of posts."""
    pending = monkey.pending_announcement
    if pending is None or pending.slot == context.slot:
        return monkey
    is_stored = bool(context.posts.posts_for_slot(pending.slot))
    return replace(
        monkey,
        last_announcement=pending if is_stored else monkey.last_announcement,
        pending_announcement=None,
    )


def _type_keys(options: Options, target: Target, monkey: MonkeyState, context: PostingContext) -> MonkeyState:
    """Type the keystrokes of this run, or those an earlier attempt did not finish."""
    if monkey.slot != context.slot:
        monkey = replace(monkey, slot=context.slot, goal=monkey.progress.keystrokes + options.keystrokes)
    began, saved = monkey.progress.keystrokes, context.clock()
    while monkey.progress.keystrokes < monkey.goal and monkey.progress.matched < len(target.keys):
        monkey = _type_block(monkey, target, monkey.goal - monkey.progress.keystrokes, context)
        keys_to_type = monkey.goal - monkey.progress.keystrokes
        context.progress(1 - keys_to_type / options.keystrokes, f"{monkey.progress.keystrokes:,} keystrokes")
        if abs(context.clock() - saved) >= _SAVED:
            context.save_state(monkey_bard_state.dump_state(monkey))
            saved = context.clock()
    if monkey.progress.keystrokes > began:
        monkey = replace(monkey, ends=(*monkey.ends, (context.clock(), monkey.progress.keystrokes))[-_ENDS:])
    return monkey


def _type_block(monkey: MonkeyState, target: Target, most: int, context: PostingContext) -> MonkeyState:
    progress, records = monkey_bard_state.advance(monkey.progress, target, monkey.seed, most)
    events = tuple(DatedRecord(record, context.clock()) for record in records)
    return replace(monkey, progress=progress, typed=target.lines[: progress.matched], events=monkey.events + events)


def _plan_announcement(options: Options, target: Target, monkey: MonkeyState, context: PostingContext) -> MonkeyState:
    """Return `monkey` with the announcement of this run, if there is news."""
    if monkey.pending_announcement is None and _is_news(options, target, monkey, context):
        return replace(monkey, pending_announcement=Announcement(context.slot, context.now, monkey.progress.matched))
    return monkey


def _is_news(options: Options, target: Target, monkey: MonkeyState, context: PostingContext) -> bool:
    last_post, length = monkey.last_announcement, monkey.progress.matched
    if not options.network or (last_post and (last_post.slot == context.slot or last_post.length == len(target.keys))):
        return False
    if length == len(target.keys) or options.announce is Announce.EVERY_RUN:
        return True
    if last_post is None:
        return length > 0
    # A post with a future time was sent while the clock was ahead.
    return length > last_post.length and not timedelta(0) <= context.now - last_post.when < options.min_interval


def _build_posts(options: Options, view: MonkeyView, context: PostingContext) -> dict[str, list[Post]]:
    """Return the post for each network, with the same wording where it fits."""
    return {name: [_announcement_post(view, context, name)] for name in options.network or ()}


def _announcement_post(view: MonkeyView, context: PostingContext, network: str) -> Post:
    limits = context.limits(network)
    fits = lambda text: not limits.rejection_reason(Post(text))  # noqa: E731 - shorter than a function
    return Post(announcement_text(view, context.random_for("wording"), fits))
