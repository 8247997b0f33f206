"""Job kind 'monkey-bard': a monkey types at random towards a text, a little each run, and tells how far it has come."""

import hashlib
from dataclasses import dataclass, replace
from datetime import timedelta
from enum import StrEnum
from pathlib import Path
from typing import Annotated

from pi_appliance.config.loader import display_path
from pi_appliance.config.units import Names
from pi_appliance.errors import ConfigError, Problem
from pi_appliance.posting import store
from pi_appliance.posting.context import PostingContext
from pi_appliance.posting.model import Post
from pi_appliance.posting.monkey_bard import keystrokes, report, state
from pi_appliance.posting.monkey_bard.keystrokes import Keyboard, Target
from pi_appliance.posting.monkey_bard.report import MonkeyView
from pi_appliance.posting.monkey_bard.state import Announcement, DatedRecord, MonkeyState, RetiredMonkey
from pi_appliance.posting.sender import RunPoster
from pi_appliance.storage.model import Result

Context = PostingContext
has_pending_work, prune = store.has_pending_work, store.prune
LEAVES = True
"""A run may leave something for a later one to finish."""

REPORT = "result.txt"
_SAVED = timedelta(minutes=1)  # so much typing a power cut may cost; it is typed again, key for key
_ENDS = 30  # runs whose ends are kept, for the pace
_EARLIER = 100  # monkeys that are remembered
_SEEDS = 10**9


class Announce(StrEnum):
    """When the monkey is told of."""

    RECORD = "record"  # when more of the text has come than ever, but not more often than `min-interval`
    EVERY_RUN = "every-run"  # each time it has typed


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """The keys a job of this kind takes under `with:`."""

    text: Annotated[Path, "the text it types towards, such as sonnet.txt"]
    keyboard: Annotated[
        Keyboard,
        "its keys: letters (and the space; capitals and punctuation do not count) or typewriter (all of ASCII)",
    ] = Keyboard.LETTERS
    keystrokes: Annotated[int, "how many keys it hits in a run"] = 100_000
    seed: Annotated[int | None, "what its chance follows from; without it, drawn once and shown in the report"] = None
    network: Annotated[Names | None, "where it is told of: names from `networks:`; without it, nowhere"] = None
    announce: Annotated[Announce, "when: after each new record, or after every-run"] = Announce.RECORD
    min_interval: Annotated[timedelta, "records are not told of more often; the end of the text always is"] = timedelta(
        days=1
    )
    send_within: Annotated[timedelta, "for how long a post that could not be sent is still sent"] = timedelta(hours=6)

    def check(self) -> list[tuple[tuple[str | int, ...], str, str]]:
        """Return what is wrong with a value: where, what, and what would be right."""
        problems: list[tuple[tuple[str | int, ...], str, str]] = []
        if self.keystrokes < 1:
            problems.append((("keystrokes",), f"{self.keystrokes} types nothing", "write 1 or more"))
        if self.seed is not None and self.seed < 0:
            problems.append((("seed",), f"{self.seed} is no seed", "write 0 or more"))
        return problems

    def warnings(self) -> list[tuple[tuple[str | int, ...], str, str]]:
        """Return what a run would stumble over as things stand: where, what, and what would be right."""
        try:
            _take(self)
        except ConfigError as error:
            wrong, _, right = str(error).partition("; ")
            return [(("text",), wrong, right)]
        return []


def run(options: Options, context: PostingContext) -> Result:
    """Let the monkey type, then tell of it if there is something to tell.

    What was typed is remembered, and reported, before anything is posted. Raises ConfigError where the text cannot be
    typed, Refused where the memory cannot be read, and what the networks raise.
    """
    poster = RunPoster(context)
    left = poster.send_pending()
    if context.resume_only:
        return poster.pending_result(left)
    target = _take(options)
    memory, news = _remembered(options, target, context)
    memory = _about_to_tell(options, target, _typed(options, target, memory, context), context)
    context.save_state(state.dump_state(memory))
    zone = context.local_time().tzinfo
    view = MonkeyView(memory, target, options.keystrokes, zone)
    with context.report(REPORT) as file:
        file.write(report.report_text(view))
    summary, place = news + report.summary_line(view), memory.place
    facts = {"keystrokes": place.keystrokes, "letters": place.matched, "of": len(target.keys), "seed": memory.seed}
    if memory.telling is None:
        return Result(summary, facts)
    sent = poster.post(lambda: (_posts(options, view, context), ""), send_within=options.send_within)
    result = poster.result(sent, sent[0].text)
    context.save_state(state.dump_state(replace(memory, told=memory.telling, telling=None)))
    return Result(f"{summary}; {result.summary}", {**facts, **result.details})


def _take(options: Options) -> Target:
    """Return the text as the monkey can type it. Raises ConfigError."""
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
    return keystrokes.prepare_target(text, options.keyboard, display_path(options.text))


def _remembered(options: Options, target: Target, context: PostingContext) -> tuple[MonkeyState, str]:
    """Return what is remembered of the monkey, or a new one if another is wanted; and what is to be said of that."""
    text = context.load_state()
    before = None if text is None else state.load_state(text, context.job)
    digest = hashlib.sha256(target.keys).hexdigest()
    changed = [] if before is None else _changed(options, digest, before)
    if before and not changed:
        return replace(_settled(before, context), text=options.text.name), ""
    new = MonkeyState(
        text=options.text.name,
        digest=digest,
        keyboard=options.keyboard,
        seed=context.random.randrange(_SEEDS) if options.seed is None else options.seed,
        began=context.now,
    )
    if before is None:
        return new, ""
    before = _settled(before, context)
    told = before.told
    gone = RetiredMonkey(before.text, before.keyboard, before.seed, before.place.keystrokes, before.typed, context.now)
    return (
        replace(new, earlier=(*before.earlier, gone)[-_EARLIER:], told=told and replace(told, length=0)),
        f"a new monkey, for another {' and another '.join(changed)} is wanted; ",
    )


def _changed(options: Options, digest: str, memory: MonkeyState) -> list[str]:
    """Return what is wanted now that is not what the monkey of MEMORY was given."""
    wanted = {
        "text": memory.digest == digest or memory.keyboard != options.keyboard,  # another keyboard takes it otherwise
        "keyboard": memory.keyboard == options.keyboard,
        "seed": options.seed in (None, memory.seed),
    }
    return [name for name, same in wanted.items() if not same]


def _settled(memory: MonkeyState, context: PostingContext) -> MonkeyState:
    """Return MEMORY; if a run was cut off while it told of the monkey, the store says whether it had come to that."""
    telling = memory.telling
    if telling is None or telling.slot == context.slot:
        return memory
    return replace(memory, told=telling if context.posts.posts_for_slot(telling.slot) else memory.told, telling=None)


def _typed(options: Options, target: Target, memory: MonkeyState, context: PostingContext) -> MonkeyState:
    """Let the monkey type what this run should, or what an earlier attempt at it has left, and return its memory."""
    if memory.slot != context.slot:
        memory = replace(memory, slot=context.slot, goal=memory.place.keystrokes + options.keystrokes)
    began, saved = memory.place.keystrokes, context.clock()
    while memory.place.keystrokes < memory.goal and memory.place.matched < len(target.keys):
        memory = _more(memory, target, memory.goal - memory.place.keystrokes, context)
        left = memory.goal - memory.place.keystrokes
        context.progress(1 - left / options.keystrokes, f"{memory.place.keystrokes:,} keystrokes")
        if abs(context.clock() - saved) >= _SAVED:
            context.save_state(state.dump_state(memory))
            saved = context.clock()
    if memory.place.keystrokes > began:
        memory = replace(memory, ends=(*memory.ends, (context.clock(), memory.place.keystrokes))[-_ENDS:])
    return memory


def _more(memory: MonkeyState, target: Target, most: int, context: PostingContext) -> MonkeyState:
    """Return MEMORY after some more keys, at most so many."""
    place, records = keystrokes.advance(memory.place, target, memory.seed, most)
    events = tuple(DatedRecord(record, context.clock()) for record in records)
    return replace(memory, place=place, typed=target.lines[: place.matched], events=memory.events + events)


def _about_to_tell(options: Options, target: Target, memory: MonkeyState, context: PostingContext) -> MonkeyState:
    """Return MEMORY with what this run is to tell, if it is; an earlier attempt at it may have begun to."""
    if memory.telling is None and _is_news(options, target, memory, context):
        return replace(memory, telling=Announcement(context.slot, context.now, memory.place.matched))
    return memory


def _is_news(options: Options, target: Target, memory: MonkeyState, context: PostingContext) -> bool:
    """Say whether there is something to tell now."""
    told, length = memory.told, memory.place.matched
    if not options.network or (told and (told.slot == context.slot or told.length == len(target.keys))):
        return False
    if length == len(target.keys) or options.announce is Announce.EVERY_RUN:
        return True
    if told is None:
        return length > 0
    # One told of in the future was so while the clock was ahead.
    return length > told.length and not timedelta(0) <= context.now - told.when < options.min_interval


def _posts(options: Options, view: MonkeyView, context: PostingContext) -> dict[str, list[Post]]:
    """Return the post for each network, the same words on all where they fit."""
    return {name: [_announcement_post(view, context, name)] for name in options.network or ()}


def _announcement_post(view: MonkeyView, context: PostingContext, network: str) -> Post:
    limits = context.limits(network)
    fits = lambda text: not limits.rejection_reason(Post(text))  # noqa: E731 - shorter than a function
    return Post(report.announcement_text(view, context.random_for("wording"), fits))
