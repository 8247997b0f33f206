"""Job kind 'tweet': post a line of a text file, on one network or several. No slot is ever posted twice."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from pathlib import Path
from typing import Annotated

from pi_appliance.config.units import Names
from pi_appliance.errors import Refused
from pi_appliance.posting import lines, store
from pi_appliance.posting.context import PostingContext
from pi_appliance.posting.interface import PostLimits
from pi_appliance.posting.lines import Choose, Line, fingerprint, pick
from pi_appliance.posting.model import Post
from pi_appliance.posting.sender import Poster
from pi_appliance.storage.model import Picture, Report, Result

_BEGINNINGS = {b"\x89PNG\r\n\x1a\n": "image/png", b"\xff\xd8\xff": "image/jpeg", b"GIF8": "image/gif"}


class OverlongPolicy(StrEnum):
    """What becomes of a text that is too long for one post."""

    REFUSE = "refuse"
    THREAD = "thread"


@dataclass(frozen=True, slots=True)
class Draft:
    """One line, as it would stand on each network."""

    line: Line
    posts: Mapping[str, Sequence[Post]]


@dataclass(frozen=True, slots=True)
class RejectedLine:
    """One line that cannot be posted, and why."""

    line: Line
    why: str


def read(path: Path) -> list[Line]:
    """Return the lines of the text file PATH. Raises Refused if it cannot be read."""
    try:
        return lines.parse(path.read_text("utf-8"))
    except FileNotFoundError:
        raise Refused(f"{path} is not there; write it, one post a line") from None
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
        raise Refused(f"{path} cannot be read: {why}") from None


def draft(
    line: Line,
    folder: Path,
    rules: Mapping[str, PostLimits],
    values: Mapping[str, str],
    long: OverlongPolicy = OverlongPolicy.REFUSE,
) -> Draft | RejectedLine:
    """Return what LINE becomes on each network of RULES; pictures lie in FOLDER, VALUES are for the words in braces."""
    if line.wrong:
        return RejectedLine(line, line.wrong)
    try:
        pictures = tuple(picture(folder / file, alt) for file, alt in line.pictures)
    except Refused as error:
        return RejectedLine(line, str(error))
    if missing := lines.words(line) - values.keys():
        return RejectedLine(line, f"nothing is known for {{{min(missing)}}} here")
    text = lines.fill(line.text, values)
    posts = {}
    for name, each in rules.items():
        made = split_post(Post(text, pictures), each, long)
        if isinstance(made, str):
            return RejectedLine(line, f"{made} on {name}")
        posts[name] = made
    return Draft(line, posts)


def split_post(post: Post, rules: PostLimits, long: OverlongPolicy) -> Sequence[Post] | str:
    """Return POST as the network of RULES takes it, in several parts if it must be; or why it does not take it."""
    wrong = rules.wrong(post)
    if not wrong:
        return [post]
    if long is OverlongPolicy.REFUSE:
        return wrong
    if rules.wrong(Post("x", post.pictures)):  # a post of nothing at all is wrong, too
        return rules.wrong(Post("x", post.pictures))
    try:
        texts = lines.split(post.text, lambda text: not rules.wrong(Post(text)))
    except ValueError as error:
        return str(error)
    return [Post(text, post.pictures if number == 0 else ()) for number, text in enumerate(texts)]


def picture(path: Path, alt: str) -> Picture:
    """Read the picture PATH. Raises Refused if there is none that networks take."""
    try:
        data = path.read_bytes()
    except OSError as error:
        raise Refused(f"the picture {path} cannot be read: {error.strerror}") from None
    mime = next((mime for begin, mime in _BEGINNINGS.items() if data.startswith(begin)), "")
    if data[:4] == b"RIFF" and data[8:12] == b"WEBP":
        mime = "image/webp"
    if not mime:
        raise Refused(f"{path} is no picture that networks take; they take PNG, JPEG, GIF and WebP")
    return Picture(data, mime, alt)


Context = PostingContext
has_pending_work, prune = store.has_pending_work, store.prune
LEAVES = True
"""A run may leave something for a later one to finish."""

_MOST_PARTS = 10  # of a thread that a report becomes


class Attach(StrEnum):
    """What of a report goes with the post."""

    PICTURE = "picture"
    REPORT = "report"


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """The keys a job of this kind takes under `with:`."""

    lines: Annotated[Path, "a text file, one post a line; blank lines and lines that begin with # do not count"]
    network: Annotated[Names, "where to post: a name from `networks:`, or several in [brackets]"]
    choose: Annotated[
        Choose, "which line: none again before all were used, any, or one after the other once through"
    ] = Choose.SHUFFLE
    long: Annotated[OverlongPolicy, "what becomes of a line that is too long for one post"] = OverlongPolicy.REFUSE
    late: Annotated[timedelta, "for how long a post that could not be sent is still sent"] = timedelta(hours=6)
    attach: Annotated[Attach | None, "what goes with it: the picture or the text of the newest report"] = None
    report_of: Annotated[str | None, "the job whose report is attached, and meant by {last-report}"] = None

    def check(self) -> list[tuple[tuple[str | int, ...], str, str]]:
        """Return what is wrong with a key: where, what, and what would be right."""
        if self.attach is not None and self.report_of is None:
            return [(("attach",), "nobody knows whose report", "add report-of: and the name of a job")]
        return []

    def warnings(self) -> list[tuple[tuple[str | int, ...], str, str]]:
        """Return what a run would stumble over as things stand: where, what, and what would be right."""
        try:
            some = any(not line.wrong for line in read(self.lines))
        except Refused as error:
            wrong, _, right = str(error).partition("; ")
            return [(("lines",), wrong, right)]
        return [] if some else [(("lines",), f"{self.lines} holds no line to post", "write one post a line")]


def run(options: Options, context: PostingContext) -> Result:
    """Post one line. Raises Refused where there is none to post; Unavailable and Uncertain as the networks do."""
    poster = Poster(context)
    left = poster.finish()
    if context.resume_only:
        return poster.told_of_left(left)
    unfit: list[RejectedLine] = []
    ended = poster.post(lambda: _make(options, context, unfit), late=options.late)
    count = "1 line" if len(unfit) == 1 else f"{len(unfit)} lines"
    left_out = f"; {count} cannot be posted, see: pi-appliance tweets check" if unfit else ""
    return poster.told(ended, next(each.text for each in ended) + left_out)


def _make(
    options: Options, context: PostingContext, unfit: list[RejectedLine]
) -> tuple[Mapping[str, Sequence[Post]], str]:
    """Choose a line and return what it becomes on each network, and what the line is called in the ledger.

    Those that cannot be posted are put into UNFIT.
    """
    picture = options.attach is Attach.PICTURE
    report = context.latest_report(options.report_of, picture=picture) if options.report_of else None
    rules = {name: context.limits(name) for name in options.network}
    folder, made, values = options.lines.parent, read(options.lines), _values(context, report)
    drafts = [draft(line, folder, rules, values, options.long) for line in made]
    fitting = [each for each in drafts if isinstance(each, Draft)]
    unfit += [each for each in drafts if isinstance(each, RejectedLine)]
    if not fitting:
        raise Refused(_none_fits(options.lines, unfit))
    prints = [fingerprint(each.line) for each in fitting]
    chosen = pick(prints, context.posts.used(), options.choose, context.random_for("line"))
    if chosen is None:
        raise Refused(f"every line of {options.lines} was posted; add some, or write choose: shuffle")
    posts = fitting[chosen].posts
    if options.attach is not None:
        posts = {name: _attached(each[0], options, report, rules[name], each) for name, each in posts.items()}
    return posts, prints[chosen]


def _values(context: PostingContext, report: Report | None) -> dict[str, str]:
    """Return what the words in braces stand for now; not those that nothing is known of."""
    now, warm = context.local_time(), context.temperature()
    values = {"date": _date(now), "time": f"{now:%H:%M}", "hostname": context.hostname}
    if warm is not None:
        values["temperature"] = f"{warm:.0f} °C"
    if report is not None:
        values["last-report"] = report.summary
    return values


def _date(now: datetime) -> str:
    return f"{now.day} {now:%B %Y}"


def _attached(
    post: Post, options: Options, report: Report | None, rules: PostLimits, parts: Sequence[Post]
) -> Sequence[Post]:
    """Return PARTS, which begin with POST, with what is to be attached of REPORT."""
    if report is None:
        raise Refused(f"{options.report_of} has no report yet; run it first: pi-appliance jobs run {options.report_of}")
    if options.attach is Attach.PICTURE:
        if report.picture is None:
            raise Refused(f"the report of {options.report_of} has no picture; write attach: report to have its text")
        made = Post(post.text, (*post.pictures, report.picture))
        if wrong := rules.wrong(made):
            raise Refused(f"the picture of the report of {options.report_of} does not go with it: {wrong}")
        return [made, *parts[1:]]
    return _with_text(post, report.text, rules, options.long)


def _with_text(post: Post, text: str, rules: PostLimits, long: OverlongPolicy) -> Sequence[Post]:
    """Return POST with as many lines of TEXT below it as fit, or a thread of them."""
    lines = text.strip().splitlines()
    whole = split_post(Post("\n".join([post.text, "", *lines]), post.pictures), rules, long)
    if not isinstance(whole, str) and len(whole) <= _MOST_PARTS:
        return whole
    for count in range(len(lines) - 1, 0, -1):
        cut = Post("\n".join([post.text, "", *lines[:count], "…"]), post.pictures)
        if not rules.wrong(cut):
            return [cut]
    return [post]


def _none_fits(path: Path, unfit: Sequence[RejectedLine]) -> str:
    if unfit:
        first = unfit[0]
        return (
            f"no line of {path} can be posted (line {first.line.number}: {first.why}); see: pi-appliance tweets check"
        )
    return f"{path} holds no line to post; write one post a line"
