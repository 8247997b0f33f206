"""A fake of the X API on loopback: it checks OAuth 1.0a signatures with a library, stores posts, and fails like X.

Faults are listed in `faults`. Each request uses up one. A fault is

    None              no fault
    an int            that HTTP status
    a `Raw`           that answer
    "cut-before"      closed unread, without an effect
    "hang-before"     no answer, without an effect
    "redirect"        a redirect, without an effect
    "html"            200 with a page, without an effect
    "cut-after"       closed without an answer, with the effect
    "cut-in-answer"   closed within the answer, with the effect
    "5xx-after"       503, with the effect
    "not-an-object"   a list, with the effect
    "no-id"           an answer without the id, with the effect
    "hang"            no answer, with the effect
    "drip"            a body that never ends, one byte at a time, with the effect
    "drip-head"       a head that never ends, with the effect

Other processes can use the address of the server. `log` has every request in the order of the answers.
"""

import contextlib
import json
import re
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from email.parser import BytesParser
from http.server import BaseHTTPRequestHandler
from typing import Any
from urllib.parse import parse_qs, urlsplit

from tests.fakes.loopback import serving
from tests.fakes.x_state import NAME, SECRETS, USER, CreatedPost, FakeX, Picture, Raw, RecordedRequest
from tests.fakes.x_timeline import as_x_writes

__all__ = ["SECRETS", "CreatedPost", "FakeX", "Picture", "Raw", "RecordedRequest", "fake_x"]


@contextmanager
def fake_x() -> Iterator[FakeX]:
    """Run the server for the block."""
    fake = FakeX()
    with serving(fake, _Handler):
        yield fake


@dataclass
class _Answer:
    status: int
    body: Any  # bytes as they are, else JSON
    accepted: str | None = None
    headers: dict[str, str] = field(default_factory=dict)


class _Handler(BaseHTTPRequestHandler):
    state: FakeX
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def setup(self) -> None:
        super().setup()
        with self.state.lock:
            self.state.lines += 1

    def do_GET(self) -> None:
        self._serve()

    def do_POST(self) -> None:
        self._serve()

    def _serve(self) -> None:
        with self.state.lock:
            self.state.requests += 1
            fault = self.state.faults.pop(0) if self.state.faults else None
        if fault == "cut-before":
            self._log(0)
            self._close()
            return
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        sent = self._signed(body)
        if sent is None:
            self._answer(_error(401, 32, "Could not authenticate you."))
        elif isinstance(fault, int):
            self._answer(_failure(fault))
        elif isinstance(fault, Raw):
            self._answer(_Answer(fault.status, fault.body, headers=fault.headers))
        elif fault == "redirect":
            self._answer(_Answer(307, b"", headers={"Location": "/elsewhere"}))
        elif fault == "html":
            self._answer(_Answer(200, b"<!doctype html><h1>Welcome to the hotel</h1>"))
        elif fault == "hang-before":
            self._log(0)
            self.state.stopped.wait(60)
            self._close()
        else:
            with self.state.lock:
                answer = self._done(body, sent)
            self._end(fault, answer)

    def _signed(self, body: bytes) -> dict[str, str] | None:
        form = body.decode() if "x-www-form-urlencoded" in self.headers.get("Content-Type", "") else ""
        return self.state.keys.signed(self.command, self.path, self.headers.get("Authorization", ""), form)

    def _done(self, body: bytes, sent: dict[str, str]) -> _Answer:
        where = urlsplit(self.path)
        match (self.command, where.path):
            case ("POST", "/2/tweets"):
                return self._post(json.loads(body))
            case ("POST", "/2/media/upload"):
                return self._picture(body)
            case ("POST", "/2/media/metadata"):
                return self._alt(json.loads(body))
            case ("GET", "/2/users/me"):
                return _Answer(200, {"data": {"id": USER, "name": "Shelf", "username": NAME}})
            case ("GET", path) if path == f"/2/users/{USER}/tweets":
                return self._recent_posts({name: values[0] for name, values in parse_qs(where.query).items()})
            case ("POST", "/oauth/request_token"):
                if not self.state.pin_allowed or sent.get("oauth_callback") != "oob":
                    return _error(403, 415, "Callback URL not approved for this client application.")
                return _Answer(200, self.state.keys.start_login().encode())
            case ("POST", "/oauth/access_token"):
                given = self.state.keys.finish_login(sent)
                whose = f"&user_id={USER}&screen_name={NAME}"
                return _Answer(200, (given + whose).encode()) if given else _Answer(401, b"Invalid oauth_verifier")
        return _problem(404, "Not Found")

    def _post(self, fields: dict[str, Any]) -> _Answer:
        state, text = self.state, fields.get("text", "")
        shown = tuple(fields.get("media", {}).get("media_ids", ()))
        above = fields.get("reply", {}).get("in_reply_to_tweet_id")
        if not (text or shown):
            return _problem(400, "One or more parameters to your request was invalid.")
        if len(shown) > 4 or any(each not in state.pictures or state.pictures[each].post for each in shown):
            return _problem(400, "Your media IDs are invalid.")
        if above is not None and above not in {made.id for made in state.made}:
            return _problem(403, "You attempted to reply to a Tweet that is deleted or not visible to you.")
        if text and text in state.posts and state.refuses_twice:
            return _problem(403, "You are not allowed to create a Tweet with duplicate content.")
        made = CreatedPost(str(1001 + len(state.made)), text, above, shown, state.looks, state.clock())
        state.made.append(made)
        state.posts.append(text)
        for each in shown:
            state.pictures[each].post = made.id
        written = as_x_writes(made.id, text, len(shown))["text"]
        return _Answer(201, {"data": {"id": made.id, "text": written, "edit_history_tweet_ids": [made.id]}}, text)

    def _picture(self, body: bytes) -> _Answer:
        head = f"Content-Type: {self.headers['Content-Type']}\r\n\r\n".encode()
        parts = {
            part.get_param("name", header="content-disposition"): part
            for part in BytesParser().parsebytes(head + body).walk()
            if not part.is_multipart()
        }
        kind, file = parts["media_category"].get_payload(decode=True), parts["media"]
        data, mime = file.get_payload(decode=True), file.get_content_type()
        assert isinstance(data, bytes)
        if kind != b"tweet_image" or mime not in {"image/png", "image/jpeg", "image/webp"}:
            return _problem(400, "media type unrecognized.")
        if len(data) > 5 * 1024 * 1024:
            return _problem(413, "File size exceeds 5242880 bytes.")
        number = str(9001 + len(self.state.pictures))
        self.state.pictures[number] = Picture(data, mime)
        output = {"id": number, "media_key": f"3_{number}", "size": len(data), "expires_after_secs": 86400}
        return _Answer(200, {"data": output})

    def _alt(self, fields: dict[str, Any]) -> _Answer:
        picture, alt = self.state.pictures.get(fields["id"]), fields["metadata"]["alt_text"]["text"]
        if picture is None or len(alt) > 1000:
            return _problem(400, "One or more parameters to your request was invalid.")
        picture.alt = alt
        return _Answer(200, {"data": {"id": fields["id"], "associated_metadata": fields["metadata"]}})

    def _recent_posts(self, query: dict[str, str]) -> _Answer:
        state, count = self.state, int(query.get("max_results", 10))
        if not 5 <= count <= 100:
            return _problem(400, "The `max_results` query parameter value is not between 5 and 100.")
        since = state.clock() - state.lag_seconds
        there = [made for made in state.made if state.looks - made.looks >= state.lag and made.at <= since]
        state.looks += 1
        there = [made for made in reversed(there) if int(made.id) > int(query.get("since_id", 0))]
        begin = int(query.get("pagination_token", 0))
        shown = [as_x_writes(made.id, made.text, len(made.pictures)) for made in there[begin : begin + count]]
        if "entities" not in query.get("tweet.fields", ""):
            shown = [{name: value for name, value in each.items() if name != "entities"} for each in shown]
        meta: dict[str, Any] = {"result_count": len(shown)}
        if begin + count < len(there):
            meta["next_token"] = str(begin + count)
        return _Answer(200, {"data": shown, "meta": meta} if shown else {"meta": meta})

    def _end(self, fault: str | None, answer: _Answer) -> None:
        """Answer, or apply `fault`."""
        match fault:
            case "cut-after" | "cut-in-answer" | "hang" | "drip" | "drip-head":
                self._log(0, answer.accepted)
                self._send_broken_answer(fault)
                self._close()
            case "5xx-after":
                self._answer(_Answer(503, _failure(503).body, answer.accepted))
            case "not-an-object":
                self._answer(_Answer(answer.status, ["surprise"], answer.accepted))
            case "no-id":
                self._answer(_Answer(answer.status, {"data": {"text": "somewhere"}}, answer.accepted))
            case _:
                self._answer(answer)

    def _send_broken_answer(self, fault: str) -> None:
        head = b"HTTP/1.1 201 Created\r\nContent-Type: application/json\r\n"
        with contextlib.suppress(OSError):
            match fault:
                case "cut-in-answer":
                    self.wfile.write(head + b"Content-Length: 500\r\n\r\n{")
                case "hang":
                    self.state.stopped.wait(60)
                case "drip" | "drip-head":
                    self.wfile.write(head + (b"Content-Length: 50000\r\n\r\n" if fault == "drip" else b"X-Long: "))
                    while not self.state.stopped.wait(0.05):
                        self.wfile.write(b" ")

    def _answer(self, answer: _Answer) -> None:
        raw = answer.body if isinstance(answer.body, bytes) else json.dumps(answer.body).encode()
        kind = "application/json; charset=utf-8" if re.match(rb"[\[{]", raw) else "text/html; charset=utf-8"
        self._log(answer.status, answer.accepted)
        with contextlib.suppress(OSError):
            self.send_response_only(answer.status)
            basis = {"Date": self.date_time_string(), "Content-Type": kind, "Content-Length": str(len(raw))}
            lines = {**basis, **self.state.headers, **answer.headers}
            for name, value in lines.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(raw)

    def _log(self, status: int, accepted: str | None = None) -> None:
        with self.state.lock:
            self.state.log.append(RecordedRequest(self.command, self.path, status, accepted))

    def _close(self) -> None:
        self.close_connection = True
        with contextlib.suppress(OSError):
            self.connection.shutdown(2)

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the name is the base class's
        """Do not log."""


def _failure(status: int) -> _Answer:
    match status:
        case 402:
            return _problem(402, "Your enrolled account does not have any credits to fulfill this request.")
        case 403:
            return _problem(403, "You are not permitted to perform this action.")
        case 429:
            reset = {"x-rate-limit-reset": str(int(time.time()) + 90), "x-rate-limit-remaining": "0"}
            return _Answer(429, _problem(429, "Too Many Requests").body, headers=reset)
    return _problem(status, "Service Unavailable")


def _problem(status: int, detail: str) -> _Answer:
    return _Answer(status, {"title": "Problem", "type": "about:blank", "status": status, "detail": detail})


def _error(status: int, code: int, message: str) -> _Answer:
    return _Answer(status, {"errors": [{"code": code, "message": message}]})
