"""The runs that the daemon has started: each a process of its own, `pi-appliance jobs run NAME`."""

import asyncio
import contextlib
import logging
import signal
import sys
from pathlib import Path

from pi_appliance.model.run import Trigger

log = logging.getLogger("pi_appliance.runs")


class Runs:
    """Starts runs and knows which of them go on. They outlive the daemon if it is killed, and tell the history."""

    def __init__(self, config: Path) -> None:
        self._config = config
        self._going_on: dict[asyncio.Task[None], asyncio.subprocess.Process] = {}

    async def start(self, job: str, trigger: Trigger, *, due: str | None = None) -> None:
        """Start a run of JOB; its end is told by the history."""
        argv = [
            sys.executable,
            "-m",
            "pi_appliance",
            "jobs",
            "run",
            job,
            "--by",
            trigger,
            "--config",
            str(self._config),
        ]
        if due is not None:
            argv += ["--due", due]
        # A session of its own: Ctrl-C at our terminal is for us, and we decide what becomes of the runs.
        process = await asyncio.create_subprocess_exec(
            *argv, stdin=asyncio.subprocess.DEVNULL, stdout=asyncio.subprocess.DEVNULL, start_new_session=True
        )
        log.info("job=%s by=%s due=%s started", job, trigger, due or "-")
        task = asyncio.create_task(self._until_it_ends(job, process))
        self._going_on[task] = process
        task.add_done_callback(self._going_on.pop)

    async def _until_it_ends(self, job: str, process: asyncio.subprocess.Process) -> None:
        status = await process.wait()
        log.info("job=%s ended status=%s", job, status)

    async def stop(self, grace: float) -> None:
        """Let the runs go on for GRACE seconds, then ask those that are left to stop, and wait for them.

        A run that is asked to stop ends its own process within a few seconds and tells the history that it was stopped.
        """
        if self._going_on:
            log.info("waiting up to %.0f s for %d runs to end", grace, len(self._going_on))
            await asyncio.wait(list(self._going_on), timeout=grace)
        for process in list(self._going_on.values()):
            with contextlib.suppress(ProcessLookupError):
                process.send_signal(signal.SIGTERM)
        if self._going_on:
            await asyncio.wait(list(self._going_on))
