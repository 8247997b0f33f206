"""A post: what goes to a social network, and what became of it there."""

from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from enum import StrEnum

from pi_appliance.storage.model import Picture


@dataclass(frozen=True, slots=True)
class Post:
    """One message on one network."""

    text: str
    pictures: tuple[Picture, ...] = ()


@dataclass(frozen=True, slots=True)
class Sent:
    """A post as the network knows it."""

    id: str  # in words of the network's own; only its own file reads them
    link: str  # where it can be seen; empty where the network did not say


class State(StrEnum):
    """How far a post has come."""

    WAITING = "waiting"  # certainly not there; it is sent as soon as it can be
    SENDING = "sending"  # a try began, and nobody knows yet how it ended
    SENT = "sent"
    UNCERTAIN = "uncertain"  # perhaps there; only the owner can tell
    REFUSED = "refused"  # answered no: certainly not there
    GIVEN_UP = "given-up"  # certainly not there, and by now too late


PENDING_STATES = frozenset({State.WAITING, State.SENDING})
"""The states that something is still to be done about, without the owner."""

FAILED_STATES = frozenset({State.REFUSED, State.GIVEN_UP})
"""The states of what is certainly not there, and will not be."""

OWNER_DECISIONS = {
    "there": (State.SENT, "you saw it there"),
    "post": (State.WAITING, "you saw that it is not there"),
    "drop": (State.GIVEN_UP, "you saw that it is not there, and do not want it"),
}
"""What the owner may say of an uncertain post, and what it is then, and why."""


@dataclass(frozen=True, slots=True)
class UsedLines:
    """Which lines of a file a job has used, by their content."""

    round: frozenset[str] = frozenset()  # those used since all were used last
    last: tuple[str, ...] = ()  # all that were ever used, the newest last; each once


@dataclass(frozen=True, slots=True, kw_only=True)
class PostRecord:
    """One row of the ledger: that a post is to be on a network, written down before it is sent."""

    id: int
    job: str
    slot: str  # the slot, or "run 12" for a run by hand
    network: str
    part: int = 0  # of a thread, from 0
    parts: int = 1
    line: str = ""  # which line of the file it was, by its content
    text: str
    state: State = State.WAITING
    why: str = ""  # why it is not there, or that it was found there
    made: datetime
    until: datetime  # after that, it is not sent any more
    next: datetime  # not before that, it is tried again
    tries: int = 0
    sent: Sent | None = None
    sent_at: datetime | None = None
    cost: Decimal = Decimal(0)  # dollars: what was certainly or perhaps charged
    run: int
    older: str = ""  # what the network calls a post that was there before this one was first tried

    @property
    def key(self) -> str:
        """The same for every try at this post; no other post of this appliance on this network has it."""
        return f"{self.job} {self.slot}" + (f" part {self.part + 1}" if self.parts > 1 else "")
