"""Protocols of posting: networks, their limits, the login prompt, and the store of posts."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal
from enum import StrEnum
from typing import Annotated, Protocol, TypedDict

from pi_appliance.json_schema import Instant
from pi_appliance.storage.model import Picture, iso_time


@dataclass(frozen=True, slots=True)
class Post:
    """One message on one network."""

    text: str
    pictures: tuple[Picture, ...] = ()


@dataclass(frozen=True, slots=True)
class SentPost:
    """A post that was sent, as its network identifies it."""

    id: str  # opaque: only the network's own module reads it
    link: str  # web address of the post; empty if the network did not give one


class PostState(StrEnum):
    """Progress of a post."""

    WAITING = "waiting"  # not on the network; sent as soon as possible
    SENDING = "sending"  # a try has started and its result is not known
    SENT = "sent"
    UNCERTAIN = "uncertain"  # may be on the network; the owner has to check
    REFUSED = "refused"  # the network rejected the text
    BLOCKED = "blocked"  # the account cannot post: its keys, its credit, or the monthly cap
    ABANDONED = "abandoned"  # not on the network, and its time is over
    DROPPED = "dropped"  # not on the network, and the owner does not want it there


NOT_FOUND = "no answer came, and a search did not find it yet"
"""Reason of a post that is searched once more after the lag of its network."""

RESENT = "the owner sends it again; it is searched first"
"""Reason of a post that was tried more than once, failed, and is sent again."""

MAX_RETRY_DELAY = timedelta(hours=1)
"""The longest delay between two attempts to send a post, unless its network asks for more."""

PENDING_STATES = frozenset({PostState.WAITING, PostState.SENDING})
"""States in which the appliance still has work to do."""

RESENDABLE_STATES = frozenset({PostState.REFUSED, PostState.BLOCKED, PostState.ABANDONED})
"""States of a post that is not on the network and that the owner can send again."""

FAILED_STATES = RESENDABLE_STATES | {PostState.DROPPED}
"""Final states of a post that is not on the network."""

OWNER_DECISIONS = {
    "there": (PostState.SENT, "you saw it there"),
    "post": (PostState.WAITING, "you saw that it is not there"),
    "drop": (PostState.DROPPED, "you saw that it is not there, and do not want it"),
}
"""Answers of the owner about an uncertain post: the resulting state and the recorded reason."""


@dataclass(frozen=True, slots=True)
class UsedLines:
    """The lines that a job has used, by their fingerprints."""

    current_round: frozenset[str] = frozenset()
    by_last_use: tuple[str, ...] = ()  # every line ever used, once each, newest last


@dataclass(frozen=True, slots=True, kw_only=True)
class PostRecord:
    """One row of the table `posts`, written before the post is sent."""

    id: int
    job: str
    slot: str  # scheduled time, or "run 12" for a manual run
    network: str
    part: int = 0  # index of the part in a thread
    parts: int = 1
    line: str = ""  # fingerprint of the line in the text file
    text: str
    state: PostState = PostState.WAITING
    reason: str = ""  # why the post is in this state
    created_at: datetime
    expires_at: datetime  # the post is not sent after this time
    next_attempt_at: datetime
    attempts: int = 0
    remote: SentPost | None = None
    sent_at: datetime | None = None
    cost: Decimal = Decimal(0)  # US dollars charged, certainly or possibly
    run: int
    since_id: str = ""  # id of an older post on the network, at which a search for this one begins


class PostJson(TypedDict):
    """A post on one network."""

    id: int
    job: str
    slot: Annotated[str, 'the scheduled time, or "run 12" for a manual run']
    network: str
    part: Annotated[int, "of a thread, from 1"]
    parts: int
    text: str
    state: PostState
    reason: Annotated[str | None, "why it is in this state"]
    created_at: Instant
    expires_at: Annotated[Instant, "it is not sent later"]
    next_attempt_at: Instant | None
    attempts: int
    link: Annotated[str | None, "its web address"]
    sent_at: Instant | None
    cost: Annotated[str, "US dollars"]
    run: int


def record_json(record: PostRecord) -> PostJson:
    """Convert `record` for JSON. Amounts are strings, so that they stay exact."""
    is_pending = record.state in PENDING_STATES
    return {
        "id": record.id,
        "job": record.job,
        "slot": record.slot,
        "network": record.network,
        "part": record.part + 1,
        "parts": record.parts,
        "text": record.text,
        "state": record.state,
        "reason": record.reason or None,
        "created_at": iso_time(record.created_at),
        "expires_at": iso_time(record.expires_at),
        "next_attempt_at": iso_time(record.next_attempt_at) if is_pending else None,
        "attempts": record.attempts,
        "link": (record.remote.link or None) if record.remote else None,
        "sent_at": iso_time(record.sent_at),
        "cost": str(record.cost),
        "run": record.run,
    }


class PostLimits(Protocol):
    """Limits and prices of a network, known without a request to it."""

    @property
    def max_length(self) -> int:
        """Maximum length of a text, in the units of `text_length`."""

    @property
    def prices(self) -> "Prices | None":
        """The prices of the network, or None if it costs nothing."""

    @property
    def plays_animations(self) -> bool:
        """Whether the network shows a GIF in motion."""

    def text_length(self, text: str) -> int:
        """Return the length of `text` as the network counts it."""

    def rejection_reason(self, post: Post) -> str:
        """Return why the network would reject `post`, such as "281 of 280", or ''."""


class Prices(Protocol):
    """The prices of a network, in US dollars."""

    @property
    def lookup_price(self) -> Decimal:
        """Price of one search among the account's posts."""

    @property
    def monthly_cap(self) -> Decimal | None:
        """Maximum to spend in a calendar month."""

    def post_price(self, post: Post) -> Decimal:
        """Return the price of `post`."""


def post_price(limits: PostLimits, post: Post) -> Decimal:
    """Return the price of `post` in US dollars."""
    return limits.prices.post_price(post) if limits.prices else Decimal(0)


def monthly_cap(limits: PostLimits) -> Decimal | None:
    """Return the maximum to spend in a calendar month in US dollars, or None without one."""
    return limits.prices.monthly_cap if limits.prices else None


class Network(Protocol):
    """A social network account.

    A module in `posting/networks/` offers `Options`, `required_secrets`, `post_limits`, `connect`
    and, if it needs secrets, `login`.
    """

    @property
    def limits(self) -> PostLimits:
        """Limits of the network. Raises Unavailable if it has to be asked and does not answer."""

    @property
    def idempotent(self) -> bool:
        """Whether sending a post again with the same key never creates a second post."""

    @property
    def search_lag(self) -> timedelta:
        """How late a search may show a new post.

        Zero: a post that a search does not find is not there.
        """

    def post(self, post: Post, *, key: str, thread: Sequence[SentPost] = ()) -> SentPost:
        """Send `post` once.

        Args:
            key: The same for every attempt at one post. The part after " @" identifies this
                appliance.
            thread: The earlier parts of the thread, first part first.

        Raises:
            Unavailable: The post was certainly not sent.
            Uncertain: The post may have been sent.
            Refused: The network rejected it.
            Duplicate: The network rejected it because the account has the post already.
        """

    def find_post(self, post: Post, *, key: str, known_ids: Collection[str], since_id: str = "") -> SentPost | None:
        """Search the account for `post`, which may have been sent with `key`.

        Args:
            known_ids: Ids of posts that are accounted for, and therefore not the one searched.
            since_id: Id of a post that is older than `post`. Only newer posts are searched. Without
                it, the search covers the newest 20 posts, and goes back to the first known one.

        Raises:
            Unavailable: The network cannot be asked now.
            Refused: The account may not be read.
        """

    def whoami(self) -> str:
        """Check the secrets and return the name of the account. Raises as `post` does."""


class Prompt(Protocol):
    """Asks the owner who logs in, at a terminal or on the page."""

    def show(self, text: str) -> None:
        """Show `text`."""

    def ask(self, question: str, *, secret: bool = False) -> str:
        """Return the answer to `question`, stripped. A `secret` answer is not echoed."""
