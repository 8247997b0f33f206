"""Connect a network with its secrets, keep them out of errors and logs, and check the account.

`python -m pi_appliance.posting.connect CONFIG NAME...` prints the accounts as JSON.
"""

import contextlib
import hashlib
import json
import logging
import os
import sys
import tempfile
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from datetime import timedelta
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, TypedDict

from pi_appliance import plugins
from pi_appliance.config import secret_writer, secrets
from pi_appliance.config.loader import load_usable
from pi_appliance.config.model import Config, NetworkDirs, PluginConfig
from pi_appliance.config.secrets import SHORTEST, Redactor, Secrets, missing, of_network, secret_names
from pi_appliance.errors import ApplianceError, DeadlineExceeded, Refused, Unavailable, UnknownName
from pi_appliance.jobs.context import JobContext
from pi_appliance.jobs.reports import latest_report
from pi_appliance.posting.model import Network, Post, PostLimits, SentPost
from pi_appliance.posting.store import JobPostStore
from pi_appliance.storage.model import Report
from pi_appliance.system import files
from pi_appliance.system.systemd import Systemd

_TEST_TIMEOUT = 90.0  # seconds for one network; a single request has a shorter timeout


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


class PostingContext(JobContext):
    """The context of a run that may post."""

    @cached_property
    def posts(self) -> JobPostStore:
        """The posts of this job."""
        installation = hashlib.sha256(b"installation" + self.parameters.secret).hexdigest()[:8]
        return JobPostStore(self.store, self.job, self.run_id, self.clock, installation)

    def limits(self, name: str) -> PostLimits:
        """Return the limits and prices of the network `name`. Raises UnknownName."""
        return post_limits(self.config, name)

    def network(self, name: str) -> Network:
        """Connect the network `name`.

        Raises:
            UnknownName: The network does not exist.
            Refused: Secrets are missing; the message names them.
        """
        keys = secrets.load(self.config.path, self.parameters.environment, secret_names(self.config))
        return connect(self.config, name, keys)

    def latest_report(self, job: str, *, picture: bool = False, animation: bool = False) -> Report | None:
        """Return the report of the last successful run of `job`, or None without one.

        Raises:
            UnknownName: The job does not exist.
            Refused: The library that draws the `picture` or `animation` is not installed.
        """
        if job not in self.config.jobs:
            raise UnknownName("job", job, tuple(self.config.jobs))
        return latest_report(self.config, self.store, job, picture=picture, animation=animation)


def load_secrets(config: Config) -> Secrets:
    """Return the secrets as the service has them. Raises Refused."""
    return secret_writer.load(config.path, os.environ, secret_names(config), Systemd())


def check_account(config: Config, name: str, secrets: Mapping[str, str]) -> str:
    """Return the account of the network `name`, ignoring the state that it has saved.

    Raises:
        Refused, Unavailable, Uncertain: The secrets could not be checked.
    """
    with tempfile.TemporaryDirectory(prefix="pi-appliance-") as empty:
        try:
            with files.time_limit(_TEST_TIMEOUT):
                return connect(config, name, secrets, private=Path(empty)).whoami()
        except DeadlineExceeded as error:
            raise Unavailable(str(error)) from None


class NetworkTestJson(TypedDict):
    """The check of the secrets of a network."""

    network: str
    account: str | None
    error: str | None
    exit_status: Annotated[int, "0: accepted, 75: not reached, else: rejected"]
    needs_secrets: bool


def _test_network(config: Config, name: str) -> NetworkTestJson:
    account, reason, exit_status = None, None, 0
    try:
        account = check_account(config, name, load_secrets(config))
    except ApplianceError as error:
        reason, exit_status = str(error), error.exit_status
    return {
        "network": name,
        "account": account,
        "error": reason,
        "exit_status": exit_status,
        "needs_secrets": bool(of_network(config.networks[name])),
    }


def main(path: str, names: list[str]) -> None:
    """Print the result of each of `names` as JSON."""
    config = load_usable(Path(path))
    json.dump([_test_network(config, name) for name in names], sys.stdout)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
