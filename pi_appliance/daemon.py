"""The daemon: scheduler, player connection and network services in one process.

| signal | effect |
| --- | --- |
| SIGTERM, SIGINT | stop: no new runs, `stop-grace` for the others; twice: at once |
| SIGHUP | read the configuration again; a wrong one is reported, and the old one stays |
| SIGUSR1 | tick now (system/files.py) |
"""

import asyncio
import contextlib
import logging
import os
import signal
import sys
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from datetime import date
from pathlib import Path
from typing import Any, Protocol, TypedDict

import click

from pi_appliance import __version__
from pi_appliance.access.authenticator import Authenticator
from pi_appliance.access.devices import FILE as DEVICES_FILE
from pi_appliance.access.devices import Devices
from pi_appliance.app import WebService
from pi_appliance.cli.client import local_config_option, visible
from pi_appliance.config import last_good, secrets
from pi_appliance.config.last_good import WrongFile
from pi_appliance.config.options import Config
from pi_appliance.config.redaction import Redactor
from pi_appliance.config.units import format_time
from pi_appliance.diagnostics.health import find_problems
from pi_appliance.discovery import DiscoveryService
from pi_appliance.errors import ApplianceError, ConfigError, Problem
from pi_appliance.json_schema import Instant
from pi_appliance.maintenance.backup_restore import restore_pending
from pi_appliance.maintenance.update_check import UpdateChecker
from pi_appliance.music import services as music_services
from pi_appliance.music.mpd.proxy import MpdProxyService
from pi_appliance.music.player_hub import MusicServices, PlayerHub
from pi_appliance.music.usb.drives import UsbDrives
from pi_appliance.notify.delivery import OutboxDispatcher
from pi_appliance.operations import Values, all_operations
from pi_appliance.posting.pending_posts_runner import PendingPostsRunner
from pi_appliance.qr_cli import describe_setup
from pi_appliance.scheduling import crontab
from pi_appliance.scheduling.appliance import Appliance
from pi_appliance.scheduling.child_runs import ChildRuns, RequestRunner
from pi_appliance.scheduling.daemon_interface import LogEntry
from pi_appliance.scheduling.scheduler import MAX_SLEEP, Scheduler, sleep_until_event
from pi_appliance.storage.model import Message, iso_time
from pi_appliance.storage.notification_rules import Outbox
from pi_appliance.storage.run_requests import RunRequest
from pi_appliance.system import clock, files, network
from pi_appliance.system.clock import ClockState, ClockStepWatcher
from pi_appliance.system.files import display_path
from pi_appliance.system.machine import Sensors
from pi_appliance.system.systemd import MachinePower, ServiceNotifier
from pi_appliance.triggers.service import TriggerService
from pi_appliance.web.server import Listeners
from pi_appliance.wifi import hotspot
from pi_appliance.wifi.joining import WifiService

log = logging.getLogger("pi_appliance.daemon")
_MAX_MESSAGES = 500  # kept for `pi-appliance logs`
RESTART_STATUS = 100  # the status for which systemd/pi-appliance.service restarts the daemon
_USED = "The last good configuration is used. Correct the file, then run: pi-appliance reload"


class Service(Protocol):
    """A part that other programs connect to: the page, the MPD proxy, discovery."""

    async def start(self, daemon: "Daemon") -> str:
        """Start the service, and return its address, or "" if it is not configured.

        Raises ApplianceError.
        """

    async def stop(self) -> None:
        """Stop listening and disconnect every client."""


class Daemon:
    """Everything that runs as long as `pi-appliance up`."""

    def __init__(
        self, appliance: Appliance, services: Sequence[Callable[[], Service]], print_line: Callable[[str], None]
    ) -> None:
        self.appliance = appliance
        self._secrets = secrets.load(appliance.config.path, os.environ)
        self._redactor = self._create_redactor()
        self._wakeup = asyncio.Event()
        self.runs = ChildRuns(appliance.config.path, on_end=self._wakeup.set, appliance=lambda: self.appliance)
        self.hub = self._create_hub()
        self.update_checker = UpdateChecker(lambda: self.appliance.config, clock.now)
        self.wifi = WifiService(lambda: self.appliance.config, self.say)
        self.usb_drives = UsbDrives(lambda: self.appliance.config.usb, lambda: self.hub)
        devices = Devices(appliance.config.state_dir / DEVICES_FILE, clock.now, self._today)
        self.authenticator = Authenticator(devices, clock.SystemClock().monotonic)
        self.listeners = Listeners()
        self._outbox_queue = Outbox(appliance.store)
        self._outbox = OutboxDispatcher(appliance.config.path, appliance.config.state_dir, self._outbox_queue)
        self._pending_posts = PendingPostsRunner(lambda: self.appliance, self.runs)
        self._requests = RequestRunner(
            lambda: self.appliance,
            self.runs,
            clock=clock.SystemClock(),
            trusted=lambda: self.scheduler.clock_state is not ClockState.UNTRUSTED,
        )
        self._notifier = ServiceNotifier(os.environ)
        self.scheduler = Scheduler(
            appliance,
            self.runs,
            clock=clock.SystemClock(),
            sleep=lambda secs: sleep_until_event(self._wakeup, secs),
            on_tick=self._tick_services,
            max_sleep=self._notifier.max_silence or MAX_SLEEP,
        )
        self.triggers = TriggerService(self, self._call_operation, self._find_problems)
        self._service_types, self._services, self._print_line = services, list[Service](), print_line
        self.started_at, self.power = clock.now(), MachinePower()
        self.restarts = False  # whether the daemon starts again after it has stopped
        self.addresses = list[str]()
        self.messages: deque[LogEntry] = deque(maxlen=_MAX_MESSAGES)
        self._config_error: ConfigError | None = None
        self._services_failed = False  # whether a configured service could not start
        os.environ.pop("NOTIFY_SOCKET", None)  # for this process only, so that runs do not inherit it
        self._lock: files.Lock | None = None
        self._stop, self._stop_now, self._reload = asyncio.Event(), asyncio.Event(), asyncio.Event()
        self._applied = asyncio.Event()

    async def run(self) -> None:
        """Run until it is stopped. Raises ApplianceError if a service cannot start."""
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, self._request_stop)
        loop.add_signal_handler(signal.SIGHUP, self._reload.set)
        loop.add_signal_handler(files.WAKEUP_SIGNAL, self._wakeup.set)
        handler = _WarningHandler(self._record)
        logging.getLogger().addHandler(handler)
        try:
            with files.listen_for_wakeup(self.appliance.config.state_dir / files.WAKEUP_FILE) as self._lock:
                await self._run()
        finally:
            logging.getLogger().removeHandler(handler)

    async def _run(self) -> None:
        # checked once at the start: a power cut may have damaged data that is read much later
        self.appliance.store.ensure_intact()
        self.appliance.sweep()
        music = asyncio.create_task(music_services.run_services(self.hub, self.appliance.config))
        parts = (self.usb_drives, self.update_checker, self.triggers, self.wifi)
        background = [asyncio.create_task(each.run()) for each in parts]
        clock_steps = ClockStepWatcher(self._wakeup.set)
        tasks: list[asyncio.Task[None]] = []
        try:
            await self._start_services()
            self._report_configuration(self.appliance.config.error)
            tasks = [
                asyncio.create_task(self.scheduler.run(self._report_alive)),
                asyncio.create_task(self._wait_for_stop()),
            ]
            self._notifier.send("READY=1", self._status())
            self._say_next_job()
            while not self._stop.is_set():
                waits = [asyncio.create_task(self._reload.wait()), *tasks]
                done, _ = await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
                waits[0].cancel()
                for task in done & set(tasks):
                    task.result()  # the scheduler only ends with an error, which is raised here
                if self._reload.is_set():
                    self._reload.clear()
                    music = await self._apply_configuration(music)
        finally:
            self._notifier.send("STOPPING=1", "STATUS=stopping")
            # a request that waits for a new configuration must end, although none comes
            self._applied.set()
            await self.runs.close()
            for task in tasks:  # also the scheduler, which must not go on while the services are stopped
                task.cancel()
            if tasks:  # otherwise a service could not start, and its error is the reason
                self.say("stopping")
            for each in background:
                await _cancel(each)
            await self._shut_down(music, tasks)
            clock_steps.close()

    async def _tick_services(self) -> float:
        await self._outbox.check()
        await self._pending_posts.tick()
        return await self._requests.tick()

    async def _call_operation(self, method: str, path: str, given: Mapping[str, object]) -> Any:
        operation = next(each for each in all_operations() if (each.method, each.path) == (method, path))
        return await operation.load_handler()(MusicServices(self, clock.now), operation.parse(given))

    def _find_problems(self) -> list[str]:
        return [each.text for each in find_problems(self, Sensors())]

    def request_reload(self) -> None:
        """Let the daemon read the configuration again.

        A wrong one changes nothing: raises ConfigError.
        """
        try:
            self.appliance.reload()
        except ConfigError as error:
            self._report_configuration(error)
            raise
        self._config_error = None
        self._reload.set()

    @property
    def config_error(self) -> WrongFile | None:
        """The problems of the file, and since when the configuration in use was the file."""
        error = self._config_error
        return None if error is None else last_good.describe_error(self.appliance.config, error)

    def _report_configuration(self, error: ConfigError | None) -> None:
        """Save a copy of the configuration if the file is valid; otherwise report its `error`."""
        self._config_error, config = error, self.appliance.config
        try:
            if error is None:
                last_good.save_last_good(config)
                return
            self.say(f"the configuration file is wrong, so the last good one stays in use:\n{error}", is_problem=True)
            if last_good.record_error(config, error):
                title = f"the configuration of {config.name or network.host_name()} is wrong"
                message = Message(title=title, body=f"{error}\n\n{_USED}")
                for name in config.notify.on_failure or ():
                    self._outbox_queue.put(name, message, now=clock.now())
                self._wakeup.set()
        except ApplianceError as failure:  # a failed copy does not stop the jobs
            self.say(f"the last good configuration cannot be recorded: {failure}", is_problem=True)

    async def apply_configuration(self) -> None:
        """Read the configuration again, and return when it is in use. Raises ConfigError."""
        self._applied.clear()
        self.request_reload()
        await self._applied.wait()

    def _today(self) -> date:
        return clock.now().astimezone(self.appliance.config.time_zone).date()

    def request_restart(self) -> None:
        """Stop as after SIGTERM, and start again when everything has stopped."""
        self.restarts = True
        self.say("restarting on request")
        self._stop.set()

    def wake(self) -> None:
        """Let the scheduler tick now, because something it depends on changed."""
        self._wakeup.set()

    def start_request(self, request: RunRequest) -> None:
        """Let the scheduler start `request` now."""
        del request  # the scheduler finds all pending requests itself
        self.wake()

    async def _wait_for_stop(self) -> None:
        await self._stop.wait()

    def _request_stop(self) -> None:
        self.restarts = False
        if self._stop.is_set():
            self._stop_now.set()
        self._stop.set()

    async def _start_services(self) -> None:
        for service_type in self._service_types:
            service = service_type()
            address = await service.start(self)
            self._services.append(service)
            if address:
                self.addresses.append(address)
                self.say(address)
        if self._lock is not None:
            self._lock.write_status(0, None, ", ".join(self.addresses))
        self._print_setup()

    def _print_setup(self) -> None:
        """Print how to set up a new appliance.

        The code is printed, but never written to the log.
        """
        if code := self.authenticator.setup_code:
            config = self.appliance.config
            with contextlib.suppress(ApplianceError):  # if the secret cannot be read, describe() reports it
                if config.hotspot is not None:
                    hotspot.ensure_password(config)
            with contextlib.suppress(OSError):
                for line in describe_setup(config.web, code, with_picture=sys.stdout.isatty()):
                    self._print_line(line)
                for line in hotspot.describe(config, code):
                    self._print_line(line)

    async def _stop_services(self) -> None:
        self.addresses.clear()
        while self._services:
            await self._services.pop().stop()

    async def _apply_configuration(self, music: asyncio.Task[None]) -> asyncio.Task[None]:
        """Read the configuration again and apply what changed.

        Returns:
            The task of the player connection, which is a new one if the player changed.
        """
        before, previous_secrets = self.appliance.config, self._secrets
        try:
            appliance, self._secrets = self.appliance.reload(), secrets.load(before.path, os.environ)
        except ApplianceError as error:
            if isinstance(error, ConfigError):
                self._report_configuration(error)
            else:
                self.say(f"the new configuration is wrong, so the old one stays in use:\n{error}", is_problem=True)
            self._applied.set()
            return music
        self._redactor = self._create_redactor()
        await self.scheduler.tick()  # slots up to this moment follow the old schedules
        self.appliance = appliance
        self._report_configuration(None)
        self.scheduler.reload(appliance)
        if not self._reload.is_set():  # otherwise the file has changed again
            self._applied.set()  # before the page restarts, because the request for this change waits for it
        after = appliance.config
        player_changed = music_services.music_settings(after) != music_services.music_settings(
            before
        ) or _player_secrets(self._secrets, after) != _player_secrets(previous_secrets, before)
        page_changed = not self.authenticator.accepts(self._secrets.get("WEB_PASSWORD", ""))
        if player_changed:
            await _cancel(music)
            self.hub = self._create_hub()
            music = asyncio.create_task(music_services.run_services(self.hub, self.appliance.config))
        sections = ((each.web, each.mpd_proxy, each.discovery) for each in (before, after))
        if player_changed or page_changed or self._services_failed or next(sections) != next(sections):
            await self._stop_services()
            try:
                await self._start_services()
                self._services_failed = False
            except ApplianceError as error:
                self._services_failed = True
                self.listeners.close()
                unreachable = "the page is not reachable until the file is corrected and read again"
                self.say(f"{error}; {unreachable}", is_problem=True)
        elif before.name != after.name:
            for service in self._services:
                if isinstance(service, DiscoveryService):
                    await service.stop()
                    await service.start(self)
        self._wakeup.set()
        self.usb_drives.wake()
        self.wifi.hotspot.wake()
        self.triggers.reload()
        self.say("the configuration was read again")
        self._say_next_job()
        return music

    def _say_next_job(self) -> None:
        for note in crontab.missing_entry_notes(self.appliance.config):
            self.say(note)
        self.say(self._status().removeprefix("STATUS="))

    async def _shut_down(self, music: asyncio.Task[None], tasks: Sequence[asyncio.Task[None]]) -> None:
        # a first error is being raised already, so further ones are ignored
        await asyncio.gather(*tasks, return_exceptions=True)
        await self._outbox.stop()
        stop_now = asyncio.create_task(self._stop_now.wait())
        grace = self.appliance.config.stop_grace.total_seconds()
        runs = asyncio.create_task(self.runs.stop(grace, at_once=self._requests.jobs_with_checkpoint()))
        await asyncio.wait([stop_now, runs], return_when=asyncio.FIRST_COMPLETED)
        if not runs.done():
            await _cancel(runs)
            await self.runs.stop(0)
        stop_now.cancel()
        self.listeners.close()
        await self._stop_services()
        await _cancel(music)

    def _report_alive(self) -> None:
        self._notifier.send("WATCHDOG=1", self._status())

    def _status(self) -> str:
        upcoming = self.scheduler.next()
        if upcoming is None:
            return "STATUS=no job waits for its time"
        return f"STATUS=next: {upcoming[1]} at {format_time(upcoming[0], self.appliance.config.time_zone)}"

    def say(self, text: str, *, is_problem: bool = False) -> None:
        """Print `text` and keep it for the log."""
        self._record(text, is_problem=is_problem)
        with contextlib.suppress(OSError):  # the terminal may be closed, and the daemon must continue
            self._print_line(visible(text))

    def _record(self, text: str, *, is_problem: bool) -> None:
        self.messages.append(LogEntry(clock.now(), self._redactor.redact_message(text), is_problem))

    def _create_redactor(self) -> Redactor:
        return Redactor(secrets.values(self.appliance.config.path, os.environ)[0])

    def _create_hub(self) -> PlayerHub:
        return music_services.create_hub(self.appliance.config, self.appliance.store, self._secrets)


def _player_secrets(known: Mapping[str, str], config: Config) -> dict[str, str]:
    """Return `known` without the secrets that the player does not use."""
    others = {
        "WEB_PASSWORD",
        "MQTT_PASSWORD",
        "HOTSPOT_PASSWORD",
        "BACKUP_PASSPHRASE",
        *(job.triggers.webhook for job in config.jobs.values()),
    }
    return {name: value for name, value in known.items() if name not in others}


class _WarningHandler(logging.Handler):
    """Record the warnings of all modules among the messages of the daemon."""

    def __init__(self, record: Callable[..., None]) -> None:
        super().__init__(logging.WARNING)
        self._record = record

    def emit(self, record: logging.LogRecord) -> None:
        self._record(record.getMessage(), is_problem=True)


async def _cancel(task: asyncio.Task[None]) -> None:
    task.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await task


class ActiveRunJson(TypedDict):
    """An active run."""

    job: str
    run: int


class NextJobJson(TypedDict):
    """The job that the scheduler starts next, and when."""

    job: str
    at: Instant


class ConfigErrorJson(TypedDict):
    """The problems of the file, because of which an earlier configuration is in use."""

    problems: Sequence[Problem]
    in_use_since: Instant | None


class StatusJson(TypedDict):
    """The state of the appliance."""

    version: str
    pid: int
    config: str
    state_dir: str
    started_at: Instant
    addresses: list[str]
    clock: str
    running: list[ActiveRunJson]
    next: NextJobJson | None
    player_error: str | None
    scheduler_error: str | None
    config_error: ConfigErrorJson | None


class ReloadJson(TypedDict):
    """The file whose configuration was read again."""

    reloaded: str


class MessageJson(TypedDict):
    """A line of the daemon's log."""

    at: Instant
    message: str
    problem: bool


async def status(services: MusicServices, _: Values) -> StatusJson:
    """Return which configuration the daemon reads, since when, what runs and what comes next."""
    daemon, appliance = services.daemon, services.appliance
    upcoming, wrong = daemon.scheduler.next(), daemon.config_error
    return {
        "version": __version__,
        "pid": os.getpid(),
        "config": str(appliance.config.path),
        "state_dir": str(appliance.config.state_dir),
        "started_at": iso_time(daemon.started_at),
        "addresses": list(daemon.addresses),
        "clock": daemon.scheduler.clock_state,
        "running": [{"job": run.job, "run": run.id} for run in appliance.store.active_runs()],
        "next": {"job": upcoming[1], "at": iso_time(upcoming[0])} if upcoming else None,
        "player_error": daemon.hub.error or None,
        "scheduler_error": daemon.scheduler.error or None,
        "config_error": wrong and {"problems": wrong["problems"], "in_use_since": iso_time(wrong["in_use_since"])},
    }


async def reload(services: MusicServices, _: Values) -> ReloadJson:
    """Let the daemon read its configuration again. Raises ConfigError with every problem."""
    services.daemon.request_reload()
    return {"reloaded": str(services.appliance.config.path)}


async def logs(services: MusicServices, values: Values) -> list[MessageJson]:
    """Return the newest messages of the daemon, the oldest first."""
    wanted = [each for each in services.daemon.messages if each.is_problem or not values["problems"]]
    return [
        {"at": iso_time(each.at), "message": each.text, "problem": each.is_problem}
        for each in wanted[-values["lines"] :]
    ]


class _VisibleFormatter(logging.Formatter):
    """Format log records without characters that a terminal would obey."""

    def format(self, record: logging.LogRecord) -> str:
        return visible(super().format(record))


@click.command("up", short_help="Run the appliance: scheduler, player and page.")
@click.option("-v", "--verbose", is_flag=True, help="Print each run that starts or ends.")
@local_config_option
def up(verbose: bool, config: Path) -> None:
    """Run the appliance in the foreground until Ctrl-C or SIGTERM.

    SIGHUP reads the configuration again.

    \b
    Exit status:
      0   it was stopped
      1   it could not start: another daemon uses the state, or the address is taken
      2   the configuration is wrong, and there is no copy of an earlier good one
      75  the state folder cannot be used
      100 the owner wants a restart of the service; systemd starts it again
    """
    handler = logging.StreamHandler()
    handler.setFormatter(_VisibleFormatter("%(message)s"))
    logging.basicConfig(level=logging.INFO if verbose else logging.WARNING, handlers=[handler])
    is_service = bool(os.environ.get("NOTIFY_SOCKET"))  # systemd then starts the daemon again
    notes: list[str] = []
    with Appliance.open(
        config, or_last_good=True, prepare=lambda state: notes.append(restore_pending(state))
    ) as appliance:
        jobs = f"{len(appliance.config.jobs)} jobs"
        path = display_path(appliance.config.path)
        click.echo(f"pi-appliance {__version__}: {path}, {jobs}, state in {appliance.config.state_dir}")
        if sys.stdout.isatty() and not network.is_loopback_only(appliance.config.web.host):
            click.echo("for the phone: `pi-appliance qr` shows the address as a QR code")
        restarts = asyncio.run(_run_daemon(appliance, *filter(None, notes)))
    if not restarts:
        click.echo("stopped")
    elif is_service:
        raise SystemExit(RESTART_STATUS)
    else:
        click.echo("starting again")
        sys.stdout.flush()
        os.execv(sys.executable, [sys.executable, "-m", "pi_appliance", *sys.argv[1:]])  # noqa: S606 - this program again


async def _run_daemon(appliance: Appliance, *notes: str) -> bool:
    """Run the daemon with `notes` in its log, and return whether it is to start again."""
    daemon = Daemon(appliance, [WebService, MpdProxyService, DiscoveryService], click.echo)
    for note in notes:
        daemon.say(note)
    await daemon.run()
    return daemon.restarts
