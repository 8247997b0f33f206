"""The runs that the daemon has started: each a process of its own, `pi-appliance jobs run NAME`."""

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
    """Starts runs and knows which of them go on. They outlive the daemon if it is killed, and tell the history."""

    def __init__(self, config: Path, *, on_end: Callable[[], None] = lambda: None) -> None:
        """ON_END is called each time a run has ended."""
        self._config, self._on_end = config, on_end
        self._going_on: dict[asyncio.Task[None], tuple[str, asyncio.subprocess.Process]] = {}
        self._starting = asyncio.Lock()
        self._closed = False

    async def start(
        self, job: str, trigger: Trigger, *, due: str | None = None, ended: Callable[[int], None] = lambda _: None
    ) -> None:
        """Start a run of JOB for the slot or the ask DUE, or what is LEFT; its end is told by the history.

        Its exit status is told to ENDED while we live.

        Raises Unavailable if the machine cannot start a process, or no run may begin any more.
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
                # A session of its own: Ctrl-C at our terminal is for us, and we decide what becomes of the runs.
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
            task = asyncio.create_task(self._until_it_ends(job, process, ended))
            self._going_on[task] = job, process
        log.info("job=%s by=%s due=%s started", job, trigger, due or "-")

    async def _until_it_ends(self, job: str, process: asyncio.subprocess.Process, ended: Callable[[int], None]) -> None:
        status = await process.wait()
        if (task := asyncio.current_task()) is not None:
            self._going_on.pop(task, None)
        log.info("job=%s ended status=%s", job, status)
        if not self._closed:  # asked to stop before it began, its slot is left for the next start
            ended(status)
        self._on_end()

    def is_running(self, job: str) -> bool:
        """Say whether a run of JOB that was started here goes on."""
        return any(name == job for name, _ in self._going_on.values())

    async def close(self) -> None:
        """Let no run begin any more. One that is just being started is started when this returns."""
        async with self._starting:
            self._closed = True

    async def stop(self, grace: float, *, at_once: Collection[str] = ()) -> None:
        """Let no more begin; let the runs go on for GRACE seconds, then ask those that are left to stop, and wait.

        Those of the jobs AT_ONCE are not waited for: they are gone on with later. A run that is asked to stop ends its
        own process within a few seconds and tells the history that it was stopped.
        """
        await self.close()
        self._ask_to_stop(at_once)
        if self._going_on:
            log.info("waiting up to %.0f s for %d runs to end", grace, len(self._going_on))
            await asyncio.wait(list(self._going_on), timeout=grace)
        self._ask_to_stop({job for job, _ in self._going_on.values()})
        if self._going_on:
            await asyncio.wait(list(self._going_on))

    def _ask_to_stop(self, jobs: Collection[str]) -> None:
        for job, process in list(self._going_on.values()):
            if job in jobs:
                with contextlib.suppress(ProcessLookupError):
                    process.send_signal(signal.SIGTERM)
