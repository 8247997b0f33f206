"""Measure how soon a change reaches many phones and MPD clients: `python -m tests.benchmarks.phones [--phones 100]`.

The volume is set in MPD. An MPD client waits with `idle` and then requests `status`. A phone reads the event
stream of `pi-appliance up`, which runs in its own process. First many MPD clients are measured, then many phones,
with the same MPD and the same daemon. Then one of each is measured, with mpc as the writer. At last all phones are
disconnected and reconnect.
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
from tests.test_daemon import RunningDaemon, running_daemon

_TIMEOUT = 10.0  # seconds for one change to reach every listener
_CHANGE_INTERVAL = 0.05  # seconds between two changes, so that MPD reports each one
_VOLUME = re.compile(rb"^volume: (\d+)$|\"volume\":(\d+)", re.MULTILINE)


@dataclass(slots=True)
class VolumeReceipts:
    """When the listeners received the latest `volume`. Delays are in seconds."""

    volume: int = 0
    start_time: float = 0.0
    delays: list[float] = field(default_factory=list)
    remaining: int = 0
    complete: asyncio.Event = field(default_factory=asyncio.Event)

    def record(self, text: bytes) -> None:
        """Record that one listener received `text`."""
        if any(int(one or other) == self.volume for one, other in _VOLUME.findall(text)):
            self.delays.append(time.monotonic() - self.start_time)
            self.remaining -= 1
            if not self.remaining:
                self.complete.set()


Listener = Callable[[VolumeReceipts, asyncio.Event], Coroutine[Any, Any, None]]


def mpd_client(port: int) -> Listener:
    """Return an MPD client that waits for changes and requests the status."""

    async def listen(receipts: VolumeReceipts, ready: asyncio.Event) -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        with contextlib.closing(writer):
            await reader.readline()
            ready.set()
            while True:
                writer.write(b"idle mixer\n")
                await reader.readuntil(b"OK\n")
                writer.write(b"status\n")
                receipts.record(await reader.readuntil(b"\nOK\n"))

    return listen


def event_client(page: str) -> Listener:
    """Return a phone that reads the event stream."""
    url = urlsplit(page)

    async def listen(receipts: VolumeReceipts, ready: asyncio.Event) -> None:
        reader, writer = await asyncio.open_connection(url.hostname, url.port)
        with contextlib.closing(writer):
            writer.write(f"GET /api/v1/player/events HTTP/1.1\r\nHost: {url.netloc}\r\n\r\n".encode())
            while (line := await reader.readline()) != b"event: state\n":
                assert line, "the stream ended"
            ready.set()
            while line := await reader.readline():
                if line.startswith(b"data:"):
                    receipts.record(line)

    return listen


@contextlib.asynccontextmanager
async def connected_listeners(count: int, listener: Listener, receipts: VolumeReceipts) -> AsyncIterator[None]:
    """Connect `count` listeners during the block."""
    tasks = []
    try:
        for _ in range(count):  # one after the other: MPD accepts at most five waiting connections
            ready = asyncio.Event()
            tasks.append(asyncio.create_task(listener(receipts, ready)))
            async with asyncio.timeout(_TIMEOUT):
                await ready.wait()
        yield
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


@dataclass(frozen=True, slots=True)
class Measurement:
    """The result for one kind of listener. Times are in seconds."""

    reached: float
    delays: Sequence[float]
    memory: float = 0.0  # kilobytes per listener, in the daemon

    def format_cells(self, baseline: "Measurement | None") -> list[str]:
        """Return the table row, whose ratio compares it with `baseline`."""
        median, late = statistics.median(self.delays), sorted(self.delays)[int(len(self.delays) * 0.99)]
        times = f"{median / statistics.median(baseline.delays):.1f}" if baseline else "1"
        memory = f"{self.memory:.0f}" if baseline else ""
        result = [f"{1000 * seconds:.1f}" for seconds in (median, late, max(self.delays))]
        return [f"{self.reached:.1%}", *result, times, memory]


SetVolume = Callable[[int], Awaitable[None]]
"""Sets the volume of MPD."""


@contextlib.asynccontextmanager
async def open_connection(port: int) -> AsyncIterator[SetVolume]:
    """Yield a function that sets the volume over one open connection."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    await reader.readline()

    async def set_volume(volume: int) -> None:
        writer.write(f"setvol {volume}\n".encode())
        await reader.readline()

    with contextlib.closing(writer):
        yield set_volume


@contextlib.asynccontextmanager
async def mpc_commands(port: int) -> AsyncIterator[SetVolume]:
    """Yield a function that starts mpc for each volume."""

    async def set_volume(volume: int) -> None:
        process = await asyncio.create_subprocess_exec("mpc", "--quiet", "--port", str(port), "volume", str(volume))
        await process.wait()

    yield set_volume


async def measure(set_volume: SetVolume, listener: Listener, count: int, changes: int, pid: int) -> Measurement:
    """Measure the delay of `changes` in MPD to `count` listeners, and their memory in the process `pid`."""
    receipts, reached, delays = VolumeReceipts(), 0, list[float]()
    before = resident_memory(pid)
    async with connected_listeners(count, listener, receipts):
        for number in range(changes):
            await asyncio.sleep(_CHANGE_INTERVAL)
            receipts.volume, receipts.delays, receipts.remaining = 10 + number % 80, [], count
            receipts.complete.clear()
            receipts.start_time = time.monotonic()
            await set_volume(receipts.volume)
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(receipts.complete.wait(), _TIMEOUT)
            reached += len(receipts.delays)
            delays += receipts.delays
        memory = (resident_memory(pid) - before) / count
    return Measurement(reached / (count * changes), delays, memory)


def resident_memory(pid: int) -> int:
    """Return the resident memory of the process `pid` in kilobytes."""
    status = Path(f"/proc/{pid}/status").read_text("ascii")
    return int(status.partition("VmRSS:")[2].split()[0])


@contextlib.contextmanager
def running_player_daemon(count: int) -> Iterator[tuple[MpdServer, RunningDaemon]]:
    """Run an MPD that accepts `count` clients, and a daemon that uses it."""
    with tempfile.TemporaryDirectory() as folder:
        installation = Installation(Path(folder))
        with running_mpd(installation.folder / "mpd", more=f'max_connections "{2 * count + 50}"') as server:
            installation.write("", f"web: {{port: 0}}\nplayer: {{kind: mpd, with: {{address: '{server.address}'}}}}\n")
            with running_daemon(installation) as daemon:
                yield server, daemon


async def compare(
    server: MpdServer, daemon: RunningDaemon, count: int, changes: int
) -> dict[str, tuple[Measurement, Measurement | None]]:
    """Measure each kind of listener. Return its result and the baseline to compare it with."""
    pid, page = daemon.process.pid, daemon.page
    async with open_connection(server.port) as set_volume:
        await measure(
            set_volume, event_client(page), 1, 3, pid
        )  # warm up: code that is loaded once should not count for a phone
        mpd_clients = await measure(set_volume, mpd_client(server.port), count, changes, pid)
        phones = await measure(set_volume, event_client(page), count, changes, pid)
        with phones_away.stalled_clients(page, count // 10):
            with_stalled = await measure(set_volume, event_client(page), count, changes, pid)
    async with mpc_commands(server.port) as set_volume:
        single_client = await measure(set_volume, mpd_client(server.port), 1, 4 * changes, pid)
        single_phone = await measure(set_volume, event_client(page), 1, 4 * changes, pid)
    return {
        f"{count} of MPD's own `idle` and `status`": (mpd_clients, None),
        f"{count} phones on the stream of events": (phones, mpd_clients),
        f"the same, {count // 10} more that read nothing": (with_stalled, mpd_clients),
        f"one `idle` and `status`, {4 * changes} times mpc": (single_client, None),
        f"one phone, {4 * changes} times mpc": (single_phone, single_client),
    }


def main(argv: Sequence[str] | None = None) -> None:
    """Measure and print two tables in Markdown."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--phones", type=int, default=100)
    parser.add_argument("--changes", type=int, default=50)
    options = parser.parse_args(argv)
    with running_player_daemon(options.phones) as (server, daemon):
        result = asyncio.run(compare(server, daemon, options.phones, options.changes))
        reconnection = asyncio.run(
            phones_away.measure_reconnection(server, daemon.page, options.phones, options.changes)
        )
    print("| a volume is set | reached | median ms | 99 % ms | worst ms | times | KB each |")
    print("| --- |" + " --: |" * 6)
    for name, (each, baseline) in result.items():
        print(f"| {name} | {' | '.join(each.format_cells(baseline))} |")
    print(f"\n| {options.phones} phones cut off for {options.changes} changes | |\n| --- | --: |")
    for name, value in reconnection.items():
        print(f"| {name} | {value} |")


if __name__ == "__main__":
    main()
