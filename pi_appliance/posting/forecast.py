"""Forecast of posts and their cost, and the spending of the month."""

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from decimal import Decimal
from functools import cached_property
from itertools import islice, takewhile
from typing import Annotated, TypedDict

from pi_appliance.config.options import Config
from pi_appliance.errors import ApplianceError, Refused
from pi_appliance.posting import lines
from pi_appliance.posting.exactly_once import post_limits
from pi_appliance.posting.lines import LineOrder, PostLine, line_fingerprint, mark_used, pick_line
from pi_appliance.posting.model import PENDING_STATES, Post, PostLimits, PostState, monthly_cap, post_price
from pi_appliance.posting.store import PostDatabase
from pi_appliance.posting.tweet_job import (
    Draft,
    RejectedLine,
    draft_line,
    placeholder_values,
    read_lines,
    require_tweet_job,
)
from pi_appliance.scheduling import slot_times
from pi_appliance.scheduling.appliance import Appliance, Slot
from pi_appliance.scheduling.chance import uniform_for_label
from pi_appliance.scheduling.missed_slots import SKIPPED_BY_USER
from pi_appliance.system.machine import Sensors

_MONTH = timedelta(days=365) / 12
_YEAR = timedelta(days=365)
_MAX_SLOTS = 2000  # slots that are counted to estimate a month


@dataclass(frozen=True, slots=True)
class UpcomingPost:
    """A future slot and what it will post."""

    slot: Slot
    why_not: str = ""  # why nothing will be posted
    line: PostLine | None = None
    posts: Mapping[str, Sequence[Post]] = field(default_factory=dict)  # key: network; several posts are a thread
    cost: Decimal = Decimal(0)  # US dollars for all networks
    attached: str = ""  # name of the report that is attached; its text is not known yet

    @property
    def starts_at(self) -> datetime:
        """The time of the post, or the time of the slot if there is no post."""
        return self.slot.starts_at if self.line else self.slot.at


@dataclass(frozen=True, slots=True)
class MonthlyForecast:
    """Average number of posts on a network in a month, and their cost."""

    posts: float
    cost: Decimal  # US dollars
    monthly_cap: Decimal | None


class PostPreview:
    """Forecast of one tweet job, slot by slot, assuming that every selected slot posts.

    Lines, used lines and placeholders are read once, now.
    """

    def __init__(self, appliance: Appliance, name: str, now: datetime) -> None:
        self._appliance, self._job, self._now = appliance, require_tweet_job(appliance.config, name), now
        self._options = self._job.options
        self._pause = appliance.store.slots.pauses().get(name)
        self._used = self._used_now = PostDatabase(appliance.store).used_lines(name)

    @cached_property
    def limits(self) -> Mapping[str, PostLimits]:
        """Limits of each network of the job."""
        return {name: post_limits(self._appliance.config, name) for name in self._options.network}

    def slots(self, count: int) -> Iterator[UpcomingPost]:
        """Yield the forecast of the next `count` slots."""
        for slot in islice(self._appliance.slots(self._job.name, self._now), count):
            if self._pause is not None and self._pause.is_active(slot.at):
                yield UpcomingPost(slot, "skipped: paused")
            elif slot.skipped and not slot.used:
                yield UpcomingPost(slot, SKIPPED_BY_USER)
            elif slot.used or not slot.selected:
                yield UpcomingPost(slot, "was used already" if slot.used else "skipped by chance")
            else:
                yield self._forecast_slot(slot)

    def monthly_forecast(self) -> dict[str, MonthlyForecast]:
        """Return the average month of each network."""
        try:
            drafts = self._drafts(self._now)
        except Refused:
            drafts = []
        uses = self._slots_per_month() * float(self._job.chance.fraction if self._job.chance else 1)
        if self._options.order is LineOrder.IN_ORDER:
            drafts = [each for each in drafts if line_fingerprint(each.line) not in self._used_now.by_last_use]
            uses = min(uses, len(drafts))
        uses_per_line = uses / max(1, len(drafts))
        return {
            name: MonthlyForecast(
                uses_per_line * sum(len(each.posts[name]) for each in drafts),
                Decimal(uses_per_line) * sum(_total_price(each.posts[name], limits) for each in drafts),
                monthly_cap(limits),
            )
            for name, limits in self.limits.items()
        }

    def _slots_per_month(self) -> float:
        if self._job.schedule is None:
            return 0.0
        zone, end = self._appliance.config.zone_of(self._job), self._now + _YEAR
        year = takewhile(lambda at: at < end, slot_times.fire_times(self._job.schedule, self._now, zone))
        slots = list(islice(year, _MAX_SLOTS))
        return len(slots) / 12 if len(slots) < _MAX_SLOTS else (_MAX_SLOTS - 1) * (_MONTH / (slots[-1] - slots[0]))

    def _forecast_slot(self, slot: Slot) -> UpcomingPost:
        try:
            drafts = self._drafts(slot.starts_at)
        except Refused as error:
            return UpcomingPost(slot, f"nothing: {error}")
        if not drafts:
            return UpcomingPost(slot, "nothing: no line can be posted; see: pi-appliance tweets check")
        fingerprints = [line_fingerprint(each.line) for each in drafts]
        draw = uniform_for_label(self._appliance.secret, self._job.name, slot_times.format_slot(slot.at), "line")
        index = pick_line(fingerprints, self._used, self._options.order, draw)
        if index is None:
            return UpcomingPost(slot, "nothing: every line was posted")
        self._used = mark_used(self._used, fingerprints[index])
        posts = drafts[index].posts
        cost = sum((_total_price(posts[name], limits) for name, limits in self.limits.items()), Decimal(0))
        attach = self._options.attach
        attached = f"{attach} of {self._options.report_from}" if attach else ""
        return UpcomingPost(slot, line=drafts[index].line, posts=posts, cost=cost, attached=attached)

    def _drafts(self, at: datetime) -> list[Draft]:
        fixed, with_placeholders = self._lines
        values = self._placeholder_values(at)
        filled = [self._draft(line, values) for line in with_placeholders]
        drafts = [*fixed, *(each for each in filled if isinstance(each, Draft))]
        return sorted(drafts, key=lambda each: each.line.number)

    def draft_text(self, text: str, limits: Mapping[str, PostLimits]) -> Mapping[str, Sequence[Post]]:
        """Return the posts of `text` for each network in `limits`. Raises Refused."""
        values = self._placeholder_values(self._now)
        draft = draft_line(
            lines.parse_line(0, text), self._options.lines.parent, limits, values, self._options.too_long
        )
        if isinstance(draft, RejectedLine):
            raise Refused(f"this text cannot be posted: {draft.reason}")
        return draft.posts

    def _placeholder_values(self, at: datetime) -> dict[str, str]:
        source = self._options.report_from
        report = self._appliance.store.last_success(source) if source else None
        local = at.astimezone(self._appliance.config.zone_of(self._job))
        host, summary = os.uname().nodename, report.summary if report else None
        return placeholder_values(lines.PLACEHOLDERS, local, host, Sensors().temperature, summary)

    @cached_property
    def _lines(self) -> tuple[list[Draft], list[PostLine]]:
        """Drafts of the lines without placeholders, which are made once, and the other lines."""
        parsed = read_lines(self._options.lines)
        fixed = [self._draft(line, {}) for line in parsed if not lines.find_placeholders(line)]
        with_placeholders = [line for line in parsed if lines.find_placeholders(line)]
        return [each for each in fixed if isinstance(each, Draft)], with_placeholders

    def _draft(self, line: PostLine, values: Mapping[str, str]) -> Draft | RejectedLine:
        return draft_line(line, self._options.lines.parent, self.limits, values, self._options.too_long)


def _total_price(posts: Sequence[Post], limits: PostLimits) -> Decimal:
    return sum((post_price(limits, post) for post in posts), Decimal(0))


@dataclass(frozen=True, slots=True)
class MonthSpend:
    """Spending on one network in the current calendar month (UTC), in US dollars."""

    network: str
    spent: Decimal
    monthly_cap: Decimal | None
    price: Decimal  # US dollars for a post without a web address
    price_with_link: Decimal  # US dollars for a post with a web address

    @property
    def left(self) -> Decimal | None:
        """The US dollars that may still be spent this month; None without a cap."""
        return None if self.monthly_cap is None else max(Decimal(0), self.monthly_cap - self.spent)

    @property
    def is_full(self) -> bool:
        """Whether the monthly cap is reached."""
        return self.monthly_cap is not None and self.spent >= self.monthly_cap


def month_spends(appliance: Appliance, now: datetime) -> list[MonthSpend]:
    """Return the spending on all configured networks, then on removed ones that have cost."""
    spent, config = PostDatabase(appliance.store).month_spend(now), appliance.config
    names = [*config.networks, *(name for name in spent if name not in config.networks)]
    return [_month_spend(config, name, spent.get(name, Decimal(0))) for name in names]


def paid_months(appliance: Appliance, now: datetime) -> list[MonthSpend]:
    """Return the spending on the networks that have cost something or have a cap."""
    return [each for each in month_spends(appliance, now) if each.spent or each.monthly_cap is not None]


class MonthSpendJson(TypedDict):
    """The spending on a network in this month, in US dollars."""

    network: str
    spent: str
    monthly_cap: str | None
    left: Annotated[str | None, "until the cap"]
    price: Annotated[str, "of a short post"]
    price_with_link: str


def month_json(month: MonthSpend) -> MonthSpendJson:
    """Convert `month` for JSON. Amounts are strings, so that they stay exact."""
    return {
        "network": month.network,
        "spent": str(month.spent),
        "monthly_cap": None if month.monthly_cap is None else str(month.monthly_cap),
        "left": None if month.left is None else str(month.left),
        "price": str(month.price),
        "price_with_link": str(month.price_with_link),
    }


def _month_spend(config: Config, name: str, spent: Decimal) -> MonthSpend:
    try:
        limits = post_limits(config, name)
    except ApplianceError:  # the network was removed, or it has to be asked for its limits; such networks are free
        return MonthSpend(name, spent, None, Decimal(0), Decimal(0))
    prices = (post_price(limits, Post(text)) for text in ("a", "https://example.com"))
    return MonthSpend(name, spent, monthly_cap(limits), *prices)


@dataclass(frozen=True, slots=True)
class PostDigest:
    """Counts of all posts and the spending of the month."""

    uncertain: int
    pending: int
    sent: int
    months: Sequence[MonthSpend]


def post_digest(appliance: Appliance, now: datetime) -> PostDigest | None:
    """Return the digest, or None without networks and posts."""
    counts = PostDatabase(appliance.store).count_by_state()
    if not counts and not appliance.config.networks:
        return None
    pending = sum(counts.get(each, 0) for each in PENDING_STATES)
    uncertain, sent = counts.get(PostState.UNCERTAIN, 0), counts.get(PostState.SENT, 0)
    return PostDigest(uncertain, pending, sent, paid_months(appliance, now))
