"""The process that sends what is due: python -m pi_appliance.engine.courier PARENT CONFIG STATE; and who starts it.

What sending needs is loaded there and goes away with it. A run starts it at its end (cron has no daemon), the daemon
when something is due. One at a time: a second one finds the lock taken and leaves it to the first.
"""

import logging
import os
import signal
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from random import SystemRandom

from pi_appliance.config.addressees import addresses
from pi_appliance.core.addresses import names
from pi_appliance.engine.assemble import Appliance, refuse_as_root
from pi_appliance.engine.delivery import ONE_SEND, Round, connect
from pi_appliance.engine.mending import open_history
from pi_appliance.errors import ApplianceError, Unavailable
from pi_appliance.model.notice import Addresses, Event, Message
from pi_appliance.store.outbox import Outbox
from pi_appliance.store.sqlite import Store
from pi_appliance.system import alarm, clock, descendants, hiding, locks, process, secrets

log = logging.getLogger("pi_appliance.notices")
_AT_THE_END_OF_A_RUN = 60.0  # seconds that a run stays for what is to be sent


def main(argv: list[str]) -> None:
    """Send all that is due, unless another is at it. What the owner should know goes to standard error."""
    parent, config, state = argv
    signal.signal(signal.SIGHUP, lambda *_: os.killpg(0, signal.SIGKILL))  # with the programs that send
    descendants.die_with_parent(signal.SIGHUP)
    if os.getppid() != int(parent):  # it died before we asked
        sys.exit(1)
    logging.basicConfig(level=logging.WARNING, format="%(message)s")
    try:
        send_due(Path(config), Path(state), until=time.monotonic() + ONE_SEND)
    except (ApplianceError, OSError) as error:
        log.warning("notices are not sent: %s", error)
        sys.exit(getattr(error, "exit_status", 1))


def send_due(config: Path, state: Path, *, until: float) -> None:
    """Send what is due in STATE to whom CONFIG names; nothing begins when the clock is past UNTIL.

    Raises Unavailable if the state is no use.
    """
    with open_history(state) as store:
        outbox = Outbox(store)
        # Once more after the lock is free: who came meanwhile found it taken, and counts on us.
        while outbox.is_due(clock.now()) and time.monotonic() < until:
            with locks.taken(state / "notices.lock") as lock:
                if lock is None:
                    return
                _send_once(addresses(config), store, until)


def _send_once(to: Addresses, store: Store, until: float) -> None:
    once = Round(to, store, host=os.uname().nodename, random=SystemRandom(), now=clock.now, until=until)
    try:
        known = secrets_of(to)
    except ApplianceError as error:
        once.hold(str(error))
    else:
        once.send(known, (store.path.parent / "secret.key").read_bytes())


def secrets_of(to: Addresses) -> secrets.Secrets:
    """Return all secrets there are, so that a program which sends gets none. Raises as `secrets.load` does."""
    named = [name for part in to.notices.values() for name in part.with_.names()]
    named += [name for ping in to.pings.values() for name in names(ping)]
    return secrets.load(to.path, os.environ, {*named, *to.others, *hiding.ours(os.environ, ())})


def send_now(to: Addresses, notice: str, message: Message, known: Mapping[str, str]) -> None:
    """Send MESSAGE to NOTICE, past the outbox, with the secrets KNOWN. Raises Refused, Unavailable or OutOfTime."""
    with alarm.at_most(ONE_SEND):
        connect(to, notice, known).send(message, Event.WORDS)


def keep(to: Addresses, notice: str, message: Message) -> None:
    """Let MESSAGE wait for NOTICE. Raises Unavailable if there is no state folder that takes it; Refused as root."""
    if to.state is None or not to.state.is_dir():
        raise Unavailable("nothing can wait: the configuration names no state folder that is there")
    refuse_as_root(to.state)
    with open_history(to.state) as store:
        Outbox(store).put(notice, message, now=clock.now())


def argv_of(config: Path, state: Path) -> list[str]:
    """Return the command that sends what is due in STATE to whom CONFIG names, and ends with this process."""
    return [sys.executable, "-m", "pi_appliance.engine.courier", str(os.getpid()), str(config), str(state)]


def deliver(appliance: Appliance) -> None:
    """Send what is due, by a process that ends within a minute. For the end of a run: cron knows no daemon.

    What is not sent by then waits for the daemon, or for the next run. Nothing that goes wrong is the run's.
    """
    said = bytearray()
    try:
        if Outbox(appliance.store).is_due(clock.now()):
            with process.Stop().caught() as stop:
                process.watch(
                    argv_of(appliance.config.path, appliance.config.state),
                    stop=stop,
                    seconds=_AT_THE_END_OF_A_RUN,
                    on_output=said.extend,
                    on_line=lambda _: None,
                )
    except (ApplianceError, OSError) as error:
        said += f"notices are not sent: {error}".encode()
    if said:
        log.warning("%s", said.decode(errors="replace").strip())


if __name__ == "__main__":
    main(sys.argv[1:])
