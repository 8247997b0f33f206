"""Phones that reconnect, and phones that do not read: part of the benchmark of phones."""

import asyncio
import contextlib
import socket
import time
from collections.abc import Iterator
from urllib.parse import urlsplit

from tests.fakes.mpd_server import MpdServer

_TIMEOUT = 10.0  # seconds
_BUFFER = 4096  # bytes, the smallest receive buffer that Linux allows


@contextlib.contextmanager
def stalled_clients(page: str, count: int) -> Iterator[None]:
    """Open `count` event streams during the block, and read nothing from them."""
    url = urlsplit(page)
    with contextlib.ExitStack() as stack:
        for _ in range(count):
            client = stack.enter_context(socket.socket())
            client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, _BUFFER)
            client.connect((url.hostname, url.port))
            client.sendall(f"GET /api/v1/player/events HTTP/1.1\r\nHost: {url.netloc}\r\n\r\n".encode())
        yield


class ReconnectingPhone:
    """A phone that records the event `ids`. `full_states` counts how often it received the complete state."""

    def __init__(self, page: str) -> None:
        self._url = urlsplit(page)
        self.ids: list[str] = []
        self.full_states = 0
        self._received = asyncio.Condition()
        self._task: asyncio.Task[None] | None = None

    async def connect(self) -> None:
        """Connect, and continue after the last received event."""
        reader, writer = await asyncio.open_connection(self._url.hostname, self._url.port)
        last = f"Last-Event-ID: {self.ids[-1]}\r\n" if self.ids else ""
        writer.write(f"GET /api/v1/player/events HTTP/1.1\r\nHost: {self._url.netloc}\r\n{last}\r\n".encode())
        self._task = asyncio.create_task(self._listen(reader, writer))

    async def disconnect(self) -> None:
        """Break the connection."""
        assert self._task is not None
        self._task.cancel()
        await asyncio.gather(self._task, return_exceptions=True)

    async def _listen(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while line := await reader.readline():
                async with self._received:
                    if line.startswith(b"id: "):
                        self.ids.append(line[4:].decode().strip())
                        self._received.notify_all()
                    self.full_states += line == b"event: state\n"
        finally:
            writer.transport.abort()

    async def wait_for_ids(self, count: int) -> None:
        """Wait until `count` ids were received."""
        async with asyncio.timeout(_TIMEOUT), self._received:
            await self._received.wait_for(lambda: len(self.ids) >= count)


async def measure_reconnection(server: MpdServer, page: str, count: int, changes: int) -> dict[str, str]:
    """Disconnect `count` phones during `changes`, reconnect them all at once, and return the rows of the table."""
    reference, phones = ReconnectingPhone(page), [ReconnectingPhone(page) for _ in range(count)]
    clients = [reference, *phones]
    for client in clients:
        await client.connect()
        await client.wait_for_ids(1)

    async def set_volume(volume: int) -> None:
        count = len(reference.ids)
        await asyncio.to_thread(server.mpc, "volume", str(volume))
        await reference.wait_for_ids(count + 1)

    await set_volume(5)
    await asyncio.gather(*(client.wait_for_ids(2) for client in phones))
    await asyncio.gather(*(client.disconnect() for client in phones))
    for number in range(changes):
        await set_volume(10 + number % 80)
    start = time.perf_counter()
    for client in phones:
        await client.connect()
    await asyncio.gather(*(client.wait_for_ids(len(reference.ids)) for client in phones), return_exceptions=True)
    duration = time.perf_counter() - start
    await asyncio.gather(*(client.disconnect() for client in clients))
    return {
        "events each had missed": str(len(reference.ids) - 2),
        "phones that then received each event once, in order": str(sum(each.ids == reference.ids for each in phones)),
        "phones that had to load everything again instead": str(sum(client.full_states > 1 for client in phones)),
        "ms until the last one had all": f"{duration * 1e3:.0f}",
    }
