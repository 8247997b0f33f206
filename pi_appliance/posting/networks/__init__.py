"""Social networks: connect one of the configuration, and keep its secrets out of errors and logs.

The plug-ins are the modules of this package, one for each kind. Those that start with `_` are
helpers.
"""

import contextlib
import json
import logging
import sys
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any

from pi_appliance import plugins
from pi_appliance.config.model import Config, NetworkDirs, PluginConfig
from pi_appliance.config.secrets import SHORTEST, Redactor, missing
from pi_appliance.errors import Refused, Unavailable, UnknownName
from pi_appliance.posting.model import Network, Post, PostLimits, SentPost
from pi_appliance.system import files

CHECK_ACCOUNT = "check the account before you post it again"


def save_private(path: Path, content: Mapping[str, Any]) -> None:
    """Write `content` to `path` as JSON, readable for the service only.

    Errors are ignored: without the file a network asks again, and posting still works.
    """
    with contextlib.suppress(OSError, Unavailable):
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        files.write_file(path, json.dumps(content).encode(), mode=0o600)


def network_config(config: Config, name: str) -> PluginConfig:
    """Return the configuration of the network `name`. Raises UnknownName."""
    if name not in config.networks:
        raise UnknownName("network", name, tuple(config.networks))
    return config.networks[name]


def post_limits(config: Config, name: str) -> PostLimits:
    """Return the limits of the network `name`, without connecting. Raises UnknownName."""
    part = network_config(config, name)
    limits: PostLimits = plugins.load("networks", part.kind).post_limits(part.options, config.network_dirs(name))
    return limits


def connect(config: Config, name: str, secrets: Mapping[str, str], *, private: Path | None = None) -> Network:
    """Connect the network `name`. Its errors and all logs are free of secrets.

    Args:
        secrets: All secrets; the network gets its own.
        private: Directory for the network's own state, in place of the configured one.

    Raises:
        UnknownName: The network does not exist.
        Refused: A secret is missing, or a library is not installed.
    """
    part = network_config(config, name)
    if lack := missing(part, secrets):
        raise Refused(f"{lack}; run: pi-appliance networks login {name}")
    redactor = Redactor(value for value in secrets.values() if len(value) >= SHORTEST)
    redact_logs(redactor)
    dirs = config.network_dirs(name)
    dirs = NetworkDirs(private or dirs.private, dirs.public)
    with require_installed(part.kind), redact_errors(redactor):
        network: Network = plugins.load("networks", part.kind).connect(part.options, secrets, dirs)
    return _RedactingNetwork(network, redactor)


@contextlib.contextmanager
def require_installed(kind: str) -> Iterator[None]:
    """Convert ModuleNotFoundError to Refused with the command that installs the library."""
    try:
        yield
    except ModuleNotFoundError as error:
        install = f"{sys.executable} -m pip install {error.name}"
        raise Refused(f"{kind} needs {error.name}, which is not installed; run: {install}") from None


@contextlib.contextmanager
def redact_errors(redactor: Redactor) -> Iterator[None]:
    """Remove secrets from the error that the block raises, and from its causes."""
    try:
        yield
    except Exception as error:
        for each in _error_chain(error):
            each.args = tuple(redactor.redact_message(arg) if isinstance(arg, str) else arg for arg in each.args)
        raise


def redact_logs(redactor: Redactor) -> None:
    """Remove secrets from all later log records: libraries log their requests."""
    make = logging.getLogRecordFactory()

    def make_redacted(*args: Any, **named: Any) -> logging.LogRecord:
        record = make(*args, **named)
        with contextlib.suppress(TypeError, ValueError):  # the handler reports arguments that do not fit
            record.msg, record.args = redactor.redact_message(record.getMessage()), ()
        if record.exc_info:
            record.exc_text = redactor.redact_message(logging.Formatter().formatException(record.exc_info))
        return record

    logging.setLogRecordFactory(make_redacted)


class _RedactingNetwork:
    """A network whose errors are free of secrets, even if the server repeats one."""

    def __init__(self, network: Network, redactor: Redactor) -> None:
        self._network, self._redactor = network, redactor

    @property
    def limits(self) -> PostLimits:
        with redact_errors(self._redactor):
            return self._network.limits

    @property
    def idempotent(self) -> bool:
        return self._network.idempotent

    @property
    def search_lag(self) -> timedelta:
        return self._network.search_lag

    def post(self, post: Post, *, key: str, thread: Sequence[SentPost] = ()) -> SentPost:
        with redact_errors(self._redactor):
            return self._network.post(post, key=key, thread=thread)

    def find_post(self, post: Post, *, key: str, known_ids: Collection[str], since_id: str = "") -> SentPost | None:
        with redact_errors(self._redactor):
            return self._network.find_post(post, key=key, known_ids=known_ids, since_id=since_id)

    def whoami(self) -> str:
        with redact_errors(self._redactor):
            return self._network.whoami()


def _error_chain(error: BaseException | None) -> Iterable[BaseException]:
    """Yield `error` and its causes, as a traceback shows them."""
    visited = set[int]()
    while error is not None and id(error) not in visited:
        visited.add(id(error))
        yield error
        error = error.__cause__ or error.__context__
