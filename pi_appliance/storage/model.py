"""Runs, their triggers and outcomes, reports, and notifications."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from typing import Annotated, TypedDict, overload

from pi_appliance.json_schema import Instant

Details = Mapping[str, str | int | float | bool | None]
"""The result of a run for programs."""


class Trigger(StrEnum):
    """The cause of a run."""

    CRON = "cron"
    DAEMON = "daemon"
    MANUAL = "manual"
    WEBHOOK = "webhook"
    FILE = "file"
    MQTT = "mqtt"
    BUTTON = "button"

    @property
    def word(self) -> str:
        """The word for it in a sentence: started by hand, by cron."""
        return "hand" if self is Trigger.MANUAL else str(self)


SCHEDULED = frozenset({Trigger.CRON, Trigger.DAEMON})
"""Causes of a run that belongs to a slot."""
EVENTS = frozenset({Trigger.WEBHOOK, Trigger.FILE, Trigger.MQTT, Trigger.BUTTON})
"""Causes of a run without a slot that no person waits for: pauses and conditions apply to it."""


RESUME = "resume"
"""In place of a slot: the run only completes unfinished work of earlier runs."""


class Outcome(StrEnum):
    """How a run ended."""

    SUCCEEDED = "succeeded"  # it completed its task
    SKIPPED = "skipped"  # by chance, by overlap, or because its slot was already used
    FAILED = "failed"  # an error, or a rejection
    TIMED_OUT = "timed-out"  # its deadline passed
    MISFIRED = "misfired"  # its slot could not start within the misfire grace
    UNCERTAIN = "uncertain"  # something was sent and never answered: perhaps done
    STOPPED = "stopped"  # a person or a shutdown ended it
    ABANDONED = "abandoned"  # its process vanished: a power cut or kill -9


FAILED_OUTCOMES = frozenset({Outcome.FAILED, Outcome.TIMED_OUT, Outcome.MISFIRED, Outcome.UNCERTAIN, Outcome.ABANDONED})
"""Outcomes that count as a failure of the job. A run that was skipped or stopped says nothing about
it.
"""


@dataclass(frozen=True, slots=True)
class Result:
    """The result of a job: one line for people, details for programs."""

    summary: str
    details: Details = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """A run in the history. `outcome` is None while the run is active."""

    id: int
    job: str
    kind: str
    trigger: Trigger
    scheduled_for: str | None  # slot or run request of the run; None for a manual run
    first_slot: str | None = None  # first slot, if the row stands for several unused slots
    slot_count: int = 1
    started: datetime
    ended: datetime | None = None
    outcome: Outcome | None = None
    summary: str = ""
    details: Details = field(default_factory=dict)
    attempts: int = 0
    progress: float | None = None  # 0 to 1 while the run is active, if known
    status_text: str = ""  # what an active run is doing

    @property
    def duration(self) -> timedelta | None:
        """How long the run took; None while it is active."""
        return None if self.ended is None else self.ended - self.started


@dataclass(frozen=True, slots=True)
class Picture:
    """A picture in a post."""

    data: bytes
    mime: str  # image/png, image/jpeg, image/gif or image/webp
    alt: str = ""  # alternative text


@dataclass(frozen=True, slots=True)
class Report:
    """The latest report of a job. `summary` is the summary of the run that wrote the report."""

    job: str
    summary: str
    text: str
    picture: Picture | None = None
    animation: Picture | None = None  # animated solution of a puzzle


PREEMPT = "make room"
"""The signal to a run that an alarm is about to ring and needs the player."""


@overload
def iso_time(when: datetime) -> str: ...


@overload
def iso_time(when: datetime | None) -> str | None: ...


def iso_time(when: datetime | None) -> str | None:
    """Return `when` in UTC as ISO 8601 to the second."""
    return None if when is None else when.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def read_slot(scheduled_for: str | None) -> datetime | None:
    """Return the instant of a slot; None for a manual run and for a run request."""
    return datetime.fromisoformat(scheduled_for) if scheduled_for and scheduled_for[0].isdigit() else None


class RunJson(TypedDict):
    """A run as a JSON object."""

    id: int
    job: str
    kind: str
    trigger: Trigger
    scheduled_for: Annotated[str | None, "its slot; null for a manual run"]
    started: Instant
    ended: Instant | None
    seconds: float | None
    outcome: Annotated[Outcome | None, "null while it is active"]
    summary: str
    details: Details
    attempts: int
    progress: Annotated[float | None, "0 to 1 while it is active, if known"]
    status_text: Annotated[str, "the current activity"]


def run_fields(run: Run) -> RunJson:
    """Return all fields of `run`."""
    return {
        "id": run.id,
        "job": run.job,
        "kind": run.kind,
        "trigger": run.trigger,
        "scheduled_for": run.scheduled_for,
        "started": iso_time(run.started),
        "ended": iso_time(run.ended),
        "seconds": None if run.duration is None else round(run.duration.total_seconds(), 3),
        "outcome": run.outcome,
        "summary": run.summary,
        "details": dict(run.details),
        "attempts": run.attempts,
        "progress": run.progress,
        "status_text": run.status_text,
    }


_INSIGNIFICANT = (None, Outcome.SKIPPED, Outcome.MISFIRED, Outcome.STOPPED)


def latest_significant_run(runs: Iterable[Run]) -> Run | None:
    """Return the newest of `runs` of one job that shows whether the job works; None without one."""
    return max((run for run in runs if run.outcome not in _INSIGNIFICANT), key=lambda run: run.id, default=None)


def is_failing(runs: Iterable[Run]) -> bool:
    """Return whether the job of `runs` is failing: its latest significant run did not succeed."""
    word = latest_significant_run(runs)
    return word is not None and word.outcome is not Outcome.SUCCEEDED


def run_variables(job: str, run: int, scheduled_for: str | None, trigger: Trigger | None) -> dict[str, str]:
    """Return the environment variables that tell a program about its run."""
    values = {"JOB": job, "RUN": str(run), "SCHEDULED_FOR": scheduled_for, "TRIGGER": trigger}
    return {f"PI_APPLIANCE_{name}": str(value) for name, value in values.items() if value}


class Event(StrEnum):
    """The reason for a message."""

    FAILURE = "failure"  # a job began to fail
    RECOVERY = "recovery"  # a job that failed has succeeded again
    CUSTOM = "words"  # a text from elsewhere, such as a systemd unit or a test
    PING_SUCCESS = "ping-success"  # to `healthchecks-url`, after a successful run
    PING_FAIL = "ping-fail"  # to `healthchecks-url`, after a failed run


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """The text of a notification: a one-line title and a body."""

    title: str
    body: str


@dataclass(frozen=True, slots=True, kw_only=True)
class OutboxMessage:
    """One row of the outbox: a message for one notifier."""

    id: int
    job: str  # '' without a job
    run: int  # the id of the reported run; 0 without a run
    notifier: str  # name of the notifier; '' for a ping
    event: Event
    created_at: datetime
    message: Message  # empty unless `event` is CUSTOM: other texts are written when sent
    attempts: int = 0
    next_attempt_at: datetime  # no attempt before this time
    last_error: str = ""  # our own text, which contains no secret
