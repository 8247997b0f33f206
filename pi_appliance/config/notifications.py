"""What the configuration says of notices, checked: names that stand for something, secrets that are there."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from pathlib import Path
from zoneinfo import ZoneInfo

from pi_appliance import plugins
from pi_appliance.config import addresses, yaml_source
from pi_appliance.config.model import Config, Job, Notify, PluginConfig
from pi_appliance.config.yaml_source import Tree
from pi_appliance.errors import ConfigError, Problem, Refused, suggest

_PING = "https://hc-ping.com/${HC_BACKUP}"


def notifier_problems(tree: Tree, config: Config) -> Iterator[Problem]:
    """Yield the names under `on-failure` and `on-recovery` that no notice bears, and pings that are no web address."""
    yield from _unknown_notifiers(tree, config, (), config.notify)
    for name, job in config.jobs.items():
        path = ("jobs", name)
        yield from _unknown_notifiers(tree, config, path, job.notify)
        if job.healthchecks_url is not None and (found := _wrong_ping(job.healthchecks_url)):
            yield tree.problem((*path, "healthchecks-url"), *found)


def _unknown_notifiers(tree: Tree, config: Config, path: yaml_source.Path, notify: Notify) -> Iterator[Problem]:
    for key, names in (("on-failure", notify.on_failure), ("on-recovery", notify.on_recovery)):
        for number, name in enumerate(names or ()):
            if name not in config.notifiers:
                hint = suggest(name, tuple(config.notifiers))
                yield tree.problem((*path, "notify", key, number), f"no notifier is called {name!r}", hint)


def _wrong_ping(address: str) -> tuple[str, str] | None:
    found = addresses.find_problem(address, _PING)
    if found is None and not address.startswith(("https://", "http://", "${")):
        return "a ping goes to a web address", f"write one such as {_PING}"
    return found


def notifier_warnings(tree: Tree, config: Config, secrets: Mapping[str, str]) -> Iterator[Problem]:
    """Yield which secrets are missing that notices and pings want."""
    for name, part in config.notifiers.items():
        if lack := plugins.load("notifiers", part.kind).missing_secrets(part.options, secrets):
            wrong, _, right = lack.partition("; ")
            yield tree.problem(("notifiers", name), wrong, right, at_key=True)
    for name, job in config.jobs.items():
        if missing := addresses.missing_secrets(job.healthchecks_url or "", secrets):
            wrong = f"no {', '.join(missing)} among the secrets"
            yield tree.problem(("jobs", name, "healthchecks-url"), wrong, "put it into secrets.env")


def validate_notifiers(tree: Tree, config: Config, secrets: Mapping[str, str]) -> None:
    """Raise ConfigError with every notice that its kind cannot make use of. Dear: it loads whatever would send."""
    found = []
    for name, part in config.notifiers.items():
        kind = plugins.load("notifiers", part.kind)
        if kind.missing_secrets(part.options, secrets):
            continue  # told as a warning
        try:
            kind.connect(part.options, secrets)
        except Refused as error:
            wrong, _, right = str(error).partition("; ")
            found.append(tree.problem(("notifiers", name, "with"), wrong, right))
    if found:
        raise ConfigError(found)


class Event(StrEnum):
    """What a letter tells of."""

    FAILURE = "failure"  # a job began to fail
    RECOVERY = "recovery"  # a job that failed has succeeded again
    CUSTOM = "words"  # somebody else has something to say, in words of their own
    PING_SUCCESS = "ping-success"  # to the address under `ping:`, after a run that succeeded
    PING_FAIL = "ping-fail"  # to the address under `ping:`, after one that did not


@dataclass(frozen=True, slots=True, kw_only=True)
class NotifyTargets:
    """Who is told of a job's changes: names of notices, and whether it has an address under `ping:`."""

    on_failure: Sequence[str] = ()
    on_recovery: Sequence[str] = ()
    ping: bool = False

    @classmethod
    def for_job(cls, config: Config, job: Job) -> "NotifyTargets":
        """Return who is told of JOB; where it says nothing, who CONFIG says."""
        return cls(
            on_failure=(config.notify if job.notify.on_failure is None else job.notify).on_failure or (),
            on_recovery=(config.notify if job.notify.on_recovery is None else job.notify).on_recovery or (),
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
    notifier: str  # whom; '' for a ping
    event: Event
    created_at: datetime
    message: Message  # empty unless `event` is WORDS: the others are written when they are sent
    attempts: int = 0
    next_attempt_at: datetime  # not tried before
    last_error: str = ""  # what the last try said, in words of our own


@dataclass(frozen=True, slots=True, kw_only=True)
class NotifierConfig:
    """What the configuration says of notices; also what is left of it when other parts of the file are wrong."""

    path: Path
    time_zone: ZoneInfo
    state_dir: Path | None = None
    notifiers: Mapping[str, PluginConfig] = field(default_factory=dict)
    on_failure: Sequence[str] = ()
    pings: Mapping[str, str] = field(default_factory=dict)
    other_secrets: Collection[str] = ()
    """The names of secrets that are not for notices: those of networks."""
    is_complete: bool = True
    """Whether the file is good: only then does a name that is not here stand for nothing."""
