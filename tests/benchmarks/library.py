"""Compare the first page of each list of a big library with python-mpd2: `python -m tests.benchmarks.library`."""

import argparse
import asyncio
import contextlib
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from mpd.asyncio import MPDClient

from pi_appliance.music.model import EntryType, LibraryFilter
from pi_appliance.music.mpd import player as ours
from pi_appliance.music.player import Player
from tests.benchmarks import process_cost
from tests.fakes.big_library import FLAT, Size, album, artist, write_database
from tests.fakes.mpd_server import MpdServer

PLAYLIST, PAGE = "everything", 100
_ROOM = 'auto_update "no"\nmax_output_buffer_size "131072"\nmax_playlist_length "16384"\nconnection_timeout "600"'
"""What MPD keeps by default is too little for python-mpd2, which asks for whole lists."""
_MANY_PAGES = "import sys; from tests.benchmarks import library; library.request_pages(*sys.argv[1:])"


class PeerClient(MPDClient):  # type: ignore[misc] # python-mpd2 has no types
    """The client of python-mpd2, without its automatic `idle`."""

    IMMEDIATE_COMMAND_TIMEOUT = None


Query = Callable[[Any], Awaitable[object]]


async def _all(answer: Any) -> list[object]:
    return [each async for each in answer]


def pages(size: Size) -> dict[str, tuple[Callable[[Player], Awaitable[object]], Query]]:
    """Return by its name how each page is asked for: of our player, and of python-mpd2."""
    name, who = album(size.albums // 2), artist(size.albums // 20)
    return {
        "artists": (lambda player: player.list_library(EntryType.ARTIST), lambda client: client.list("albumartist")),
        "albums": (
            lambda player: player.list_library(EntryType.ALBUM),
            lambda client: client.list("album", "group", "date", "group", "albumartist"),
        ),
        "genres": (lambda player: player.list_library(EntryType.GENRE), lambda client: client.list("genre")),
        "albums of an artist": (
            lambda player: player.list_library(EntryType.ALBUM, LibraryFilter(artist=who)),
            lambda client: client.list("album", "albumartist", who, "group", "date"),
        ),
        "tracks of an album": (
            lambda player: player.list_library(EntryType.TRACK, LibraryFilter(album=name)),
            lambda client: _all(client.find("album", name)),
        ),
        "search": (
            lambda player: player.list_library(EntryType.TRACK, LibraryFilter(text="key life")),
            lambda client: _all(
                client.search("((any contains 'key') AND (any contains 'life'))", "window", f"0:{PAGE + 1}")
            ),
        ),
        "top folder": (lambda player: player.list_directory(), lambda client: _all(client.lsinfo(""))),
        "flat folder": (lambda player: player.list_directory(FLAT), lambda client: _all(client.lsinfo(FLAT))),
        "flat folder, its end": (
            lambda player: player.list_directory(FLAT, max(0, size.flat - PAGE)),
            lambda client: _all(client.lsinfo(FLAT)),
        ),
        "queue": (lambda player: player.list_queue(0, PAGE), lambda client: _all(client.playlistinfo((0, PAGE)))),
        "playlist": (
            lambda player: player.list_playlist(PLAYLIST),
            lambda client: _all(client.listplaylistinfo(PLAYLIST)),
        ),
        "playlist, its end": (
            lambda player: player.list_playlist(PLAYLIST, 16_000),
            lambda client: _all(client.listplaylistinfo(PLAYLIST)),
        ),
    }


@contextlib.contextmanager
def running_mpd_with_library(size: Size, prepare: Callable[[MpdServer], None] = lambda _: None) -> Iterator[MpdServer]:
    """Run an MPD with a library of `size`, and its queue as a playlist. `prepare` is called before it starts."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        server = MpdServer(Path(folder), databases=("playlists", "stickers"), more=_ROOM)
        server.music.mkdir()
        write_database(server.folder / "database", size)
        prepare(server)
        try:
            server.start(timeout=180)  # MPD searches the flat folder for each of its files
            with contextlib.suppress(subprocess.CalledProcessError):  # the rest does not fit
                server.mpc("add", "/")
            server.mpc("save", PLAYLIST)
            yield server
        finally:
            server.kill()


@contextlib.asynccontextmanager
async def both_clients(address: str) -> AsyncIterator[tuple[Player, PeerClient]]:
    """Yield our player and a connected client of python-mpd2."""
    host, _, port = address.rpartition(":")
    player, client = ours.connect(ours.Options(address=address), {}), PeerClient()
    await client.connect(host, int(port))
    try:
        yield player, client
    finally:
        client.disconnect()
        await player.close()


async def measure(address: str, size: Size, runs: int) -> dict[str, tuple[float, float]]:
    """Return the median seconds of each page, ours and the peer's, which take turns."""
    result = {}
    async with both_clients(address) as (player, client):
        for name, (mine, peer) in pages(size).items():
            samples = [(await _timed(mine(player)), await _timed(peer(client))) for _ in range(runs)]
            result[name] = (
                statistics.median(sample[0] for sample in samples),
                statistics.median(sample[1] for sample in samples),
            )
    return result


async def _timed(options: Awaitable[object]) -> float:
    start = time.perf_counter()
    await options
    return time.perf_counter() - start


def request_pages(address: str, tracks: str, flat: str, rounds: str, client_name: str) -> None:
    """Request every page `rounds` times, and print the memory of this process after each round. Runs in a child."""

    async def turn() -> None:
        size = Size(tracks=int(tracks), flat=int(flat))
        async with both_clients(address) as (player, client):
            for _ in range(int(rounds)):
                for mine, peer in pages(size).values():
                    await (mine(player) if client_name == "ours" else peer(client))
                print(process_cost.measure_process(os.getpid()).resident, flush=True)

    asyncio.run(turn())


def measure_memory(address: str, size: Size, rounds: int, client: str) -> list[int]:
    """Return the memory of a new process in bytes after each round of all pages."""
    words = (address, str(size.tracks), str(size.flat), str(rounds), client)
    process = subprocess.run([sys.executable, "-c", _MANY_PAGES, *words], check=True, capture_output=True, text=True)
    return [int(line) for line in process.stdout.split()]


def main(argv: Sequence[str] | None = None) -> None:
    """Measure and print two tables in Markdown."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tracks", type=int, default=100_000, help="in albums of twelve")
    parser.add_argument("--flat", type=int, default=100_000, help="in one folder")
    parser.add_argument("--runs", type=int, default=7, help="number of requests of each page")
    parser.add_argument("--rounds", type=int, default=10, help="number of requests of all pages, for the memory")
    options = parser.parse_args(argv)
    size = Size(tracks=options.tracks, flat=options.flat)
    with running_mpd_with_library(size) as server:
        times = asyncio.run(measure(server.address, size, options.runs))
        memory_growth = {
            client: measure_memory(server.address, size, options.rounds, client) for client in ("ours", "python-mpd2")
        }
    print("| first page of | ms | python-mpd2, ms | ratio |\n| --- | --: | --: | --: |")
    for name, (mine, peer) in times.items():
        print(f"| {name} | {mine * 1e3:.1f} | {peer * 1e3:.1f} | {mine / peer:.2f} |")
    print("\n| resident MB after | one round | the last |\n| --- | --: | --: |")
    for client, sizes in memory_growth.items():
        print(f"| {client} | {sizes[0] / 1e6:.1f} | {sizes[-1] / 1e6:.1f} |")


if __name__ == "__main__":
    main()
