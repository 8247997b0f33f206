"""Calls the courier from the daemon: when something is due, and not while one is on its way."""

import asyncio
import contextlib
import logging
import time
from collections.abc import Callable
from datetime import datetime
from pathlib import Path

from pi_appliance.engine.courier import argv_of
from pi_appliance.errors import ApplianceError
from pi_appliance.store.outbox import Outbox
from pi_appliance.system import clock

log = logging.getLogger("pi_appliance.notices")
_REST = 60.0  # seconds between two of them, whatever became of the first


class Courier:
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
        self._argv, self._outbox, self._now, self._steady = argv_of(config, state), outbox, now, steady
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
            self._rest(f"notices are not sent: {error}")

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
