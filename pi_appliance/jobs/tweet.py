"""Job kind 'tweet': post a random line of a text file. No slot is ever posted twice."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from pi_appliance.core import posts
from pi_appliance.errors import Refused, Unavailable, Uncertain
from pi_appliance.model.run import Result
from pi_appliance.ports import Context, Network


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """The keys a job of this kind takes under `with:`."""

    lines: Annotated[Path, "a text file, one post a line; blank lines and lines that begin with # do not count"]
    network: Annotated[str, "where to post: a name from `networks:`"]

    def warnings(self) -> list[tuple[tuple[str | int, ...], str, str]]:
        """Return what a run would stumble over as things stand: where, what, and what would be right."""
        try:
            some = any(posts.lines(_text(self.lines)))
        except Refused as error:
            wrong, _, right = str(error).partition("; ")
            return [(("lines",), wrong, right)]
        return [] if some else [(("lines",), f"{self.lines} holds no line to post", "write one post a line")]


def run(options: Options, context: Context) -> Result:
    """Post one line. Raises Refused where there is none to post; what the network raises passes through."""
    network = context.network(options.network)
    fitting, too_long = _read(options.lines, network)
    if not fitting:
        raise Refused(_none_fits(options.lines, too_long))
    number, text = context.random.choice(fitting)
    key = f"{context.job} {context.due or f'run {context.run}'}"
    # Claimed first, posted second: after a power cut in between we stay silent rather than say it twice.
    claim = f"post {options.network} {key}"
    if not context.claim(claim):
        raise Uncertain("an earlier try at this slot was cut off while it posted; look at the account")
    try:
        link = network.post(text, key=key)
    except (Unavailable, Refused):  # certainly not posted
        context.release(claim)
        raise
    left_out = f"; {len(too_long)} lines are too long" if too_long else ""
    summary = f"posted line {number} to {options.network}: {text}{left_out}"
    return Result(summary, facts={"line": number, "link": link, "too-long": len(too_long)})


def _read(path: Path, network: Network) -> tuple[list[tuple[int, str]], list[str]]:
    """Return the posts of the file that NETWORK takes, and for each other one where it is and how long."""
    fitting, too_long = [], []
    for number, post in posts.lines(_text(path)):
        weight = network.weigh(post)
        if weight <= network.limit:
            fitting.append((number, post))
        else:
            too_long.append(f"line {number} has {weight} of {network.limit}")
    return fitting, too_long


def _text(path: Path) -> str:
    try:
        return path.read_text("utf-8")
    except FileNotFoundError:
        raise Refused(f"{path} is not there; write it, one post a line") from None
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
        raise Refused(f"{path} cannot be read: {why}") from None


def _none_fits(path: Path, too_long: list[str]) -> str:
    if too_long:
        return f"every line of {path} is too long ({too_long[0]}); shorten them"
    return f"{path} holds no line to post; write one post a line"
