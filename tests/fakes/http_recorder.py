"""An HTTP server on loopback that records all requests, like ntfy, a webhook or healthchecks.

Each request uses up one item of `faults`: a status, or "hold" (it is answered once `released` is set).
"""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass(frozen=True, slots=True)
class RecordedRequest:
    """One request."""

    path: str
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


@dataclass
class HttpRecorder:
    """The recorded requests, and the pending faults."""

    port: int = 0
    requests: list[RecordedRequest] = field(default_factory=list)
    faults: list[int | str] = field(default_factory=list)
    released: threading.Event = field(default_factory=threading.Event)

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self.port}"

    @property
    def titles(self) -> list[str]:
        """Return the titles of the messages of ntfy and webhooks."""
        return [each.json["title"] for each in self.requests]


@contextmanager
def http_recorder(port: int = 0) -> Iterator[HttpRecorder]:
    """Run the server for the block, on any free port by default."""
    recorder = HttpRecorder()

    class Handler(_Handler):
        state = recorder

    server = ThreadingHTTPServer(("127.0.0.1", port), Handler)
    server.daemon_threads = True
    recorder.port = server.server_address[1]
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield recorder
    finally:
        recorder.released.set()
        server.shutdown()
        server.server_close()
        thread.join()


class _Handler(BaseHTTPRequestHandler):
    state: HttpRecorder

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        fault = self.state.faults.pop(0) if self.state.faults else 200
        self.state.requests.append(RecordedRequest(self.path, dict(self.headers), body))
        if fault == "hold":
            self.state.released.wait(30)
        try:
            self.send_response(fault if isinstance(fault, int) else 200)
            self.send_header("Content-Type", "application/json")
            self.end_headers()
            self.wfile.write(b"{}")
        except OSError:
            pass  # the client has gone

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the name is the base class's
        """Do not log."""
