"""Compare each list of a big library with python-mpd2: `python -m tests.benchmarks.pages`.

`pi-appliance up` runs in its own process. Each list is requested over HTTP from the API, and as a page.
"""

import argparse
import contextlib
import http.client
import io
import json
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode, urlsplit

from mpd import MPDClient
from PIL import Image

from tests.benchmarks import library, process_cost
from tests.benchmarks.library import PAGE, PLAYLIST
from tests.fakes.big_library import FLAT, Size, album, artist, track, write_favourites
from tests.fakes.mpd_server import MpdServer
from tests.installation import Installation, wait_until
from tests.test_daemon import running_daemon

_API, _MUSIC = "/api/v1/player", "/music/library"
_BLURRED = 1000  # pixels of a side of the cover

Query = Callable[[Any], object]


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """One list: its path in the API, its page, and the query of python-mpd2. '' and None mean that there is none."""

    api: str = ""
    html: str = ""
    mpd_query: Query | None = None


def pages(size: Size) -> dict[str, Page]:
    """Return each list by its name."""
    name, artist_name = album(size.albums // 2), artist(size.albums // 20)
    key_life = "((any contains 'key') AND (any contains 'life'))"
    last = size.tracks + size.flat - PAGE
    end = min(16_000, last)  # of the queue, which MPD limits to 16,384
    uris = [track(number) for number in range(PAGE)]
    return {
        "top folder": Page(api=f"{_API}/browse", html=_MUSIC, mpd_query=lambda mpd: mpd.lsinfo("")),
        "flat folder": _folder(FLAT, 0),
        "flat folder, its end": _folder(FLAT, max(0, size.flat - PAGE)),
        "artists": _library("artist", mpd_query=lambda mpd: mpd.list("albumartist")),
        "albums": _library("album", mpd_query=lambda mpd: mpd.list("album", "group", "date", "group", "albumartist")),
        "genres": _library("genre", mpd_query=lambda mpd: mpd.list("genre")),
        "tracks": _library("track", mpd_query=lambda mpd: mpd.find("(base '')", "window", f"0:{PAGE + 1}")),
        "tracks, their end": _library(
            "track",
            start=str(last),
            mpd_query=lambda mpd: mpd.find("(base '')", "window", f"{last}:{last + PAGE + 1}"),
        ),
        "albums of an artist": _library(
            "album",
            artist=artist_name,
            mpd_query=lambda mpd: mpd.list("album", "albumartist", artist_name, "group", "date"),
        ),
        "albums of a genre": _library(
            "album", genre="Jazz", mpd_query=lambda mpd: mpd.list("album", "genre", "Jazz", "group", "date")
        ),
        "tracks of an album": _library("track", album=name, mpd_query=lambda mpd: mpd.find("album", name)),
        "search, its tracks": Page(
            api=f"{_API}/search?{urlencode({'words': 'key life'})}",
            mpd_query=lambda mpd: mpd.search(key_life, "window", f"0:{PAGE + 1}"),
        ),
        "search, its albums": Page(
            api=f"{_API}/albums?{urlencode({'search': '0042'})}",
            mpd_query=lambda mpd: _albums(mpd, "0042"),
        ),
        "search, all of it": Page(
            html=f"{_MUSIC}?{urlencode({'text': '0042'})}", mpd_query=lambda mpd: _search_all(mpd, "0042")
        ),
        "playlists": Page(api=f"{_API}/playlists", html="/music/playlists", mpd_query=lambda mpd: mpd.listplaylists()),
        "a playlist": _playlist(0),
        "a playlist, its end": _playlist(end),
        "queue": _queue(0),
        "queue, its end": _queue(end),
        "favourites": _favourites(0),
        "favourites, their end": _favourites(max(0, size.tracks // 20 - PAGE)),
        "ratings of 20 tracks": Page(
            api=f"{_API}/ratings?{urlencode({'uri': uris[:20]}, doseq=True)}",
            mpd_query=lambda mpd: _ratings(mpd, uris[:20]),
        ),
        "cover": Page(api=f"{_API}/art?{urlencode({'uri': uris[0]})}", mpd_query=lambda mpd: mpd.albumart(uris[0])),
        "cover, 256 pixels": Page(api=f"{_API}/art?{urlencode({'uri': uris[0], 'size': 256})}"),
        "outputs": Page(api=f"{_API}/outputs", html="/music/sound", mpd_query=lambda mpd: mpd.outputs()),
        "partitions": Page(api=f"{_API}/partitions", mpd_query=lambda mpd: mpd.listpartitions()),
        "counts": Page(api=f"{_API}/stats", mpd_query=lambda mpd: mpd.stats()),
        "stations": Page(api="/api/v1/stations", html="/music/radio"),
        "what plays": Page(api=_API, html="/", mpd_query=lambda mpd: (mpd.status(), mpd.currentsong())),
    }


def _folder(path: str, start: int) -> Page:
    return Page(
        api=f"{_API}/browse?{urlencode({'folder': path, 'start': start})}",
        html=f"{_MUSIC}?{urlencode({'path': path, 'start': start})}",
        mpd_query=lambda mpd: mpd.lsinfo(path),
    )


def _library(kind: str, *, mpd_query: Query, **parameters: str) -> Page:
    return Page(
        api=f"{_API}/{kind}s?{urlencode(parameters)}",
        html=f"{_MUSIC}?{urlencode({'by': kind, **parameters})}",
        mpd_query=mpd_query,
    )


def _playlist(start: int) -> Page:
    return Page(
        api=f"{_API}/playlists/{quote(PLAYLIST)}?start={start}",
        html=f"/music/playlists?{urlencode({'name': PLAYLIST, 'start': start})}",
        mpd_query=lambda mpd: mpd.listplaylistinfo(PLAYLIST),
    )


def _queue(start: int) -> Page:
    window = (start, start + PAGE)
    return Page(
        api=f"{_API}/queue?start={start}",
        html=f"/music/queue?start={start}",
        mpd_query=lambda mpd: mpd.playlistinfo(window),
    )


def _favourites(start: int) -> Page:
    """Return the favourites. Our list includes the tags, which python-mpd2 requests one by one."""

    def mpd_query(mpd: Any) -> object:
        result = sorted(match["file"] for match in mpd.sticker_find("song", "", "like", "=", "2"))
        mpd.command_list_ok_begin()
        for uri in result[start : start + PAGE]:
            mpd.lsinfo(uri)
        return mpd.command_list_end()

    return Page(
        api=f"{_API}/favourites?start={start}",
        html=f"{_MUSIC}?{urlencode({'by': 'favourites', 'start': start})}",
        mpd_query=mpd_query,
    )


def _albums(mpd: Any, word: str) -> object:
    return mpd.list("album", f"(any contains '{word}')", "group", "date", "group", "albumartist")


def _search_all(mpd: Any, word: str) -> object:
    artists = mpd.list("albumartist", f"(any contains '{word}')")
    return artists, _albums(mpd, word), mpd.search(f"(any contains '{word}')", "window", f"0:{PAGE + 1}")


def _ratings(mpd: Any, uris: Sequence[str]) -> object:
    mpd.command_list_ok_begin()
    for uri in uris:
        mpd.sticker_list("song", uri)
    return mpd.command_list_end()


@contextlib.contextmanager
def running_installation(size: Size) -> Iterator[tuple[MpdServer, Installation]]:
    """Run an MPD with a library of `size`, with one favourite in twenty tracks and one cover, and an installation."""
    with (
        tempfile.TemporaryDirectory() as folder,
        library.running_mpd_with_library(size, prepare=lambda mpd: _add_favourites_and_cover(mpd, size)) as server,
    ):
        installation = Installation(Path(folder))
        player = f"{{kind: mpd, with: {{address: '{server.address}'}}}}"
        installation.write("", f"web: {{port: 0}}\nplayer: {player}\nusb: {{mount-dir: {server.music}/USB}}\n")
        yield server, installation


def _add_favourites_and_cover(server: MpdServer, size: Size) -> None:
    """Add stickers and a cover to the library."""
    write_favourites(server.folder / "stickers", map(track, range(0, size.tracks, 20)))
    cover = (server.music / track(0)).with_name("cover.jpg")
    cover.parent.mkdir(parents=True)
    noise = Image.effect_noise((_BLURRED // 8, _BLURRED // 8), 80).resize((_BLURRED, _BLURRED)).convert("RGB")
    picture = io.BytesIO()
    noise.save(picture, "JPEG", quality=90)
    cover.write_bytes(picture.getvalue())


class PageClient:
    """A client of the daemon that opens a new connection for each request."""

    def __init__(self, page: str) -> None:
        self._url = urlsplit(page)

    def get(self, path: str) -> bytes:
        """Return the content of `path`."""
        assert self._url.hostname
        connection = http.client.HTTPConnection(self._url.hostname, self._url.port, timeout=60)
        with contextlib.closing(connection):
            connection.request("GET", path)
            response = connection.getresponse()
            body = response.read()
            assert response.status == 200, (path, response.status, body[:200])
            return body


Times = tuple[float | None, float | None, float | None]


def measure(phone: PageClient, mpd: MPDClient, pages_by_name: dict[str, Page], runs: int) -> dict[str, Times]:
    """Return the median seconds of each list by the API, as a page and by python-mpd2, which take turns."""
    result = {}
    for name, page in pages_by_name.items():
        queries = (
            page.api and (lambda at=page.api: phone.get(at)),
            page.html and (lambda at=page.html: phone.get(at)),
            page.mpd_query and (lambda query=page.mpd_query: query(mpd)),
        )
        samples = [[_timed(query) if query else None for query in queries] for _ in range(runs)]
        result[name] = tuple(_median(column) for column in zip(*samples, strict=True))
    return result  # type: ignore[return-value] # three columns


def _timed(query: Callable[[], object]) -> float:
    start = time.perf_counter()
    query()
    return time.perf_counter() - start


def _median(samples: Sequence[float | None]) -> float | None:
    durations = [sample for sample in samples if sample is not None]
    return statistics.median(durations) if durations else None


def measure_memory(phone: PageClient, pages_by_name: dict[str, Page], rounds: int, pid: int) -> tuple[int, list[int]]:
    """Request every list `rounds` times. Return the number of requests, and the memory of `pid` after each round."""
    paths = [path for page in pages_by_name.values() for path in (page.api, page.html) if path]
    sizes = []
    for _ in range(rounds):
        for path in paths:
            phone.get(path)
        sizes.append(process_cost.measure_process(pid).resident)
    return rounds * len(paths), sizes


def _cell(seconds: float | None) -> str:
    return "" if seconds is None else f"{seconds * 1e3:.1f}"


def main(argv: Sequence[str] | None = None) -> None:
    """Measure and print two tables in Markdown."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tracks", type=int, default=90_000, help="in albums of twelve")
    parser.add_argument("--flat", type=int, default=10_000, help="in one folder")
    parser.add_argument("--runs", type=int, default=7, help="number of requests of each list")
    parser.add_argument("--rounds", type=int, default=6, help="number of requests of all lists, for the memory")
    options = parser.parse_args(argv)
    size = Size(tracks=options.tracks, flat=options.flat)
    pages_by_name = pages(size)
    with running_installation(size) as (server, installation), running_daemon(installation) as daemon:
        phone, mpd, pid = PageClient(daemon.page), MPDClient(), daemon.process.pid
        wait_until(lambda: not json.loads(phone.get(_API))["error"], 30)
        idle = process_cost.measure_process(pid).resident
        count, sizes = measure_memory(phone, pages_by_name, options.rounds, pid)
        mpd.connect("127.0.0.1", server.port)
        times = measure(phone, mpd, pages_by_name, options.runs)
        last = process_cost.measure_process(pid).resident
        mpd.disconnect()
    print("| first page of | API, ms | page, ms | python-mpd2, ms | ratio |\n| --- | --: | --: | --: | --: |")
    for name, (api, html, theirs) in times.items():
        ours = api or html
        ratio = f"{ours / theirs:.2f}" if ours and theirs else ""
        print(f"| {name} | {_cell(api)} | {_cell(html)} | {_cell(theirs)} | {ratio} |")
    headers = ("at first", "after one round", f"after {count} lists", "after all")
    print(f"\n| resident MB of the daemon | {' | '.join(headers)} |\n| --- |{' --: |' * len(headers)}")
    print("| | " + " | ".join(f"{each / 1e6:.1f}" for each in (idle, sizes[0], sizes[-1], last)) + " |")


if __name__ == "__main__":
    main()
