"""The events that start jobs, as a service of the daemon.

Each source of events is imported, and runs, only while a job uses it. A source that fails is
reported as a problem and started again.
"""

import asyncio
import contextlib
import logging
import os
from collections.abc import Awaitable, Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from random import Random
from typing import TYPE_CHECKING, Any, Protocol

from pi_appliance.config import secrets
from pi_appliance.config.options import Config
from pi_appliance.config.triggers import MQTT_PASSWORD, Mqtt
from pi_appliance.errors import ApplianceError, Refused, Uncertain
from pi_appliance.jobs.api import run_by_event
from pi_appliance.scheduling.daemon_interface import RunningDaemon, Services
from pi_appliance.storage.model import Trigger
from pi_appliance.system import clock
from pi_appliance.system.backoff import retry_delay

if TYPE_CHECKING:
    from pi_appliance.triggers.files import FileWatcher
from collections.abc import Collection

_log = logging.getLogger(__name__)
_MIN_DELAY, _MAX_DELAY = timedelta(seconds=2), timedelta(minutes=5)  # limits of the wait between two attempts
_STABLE = 30.0  # seconds after which a source that runs counts as working
Call = Callable[[str, str, Mapping[str, object]], Awaitable[Any]]
"""Calls an operation: its method, its path, its arguments."""


@dataclass(frozen=True, slots=True)
class TriggerProblem:
    """Why a trigger of `job` does not work now. `job` is "" if it concerns all jobs."""

    job: str
    trigger: Trigger
    text: str


class Source(Protocol):
    """A source of events, such as the GPIO pins or the MQTT broker."""

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
        call: Calls an operation.
        find_problems: Returns the current problems of the appliance in words.
    """

    def __init__(self, daemon: RunningDaemon, call: Call, find_problems: Callable[[], Sequence[str]]) -> None:
        self._services, self._call, self._find_problems = Services(daemon, clock.now), call, find_problems
        self._changed = asyncio.Event()
        self._sources: dict[Trigger, _Running] = {}
        self._files: FileWatcher | None = None
        self._problems: dict[tuple[str, Trigger], str] = {}
        self._starting: dict[str, asyncio.Task[None]] = {}
        self._next_events: dict[str, datetime] = {}  # job: time of the last event while a run of it is being started

    @property
    def problems(self) -> list[TriggerProblem]:
        """The current problems."""
        return [TriggerProblem(job, trigger, text) for (job, trigger), text in self._problems.items() if text]

    def reload(self) -> None:
        """Use the current configuration from now on."""
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
        known = self._secrets(config)
        for job, name in names.items():
            if not known.get(name):
                self._for(Trigger.WEBHOOK)[1](job, f"{name} is not in {secrets.NAME}; create an address on its page")

    @staticmethod
    def _secrets(config: Config) -> Mapping[str, str]:
        with contextlib.suppress(ApplianceError):  # the doctor reports secrets that cannot be read
            return secrets.load(config.path, os.environ, secrets.secret_names(config))
        return {}

    def _wanted_sources(self, config: Config) -> Iterator[tuple[Trigger, tuple[Hashable, Callable[[], Source]]]]:
        jobs = config.jobs.values()
        files = {job.name: job.triggers.file for job in jobs if job.triggers.file.path}
        if files:
            if self._files is None:
                from pi_appliance.triggers.files import FileWatcher  # noqa: PLC0415 - only where it is used

                self._files = FileWatcher(*self._for(Trigger.FILE))
            watcher = self._files
            watcher.use_triggers(files)  # not restarted, because it would miss a file that is written meanwhile
            yield Trigger.FILE, (True, lambda: watcher)
        buttons = {job.name: job.triggers.button for job in jobs if job.triggers.button.pin is not None}
        if buttons:
            from pi_appliance.triggers.buttons import Buttons  # noqa: PLC0415

            press, tell = self._for(Trigger.BUTTON)
            yield Trigger.BUTTON, (tuple(buttons.items()), lambda: Buttons(buttons, config.state_dir, press, tell))
        if (broker := config.mqtt) is not None:
            yield Trigger.MQTT, self._mqtt_source(broker, config)

    def _mqtt_source(self, broker: Mqtt, config: Config) -> tuple[Hashable, Callable[[], Source]]:
        from pi_appliance.triggers.home_assistant import HomeAssistant  # noqa: PLC0415
        from pi_appliance.triggers.mqtt import MqttConnection  # noqa: PLC0415

        topics = {job.name: job.triggers.mqtt for job in config.jobs.values() if job.triggers.mqtt.topic}
        fire, report = self._for(Trigger.MQTT)
        password, kept = self._secrets(config).get(MQTT_PASSWORD, ""), dict[tuple[str, str], str]()

        def create() -> Source:
            home = HomeAssistant(self._services, self._call, self._find_problems)
            return MqttConnection(broker, password, topics, fire=fire, report=report, home=home, kept=kept)

        return (broker, password, tuple(topics.items())), create

    def _for(self, trigger: Trigger) -> tuple[Callable[[str], None], Callable[[str, str], None]]:
        """Return two functions: to start a job by `trigger`, and to report the problem of a job."""

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
            except Exception as error:  # noqa: BLE001 - a bug, which must not end the others
                _log.exception("trigger=%s", trigger)
                report("", f"this is a bug in pi-appliance: {type(error).__name__}; the log has the details")
            if asyncio.get_running_loop().time() - started > _STABLE:
                attempt = 1
            wait = retry_delay(attempt, first=_MIN_DELAY, at_most=_MAX_DELAY, random=Random())  # noqa: S311
            await asyncio.sleep(wait.total_seconds())

    async def _stop(self, triggers: list[Trigger]) -> None:
        for trigger in triggers:
            await end_tasks([self._sources.pop(trigger).task])
            self._problems = {key: text for key, text in self._problems.items() if key[1] is not trigger}

    def _fire(self, job: str, trigger: Trigger) -> None:
        """Start `job`. A run for an earlier event that has not begun yet serves both."""
        if job in self._starting:
            self._next_events[job] = self._services.now()
        else:
            self._starting[job] = asyncio.create_task(self._start(job, trigger))

    async def _start(self, job: str, trigger: Trigger) -> None:
        try:
            while True:
                began = await self._start_run(job, trigger)
                event = self._next_events.pop(job, None)
                if event is None or event < began:
                    return
        finally:
            self._next_events.pop(job, None)
            del self._starting[job]

    async def _start_run(self, job: str, trigger: Trigger) -> datetime:
        """Start a run, and return when it began: events before that moment need no further run."""
        try:
            run = self._services.appliance.store.find_run(await run_by_event(self._services, job, trigger))
            return run.started if run else self._services.now()
        except Uncertain:  # the run waits for another one
            pass
        except Refused as error:
            _log.info("trigger=%s not started: %s", trigger, error)
        except ApplianceError as error:
            _log.warning("trigger=%s job=%s could not be started: %s", trigger, job, error)
        return self._services.now()


def _settings(wanted: Mapping[Trigger, tuple[Hashable, object]], trigger: Trigger) -> Hashable:
    return wanted[trigger][0] if trigger in wanted else None


_AGAIN = 5.0  # seconds until a task that goes on is cancelled again


async def end_tasks(tasks: Collection[asyncio.Task[Any]], *, again: float = _AGAIN) -> None:
    """Cancel `tasks` and wait until they have ended, with any result.

    A task may lose a cancellation: `asyncio.wait_for` of Python 3.11 returns normally if the result
    arrives at the same moment (https://github.com/python/cpython/issues/86296), and a client may
    turn a cancellation into an error of its own while it disconnects. So tasks that go on are
    cancelled again.

    Args:
        tasks: The tasks.
        again: Seconds to wait before they are cancelled again.
    """
    while pending := [task for task in tasks if not task.done()]:
        for task in pending:
            task.cancel()
        await asyncio.wait(pending, timeout=again)
    for task in tasks:
        if not task.cancelled():
            task.exception()  # marks the exception as retrieved, which asyncio would report otherwise
