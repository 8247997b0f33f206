"""Phones that are cut off and come back, and phones that hang on and read nothing: part of the benchmark of phones."""

import asyncio
import contextlib
import socket
import time
from collections.abc import Iterator
from urllib.parse import urlsplit

from tests.fakes.mpd_server import MpdServer

_PATIENCE = 10.0  # seconds
_BUFFER = 4096  # bytes, the least that Linux lets a connection have


@contextlib.contextmanager
def deaf(page: str, many: int) -> Iterator[None]:
    """Have `many` phones on the stream within the block that read nothing of it."""
    place = urlsplit(page)
    with contextlib.ExitStack() as stack:
        for _ in range(many):
            line = stack.enter_context(socket.socket())
            line.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, _BUFFER)
            line.connect((place.hostname, place.port))
            line.sendall(f"GET /api/v1/player/events HTTP/1.1\r\nHost: {place.netloc}\r\n\r\n".encode())
        yield


class Sleeper:
    """A phone that keeps the ids it has heard. `whole` is how often it was given everything anew."""

    def __init__(self, page: str) -> None:
        self._place = urlsplit(page)
        self.ids: list[str] = []
        self.whole = 0
        self._news = asyncio.Condition()
        self._task: asyncio.Task[None] | None = None

    async def wake(self) -> None:
        """Connect, and go on after what was heard last."""
        reader, writer = await asyncio.open_connection(self._place.hostname, self._place.port)
        last = f"Last-Event-ID: {self.ids[-1]}\r\n" if self.ids else ""
        writer.write(f"GET /api/v1/player/events HTTP/1.1\r\nHost: {self._place.netloc}\r\n{last}\r\n".encode())
        self._task = asyncio.create_task(self._listen(reader, writer))

    async def sleep(self) -> None:
        """Be cut off."""
        assert self._task is not None
        self._task.cancel()
        await asyncio.gather(self._task, return_exceptions=True)

    async def _listen(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while line := await reader.readline():
                async with self._news:
                    if line.startswith(b"id: "):
                        self.ids.append(line[4:].decode().strip())
                        self._news.notify_all()
                    self.whole += line == b"event: state\n"
        finally:
            writer.transport.abort()

    async def has(self, many: int) -> None:
        """Wait until `many` ids were heard."""
        async with asyncio.timeout(_PATIENCE), self._news:
            await self._news.wait_for(lambda: len(self.ids) >= many)


async def cut(server: MpdServer, page: str, many: int, changes: int) -> dict[str, str]:
    """Cut `many` phones off while there are `changes`, let them all come back at once, and return what they missed."""
    witness, phones = Sleeper(page), [Sleeper(page) for _ in range(many)]
    everybody = [witness, *phones]
    for each in everybody:
        await each.wake()
        await each.has(1)

    async def turn(volume: int) -> None:
        before = len(witness.ids)
        await asyncio.to_thread(server.mpc, "volume", str(volume))
        await witness.has(before + 1)

    await turn(5)
    await asyncio.gather(*(each.has(2) for each in phones))
    await asyncio.gather(*(each.sleep() for each in phones))
    for number in range(changes):
        await turn(10 + number % 80)
    began = time.perf_counter()
    for each in phones:
        await each.wake()
    await asyncio.gather(*(each.has(len(witness.ids)) for each in phones), return_exceptions=True)
    took = time.perf_counter() - began
    await asyncio.gather(*(each.sleep() for each in everybody))
    return {
        "events each had missed": str(len(witness.ids) - 2),
        "phones that then had every one, once, in their order": f"{sum(each.ids == witness.ids for each in phones)}",
        "phones that were sent everything again instead": str(sum(each.whole > 1 for each in phones)),
        "ms until the last one had all": f"{took * 1e3:.0f}",
    }
