"""How soon a change reaches many phones, beside bare MPD clients: `python -m tests.benchmarks.phones [--phones 100]`.

A volume is set in MPD. A bare client hears it by `idle` and asks `status`; a phone gets an event with the state in it,
from `pi-appliance up`, a process of its own. Both are many at a time, one kind after the other, with the same MPD and
the same program listening. Then one of each, while mpc turns the volume; and all phones are cut off and come back.
"""

import argparse
import asyncio
import contextlib
import re
import statistics
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from tests.benchmarks import phones_away
from tests.fakes.mpd_server import MpdServer, running_mpd
from tests.installation import Installation
from tests.test_daemon import Up, up

_PATIENCE = 10.0  # seconds for one change to reach everybody
_SETTLE = 0.05  # seconds between two changes, so that each is one of its own
_VOLUME = re.compile(rb"^volume: (\d+)$|\"volume\":(\d+)", re.MULTILINE)


@dataclass(slots=True)
class Heard:
    """What listeners hear: of each volume, how many, and how long after it was set."""

    wanted: int = 0
    begun: float = 0.0
    took: list[float] = field(default_factory=list)
    left: int = 0
    all_in: asyncio.Event = field(default_factory=asyncio.Event)

    def tell(self, text: bytes) -> None:
        """One listener has heard `text`."""
        if any(int(one or other) == self.wanted for one, other in _VOLUME.findall(text)):
            self.took.append(time.monotonic() - self.begun)
            self.left -= 1
            if not self.left:
                self.all_in.set()


Listener = Callable[[Heard, asyncio.Event], Coroutine[Any, Any, None]]


def bare(port: int) -> Listener:
    """Return a client of MPD that waits for changes and asks what they are."""

    async def listen(heard: Heard, ready: asyncio.Event) -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        with contextlib.closing(writer):
            await reader.readline()
            ready.set()
            while True:
                writer.write(b"idle mixer\n")
                await reader.readuntil(b"OK\n")
                writer.write(b"status\n")
                heard.tell(await reader.readuntil(b"\nOK\n"))

    return listen


def phone(page: str) -> Listener:
    """Return a phone on the stream of events."""
    place = urlsplit(page)

    async def listen(heard: Heard, ready: asyncio.Event) -> None:
        reader, writer = await asyncio.open_connection(place.hostname, place.port)
        with contextlib.closing(writer):
            writer.write(f"GET /api/v1/player/events HTTP/1.1\r\nHost: {place.netloc}\r\n\r\n".encode())
            while (line := await reader.readline()) != b"event: state\n":
                assert line, "the stream ended"
            ready.set()
            while line := await reader.readline():
                if line.startswith(b"data:"):
                    heard.tell(line)

    return listen


@contextlib.asynccontextmanager
async def listening(many: int, listener: Listener, heard: Heard) -> AsyncIterator[None]:
    """Have `many` listeners within the block."""
    tasks = []
    try:
        for _ in range(many):  # one after the other: MPD has five waiting at its door at the most
            ready = asyncio.Event()
            tasks.append(asyncio.create_task(listener(heard, ready)))
            async with asyncio.timeout(_PATIENCE):
                await ready.wait()
        yield
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


@dataclass(frozen=True, slots=True)
class Found:
    """What was found of one kind of listener. Seconds."""

    reached: float
    took: Sequence[float]
    memory: float = 0.0  # kilobytes a listener, in the daemon

    def cells(self, beside: "Found | None") -> list[str]:
        """Return the row of a table; `beside` is what it is compared with."""
        median, late = statistics.median(self.took), sorted(self.took)[int(len(self.took) * 0.99)]
        times = f"{median / statistics.median(beside.took):.1f}" if beside else "1"
        memory = f"{self.memory:.0f}" if beside else ""
        result = [f"{1000 * seconds:.1f}" for seconds in (median, late, max(self.took))]
        return [f"{self.reached:.1%}", *result, times, memory]


Turn = Callable[[int], Awaitable[None]]
"""Sets the volume of MPD."""


@contextlib.asynccontextmanager
async def hand(port: int) -> AsyncIterator[Turn]:
    """Give one who sets the volume over a connection that he has already."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    await reader.readline()

    async def turn(volume: int) -> None:
        writer.write(f"setvol {volume}\n".encode())
        await reader.readline()

    with contextlib.closing(writer):
        yield turn


@contextlib.asynccontextmanager
async def mpc(port: int) -> AsyncIterator[Turn]:
    """Give one who starts mpc for each volume."""

    async def turn(volume: int) -> None:
        process = await asyncio.create_subprocess_exec("mpc", "--quiet", "--port", str(port), "volume", str(volume))
        await process.wait()

    yield turn


async def measure(turn: Turn, listener: Listener, many: int, changes: int, pid: int) -> Found:
    """Return the delay of `changes` in MPD to `many` listeners, and their cost for the process `pid`."""
    heard, reached, took = Heard(), 0, list[float]()
    before = resident(pid)
    async with listening(many, listener, heard):
        for number in range(changes):
            await asyncio.sleep(_SETTLE)
            heard.wanted, heard.took, heard.left = 10 + number % 80, [], many
            heard.all_in.clear()
            heard.begun = time.monotonic()
            await turn(heard.wanted)
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(heard.all_in.wait(), _PATIENCE)
            reached += len(heard.took)
            took += heard.took
        memory = (resident(pid) - before) / many
    return Found(reached / (many * changes), took, memory)


def resident(pid: int) -> int:
    """Return how many kilobytes of memory the process `pid` has."""
    status = Path(f"/proc/{pid}/status").read_text("ascii")
    return int(status.partition("VmRSS:")[2].split()[0])


@contextlib.contextmanager
def running(many: int) -> Iterator[tuple[MpdServer, Up]]:
    """Give an MPD to which `many` can connect, and a daemon that plays with it."""
    with tempfile.TemporaryDirectory() as folder:
        installation = Installation(Path(folder))
        with running_mpd(installation.folder / "mpd", more=f'max_connections "{2 * many + 50}"') as server:
            installation.write("", f"web: {{port: 0}}\nplayer: {{kind: mpd, with: {{address: '{server.address}'}}}}\n")
            with up(installation) as daemon:
                yield server, daemon


async def compare(server: MpdServer, daemon: Up, many: int, changes: int) -> dict[str, tuple[Found, Found | None]]:
    """Return what was found of each kind of listener, and beside which other one to look at it."""
    pid, page = daemon.process.pid, daemon.page
    async with hand(server.port) as turn:
        await measure(turn, phone(page), 1, 3, pid)  # what is loaded once is no phone's
        plain = await measure(turn, bare(server.port), many, changes, pid)
        phones = await measure(turn, phone(page), many, changes, pid)
        with phones_away.deaf(page, many // 10):
            beside_deaf = await measure(turn, phone(page), many, changes, pid)
    async with mpc(server.port) as turn:
        alone = await measure(turn, bare(server.port), 1, 4 * changes, pid)
        one = await measure(turn, phone(page), 1, 4 * changes, pid)
    return {
        f"{many} of MPD's own `idle` and `status`": (plain, None),
        f"{many} phones on the stream of events": (phones, plain),
        f"the same, {many // 10} more that read nothing": (beside_deaf, plain),
        f"one `idle` and `status`, {4 * changes} times mpc": (alone, None),
        f"one phone, {4 * changes} times mpc": (one, alone),
    }


def main(argv: Sequence[str] | None = None) -> None:
    """Measure and print two tables in Markdown."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--phones", type=int, default=100)
    parser.add_argument("--changes", type=int, default=50)
    options = parser.parse_args(argv)
    with running(options.phones) as (server, daemon):
        result = asyncio.run(compare(server, daemon, options.phones, options.changes))
        back = asyncio.run(phones_away.cut(server, daemon.page, options.phones, options.changes))
    print("| a volume is set | reached | median ms | 99 % ms | worst ms | times | KB each |")
    print("| --- |" + " --: |" * 6)
    for name, (each, beside) in result.items():
        print(f"| {name} | {' | '.join(each.cells(beside))} |")
    print(f"\n| {options.phones} phones cut off for {options.changes} changes | |\n| --- | --: |")
    for name, value in back.items():
        print(f"| {name} | {value} |")


if __name__ == "__main__":
    main()
