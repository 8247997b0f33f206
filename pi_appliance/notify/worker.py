"""One round of delivery: send due messages, delay failed ones, and drop expired ones.

Delivery is at least once, because a message is recorded as sent after sending it.
A power cut in between causes a duplicate, recognizable by its run id.
"""

import asyncio
import contextlib
import logging
import os
import signal
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path
from random import Random, SystemRandom
from typing import Any, Protocol
from urllib.parse import urlsplit
from zoneinfo import ZoneInfo

from pi_appliance import plugins
from pi_appliance.config import secrets, units
from pi_appliance.config.binding import Tree, structure
from pi_appliance.config.loader import load_config, local_zone, read_yaml
from pi_appliance.config.model import Config, Event, Message, NotifierConfig, OutboxMessage, PluginConfig
from pi_appliance.config.secrets import secret_names, secret_names_in
from pi_appliance.errors import ApplianceError, ConfigError, Refused, Unavailable, UnknownName
from pi_appliance.jobs import attempts
from pi_appliance.jobs.notifications import worker_command
from pi_appliance.notify import messages
from pi_appliance.scheduling.appliance import refuse_as_root
from pi_appliance.storage.backup import open_history
from pi_appliance.storage.history import Store
from pi_appliance.storage.queues import MAX_WAIT, SENT_WINDOW, Outbox
from pi_appliance.system import clock, files, locks, process


def load_notifiers(path: Path) -> NotifierConfig:
    """Load the notification settings of the file `path`.

    Of an invalid file, only the valid parts are returned.
    """
    path = path.absolute()
    try:
        return _from_config(load_config(path))
    except ConfigError:
        pass
    try:
        tree = read_yaml(path)
    except ConfigError:
        tree = Tree(str(path))  # not YAML
    return _valid_settings(tree, path)


def _from_config(config: Config) -> NotifierConfig:
    return NotifierConfig(
        path=config.path,
        time_zone=config.time_zone,
        state_dir=config.state_dir,
        notifiers=config.notifiers,
        on_failure=config.notify.on_failure or (),
        pings={name: job.healthchecks_url for name, job in config.jobs.items() if job.healthchecks_url},
        other_secrets=secret_names(config),
    )


def _valid_settings(tree: Tree, path: Path) -> NotifierConfig:
    state = _at(tree.data, "state-dir", str)
    notify = _at(tree.data, "notify", Mapping)
    notifiers = {
        name: part
        for name, entry in (_at(tree.data, "notifiers", Mapping) or {}).items()
        if (part := _part(tree, name, entry, path.parent)) is not None
    }
    jobs = _at(tree.data, "jobs", Mapping) or {}
    return NotifierConfig(
        path=path,
        time_zone=_zone(_at(tree.data, "time-zone", str)),
        state_dir=path.parent / Path(state).expanduser() if state else None,
        notifiers=notifiers,
        on_failure=[name for name in notifiers if name in (_at(notify, "on-failure", list) or ())],
        pings={name: ping for name, job in jobs.items() if (ping := _at(job, "healthchecks-url", str))},
        is_complete=False,
    )


def _at(data: object, key: str, kind: type[Any]) -> Any:
    """Return the value of `key` in `data` if it has the type `kind`, else None."""
    value = data.get(key) if isinstance(data, Mapping) else None
    return value if isinstance(value, kind) else None


def _part(tree: Tree, name: str, entry: object, base: Path) -> PluginConfig | None:
    place = ("notifiers", name)
    part, _ = structure(tree, place, entry, PluginConfig, base)
    if part is None:
        return None
    try:
        module = plugins.load("notifiers", part.kind)
    except UnknownName:
        return None
    options, _ = structure(tree, (*place, "with"), part.options, module.Options, base)
    return None if options is None or options.check() else replace(part, options=options)


def _zone(name: str | None) -> ZoneInfo:
    for each in (name, local_zone()):
        try:
            return ZoneInfo(each or "")
        except (KeyError, ValueError, OSError):
            continue
    return ZoneInfo("UTC")


log = logging.getLogger("pi_appliance.notify")
ONE_SEND = 30.0  # seconds that one message may take
_ONE_PING = 10.0
_FIRST_WAIT = timedelta(minutes=1)
_GIVEN_UP = timedelta(days=3)
_FEWEST_TRIES = 10  # before it is given up: a letter may look old because the clock was wrong when it was written
_MOST = 5  # messages that one notice carries within WINDOW; more are told in one
_PINGS = {Event.PING_SUCCESS: "", Event.PING_FAIL: "fail"}


class Notifier(Protocol):
    """A channel for messages to the owner."""

    def send(self, message: Message, event: Event) -> None:
        """Send MESSAGE; EVENT is what it tells of. Raises Unavailable or Refused, in words that hold no address."""


def connect(to: NotifierConfig, notice: str, secrets: Mapping[str, str]) -> Notifier:
    """Return the notice of that name, which the file must have. Raises Refused if it cannot be used as it stands."""
    part = to.notifiers[notice]
    made: Notifier = plugins.load("notifiers", part.kind).connect(part.options, secrets)
    return made


class DeliveryBatch:
    """What is due in a store, sent to whom the file names. No send begins when the clock STEADY is past UNTIL."""

    def __init__(
        self,
        to: NotifierConfig,
        store: Store,
        *,
        host: str,
        random: Random,
        now: Callable[[], datetime],
        until: float = float("inf"),
        steady: Callable[[], float] = time.monotonic,
    ) -> None:
        self._to, self._store, self._outbox, self._host = to, store, Outbox(store), host
        self._random, self._now, self._until, self._steady = random, now, until, steady
        self._secrets: Mapping[str, str] = {}
        self._secret = b""

    def send(self, secrets: Mapping[str, str], secret: bytes) -> None:
        """Send all that is due, as far as there is time. What goes wrong with one is no trouble to the others.

        SECRETS fill the addresses; SECRET is that of the installation, for the names that runs have in pings. Raises
        Unavailable if the store takes no note.
        """
        self._secrets, self._secret = secrets, secret
        due: dict[str, list[OutboxMessage]] = {}
        for letter in self._outbox.due(self._now()):
            due.setdefault(letter.notifier, []).append(letter)
        due_pings = due.pop("", [])
        for notice, letters in due.items():
            if notice in self._to.notifiers:
                self._notice(notice, letters)
            else:
                self._gone(letters)
        self._pings(due_pings)  # last: nobody reads them

    def hold(self, why: str) -> None:
        """Let all that is due wait, because of WHY."""
        self._not_sent(self._outbox.due(self._now()), why)

    # --- notices -----------------------------------------------------------------------------------------------------

    def _notice(self, notice: str, letters: Sequence[OutboxMessage]) -> None:
        parcels = self._parcels(notice, letters)
        for number, parcel in enumerate(parcels):
            if self._steady() >= self._until:
                return
            message, event = self._message(parcel), parcel[0].event
            trouble = self._try(parcel, lambda: self._send(notice, message, event))  # noqa: B023 - called at once
            if trouble:  # the others would fare no better
                self._not_sent([letter for rest in parcels[number + 1 :] for letter in rest], str(trouble))
                return

    def _parcels(self, notice: str, letters: Sequence[OutboxMessage]) -> list[list[OutboxMessage]]:
        """Group the due messages; those above the limit wait, to avoid a flood."""
        own = [[letter] for letter in letters if letter.event is Event.CUSTOM]
        others = [letter for letter in letters if letter.event is not Event.CUSTOM]
        carried = self._outbox.carried(notice, self._now())
        room = _MOST - len(carried)
        if len(others) <= room:
            return own + [[letter] for letter in others]
        if room > 0:
            return [*own, others]
        self._outbox.postpone(others, carried[0] + SENT_WINDOW, why="it carried enough for a while", tried=False)
        return own

    def _send(self, notice: str, message: Message, event: Event) -> None:
        with files.time_limit(ONE_SEND):
            connect(self._to, notice, self._secrets).send(message, event)

    def _message(self, parcel: Sequence[OutboxMessage]) -> Message:
        if parcel[0].event is Event.CUSTOM:
            return parcel[0].message
        news = [self._news(letter) for letter in parcel]
        if len(news) > 1:
            return messages.digest(news, host=self._host)
        return messages.message(news[0], host=self._host, zone=self._to.time_zone)

    def _news(self, letter: OutboxMessage) -> messages.JobEvent:
        failures, since, log_path = 0, None, self._store.path.parent / "logs" / letter.job / f"{letter.run}.log"
        if letter.event is Event.RECOVERY:
            failures, since = self._outbox.failures_before(letter.job, letter.run)
        return messages.JobEvent(
            event=letter.event,
            job=letter.job,
            number=letter.run,
            run=self._store.find_run(letter.run),
            log=files.read_log(log_path) if letter.event in (Event.FAILURE, Event.PING_FAIL) else "",
            failures=failures,
            since=since,
        )

    # --- pings -------------------------------------------------------------------------------------------------------

    def _pings(self, letters: Sequence[OutboxMessage]) -> None:
        away: dict[str, str] = {}  # hosts that were not reached, and why
        for letter in letters:
            address = self._to.pings.get(letter.job, "")
            host = urlsplit(address).netloc or address
            if not address:
                self._gone([letter])
            elif host in away:
                self._not_sent([letter], away[host])
            elif self._steady() < self._until:
                trouble = self._try([letter], lambda: self._ping(address, letter))  # noqa: B023 - called at once
                if trouble and not isinstance(trouble, Refused):
                    away[host] = str(trouble)

    def _ping(self, address: str, letter: OutboxMessage) -> None:
        body = messages.ping_text(self._news(letter))
        rid = attempts.run_id(self._secret, letter.run)
        with files.time_limit(ONE_SEND):
            attempts.call(address, _PINGS[letter.event], body, secrets=self._secrets, rid=rid, seconds=_ONE_PING)

    # --- one try -----------------------------------------------------------------------------------------------------

    def _try(self, letters: Sequence[OutboxMessage], send: Callable[[], None]) -> ApplianceError | None:
        """Send LETTERS by SEND, note what became of it, and return what SEND raised.

        The next try is noted before this one: where nothing can be written, nothing is sent anew each minute.
        """
        self._wait(letters, "it was cut off while it was sent")
        try:
            send()
        except ApplianceError as error:
            self._not_sent(letters, str(error), noted=True)
            return error
        self._outbox.sent(letters, now=self._now())
        log.info(
            "%s: sent: %s", _recipient_key(letters[0]), ", ".join(f"{each.job} run {each.run}" for each in letters)
        )
        return None

    def _gone(self, letters: Sequence[OutboxMessage]) -> None:
        """Let go of letters to whom the file does not name any more; not of those that it cannot name just now."""
        if self._to.is_complete:
            log.warning("%s: not in the file any more; %d dropped", _recipient_key(letters[0]), len(letters))
            self._outbox.drop(letters)
        else:
            self._not_sent(letters, "the configuration is wrong; see: pi-appliance config check")

    def _not_sent(self, letters: Sequence[OutboxMessage], why: str, *, noted: bool = False) -> None:
        """Let LETTERS wait, or give them up after days. NOTED: that they were tried is noted already."""
        now = self._now()
        old = [each for each in letters if now - each.created_at > _GIVEN_UP]
        given_up = [each for each in old if each.attempts + 1 >= _FEWEST_TRIES]
        if given_up:
            after = units.format_duration(_GIVEN_UP)
            log.warning("%s: %d given up after %s: %s", _recipient_key(given_up[0]), len(given_up), after, why)
            self._outbox.drop(given_up)
        self._wait([letter for letter in letters if letter not in given_up], why, tried=not noted)

    def _wait(self, letters: Sequence[OutboxMessage], why: str, *, tried: bool = True) -> None:
        if letters:
            tries = max(letter.attempts for letter in letters) + 1
            wait = clock.retry_delay(tries, first=_FIRST_WAIT, at_most=MAX_WAIT, random=self._random)
            self._outbox.postpone(letters, self._now() + wait, why=why, tried=tried)


def _recipient_key(letter: OutboxMessage) -> str:
    return f"notice {letter.notifier}" if letter.notifier else f"ping of {letter.job}"


def main(argv: list[str]) -> None:
    """Send all that is due, unless another is at it. What the owner should know goes to standard error."""
    parent, config, state = argv
    signal.signal(signal.SIGHUP, lambda *_: os.killpg(0, signal.SIGKILL))  # with the programs that send
    process.die_with_parent(signal.SIGHUP)
    if os.getppid() != int(parent):  # it died before we asked
        sys.exit(1)
    logging.basicConfig(level=logging.WARNING, format="%(message)s")
    try:
        deliver_due(Path(config), Path(state), until=time.monotonic() + ONE_SEND)
    except (ApplianceError, OSError) as error:
        log.warning("notifications are not sent: %s", error)
        sys.exit(getattr(error, "exit_status", 1))


def deliver_due(config: Path, state: Path, *, until: float) -> None:
    """Send what is due in STATE to whom CONFIG names; nothing begins when the clock is past UNTIL.

    Raises Unavailable if the state is no use.
    """
    with open_history(state) as store:
        outbox = Outbox(store)
        # Once more after the lock is free: who came meanwhile found it taken, and counts on us.
        while outbox.is_due(clock.now()) and time.monotonic() < until:
            with locks.acquire(state / "outbox.lock") as lock:
                if lock is None:
                    return
                _send_once(load_notifiers(config), store, until)


def _send_once(to: NotifierConfig, store: Store, until: float) -> None:
    once = DeliveryBatch(to, store, host=os.uname().nodename, random=SystemRandom(), now=clock.now, until=until)
    try:
        known = load_secrets(to)
    except ApplianceError as error:
        once.hold(str(error))
    else:
        once.send(known, (store.path.parent / "secret.key").read_bytes())


def load_secrets(to: NotifierConfig) -> secrets.Secrets:
    """Return all secrets there are, so that a program which sends gets none. Raises as `secrets.load` does."""
    named = [name for part in to.notifiers.values() for name in part.options.names()]
    named += [name for ping in to.pings.values() for name in secret_names_in(ping)]
    return secrets.load(to.path, os.environ, {*named, *to.other_secrets, *secrets.secret_variables(os.environ, ())})


def deliver_now(to: NotifierConfig, notice: str, message: Message, known: Mapping[str, str]) -> None:
    """Send MESSAGE to NOTICE, past the outbox, with the secrets KNOWN. Raises Refused, Unavailable or OutOfTime."""
    with files.time_limit(ONE_SEND):
        connect(to, notice, known).send(message, Event.CUSTOM)


def enqueue(to: NotifierConfig, notice: str, message: Message) -> None:
    """Let MESSAGE wait for NOTICE. Raises Unavailable if there is no state folder that takes it; Refused as root."""
    if to.state_dir is None or not to.state_dir.is_dir():
        raise Unavailable("the message cannot be stored: the state folder of the configuration does not exist")
    refuse_as_root(to.state_dir)
    with open_history(to.state_dir) as store:
        Outbox(store).put(notice, message, now=clock.now())


if __name__ == "__main__":
    main(sys.argv[1:])


_REST = 60.0  # seconds between two of them, whatever became of the first


class OutboxDispatcher:
    """Starts the process when something is due. For the daemon: call `look` at each of its rounds."""

    def __init__(
        self,
        config: Path,
        state: Path,
        outbox: Outbox,
        *,
        now: Callable[[], datetime] = clock.now,
        steady: Callable[[], float] = time.monotonic,
    ) -> None:
        self._argv, self._outbox, self._now, self._steady = worker_command(config, state), outbox, now, steady
        self._rests_until = float("-inf")
        self._said = ""
        self._going_on: asyncio.Task[None] | None = None

    async def look(self) -> None:
        """Start it if something is due and none of ours goes on. Costs one look at a table that is mostly empty."""
        if self._going_on or self._steady() < self._rests_until:
            return
        try:
            if self._outbox.is_due(self._now()):
                self._going_on = asyncio.create_task(self._until_it_ends(await self._start()))
        except (ApplianceError, OSError) as error:
            self._rest(f"notifications are not sent: {error}")

    async def _start(self) -> asyncio.subprocess.Process:
        return await asyncio.create_subprocess_exec(
            *self._argv,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.DEVNULL,
            stderr=asyncio.subprocess.PIPE,
            start_new_session=True,  # it ends its whole group when we die
        )

    async def _until_it_ends(self, child: asyncio.subprocess.Process) -> None:
        said = b""
        try:
            _, said = await child.communicate()
        finally:
            if child.returncode is None:  # we are to stop
                with contextlib.suppress(ProcessLookupError):
                    child.terminate()
                await child.wait()
            self._going_on = None
            self._rest(said.decode(errors="replace").strip())

    def _rest(self, said: str) -> None:
        """Do nothing for a while. What is SAID again and again is told once."""
        self._rests_until = self._steady() + _REST
        if said and said != self._said:
            log.warning("%s", said)
        self._said = said

    async def stop(self) -> None:
        """End what goes on. What it has not sent waits for the next start."""
        if self._going_on:
            self._going_on.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._going_on
