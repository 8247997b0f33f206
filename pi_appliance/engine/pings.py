"""The pings of a run: who watches from outside hears that it starts, and by the outbox how it ended."""

import logging
import os
import threading
import uuid
from collections.abc import Mapping

from pi_appliance.core import addresses
from pi_appliance.engine.assemble import Appliance
from pi_appliance.errors import ApplianceError, Refused
from pi_appliance.model.config import Job
from pi_appliance.system import pings, secrets

log = logging.getLogger("pi_appliance.pings")
_PATIENCE = 5.0  # seconds; no run waits longer for who watches it


class Start:
    """The word that a run starts: sent aside, while the run begins. Nothing that goes wrong with it is the run's."""

    def __init__(self, appliance: Appliance, job: Job, run: int) -> None:
        """Begin to send it, if JOB wants it."""
        self._thread: threading.Thread | None = None
        if job.ping:
            self._thread = threading.Thread(target=_start, args=(appliance, job.ping, run), daemon=True)
            self._thread.start()

    def wait(self) -> None:
        """Wait until it is sent, but not for long: the word that the run has ended must not come before it."""
        if self._thread:
            self._thread.join(_PATIENCE)


def _start(appliance: Appliance, address: str, run: int) -> None:
    try:
        path = appliance.config.path
        found = secrets.load(path, os.environ, addresses.names(address))
        call(address, "start", secrets=found, rid=run_id(appliance.secret, run), seconds=_PATIENCE)
    except ApplianceError as error:
        log.info("run=%s its start was not pinged: %s", run, error)


def call(address: str, what: str, body: str = "", *, secrets: Mapping[str, str], rid: str, seconds: float) -> None:
    """Ping ADDRESS, filled with SECRETS. Raises Refused or Unavailable."""
    if missing := addresses.missing(address, secrets):
        raise Refused(f"no {', '.join(missing)} among the secrets; put it into secrets.env")
    pings.send(addresses.fill(address, secrets), what, body, rid=rid, seconds=seconds)


def run_id(secret: bytes, run: int) -> str:
    """Return the name that RUN has for who watches: the same at its start and its end, and nobody else's."""
    return str(uuid.uuid5(uuid.UUID(bytes=secret[:16]), str(run)))
