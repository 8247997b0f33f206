"""Runs started by the daemon, each a process `pi-appliance jobs run NAME`."""

import asyncio
import contextlib
import logging
import os
import signal
import sys
from collections.abc import Callable, Collection
from pathlib import Path

from pi_appliance.errors import Unavailable
from pi_appliance.storage.model import RESUME, Trigger
from pi_appliance.system.runtime_socket import NO_HANDOVER

log = logging.getLogger("pi_appliance.runs")


class Runs:
    """Starts runs and knows which are active.

    Runs survive a killed daemon and record their result themselves.
    """

    def __init__(self, config: Path, *, on_end: Callable[[], None] = lambda: None) -> None:
        """Create it for the configuration file `config`. `on_end` is called after each run."""
        self._config, self._on_end = config, on_end
        self._going_on: dict[asyncio.Task[None], tuple[str, asyncio.subprocess.Process]] = {}
        self._starting = asyncio.Lock()
        self._closed = False

    async def start(
        self, job: str, trigger: Trigger, *, due: str | None = None, ended: Callable[[int], None] = lambda _: None
    ) -> None:
        """Start a run of `job` for the slot or request `due`, or to resume. It records its result itself.

        Args:
            job: the name of the job.
            trigger: what starts it.
            due: a slot, a request, `RESUME` or None.
            ended: receives the exit status, as long as this process lives.

        Raises:
            Unavailable: no process can be started, or the daemon is stopping.

        """
        argv = [
            sys.executable,
            "-m",
            "pi_appliance",
            "jobs",
            "run",
            job,
            "--trigger",
            trigger,
            "--config",
            str(self._config),
        ]
        if due is not None:
            argv += ["--resume"] if due == RESUME else ["--slot", due]
        async with self._starting:
            if self._closed:
                raise Unavailable(f"{job} is not started: the appliance is stopping")
            try:
                # In its own session, so that Ctrl-C at our terminal does not reach it.
                process = await asyncio.create_subprocess_exec(
                    *argv,
                    stdin=asyncio.subprocess.DEVNULL,
                    stdout=asyncio.subprocess.DEVNULL,
                    start_new_session=True,
                    env={**os.environ, NO_HANDOVER: "1"},
                )
            except OSError as error:
                raise Unavailable(
                    f"{job} cannot be started: {error.strerror}; is this machine out of memory?"
                ) from None
            task = asyncio.create_task(self._wait_for_end(job, process, ended))
            self._going_on[task] = job, process
        log.info("job=%s by=%s due=%s started", job, trigger, due or "-")

    async def _wait_for_end(self, job: str, process: asyncio.subprocess.Process, ended: Callable[[int], None]) -> None:
        status = await process.wait()
        if (task := asyncio.current_task()) is not None:
            self._going_on.pop(task, None)
        log.info("job=%s ended status=%s", job, status)
        if not self._closed:  # at shutdown, the next daemon handles the slot
            ended(status)
        self._on_end()

    def is_running(self, job: str) -> bool:
        """Return whether a run of `job` that was started here is active."""
        return any(name == job for name, _ in self._going_on.values())

    async def close(self) -> None:
        """Start no more runs. A run that is being started has started when this returns."""
        async with self._starting:
            self._closed = True

    async def stop(self, grace: float, *, at_once: Collection[str] = ()) -> None:
        """Start no more runs, wait `grace` seconds for active ones, then stop the rest.

        Runs of the jobs `at_once` are stopped immediately, because they are resumed later. A
        stopped run ends within a few seconds and records that it was stopped.
        """
        await self.close()
        self._send_stop(at_once)
        if self._going_on:
            log.info("waiting up to %.0f s for %d runs to end", grace, len(self._going_on))
            await asyncio.wait(list(self._going_on), timeout=grace)
        self._send_stop({job for job, _ in self._going_on.values()})
        if self._going_on:
            await asyncio.wait(list(self._going_on))

    def _send_stop(self, jobs: Collection[str]) -> None:
        for job, process in list(self._going_on.values()):
            if job in jobs:
                with contextlib.suppress(ProcessLookupError):
                    process.send_signal(signal.SIGTERM)
