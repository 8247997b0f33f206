"""One exchange with Volumio: it ends in time, is never led elsewhere, and tells whether anything of it was sent.

By h11, which the page's web server loads anyway. It costs the daemon no memory and no thread that a hung Volumio could
hold (requests would: 8 MB, and the threads that the whole daemon shares), and it knows whether a request has left.
"""

import asyncio
import socket
from dataclasses import dataclass
from typing import Any

import h11

NO_VOLUMIO = "what answers there is no Volumio"
REACH = 1.0  # seconds to find, connect and ask a Volumio how it is; a hung one is found out here
_PIECE = 65_536  # bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What came back. `mime` is its content type without parameters."""

    status: int
    mime: str
    body: bytes


class Cut(Exception):
    """No whole answer came; why, in words. `sent`: whether the other side may have got the request."""

    def __init__(self, why: str, *, sent: bool) -> None:
        self.sent = sent
        super().__init__(why)


async def open_line(place: tuple[str, int]) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    """Connect to PLACE. Raises Cut within a second."""
    try:
        async with asyncio.timeout(REACH):
            return await asyncio.open_connection(*place)
    except (OSError, ValueError) as error:  # a host that cannot be one is a ValueError
        raise Cut(_why(error), sent=False) from None


async def exchange(
    place: tuple[str, int], method: str, target: str, body: bytes | None = None, *, seconds: float, longest: int
) -> Answer:
    """Ask once on a line of its own. SECONDS are for all of it, LONGEST is in bytes. BODY is JSON. Raises Cut."""
    sent = False
    try:
        async with asyncio.timeout(seconds):
            reader, writer = await open_line(place)
            try:
                line = h11.Connection(h11.CLIENT)
                data = _request(line, place, method, target, body)
                sent = True
                writer.write(data)
                await writer.drain()
                return await _answer(line, reader, longest)
            finally:
                writer.transport.abort()
    except OSError as error:
        raise Cut(_why(error), sent=sent) from None


def _request(line: h11.Connection, place: tuple[str, int], method: str, target: str, body: bytes | None) -> bytes:
    host, port = place
    named = f"[{host}]" if ":" in host else host.encode("idna").decode("ascii")
    headers = [("Host", f"{named}:{port}"), ("Connection", "close")]
    if body is not None:
        headers += [("Content-Type", "application/json"), ("Content-Length", str(len(body)))]
    parts: list[h11.Event] = [h11.Request(method=method, target=target, headers=headers)]
    if body is not None:
        parts.append(h11.Data(data=body))
    return b"".join(line.send(part) or b"" for part in [*parts, h11.EndOfMessage()])


async def _answer(line: h11.Connection, reader: asyncio.StreamReader, longest: int) -> Answer:
    head: h11.Response | None = None
    pieces: list[bytes] = []
    length = 0
    while True:
        match event := _event(line):
            case h11.NEED_DATA:
                data = await reader.read(_PIECE)
                if head is None and data and not b"HTTP/".startswith(data[:5]) and not line.trailing_data[0]:
                    raise Cut(NO_VOLUMIO, sent=True)  # such as an MPD, whose greeting h11 would take for a beginning
                line.receive_data(data)
            case h11.Response():
                head = event
            case h11.Data():
                pieces.append(bytes(event.data))
                length += len(event.data)
                if length > longest:
                    raise Cut("it answers without end", sent=True)
            case h11.EndOfMessage() if head is not None:
                kind = dict(head.headers).get(b"content-type", b"").decode("latin-1")
                mime = kind.partition(";")[0].strip().lower()
                return Answer(status=head.status_code, mime=mime, body=b"".join(pieces))
            case h11.InformationalResponse():
                pass
            case _:
                raise Cut("it hung up", sent=True)


def _event(line: h11.Connection) -> Any:
    try:
        return line.next_event()
    except h11.RemoteProtocolError:
        ended = line.trailing_data[1]
        raise Cut("it hung up" if ended else NO_VOLUMIO, sent=True) from None


def _why(error: Exception) -> str:
    """Return in a few words why there was no answer."""
    match error:
        case TimeoutError():
            return "it does not answer"
        case ConnectionRefusedError():
            return "nothing listens there"
        case ConnectionError():
            return "it hung up"
        case socket.gaierror():
            return "no machine of that name is found"
        case OSError() if error.errno is None:  # asyncio tried several addresses of one name, and says so at length
            return "nothing listens there"
        case OSError():
            return str(error.strerror)
    return "there is no such address"
