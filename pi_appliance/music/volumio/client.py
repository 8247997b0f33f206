"""Volumio's REST API: a question and its answer as data, what goes wrong as our errors."""

import asyncio
import json
import socket
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote, urlencode

import h11

from pi_appliance.errors import ApplianceError, Refused, Unavailable, Uncertain

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


async def connect(place: tuple[str, int]) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    """Connect to PLACE. Raises Cut within a second."""
    try:
        async with asyncio.timeout(REACH):
            return await asyncio.open_connection(*place)
    except (OSError, ValueError) as error:  # a host that cannot be one is a ValueError
        raise Cut(_why(error), sent=False) from None


async def request(
    place: tuple[str, int], method: str, target: str, body: bytes | None = None, *, seconds: float, longest: int
) -> Answer:
    """Ask once on a line of its own. SECONDS are for all of it, LONGEST is in bytes. BODY is JSON. Raises Cut."""
    sent = False
    try:
        async with asyncio.timeout(seconds):
            reader, writer = await connect(place)
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


ANSWER = 5.0  # seconds for a Volumio that has just said how it is
LONG_ANSWER = 20.0  # seconds for a list of a big library, which a Pi takes its time to make
_LONGEST = 32_000_000  # bytes of such a list
_STATE = 1_000_000  # bytes
_BIG = 200_000  # bytes from which on reading JSON is left to a thread, or the music would stop for the page


class VolumioClient:
    """Volumio at PLACE, which the owner wrote as NAME. Every answer is an object or a list, or one of our errors."""

    def __init__(self, name: str, place: tuple[str, int]) -> None:
        self.name, self.place = name, place

    async def state(self) -> Mapping[str, Any]:
        """Return what getState says. Raises Unavailable within a second if Volumio is not there, or it is none."""
        state = await self._asked("GET", "getState", seconds=REACH, longest=_STATE)
        if not isinstance(state, dict) or state.get("status") not in ("play", "pause", "stop"):
            raise self.lost(NO_VOLUMIO)
        return state

    async def queue(self) -> list[Mapping[str, Any]]:
        """Return the items of the whole queue."""
        answer = await self._asked("GET", "getQueue")
        items = answer.get("queue") if isinstance(answer, dict) else None
        if not isinstance(items, list):
            raise self.lost(NO_VOLUMIO)
        return objects(items)

    async def command(self, name: str, *, once: str = "", **values: str | int) -> None:
        """Give the command NAME. That it was not refused means nothing: Volumio says Success on failure, too.

        ONCE names what, done twice, does two things: where the answer is lost, that is Uncertain.
        """
        query = urlencode({"cmd": name, **values}, quote_via=quote, errors="replace")
        self._agreed(await self._asked("GET", f"commands/?{query}", once=once))

    async def post(self, route: str, data: object, *, once: str) -> None:
        """Send DATA to ROUTE. Raises as command() does."""
        self._agreed(await self._asked("POST", route, data, once=once, seconds=LONG_ANSWER))

    async def get(self, route: str, **query: str) -> Any:
        """Return what ROUTE answers. Raises Refused where that is an error."""
        target = f"{route}?{urlencode(query, quote_via=quote, errors='replace')}" if query else route
        answer = await self._asked("GET", target, seconds=LONG_ANSWER)
        self._agreed(answer)
        return answer

    async def push_urls(self) -> list[Any]:
        """Return the addresses that are told of changes."""
        answer = await self._asked("GET", "pushNotificationUrls")
        return answer if isinstance(answer, list) else []

    async def tell(self, url: str) -> None:
        """Have URL told of changes, until Volumio is started again."""
        answer = await self._asked("POST", "pushNotificationUrls", {"url": url})
        if answer != {"error": "URL already present"}:
            self._agreed(answer)

    async def tell_no_more(self, url: str) -> None:
        """Have URL told no more."""
        await self._asked("DELETE", "pushNotificationUrls", {"url": url}, seconds=REACH)

    async def picture(self, target: str) -> Answer:
        """Return what TARGET, an address such as /albumart?…, brings."""
        return await self._exchanged("GET", target, None, seconds=ANSWER, longest=_LONGEST)

    def lost(self, why: str) -> Unavailable:
        """Return the error that says WHY Volumio is not reached, and what to do."""
        todo = "start it or correct `address` under `player:`"
        return Unavailable(f"Volumio at {self.name} is not reached: {why}; {todo}")

    def uncertain(self, once: str) -> Uncertain:
        """Return the error that says that ONCE was asked and perhaps done."""
        return Uncertain(f"Volumio at {self.name} did not answer {once!r}; check whether it was done, then continue")

    async def _asked(
        self,
        method: str,
        target: str,
        data: object = None,
        *,
        once: str = "",
        seconds: float = ANSWER,
        longest: int = _LONGEST,
    ) -> Any:
        body = None if data is None else json.dumps(data).encode()
        answer = await self._exchanged(method, f"/api/v1/{target}", body, once=once, seconds=seconds, longest=longest)
        if answer.status != 200:
            raise self._not_done(answer.status, target.partition("?")[0])
        try:
            if len(answer.body) > _BIG:
                return await asyncio.to_thread(json.loads, answer.body)
            return json.loads(answer.body)
        except (ValueError, RecursionError):
            raise self._broken(NO_VOLUMIO, once) from None

    async def _exchanged(
        self, method: str, target: str, body: bytes | None, *, once: str = "", seconds: float, longest: int
    ) -> Answer:
        try:
            return await request(self.place, method, target, body, seconds=seconds, longest=longest)
        except Cut as cut:
            raise self._broken(str(cut), once if cut.sent else "") from None

    def _broken(self, why: str, once: str) -> ApplianceError:
        return self.uncertain(once) if once else self.lost(why)

    def _not_done(self, status: int, route: str) -> ApplianceError:
        if route == "getState":
            return self.lost(NO_VOLUMIO)
        if status == 404:
            return Refused(f"Volumio at {self.name} does not know {route!r}; bring it up to date")
        return Refused(f"Volumio at {self.name} answers {route!r} with the error {status}; look into its own page")

    def _agreed(self, answer: Any) -> None:
        error = answer.get("error", answer.get("Error")) if isinstance(answer, dict) else None
        if error is not None:
            words = error if isinstance(error, str) and error else "that it could not, and not why"
            raise Refused(f"Volumio says: {words}")


def objects(found: Any) -> list[Mapping[str, Any]]:
    """Return those of FOUND that are objects; of what is no list, none."""
    return [each for each in found if isinstance(each, dict)] if isinstance(found, list) else []
