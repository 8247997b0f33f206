"""Job kind 'tweet': post a line of a text file, on one network or several. No slot is ever posted twice."""

from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum
from pathlib import Path
from typing import Annotated

from pi_appliance.core.shuffle_bag import Choose
from pi_appliance.errors import Refused
from pi_appliance.jobs import _drafts
from pi_appliance.jobs._drafts import Long
from pi_appliance.model.run import Result
from pi_appliance.model.units import Names
from pi_appliance.ports import Context


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
    long: Annotated[Long, "what becomes of a line that is too long for one post"] = Long.REFUSE
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
            some = any(not line.wrong for line in _drafts.read(self.lines))
        except Refused as error:
            wrong, _, right = str(error).partition("; ")
            return [(("lines",), wrong, right)]
        return [] if some else [(("lines",), f"{self.lines} holds no line to post", "write one post a line")]


def run(options: Options, context: Context) -> Result:
    """Post one line. Raises Refused: this is a stand-in."""
    raise Refused(f"{context.job} would post a line of {options.lines}")
