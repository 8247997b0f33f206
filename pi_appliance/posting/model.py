"""Data classes of posting: a post, its state on a network, and the lines a job has used."""

from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from enum import StrEnum
from typing import Any

from pi_appliance.storage import model
from pi_appliance.storage.model import Picture


@dataclass(frozen=True, slots=True)
class Post:
    """One message on one network."""

    text: str
    pictures: tuple[Picture, ...] = ()


@dataclass(frozen=True, slots=True)
class SentPost:
    """A post as the network identifies it."""

    id: str  # opaque: only the network's own module reads it
    link: str  # web address of the post; empty if the network did not give one


class PostState(StrEnum):
    """Progress of a post."""

    WAITING = "waiting"  # not on the network; sent as soon as possible
    SENDING = "sending"  # a try has started and its result is not known
    SENT = "sent"
    UNCERTAIN = "uncertain"  # may be on the network; the owner has to check
    REFUSED = "refused"  # the network rejected it
    ABANDONED = "abandoned"  # not on the network, and its time is over


PENDING_STATES = frozenset({PostState.WAITING, PostState.SENDING})
"""States in which the appliance still has work to do."""

FAILED_STATES = frozenset({PostState.REFUSED, PostState.ABANDONED})
"""Final states of a post that is not on the network."""

OWNER_DECISIONS = {
    "there": (PostState.SENT, "you saw it there"),
    "post": (PostState.WAITING, "you saw that it is not there"),
    "drop": (PostState.ABANDONED, "you saw that it is not there, and do not want it"),
}
"""Answers of the owner about an uncertain post: the resulting state and the recorded reason."""


@dataclass(frozen=True, slots=True)
class UsedLines:
    """Fingerprints of the lines that a job has used."""

    current_round: frozenset[str] = frozenset()
    by_last_use: tuple[str, ...] = ()  # every line ever used, once each, newest last


@dataclass(frozen=True, slots=True, kw_only=True)
class PostRecord:
    """One row of the table `posts`, written before the post is sent."""

    id: int
    job: str
    slot: str  # scheduled time, or "run 12" for a manual run
    network: str
    part: int = 0  # index within a thread
    parts: int = 1
    line: str = ""  # fingerprint of the line in the text file
    text: str
    state: PostState = PostState.WAITING
    reason: str = ""  # why the post is in this state
    created_at: datetime
    expires_at: datetime  # not sent after this time
    next_attempt_at: datetime
    attempts: int = 0
    remote: SentPost | None = None
    sent_at: datetime | None = None
    cost: Decimal = Decimal(0)  # US dollars charged, certainly or possibly
    run: int
    since_id: str = ""  # id of an older post on the network; the search for this post starts there

    @property
    def key(self) -> str:
        """Identifier of this post: the same for every attempt, different from any other post on the network."""
        return f"{self.job} {self.slot}" + (f" part {self.part + 1}" if self.parts > 1 else "")


def record_json(record: PostRecord) -> dict[str, Any]:
    """Convert `record` for JSON. Parts count from 1, amounts are strings in US dollars."""
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
        "created_at": model.iso_time(record.created_at),
        "expires_at": model.iso_time(record.expires_at),
        "next_attempt_at": model.iso_time(record.next_attempt_at) if is_pending else None,
        "attempts": record.attempts,
        "link": (record.remote.link or None) if record.remote else None,
        "sent_at": model.iso_time(record.sent_at),
        "cost": str(record.cost),
        "run": record.run,
    }
