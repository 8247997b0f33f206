"""The HTTP server on loopback that the fake servers share."""

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Protocol


class Fake(Protocol):
    """The state of a server: its address, and an event that ends all waits."""

    address: str
    stopped: threading.Event


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 512

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Ignore disconnected clients; report all other errors."""
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)


@contextmanager
def serving(fake: Fake, handler: type[BaseHTTPRequestHandler]) -> Iterator[None]:
    """Serve `fake` with `handler` during the block; the state is its class attribute `state`."""
    server = _Server(("127.0.0.1", 0), type("Handler", (handler,), {"state": fake}))
    fake.address = f"http://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield
    finally:
        fake.stopped.set()
        server.shutdown()
        server.server_close()
        thread.join()
