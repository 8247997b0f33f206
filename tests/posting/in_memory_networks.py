"""Networks in memory that accept, lose, refuse and forget posts, over a real store."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Self

from pi_appliance.errors import Duplicate, Refused, Unavailable, Uncertain
from pi_appliance.posting.exactly_once import PostSender
from pi_appliance.posting.model import Post, PostRecord, SentPost
from pi_appliance.posting.store import JobPostStore, PostDatabase
from pi_appliance.storage.history import Store

BEGIN = datetime(2027, 3, 1, 6, 0, tzinfo=UTC)


class PowerCut(BaseException):
    """The process is killed between two steps."""


@dataclass
class Steps:
    """Count the steps of a process, and cut the power at step `remaining`."""

    remaining: int = 10**9

    def count_step(self) -> None:
        self.remaining -= 1
        if self.remaining < 0:
            raise PowerCut


@dataclass(frozen=True, slots=True)
class PaidLimits:
    """Limits of a network that charges."""

    max_length: int = 280
    lookup_price: Decimal = Decimal("0.001")
    monthly_cap: Decimal | None = None
    price_per_post: Decimal = Decimal("0.015")
    plays_animations: bool = True

    @property
    def prices(self) -> Self:
        return self

    def text_length(self, text: str) -> int:
        return len(text)

    def rejection_reason(self, post: Post) -> str:
        return "" if len(post.text) <= self.max_length else f"{len(post.text)} of {self.max_length}"

    def post_price(self, post: Post) -> Decimal:  # noqa: ARG002 - the shape of Rules
        return self.price_per_post


@dataclass
class InMemoryNetwork:
    """A network. Each post uses up one of `faults`, each lookup one of `failed_lookups`."""

    steps: Steps
    idempotent: bool = False
    refuses_twice: bool = True  # the same text, as X does
    lookup_allowed: bool = True
    search_lag: timedelta = timedelta(0)
    clock: Callable[[], datetime] = lambda: BEGIN
    stored_at: dict[str, datetime] = field(default_factory=dict)
    limits: PaidLimits = field(default_factory=PaidLimits)
    stored: list[tuple[str, str]] = field(default_factory=list)  # id, text
    by_key: dict[str, str] = field(default_factory=dict)
    faults: list[str] = field(default_factory=list)
    failed_lookups: list[bool] = field(default_factory=list)
    posted: list[tuple[str, tuple[str, ...]]] = field(default_factory=list)  # text, ids of the parts before

    def post(self, post: Post, *, key: str, thread: Sequence[SentPost] = ()) -> SentPost:
        self.steps.count_step()
        fault = self.faults.pop(0) if self.faults else ""
        match fault:
            case "away":
                raise Unavailable("cannot be reached", after=90)
            case "no":
                raise Refused("you may not")
            case "fault":
                raise KeyError("a mistake of ours")
            case "duplicate":
                raise Duplicate("posted before")
            case "lost before":
                raise Uncertain("it broke")
        if self.idempotent and key in self.by_key:
            return SentPost(self.by_key[key], "link")
        if self.refuses_twice and any(text == post.text for _, text in self.stored):
            raise Duplicate("posted before")
        number = f"id{len(self.stored)}"
        self.stored.append((number, post.text))
        self.by_key[key] = number
        self.stored_at[number] = self.clock()
        self.posted.append((post.text, tuple(each.id for each in thread)))
        self.steps.count_step()
        if fault == "lost after":
            raise Uncertain("it broke")
        return SentPost(number, "link")

    def find_post(self, post: Post, *, key: str, known_ids: Collection[str], since_id: str = "") -> SentPost | None:  # noqa: ARG002 - of a Network
        self.steps.count_step()
        if not self.lookup_allowed:
            raise Refused("looking is not allowed")
        if self.failed_lookups.pop(0) if self.failed_lookups else False:
            raise Unavailable("not just now")
        newest = [each for each in self.stored if since_id and int(each[0][2:]) > int(since_id[2:])]
        pages = [self.stored[max(0, end - 20) : end] for end in range(len(self.stored), 0, -20)] if not since_id else []
        for page in pages:
            newest += page
            if not any(number in known_ids for number, _ in page):
                break
        result = [
            number
            for number, text in newest
            if text == post.text
            and number not in known_ids
            and self.stored_at.get(number, BEGIN) + self.search_lag <= self.clock()
        ]
        return SentPost(result[0], "link") if result else None

    def whoami(self) -> str:
        return "somebody"


class PostingEnvironment:
    """The store of one job in a file, with a settable clock. `store()` acts for a new process."""

    def __init__(self, path: Path) -> None:
        self.now, self.steps, self.run = BEGIN, Steps(), 0
        self.database = Store(path)
        self.networks: dict[str, InMemoryNetwork] = {}

    def store(self):
        self.run += 1
        posting = self

        class CountedPostStore(JobPostStore):
            def update_state(self, *words, **more):  # type: ignore[no-untyped-def]
                posting.steps.count_step()
                done = super().update_state(*words, **more)
                posting.steps.count_step()
                return done

        return CountedPostStore(self.database, "bird", self.run, lambda: posting.now, "here")

    def create_posts(self, slot: str, texts: Mapping[str, Sequence[str]], late: timedelta = timedelta(hours=6)) -> None:
        posts = {name: [Post(text) for text in parts] for name, parts in texts.items()}
        self.store().create_posts(slot, posts, expires_at=self.now + late, line=slot)

    def send(self, power: int = 10**9) -> list[PostRecord]:
        """Send the pending posts in a new process, which is cut off after `power` steps."""
        self.steps.remaining = power
        store = self.store()
        try:
            return PostSender(store, self.connect, lambda: self.now).send(store.pending_posts())
        except PowerCut:
            return []
        finally:
            self.steps.remaining = 10**9

    def connect(self, name: str) -> InMemoryNetwork:
        if name not in self.networks:
            raise Refused("its keys are missing")
        return self.networks[name]

    def all_posts(self) -> list[PostRecord]:
        return PostDatabase(self.database).newest_posts(limit=1000)
