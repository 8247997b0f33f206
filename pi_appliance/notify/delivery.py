"""Delivery of notifications: the daemon starts a process that sends the due messages.

Delivery is at least once, because a message is recorded as sent after sending it. A power cut in
between causes a duplicate, recognizable by its run id. Which results are reported is decided by
`storage/notification_rules.py`, in the transaction that ends a run.
"""

import asyncio
import contextlib
import logging
import os
import signal
import sys
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from random import Random, SystemRandom
from typing import Any, Protocol
from urllib.parse import urlsplit
from zoneinfo import ZoneInfo

from pi_appliance import plugins
from pi_appliance.config import page_address, secrets, units
from pi_appliance.config.loader import load_config, load_plugin, load_usable, local_zone, read_yaml
from pi_appliance.config.options import Config, PluginConfig, Web
from pi_appliance.config.secrets import secret_names, secret_names_in
from pi_appliance.config.yaml_tree import Tree
from pi_appliance.errors import ApplianceError, ConfigError, Refused, Unavailable, UnknownName
from pi_appliance.jobs import pings
from pi_appliance.notify import messages
from pi_appliance.scheduling.appliance import refuse_as_root
from pi_appliance.storage.history import Store, open_history
from pi_appliance.storage.model import Event, Message, OutboxMessage
from pi_appliance.storage.notification_rules import MAX_WAIT, SENT_WINDOW, Outbox
from pi_appliance.storage.run_log import read_log
from pi_appliance.system import clock, files, network, process_tree
from pi_appliance.system.backoff import retry_delay


@dataclass(frozen=True, slots=True, kw_only=True)
class NotifierConfig:
    """The notification settings, also those usable in an otherwise invalid file."""

    path: Path
    time_zone: ZoneInfo
    name: str = ""
    """The name of the appliance in its messages; "" stands for the host name."""
    state_dir: Path | None = None
    notifiers: Mapping[str, PluginConfig] = field(default_factory=dict)
    on_failure: Sequence[str] = ()
    pings: Mapping[str, str] = field(default_factory=dict)
    other_secrets: Collection[str] = ()
    """Names of the secrets of networks, which notifiers do not use."""
    page: str = ""
    """The address of the page for phones; "" if they cannot reach it."""
    is_complete: bool = True
    """Whether the file is valid. Only then is a name missing here certainly unknown."""


def load_notifiers(path: Path, state_dir: Path | None = None) -> NotifierConfig:
    """Load the notification settings of the file `path`.

    If it is invalid, those parts that are valid.

    With the `state_dir` of the daemon, the last good copy replaces an invalid file.
    """
    path = path.absolute()
    try:
        return _from_config(load_usable(path, state_dir) if state_dir else load_config(path))
    except ConfigError:
        pass
    try:
        tree = read_yaml(path)
    except ConfigError:
        tree = Tree(str(path))  # the file is not YAML
    return _valid_settings(tree, path)


def _from_config(config: Config) -> NotifierConfig:
    return NotifierConfig(
        path=config.path,
        time_zone=config.time_zone,
        name=config.name,
        state_dir=config.state_dir,
        notifiers=config.notifiers,
        on_failure=config.notify.on_failure or (),
        pings={name: job.healthchecks_url for name, job in config.jobs.items() if job.healthchecks_url},
        other_secrets=secret_names(config),
        page=_page_for_phones(config.web),
    )


def _page_for_phones(web: Web) -> str:
    try:
        return page_address.addresses(web)[0]
    except ApplianceError:
        return ""


def _valid_settings(tree: Tree, path: Path) -> NotifierConfig:
    state = _at(tree.data, "state-dir", str)
    notify = _at(tree.data, "notify", Mapping)
    notifiers = {
        name: part
        for name, entry in (_at(tree.data, "notifiers", Mapping) or {}).items()
        if (part := load_plugin("notifiers", entry, path.parent)) is not None
    }
    jobs = _at(tree.data, "jobs", Mapping) or {}
    return NotifierConfig(
        path=path,
        time_zone=_zone(_at(tree.data, "time-zone", str)),
        name=_at(tree.data, "name", str) or "",
        state_dir=path.parent / os.path.expanduser(state) if state else None,  # noqa: PTH111 - pathlib raises without a home
        notifiers=notifiers,
        on_failure=[name for name in notifiers if name in (_at(notify, "on-failure", list) or ())],
        pings={name: ping for name, job in jobs.items() if (ping := _at(job, "healthchecks-url", str))},
        is_complete=False,
    )


def _at(data: object, key: str, kind: type[Any]) -> Any:
    """Return the value of `key` in `data` if it has the type `kind`, else None."""
    value = data.get(key) if isinstance(data, Mapping) else None
    return value if isinstance(value, kind) else None


def _zone(name: str | None) -> ZoneInfo:
    for each in (name, local_zone()):
        try:
            return ZoneInfo(each or "")
        except (KeyError, ValueError, OSError):
            continue
    return ZoneInfo("UTC")


log = logging.getLogger("pi_appliance.notify")
SEND_TIMEOUT = 30.0  # seconds for one message
_PING_TIMEOUT = 10.0  # seconds for one ping
_FIRST_WAIT = timedelta(minutes=1)
_MAX_AGE = timedelta(days=3)
_MIN_ATTEMPTS = 10  # attempts before a message is dropped: with a wrong clock it may only look old
_MAX_MESSAGES = 5  # messages of one notifier within SENT_WINDOW; further events are combined into one
_PING_SUFFIXES = {Event.PING_SUCCESS: "", Event.PING_FAIL: "fail"}
_REST = 60.0  # seconds between two processes that send


class Notifier(Protocol):
    """A channel for messages to the owner."""

    def send(self, message: Message, event: Event) -> None:
        """Send `message`, which reports `event`.

        Raises:
            Unavailable: It may work later. The text contains nothing of the address.
            Refused: It will not work. The text contains nothing of the address.
        """


def connect(settings: NotifierConfig, name: str, secrets: Mapping[str, str]) -> Notifier:
    """Return the notifier `name` of `settings`. Raises `Refused` if its options are invalid."""
    part = settings.notifiers[name]
    notifier: Notifier = plugins.load("notifiers", part.kind).connect(part.options, secrets)
    return notifier


class DeliveryBatch:
    """One round of delivery of the due messages in `store`. None is started after `until`."""

    def __init__(
        self,
        settings: NotifierConfig,
        store: Store,
        *,
        host: str,
        random: Random,
        now: Callable[[], datetime],
        until: float = float("inf"),
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._settings, self._store, self._outbox, self._host = settings, store, Outbox(store), host
        self._random, self._now, self._until, self._monotonic = random, now, until, monotonic
        self._secrets: Mapping[str, str] = {}
        self._run_secret = b""

    def send(self, secrets: Mapping[str, str], run_secret: bytes) -> None:
        """Send the due messages. An error of one notifier does not affect the others.

        Args:
            secrets: The secrets for the addresses.
            run_secret: The secret of the installation, from which the run ids in pings are made.

        Raises:
            Unavailable: The outbox cannot be written.
        """
        self._secrets, self._run_secret = secrets, run_secret
        due: dict[str, list[OutboxMessage]] = {}
        for each in self._outbox.due(self._now()):
            due.setdefault(each.notifier, []).append(each)
        pings = due.pop("", [])
        for name, queued in due.items():
            if name in self._settings.notifiers:
                self._send_queued(name, queued)
            else:
                self._drop_unknown(queued)
        self._send_pings(pings)  # after the messages, because no person reads them

    def postpone_all(self, reason: str) -> None:
        """Postpone all due messages because of `reason`."""
        self._postpone_or_drop(self._outbox.due(self._now()), reason)

    def _send_queued(self, name: str, queued: Sequence[OutboxMessage]) -> None:
        groups = self._group(name, queued)
        for number, group in enumerate(groups):
            if self._monotonic() >= self._until:
                return
            message, event = self._compose(group), group[0].event
            error = self._attempt(group, lambda: self._send_message(name, message, event))  # noqa: B023 - called at once
            if error:  # the other messages of this notifier would fail, too
                self._postpone_or_drop([each for rest in groups[number + 1 :] for each in rest], str(error))
                return

    def _group(self, name: str, queued: Sequence[OutboxMessage]) -> list[list[OutboxMessage]]:
        """Group the due messages.

        Messages above the limit wait, so that the owner is not flooded.
        """
        custom = [[each] for each in queued if each.event is Event.CUSTOM]
        events = [each for each in queued if each.event is not Event.CUSTOM]
        sent = self._outbox.sent_times(name, self._now())
        capacity = _MAX_MESSAGES - len(sent)
        if len(events) <= capacity:
            return custom + [[each] for each in events]
        if capacity > 0:
            return [*custom, events]
        self._outbox.postpone(events, sent[0] + SENT_WINDOW, why="it carried enough for a while", tried=False)
        return custom

    def _send_message(self, name: str, message: Message, event: Event) -> None:
        with clock.time_limit(SEND_TIMEOUT):
            connect(self._settings, name, self._secrets).send(message, event)

    def _compose(self, group: Sequence[OutboxMessage]) -> Message:
        if group[0].event is Event.CUSTOM:
            return group[0].message
        events = [self._job_event(each) for each in group]
        if len(events) > 1:
            return messages.digest(events, host=self._host, page=self._settings.page)
        settings = self._settings
        return messages.message(events[0], host=self._host, zone=settings.time_zone, page=settings.page)

    def _job_event(self, queued: OutboxMessage) -> messages.JobEvent:
        failures, since, log_path = 0, None, self._store.path.parent / "logs" / queued.job / f"{queued.run}.log"
        if queued.event is Event.RECOVERY:
            failures, since = self._outbox.failures_before(queued.job, queued.run)
        return messages.JobEvent(
            event=queued.event,
            job=queued.job,
            number=queued.run,
            run=self._store.find_run(queued.run),
            log=read_log(log_path) if queued.event in (Event.FAILURE, Event.PING_FAIL) else "",
            failures=failures,
            since=since,
        )

    def _send_pings(self, pings: Sequence[OutboxMessage]) -> None:
        unreachable: dict[str, str] = {}  # key: host; value: its error
        for ping in pings:
            address = self._settings.pings.get(ping.job, "")
            host = urlsplit(address).netloc or address
            if not address:
                self._drop_unknown([ping])
            elif host in unreachable:
                self._postpone_or_drop([ping], unreachable[host])
            elif self._monotonic() < self._until:
                error = self._attempt([ping], lambda: self._send_ping(address, ping))  # noqa: B023 - called at once
                if error and not isinstance(error, Refused):
                    unreachable[host] = str(error)

    def _send_ping(self, address: str, ping: OutboxMessage) -> None:
        body, suffix = messages.ping_text(self._job_event(ping)), _PING_SUFFIXES[ping.event]
        ping_id = pings.ping_id(self._run_secret, ping.run)
        with clock.time_limit(SEND_TIMEOUT):
            pings.ping(address, suffix, body, secrets=self._secrets, ping_id=ping_id, seconds=_PING_TIMEOUT)

    def _attempt(self, queued: Sequence[OutboxMessage], send: Callable[[], None]) -> ApplianceError | None:
        """Call `send`, record the result for the messages `queued`, and return the error.

        The time of the next attempt is recorded first. Without a database nothing is sent.
        """
        self._postpone(queued, "it was cut off while it was sent")
        try:
            send()
        except ApplianceError as error:
            self._postpone_or_drop(queued, str(error), counted=True)
            return error
        self._outbox.mark_sent(queued, now=self._now())
        log.info("%s: sent: %s", _recipient(queued[0]), ", ".join(f"{each.job} run {each.run}" for each in queued))
        return None

    def _drop_unknown(self, queued: Sequence[OutboxMessage]) -> None:
        """Drop messages whose notifier is not configured.

        If the file is invalid, they wait instead.
        """
        if self._settings.is_complete:
            log.warning("%s: no longer in the configuration; %d dropped", _recipient(queued[0]), len(queued))
            self._outbox.drop(queued)
        else:
            self._postpone_or_drop(queued, "the configuration is invalid; see: pi-appliance config check")

    def _postpone_or_drop(self, queued: Sequence[OutboxMessage], why: str, *, counted: bool = False) -> None:
        """Postpone `queued`, or drop messages that have failed for days.

        `counted` says that the attempt was recorded already.
        """
        now = self._now()
        old = [each for each in queued if now - each.created_at > _MAX_AGE and each.attempts + 1 >= _MIN_ATTEMPTS]
        if old:
            after = units.format_duration(_MAX_AGE)
            log.warning("%s: %d given up after %s: %s", _recipient(old[0]), len(old), after, why)
            self._outbox.drop(old)
        self._postpone([each for each in queued if each not in old], why, counts=not counted)

    def _postpone(self, queued: Sequence[OutboxMessage], why: str, *, counts: bool = True) -> None:
        if queued:
            attempt = max(each.attempts for each in queued) + 1
            wait = retry_delay(attempt, first=_FIRST_WAIT, at_most=MAX_WAIT, random=self._random)
            self._outbox.postpone(queued, self._now() + wait, why=why, tried=counts)


def _recipient(queued: OutboxMessage) -> str:
    return f"notifier {queued.notifier}" if queued.notifier else f"ping of {queued.job}"


def deliver_due(config: Path, state: Path, *, until: float) -> None:
    """Send the due messages in `state` to the notifiers of `config`. None starts after `until`.

    Raises:
        Unavailable: The state cannot be used.
    """
    with open_history(state) as store:
        outbox = Outbox(store)
        # Checked again after the lock is released: a process that found it locked relies on this
        # one.
        while outbox.is_due(clock.now()) and time.monotonic() < until:
            with files.acquire_lock(state / "outbox.lock") as lock:
                if lock is None:
                    return
                _deliver_batch(load_notifiers(config, state), store, until)


def _deliver_batch(settings: NotifierConfig, store: Store, until: float) -> None:
    host, random = settings.name or network.host_name(), SystemRandom()
    batch = DeliveryBatch(settings, store, host=host, random=random, now=clock.now, until=until)
    try:
        known = load_secrets(settings)
    except ApplianceError as error:
        batch.postpone_all(str(error))
    else:
        batch.send(known, (store.path.parent / "secret.key").read_bytes())


def load_secrets(settings: NotifierConfig) -> secrets.Secrets:
    """Return all secrets, so that programs do not inherit any. Raises as `secrets.load`."""
    named = [name for part in settings.notifiers.values() for name in part.options.names()]
    named += [name for ping in settings.pings.values() for name in secret_names_in(ping)]
    every = {*named, *settings.other_secrets, *secrets.secret_variables(os.environ, ())}
    return secrets.load(settings.path, os.environ, every)


def deliver_now(settings: NotifierConfig, names: Sequence[str], message: Message) -> dict[str, ApplianceError | None]:
    """Send `message` by each of `names` without the outbox, and return the errors by name.

    Raises:
        UnknownName: There is no such notifier. Nothing is sent.
    """
    for name in names:
        if name not in settings.notifiers:
            raise UnknownName("notifier", name, tuple(settings.notifiers))
    errors: dict[str, ApplianceError | None] = {}
    known = load_secrets(settings)
    for name in names:
        try:
            with clock.time_limit(SEND_TIMEOUT):
                connect(settings, name, known).send(message, Event.CUSTOM)
        except ApplianceError as error:
            errors[name] = error
        else:
            errors[name] = None
    return errors


def enqueue(settings: NotifierConfig, name: str, message: Message) -> None:
    """Queue `message` for the notifier `name`.

    Raises:
        Unavailable: There is no state folder, or it cannot be written.
        Refused: This user is root, and the state belongs to another user.
    """
    if settings.state_dir is None or not settings.state_dir.is_dir():
        raise Unavailable("the message cannot be stored: the state folder of the configuration does not exist")
    refuse_as_root(settings.state_dir)
    with open_history(settings.state_dir) as store:
        Outbox(store).put(name, message, now=clock.now())


class OutboxDispatcher:
    """Starts the worker process when a message is due. The daemon calls `check` regularly."""

    def __init__(
        self, config: Path, state: Path, outbox: Outbox, *, monotonic: Callable[[], float] = time.monotonic
    ) -> None:
        self._argv, self._outbox, self._monotonic = pings.worker_command(config, state), outbox, monotonic
        self._rest_until = float("-inf")
        self._last_warning = ""
        self._worker: asyncio.Task[None] | None = None

    async def check(self) -> None:
        """Start a process that sends if a message is due and no such process is active."""
        if self._worker or self._monotonic() < self._rest_until:
            return
        try:
            if self._outbox.is_due(clock.now()):
                self._worker = asyncio.create_task(self._wait_for_end(await self._start_worker()))
        except (ApplianceError, OSError) as error:
            self._pause(f"notifications are not sent: {error}")

    async def _start_worker(self) -> asyncio.subprocess.Process:
        return await asyncio.create_subprocess_exec(
            *self._argv,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.DEVNULL,
            stderr=asyncio.subprocess.PIPE,
            start_new_session=True,  # a group of its own, which it ends when the daemon dies
        )

    async def _wait_for_end(self, child: asyncio.subprocess.Process) -> None:
        output = b""
        try:
            _, output = await child.communicate()
        finally:
            if child.returncode is None:  # the daemon is stopping
                with contextlib.suppress(ProcessLookupError):
                    child.terminate()
                await child.wait()
            self._worker = None
            self._pause(output.decode(errors="replace").strip())

    def _pause(self, warning: str) -> None:
        """Start no process for a while, and log `warning` unless it was logged last."""
        self._rest_until = self._monotonic() + _REST
        if warning and warning != self._last_warning:
            log.warning("%s", warning)
        self._last_warning = warning

    async def stop(self) -> None:
        """Stop the worker. Unsent messages wait for the next start."""
        if self._worker:
            self._worker.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._worker


def main(argv: list[str]) -> None:
    """Send all due messages, unless another process does. Errors go to standard error."""
    parent, config, state = argv
    # the whole group, with the programs that send
    signal.signal(signal.SIGHUP, lambda *_: os.killpg(0, signal.SIGKILL))
    process_tree.die_with_parent(signal.SIGHUP)
    if os.getppid() != int(parent):  # the daemon died before the line above
        sys.exit(1)
    logging.basicConfig(level=logging.WARNING, format="%(message)s")
    try:
        deliver_due(Path(config), Path(state), until=time.monotonic() + SEND_TIMEOUT)
    except (ApplianceError, OSError) as error:
        log.warning("notifications are not sent: %s", error)
        sys.exit(getattr(error, "exit_status", 1))


if __name__ == "__main__":
    main(sys.argv[1:])
