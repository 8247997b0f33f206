"""What the parts may ask of each other. Jobs see the world only through Context."""

from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from contextlib import AbstractContextManager
from datetime import datetime, timedelta
from decimal import Decimal
from random import Random
from typing import IO, Protocol

from pi_appliance.model.music import PlayerState, Queue, Track
from pi_appliance.model.notice import Event, Message
from pi_appliance.model.post import Intent, Post, Report, Sent, State, Used


class Rules(Protocol):
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
    def rules(self) -> Rules:
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


class Talk(Protocol):
    """The owner, at a terminal."""

    def say(self, text: str) -> None:
        """Show TEXT."""

    def ask(self, question: str, *, secret: bool = False) -> str:
        """Return the answer to QUESTION, without spaces around it. A SECRET one is not shown while it is typed."""


class Ledger(Protocol):
    """The posts of one job, on the disk before anything is sent."""

    installation: str
    """Tells this appliance from others that post to the same account."""

    def intended(self, slot: str) -> list[Intent]:
        """Return what was intended for SLOT, by network and part."""

    def left(self) -> list[Intent]:
        """Return what is still to be sent or looked up, of any slot, the oldest first."""

    def intend(
        self, slot: str, posts: Mapping[str, Sequence[Post]], *, until: datetime, line: str = ""
    ) -> list[Intent]:
        """Write down, durably and at once, the parts of what each network is to get for SLOT. LINE is used by it."""

    def siblings(self, intent: Intent) -> list[Intent]:
        """Return all parts of the thread that INTENT belongs to, the first one first."""

    def post_of(self, intent: Intent) -> Post:
        """Return the post of INTENT, with its pictures."""

    def put(
        self,
        intent: Intent,
        state: State,
        why: str = "",
        *,
        sent: Sent | None = None,
        cost: Decimal = Decimal(0),
        after: timedelta = timedelta(0),
    ) -> Intent:
        """Let INTENT be in STATE because of WHY, durably, having cost COST more; it is tried again AFTER that time.

        Return it as it is then.
        """

    def charge(self, intent: Intent, cost: Decimal) -> None:
        """Note that COST dollars more went for INTENT, which is no farther by it."""

    def known(self, network: str) -> Mapping[str, str]:
        """Return the newest posts that are accounted for on NETWORK, of all jobs: the text of each by its id."""

    def spent(self, network: str) -> Decimal:
        """Return what was spent on NETWORK in this calendar month, by all jobs."""

    def used(self) -> Used:
        """Return which lines were used in this round, and which were used last."""


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
    posts: Ledger
    hostname: str

    def clock(self) -> datetime:
        """Return what time it is now; `now` stays the instant the run began."""

    def local_time(self) -> datetime:
        """Return what time it is now, in the job's time zone."""

    def rules(self, name: str) -> Rules:
        """Return what the network called NAME takes, without asking it. Raises UnknownName."""

    def network(self, name: str) -> Network:
        """Return the network called NAME in the YAML, connected. Raises UnknownName."""

    def report(self, name: str) -> AbstractContextManager[IO[str]]:
        """Give a file to write, UTF-8; it becomes report NAME of this job only when the block ends well.

        Until then the report of the last time stays as it was. Raises Unavailable when it cannot be written.
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


class Notice(Protocol):
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


class Player(Protocol):
    """A program that makes sound. Every call raises Unavailable within a second or so if it does not answer."""

    async def state(self) -> PlayerState:
        """Return what it is doing now."""

    async def queue(self, start: int = 0, count: int = 100) -> Queue:
        """Return COUNT tracks of the queue from position START (both from 0)."""

    async def play(self, position: int | None = None) -> None:
        """Play the track at POSITION, or go on. Raises Refused if there is nothing there."""

    async def pause(self) -> None:
        """Pause; nothing happens unless it plays."""

    async def toggle(self) -> None:
        """Pause if it plays, else play."""

    async def stop(self) -> None:
        """Stop."""

    async def next(self) -> None:
        """Go to the next track."""

    async def previous(self) -> None:
        """Go to the previous track."""

    async def seek(self, seconds: float) -> None:
        """Go to SECONDS from the start of the current track."""

    async def set_volume(self, volume: int) -> None:
        """Set the volume, 0 to 100. Raises Refused where the player has no mixer."""

    async def add(self, uri: str) -> Track:
        """Put a file, a folder or a stream at the end of the queue. Raises Refused if it is not known."""

    async def clear(self) -> None:
        """Empty the queue."""

    async def play_uri(self, uri: str, title: str = "") -> None:
        """Replace the queue by URI and play it."""

    async def library(self, folder: str = "") -> Sequence[Track]:
        """Return the tracks and folders in FOLDER of the library; a folder has a uri that ends in '/'."""

    def changes(self) -> AsyncIterator[frozenset[str]]:
        """Yield the names of what changed, as MPD calls them (player, mixer, playlist, options, …).

        The first item comes at once. Raises Unavailable when the player is lost.
        """

    async def close(self) -> None:
        """Let go of the connection."""
