"""Sending: brings what stands in the ledger to the networks, each post once as far as its network allows.

A post is written down, then marked as being sent, then sent, then marked as sent; each mark is on the disk before the
next step. So whatever is found half done tells how far it came: WAITING is certainly not there, SENDING perhaps is.
What is perhaps there is looked for among the account's own posts and sent again only if it is not there, unless the
network itself makes a second try harmless.
"""

import contextlib
import logging
import time
import traceback
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from decimal import Decimal
from itertools import groupby

from pi_appliance.config import units
from pi_appliance.errors import ApplianceError, Duplicate, Refused, Unavailable, Uncertain
from pi_appliance.posting.context import PostingContext
from pi_appliance.posting.interface import Network, PostLimits, PostStore
from pi_appliance.posting.model import FAILED_STATES, PENDING_STATES, Post, PostRecord, Sent, State
from pi_appliance.posting.store import Posts
from pi_appliance.scheduling.appliance import Appliance
from pi_appliance.scheduling.child_runs import Runs
from pi_appliance.storage.model import RESUME, Result, Trigger
from pi_appliance.system import clock

_LOOKED_FOR = timedelta(days=3)  # for so long a post that is perhaps there is looked for after its time is over


class NoRules(Exception):
    """The network cannot say just now what it takes, because of REASON."""

    def __init__(self, reason: ApplianceError) -> None:
        self.reason = reason


@contextlib.contextmanager
def _wrap_bugs_as(kind: type[Unavailable | Uncertain]) -> Iterator[None]:
    """Let a fault of a network's own code be a KIND of error: one post must not keep all later ones from being sent."""
    try:
        yield
    except ApplianceError:
        raise
    except Exception as error:  # noqa: BLE001 - the edge: whatever a network does ends in the ledger
        traceback.print_exc()  # into the log of the run
        raise kind(f"a fault of the program: {type(error).__name__}: {error}") from None


def _rules(network: Network) -> PostLimits:
    try:
        return network.rules
    except ApplianceError as error:
        raise NoRules(error) from None


class Sender:
    """Sends the posts of one run. CONNECT gives a network by its name; CLOCK says what time it is."""

    def __init__(self, ledger: PostStore, connect: Callable[[str], Network], clock: Callable[[], datetime]) -> None:
        self.ledger, self.connect, self.clock = ledger, connect, clock
        self.asked_to_wait = 0.0
        """For how many seconds the networks want to be left alone, where they said so."""

    def send(self, intents: Iterable[PostRecord]) -> list[PostRecord]:
        """Bring each of INTENTS as far as it will go, and return them as they are then. What went wrong stands in them.

        Parts of a thread go one after another; where one does not get there, the rest waits.
        """
        ended: list[PostRecord] = []
        for name, group in groupby(intents, key=lambda intent: intent.network):
            network: Network | ApplianceError
            try:
                network = self.connect(name)
            except ApplianceError as error:
                network = error
            ended += [self._in_turn(network, intent) for intent in group]
        return ended

    def _in_turn(self, network: Network | ApplianceError, intent: PostRecord) -> PostRecord:
        if intent.state not in PENDING_STATES:
            return intent
        before = [each for each in self.ledger.siblings(intent) if each.part < intent.part]
        if held := next((each for each in before if each.state is not State.SENT), None):
            return self._after(intent, held)
        if isinstance(network, ApplianceError):
            return self._without(intent, network)
        try:
            return self._one(network, intent, [each.sent for each in before if each.sent])
        except NoRules as error:
            return self._without(intent, error.reason)

    def _after(self, intent: PostRecord, held: PostRecord) -> PostRecord:
        """Leave INTENT because the part before it, HELD, is not there; for good if only the owner can change that."""
        if held.state not in PENDING_STATES:
            return self.ledger.put(intent, State.GIVEN_UP, f"part {held.part + 1} before it is not there")
        why = f"waits for part {held.part + 1} before it"
        return self.ledger.put(intent, State.WAITING, why, after=max(timedelta(0), held.next - self.clock()))

    def _without(self, intent: PostRecord, error: ApplianceError) -> PostRecord:
        """Leave INTENT because its network is no use just now, or give it up because it is none at all."""
        if intent.state is State.SENDING:
            return self._not_to_be_asked(intent, error)
        if isinstance(error, Unavailable):
            return self._later(intent, State.WAITING, error)
        return self.ledger.put(intent, State.REFUSED, str(error))

    def _not_to_be_asked(self, intent: PostRecord, error: ApplianceError) -> PostRecord:
        """Leave INTENT, which is perhaps there, until it can be looked for; but not for ever."""
        if self.clock() > intent.until + _LOOKED_FOR:
            return self.ledger.put(intent, State.UNCERTAIN, f"{error}; check the account")
        return self._later(intent, State.SENDING, error)

    def _one(self, network: Network, intent: PostRecord, after: list[Sent]) -> PostRecord:
        """Send INTENT, unless it is there already, or too late."""
        tried = intent.state is State.SENDING
        late = self.clock() > intent.until
        if tried and (late or not network.idempotent):
            found = self._look(network, intent)
            if found:
                return found
        if late:
            return self.ledger.put(intent, State.GIVEN_UP, "it came too late: its time was over", cost=-intent.cost)
        price = _rules(network).price(self.ledger.post_of(intent))
        if reason := self._over_budget(network, intent, Decimal(0) if tried else price):
            return self.ledger.put(intent, State.REFUSED, reason)
        # Durably, before anything is sent: if the power goes now, the post is looked for.
        intent = self.ledger.put(intent, State.SENDING, cost=Decimal(0) if tried else price)
        return self._try(network, intent, after, tried=tried)

    def _try(self, network: Network, intent: PostRecord, after: list[Sent], *, tried: bool) -> PostRecord:
        """Send INTENT now. TRIED: an earlier try may have been taken."""
        try:
            with _wrap_bugs_as(Uncertain):
                sent = network.post(self.ledger.post_of(intent), key=self._key(intent), after=after)
        except Duplicate as error:
            return self._is_there_already(network, intent, error, tried=tried)
        except Unavailable as error:
            return self._later(intent, State.SENDING if tried else State.WAITING, error)
        except Refused as error:
            found = self._look(network, intent) if tried else None  # that a look did not find it may be its lag
            return found or self.ledger.put(intent, State.REFUSED, str(error), cost=-intent.cost)
        except Uncertain as error:
            intent = self._later(intent, State.SENDING, error)
            return self._look(network, intent) or self._later(intent, State.SENDING, error)
        return self.ledger.put(intent, State.SENT, sent=sent)

    def _look(self, network: Network, intent: PostRecord) -> PostRecord | None:
        """Look for INTENT, which is perhaps there. None: it is not, so it may be sent."""
        known = self.ledger.known(intent.network)
        price = _rules(network).look_price
        try:
            with _wrap_bugs_as(Unavailable):
                found = self._seen(network, intent, known)
        except Unavailable as error:
            return self._not_to_be_asked(intent, error)
        except (Refused, Uncertain) as error:
            return self.ledger.put(intent, State.UNCERTAIN, f"{intent.why or 'no answer came'} ({error})")
        if found is None:
            if price:
                self.ledger.charge(intent, price)
            return None
        return self.ledger.put(intent, State.SENT, "no answer came; found on the account", sent=found, cost=price)

    def _is_there_already(self, network: Network, intent: PostRecord, error: Duplicate, *, tried: bool) -> PostRecord:
        """Tell what it means that the network has it: the earlier try was taken, unless that is another post."""
        others = set(self.ledger.known(intent.network).values())
        if not tried or intent.text in others:
            return self.ledger.put(intent, State.REFUSED, str(error), cost=-intent.cost)
        found = None
        with contextlib.suppress(ApplianceError):  # it is there all the same, only nobody says where
            found = self._seen(network, intent, self.ledger.known(intent.network))
        why = "no answer came; the next try was told that it is there"
        return self.ledger.put(intent, State.SENT, why, sent=found or Sent(f"there {intent.id}", ""))

    def _seen(self, network: Network, intent: PostRecord, known: Mapping[str, str]) -> Sent | None:
        post = self.ledger.post_of(intent)
        return network.look(post, key=self._key(intent), known=known, since=intent.older)

    def _key(self, intent: PostRecord) -> str:
        return f"{intent.key} @{self.ledger.installation}"

    def _later(self, intent: PostRecord, state: State, error: ApplianceError) -> PostRecord:
        """Leave INTENT in STATE until later: when the network says, or after a while that grows with the tries."""
        seconds = getattr(error, "retry_after", None) or 0.0
        self.asked_to_wait = max(self.asked_to_wait, seconds)
        after = timedelta(seconds=seconds)
        cost = -intent.cost if state is State.WAITING else Decimal(0)
        why = str(error).partition("; check the account")[0]  # not the owner: we do
        return self.ledger.put(intent, state, why, cost=cost, after=max(after, clock.post_retry_delay(intent.tries)))

    def _over_budget(self, network: Network, intent: PostRecord, price: Decimal) -> str:
        cap, spent = _rules(network).cap, self.ledger.spent(intent.network)
        if cap is None or not price or spent + price <= cap:
            return ""
        return (
            f"{intent.network} has had {units.format_money(spent)} of its {units.format_money(cap)} this month"
            f" and the post costs {units.format_money(price)}; raise monthly-cap, or wait for the next month"
        )


class Poster:
    """The posts of one run."""

    def __init__(self, context: PostingContext) -> None:
        self._context = context
        self._networks: dict[str, Network] = {}
        self._sender = Sender(context.posts, self._connect, context.clock)

    def finish(self) -> list[PostRecord]:
        """Send or look up what earlier runs have left, as far as its time has come. Return what became of it."""
        now = self._context.clock()
        left = [each for each in self._context.posts.left() if each.slot != self._context.slot]
        if not (self._context.resume_only and self._context.manual):
            # What waits for longer than it ever should was put there while the clock was ahead.
            left = [each for each in left if each.next <= now or each.next > now + timedelta(hours=2)]
        return self._sender.send(left)

    def post(
        self, make: Callable[[], tuple[Mapping[str, Sequence[Post]], str]], *, late: timedelta
    ) -> list[PostRecord]:
        """Send what MAKE gives for this slot: posts by network, and the line they were made of, if they were.

        MAKE is asked once a slot; every further attempt goes on with what was written down then. What cannot be sent
        now is sent by a later run, until it is LATE.
        """
        ledger, slot = self._context.posts, self._context.slot
        intents = ledger.intended(slot)
        if not intents:
            posts, line = make()
            intents = ledger.intend(slot, posts, until=self._context.clock() + late, line=line)
        return self._sender.send(intents)

    def _connect(self, name: str) -> Network:
        if name not in self._networks:
            self._networks[name] = self._context.network(name)
        return self._networks[name]

    def told_of_left(self, intents: Sequence[PostRecord]) -> Result:
        """Return how it went with INTENTS, which earlier runs had left. Raises as `told` does."""
        if not intents:
            return Result("nothing was left to send")
        return self.told(intents, " / ".join(dict.fromkeys(f"of {each.slot}: {each.text}" for each in intents)))

    def told(self, intents: Sequence[PostRecord], what: str) -> Result:
        """Return how it went with INTENTS, which are WHAT in words.

        Raises Unavailable if something is still to be done without the owner, Uncertain if the owner is to look,
        Refused if something will not be there.
        """
        summary, states = f"{_in_words(intents)}: {what}", {each.state for each in intents}
        if states & PENDING_STATES:
            raise Unavailable(summary, after=self._sender.asked_to_wait or None)
        if State.UNCERTAIN in states:
            raise Uncertain(f"{summary}; check the account, then see: pi-appliance tweets list")
        if states & FAILED_STATES:
            raise Refused(summary)
        links = {f"link-{each.network}": each.sent.link for each in intents if each.sent and not each.part}
        return Result(summary, details={"cost": float(sum(each.cost for each in intents)), **links})


def _in_words(intents: Sequence[PostRecord]) -> str:
    """Return where INTENTS stand by now, and why they do not stand elsewhere."""
    first: dict[str, PostRecord] = {}  # of each network what is worst: a thread is there once all of it is
    for each in intents:
        if each.network not in first or first[each.network].state is State.SENT:
            first[each.network] = each
    there = [name for name, each in first.items() if each.state is State.SENT]
    found = [f"posted to {' and '.join(there)}"] if there else []
    return "; ".join(found + [_why_not(each) for each in first.values() if each.state is not State.SENT])


def _why_not(intent: PostRecord) -> str:
    words = {
        State.WAITING: "not there yet",
        State.SENDING: "perhaps there, it will be looked up",
        State.UNCERTAIN: "perhaps there",
        State.REFUSED: "not posted",
        State.GIVEN_UP: "not posted",
    }
    return f"{intent.network}: {words[intent.state]}: {intent.why}"


log = logging.getLogger("pi_appliance.posts")
_REST = 60.0  # seconds between two such runs of a job, whatever became of the first


class PendingPostsRunner:
    """For the daemon: call `look` at each of its rounds. APPLIANCE gives the configuration as it is by then."""

    def __init__(
        self,
        appliance: Callable[[], Appliance],
        runs: Runs,
        *,
        now: Callable[[], datetime] = clock.now,
        steady: Callable[[], float] = time.monotonic,
    ) -> None:
        self._appliance, self._runs, self._now, self._steady = appliance, runs, now, steady
        self._rests: dict[str, float] = {}  # by job, until when
        self._said = ""

    async def look(self) -> None:
        """Start a run of each job that has something to send by now. Costs one look at a small index."""
        try:
            for job in self._due():
                self._rests[job] = self._steady() + _REST
                await self._runs.start(job, Trigger.DAEMON, due=RESUME)
            self._said = ""
        except (ApplianceError, OSError) as error:
            if str(error) != self._said:
                log.warning("posts that are left are not sent: %s", error)
            self._said = str(error)

    def _due(self) -> list[str]:
        appliance, now = self._appliance(), self._now()
        due = Posts(appliance.store).due(now)
        if not due:
            return []
        pauses = {name for name, pause in appliance.store.slots.pauses().items() if pause.is_active(now)}
        rest = {job for job, until in self._rests.items() if until > self._steady()}
        return [
            job
            for job in due
            if job in appliance.config.jobs and job not in pauses | rest and not self._runs.is_running(job)
        ]
