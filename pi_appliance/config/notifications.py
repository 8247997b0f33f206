"""Notification settings and their validation, and the messages sent to notifiers."""

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
    """Yield unknown names in `on-failure` and `on-recovery`, and invalid ping addresses."""
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
    """Yield a warning for each notifier or ping with a missing secret."""
    for name, part in config.notifiers.items():
        if lack := plugins.load("notifiers", part.kind).missing_secrets(part.options, secrets):
            wrong, _, right = lack.partition("; ")
            yield tree.problem(("notifiers", name), wrong, right, at_key=True)
    for name, job in config.jobs.items():
        if missing := addresses.missing_secrets(job.healthchecks_url or "", secrets):
            wrong = f"no {', '.join(missing)} among the secrets"
            yield tree.problem(("jobs", name, "healthchecks-url"), wrong, "put it into secrets.env")


def validate_notifiers(tree: Tree, config: Config, secrets: Mapping[str, str]) -> None:
    """Check the options of all notifiers by connecting each one.

    This is slow, because it imports the libraries that send.

    Raises:
        ConfigError: Every notifier whose options were refused.
    """
    found = []
    for name, part in config.notifiers.items():
        kind = plugins.load("notifiers", part.kind)
        if kind.missing_secrets(part.options, secrets):
            continue  # notifier_warnings reports it
        try:
            kind.connect(part.options, secrets)
        except Refused as error:
            wrong, _, right = str(error).partition("; ")
            found.append(tree.problem(("notifiers", name, "with"), wrong, right))
    if found:
        raise ConfigError(found)


class Event(StrEnum):
    """The reason for a message."""

    FAILURE = "failure"  # a job began to fail
    RECOVERY = "recovery"  # a job that failed has succeeded again
    CUSTOM = "words"  # a text from elsewhere, such as a systemd unit or a test
    PING_SUCCESS = "ping-success"  # to `healthchecks-url`, after a successful run
    PING_FAIL = "ping-fail"  # to `healthchecks-url`, after a failed run


@dataclass(frozen=True, slots=True, kw_only=True)
class NotifyTargets:
    """The notifiers of one job, and whether it has a `healthchecks-url`."""

    on_failure: Sequence[str] = ()
    on_recovery: Sequence[str] = ()
    ping: bool = False

    @classmethod
    def for_job(cls, config: Config, job: Job) -> "NotifyTargets":
        """Return the targets of `job`; those of `config` are the default."""
        return cls(
            on_failure=(config.notify if job.notify.on_failure is None else job.notify).on_failure or (),
            on_recovery=(config.notify if job.notify.on_recovery is None else job.notify).on_recovery or (),
            ping=job.healthchecks_url is not None,
        )


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


@dataclass(frozen=True, slots=True, kw_only=True)
class NotifierConfig:
    """The notification settings, also those usable in an otherwise invalid file."""

    path: Path
    time_zone: ZoneInfo
    state_dir: Path | None = None
    notifiers: Mapping[str, PluginConfig] = field(default_factory=dict)
    on_failure: Sequence[str] = ()
    pings: Mapping[str, str] = field(default_factory=dict)
    other_secrets: Collection[str] = ()
    """Names of the secrets of networks, which notifiers do not use."""
    is_complete: bool = True
    """Whether the file is valid. Only then is a name missing here certainly unknown."""
