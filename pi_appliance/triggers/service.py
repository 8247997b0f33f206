"""The events that start jobs, as a part of the daemon.

Each source of events is imported and runs only while a job uses it. A source that fails is reported
as a problem and tried again.
"""

import asyncio
import contextlib
import logging
import os
from collections.abc import Callable, Hashable, Iterator, Mapping
from dataclasses import dataclass
from datetime import timedelta
from random import Random
from typing import Protocol

from pi_appliance.config import secrets
from pi_appliance.config.model import Config
from pi_appliance.errors import ApplianceError, Refused, Uncertain
from pi_appliance.jobs.api import run_by_event
from pi_appliance.scheduling.interface import RunningDaemon, Services
from pi_appliance.storage.model import Trigger
from pi_appliance.system import clock

_log = logging.getLogger(__name__)
_MIN_DELAY, _MAX_DELAY = timedelta(seconds=5), timedelta(minutes=5)  # between attempts


@dataclass(frozen=True, slots=True)
class TriggerProblem:
    """Why an event cannot start `job` now; "" for a problem of all jobs."""

    job: str
    trigger: Trigger
    text: str


class Source(Protocol):
    """A source of events."""

    async def run(self) -> None:
        """Run until it is cancelled. Raises ApplianceError or OSError if it fails."""


@dataclass(frozen=True, slots=True)
class _Running:
    settings: Hashable
    task: asyncio.Task[None]


class TriggerService:
    """Starts jobs by events.

    Args:
        daemon: The daemon.
    """

    def __init__(self, daemon: RunningDaemon) -> None:
        self._services = Services(daemon, clock.now)
        self._changed = asyncio.Event()
        self._sources: dict[Trigger, _Running] = {}
        self._problems: dict[tuple[str, Trigger], str] = {}
        self._starting: dict[str, asyncio.Task[None]] = {}

    @property
    def problems(self) -> list[TriggerProblem]:
        """The current problems."""
        return [TriggerProblem(job, trigger, text) for (job, trigger), text in self._problems.items() if text]

    def reload(self) -> None:
        """Use the current configuration."""
        self._changed.set()

    async def run(self) -> None:
        """Run the sources that the configuration needs, until it is cancelled."""
        try:
            while True:
                await self._apply(self._services.appliance.config)
                await self._changed.wait()
                self._changed.clear()
        finally:
            await self._stop(list(self._sources))
            for task in list(self._starting.values()):
                task.cancel()

    async def _apply(self, config: Config) -> None:
        self._report_missing_secrets(config)
        wanted = dict(self._wanted_sources(config))
        await self._stop([each for each in self._sources if self._sources[each].settings != _settings(wanted, each)])
        for trigger, (settings, create) in wanted.items():
            if trigger not in self._sources:
                self._sources[trigger] = _Running(settings, asyncio.create_task(self._keep_running(trigger, create)))

    def _report_missing_secrets(self, config: Config) -> None:
        self._problems = {key: text for key, text in self._problems.items() if key[1] is not Trigger.WEBHOOK}
        names = {job.name: job.triggers.webhook for job in config.jobs.values() if job.triggers.webhook}
        if not names:
            return
        known: Mapping[str, str] = {}
        with contextlib.suppress(ApplianceError):  # the doctor says why they cannot be read
            known = secrets.load(config.path, os.environ, names.values())
        for job, name in names.items():
            if not known.get(name):
                self._for(Trigger.WEBHOOK)[1](job, f"{name} is not in {secrets.NAME}; create an address on its page")

    def _wanted_sources(self, config: Config) -> Iterator[tuple[Trigger, tuple[Hashable, Callable[[], Source]]]]:
        jobs = config.jobs.values()
        files = {job.name: job.triggers.file for job in jobs if job.triggers.file.path}
        if files:
            from pi_appliance.triggers.files import FileWatcher  # noqa: PLC0415 - only where it is used

            fire, report = self._for(Trigger.FILE)
            yield Trigger.FILE, (tuple(files.items()), lambda: FileWatcher(files, fire, report))

    def _for(self, trigger: Trigger) -> tuple[Callable[[str], None], Callable[[str, str], None]]:
        """Return what starts a job by `trigger`, and what receives the problem of a job."""

        def report(job: str, text: str) -> None:
            if text and text != self._problems.get((job, trigger)):
                _log.warning("trigger=%s job=%s: %s", trigger, job or "-", text)
            self._problems[job, trigger] = text

        return lambda job: self._fire(job, trigger), report

    async def _keep_running(self, trigger: Trigger, create: Callable[[], Source]) -> None:
        report, attempt = self._for(trigger)[1], 0
        while True:
            attempt += 1
            started = asyncio.get_running_loop().time()
            try:
                await create().run()
            except (ApplianceError, OSError) as error:
                report("", str(error))
            if asyncio.get_running_loop().time() - started > _MAX_DELAY.total_seconds():
                attempt = 1
            wait = clock.retry_delay(attempt, first=_MIN_DELAY, at_most=_MAX_DELAY, random=Random())  # noqa: S311
            await asyncio.sleep(wait.total_seconds())

    async def _stop(self, triggers: list[Trigger]) -> None:
        for trigger in triggers:
            task = self._sources.pop(trigger).task
            task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await task
            self._problems = {key: text for key, text in self._problems.items() if key[1] is not trigger}

    def _fire(self, job: str, trigger: Trigger) -> None:
        """Start `job`, unless a run for an earlier event is about to begin, which serves both."""
        if job not in self._starting:
            task = self._starting[job] = asyncio.create_task(self._start(job, trigger))
            task.add_done_callback(lambda _: self._starting.pop(job, None))

    async def _start(self, job: str, trigger: Trigger) -> None:
        try:
            await run_by_event(self._services, job, trigger)
        except Uncertain:  # it waits for another run
            pass
        except Refused as error:
            _log.info("trigger=%s not started: %s", trigger, error)
        except ApplianceError as error:
            _log.warning("trigger=%s job=%s could not be started: %s", trigger, job, error)


def _settings(wanted: Mapping[Trigger, tuple[Hashable, object]], trigger: Trigger) -> Hashable:
    return wanted[trigger][0] if trigger in wanted else None
