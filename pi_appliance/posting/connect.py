"""Connects a network, whoever wants to post: its secrets are all there, and whatever it says holds none of them."""

import contextlib
import logging
import sys
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from pi_appliance import plugins
from pi_appliance.config.model import Config, NetworkDirs, PluginConfig
from pi_appliance.config.redaction import SHORTEST, Redactor
from pi_appliance.config.secrets import missing
from pi_appliance.errors import Refused, UnknownName
from pi_appliance.posting.interface import Network, PostLimits
from pi_appliance.posting.model import Post, Sent


def part_of(config: Config, name: str) -> PluginConfig:
    """Return the network called NAME in CONFIG. Raises UnknownName."""
    if name not in config.networks:
        raise UnknownName("network", name, tuple(config.networks))
    return config.networks[name]


def connect(config: Config, name: str, secrets: Mapping[str, str], *, private: Path | None = None) -> Network:
    """Return the network NAME of CONFIG, connected with its own of SECRETS. What it remembers is in PRIVATE, if given.

    Neither its errors nor anybody's log hold a secret. Raises UnknownName; Refused where one is missing, or a program
    that it needs is not installed; and what its kind raises.
    """
    part = part_of(config, name)
    if lack := missing(part, secrets):
        raise Refused(f"{lack}; run: pi-appliance networks login {name}")
    redactor = Redactor(value for value in secrets.values() if len(value) >= SHORTEST)
    keep_out_of_logs(redactor)
    place = config.network_dirs(name)
    place = NetworkDirs(private or place.private, place.public)
    with installed(part.kind), redact_errors(redactor):
        network: Network = plugins.load("networks", part.kind).connect(part.options, secrets, place)
    return _RedactingNetwork(network, redactor)


@contextlib.contextmanager
def installed(kind: str) -> Iterator[None]:
    """Raise Refused, with what to do, where the block finds that something which KIND needs is not installed."""
    try:
        yield
    except ModuleNotFoundError as error:
        install = f"{sys.executable} -m pip install {error.name}"
        raise Refused(f"{kind} needs {error.name}, which is not installed; run: {install}") from None


@contextlib.contextmanager
def redact_errors(redactor: Redactor) -> Iterator[None]:
    """Take what REDACTOR knows out of whatever error the block ends with."""
    try:
        yield
    except Exception as error:
        for each in _chain(error):
            each.args = tuple(redactor.heard(arg) if isinstance(arg, str) else arg for arg in each.args)
        raise


def keep_out_of_logs(redactor: Redactor) -> None:
    """Take what REDACTOR knows out of all that is logged in this process from now on, at any level.

    Libraries log what they send when somebody asks for it; and what a run logs is kept with it.
    """
    make = logging.getLogRecordFactory()

    def made(*args: Any, **more: Any) -> logging.LogRecord:
        record = make(*args, **more)
        with contextlib.suppress(TypeError, ValueError):  # arguments that do not fit are told by who prints it
            record.msg, record.args = redactor.heard(record.getMessage()), ()
        if record.exc_info:
            record.exc_text = redactor.heard(logging.Formatter().formatException(record.exc_info))
        return record

    logging.setLogRecordFactory(made)


class _RedactingNetwork:
    """A network whose errors hold no secret: not even where it was the other side that repeated it."""

    def __init__(self, network: Network, redactor: Redactor) -> None:
        self._network, self._redactor = network, redactor

    @property
    def rules(self) -> PostLimits:
        with redact_errors(self._redactor):
            return self._network.rules

    @property
    def idempotent(self) -> bool:
        return self._network.idempotent

    def post(self, post: Post, *, key: str, after: Sequence[Sent] = ()) -> Sent:
        with redact_errors(self._redactor):
            return self._network.post(post, key=key, after=after)

    def look(self, post: Post, *, key: str, known: Collection[str], since: str = "") -> Sent | None:
        with redact_errors(self._redactor):
            return self._network.look(post, key=key, known=known, since=since)

    def whoami(self) -> str:
        with redact_errors(self._redactor):
            return self._network.whoami()


def _chain(error: BaseException | None) -> Iterable[BaseException]:
    """Yield ERROR and what led to it, as a traceback shows them."""
    seen = set[int]()
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        yield error
        error = error.__cause__ or error.__context__
