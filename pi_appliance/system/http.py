"""The HTTP client: httpx with limits for the time of a request and the size of its answer.

httpx and asyncio cost about 75 ms and 18 MB to import, so they are imported by the first request.
"""

import re
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any
from urllib.parse import urljoin, urlsplit

from pi_appliance.errors import ApplianceError, Refused, Unavailable

if TYPE_CHECKING:
    import httpx

MAX_REDIRECTS = 3
RETRY_LATER = frozenset({408, 425, 429})
"""HTTP statuses below 500 after which a later attempt may succeed."""
_CHARSET = re.compile(r"charset=\"?([\w.-]{1,40})", re.IGNORECASE)
_CREDENTIALS = re.compile(r"(?<=://)[^/@\s]+@")
_ERROR_PATTERNS = (
    (
        r"name or service not known|name resolution|getaddrinfo|nodename nor servname|(failed to|could not) resolve",
        "its name is not known; is this Pi online?",
    ),
    (r"connection refused|couldn't connect|all connection attempts failed", "nothing listens there"),
    (r"unreachable|no route to host", "there is no route to it; is this Pi online?"),
    (r"certificate", "its certificate is not valid; is the clock of this Pi right?"),
    (r"ssl|tls", "it does not speak TLS there"),
    (r"timed out|timeout", "it did not answer in time"),
    (r"reset by peer|aborted|broken pipe|closed|disconnected|eof", "it closed the connection"),
)


def describe_network_error(text: str) -> str:
    """Return the meaning of `text`, the message of a network error, or '' if it is not known."""
    return next((meaning for pattern, meaning in _ERROR_PATTERNS if re.search(pattern, text, re.IGNORECASE)), "")


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpResponse:
    """A response. `mime` is its content type without parameters."""

    url: str
    status: int
    mime: str = ""
    charset: str = ""
    location: str = ""
    headers: Mapping[str, str] = field(default_factory=dict)  # names in lower case
    body: bytes = b""
    is_truncated: bool = False  # whether the body is only the beginning, because it is longer than allowed

    @property
    def text(self) -> str:
        """Return the body as text: in the encoding of the response, else UTF-8, else Latin-1."""
        for encoding in (self.charset or "utf-8", "utf-8"):
            try:
                return self.body.decode(encoding)
            except (LookupError, UnicodeDecodeError):
                continue
        return self.body.decode("latin-1")


class NoResponse(Exception):
    """An exchange without a complete response.

    `is_sent` is False if the request was certainly not sent. `is_http` is False if the other side
    does not speak HTTP. `is_timeout` is True if the time limit ended the exchange.
    """

    def __init__(self, reason: str, *, is_sent: bool, is_http: bool = True, is_timeout: bool = False) -> None:
        self.is_sent, self.is_http, self.is_timeout = is_sent, is_http, is_timeout
        super().__init__(reason)


async def request(  # noqa: PLR0913 - the limits are keywords
    method: str,
    url: str,
    *,
    seconds: float,
    max_bytes: int,
    body: bytes | None = None,
    headers: Mapping[str, str] | None = None,
    read_body: Callable[[HttpResponse], bool] = lambda _: True,
    use_proxy: bool = True,
) -> HttpResponse:
    """Send one request on a connection of its own and return the answer, whatever its status.

    Args:
        method: such as GET.
        url: an http:// or https:// address; redirects are not followed.
        seconds: limit for all of it, from the look-up of the host name to the last byte.
        max_bytes: the body is cut off there.
        body: bytes to send.
        headers: more request headers.
        read_body: decides by the head of the answer whether to read the body: that of a stream
            never ends.
        use_proxy: use the proxy that the environment names, if any.

    Raises:
        NoResponse: there was no complete answer.
    """
    import asyncio  # noqa: PLC0415 - see the top of the file

    import httpx  # noqa: PLC0415

    is_sent = False

    async def note_sending(event: str, _: Mapping[str, Any]) -> None:
        nonlocal is_sent
        is_sent = is_sent or event.endswith("send_request_headers.started")

    # A compressed body could exceed `max_bytes` when it is unpacked.
    all_headers = {
        "User-Agent": "pi-appliance",
        "Accept-Encoding": "identity",
        "Connection": "close",
        **(headers or {}),
    }
    try:
        async with asyncio.timeout(seconds), httpx.AsyncClient(**_client_options(url, use_proxy=use_proxy)) as client:
            extensions = {"trace": note_sending}
            outgoing = client.build_request(method, url, content=body, headers=all_headers, extensions=extensions)
            incoming = await client.send(outgoing, stream=True)
            try:
                response = _read_head(incoming)
                return await _read_body(response, incoming, max_bytes) if read_body(response) else response
            finally:
                await incoming.aclose()
    except TimeoutError:
        raise NoResponse("it did not answer in time", is_sent=is_sent, is_timeout=True) from None
    except httpx.RemoteProtocolError as error:
        if "b'ICY 200" in str(error):  # old radio servers begin a stream with this status line
            return HttpResponse(url=url, status=200, mime="audio/mpeg")
        is_http = "disconnected" in str(error) or "closed" in str(error)
        reason = "it closed the connection" if is_http else "it does not speak HTTP there"
        raise NoResponse(reason, is_sent=True, is_http=is_http) from None
    except (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout) as error:
        raise NoResponse(describe_network_error(_full_text(error)), is_sent=False) from None
    except httpx.TransportError as error:  # while reading or writing
        raise NoResponse(describe_network_error(_full_text(error)), is_sent=is_sent) from None
    except (httpx.InvalidURL, ValueError):
        raise NoResponse("this is not a web address", is_sent=is_sent) from None


def request_now(method: str, url: str, **options: Any) -> HttpResponse:
    """Do the same as `request` and wait for it. An event loop of this thread waits too."""
    import asyncio  # noqa: PLC0415 - see the top of the file
    from concurrent.futures import ThreadPoolExecutor  # noqa: PLC0415

    def run() -> HttpResponse:
        return asyncio.run(request(method, url, **options))

    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return run()
    with ThreadPoolExecutor(1) as executor:  # in a thread, because a thread can run only one event loop
        return executor.submit(run).result()


def _client_options(url: str, *, use_proxy: bool) -> dict[str, Any]:
    import ssl  # noqa: PLC0415 - see the top of the file
    from urllib.request import getproxies  # noqa: PLC0415

    # The certificates of the system, because an owner may have added one. Reading them takes 20 ms,
    # so they are only read for TLS; a proxy may use TLS, too.
    is_tls = url.lower().startswith("https:") or (use_proxy and bool(getproxies()))
    context = ssl.create_default_context() if is_tls else ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    return {"verify": context, "timeout": None, "trust_env": use_proxy}


def _read_head(incoming: "httpx.Response") -> HttpResponse:
    kind = incoming.headers.get("Content-Type", "")
    charset = _CHARSET.search(kind)
    return HttpResponse(
        url=str(incoming.url),
        status=incoming.status_code,
        mime=kind.partition(";")[0].strip().lower(),
        charset=charset[1] if charset else "",
        location=incoming.headers.get("Location", ""),
        headers=dict(incoming.headers),
    )


async def _read_body(head: HttpResponse, incoming: "httpx.Response", max_bytes: int) -> HttpResponse:
    body = bytearray()
    async for chunk in incoming.aiter_raw():
        body += chunk
        if len(body) > max_bytes:
            break
    return replace(head, body=bytes(body[:max_bytes]), is_truncated=len(body) > max_bytes)


def _full_text(error: BaseException | None) -> str:
    """Return the messages of `error` and of its causes, because the outer ones say little."""
    texts = []
    while error is not None:
        texts.append(str(error) or type(error).__name__)
        error = error.__cause__ or error.__context__
    return "\n".join(reversed(texts))


def fetch(
    url: str,
    *,
    read_body: Callable[[HttpResponse], bool],
    max_bytes: int = 65_536,
    seconds: float = 5.0,
    check_address: Callable[[str], None] = lambda _: None,
) -> HttpResponse:
    """Return the file at `url`, after at most `MAX_REDIRECTS` redirects.

    Args:
        url: where it is.
        read_body: decides by the head of the answer whether to read the body.
        max_bytes: the longest body.
        seconds: limit for all of it.
        check_address: raises an error for an address that must not be asked, also of a redirect.

    Raises:
        Unavailable: it was not reached, or its server has trouble.
        Refused: the address is wrong, or the file is too long.
    """
    if not is_web_address(url):
        raise Refused(f"{url!r} is not a web address; begin it with http:// or https://")
    deadline, first = time.monotonic() + seconds, url
    for _ in range(MAX_REDIRECTS + 1):
        check_address(url)
        try:
            seconds_left = max(0.01, deadline - time.monotonic())
            response = request_now("GET", url, read_body=read_body, max_bytes=max_bytes, seconds=seconds_left)
        except NoResponse as failure:
            raise _fetch_error(url, failure) from None
        if not (300 <= response.status < 400 and response.location):
            break
        target = urljoin(url, response.location)
        if not is_web_address(target):
            raise Refused(
                f"{hide_credentials(url)} redirects to {hide_credentials(target)!r}, which is not a web address"
            )
        url = target
    else:
        raise Refused(f"{hide_credentials(first)} redirects more than {MAX_REDIRECTS} times; check the address")
    if response.status != 200:
        raise status_error(response.status, f"{hide_credentials(url)} answers {response.status}; check the address")
    if response.is_truncated:
        raise Refused(f"{hide_credentials(url)} is too long: more than {max_bytes:,} bytes")
    return response


def hide_credentials(text: str) -> str:
    """Return `text` without the user and the password in its addresses."""
    return _CREDENTIALS.sub("", text)


def _fetch_error(url: str, failure: NoResponse) -> Unavailable:
    url = hide_credentials(url)
    if failure.is_timeout and failure.is_sent:
        return Unavailable(f"{url} is too slow; try again later")
    if not failure.is_http:
        return Unavailable(f"the server at {url} is not a web server")
    reason = str(failure) or "no answer"
    advice = " If it is, check the address" if reason.endswith("?") else "; check the address, or try again later"
    return Unavailable(f"{url} could not be reached: {reason}{advice}")


def status_error(status: int, message: str) -> ApplianceError:
    """Return an error with `message` for an HTTP status: Unavailable if a retry may succeed."""
    return Unavailable(message) if status >= 500 or status in RETRY_LATER else Refused(message)


def is_web_address(url: str) -> bool:
    """Return whether `url` is safe for a player: http(s), a host, only typable characters."""
    try:
        parts = urlsplit(url)
        return parts.scheme in ("http", "https") and bool(parts.hostname) and url.isprintable() and " " not in url
    except ValueError:
        return False
