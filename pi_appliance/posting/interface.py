"""Protocols of posting: what a network, its limits, a login prompt and the store of posts must offer."""

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Protocol

from pi_appliance.posting.model import Post, PostRecord, Sent, State, UsedLines


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
