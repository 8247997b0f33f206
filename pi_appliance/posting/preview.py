"""Foretells what the slots to come will post: which line, on which networks, for how much."""

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from decimal import Decimal
from functools import cached_property
from itertools import islice, takewhile
from typing import Any

from pi_appliance import plugins
from pi_appliance.config.model import Config
from pi_appliance.errors import ApplianceError, Refused
from pi_appliance.posting import lines
from pi_appliance.posting.interface import PostLimits
from pi_appliance.posting.lines import Choose, Line, fingerprint, pick, use
from pi_appliance.posting.lint import KIND, rules
from pi_appliance.posting.model import Post
from pi_appliance.posting.store import Posts
from pi_appliance.posting.tweet_job import Draft, RejectedLine, draft, read
from pi_appliance.scheduling import cron, due
from pi_appliance.scheduling.appliance import Appliance, Slot
from pi_appliance.scheduling.due import BY_A_PERSON
from pi_appliance.system.sensors import Sensors

_MONTH = timedelta(days=365) / 12
_YEAR = timedelta(days=365)
_COUNTED = 2000  # slots: enough to know how many there are in a year


@dataclass(frozen=True, slots=True)
class UpcomingPost:
    """A slot to come and what it will post; `why_not` says why nothing."""

    slot: Slot
    why_not: str = ""
    line: Line | None = None
    posts: Mapping[str, Sequence[Post]] = field(default_factory=dict)  # by network; several are a thread
    cost: Decimal = Decimal(0)  # dollars, of all of them
    attached: str = ""  # what of a report goes with it; what that says is not known yet


@dataclass(frozen=True, slots=True)
class Expected:
    """What a network will get in a month, on the average."""

    posts: float
    cost: Decimal  # dollars
    cap: Decimal | None


class PostPreview:
    """What one job will post, slot by slot, as if each slot had been used before the next one comes.

    Lines, what was used and what the words in braces stand for are taken as they are now.
    """

    def __init__(self, appliance: Appliance, name: str, now: datetime) -> None:
        self._appliance, self._job, self._now = appliance, appliance.job(name), now
        if self._job.kind != KIND:
            raise Refused(f"{name} posts no lines of a file: it is of kind {self._job.kind}, not {KIND}")
        self._options = self._job.options
        self._pause = appliance.store.slots.pauses().get(name)
        self._used = self._used_now = Posts(appliance.store).used(name)

    @cached_property
    def rules(self) -> Mapping[str, PostLimits]:
        """What each of the job's networks takes."""
        return rules(self._appliance.config, self._options.network)

    def slots(self, count: int) -> Iterator[UpcomingPost]:
        """Yield what becomes of the next COUNT slots."""
        for slot in islice(self._appliance.slots(self._job.name, self._now), count):
            if self._pause is not None and self._pause.is_active(slot.at):
                yield UpcomingPost(slot, "skipped: paused")
            elif slot.skipped and not slot.used:
                yield UpcomingPost(slot, BY_A_PERSON)
            elif slot.used or not slot.selected:
                yield UpcomingPost(slot, "was used already" if slot.used else "skipped by chance")
            else:
                yield self._posting(slot)

    def expected(self) -> dict[str, Expected]:
        """Return what each network will get in a month, on the average."""
        try:
            drafts = self._drafts(self._now)
        except Refused:
            drafts = []
        times = self._slots_a_month() * float(self._job.chance.fraction if self._job.chance else 1)
        if self._options.choose is Choose.IN_ORDER:
            drafts = [each for each in drafts if fingerprint(each.line) not in self._used_now.last]
            times = min(times, len(drafts))
        each_time = times / max(1, len(drafts))
        return {
            name: Expected(
                each_time * sum(len(each.posts[name]) for each in drafts),
                Decimal(each_time) * sum(_price(each.posts[name], rules) for each in drafts),
                rules.cap,
            )
            for name, rules in self.rules.items()
        }

    def _slots_a_month(self) -> float:
        if self._job.schedule is None:
            return 0.0
        zone, end = self._appliance.config.zone_of(self._job), self._now + _YEAR
        coming = takewhile(lambda at: at < end, cron.fire_times(self._job.schedule, self._now, zone))
        some = list(islice(coming, _COUNTED))
        return len(some) / 12 if len(some) < _COUNTED else (_COUNTED - 1) * (_MONTH / (some[-1] - some[0]))

    def _posting(self, slot: Slot) -> UpcomingPost:
        try:
            drafts = self._drafts(slot.starts_at)
        except Refused as error:
            return UpcomingPost(slot, f"nothing: {error}")
        if not drafts:
            return UpcomingPost(slot, "nothing: no line can be posted; see: pi-appliance tweets check")
        prints = [fingerprint(each.line) for each in drafts]
        drawn = due.uniform_for_label(self._appliance.secret, self._job.name, cron.slot_key(slot.at), "line")
        chosen = pick(prints, self._used, self._options.choose, drawn)
        if chosen is None:
            return UpcomingPost(slot, "nothing: every line was posted")
        self._used = use(self._used, prints[chosen])
        posts = drafts[chosen].posts
        cost = sum((_price(posts[name], rules) for name, rules in self.rules.items()), Decimal(0))
        attach = self._options.attach
        attached = f"{attach} of {self._options.report_of}" if attach else ""
        return UpcomingPost(slot, line=drafts[chosen].line, posts=posts, cost=cost, attached=attached)

    def _drafts(self, at: datetime) -> list[Draft]:
        """Return the lines that can be posted AT that time."""
        always, sometimes = self._lines
        values = self._values(at)
        filled = [self._draft(line, values) for line in sometimes]
        found = [*always, *(each for each in filled if isinstance(each, Draft))]
        return sorted(found, key=lambda each: each.line.number)

    @cached_property
    def _lines(self) -> tuple[list[Draft], list[Line]]:
        """The lines that are the same at any time, and those that are not."""
        written = read(self._options.lines)
        always = [self._draft(line, {}) for line in written if not lines.words(line)]
        return [each for each in always if isinstance(each, Draft)], [line for line in written if lines.words(line)]

    def _draft(self, line: Line, values: Mapping[str, str]) -> Draft | RejectedLine:
        return draft(line, self._options.lines.parent, self.rules, values, self._options.long)

    def _values(self, at: datetime) -> dict[str, str]:
        """Return what the words in braces stand for AT that time, as far as that is known now."""
        local = at.astimezone(self._appliance.config.zone_of(self._job))
        values = {
            "date": f"{local.day} {local:%B %Y}",
            "time": f"{local:%H:%M}",
            "hostname": os.uname().nodename,
        }
        if (warm := Sensors().temperature()) is not None:
            values["temperature"] = f"{warm:.0f} °C"
        if self._options.report_of and (told := self._appliance.store.last_success(self._options.report_of)):
            values["last-report"] = told.summary
        return values


def _price(posts: Sequence[Post], rules: PostLimits) -> Decimal:
    return sum((rules.price(post) for post in posts), Decimal(0))


@dataclass(frozen=True, slots=True)
class Month:
    """The calendar month (UTC) of one network, in dollars."""

    network: str
    spent: Decimal
    cap: Decimal | None

    @property
    def full(self) -> bool:
        """Whether nothing more may be spent."""
        return self.cap is not None and self.spent >= self.cap


def months(appliance: Appliance, now: datetime) -> list[Month]:
    """Return what this month has cost: of every network in the file, then of others that have cost something."""
    spent, config = Posts(appliance.store).spent(now), appliance.config
    names = [*config.networks, *(name for name in spent if name not in config.networks)]
    return [Month(name, spent.get(name, Decimal(0)), _cap(config, name)) for name in names]


def values(month: Month) -> Mapping[str, Any]:
    """Return MONTH for JSON: amounts as text, so that none is rounded."""
    cap = None if month.cap is None else str(month.cap)
    return {"network": month.network, "spent": str(month.spent), "cap": cap}


def _cap(config: Config, name: str) -> Decimal | None:
    if name not in config.networks:
        return None
    part = config.networks[name]
    try:
        rules: PostLimits = plugins.load("networks", part.kind).rules(part.options, config.network_dirs(name))
    except ApplianceError:  # it must be asked first, and there is nothing to pay then
        return None
    return rules.cap
