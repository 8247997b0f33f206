"""Job kind "tweet": post a line of a text file to one or more networks."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from pathlib import Path
from typing import Annotated

from pi_appliance.config.options import Config, Job
from pi_appliance.config.units import Names, join_clauses, pluralize
from pi_appliance.errors import Issues, Refused, UnknownName
from pi_appliance.posting import lines, store
from pi_appliance.posting.exactly_once import PostingContext, RunPoster
from pi_appliance.posting.lines import LineOrder, PostLine, is_used, line_fingerprint, pick_line
from pi_appliance.posting.model import Post, PostLimits
from pi_appliance.storage.model import Picture, Report, Result

Context = PostingContext
has_pending_work, prune = store.has_pending_work, store.prune
RESUMABLE = True
"""A later run can finish the work of an interrupted one."""

TWEET_KIND = "tweet"
_MAX_THREAD_PARTS = 10  # parts of a thread that is made of a report
_SIGNATURES = {b"\x89PNG\r\n\x1a\n": "image/png", b"\xff\xd8\xff": "image/jpeg", b"GIF8": "image/gif"}


class OverlongPolicy(StrEnum):
    """How to handle a text that is too long for one post."""

    REFUSE = "refuse"
    THREAD = "thread"


class Attach(StrEnum):
    """Part of a report that is attached to a post."""

    PICTURE = "picture"
    ANIMATION = "animation"
    REPORT = "report"


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """The keys of this kind under `with:`."""

    lines: Annotated[Path, "a text file, one post per line; blank lines and comments, # and a space, do not count"]
    network: Annotated[Names, "where to post: a name from `networks:`, or several in [brackets]"]
    order: Annotated[
        LineOrder, "which line: shuffle (none again before all were used), random, or in-order (once through)"
    ] = LineOrder.SHUFFLE
    too_long: Annotated[OverlongPolicy, "a line that is too long for one post: refuse it or post a thread"] = (
        OverlongPolicy.REFUSE
    )
    send_within: Annotated[timedelta, "how long to retry a post that could not be sent"] = timedelta(hours=6)
    text: Annotated[str | None, "post this text in place of a line; `tweets post` sets it for one run"] = None
    attach: Annotated[
        Attach | None, "attach the picture, the animated solution or the text of the latest report of `report-from`"
    ] = None
    report_from: Annotated[str | None, "the job whose latest report is attached and used for {last-report}"] = None

    def check(self) -> Issues:
        """Return the errors: key, problem, remedy."""
        if self.attach is not None and self.report_from is None:
            return [(("attach",), "the job that writes the report is missing", "add report-from: with a job name")]
        return []

    def warnings(self) -> Issues:
        """Return problems that make a run fail now: key, problem, remedy."""
        try:
            has_line = any(not line.error for line in read_lines(self.lines))
        except Refused as error:
            problem, _, remedy = str(error).partition("; ")
            return [(("lines",), problem, remedy)]
        return [] if has_line else [(("lines",), f"{self.lines} has no line to post", "write one post per line")]


def require_tweet_job(config: Config, name: str) -> Job:
    """Return the job `name`.

    Raises:
        UnknownName: There is no such job.
        Refused: It does not post lines.
    """
    if name not in config.jobs:
        raise UnknownName("job", name, tuple(config.jobs))
    job = config.jobs[name]
    if job.kind != TWEET_KIND:
        raise Refused(f"{name} does not post lines of a file: its kind is {job.kind}, not {TWEET_KIND}")
    return job


@dataclass(frozen=True, slots=True)
class Draft:
    """A line, and the posts made of it for each network."""

    line: PostLine
    posts: Mapping[str, Sequence[Post]]


@dataclass(frozen=True, slots=True)
class RejectedLine:
    """A line that cannot be posted."""

    line: PostLine
    reason: str


def run_options(_: Options) -> Sequence[str]:
    """Return the keys that may differ for one run."""
    return ("text",)


def run(options: Options, context: PostingContext) -> Result:
    """Post one line.

    Raises:
        Refused: There is no line to post.
        Unavailable, Uncertain: As the networks do.
    """
    poster = RunPoster(context)
    pending = poster.send_pending()
    if context.resume_only:
        return poster.pending_result(pending)
    rejected: list[RejectedLine] = []
    records = poster.post(lambda: _choose_line(options, context, rejected), send_within=options.send_within)
    note = f"{pluralize(len(rejected), 'line')} cannot be posted, see: pi-appliance tweets check" if rejected else ""
    return poster.result(records, join_clauses(next(each.text for each in records), note))


def _choose_line(
    options: Options, context: PostingContext, rejected: list[RejectedLine]
) -> tuple[Mapping[str, Sequence[Post]], str]:
    """Choose a line; return its posts by network and its fingerprint. Appends to `rejected`."""
    limits = {name: context.limits(name) for name in options.network}
    report = _load_report(options, context, limits.values())
    folder = options.lines.parent
    parsed = read_lines(options.lines) if options.text is None else [lines.parse_line(0, options.text.strip())]
    names = frozenset[str]().union(*map(lines.find_placeholders, parsed))
    summary = report.summary if report else None
    values = placeholder_values(names, context.local_time(), context.hostname, context.temperature, summary)
    drafts = [draft_line(line, folder, limits, values, options.too_long) for line in parsed]
    postable = [each for each in drafts if isinstance(each, Draft)]
    rejected += [each for each in drafts if isinstance(each, RejectedLine)]
    if options.text is not None and rejected:
        raise Refused(f"this text cannot be posted: {rejected[0].reason}")
    if not postable:
        raise Refused(_no_line_message(options.lines, rejected))
    fingerprints = [line_fingerprint(each.line) for each in postable]
    used = context.posts.used_lines(context.job)
    index = pick_line(fingerprints, used, options.order, context.random_for("line")) if options.text is None else 0
    if index is None:
        raise Refused(_all_used_message(options.lines, fingerprints, postable, context))
    posts = postable[index].posts
    if options.attach is not None:
        posts = attach_report(posts, options, report, limits)
    # If a line that is posted again by hand fails, it stays used, and no new round begins.
    is_repeated = options.text is not None and is_used(fingerprints[index], used, options.order)
    return posts, "" if is_repeated else fingerprints[index]


def _load_report(options: Options, context: PostingContext, limits: Collection[PostLimits]) -> Report | None:
    """Return the report to post about, with the pictures that at least one network shows."""
    if not options.report_from:
        return None
    animated = options.attach is Attach.ANIMATION and any(each.plays_animations for each in limits)
    with_picture = options.attach in (Attach.PICTURE, Attach.ANIMATION)
    return context.latest_report(options.report_from, picture=with_picture, animation=animated)


def placeholder_values(
    names: Collection[str], local: datetime, host: str, temperature: Callable[[], float | None], summary: str | None
) -> dict[str, str]:
    """Return the values of the placeholders `names` at the time `local`; some may have no value.

    `summary` is the summary of the latest report.
    """
    values = {"date": f"{local.day} {local:%B %Y}", "time": f"{local:%H:%M}", "hostname": host}
    if "temperature" in names and (degrees := temperature()) is not None:
        values["temperature"] = f"{degrees:.0f} °C"
    if summary is not None:
        values["last-report"] = summary
    return values


def attach_report(
    posts: Mapping[str, Sequence[Post]], options: Options, report: Report | None, limits: Mapping[str, PostLimits]
) -> Mapping[str, Sequence[Post]]:
    """Attach `report` to the posts of each network. Raises Refused."""
    return {name: _attach(each[0], options, report, limits[name], each) for name, each in posts.items()}


def _attach(
    post: Post, options: Options, report: Report | None, limits: PostLimits, parts: Sequence[Post]
) -> Sequence[Post]:
    """Attach `report` to the parts of a thread. `post` is the first of `parts`."""
    source = options.report_from
    if report is None:
        raise Refused(f"{source} has no report yet; run it first: pi-appliance jobs run {source}")
    if options.attach is Attach.REPORT:
        return _attach_text(post, report.text, limits, options.too_long)
    if report.picture is None:
        raise Refused(f"the report of {source} has no picture; write attach: report to post its text")
    attached = Post(post.text, (*post.pictures, report.picture))
    if report.animation and limits.plays_animations:
        moving = Post(post.text, (*post.pictures, report.animation))
        attached = attached if limits.rejection_reason(moving) else moving
    if reason := limits.rejection_reason(attached):
        raise Refused(f"the picture of the report of {source} cannot be attached: {reason}")
    return [attached, *parts[1:]]


def _attach_text(post: Post, text: str, limits: PostLimits, too_long: OverlongPolicy) -> Sequence[Post]:
    """Append as many lines of `text` as fit, or make a thread of all of them."""
    report_lines = text.strip().splitlines()
    full = split_post(Post("\n".join([post.text, "", *report_lines]), post.pictures), limits, too_long)
    if not isinstance(full, str) and len(full) <= _MAX_THREAD_PARTS:
        return full
    for count in range(len(report_lines) - 1, 0, -1):
        shortened = Post("\n".join([post.text, "", *report_lines[:count], "…"]), post.pictures)
        if not limits.rejection_reason(shortened):
            return [shortened]
    return [post]


def _all_used_message(path: Path, fingerprints: Sequence[str], drafts: Sequence[Draft], context: PostingContext) -> str:
    """Return why no line of an ordered file is left, with the lines that a network did not take."""
    missing = sorted(
        {
            (drafts[fingerprints.index(each.line)].line.number, each.network)
            for each in context.posts.resendable_posts(context.job)
            if each.line in fingerprints
        }
    )
    if not missing:
        return f"every line of {path} was posted; add lines, or write order: shuffle"
    named = ", ".join(f"line {number} on {network}" for number, network in missing)
    remedy = "send them again or drop them: pi-appliance tweets refused"
    return f"every line of {path} was used, but these were not posted on every network: {named}; {remedy}"


def _no_line_message(path: Path, rejected: Sequence[RejectedLine]) -> str:
    if not rejected:
        return f"{path} has no line to post; write one post per line"
    first = rejected[0]
    return f"no line of {path} can be posted (line {first.line.number}: {first.reason}); see: pi-appliance tweets check"


def read_lines(path: Path) -> list[PostLine]:
    """Read the text file `path`. Raises Refused if that is not possible."""
    try:
        return lines.parse_lines(lines.decode_text(path.read_bytes()))
    except FileNotFoundError:
        raise Refused(f"{path} does not exist; create it with one post per line") from None
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
        raise Refused(f"{path} cannot be read: {reason}") from None


def draft_line(
    line: PostLine,
    folder: Path,
    limits: Mapping[str, PostLimits],
    values: Mapping[str, str],
    too_long: OverlongPolicy = OverlongPolicy.REFUSE,
) -> Draft | RejectedLine:
    """Make the posts of `line` for each network.

    Args:
        folder: Directory that picture paths are relative to.
    """
    if line.error:
        return RejectedLine(line, line.error)
    try:
        pictures = tuple(load_picture(folder / file, alt) for file, alt in line.pictures)
    except Refused as error:
        return RejectedLine(line, str(error))
    if missing := lines.find_placeholders(line) - values.keys():
        return RejectedLine(line, f"{{{min(missing)}}} has no value here")
    text = lines.fill_placeholders(line.text, values)
    posts = {}
    for name, each in limits.items():
        parts = split_post(Post(text, pictures), each, too_long)
        if isinstance(parts, str):
            return RejectedLine(line, f"{parts} on {name}")
        posts[name] = parts
    return Draft(line, posts)


def split_post(post: Post, limits: PostLimits, too_long: OverlongPolicy) -> Sequence[Post] | str:
    """Return `post` split into parts that fit `limits`, or the reason why that is impossible."""
    reason = limits.rejection_reason(post)
    if not reason:
        return [post]
    if too_long is OverlongPolicy.REFUSE:
        return reason
    if reason := limits.rejection_reason(Post("x", post.pictures)):  # the pictures are the problem, not the text
        return reason
    try:
        texts = lines.split_thread(post.text, lambda text: not limits.rejection_reason(Post(text)))
    except ValueError as error:
        return str(error)
    return [Post(text, post.pictures if number == 0 else ()) for number, text in enumerate(texts)]


def load_picture(path: Path, alt: str) -> Picture:
    """Read the picture `path`. Raises Refused if networks do not accept it."""
    try:
        data = path.read_bytes()
    except OSError as error:
        raise Refused(f"the picture {path} cannot be read: {error.strerror}") from None
    mime = next((mime for start, mime in _SIGNATURES.items() if data.startswith(start)), "")
    if data.startswith(b"RIFF") and data[8:12] == b"WEBP":
        mime = "image/webp"
    if not mime:
        raise Refused(f"{path} is not a picture that networks accept; use PNG, JPEG, GIF or WebP")
    return Picture(data, mime, alt)
