"""Fetches the beginning of a small file from the web, with a limit to everything: size, time, redirects.

What it imports for that it imports when there is something to fetch: most commands fetch nothing.
"""

import contextlib
import re
import socket
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from pi_appliance.errors import Refused, Unavailable

if TYPE_CHECKING:
    import http.client
    import urllib.request


_WHYS = (
    (
        r"name or service not known|name resolution|getaddrinfo|nodename nor servname|failed to resolve",
        "its name is not known; is this Pi online?",
    ),
    (r"connection refused", "nothing listens there"),
    (r"unreachable|no route to host", "there is no way to it; is this Pi online?"),
    (r"certificate", "its certificate is not good; is the clock of this Pi right?"),
    (r"ssl|tls", "it does not speak TLS there"),
    (r"timed out|timeout", "it did not answer in time"),
    (r"reset by peer|aborted|broken pipe|closed|disconnected|eof", "it hung up"),
)


def describe_network_error(said: str) -> str:
    """Return what SAID, the text of an error, means; '' if it means nothing that is known."""
    return next((words for pattern, words in _WHYS if re.search(pattern, said, re.IGNORECASE)), "")


MOST_REDIRECTS = 3
_BIT = 8192
_CHARSET = re.compile(r"charset=\"?([\w.-]{1,40})", re.IGNORECASE)
_LATER = {408, 425, 429}


@dataclass(frozen=True, slots=True)
class Fetched:
    """What came: from which address in the end, what its server calls it, and its beginning where that was wanted."""

    url: str
    mime: str
    text: str


def fetch(url: str, *, wanted: Callable[[str, str], bool], most: int = 65_536, seconds: float = 5.0) -> Fetched:
    """Return what is at URL. Nothing is read unless it is WANTED by its address and its kind: a stream never ends.

    At most MOST bytes are read. Once connected it ends within SECONDS, whatever the servers do. Raises Unavailable if
    it is not reached, Refused if the answer is no, too long, or leads to what is no web address.
    """
    import http.client  # noqa: PLC0415 - these cost more than most commands do
    import urllib.error  # noqa: PLC0415

    if not is_web_address(url):
        raise Refused(f"{url!r} is no web address; begin it with http:// or https://")
    until = time.monotonic() + seconds
    try:
        with _cut_off_after(seconds) as watch, _opener(watch).open(url, timeout=seconds) as answer:
            kind = answer.headers.get("Content-Type", "")
            mime = kind.partition(";")[0].strip().lower()
            body = _read(answer, most, url) if wanted(answer.geturl(), mime) else b""
            if time.monotonic() >= until:  # what was cut off looks like an end
                raise Unavailable(f"{url} is too slow; try again later")
            return Fetched(answer.geturl(), mime, _text(body, kind))
    except urllib.error.HTTPError as error:
        error.close()
        later = error.code >= 500 or error.code in _LATER
        what = "leads on and on, or to no web address" if 300 <= error.code < 400 else f"answers {error.code}"
        raise (Unavailable if later else Refused)(f"{url} {what}; check the address") from None
    except http.client.BadStatusLine as error:
        if str(error).startswith("ICY 200"):  # the way old radio servers say that a stream begins
            return Fetched(url, "audio/mpeg", "")
        raise Unavailable(f"what answers at {url} is no web server") from None
    except (OSError, http.client.HTTPException, ValueError) as error:
        why = describe_network_error(str(error) or type(error).__name__)
        raise Unavailable(
            f"{url} is not reached: {why or 'no answer'}; check the address, or try again later"
        ) from None


@contextlib.contextmanager
def _cut_off_after(seconds: float) -> Iterator[Callable[[socket.socket], None]]:
    """Give what is told of each connection: it is cut off when the SECONDS are over, even in the midst of a word.

    A timeout alone begins anew with each byte, so a server that drips would keep its caller for days.
    """
    lines: list[socket.socket] = []
    lock, over = threading.Lock(), threading.Event()

    def cut_off() -> None:
        with lock:
            over.set()
            for line in lines:
                _shut(line)

    def watch(line: socket.socket) -> None:
        with lock:
            lines.append(line)
            if over.is_set():
                _shut(line)

    timer = threading.Timer(seconds, cut_off)
    timer.daemon = True
    timer.start()
    try:
        yield watch
    finally:
        timer.cancel()


def _shut(line: socket.socket) -> None:
    with contextlib.suppress(OSError):
        socket.socket.shutdown(line, socket.SHUT_RDWR)


def _opener(watch: Callable[[socket.socket], None]) -> "urllib.request.OpenerDirector":
    """Return what opens addresses, follows to web addresses alone, and lets WATCH know of each connection."""
    import http.client  # noqa: PLC0415 - see above
    import urllib.request  # noqa: PLC0415

    class Plain(http.client.HTTPConnection):
        def connect(self) -> None:
            super().connect()
            watch(self.sock)

    class Secure(http.client.HTTPSConnection):
        def connect(self) -> None:
            super().connect()
            watch(self.sock)

    class Http(urllib.request.HTTPHandler):
        def http_open(self, req: urllib.request.Request) -> http.client.HTTPResponse:
            return self.do_open(Plain, req)

    class Https(urllib.request.HTTPSHandler):
        def https_open(self, req: urllib.request.Request) -> http.client.HTTPResponse:
            return self.do_open(Secure, req)

    class Redirects(urllib.request.HTTPRedirectHandler):
        max_redirections = max_repeats = MOST_REDIRECTS

        def redirect_request(
            self,
            req: urllib.request.Request,
            fp: object,
            code: int,
            msg: str,
            headers: "http.client.HTTPMessage",
            newurl: str,
        ) -> urllib.request.Request | None:
            """Follow to web addresses alone."""
            if not is_web_address(newurl):
                raise Refused(f"{req.full_url} leads to {newurl!r}, which is no web address")
            return super().redirect_request(req, fp, code, msg, headers, newurl)  # type: ignore[arg-type]

    opener = urllib.request.build_opener(Http, Https, Redirects)
    opener.addheaders = [("User-Agent", "pi-appliance"), ("Accept", "*/*")]
    return opener


def _read(answer: "http.client.HTTPResponse", most: int, url: str) -> bytes:
    body = b""
    while bit := answer.read1(_BIT):
        body += bit
        if len(body) > most:
            raise Refused(f"{url} is no list of streams: it is longer than {most} bytes")
    return body


def _text(body: bytes, kind: str) -> str:
    named = _CHARSET.search(kind)
    for encoding in (named[1] if named else "utf-8", "utf-8"):
        try:
            return body.decode(encoding)
        except (LookupError, UnicodeDecodeError):
            continue
    return body.decode("latin-1")


def is_web_address(url: str) -> bool:
    """Say whether URL is one that a player may be sent to: http or https, a host, nothing that could not be typed."""
    try:
        parts = urlsplit(url)
        return parts.scheme in ("http", "https") and bool(parts.hostname) and url.isprintable() and " " not in url
    except ValueError:
        return False
