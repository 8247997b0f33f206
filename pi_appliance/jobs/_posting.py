"""What every kind of job that posts does: finish what was left, write down what is new, send it, tell how it went."""

from collections.abc import Callable, Mapping, Sequence
from datetime import timedelta

from pi_appliance.errors import Refused, Unavailable, Uncertain
from pi_appliance.jobs._sender import Sender
from pi_appliance.model.post import GONE, OPEN, Intent, Post, State
from pi_appliance.model.run import Result
from pi_appliance.ports import Context, Network


class Poster:
    """The posts of one run."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._networks: dict[str, Network] = {}
        self._sender = Sender(context.posts, self._connect, context.clock)

    def finish(self) -> list[Intent]:
        """Send or look up what earlier runs have left, as far as its time has come. Return what became of it."""
        now = self._context.clock()
        left = [each for each in self._context.posts.left() if each.slot != self._context.slot]
        if not (self._context.only_left and self._context.by_hand):
            # What waits for longer than it ever should was put there while the clock was ahead.
            left = [each for each in left if each.next <= now or each.next > now + timedelta(hours=2)]
        return self._sender.send(left)

    def post(self, make: Callable[[], tuple[Mapping[str, Sequence[Post]], str]], *, late: timedelta) -> list[Intent]:
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

    def told_of_left(self, intents: Sequence[Intent]) -> Result:
        """Return how it went with INTENTS, which earlier runs had left. Raises as `told` does."""
        if not intents:
            return Result("nothing was left to send")
        return self.told(intents, " / ".join(dict.fromkeys(f"of {each.slot}: {each.text}" for each in intents)))

    def told(self, intents: Sequence[Intent], what: str) -> Result:
        """Return how it went with INTENTS, which are WHAT in words.

        Raises Unavailable if something is still to be done without the owner, Uncertain if the owner is to look,
        Refused if something will not be there.
        """
        summary, states = f"{_in_words(intents)}: {what}", {each.state for each in intents}
        if states & OPEN:
            raise Unavailable(summary, after=self._sender.asked_to_wait or None)
        if State.UNCERTAIN in states:
            raise Uncertain(f"{summary}; look at the account, then see: pi-appliance tweets list")
        if states & GONE:
            raise Refused(summary)
        links = {f"link-{each.network}": each.sent.link for each in intents if each.sent and not each.part}
        return Result(summary, facts={"cost": float(sum(each.cost for each in intents)), **links})


def _in_words(intents: Sequence[Intent]) -> str:
    """Return where INTENTS stand by now, and why they do not stand elsewhere."""
    first: dict[str, Intent] = {}  # of each network what is worst: a thread is there once all of it is
    for each in intents:
        if each.network not in first or first[each.network].state is State.SENT:
            first[each.network] = each
    there = [name for name, each in first.items() if each.state is State.SENT]
    found = [f"posted to {' and '.join(there)}"] if there else []
    return "; ".join(found + [_why_not(each) for each in first.values() if each.state is not State.SENT])


def _why_not(intent: Intent) -> str:
    words = {
        State.WAITING: "not there yet",
        State.SENDING: "perhaps there, it will be looked up",
        State.UNCERTAIN: "perhaps there",
        State.REFUSED: "not posted",
        State.GIVEN_UP: "not posted",
    }
    return f"{intent.network}: {words[intent.state]}: {intent.why}"
