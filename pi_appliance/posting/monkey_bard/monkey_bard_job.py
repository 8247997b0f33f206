"""Job kind `monkey-bard`: type at random towards a text in each run, and report the progress."""

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
"""A run may leave a post for a later run to send."""

REPORT = "result.txt"
_SAVED = timedelta(minutes=1)  # between saves; after a power cut the same keys are typed again
_ENDS = 30  # ends of runs that are stored to measure the pace
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
    keystrokes: Annotated[int, "how many keys it hits in a run"] = 100_000
    seed: Annotated[int | None, "what its chance follows from; without it, drawn once and shown in the report"] = None
    network: Annotated[Names | None, "where it is told of: names from `networks:`; without it, nowhere"] = None
    announce: Annotated[Announce, "when: after each new record, or after every-run"] = Announce.RECORD
    min_interval: Annotated[timedelta, "records are not told of more often; the end of the text always is"] = timedelta(
        days=1
    )
    send_within: Annotated[timedelta, "for how long a post that could not be sent is still sent"] = timedelta(hours=6)

    def check(self) -> list[tuple[tuple[str | int, ...], str, str]]:
        """Return the errors in the values: key, problem, remedy."""
        problems: list[tuple[tuple[str | int, ...], str, str]] = []
        if self.keystrokes < 1:
            problems.append((("keystrokes",), f"{self.keystrokes} types nothing", "write 1 or more"))
        if self.seed is not None and self.seed < 0:
            problems.append((("seed",), f"{self.seed} is no seed", "write 0 or more"))
        return problems

    def warnings(self) -> list[tuple[tuple[str | int, ...], str, str]]:
        """Return the problems that a run would meet now: key, problem, remedy."""
        try:
            _load_target(self)
        except ConfigError as error:
            wrong, _, right = str(error).partition("; ")
            return [(("text",), wrong, right)]
        return []


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
    memory, note = _restore_monkey(options, target, context)
    memory = _plan_announcement(options, target, _type_keys(options, target, memory, context), context)
    context.save_state(state.dump_state(memory))
    zone = context.local_time().tzinfo
    view = MonkeyView(memory, target, options.keystrokes, zone)
    with context.report(REPORT) as file:
        file.write(report.report_text(view))
    summary, place = note + report.summary_line(view), memory.place
    facts = {"keystrokes": place.keystrokes, "letters": place.matched, "of": len(target.keys), "seed": memory.seed}
    if memory.telling is None:
        return Result(summary, facts)
    sent_posts = poster.post(lambda: (_build_posts(options, view, context), ""), send_within=options.send_within)
    result = poster.result(sent_posts, sent_posts[0].text)
    context.save_state(state.dump_state(replace(memory, told=memory.telling, telling=None)))
    return Result(f"{summary}; {result.summary}", {**facts, **result.details})


def _load_target(options: Options) -> Target:
    """Load the text as keys. Raises ConfigError."""
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


def _restore_monkey(options: Options, target: Target, context: PostingContext) -> tuple[MonkeyState, str]:
    """Return the state of the monkey, and a note for the summary if it is a new monkey."""
    text = context.load_state()
    before = None if text is None else state.load_state(text, context.job)
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
    last_post = before.told
    retired = RetiredMonkey(
        before.text, before.keyboard, before.seed, before.place.keystrokes, before.typed, context.now
    )
    return (
        replace(new, earlier=(*before.earlier, retired)[-_EARLIER:], told=last_post and replace(last_post, length=0)),
        f"a new monkey, for another {' and another '.join(changed)} is wanted; ",
    )


def _changed_options(options: Options, digest: str, memory: MonkeyState) -> list[str]:
    """Return the options that differ from those of the saved monkey."""
    wanted = {
        # The digest depends on the keyboard, so it is compared for the same keyboard only.
        "text": memory.digest == digest or memory.keyboard != options.keyboard,
        "keyboard": memory.keyboard == options.keyboard,
        "seed": options.seed in (None, memory.seed),
    }
    return [name for name, same in wanted.items() if not same]


def _settle_announcement(memory: MonkeyState, context: PostingContext) -> MonkeyState:
    """Return `memory` with an interrupted announcement resolved.

    If a run was cut off while it posted, the post store shows whether the post exists.
    """
    telling = memory.telling
    if telling is None or telling.slot == context.slot:
        return memory
    return replace(memory, told=telling if context.posts.posts_for_slot(telling.slot) else memory.told, telling=None)


def _type_keys(options: Options, target: Target, memory: MonkeyState, context: PostingContext) -> MonkeyState:
    """Type the keystrokes of this run, or those an earlier attempt did not finish."""
    if memory.slot != context.slot:
        memory = replace(memory, slot=context.slot, goal=memory.place.keystrokes + options.keystrokes)
    began, saved = memory.place.keystrokes, context.clock()
    while memory.place.keystrokes < memory.goal and memory.place.matched < len(target.keys):
        memory = _type_block(memory, target, memory.goal - memory.place.keystrokes, context)
        keys_to_type = memory.goal - memory.place.keystrokes
        context.progress(1 - keys_to_type / options.keystrokes, f"{memory.place.keystrokes:,} keystrokes")
        if abs(context.clock() - saved) >= _SAVED:
            context.save_state(state.dump_state(memory))
            saved = context.clock()
    if memory.place.keystrokes > began:
        memory = replace(memory, ends=(*memory.ends, (context.clock(), memory.place.keystrokes))[-_ENDS:])
    return memory


def _type_block(memory: MonkeyState, target: Target, most: int, context: PostingContext) -> MonkeyState:
    """Type up to `most` more keys."""
    place, records = keystrokes.advance(memory.place, target, memory.seed, most)
    events = tuple(DatedRecord(record, context.clock()) for record in records)
    return replace(memory, place=place, typed=target.lines[: place.matched], events=memory.events + events)


def _plan_announcement(options: Options, target: Target, memory: MonkeyState, context: PostingContext) -> MonkeyState:
    """Return `memory` with the announcement of this run, if there is news.

    An earlier attempt at this run may have started the announcement.
    """
    if memory.telling is None and _is_news(options, target, memory, context):
        return replace(memory, telling=Announcement(context.slot, context.now, memory.place.matched))
    return memory


def _is_news(options: Options, target: Target, memory: MonkeyState, context: PostingContext) -> bool:
    """Return whether there is something to post now."""
    last_post, length = memory.told, memory.place.matched
    if not options.network or (last_post and (last_post.slot == context.slot or last_post.length == len(target.keys))):
        return False
    if length == len(target.keys) or options.announce is Announce.EVERY_RUN:
        return True
    if last_post is None:
        return length > 0
    # A post from the future was sent while the clock was ahead.
    return length > last_post.length and not timedelta(0) <= context.now - last_post.when < options.min_interval


def _build_posts(options: Options, view: MonkeyView, context: PostingContext) -> dict[str, list[Post]]:
    """Return the post for each network. The wording is the same where it fits."""
    return {name: [_announcement_post(view, context, name)] for name in options.network or ()}


def _announcement_post(view: MonkeyView, context: PostingContext, network: str) -> Post:
    limits = context.limits(network)
    fits = lambda text: not limits.rejection_reason(Post(text))  # noqa: E731 - shorter than a function
    return Post(report.announcement_text(view, context.random_for("wording"), fits))
