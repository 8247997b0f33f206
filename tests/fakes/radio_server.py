"""A web radio station on a real socket that plays silence, disconnects, stalls or rejects clients."""

import asyncio
import contextlib
from collections.abc import AsyncIterator

RATE = 88_200  # bytes per second; with a lower rate MPD waits longer, until the data in its buffer is played
_HEAD = b"HTTP/1.0 200 OK\r\nContent-Type: audio/L16;rate=44100;channels=1\r\nicy-name: The One\r\n\r\n"
_TICK = 0.1


class RadioServer:
    """One station. `mute` sends no data, `hang_up` ends all streams, `gone` refuses clients.

    With `is_web_page` it sends a page, as stations do that have moved. With `is_missing` it answers 404,
    and with `never_answers` nothing at all.
    """

    def __init__(self) -> None:
        self.mute = self.gone = self.is_web_page = self.is_missing = self.never_answers = False
        self.listeners = 0  # that there ever were
        self.address = ""
        self._tasks = set[asyncio.Task[None]]()

    def hang_up(self) -> None:
        """End every stream."""
        for task in self._tasks:
            task.cancel()

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Serve one listener."""
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        try:
            await reader.readuntil(b"\r\n\r\n")
            if self.is_web_page:
                writer.write(b"HTTP/1.0 200 OK\r\nContent-Type: text/html\r\n\r\n<h1>Moved</h1>")
                await writer.drain()
            elif self.is_missing:
                writer.write(b"HTTP/1.0 404 Not Found\r\n\r\n")
                await writer.drain()
            elif self.never_answers:
                await asyncio.Event().wait()
            elif not self.gone:
                self.listeners += 1
                await self._play(writer)
        except (OSError, EOFError, asyncio.CancelledError):
            pass
        finally:
            self._tasks.discard(task)
            writer.close()

    async def _play(self, writer: asyncio.StreamWriter) -> None:
        writer.write(_HEAD + bytes(RATE))
        while True:
            if not self.mute:
                writer.write(bytes(int(RATE * _TICK)))
                await writer.drain()
            await asyncio.sleep(_TICK)


@contextlib.asynccontextmanager
async def running_station() -> AsyncIterator[RadioServer]:
    """Yield a playing station."""
    radio = RadioServer()
    server = await asyncio.start_server(radio.serve, "127.0.0.1", 0)
    radio.address = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/live"
    try:
        yield radio
    finally:
        server.close()
        radio.hang_up()
        await asyncio.sleep(0)
