"""What the parts may ask of each other. Jobs see the world only through Context."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from datetime import datetime
from random import Random
from typing import IO, Protocol

from pi_appliance.config.notifications import Event, Message
from pi_appliance.music.model import Source, Station
from pi_appliance.music.player import Player
from pi_appliance.posting.interface import Network, PostLimits, PostStore
from pi_appliance.puzzles.runtime.interface import SearchRuntime
from pi_appliance.storage.model import Report


@dataclass(frozen=True, slots=True)
class Timestamp:
    """A moment by the wall clock, and by the steady one: seconds since the start of the machine that BOOT names."""

    wall: datetime
    steady: float
    boot: str

    def seconds_since(self, earlier: "Timestamp") -> float:
        """Return how much later this is: by the steady clock, or after another start of the machine by the wall's."""
        if self.boot == earlier.boot:
            return self.steady - earlier.steady
        return max(0.0, (self.wall - earlier.wall).total_seconds())


PREEMPT = "make room"
"""What a run hears by `Context.asked` where an alarm is about to ring in place of what it does."""


class ReportSet(Protocol):
    """The reports of one run, which appear together."""

    def file(self, name: str) -> AbstractContextManager[IO[str]]:
        """Give a file to write, UTF-8, which becomes report NAME. Raises Unavailable when it cannot be written."""


class Context(Protocol):
    """All that a run may use. Paths are absolute, instants are aware."""

    job: str
    run: int
    due: str | None
    now: datetime
    random: Random
    slot: str
    """The slot as text, or `run 12` for a run by hand: the same for every attempt."""
    only_left: bool
    """Whether the run is only to finish what earlier ones have left."""
    by_hand: bool
    """Whether a person started it, who would rather not wait."""
    posts: PostStore
    hostname: str

    def clock(self) -> datetime:
        """Return what time it is now; `now` stays the instant the run began."""

    def local_time(self) -> datetime:
        """Return what time it is now, in the job's time zone."""

    def rules(self, name: str) -> PostLimits:
        """Return what the network called NAME takes, without asking it. Raises UnknownName."""

    def network(self, name: str) -> Network:
        """Return the network called NAME in the YAML, connected. Raises UnknownName."""

    def report(self, name: str) -> AbstractContextManager[IO[str]]:
        """Give a file to write, UTF-8; it becomes report NAME of this job only when the block ends well.

        Until then the report of the last time stays as it was. Raises Unavailable when it cannot be written.
        """

    def edition(self, keep: int) -> AbstractContextManager[ReportSet]:
        """Give what takes all reports of this run; they appear together, only when the block ends well.

        They lie in a dated folder, of which the newest KEEP stay, and are the newest reports of this job. Raises
        Unavailable when they cannot be written.
        """

    def draw(self, label: str) -> float:
        """Return a number from 0 to just under 1, evenly: the same each time for this job, slot and LABEL."""

    def recall(self) -> str | None:
        """Return what this job remembered last, at any run."""

    def remember(self, text: str) -> None:
        """Keep TEXT for the next run, durably, in place of what was remembered before. Raises Unavailable."""

    def temperature(self) -> float | None:
        """Return the degrees Celsius of the processor; None where no sensor tells."""

    def last_report(self, job: str, *, picture: bool = False) -> Report | None:
        """Return the newest report of JOB, with its PICTURE if that is wanted; None if it has none yet.

        Raises UnknownName; Refused where what draws pictures is not installed.
        """

    def progress(self, done: float | None, note: str = "") -> None:
        """Say how far the run is, from 0 to 1, and what it is doing. Cheap; call it as often as you like."""

    def work(
        self, progress: Callable[[float | None, str], None] | None = None
    ) -> AbstractContextManager[SearchRuntime]:
        """Give what a long search may use, until the block ends; a request to end the run interrupts it meanwhile.

        What it tells of its progress goes to PROGRESS, or to this context's own.
        """

    def player(self) -> Player:
        """Return the player of the configuration, within the volume policy; the caller closes it.

        Raises Unavailable where none is configured.
        """

    def stations(self) -> Sequence[Station]:
        """Return the web radio stations, the owner's own ones first. Raises ConfigError for a wrong file."""

    def tuned(self, source: Source) -> Source:
        """Return SOURCE with the address of the stream itself, where a list of addresses answers at its own."""

    def loudest(self) -> int:
        """Return how loud the music may be just now, 0 to 100."""

    def moment(self) -> Timestamp:
        """Return this moment by all the clocks there are."""

    async def rest(self, seconds: float) -> None:
        """Let SECONDS pass, by the steady clock."""

    def hold(self, text: str | None) -> None:
        """Keep TEXT durably as what this job is in the middle of; None: it is through.

        As long as something is held and no run of the job goes on, the daemon starts one that is to finish it
        (`only_left`). Raises Unavailable.
        """

    def held(self) -> str | None:
        """Return what this job is in the middle of, from whichever run; None if nothing."""

    def others(self) -> Mapping[str, str]:
        """Return what other jobs are in the middle of, by their names, as they hold it. Cheap."""

    def asked(self) -> str:
        """Return what a person asks of the run that goes on, such as "snooze", once; '' if nothing. Cheap."""


class Notifier(Protocol):
    """A way to tell the owner something."""

    def send(self, message: Message, event: Event) -> None:
        """Send MESSAGE; EVENT is what it tells of. Raises Unavailable or Refused, in words that hold no address."""


class Clock(Protocol):
    """What time it is, and whether to believe it."""

    def now(self) -> datetime:
        """Return the wall clock's instant, aware, in UTC."""

    def steady(self) -> float:
        """Return seconds since the machine started, sleep included; never put forward or back."""

    def synchronised(self) -> bool:
        """Say whether somebody who knows has set the wall clock since the machine started."""
