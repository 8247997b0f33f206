"""A real appliance in a temporary folder, with a real web service in a thread."""

import asyncio
import contextlib
import http.client
import json
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from pi_appliance.access.authenticator import Authenticator
from pi_appliance.access.devices import Devices
from pi_appliance.app import WebService
from pi_appliance.config.last_good import WrongFile
from pi_appliance.errors import Refused
from pi_appliance.maintenance.releases import Installation
from pi_appliance.maintenance.update_check import UpdateChecker, UpdatePlaces
from pi_appliance.scheduling.appliance import Appliance
from pi_appliance.scheduling.child_runs import ChildRuns
from pi_appliance.scheduling.daemon_interface import LogEntry
from pi_appliance.system.clock import ClockState
from pi_appliance.system.systemd import PowerAction
from pi_appliance.triggers.service import TriggerService
from pi_appliance.web.server import Listeners
from pi_appliance.wifi.joining import WifiService
from pi_appliance.wifi.network_manager import NetworkManager
from tests.music.usb.usb_fixtures import FakeUsbDrives
from tests.web.list_player import ListMusic, ListPlayer


@dataclass
class FakeScheduler:
    """The scheduler state that the page shows: a trusted clock and no problems."""

    clock_state: ClockState = ClockState.TRUSTED
    clock_wait: float = 0.0
    steps: int = 0
    last_step: str = ""
    error: str = ""
    waiting: int = 0
    last_tick: float = 1000.0

    def next(self) -> tuple[datetime, str] | None:
        return None


@dataclass
class FakePower:
    """A machine that is never restarted by a test, only asked to."""

    obstacle: str = ""
    requests: list[PowerAction] = field(default_factory=list)

    def find_obstacle(self, _: PowerAction) -> str:
        return self.obstacle

    def request(self, action: PowerAction) -> None:
        if self.obstacle:
            raise Refused(self.obstacle)
        self.requests.append(action)


@dataclass
class FakeDaemon:
    """The parts of the daemon that the page uses."""

    appliance: Appliance
    hub: ListMusic
    runs: ChildRuns
    authenticator: Authenticator = field(init=False)
    ticks: Callable[[], float] = lambda: 0.0
    listeners: Listeners = field(default_factory=Listeners)
    scheduler: FakeScheduler = field(default_factory=FakeScheduler)
    woken: int = 0
    usb_drives: Any = field(default_factory=FakeUsbDrives)
    started_at: datetime = datetime(2026, 5, 1, tzinfo=UTC)
    addresses: Sequence[str] = ()
    messages: Sequence[LogEntry] = ()
    reloads: int = 0
    restarts: int = 0
    power: Any = field(default_factory=FakePower)
    config_error: WrongFile | None = None
    update_checker: UpdateChecker = field(init=False)
    triggers: TriggerService = field(init=False)
    wifi: WifiService = field(init=False)

    def __post_init__(self) -> None:
        here = self.appliance.config.state_dir
        places = UpdatePlaces(Installation(here / "opt"), here / "update.conf", here / "update")
        self.update_checker = UpdateChecker(lambda: self.appliance.config, lambda: self.started_at, places)
        self.triggers = TriggerService(self, None, list)
        self.wifi = WifiService(lambda: self.appliance.config, lambda _: None, NetworkManager({"PATH": ""}))
        path = self.appliance.config.state_dir / "devices.json"
        devices = Devices(path, lambda: datetime.now(UTC), lambda: datetime.now(UTC).date())
        self.authenticator = Authenticator(devices, self.ticks)

    def request_reload(self) -> None:
        self.reloads += 1

    async def apply_configuration(self) -> None:
        self.appliance = self.appliance.reload()
        self.request_reload()

    def request_restart(self) -> None:
        self.restarts += 1

    def wake(self) -> None:
        self.woken += 1

    def start_request(self, _):
        self.wake()


@dataclass
class FakeClock:
    """A settable clock."""

    now: float = 1000.0

    def __call__(self) -> float:
        return self.now


@dataclass
class Response:
    """An HTTP response."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def text(self) -> str:
        return self.body.decode()

    @property
    def json(self) -> Any:
        return json.loads(self.body)


@dataclass
class ServedAppliance:
    """A running service, and requests to it from outside its event loop."""

    daemon: FakeDaemon
    service: WebService
    loop: asyncio.AbstractEventLoop
    stop_event: asyncio.Event
    ticks: FakeClock
    message: str
    thread: threading.Thread
    cookie: str = field(default="")

    @property
    def origin(self) -> str:
        return f"http://127.0.0.1:{self.service.port}"

    @property
    def player(self) -> ListPlayer:
        assert self.daemon.hub.list_player is not None
        return self.daemon.hub.list_player

    def request(self, path: str, body: Any = None, *, method: str = "", **headers: str) -> Response:
        """Send GET, or POST with a `body`: text is a form, anything else JSON."""
        all_headers = {name.replace("_", "-"): value for name, value in headers.items()}
        if self.cookie:
            all_headers["Cookie"] = self.cookie
        data = None
        if body is not None:
            data = body.encode() if isinstance(body, str) else json.dumps(body).encode()
        connection = http.client.HTTPConnection("127.0.0.1", self.service.port, timeout=10)
        with contextlib.closing(connection):
            connection.request(method or ("GET" if data is None else "POST"), path, data, all_headers)
            response = connection.getresponse()
            return Response(response.status, {k.lower(): v for k, v in response.getheaders()}, response.read())

    def end_and_wait(self) -> None:
        """Stop the service."""
        self.call_in_loop(self.stop_event.set)
        self.thread.join(20)

    @staticmethod
    def wait_until(condition: Callable[[], Any], seconds: float = 20.0) -> Any:
        """Return the result of `condition` as soon as it is true."""
        deadline = time.monotonic() + seconds
        while not (result := condition()):
            assert time.monotonic() < deadline, "it never happened"
            threading.Event().wait(0.05)
        return result

    def call_in_loop(self, function: Callable[[], object]) -> None:
        """Call `function` in the event loop of the service."""
        done = threading.Event()

        def call_in_thread() -> None:
            function()
            done.set()

        self.loop.call_soon_threadsafe(call_in_thread)
        assert done.wait(10)

    @contextlib.contextmanager
    def events(self, path: str = "/events", **headers: str) -> Iterator["Events"]:
        """Open the event stream `path`."""
        all_headers = {name.replace("_", "-"): value for name, value in headers.items()}
        connection = http.client.HTTPConnection("127.0.0.1", self.service.port, timeout=10)
        with contextlib.closing(connection):
            connection.request(
                "GET", path, headers={**all_headers, "Cookie": self.cookie} if self.cookie else all_headers
            )
            with contextlib.closing(connection.getresponse()) as response:
                assert response.status == 200
                yield Events(response)


@dataclass(frozen=True)
class Event:
    """One server-sent event."""

    id: str
    name: str
    data: Any


@dataclass
class Events:
    """A stream of server-sent events."""

    answer: http.client.HTTPResponse

    def next_state(self) -> tuple[str, Any]:
        """Return id and data of the next `state` event."""
        while True:
            event = self.next_event()
            if event.name == "state":
                return event.id, event.data

    def next_event(self) -> "Event":
        """Return the next event."""
        fields: dict[str, str] = {}
        while True:
            line = self.answer.readline().decode()
            if not line:
                raise EOFError("the stream ended")
            if line != "\n":
                name, _, value = line.rstrip("\n").partition(": ")
                fields[name] = value
            elif "event" in fields:
                return Event(fields.get("id", ""), fields["event"], json.loads(fields.get("data") or "null"))
            else:
                fields = {}

    def wait_for_event(self, name: str) -> "Event":
        """Return the next event with this name."""
        while (event := self.next_event()).name != name:
            pass
        return event

    def wait_for_state(self, condition: Callable[[Any], object]) -> Any:
        """Return the first state for which `condition` is true, within the socket timeout."""
        while True:
            _, state = self.next_state()
            if condition(state):
                return state


def configuration(folder: Path, *, web: str = "host: 127.0.0.1, port: 0", jobs: str = "", stations: str = "") -> Path:
    """Write a configuration into `folder` and return its path. The default job says hello."""
    folder.mkdir(parents=True, exist_ok=True)
    more = ""
    if stations:
        (folder / "stations.yaml").write_text(stations)
        more = "stations: stations.yaml\n"
    path = folder / "appliance.yaml"
    path.write_text(
        f"time-zone: Europe/London\nstate-dir: {folder}/state\nweb: {{{web}}}\n{more}jobs:\n"
        + (jobs or job("hello", "print('good morning')"))
    )
    return path


def job(name: str, code: str, more: str = "") -> str:
    """Return the YAML of a job that runs Python `code`."""
    return f"  {name}:\n    kind: command\n    with: {{run: {json.dumps([sys.executable, '-c', code])}}}\n{more}"


def set_password(config: Path, password: str) -> None:
    """Write `password` into the secrets beside `config`."""
    path = config.with_name("secrets.env")
    path.write_text(f"WEB_PASSWORD={password}\n")
    path.chmod(0o600)


@contextlib.contextmanager
def serving(config: Path, music: ListMusic | None = None, idle_timeout: float = 20.0) -> Iterator[ServedAppliance]:
    """Serve `config` in a thread during the block; `idle_timeout` is the idle timeout."""
    ready: list[ServedAppliance] = []
    errors: list[BaseException] = []
    started = threading.Event()

    async def live() -> None:
        end = asyncio.Event()
        ticks = FakeClock()
        with Appliance.open(config) as appliance:
            daemon = FakeDaemon(appliance, music or ListMusic(ListPlayer()), ChildRuns(config), ticks=ticks)
            service = WebService(monotonic=ticks, environment={}, idle_timeout=idle_timeout)
            message = await service.start(daemon)
            ready.append(
                ServedAppliance(daemon, service, asyncio.get_running_loop(), end, ticks, message, service_thread)
            )
            started.set()
            try:
                await end.wait()
            finally:
                daemon.listeners.close()
                await service.stop()
                await daemon.runs.stop(10)

    def thread() -> None:
        try:
            asyncio.run(live())
        except BaseException as error:  # noqa: BLE001 - raised again in the test
            errors.append(error)
        finally:
            started.set()

    service_thread = threading.Thread(target=thread)
    service_thread.start()
    started.wait(60)
    try:
        if errors:
            raise errors[0]
        yield ready[0]
    finally:
        for each in ready:
            if not each.stop_event.is_set():
                each.call_in_loop(each.stop_event.set)
        service_thread.join(20)
    if errors:
        raise errors[0]
