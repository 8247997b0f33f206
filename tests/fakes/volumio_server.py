"""A fake Volumio on loopback: REST routes, quirks, push notifications, and faults.

It can be killed, frozen and restarted at the same port. `faults` are by route or command, and each
request uses up one: "cut" (done, then disconnected), "lost" (not done), "hang", "drip", "huge", a status,
or bytes that replace the body.
"""

import http.client
import json
import socket
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

from tests.fakes.volumio_box import Box
from tests.fakes.volumio_library import Library, picture
from tests.fakes.volumio_routes import COMMANDS, ROUTES

JSON, HTML = "application/json; charset=utf-8", "text/html; charset=utf-8"
Fault = str | int | bytes


@dataclass(frozen=True, slots=True)
class RecordedRequest:
    """One request: GET getState, GET commands/volume, POST addPlay."""

    command: str
    data: Any


class VolumioServer:
    """One Volumio. `box` is its state; `requests` lists all requests."""

    def __init__(self, box: Box | None = None, *, clock: Callable[[], float] = time.monotonic, idle: float = 5) -> None:
        self.box = box or Box(Library(), clock)
        self.box.push = self._push
        self.idle = idle  # seconds until Volumio closes an idle connection
        self.port = 0
        self.requests: list[RecordedRequest] = []
        self.faults: dict[str, list[Fault]] = {}
        self.ignored_commands: set[str] = set()  # commands that answer Success without an effect
        self.without: set[str] = set()  # routes that an old Volumio has not
        self.mute_pushes = False
        self.lag = 0  # how often the state before a command is answered after it; then once "stop"
        self.stale: list[dict[str, Any]] = []  # those answers
        self.lock = threading.RLock()
        self._awake = threading.Event()
        self._awake.set()
        self._dead = threading.Event()
        self._server: _Server | None = None
        self._thread: threading.Thread | None = None
        self._pushing: list[threading.Thread] = []

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self.port}"

    @property
    def running(self) -> bool:
        """Whether it was not killed."""
        return not self._dead.is_set()

    def start(self) -> None:
        """Start it, at its former port."""
        self._dead = threading.Event()
        self._server = _Server(("127.0.0.1", self.port), type("Handler", (_Handler,), {"state": self}))
        self.port = self._server.server_address[1]
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.01})
        self._thread.start()

    def kill(self) -> None:
        """Kill it: all connections break, and its memory is lost."""
        if self._server is None or self._thread is None:
            return
        self._dead.set()
        self._awake.set()
        self._server.shutdown()
        self._server.server_close()
        self._server.hang_up()
        self._thread.join()
        for push in self._pushing:
            push.join()
        self._pushing.clear()
        self._server = None
        with self.lock:
            self.box.restart()

    def freeze(self) -> None:
        """Suspend it: the port stays open."""
        self._awake.clear()

    def thaw(self) -> None:
        """Resume it."""
        self._awake.set()

    def count(self, command: str) -> int:
        """Return the number of requests of `command`, such as "GET commands/next"."""
        return sum(request.command == command for request in list(self.requests))

    def wait_until_awake(self, seconds: float | None = None) -> bool:
        """Wait while it is frozen; return whether it is running."""
        self._awake.wait(seconds)
        return self.running

    def fault(self, *names: str) -> Fault | None:
        """Return the next fault for one of `names`."""
        with self.lock:
            waiting = next((self.faults[name] for name in names if self.faults.get(name)), None)
            return waiting.pop(0) if waiting else None

    def sleep_until_dead(self) -> None:
        """Wait until it is killed."""
        self._dead.wait(30)

    def _push(self, item: str, data: Any) -> None:
        if self.mute_pushes or not self.running:
            return
        body = json.dumps({"item": item, "data": data}).encode()
        self._pushing = [push for push in self._pushing if push.is_alive()]
        for url in self.box.urls:
            push = threading.Thread(target=_post, args=(url, body), daemon=True)
            self._pushing.append(push)
            push.start()


def _post(url: str, body: bytes) -> None:
    """Push once, within two seconds; the result is ignored."""
    to = urlsplit(url)
    line = http.client.HTTPConnection(to.hostname or "", to.port, timeout=2)
    with suppress(OSError, http.client.HTTPException):
        line.request("POST", to.path, body, {"Content-Type": "application/json"})
        line.getresponse().read()
    line.close()


@contextmanager
def running_volumio(**more: Any) -> Iterator[VolumioServer]:
    """Yield a fake Volumio."""
    server = VolumioServer(**more)
    server.start()
    try:
        yield server
    finally:
        server.kill()


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128

    def __init__(self, *args: Any) -> None:
        self._lines: set[socket.socket] = set()
        super().__init__(*args)

    def process_request(self, request: Any, client_address: Any) -> None:
        self._lines.add(request)
        super().process_request(request, client_address)

    def shutdown_request(self, request: Any) -> None:
        self._lines.discard(request)
        super().shutdown_request(request)

    def handle_error(self, request: Any, client_address: Any) -> None:
        pass  # clients that went away

    def hang_up(self) -> None:
        for line in list(self._lines):
            with suppress(OSError):
                line.shutdown(socket.SHUT_RDWR)


class _Handler(BaseHTTPRequestHandler):
    state: VolumioServer
    protocol_version = "HTTP/1.1"

    def setup(self) -> None:
        self.timeout = self.state.idle
        super().setup()

    def do_GET(self) -> None:
        self._answer("GET", None)

    def do_POST(self) -> None:
        self._answer("POST", self._body())

    def do_DELETE(self) -> None:
        self._answer("DELETE", self._body())

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the name is the base class's
        """Do not log."""

    def _body(self) -> Any:
        raw = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        if self.headers.get_content_type() != "application/json":
            return None
        return json.loads(raw)

    def _answer(self, method: str, data: Any) -> None:
        url = urlsplit(self.path)
        query = {key: values[0] for key, values in parse_qs(url.query, keep_blank_values=True).items()}
        path = url.path.rstrip("/")
        route = _route(path)
        command = query.get("cmd", "") if route == "commands" else ""
        what = f"{route}/{command}" if command else route or path
        self.state.requests.append(RecordedRequest(f"{method} {what}", data if method != "GET" else query))
        if not self.state.wait_until_awake():
            self.close_connection = True
            return
        fault = self.state.fault(command or what, what)
        if fault == "lost" or self._breaks(fault):
            self.close_connection = True
            return
        with self.state.lock:
            status, kind, body = self._done(method, route or path, query, data)
        if fault == "cut":
            self.close_connection = True
            return
        self._send(fault if isinstance(fault, int) else status, kind, fault if isinstance(fault, bytes) else body)

    def _breaks(self, fault: Fault | None) -> bool:
        """Apply a slow fault; return whether it was one."""
        with suppress(OSError):
            match fault:
                case "hang":
                    self.state.sleep_until_dead()
                case "drip":
                    self.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n")
                    while self.state.running:
                        self.wfile.write(b" ")
                        time.sleep(0.05)
                case "huge":
                    self.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n[")
                    while self.state.running:
                        self.wfile.write(b"1," * 50_000)
        return fault in ("hang", "drip", "huge")

    def _send(self, status: int, kind: str, body: bytes) -> None:
        with suppress(OSError):
            self.send_response(status)
            self.send_header("Access-Control-Allow-Origin", "*")
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

    def _done(self, method: str, route: str, query: Mapping[str, str], data: Any) -> tuple[int, str, bytes]:
        if route in self.state.without:
            return 404, HTML, f"Cannot {method} {self.path}".encode()
        if method == "GET" and route == "/albumart":
            return 200, "image/png", picture(self.state.box.library, query)
        if method == "GET" and route == "ping":
            return 200, HTML, b"pong"
        if method == "GET" and route == "commands":
            return _json(self._command(query))
        known = ROUTES.get((method, route))
        if known is None:
            return 404, HTML, f"Cannot {method} {self.path}".encode()
        if route == "getState" and self.state.stale:
            return _json(self.state.stale.pop(0))
        answer = known(self.state.box, query if method == "GET" else data)
        return (200, HTML, b"[]") if answer == [] and route == "pushNotificationUrls" else _json(answer)

    def _command(self, query: Mapping[str, str]) -> Any:
        name = query.get("cmd", "")
        command = COMMANDS.get(name)
        if command is None:
            return {"Error": "command not recognized"}
        if name not in self.state.ignored_commands:
            before = self.state.box.state()
            self.state.stale = [before] * self.state.lag + [{**before, "status": "stop"}] * bool(self.state.lag)
            with suppress(LookupError, ValueError):  # it is written into the log of Volumio, and that is all
                command(self.state.box, query)
        return {"time": int(time.time() * 1000), "response": f"{name} Success"}


def _route(path: str) -> str:
    """Return the route of `path` after /api/v1/ or /api/, or ''."""
    for base in ("/api/v1/", "/api/"):
        if path.startswith(base):
            return path.removeprefix(base)
    return ""


def _json(answer: Any) -> tuple[int, str, bytes]:
    return 200, JSON, json.dumps(answer, ensure_ascii=False).encode()
