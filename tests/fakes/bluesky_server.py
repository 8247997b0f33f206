"""A fake of a server of Bluesky's on loopback: what an account there does, over HTTP, failing as the real one does.

Faults are put into `faults[method]`, such as faults["putRecord"], and used up one a request of it. A status answers
before anything is done ("503-after": once it is done), or a word: "cut-before" (closes unread), "cut-read" (reads it,
does nothing, closes), "cut-after" (does it, closes without an answer), "cut-in-answer" (half an answer),
"not-an-object" (200 with a list), "not-json", "empty" (200 with {}), "hang" (does it, never answers), "hang-before"
(never answers, nothing done), "drip" (does it, answers a byte at a time), "elsewhere" (a redirection).
"""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from email.utils import formatdate
from http.server import BaseHTTPRequestHandler
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from tests.fakes.bluesky_account import FakeBluesky, No, Seen
from tests.fakes.loopback import serving


@contextmanager
def fake_bluesky() -> Iterator[FakeBluesky]:
    """Run the server for the block."""
    fake = FakeBluesky()
    with serving(fake, _Handler):
        yield fake


class _Handler(BaseHTTPRequestHandler):
    state: FakeBluesky
    protocol_version = "HTTP/1.1"
    wbufsize = -1  # one packet an answer: in several, each would wait for the one before to be confirmed
    disable_nagle_algorithm = True

    def do_GET(self) -> None:
        self._serve()

    def do_POST(self) -> None:
        self._serve()

    def _serve(self) -> None:
        state, method = self.state, urlsplit(self.path).path.removeprefix("/xrpc/")
        name = method.rpartition(".")[2]
        with state.lock:
            fault = state.faults[name].pop(0) if state.faults[name] else None
        if fault == "cut-before":
            self._note(Seen(name, 0, fault))
            self._cut()
            return
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        if fault in ("cut-read", "hang-before", "elsewhere") or isinstance(fault, int):
            self._note(Seen(name, fault if isinstance(fault, int) else 0, fault))
            self._undone(fault)
            return
        status, answer = self._done(method, name, body, fault)
        self._tell(fault, status, answer)

    def _done(self, method: str, name: str, body: bytes, fault: int | str | None) -> tuple[int, dict[str, Any]]:
        state, query = self.state, dict(parse_qsl(urlsplit(self.path).query))
        token = self.headers.get("Authorization", "").removeprefix("Bearer ")
        mime = self.headers.get("Content-Type", "")
        with state.lock:
            given = json.loads(body) if name == "putRecord" else {}
            rkey = str(given.get("rkey", query.get("rkey", "")))
            before, status = state.records.get(rkey), 200
            try:
                answer = state.answer(method, token, query, body, mime)
            except No as no:
                status, answer = no.status, {"error": no.error, "message": no.message}
            written = state.records.get(rkey) is not before
            text = given["record"]["text"] if given else ""
            state.seen.append(Seen(name, status, fault, rkey, text, written))
        return status, answer

    def _undone(self, fault: int | str | None) -> None:
        match fault:
            case "cut-read":
                self._cut()
            case "hang-before":
                self._hang()
            case "elsewhere":
                self._answer(302, {}, {"Location": f"{self.state.address}/elsewhere"})
            case 429:
                reset = {"ratelimit-limit": "5000", "ratelimit-reset": str(int(self.state.now()) + 90)}
                self._answer(429, {"error": "RateLimitExceeded", "message": "Rate Limit Exceeded"}, reset)
            case 418:
                self._answer(418, {"error": "Fault", "message": f"odd: {self.headers.get('Authorization', '')[7:]}"})
            case int():
                self._answer(fault, {"error": "Fault", "message": "told to\nfail"})

    def _tell(self, fault: int | str | None, status: int, answer: Any) -> None:
        match fault:
            case "cut-after":
                self._cut()
            case "cut-in-answer":
                self._raw(b"HTTP/1.1 200 OK\r\nContent-Length: 500\r\nContent-Type: application/json\r\n\r\n{")
                self._cut()
            case "not-an-object":
                self._answer(200, ["surprise"])
            case "not-json":
                self._raw(b"HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\n<html>")
            case "empty":
                self._answer(200, {})
            case "hang":
                self._hang()
            case "drip":
                self._raw(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 99\r\n\r\n")
                while not self.state.over.wait(0.05):
                    self._raw(b" ")
            case str() if fault.endswith("-after"):
                self._answer(int(fault.removesuffix("-after")), {"error": "Fault", "message": "told to fail"})
            case _:
                reset = {"ratelimit-reset": answer["message"].split()[-1]} if status == 429 else {}
                self._answer(status, answer, reset)

    def _note(self, seen: Seen) -> None:
        with self.state.lock:
            self.state.seen.append(seen)

    def _cut(self) -> None:
        self.close_connection = True
        self.connection.shutdown(2)

    def _hang(self) -> None:
        self.close_connection = True
        self.state.over.wait(60)

    def _raw(self, data: bytes) -> None:
        self.wfile.write(data)
        self.wfile.flush()

    def _answer(self, status: int, body: Any, headers: dict[str, str] | None = None) -> None:
        raw = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json; charset=utf-8")
        self.send_header("Content-Length", str(len(raw)))
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        self.end_headers()
        self._raw(raw)

    def date_time_string(self, timestamp: float | None = None) -> str:
        """Return the server's time for the Date header."""
        return formatdate(timestamp or self.state.now(), usegmt=True)

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the name is the base class's
        """Say nothing."""
