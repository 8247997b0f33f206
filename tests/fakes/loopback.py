"""What the fake servers share: a real HTTP server on loopback for the length of a block."""

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Protocol


class Fake(Protocol):
    """A server's state: where it is, and an event that ends all waiting in it."""

    address: str
    over: threading.Event


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 512

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say nothing of clients that went away, or were killed; tell of all else."""
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)


@contextmanager
def serving(fake: Fake, handler: type[BaseHTTPRequestHandler]) -> Iterator[None]:
    """Let `handler`, whose class has `state`, serve `fake` until the block ends."""
    server = _Server(("127.0.0.1", 0), type("Handler", (handler,), {"state": fake}))
    fake.address = f"http://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield
    finally:
        fake.over.set()
        server.shutdown()
        server.server_close()
        thread.join()
