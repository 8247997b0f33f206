"""A fake Bluesky server on loopback with one account, which fails like the real one.

Faults are listed in `faults[method]`, such as faults["putRecord"]. Each request of the method uses up one. A fault is

    an int            that HTTP status, without an effect
    "503-after"       that HTTP status, with the effect
    "cut-before"      closed before the request is read
    "cut-read"        closed after the request is read, without an effect
    "cut-after"       closed without an answer, with the effect
    "cut-in-answer"   closed within the answer, with the effect
    "not-an-object"   200 with a list
    "not-json"        200 with a page
    "empty"           200 with {}
    "hang"            no answer, with the effect
    "hang-before"     no answer, without an effect
    "drip"            one byte of the answer at a time, with the effect
    "elsewhere"       a redirect
"""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from email.utils import formatdate
from http.server import BaseHTTPRequestHandler
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from tests.fakes.bluesky_account import FakeBluesky, RecordedRequest, Rejection
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
            self._note(RecordedRequest(name, 0, fault))
            self._break_connection()
            return
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        if fault in ("cut-read", "hang-before", "elsewhere") or isinstance(fault, int):
            self._note(RecordedRequest(name, fault if isinstance(fault, int) else 0, fault))
            self._apply_early_fault(fault)
            return
        status, answer = self._process(method, name, body, fault)
        self._send_result(fault, status, answer)

    def _process(self, method: str, name: str, body: bytes, fault: int | str | None) -> tuple[int, dict[str, Any]]:
        state, query = self.state, dict(parse_qsl(urlsplit(self.path).query))
        token = self.headers.get("Authorization", "").removeprefix("Bearer ")
        mime = self.headers.get("Content-Type", "")
        with state.lock:
            record = json.loads(body) if name == "putRecord" else {}
            rkey = str(record.get("rkey", query.get("rkey", "")))
            before, status = state.records.get(rkey), 200
            try:
                answer = state.answer(method, token, query, body, mime)
            except Rejection as no:
                status, answer = no.status, {"error": no.error, "message": no.message}
            written = state.records.get(rkey) is not before
            text = record["record"]["text"] if record else ""
            state.requests.append(RecordedRequest(name, status, fault, rkey, text, written))
        return status, answer

    def _apply_early_fault(self, fault: int | str | None) -> None:
        match fault:
            case "cut-read":
                self._break_connection()
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

    def _send_result(self, fault: int | str | None, status: int, answer: Any) -> None:
        match fault:
            case "cut-after":
                self._break_connection()
            case "cut-in-answer":
                self._raw(b"HTTP/1.1 200 OK\r\nContent-Length: 500\r\nContent-Type: application/json\r\n\r\n{")
                self._break_connection()
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
                while not self.state.stopped.wait(0.05):
                    self._raw(b" ")
            case str() if fault.endswith("-after"):
                self._answer(int(fault.removesuffix("-after")), {"error": "Fault", "message": "told to fail"})
            case _:
                reset = {"ratelimit-reset": answer["message"].split()[-1]} if status == 429 else {}
                self._answer(status, answer, reset)

    def _note(self, seen: RecordedRequest) -> None:
        with self.state.lock:
            self.state.requests.append(seen)

    def _break_connection(self) -> None:
        self.close_connection = True
        self.connection.shutdown(2)

    def _hang(self) -> None:
        self.close_connection = True
        self.state.stopped.wait(60)

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
        """Do not log."""
