"""Starts the process that sends waiting notifications."""

import logging
import os
import sys
from pathlib import Path

from pi_appliance.errors import ApplianceError
from pi_appliance.scheduling.appliance import Appliance
from pi_appliance.storage.queues import Outbox
from pi_appliance.system import clock, process

log = logging.getLogger("pi_appliance.notices")
_TIMEOUT = 60.0  # seconds


def worker_command(config: Path, state_dir: Path) -> list[str]:
    """Return the command of the process that sends waiting notifications. It ends with this process."""
    return [sys.executable, "-m", "pi_appliance.notify.worker", str(os.getpid()), str(config), str(state_dir)]


def deliver_notifications(appliance: Appliance) -> None:
    """Send waiting notifications at the end of a run, for at most a minute. Errors are logged.

    Notifications that could not be sent wait for the daemon or the next run.
    """
    output = bytearray()
    try:
        if Outbox(appliance.store).is_due(clock.now()):
            with process.StopSignal().installed() as stop:
                process.run_child(
                    worker_command(appliance.config.path, appliance.config.state_dir),
                    stop=stop,
                    seconds=_TIMEOUT,
                    on_output=output.extend,
                    on_line=lambda _: None,
                )
    except (ApplianceError, OSError) as error:
        output += f"notifications cannot be sent: {error}".encode()
    if output:
        log.warning("%s", output.decode(errors="replace").strip())
