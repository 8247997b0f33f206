"""A notice: what the owner is told when a job begins to fail or works again, and what waits to be told."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from pathlib import Path
from zoneinfo import ZoneInfo

from pi_appliance.model.config import Config, Job, Part
from pi_appliance.model.run import Outcome

BAD = frozenset(
    {Outcome.FAILED, Outcome.TIMED_OUT, Outcome.MISFIRED, Outcome.UNCERTAIN, Outcome.ABANDONED}
)  # a run that was skipped or stopped says nothing of its job


class Event(StrEnum):
    """What a letter tells of."""

    FAILURE = "failure"  # a job began to fail
    RECOVERY = "recovery"  # a job that failed has succeeded again
    WORDS = "words"  # somebody else has something to say, in words of their own
    PING_SUCCESS = "ping-success"  # to the address under `ping:`, after a run that succeeded
    PING_FAIL = "ping-fail"  # to the address under `ping:`, after one that did not


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """Who is told of a job's changes: names of notices, and whether it has an address under `ping:`."""

    failure: Sequence[str] = ()
    recovery: Sequence[str] = ()
    ping: bool = False

    @classmethod
    def of(cls, config: Config, job: Job) -> "Told":
        """Return who is told of JOB; where it says nothing, who CONFIG says."""
        return cls(
            failure=config.on_failure if job.on_failure is None else job.on_failure,
            recovery=config.on_recovery if job.on_recovery is None else job.on_recovery,
            ping=job.ping is not None,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """What a person reads: one line, and what stands below it."""

    title: str
    body: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Letter:
    """One row of the outbox: what is told to whom."""

    id: int
    job: str  # '' if it is of no job
    run: int  # the run that it tells of; 0 if it is of none
    notice: str  # whom; '' for a ping
    event: Event
    made: datetime
    message: Message  # empty unless `event` is WORDS: the others are written when they are sent
    tries: int = 0
    next: datetime  # not tried before
    why: str = ""  # what the last try said, in words of our own


@dataclass(frozen=True, slots=True, kw_only=True)
class Addresses:
    """What the configuration says of notices; also what is left of it when other parts of the file are wrong."""

    path: Path
    zone: ZoneInfo
    state: Path | None = None
    notices: Mapping[str, Part] = field(default_factory=dict)
    on_failure: Sequence[str] = ()
    pings: Mapping[str, str] = field(default_factory=dict)
    others: Collection[str] = ()
    """The names of secrets that are not for notices: those of networks."""
    whole: bool = True
    """Whether the file is good: only then does a name that is not here stand for nothing."""
