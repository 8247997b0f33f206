"""Drafts: what each line of a text file becomes on each network, and why some lines cannot be posted."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from pi_appliance.core import lines, threads
from pi_appliance.core.lines import Line
from pi_appliance.errors import Refused
from pi_appliance.model.post import Picture, Post
from pi_appliance.ports import Rules

_BEGINNINGS = {b"\x89PNG\r\n\x1a\n": "image/png", b"\xff\xd8\xff": "image/jpeg", b"GIF8": "image/gif"}


class Long(StrEnum):
    """What becomes of a text that is too long for one post."""

    REFUSE = "refuse"
    THREAD = "thread"


@dataclass(frozen=True, slots=True)
class Draft:
    """One line, as it would stand on each network."""

    line: Line
    posts: Mapping[str, Sequence[Post]]


@dataclass(frozen=True, slots=True)
class Unfit:
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
    line: Line, folder: Path, rules: Mapping[str, Rules], values: Mapping[str, str], long: Long = Long.REFUSE
) -> Draft | Unfit:
    """Return what LINE becomes on each network of RULES; pictures lie in FOLDER, VALUES are for the words in braces."""
    if line.wrong:
        return Unfit(line, line.wrong)
    try:
        pictures = tuple(picture(folder / file, alt) for file, alt in line.pictures)
    except Refused as error:
        return Unfit(line, str(error))
    if missing := lines.words(line) - values.keys():
        return Unfit(line, f"nothing is known for {{{min(missing)}}} here")
    text = lines.fill(line.text, values)
    posts = {}
    for name, each in rules.items():
        made = parts(Post(text, pictures), each, long)
        if isinstance(made, str):
            return Unfit(line, f"{made} on {name}")
        posts[name] = made
    return Draft(line, posts)


def parts(post: Post, rules: Rules, long: Long) -> Sequence[Post] | str:
    """Return POST as the network of RULES takes it, in several parts if it must be; or why it does not take it."""
    wrong = rules.wrong(post)
    if not wrong:
        return [post]
    if long is Long.REFUSE:
        return wrong
    if rules.wrong(Post("x", post.pictures)):  # a post of nothing at all is wrong, too
        return rules.wrong(Post("x", post.pictures))
    try:
        texts = threads.split(post.text, lambda text: not rules.wrong(Post(text)))
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
