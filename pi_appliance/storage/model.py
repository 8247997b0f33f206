"""Runs, their triggers and outcomes, and reports."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum


class Trigger(StrEnum):
    """What started a run."""

    CRON = "cron"
    DAEMON = "daemon"
    MANUAL = "manual"


RESUME = "resume"
"""In place of a slot: the run belongs to none, and only finishes what earlier ones have left."""


class Outcome(StrEnum):
    """How a run ended."""

    SUCCEEDED = "succeeded"  # it did what it was asked
    SKIPPED = "skipped"  # by chance, by overlap, or because its slot was already used
    FAILED = "failed"  # it could not, or was answered no
    TIMED_OUT = "timed-out"  # its deadline passed
    MISFIRED = "misfired"  # its slot could not start within the grace
    UNCERTAIN = "uncertain"  # something was sent and never answered: perhaps done
    STOPPED = "stopped"  # a person or a shutdown ended it
    ABANDONED = "abandoned"  # its process vanished: a power cut or kill -9


FAILED_OUTCOMES = frozenset({Outcome.FAILED, Outcome.TIMED_OUT, Outcome.MISFIRED, Outcome.UNCERTAIN, Outcome.ABANDONED})
"""Outcomes that count as a failure of the job. A run that was skipped or stopped says nothing about it."""


@dataclass(frozen=True, slots=True)
class Result:
    """What a job says of itself at the end: one line for people, facts for machines."""

    summary: str
    details: Mapping[str, str | int | float | bool | None] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """One row of the history. `outcome` is None while it goes on."""

    id: int
    job: str
    kind: str
    trigger: Trigger
    scheduled_for: str | None  # the slot it belongs to; None for a run by hand
    first_slot: str | None = None  # where one row accounts for several slots that came to nothing: the first of them
    slot_count: int = 1
    started: datetime
    ended: datetime | None = None
    outcome: Outcome | None = None
    summary: str = ""
    details: Mapping[str, str | int | float | bool | None] = field(default_factory=dict)
    attempts: int = 0
    progress: float | None = None  # 0 to 1 while it goes on, where the job can tell
    status_text: str = ""  # what it is doing just now

    @property
    def duration(self) -> timedelta | None:
        """How long it ran, once it has ended."""
        return None if self.ended is None else self.ended - self.started


@dataclass(frozen=True, slots=True)
class Picture:
    """A picture that goes with a post."""

    data: bytes
    mime: str  # image/png, image/jpeg, image/gif or image/webp
    alt: str = ""  # what it shows, for those who cannot see it


@dataclass(frozen=True, slots=True)
class Report:
    """The latest report of a job. `summary` is that of the run that wrote it."""

    job: str
    summary: str
    text: str
    picture: Picture | None = None


PREEMPT = "make room"
"""The signal to a run that an alarm is about to ring and needs the player."""
