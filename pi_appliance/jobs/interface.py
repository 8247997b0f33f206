"""What the parts may ask of each other. Jobs see the world only through Context."""

from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal
from random import Random
from typing import IO, Protocol

from pi_appliance.config.notifications import Event, Message
from pi_appliance.music.model import Source, Station
from pi_appliance.music.player import Player
from pi_appliance.posting.model import Post, PostRecord, Report, Sent, State, UsedLines
from pi_appliance.puzzles.runtime.interface import SearchRuntime


class PostLimits(Protocol):
    """What a network takes and what it charges, known without asking it."""

    @property
    def limit(self) -> int:
        """The longest text it takes, in its own way of counting."""

    @property
    def look_price(self) -> Decimal:
        """What one look at the account's own posts costs, in dollars."""

    @property
    def cap(self) -> Decimal | None:
        """The most that may be spent in a calendar month, in dollars; None: there is no such limit."""

    def weigh(self, text: str) -> int:
        """Return the length of TEXT as this network counts it."""

    def wrong(self, post: Post) -> str:
        """Return why the network would refuse POST, in words and with the count: '281 of 280'; '' if not."""

    def price(self, post: Post) -> Decimal:
        """Return what POST costs, in dollars."""


class Network(Protocol):
    """A social network that takes posts. A file in networks/ has Options, wants, rules, connect and login."""

    @property
    def rules(self) -> PostLimits:
        """What it takes. Where the network itself must be asked for that, raises Unavailable."""

    @property
    def idempotent(self) -> bool:
        """Whether a second post() with the same key is always harmless, however late: nothing is ever there twice."""

    def post(self, post: Post, *, key: str, after: Sequence[Sent] = ()) -> Sent:
        """Post POST once and return what became of it.

        KEY is the same for every try at the same post; what follows " @" in it tells this appliance from others. AFTER
        are the earlier parts of its thread, the first one first. Raises Unavailable (certainly not posted), Uncertain
        (perhaps posted), Refused (answered no; Duplicate: because the account has it already).
        """

    def look(self, post: Post, *, key: str, known: Collection[str], since: str = "") -> Sent | None:
        """Look among the account's own posts for POST, which was perhaps posted with KEY. None: it is not there.

        SINCE is the id of one that was there before POST was ever tried, if one is known: all that is newer is looked
        at, and nothing else. Without it, the newest 20 at least, and back to where none is KNOWN any more.
        KNOWN are the ids of posts that are accounted for: none of them is it, even if its text is the same.
        Raises Unavailable (not to be asked just now), Refused (the account may not be looked at).
        """

    def whoami(self) -> str:
        """Prove the keys without posting, and return whose account it is, in words. Raises as post() does."""


class Prompt(Protocol):
    """The owner, at a terminal."""

    def say(self, text: str) -> None:
        """Show TEXT."""

    def ask(self, question: str, *, secret: bool = False) -> str:
        """Return the answer to QUESTION, without spaces around it. A SECRET one is not shown while it is typed."""


class PostStore(Protocol):
    """The posts of one job, on the disk before anything is sent."""

    installation: str
    """Tells this appliance from others that post to the same account."""

    def intended(self, slot: str) -> list[PostRecord]:
        """Return what was intended for SLOT, by network and part."""

    def left(self) -> list[PostRecord]:
        """Return what is still to be sent or looked up, of any slot, the oldest first."""

    def intend(
        self, slot: str, posts: Mapping[str, Sequence[Post]], *, until: datetime, line: str = ""
    ) -> list[PostRecord]:
        """Write down, durably and at once, the parts of what each network is to get for SLOT. LINE is used by it."""

    def siblings(self, intent: PostRecord) -> list[PostRecord]:
        """Return all parts of the thread that INTENT belongs to, the first one first."""

    def post_of(self, intent: PostRecord) -> Post:
        """Return the post of INTENT, with its pictures."""

    def put(
        self,
        intent: PostRecord,
        state: State,
        why: str = "",
        *,
        sent: Sent | None = None,
        cost: Decimal = Decimal(0),
        after: timedelta = timedelta(0),
    ) -> PostRecord:
        """Let INTENT be in STATE because of WHY, durably, having cost COST more; it is tried again AFTER that time.

        Return it as it is then.
        """

    def charge(self, intent: PostRecord, cost: Decimal) -> None:
        """Note that COST dollars more went for INTENT, which is no farther by it."""

    def known(self, network: str) -> Mapping[str, str]:
        """Return the newest posts that are accounted for on NETWORK, of all jobs: the text of each by its id."""

    def spent(self, network: str) -> Decimal:
        """Return what was spent on NETWORK in this calendar month, by all jobs."""

    def used(self) -> UsedLines:
        """Return which lines were used in this round, and which were used last."""


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
