"""Each list of a big library, from the daemon and from python-mpd2: `python -m tests.benchmarks.pages`.

What is measured is `pi-appliance up`, a process of its own, over HTTP: the API, and the page with the same list on it.
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
from tests.test_daemon import up

_API, _MUSIC = "/api/v1/player", "/music/library"
_BLURRED = 1000  # pixels of a side of the cover

Ask = Callable[[Any], object]


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """One list: where the `api` and the pages have it, and how python-mpd2 is asked for it. '' and None: not at all."""

    api: str = ""
    html: str = ""
    theirs: Ask | None = None


def pages(size: Size) -> dict[str, Page]:
    """Return each list by its name."""
    name, who = album(size.albums // 2), artist(size.albums // 20)
    key_life = "((any contains 'key') AND (any contains 'life'))"
    last = size.tracks + size.flat - PAGE
    end = min(16_000, last)  # of the queue, which MPD lets grow to 16,384
    some = [track(number) for number in range(PAGE)]
    return {
        "top folder": Page(api=f"{_API}/browse", html=_MUSIC, theirs=lambda mpd: mpd.lsinfo("")),
        "flat folder": _folder(FLAT, 0),
        "flat folder, its end": _folder(FLAT, max(0, size.flat - PAGE)),
        "artists": _library("artist", theirs=lambda mpd: mpd.list("albumartist")),
        "albums": _library("album", theirs=lambda mpd: mpd.list("album", "group", "date", "group", "albumartist")),
        "genres": _library("genre", theirs=lambda mpd: mpd.list("genre")),
        "tracks": _library("track", theirs=lambda mpd: mpd.find("(base '')", "window", f"0:{PAGE + 1}")),
        "tracks, their end": _library(
            "track",
            start=str(last),
            theirs=lambda mpd: mpd.find("(base '')", "window", f"{last}:{last + PAGE + 1}"),
        ),
        "albums of an artist": _library(
            "album", artist=who, theirs=lambda mpd: mpd.list("album", "albumartist", who, "group", "date")
        ),
        "albums of a genre": _library(
            "album", genre="Jazz", theirs=lambda mpd: mpd.list("album", "genre", "Jazz", "group", "date")
        ),
        "tracks of an album": _library("track", album=name, theirs=lambda mpd: mpd.find("album", name)),
        "search, its tracks": Page(
            api=f"{_API}/search?{urlencode({'words': 'key life'})}",
            theirs=lambda mpd: mpd.search(key_life, "window", f"0:{PAGE + 1}"),
        ),
        "search, its albums": Page(
            api=f"{_API}/albums?{urlencode({'search': '0042'})}",
            theirs=lambda mpd: _albums(mpd, "0042"),
        ),
        "search, all of it": Page(
            html=f"{_MUSIC}?{urlencode({'text': '0042'})}", theirs=lambda mpd: _search_all(mpd, "0042")
        ),
        "playlists": Page(api=f"{_API}/playlists", html="/music/playlists", theirs=lambda mpd: mpd.listplaylists()),
        "a playlist": _playlist(0),
        "a playlist, its end": _playlist(end),
        "queue": _queue(0),
        "queue, its end": _queue(end),
        "favourites": _favourites(0),
        "favourites, their end": _favourites(max(0, size.tracks // 20 - PAGE)),
        "ratings of 20 tracks": Page(
            api=f"{_API}/ratings?{urlencode({'uri': some[:20]}, doseq=True)}",
            theirs=lambda mpd: _ratings(mpd, some[:20]),
        ),
        "cover": Page(api=f"{_API}/art?{urlencode({'uri': some[0]})}", theirs=lambda mpd: mpd.albumart(some[0])),
        "cover, 256 pixels": Page(api=f"{_API}/art?{urlencode({'uri': some[0], 'size': 256})}"),
        "outputs": Page(api=f"{_API}/outputs", html="/music/sound", theirs=lambda mpd: mpd.outputs()),
        "partitions": Page(api=f"{_API}/partitions", theirs=lambda mpd: mpd.listpartitions()),
        "counts": Page(api=f"{_API}/stats", theirs=lambda mpd: mpd.stats()),
        "stations": Page(api="/api/v1/stations", html="/music/radio"),
        "what plays": Page(api=_API, html="/", theirs=lambda mpd: (mpd.status(), mpd.currentsong())),
    }


def _folder(path: str, start: int) -> Page:
    return Page(
        api=f"{_API}/browse?{urlencode({'folder': path, 'start': start})}",
        html=f"{_MUSIC}?{urlencode({'path': path, 'start': start})}",
        theirs=lambda mpd: mpd.lsinfo(path),
    )


def _library(kind: str, *, theirs: Ask, **wanted: str) -> Page:
    return Page(
        api=f"{_API}/{kind}s?{urlencode(wanted)}",
        html=f"{_MUSIC}?{urlencode({'by': kind, **wanted})}",
        theirs=theirs,
    )


def _playlist(start: int) -> Page:
    return Page(
        api=f"{_API}/playlists/{quote(PLAYLIST)}?start={start}",
        html=f"/music/playlists?{urlencode({'name': PLAYLIST, 'start': start})}",
        theirs=lambda mpd: mpd.listplaylistinfo(PLAYLIST),
    )


def _queue(start: int) -> Page:
    where = (start, start + PAGE)
    return Page(
        api=f"{_API}/queue?start={start}",
        html=f"/music/queue?start={start}",
        theirs=lambda mpd: mpd.playlistinfo(where),
    )


def _favourites(start: int) -> Page:
    """Ours has the tags of the tracks as well; python-mpd2 is asked for them as MPD has it: one by one."""

    def theirs(mpd: Any) -> object:
        result = sorted(each["file"] for each in mpd.sticker_find("song", "", "like", "=", "2"))
        mpd.command_list_ok_begin()
        for uri in result[start : start + PAGE]:
            mpd.lsinfo(uri)
        return mpd.command_list_end()

    return Page(
        api=f"{_API}/favourites?start={start}",
        html=f"{_MUSIC}?{urlencode({'by': 'favourites', 'start': start})}",
        theirs=theirs,
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
def running(size: Size) -> Iterator[tuple[MpdServer, Installation]]:
    """Give an MPD with a library of `size`, one track in twenty a favourite, one cover; and an installation."""
    with (
        tempfile.TemporaryDirectory() as folder,
        library.running(size, prepare=lambda mpd: _dress(mpd, size)) as server,
    ):
        installation = Installation(Path(folder))
        player = f"{{kind: mpd, with: {{address: '{server.address}'}}}}"
        installation.write("", f"web: {{port: 0}}\nplayer: {player}\nusb: {{mount-dir: {server.music}/USB}}\n")
        yield server, installation


def _dress(server: MpdServer, size: Size) -> None:
    """Give the library stickers and a cover."""
    write_favourites(server.folder / "stickers", map(track, range(0, size.tracks, 20)))
    cover = (server.music / track(0)).with_name("cover.jpg")
    cover.parent.mkdir(parents=True)
    noise = Image.effect_noise((_BLURRED // 8, _BLURRED // 8), 80).resize((_BLURRED, _BLURRED)).convert("RGB")
    written = io.BytesIO()
    noise.save(written, "JPEG", quality=90)
    cover.write_bytes(written.getvalue())


class Phone:
    """One who asks the daemon, with a new connection each time."""

    def __init__(self, page: str) -> None:
        self._place = urlsplit(page)

    def get(self, path: str) -> bytes:
        """Return what stands at `path`."""
        assert self._place.hostname
        line = http.client.HTTPConnection(self._place.hostname, self._place.port, timeout=60)
        with contextlib.closing(line):
            line.request("GET", path)
            answer = line.getresponse()
            body = answer.read()
            assert answer.status == 200, (path, answer.status, body[:200])
            return body


Times = tuple[float | None, float | None, float | None]


def measure(phone: Phone, mpd: MPDClient, wanted: dict[str, Page], runs: int) -> dict[str, Times]:
    """Return by list the medians of seconds: by the API, as a page, by python-mpd2; asked in turn."""
    result = {}
    for name, page in wanted.items():
        asks = (
            page.api and (lambda at=page.api: phone.get(at)),
            page.html and (lambda at=page.html: phone.get(at)),
            page.theirs and (lambda ask=page.theirs: ask(mpd)),
        )
        taken = [[_timed(ask) if ask else None for ask in asks] for _ in range(runs)]
        result[name] = tuple(_median(each) for each in zip(*taken, strict=True))
    return result  # type: ignore[return-value] # three columns


def _timed(ask: Callable[[], object]) -> float:
    begin = time.perf_counter()
    ask()
    return time.perf_counter() - begin


def _median(taken: Sequence[float | None]) -> float | None:
    known = [each for each in taken if each is not None]
    return statistics.median(known) if known else None


def turn(phone: Phone, wanted: dict[str, Page], rounds: int, pid: int) -> tuple[int, list[int]]:
    """Ask for every list `rounds` times; return how many were asked for, and the bytes of `pid` after each round."""
    paths = [path for page in wanted.values() for path in (page.api, page.html) if path]
    sizes = []
    for _ in range(rounds):
        for path in paths:
            phone.get(path)
        sizes.append(process_cost.look(pid).resident)
    return rounds * len(paths), sizes


def _cell(seconds: float | None) -> str:
    return "" if seconds is None else f"{seconds * 1e3:.1f}"


def main(argv: Sequence[str] | None = None) -> None:
    """Measure and print two tables in Markdown."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tracks", type=int, default=90_000, help="in albums of twelve")
    parser.add_argument("--flat", type=int, default=10_000, help="in one folder")
    parser.add_argument("--runs", type=int, default=7, help="how often each list is asked for")
    parser.add_argument("--rounds", type=int, default=6, help="how often all lists are asked for, for the memory")
    given = parser.parse_args(argv)
    size = Size(tracks=given.tracks, flat=given.flat)
    wanted = pages(size)
    with running(size) as (server, installation), up(installation) as daemon:
        phone, mpd, pid = Phone(daemon.page), MPDClient(), daemon.process.pid
        wait_until(lambda: not json.loads(phone.get(_API))["error"], 30)
        idle = process_cost.look(pid).resident
        count, sizes = turn(phone, wanted, given.rounds, pid)
        mpd.connect("127.0.0.1", server.port)
        times = measure(phone, mpd, wanted, given.runs)
        last = process_cost.look(pid).resident
        mpd.disconnect()
    print("| first page of | API, ms | page, ms | python-mpd2, ms | ratio |\n| --- | --: | --: | --: | --: |")
    for name, (api, html, theirs) in times.items():
        ours = api or html
        ratio = f"{ours / theirs:.2f}" if ours and theirs else ""
        print(f"| {name} | {_cell(api)} | {_cell(html)} | {_cell(theirs)} | {ratio} |")
    heads = ("at first", "after one round", f"after {count} lists", "after all")
    print(f"\n| resident MB of the daemon | {' | '.join(heads)} |\n| --- |{' --: |' * len(heads)}")
    print("| | " + " | ".join(f"{each / 1e6:.1f}" for each in (idle, sizes[0], sizes[-1], last)) + " |")


if __name__ == "__main__":
    main()
