"""A fake of X's API on loopback: checks OAuth 1.0a signatures with a library, keeps posts, and fails as X does.

Faults are put into `faults` and used up one a request: an HTTP status, or a word: "cut-before" (closes unread),
"cut-after" (accepts the post, closes without an answer), "cut-in-answer" (half an answer), "not-an-object" (200 with a
list), "hang" (accepts, never answers).
"""

import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from oauthlib.common import Request
from oauthlib.oauth1.rfc5849 import signature

SECRETS = {
    "X_CONSUMER_KEY": "consumer-key-1",
    "X_CONSUMER_SECRET": "consumer-secret-2",
    "X_ACCESS_TOKEN": "access-token-3",
    "X_ACCESS_TOKEN_SECRET": "access-secret-4",
}
HOME = "https://api.twitter.com"  # what a client signs, wherever the bytes really go


@dataclass
class FakeX:
    """What the server has seen, and how it is to fail."""

    address: str = ""
    posts: list[str] = field(default_factory=list)
    requests: int = 0
    faults: list[int | str] = field(default_factory=list)
    over: threading.Event = field(default_factory=threading.Event)


@contextmanager
def fake_x() -> Iterator[FakeX]:
    """Run the server for the block."""
    fake = FakeX()

    class Handler(_Handler):
        state = fake

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    fake.address = f"http://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield fake
    finally:
        fake.over.set()
        server.shutdown()
        server.server_close()
        thread.join()


class _Handler(BaseHTTPRequestHandler):
    state: FakeX
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        self.state.requests += 1
        fault = self.state.faults.pop(0) if self.state.faults else None
        if fault == "cut-before":
            self.close_connection = True
            self.connection.shutdown(2)
            return
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if not self._signed():
            self._answer(401, {"title": "Unauthorized", "status": 401, "detail": "Unauthorized"})
        elif isinstance(fault, int):
            self._fail(fault)
        elif body["text"] in self.state.posts:
            self._answer(403, _problem(403, "You are not allowed to create a Tweet with duplicate content."))
        else:
            self.state.posts.append(body["text"])
            self._accepted(fault, body["text"])

    def _signed(self) -> bool:
        authorization = {"Authorization": self.headers.get("Authorization", "")}
        request = Request(HOME + self.path, "POST", headers=authorization)
        sent = dict(signature.collect_parameters(headers=authorization, exclude_oauth_signature=False))
        request.signature = sent.pop("oauth_signature", "")
        request.params = list(sent.items())
        known = (SECRETS["X_CONSUMER_KEY"], SECRETS["X_ACCESS_TOKEN"])
        if (sent.get("oauth_consumer_key"), sent.get("oauth_token")) != known:
            return False
        secrets = (SECRETS["X_CONSUMER_SECRET"], SECRETS["X_ACCESS_TOKEN_SECRET"])
        return bool(signature.verify_hmac_sha1(request, *secrets))

    def _fail(self, status: int) -> None:
        match status:
            case 402:
                self._answer(402, _problem(402, "Your account does not have any credits to fulfill this request."))
            case 403:
                self._answer(403, _problem(403, "You are not permitted to perform this action."))
            case 429:
                reset = {"x-rate-limit-reset": str(int(time.time()) + 90)}
                self._answer(429, _problem(429, "Too Many Requests"), reset)
            case _:
                self._answer(status, _problem(status, "Service Unavailable"))

    def _accepted(self, fault: int | str | None, text: str) -> None:
        answer = {"data": {"id": str(1000 + len(self.state.posts)), "text": text}}
        match fault:
            case "cut-after":
                self.close_connection = True
                self.connection.shutdown(2)
            case "cut-in-answer":
                self.wfile.write(
                    b"HTTP/1.1 201 Created\r\nContent-Length: 500\r\nContent-Type: application/json\r\n\r\n{"
                )
                self.wfile.flush()
                self.close_connection = True
                self.connection.shutdown(2)
            case "not-an-object":
                self._answer(201, ["surprise"])
            case "hang":
                self.state.over.wait(60)
                self.close_connection = True
            case _:
                self._answer(201, answer)

    def _answer(self, status: int, body: Any, headers: dict[str, str] | None = None) -> None:
        raw = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json; charset=utf-8")
        self.send_header("Content-Length", str(len(raw)))
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(raw)

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the name is the base class's
        """Say nothing."""


def _problem(status: int, detail: str) -> dict[str, Any]:
    return {"title": "Problem", "type": "about:blank", "status": status, "detail": detail, "errors": []}
