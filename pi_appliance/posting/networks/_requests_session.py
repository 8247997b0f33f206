"""HTTP session for X on requests, with a time limit and without redirects.

Errors report whether a request was sent. requests takes 8 MB of memory, so import this module only
in code that sends something.
"""

import ssl
from typing import TYPE_CHECKING

from pi_appliance.errors import ApplianceError, Unavailable, Uncertain
from pi_appliance.posting.networks import CHECK_ACCOUNT

if TYPE_CHECKING:
    import requests
import contextlib
import io
import logging
import socket
import threading
from collections.abc import Iterator, Mapping
from contextvars import ContextVar
from typing import Any

import requests
from requests.adapters import HTTPAdapter
from urllib3.connection import HTTPConnection, HTTPSConnection
from urllib3.connectionpool import HTTPConnectionPool, HTTPSConnectionPool
from urllib3.exceptions import ConnectTimeoutError


def classify_connection_error(error: "requests.ConnectionError", network: str) -> ApplianceError:
    """Convert a connection error of `network`.

    Returns:
        `Unavailable` if no connection was established, otherwise `Uncertain`.
    """
    import urllib3.exceptions as broken  # noqa: PLC0415 - loaded with requests

    reason = getattr(error.args[0], "reason", error.args[0]) if error.args else error
    if isinstance(reason, (broken.NewConnectionError, broken.ConnectTimeoutError, broken.ProxyError)):
        return Unavailable(f"{network} cannot be reached; is this Pi online?")
    # This is the only TLS error that certainly occurs before the post is sent.
    if isinstance(reason, broken.SSLError) and isinstance(reason.args[0], ssl.SSLCertVerificationError):
        return Unavailable(f"the server's certificate is not valid for {network}; check the clock of this Pi")
    return Uncertain(f"the connection to {network} broke before it answered; {CHECK_ACCOUNT}")


_SLOWEST = 10_000  # bytes a second; a slower connection counts as broken
_NOISY_LOGGERS = ("tweepy", "requests_oauthlib", "oauthlib", "requests", "urllib3", "charset_normalizer")


def silence_library_logs() -> None:
    """Silence the loggers of the libraries. At level debug they log headers with tokens."""
    for name in _NOISY_LOGGERS:
        logger = logging.getLogger(name)
        logger.setLevel(logging.WARNING)
        logger.propagate = False
        if not logger.handlers:
            logger.addHandler(logging.NullHandler())  # otherwise Python prints warnings to stderr


class TransportError(Exception):
    """There was no complete response. `is_sent` is False if the request was not sent."""

    def __init__(self, reason: str, *, is_sent: bool) -> None:
        self.is_sent = is_sent
        super().__init__(reason)


class HTTPStatusError(Exception):
    """The response has a status other than 2xx."""

    def __init__(self, response: requests.Response) -> None:
        self.response = response
        super().__init__(response.status_code)


class Session(requests.Session):
    """Send requests to the server `name` within `seconds` to connect, and as many to answer.

    `moved` maps base URLs to other servers. It is applied after a request was signed.
    """

    def __init__(self, name: str, seconds: float, moved: Mapping[str, str]) -> None:
        super().__init__()
        self._name, self._seconds, self._moved = name, seconds, moved
        self.headers["Connection"] = "close"
        for scheme in ("https://", "http://"):
            self.mount(scheme, _Adapter(max_retries=0))

    def send(self, request: requests.PreparedRequest, **more: Any) -> requests.Response:
        """Send `request` once and read the answer. Raises TransportError, HTTPStatusError."""
        request.url = self._moved_url(request.url or "")
        more |= {"allow_redirects": False, "timeout": (self._seconds, self._seconds)}
        longest = 2 * self._seconds
        if isinstance(request.body, bytes):
            longest += len(request.body) / _SLOWEST
            more["timeout"] = (self._seconds, longest)  # sending a picture takes longer
            # A file object is sent in pieces with a timeout each. Bytes would have one timeout for
            # all 5 MB.
            request.body = io.BytesIO(request.body)  # type: ignore[assignment]
        watch = _Watch()
        before = _WATCH.set(watch)
        try:
            with watch.end_after(longest):
                response = super().send(request, **more)
        except (OSError, ValueError) as error:  # all errors of requests are subclasses of these two
            raise self._transport_error(error, watch) from None
        finally:
            _WATCH.reset(before)
            # The connection is not reused, because an idle one may be dead at the next request.
            self.close()
        if watch.late:  # a response that was cut off in its header looks complete
            raise self._transport_error(TimeoutError(), watch)
        if not 200 <= response.status_code < 300:
            raise HTTPStatusError(response)
        return response

    def _moved_url(self, url: str) -> str:
        for home, server in self._moved.items():
            if url.startswith(f"{home}/"):
                return server + url.removeprefix(home)
        return url

    def _transport_error(self, error: Exception, watch: "_Watch") -> TransportError:
        classified = (
            classify_connection_error(error, self._name) if isinstance(error, requests.ConnectionError) else None
        )
        if isinstance(classified, Unavailable):
            return TransportError(str(classified), is_sent=False)
        if not (watch.sent or watch.blind):
            return TransportError(f"{self._name} cannot be reached; is this Pi online?", is_sent=False)
        if watch.late or isinstance(error, requests.Timeout):
            return TransportError(f"{self._name} took too long to answer", is_sent=True)
        return TransportError(f"the connection to {self._name} broke before it answered", is_sent=True)


class _Watch:
    """Notes of one exchange whether its request was sent, and whether it timed out."""

    def __init__(self) -> None:
        self.sent = self.blind = self.late = False
        self._lock = threading.Lock()
        self._sockets: list[socket.socket] = []

    @contextlib.contextmanager
    def end_after(self, seconds: float) -> Iterator[None]:
        """Break the connection after `seconds`, even if the server keeps sending single bytes."""
        timer = threading.Timer(seconds, self._break_connections)
        timer.daemon = True
        timer.start()
        try:
            yield
        finally:
            timer.cancel()
            with self._lock:
                for each in self._sockets:
                    each.close()
                self._sockets.clear()

    def add_socket(self, opened: socket.socket) -> None:
        """Keep a duplicate of `opened`, which stays valid when TLS takes the socket over."""
        with self._lock:
            self._sockets.append(opened.dup())

    def start_sending(self, connection: HTTPConnection) -> None:
        """Record that bytes may be sent from now on. Raises ConnectTimeoutError if late."""
        with self._lock:
            if self.late:
                raise ConnectTimeoutError(connection, "too late")
            self.sent = True

    def _break_connections(self) -> None:
        with self._lock:
            self.late = True
            for each in self._sockets:
                with contextlib.suppress(OSError):
                    each.shutdown(socket.SHUT_RDWR)


_WATCH: ContextVar[_Watch] = ContextVar("watch")


class _Plain(HTTPConnection):
    def _new_conn(self) -> socket.socket:
        opened = super()._new_conn()
        _WATCH.get().add_socket(opened)
        return opened

    def request(self, *args: Any, **more: Any) -> None:
        if self.sock is None:
            self.connect()
        _WATCH.get().start_sending(self)
        super().request(*args, **more)


class _Secured(_Plain, HTTPSConnection):
    pass


class _PlainPool(HTTPConnectionPool):
    ConnectionCls = _Plain


class _SecuredPool(HTTPSConnectionPool):
    ConnectionCls = _Secured


class _Adapter(HTTPAdapter):
    def init_poolmanager(self, *args: Any, **more: Any) -> None:
        super().init_poolmanager(*args, **more)
        _watch_over(self.poolmanager)

    def proxy_manager_for(self, proxy: str, **more: Any) -> Any:
        manager = super().proxy_manager_for(proxy, **more)
        if proxy.lower().startswith("socks"):
            _WATCH.get().blind = True  # a SOCKS proxy uses connections that cannot be observed
        else:
            _watch_over(manager)
        return manager


def _watch_over(manager: Any) -> None:
    manager.pool_classes_by_scheme = {"http": _PlainPool, "https": _SecuredPool}
