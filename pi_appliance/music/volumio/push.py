"""Waiting for changes in Volumio: its pushes to the ear, a line that breaks when it dies, and looking by itself.

Volumio's pushes come once, are not repeated, and it forgets in a restart who wants them. So they only say when to look;
without them it looks every few seconds, and with them seldom, to see whether it is still among those who are told.
"""

import asyncio
import contextlib
import logging
import secrets
from collections.abc import AsyncIterator, Awaitable, Callable
from urllib.parse import urlsplit

import h11

from pi_appliance.errors import ApplianceError, Unavailable
from pi_appliance.music.model import PlayerState
from pi_appliance.music.volumio.client import Cut, VolumioClient, connect

LONGEST = 4_000_000  # bytes of a push; that of a queue of some thousand tracks
PREFIX = "/pi-appliance/"
_SLOWEST = 5.0  # seconds for a push; Volumio gives up after two
_CALLERS = 8  # at the same time
_PIECE = 65_536  # bytes


class PushServer:
    """Listens at `url`, and calls HEARD when somebody calls there."""

    def __init__(self, heard: Callable[[], None]) -> None:
        self.url = ""
        self._heard = heard
        self._path = PREFIX + secrets.token_urlsafe(24)
        self._server: asyncio.Server | None = None
        self._callers: set[asyncio.StreamWriter] = set()

    async def open(self, host: str, port: int) -> None:
        """Listen at HOST, the address by which Volumio can reach this machine. Raises OSError if PORT is taken."""
        self._server = await asyncio.start_server(self._call, host, port)
        port = self._server.sockets[0].getsockname()[1]
        self.url = f"http://{f'[{host}]' if ':' in host else host}:{port}{self._path}"

    def close(self) -> None:
        """Listen no more, and let go of whoever talks."""
        if self._server is not None:
            self._server.close()
        for writer in list(self._callers):
            writer.transport.abort()

    async def _call(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._callers.add(writer)
        try:
            if len(self._callers) <= _CALLERS:
                with contextlib.suppress(OSError, h11.ProtocolError):  # a TimeoutError is an OSError
                    async with asyncio.timeout(_SLOWEST):
                        await self._listen(reader, writer)
                        writer.write_eof()
                        while await reader.read(_PIECE):  # or the kernel would cut off our answer
                            pass
        finally:
            self._callers.discard(writer)
            writer.close()

    async def _listen(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        line, length = h11.Connection(h11.SERVER), 0
        while True:
            match event := line.next_event():
                case h11.NEED_DATA:
                    line.receive_data(await reader.read(_PIECE))
                case h11.Request():
                    if event.method != b"POST" or not secrets.compare_digest(event.target, self._path.encode()):
                        return await _say(line, writer, 404)
                    self._heard()
                case h11.Data():
                    length += len(event.data)
                    if length > LONGEST:
                        return await _say(line, writer, 413)
                case h11.EndOfMessage():
                    return await _say(line, writer, 200)
                case _:
                    return None


async def _say(line: h11.Connection, writer: asyncio.StreamWriter, status: int) -> None:
    headers = [("Content-Type", "application/json"), ("Content-Length", "2"), ("Connection", "close")]
    events = [h11.Response(status_code=status, headers=headers), h11.Data(data=b"{}"), h11.EndOfMessage()]
    writer.write(b"".join(line.send(event) or b"" for event in events))
    await writer.drain()


ALL = frozenset({"database", "update", "stored_playlist", "playlist", "player", "mixer", "options"})
PUSHED = 6  # how many times more seldom it looks while pushes come
_BREATH = 0.05  # seconds between two looks, however many call
_JUMP = 2.0  # seconds by which the place in a track may differ from where it would be by itself
_log = logging.getLogger(__name__)


class ChangeWatcher:
    """One who waits for changes. LOOK reads the state; POLL is in seconds; LISTEN is the port of the ear, 0 for any."""

    def __init__(
        self, rest: VolumioClient, look: Callable[[], Awaitable[PlayerState]], *, listen: int, poll: float
    ) -> None:
        self._rest, self._look, self._listen, self._poll = rest, look, listen, poll
        self._called = asyncio.Event()
        self._ear = PushServer(self._called.set)
        self._line: asyncio.Task[None] | None = None
        self._here, self._held = "", 0.0
        self._told = False  # whether Volumio tells of changes
        self._said = ""  # what went wrong with that last
        self.over = False

    async def changes(self) -> AsyncIterator[frozenset[str]]:
        """Yield the names of what changed, at first all. Raises Unavailable when Volumio is lost."""
        try:
            state, at = await self._look(), _now()
            await self._register()
            self._called.set()  # for what has changed meanwhile
            yield ALL
            while True:
                called = await self._wait()
                if not called:
                    await self._register()
                before, since = state, at
                state, at = await self._look(), _now()
                if names := changed_subsystems(before, state, at - since):
                    yield names
                if called:
                    await asyncio.sleep(_BREATH)
        except Unavailable:
            self._told = False  # nobody there to be asked to tell no more
            raise
        finally:
            await self.end()

    async def end(self) -> None:
        """Be told no more. Whoever waits gets Unavailable."""
        if self.over:
            return
        self.over = True
        self._called.set()
        self._ear.close()
        if self._line is not None:
            self._line.cancel()
        if self._told:
            with contextlib.suppress(ApplianceError):
                await self._rest.tell_no_more(self._ear.url)

    async def _wait(self) -> bool:
        """Wait until somebody calls or it is time to look; say whether it was a call. Raises Unavailable at the end."""
        try:
            async with asyncio.timeout(self._poll * (PUSHED if self._told else 1)):
                await self._called.wait()
        except TimeoutError:
            pass
        if self.over:
            raise Unavailable("the connection to Volumio was closed")
        called = self._called.is_set()
        self._called.clear()
        return called and not (self._line and self._line.done())  # it died, was started again, or merely tidied up

    async def _register(self) -> None:
        """See to it that Volumio tells the ear. Where it cannot, that is said once, and looking has to do."""
        try:
            if self._line is None or (self._line.done() and _now() - self._held > 1):
                await self._hold()  # a server that hangs up on everybody is not to be asked in a circle
            if not self._ear.url:
                await self._ear.open(self._here, self._listen)
            urls = await self._rest.push_urls()
            self._told = self._ear.url in urls
            if not self._told:
                await self._rest.tell(self._ear.url)
                self._told = True
                await self._forget_the_dead([url for url in urls if isinstance(url, str)])
        except Unavailable:
            self._told = False  # the look that follows finds out whether Volumio is lost
        except (ApplianceError, OSError) as error:
            self._told = False
            if str(error) != self._said:
                _log.warning("music: Volumio cannot tell of changes (%s); looking every %g s", error, self._poll)
            self._said = str(error)

    async def _hold(self) -> None:
        """Keep a line to Volumio that breaks when Volumio ends; by its own end of it, this machine can be reached."""
        try:
            reader, writer = await connect(self._rest.place)
        except Cut as cut:
            raise self._rest.lost(str(cut)) from None
        self._here, self._held = writer.get_extra_info("sockname")[0], _now()
        self._line = asyncio.create_task(self._until_broken(reader, writer))

    async def _until_broken(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            with contextlib.suppress(OSError):
                await reader.read(1)
            self._called.set()
        finally:
            writer.transport.abort()

    async def _forget_the_dead(self, urls: list[str]) -> None:
        """Take back what an appliance of this machine asked for before it was killed: nobody listens there any more."""
        own = urlsplit(self._ear.url)
        for url in urls:
            other = urlsplit(url)
            if other.hostname == own.hostname and other.path.startswith(PREFIX) and not await _open(url):
                await self._rest.tell_no_more(url)


def changed_subsystems(before: PlayerState, after: PlayerState, seconds: float) -> frozenset[str]:
    """Return what differs, as MPD calls it, where SECONDS lie between the two."""
    names = {
        "playlist": ("queue_version", "queue_length"),
        "player": ("playback", "track", "bitrate", "audio_format", "error"),
        "mixer": ("volume", "muted"),
        "options": ("repeat", "random", "single", "consume"),
        "update": ("updating",),
    }
    found = {name for name, keys in names.items() if any(getattr(before, key) != getattr(after, key) for key in keys)}
    if "update" in found and after.updating is None:
        found.add("database")
    if before.playback is after.playback and before.elapsed is not None and after.elapsed is not None:
        moved = seconds if after.playback == "play" else 0.0
        if abs(after.elapsed - before.elapsed - moved) > _JUMP:
            found.add("player")
    return frozenset(found)


async def _open(url: str) -> bool:
    place = urlsplit(url)
    try:
        _, writer = await connect((place.hostname or "", place.port or 80))
    except Cut:
        return False
    writer.transport.abort()
    return True


def _now() -> float:
    return asyncio.get_running_loop().time()
