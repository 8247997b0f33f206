"""The lines of a tweet job: their states, the check of a text, and what the owner does with them.

A line can be posted now. A post that a network did not take can be sent again there, or dropped.
"""

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Annotated, Literal, TypedDict

from pi_appliance.config.loader import override_options
from pi_appliance.config.options import Config
from pi_appliance.errors import InvalidOption, Refused, UnknownName
from pi_appliance.jobs.reports import latest_report
from pi_appliance.json_schema import Instant
from pi_appliance.posting import lint
from pi_appliance.posting.forecast import MonthSpendJson, PostPreview, UpcomingPost, month_json, month_spends
from pi_appliance.posting.line_file import LineFile, replace_line
from pi_appliance.posting.lines import (
    PostLine,
    fill_placeholders,
    find_placeholders,
    is_used,
    line_fingerprint,
    parse_line,
)
from pi_appliance.posting.lint import LineSource, LintNote, Severity
from pi_appliance.posting.model import (
    FAILED_STATES,
    PENDING_STATES,
    RESENDABLE_STATES,
    Post,
    PostJson,
    PostRecord,
    PostState,
    post_price,
    record_json,
)
from pi_appliance.posting.store import JobPostStore, PostDatabase
from pi_appliance.posting.tweet_job import TWEET_KIND, attach_report, require_tweet_job
from pi_appliance.scheduling.appliance import Appliance
from pi_appliance.scheduling.explanation import describe_chance
from pi_appliance.storage.history import open_history
from pi_appliance.storage.model import iso_time
from pi_appliance.storage.run_requests import RunRequest
from pi_appliance.system import files

LOCK = "lines.lock"  # name of the lock file in the state folder
_SLOTS_AHEAD = 200  # slots in which the next post is searched
# Pressing a button twice must not post twice, even if placeholders have changed the text.
_PAUSE = timedelta(minutes=1)  # between any two posts that a person requests
_NO_REPEAT = timedelta(hours=1)  # between two equal posts


def tweet_job(config: Config, name: str | None) -> str:
    """Return the tweet job `name`, or the only one.

    Raises:
        UnknownName: There is no such job.
        Refused: It does not post lines, or there is not just one.
    """
    if name is not None:
        return require_tweet_job(config, name).name
    names = [each for each, job in config.jobs.items() if job.kind == TWEET_KIND]
    if len(names) != 1:
        several = f"several jobs post lines: {', '.join(names)}; name one with `job` (--job)"
        raise Refused(several if names else "no job posts lines of a file")
    return names[0]


def line_file(config: Config, job: str) -> LineFile:
    """Return the text file of `job`."""
    return LineFile(config.jobs[job].options.lines, files.make_directory(config.state_dir) / LOCK)


@contextlib.contextmanager
def hold_lines(config: Config) -> Iterator[None]:
    """Keep other programs from changing lines, and from starting posts. Raises Refused."""
    with files.acquire_lock(files.make_directory(config.state_dir) / LOCK) as lock:
        if lock is None:
            raise Refused("another program changes the lines or posts one just now; try again")
        yield


class LinePostJson(TypedDict):
    """The newest post of a line on one network."""

    network: str
    state: PostState
    at: Instant
    link: str | None
    reason: str | None


class LineLengthJson(TypedDict):
    """The lines of a tweet job: their states, the check of a text, and the owner's actions on them.

    The owner can post a line at once. A post that a network did not accept can be sent again there,
    or dropped.
    """

    network: str
    length: int
    max_length: int


class LineProblemJson(TypedDict):
    """A problem of a line."""

    severity: Severity
    network: str | None
    message: str
    parts: Annotated[int | None, "of a thread"]


class LineCountsJson(TypedDict):
    """Length, cost and problems of a line."""

    networks: list[LineLengthJson]
    cost: Annotated[str, "US dollars, without pictures"]
    problems: list[LineProblemJson]


LineState = Literal["ready", "posted", "sending", "uncertain", "refused", "dropped", "invalid"]


class TweetLineJson(LineCountsJson):
    """A line of the text file."""

    number: int
    text: str
    state: LineState
    next: bool
    next_at: Annotated[Instant | None, "when it is posted next, as far as that is decided"]
    posts: list[LinePostJson]


class NextPostJson(TypedDict):
    """The next post of a job."""

    number: Annotated[int, "of the line"]
    text: str
    at: Instant
    networks: list[str]
    cost: str


class NextChanceJson(TypedDict):
    """The next slot of a job with a chance."""

    at: Instant
    chance: str
    why_not: Annotated[str | None, "why it will not post"]


class TweetLinesJson(TypedDict):
    """The lines of a tweet job, and its next post."""

    job: str
    file: str
    version: str
    lines: list[TweetLineJson]
    posted: Annotated[int, "lines that do not come again in this round"]
    problems: Annotated[list[str], "of the file"]
    next: NextPostJson | None
    next_chance: NextChanceJson | None
    costs: list[MonthSpendJson]


def describe_lines(shared: Appliance, name: str | None, now: datetime) -> TweetLinesJson:
    """Return the lines of a job with their states, and its next post.

    It opens a database connection of its own, so it may run in any thread.
    """
    with replace(shared, store=open_history(shared.config.state_dir)) as appliance:
        config = appliance.config
        job = tweet_job(config, name)
        file = line_file(config, job)
        content, source = file.read(), _source(config, job)
        database, options = PostDatabase(appliance.store), config.jobs[job].options
        used, posts = database.used_lines(job), database.posts_of_lines(job)
        slots = list(PostPreview(appliance, job, now).slots(_SLOTS_AHEAD))
        upcoming = next((each for each in slots if each.line is not None), None)
        times = {each.line.number: each.starts_at for each in reversed(slots) if each.line is not None}
        notes: dict[int | None, list[LintNote]] = {}
        for note in lint.check_source(source).notes:
            notes.setdefault(note.line, []).append(note)
        rows, posted = list[TweetLineJson](), 0
        for line, text in content.lines():
            fingerprint = line_fingerprint(line)
            records = posts.get(fingerprint, [])
            is_line_used = is_used(fingerprint, used, options.order)
            posted += is_line_used and (not records or any(each.state not in FAILED_STATES for each in records))
            problems = notes.get(line.number, [])
            state = _state(problems, records, used=is_line_used)
            rows.append(
                {
                    "number": line.number,
                    "text": text,
                    "state": state,
                    "next": bool(upcoming and upcoming.line and upcoming.line.number == line.number),
                    "next_at": iso_time(times.get(line.number)),
                    "posts": [_post_json(each) for each in records],
                    **_counts(line, source, problems),
                }
            )
        return {
            "job": job,
            "file": str(file.path),
            "version": content.version,
            "lines": rows,
            "posted": posted,
            "problems": [each.message for each in notes.get(None, [])],
            "next": _next_json(upcoming) if upcoming else None,
            "next_chance": _chance_json(config, job, slots),
            "costs": [month_json(each) for each in month_spends(appliance, now) if each.network in options.network],
        }


class TextCheckJson(LineCountsJson):
    """The check of a text."""

    text: str
    good: Annotated[bool, "it can be posted"]


def check_text(config: Config, name: str | None, text: str) -> TextCheckJson:
    """Return length and cost of `text` on each network of a job, and its problems."""
    source = _source(config, tweet_job(config, name))
    line = parse_line(0, text.strip())
    notes = list(lint.check_line(line, source))
    return {"text": text, "good": _is_good(notes), **_counts(line, source, notes)}


def request_post(
    appliance: Appliance, name: str | None, text: str | None, line: int | None, version: str | None, *, now: datetime
) -> RunRequest:
    """Request a run that posts `text`, or a line of the file, at once.

    Raises:
        UnknownName: There is no such job or line.
        Refused: The file was changed, the text does not fit, or the same post is on its way.
    """
    job = tweet_job(appliance.config, name)
    with hold_lines(appliance.config):
        if line is not None:
            content = line_file(appliance.config, job).read()
            if version not in (None, content.version):
                raise Refused("the lines were changed in the meantime; look at them again, then post one")
            text = content.line(line)
        text = (text or "").strip()
        source = _source(appliance.config, job)
        parsed = parse_line(0, text)
        notes = list(lint.check_line(parsed, source))
        if bad := next((each.message for each in notes if each.severity is Severity.REFUSED), ""):
            raise Refused(f"this text cannot be posted: {bad}")
        requests = appliance.store.requests
        if requests.pending(job) or appliance.store.active_runs(job):
            raise Refused(f"{job} is posting just now; wait until its run has ended")
        posts, fingerprint = PostDatabase(appliance.store), line_fingerprint(parsed)
        if posts.has_post(job, since=now - _PAUSE):
            raise Refused(f"{job} has posted within the last minute; wait a moment")
        if posts.has_post(job, since=now - _NO_REPEAT, text=parsed.text, line=fingerprint):
            raise Refused("this text was posted within the last hour, or is on its way; see: pi-appliance tweets list")
        override_options(appliance.config, appliance.config.jobs[job], {"text": text})
        return requests.add(job, now, {"text": text}, now=now)


def _source(config: Config, job: str) -> LineSource:
    return lint.job_sources(config, job)[0]


def _is_good(notes: Sequence[LintNote]) -> bool:
    return all(each.severity is not Severity.REFUSED for each in notes)


def _state(problems: Sequence[LintNote], records: Sequence[PostRecord], *, used: bool) -> LineState:
    states = {each.state for each in records}
    if PostState.UNCERTAIN in states:
        return "uncertain"
    if states & PENDING_STATES:
        return "sending"
    if states & RESENDABLE_STATES:
        return "refused"
    if used:
        return "dropped" if states == {PostState.DROPPED} else "posted"
    return "ready" if _is_good(problems) else "invalid"


def _post_json(record: PostRecord) -> LinePostJson:
    return {
        "network": record.network,
        "state": record.state,
        "at": iso_time(record.sent_at or record.created_at),
        "link": record.remote.link if record.remote and record.remote.link else None,
        "reason": record.reason or None,
    }


def _counts(line: PostLine, source: LineSource, notes: Sequence[LintNote]) -> LineCountsJson:
    """Return the length on each network, the cost in US dollars, and the problems of a line."""
    values = {name: source.values.get(name, "") for name in find_placeholders(line)}
    text = fill_placeholders(line.text, values)
    price = sum((post_price(limits, Post(text)) for limits in source.limits.values()), Decimal(0))
    return {
        "networks": [
            {"network": name, "length": limits.text_length(text), "max_length": limits.max_length}
            for name, limits in source.limits.items()
        ],
        "cost": str(price),
        "problems": [
            {"severity": each.severity, "network": each.network, "message": each.message, "parts": each.parts}
            for each in notes
        ],
    }


def _chance_json(config: Config, job: str, slots: Sequence[UpcomingPost]) -> NextChanceJson | None:
    """Return the next slot of a job with a chance, and what will happen then."""
    chance = config.jobs[job].chance
    if chance is None or not slots:
        return None
    return {
        "at": iso_time(slots[0].starts_at),
        "chance": describe_chance(chance),
        "why_not": slots[0].why_not or None,
    }


def _next_json(upcoming: UpcomingPost) -> NextPostJson:
    assert upcoming.line is not None
    return {
        "number": upcoming.line.number,
        "text": next(iter(upcoming.posts.values()))[0].text,
        "at": iso_time(upcoming.starts_at),
        "networks": list(upcoming.posts),
        "cost": str(upcoming.cost),
    }


_DROP_REASON = "you do not want it there"


class RefusedLineJson(TypedDict):
    """A line that some networks did not accept."""

    post: Annotated[int, "the number for `resend` and `drop`"]
    job: str
    slot: str
    line: Annotated[int | None, "its number in the file, if it is there"]
    text: str
    posts: list[PostJson]


def describe_refused(appliance: Appliance, job: str | None = None) -> list[RefusedLineJson]:
    """Return the posts that networks did not accept, the newest first: one entry per line and slot.

    Raises:
        UnknownName: There is no such job.
    """
    config = appliance.config
    if job is not None and job not in config.jobs:
        raise UnknownName("job", job, tuple(config.jobs))
    records = [
        each
        for name in config.jobs
        if job in (None, name)
        for each in PostDatabase(appliance.store).resendable_posts(name)
    ]
    slots: dict[tuple[str, str], list[PostRecord]] = {}
    for record in sorted(records, key=lambda each: each.id, reverse=True):
        slots.setdefault((record.job, record.slot), []).insert(0, record)
    numbers = {name: _line_numbers(appliance, name) for name, _ in slots}
    entries = list[RefusedLineJson]()
    for (name, slot), of_slot in slots.items():
        number, text = numbers[name].get(of_slot[0].line, (None, of_slot[0].text))
        posts = [record_json(each) for each in of_slot]
        entries.append({"post": of_slot[0].id, "job": name, "slot": slot, "line": number, "text": text, "posts": posts})
    return entries


def resend(
    appliance: Appliance, number: int, text: str | None, version: str | None, *, now: datetime
) -> Sequence[PostRecord]:
    """Send the post `number` again to each network that did not take it.

    A new `text` also replaces the line in the file. The networks that have the old text keep it.

    Raises:
        UnknownName: There is no such post.
        Refused: The job is posting just now, the text does not fit, or the file was changed.
        InvalidOption: The text is not a valid line.
    """
    database = PostDatabase(appliance.store)
    records = _posts_of_slot(appliance, number)
    job = records[0].job
    if appliance.store.requests.pending(job):
        raise Refused(f"{job} is posting just now; wait until its run has ended")
    if text is None:
        with hold_lines(appliance.config):
            return database.resend_posts(number, now=now)
    if appliance.config.jobs[job].kind != TWEET_KIND:
        raise Refused(f"the posts of {job} are not lines of a file, so their text cannot be changed")
    if not text.strip():
        raise InvalidOption("'text' must not be empty; drop the post if it is not wanted")
    posts = _make_posts(appliance, records, text, now)
    fingerprint = line_fingerprint(parse_line(0, text.strip()))
    place = _line_numbers(appliance, job).get(records[0].line)
    if place is None:
        with hold_lines(appliance.config):
            return database.resend_posts(number, now=now, posts=posts, line=fingerprint)
    sent: list[PostRecord] = []

    def edit(content: str) -> str:
        changed = replace_line(content, place[0], text)
        # Recorded before the file is written, so that no run finds the new line unused in between.
        sent.extend(database.resend_posts(number, now=now, posts=posts, line=fingerprint))
        return changed

    line_file(appliance.config, job).change(edit, version)
    return sent


def drop(appliance: Appliance, number: int) -> Sequence[PostRecord]:
    """Record that the owner does not want the post `number` on the networks that lack it.

    Raises UnknownName if there is no such post.
    """
    _posts_of_slot(appliance, number)
    return PostDatabase(appliance.store).drop_posts(number, _DROP_REASON)


def _posts_of_slot(appliance: Appliance, number: int) -> list[PostRecord]:
    records = [each for job in appliance.config.jobs for each in PostDatabase(appliance.store).resendable_posts(job)]
    first = next((each for each in records if each.id == number), None)
    if first is None:
        raise UnknownName("refused post", str(number), [str(each.id) for each in records])
    return [each for each in reversed(records) if (each.job, each.slot) == (first.job, first.slot)]


def _line_numbers(appliance: Appliance, job: str) -> Mapping[str, tuple[int, str]]:
    """Return number and text of each line of the file of `job`, by fingerprint."""
    if appliance.config.jobs[job].kind != TWEET_KIND:
        return {}
    try:
        content = line_file(appliance.config, job).read().lines()
    except Refused:  # without the file, the posts are listed with the text that was sent
        return {}
    return {line_fingerprint(line): (line.number, text) for line, text in reversed(content)}


def _make_posts(
    appliance: Appliance, records: Sequence[PostRecord], text: str, now: datetime
) -> Mapping[str, Sequence[Post]]:
    """Return the posts of `text` for the networks of `records`, with their old attachments."""
    job, networks = records[0].job, {each.network for each in records}
    options = appliance.config.jobs[job].options
    preview = PostPreview(appliance, job, now)
    limits = {name: each for name, each in preview.limits.items() if name in networks}
    if missing := sorted(networks - limits.keys()):
        raise Refused(f"{job} does not post to {', '.join(missing)} any more; drop this post")
    posts = preview.draft_text(text.strip(), limits)
    if options.attach is None:
        return posts
    report = latest_report(appliance.config, appliance.store, options.report_from, picture=False)
    store = JobPostStore(appliance.store, job, 0, lambda: now)
    attached: dict[str, Sequence[Post]] = {}
    for name, parts in posts.items():  # networks differ: one may get the animation, another the still picture
        old = store.load_post(min((each for each in records if each.network == name), key=lambda each: each.part))
        own = report and replace(report, picture=old.pictures[-1] if old.pictures else None)
        attached |= attach_report({name: parts}, options, own, limits)
    return attached
