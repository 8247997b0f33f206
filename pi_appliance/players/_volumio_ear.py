"""The ear: a small HTTP server to which Volumio says that something changed. What that is, Volumio is asked then.

Anybody in the house might reach it. So its path cannot be guessed, nothing that it hears is believed or even kept, and
whoever talks too much or too slowly is let go.
"""

import asyncio
import contextlib
import secrets
from collections.abc import Callable

import h11

LONGEST = 4_000_000  # bytes of a push; that of a queue of some thousand tracks
PREFIX = "/pi-appliance/"
_SLOWEST = 5.0  # seconds for a push; Volumio gives up after two
_CALLERS = 8  # at the same time
_PIECE = 65_536  # bytes


class Ear:
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
