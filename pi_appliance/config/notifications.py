"""What the configuration says of notices, checked: names that stand for something, secrets that are there."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from pathlib import Path
from zoneinfo import ZoneInfo

from pi_appliance import plugins
from pi_appliance.config import addresses, yaml_source
from pi_appliance.config.model import Config, Job, PluginConfig
from pi_appliance.config.yaml_source import Tree
from pi_appliance.errors import ConfigError, Problem, Refused, suggest
from pi_appliance.storage.model import Outcome

_PING = "https://hc-ping.com/${HC_BACKUP}"


def problems(tree: Tree, config: Config) -> Iterator[Problem]:
    """Yield the names under `on-failure` and `on-recovery` that no notice bears, and pings that are no web address."""
    yield from _unknown(tree, config, (), "on-failure", config.on_failure)
    yield from _unknown(tree, config, (), "on-recovery", config.on_recovery)
    for name, job in config.jobs.items():
        path = ("jobs", name)
        yield from _unknown(tree, config, path, "on-failure", job.on_failure or ())
        yield from _unknown(tree, config, path, "on-recovery", job.on_recovery or ())
        if job.healthchecks_url is not None and (found := _wrong_ping(job.healthchecks_url)):
            yield tree.problem((*path, "healthchecks-url"), *found)


def _unknown(tree: Tree, config: Config, path: yaml_source.Path, key: str, names: Sequence[str]) -> Iterator[Problem]:
    for number, name in enumerate(names):
        if name not in config.notices:
            right = suggest(name, tuple(config.notices))
            yield tree.problem((*path, key, number), f"no notice is called {name!r}", right)


def _wrong_ping(address: str) -> tuple[str, str] | None:
    found = addresses.problem(address, _PING)
    if found is None and not address.startswith(("https://", "http://", "${")):
        return "a ping goes to a web address", f"write one such as {_PING}"
    return found


def warnings(tree: Tree, config: Config, secrets: Mapping[str, str]) -> Iterator[Problem]:
    """Yield which secrets are missing that notices and pings want."""
    for name, part in config.notices.items():
        if lack := plugins.load("notices", part.kind).lacks(part.with_, secrets):
            wrong, _, right = lack.partition("; ")
            yield tree.problem(("notices", name), wrong, right, at_key=True)
    for name, job in config.jobs.items():
        if missing := addresses.missing(job.healthchecks_url or "", secrets):
            wrong = f"no {', '.join(missing)} among the secrets"
            yield tree.problem(("jobs", name, "healthchecks-url"), wrong, "put it into secrets.env")


def validate_notifiers(tree: Tree, config: Config, secrets: Mapping[str, str]) -> None:
    """Raise ConfigError with every notice that its kind cannot make use of. Dear: it loads whatever would send."""
    found = []
    for name, part in config.notices.items():
        kind = plugins.load("notices", part.kind)
        if kind.lacks(part.with_, secrets):
            continue  # told as a warning
        try:
            kind.connect(part.with_, secrets)
        except Refused as error:
            wrong, _, right = str(error).partition("; ")
            found.append(tree.problem(("notices", name, "with"), wrong, right))
    if found:
        raise ConfigError(found)


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
class NotifyTargets:
    """Who is told of a job's changes: names of notices, and whether it has an address under `ping:`."""

    failure: Sequence[str] = ()
    recovery: Sequence[str] = ()
    ping: bool = False

    @classmethod
    def of(cls, config: Config, job: Job) -> "NotifyTargets":
        """Return who is told of JOB; where it says nothing, who CONFIG says."""
        return cls(
            failure=config.on_failure if job.on_failure is None else job.on_failure,
            recovery=config.on_recovery if job.on_recovery is None else job.on_recovery,
            ping=job.healthchecks_url is not None,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """What a person reads: one line, and what stands below it."""

    title: str
    body: str


@dataclass(frozen=True, slots=True, kw_only=True)
class OutboxMessage:
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
class NotifierConfig:
    """What the configuration says of notices; also what is left of it when other parts of the file are wrong."""

    path: Path
    zone: ZoneInfo
    state: Path | None = None
    notices: Mapping[str, PluginConfig] = field(default_factory=dict)
    on_failure: Sequence[str] = ()
    pings: Mapping[str, str] = field(default_factory=dict)
    others: Collection[str] = ()
    """The names of secrets that are not for notices: those of networks."""
    whole: bool = True
    """Whether the file is good: only then does a name that is not here stand for nothing."""
