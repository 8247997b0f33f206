"""Sending: brings what stands in the ledger to the networks, each post once as far as its network allows.

A post is written down, then marked as being sent, then sent, then marked as sent; each mark is on the disk before the
next step. So whatever is found half done tells how far it came: WAITING is certainly not there, SENDING perhaps is.
What is perhaps there is looked for among the account's own posts and sent again only if it is not there, unless the
network itself makes a second try harmless.
"""

import contextlib
import traceback
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import datetime, timedelta
from decimal import Decimal
from itertools import groupby

from pi_appliance.core import amounts, backoff
from pi_appliance.errors import ApplianceError, Duplicate, Refused, Unavailable, Uncertain
from pi_appliance.model.post import OPEN, Intent, Sent, State
from pi_appliance.ports import Ledger, Network, Rules

_LOOKED_FOR = timedelta(days=3)  # for so long a post that is perhaps there is looked for after its time is over


class NoRules(Exception):
    """The network cannot say just now what it takes, because of REASON."""

    def __init__(self, reason: ApplianceError) -> None:
        self.reason = reason


@contextlib.contextmanager
def _faults_as(kind: type[Unavailable | Uncertain]) -> Iterator[None]:
    """Let a fault of a network's own code be a KIND of error: one post must not keep all later ones from being sent."""
    try:
        yield
    except ApplianceError:
        raise
    except Exception as error:  # noqa: BLE001 - the edge: whatever a network does ends in the ledger
        traceback.print_exc()  # into the log of the run
        raise kind(f"a fault of the program: {type(error).__name__}: {error}") from None


def _rules(network: Network) -> Rules:
    try:
        return network.rules
    except ApplianceError as error:
        raise NoRules(error) from None


class Sender:
    """Sends the posts of one run. CONNECT gives a network by its name; CLOCK says what time it is."""

    def __init__(self, ledger: Ledger, connect: Callable[[str], Network], clock: Callable[[], datetime]) -> None:
        self.ledger, self.connect, self.clock = ledger, connect, clock
        self.asked_to_wait = 0.0
        """For how many seconds the networks want to be left alone, where they said so."""

    def send(self, intents: Iterable[Intent]) -> list[Intent]:
        """Bring each of INTENTS as far as it will go, and return them as they are then. What went wrong stands in them.

        Parts of a thread go one after another; where one does not get there, the rest waits.
        """
        ended: list[Intent] = []
        for name, group in groupby(intents, key=lambda intent: intent.network):
            network: Network | ApplianceError
            try:
                network = self.connect(name)
            except ApplianceError as error:
                network = error
            ended += [self._in_turn(network, intent) for intent in group]
        return ended

    def _in_turn(self, network: Network | ApplianceError, intent: Intent) -> Intent:
        if intent.state not in OPEN:
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

    def _after(self, intent: Intent, held: Intent) -> Intent:
        """Leave INTENT because the part before it, HELD, is not there; for good if only the owner can change that."""
        if held.state not in OPEN:
            return self.ledger.put(intent, State.GIVEN_UP, f"part {held.part + 1} before it is not there")
        why = f"waits for part {held.part + 1} before it"
        return self.ledger.put(intent, State.WAITING, why, after=max(timedelta(0), held.next - self.clock()))

    def _without(self, intent: Intent, error: ApplianceError) -> Intent:
        """Leave INTENT because its network is no use just now, or give it up because it is none at all."""
        if intent.state is State.SENDING:
            return self._not_to_be_asked(intent, error)
        if isinstance(error, Unavailable):
            return self._later(intent, State.WAITING, error)
        return self.ledger.put(intent, State.REFUSED, str(error))

    def _not_to_be_asked(self, intent: Intent, error: ApplianceError) -> Intent:
        """Leave INTENT, which is perhaps there, until it can be looked for; but not for ever."""
        if self.clock() > intent.until + _LOOKED_FOR:
            return self.ledger.put(intent, State.UNCERTAIN, f"{error}; look at the account")
        return self._later(intent, State.SENDING, error)

    def _one(self, network: Network, intent: Intent, after: list[Sent]) -> Intent:
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

    def _try(self, network: Network, intent: Intent, after: list[Sent], *, tried: bool) -> Intent:
        """Send INTENT now. TRIED: an earlier try may have been taken."""
        try:
            with _faults_as(Uncertain):
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

    def _look(self, network: Network, intent: Intent) -> Intent | None:
        """Look for INTENT, which is perhaps there. None: it is not, so it may be sent."""
        known = self.ledger.known(intent.network)
        price = _rules(network).look_price
        try:
            with _faults_as(Unavailable):
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

    def _is_there_already(self, network: Network, intent: Intent, error: Duplicate, *, tried: bool) -> Intent:
        """Tell what it means that the network has it: the earlier try was taken, unless that is another post."""
        others = set(self.ledger.known(intent.network).values())
        if not tried or intent.text in others:
            return self.ledger.put(intent, State.REFUSED, str(error), cost=-intent.cost)
        found = None
        with contextlib.suppress(ApplianceError):  # it is there all the same, only nobody says where
            found = self._seen(network, intent, self.ledger.known(intent.network))
        why = "no answer came; the next try was told that it is there"
        return self.ledger.put(intent, State.SENT, why, sent=found or Sent(f"there {intent.id}", ""))

    def _seen(self, network: Network, intent: Intent, known: Mapping[str, str]) -> Sent | None:
        post = self.ledger.post_of(intent)
        return network.look(post, key=self._key(intent), known=known, since=intent.older)

    def _key(self, intent: Intent) -> str:
        return f"{intent.key} @{self.ledger.installation}"

    def _later(self, intent: Intent, state: State, error: ApplianceError) -> Intent:
        """Leave INTENT in STATE until later: when the network says, or after a while that grows with the tries."""
        seconds = getattr(error, "after", None) or 0.0
        self.asked_to_wait = max(self.asked_to_wait, seconds)
        after = timedelta(seconds=seconds)
        cost = -intent.cost if state is State.WAITING else Decimal(0)
        why = str(error).partition("; look at the account")[0]  # not the owner: we do
        return self.ledger.put(intent, state, why, cost=cost, after=max(after, backoff.between_posts(intent.tries)))

    def _over_budget(self, network: Network, intent: Intent, price: Decimal) -> str:
        cap, spent = _rules(network).cap, self.ledger.spent(intent.network)
        if cap is None or not price or spent + price <= cap:
            return ""
        return (
            f"{intent.network} has had {amounts.render_money(spent)} of its {amounts.render_money(cap)} this month"
            f" and the post costs {amounts.render_money(price)}; raise monthly-cap, or wait for the next month"
        )
