"""Long lists a window at a time: their options, and how they are printed."""

import dataclasses
import functools
import json
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any, Generic, Protocol, TypeVar

import click

from pi_appliance.cli import terminal
from pi_appliance.cli.terminal import Number, ProgressLine, format_table, json_option
from pi_appliance.config.loader import load_config
from pi_appliance.errors import Refused
from pi_appliance.music.cli import player_text
from pi_appliance.music.cli.group import music_command
from pi_appliance.music.cli.player_text import called, entry_row, format_time, plain, track_row
from pi_appliance.music.cli.session import chosen, query
from pi_appliance.music.cli.sources import wanted_options
from pi_appliance.music.model import CoverArt, Entry, EntryType, LibraryFilter, LibraryStats, Page, Track, TrackRating
from pi_appliance.music.player import Player

T = TypeVar("T")
COUNT = 100
_STEP = 2000  # asked for at a time, so that a long list does not come as one answer


@dataclasses.dataclass(frozen=True, slots=True)
class PageOptions:
    """Which part of a list is wanted, and how. `start` counts from 0."""

    start: int
    count: int
    whole: bool
    as_json: bool


def list_options(function: Callable[..., None]) -> Callable[..., None]:
    """Give a command the options of a long list; it gets them as `wish`."""

    @functools.wraps(function)
    def wished(*, start: int, count: int, whole: bool, as_json: bool, **more: Any) -> None:
        function(wish=PageOptions(start - 1, count, whole, as_json), **more)

    made: Callable[..., None] = wished
    for option in reversed(_OPTIONS):
        made = option(made)
    return made


_OPTIONS = (
    click.option("--start", type=Number(min=1), default=1, metavar="N", help="Begin with the Nth."),
    click.option("--count", type=Number(1, 10_000), default=COUNT, show_default=True, metavar="N", help="How many."),
    click.option("--all", "whole", is_flag=True, help="From --start to the end."),
    json_option,
)


async def tell(
    wish: PageOptions,
    fetch: Callable[[int, int], Awaitable[Page[T]]],
    head: Sequence[str],
    row: Callable[[int, T], Sequence[str]],
    *,
    empty: str,
) -> None:
    """Print the part of a list that is wished: as JSON, or as a table under HEAD, EMPTY where there is nothing.

    FETCH gives a window of the list by start and count; ROW what to print of an item with its number, from 1. It is
    printed as it comes, for a library may be bigger than the memory of a small machine.
    """
    paper: _Output[T] = _Json() if wish.as_json else _Table(head, row, empty)
    start, more = wish.start, True
    while more:
        window = await fetch(start, _STEP if wish.whole else wish.count)
        paper.put(window)
        start += len(window.items)
        more = wish.whole and window.has_more and bool(window.items)
    paper.end(wish.start, start, window)


class _Output(Protocol[T]):
    def put(self, window: Page[T]) -> None:
        """Print the next items."""

    def end(self, start: int, end: int, last: Page[T]) -> None:
        """Print what is to be said at the end: it was from START to END, and LAST came last."""


class _Json(Generic[T]):
    def __init__(self) -> None:
        self._before = '{"items": ['

    def put(self, window: Page[T]) -> None:
        for item in window.items:
            values = dataclasses.asdict(item)  # type: ignore[call-overload] # all are data
            click.echo(f"{self._before}{json.dumps(values)}", nl=False)
            self._before = ", "

    def end(self, start: int, end: int, last: Page[T]) -> None:
        length = last.length if last.has_more or last.length is not None or end == start else end
        values = json.dumps({"start": start, "length": length, "more": last.has_more})
        click.echo(f"{self._before.rstrip(', ')}], {values[1:]}")


class _Table(Generic[T]):
    def __init__(self, head: Sequence[str], row: Callable[[int, T], Sequence[str]], empty: str) -> None:
        self._head, self._row, self._empty = head, row, empty
        self._begun = False

    def put(self, window: Page[T]) -> None:
        if not window.items:
            return
        rows = [self._row(number, item) for number, item in enumerate(window.items, start=window.start + 1)]
        text = format_table(self._head, rows)
        click.echo(text.partition("\n")[2] if self._begun else text)
        self._begun = True

    def end(self, start: int, end: int, last: Page[T]) -> None:
        if last.has_more and last.items:
            left = f"{last.length - end:,} more" if last.length is not None else "more"
            click.echo(f"… {left}; --start {end + 1}")
        elif not self._begun:
            click.echo(f"the list ends before {start + 1}" if start and last.length != 0 else self._empty)


@music_command("stats", "Say how big the library is.")
@click.argument("folder", default="")
@json_option
def stats(config: Path, folder: str, as_json: bool) -> None:
    """Say how big the library is, or what of it is in FOLDER."""
    settings = load_config(config)
    counts = query(settings, lambda player: player.library_stats(folder))
    if as_json:
        click.echo(json.dumps(dataclasses.asdict(counts)))
        return
    of = "" if folder else f", {counts.albums:,} albums, {counts.artists:,} artists"
    click.echo(f"{_size(counts)}{of}")
    if counts.updated is not None:
        click.echo(
            f"updated {terminal.format_instant(datetime.fromtimestamp(counts.updated, UTC), settings.time_zone)}"
        )


def _size(counts: LibraryStats) -> str:
    return f"{counts.tracks:,} tracks of {format_time(counts.seconds)}"


@music_command("update", "Look for new music.")
@click.argument("folder", default="")
@click.option("--wait", is_flag=True, help="Until it is done; on a terminal it shows how far it is.")
def update(config: Path, folder: str, wait: bool) -> None:
    """Look for what is new, other or gone in the library, or in FOLDER of it."""
    if not wait:
        query(load_config(config), lambda player: player.update_library(folder))
        click.echo(f"{plain(folder) or 'the library'} is being updated; status tells when it is done")
        return

    before, after = query(load_config(config), lambda player: updated(player, folder))
    change = after.tracks - before.tracks
    told = f"{abs(change):,} {'more' if change > 0 else 'fewer'} than before" if change else "as many as before"
    click.echo(f"updated: {_size(after)}, {told}")


@music_command("art", "Write or describe the picture of a track.")
@click.argument("what", default="", metavar="[N|FILE]")
@click.option("--to", "target", metavar="PATH", help="Write it to this file; - is the standard output.")
@json_option
def art(config: Path, what: str, target: str | None, as_json: bool) -> None:
    """Say what picture the current track, track N of the queue, or FILE of the library has, or write it to a file."""

    async def looked(player: Player) -> tuple[Track, CoverArt]:
        track = await chosen(player, what)
        picture = await player.album_art(track.uri)
        if picture is None:
            raise Refused(f"there is no picture of {called(track)}, neither in the file nor in its folder")
        return track, picture

    track, picture = query(load_config(config), looked)
    if target == "-":
        click.echo(picture.data, nl=False)
        return
    if target is not None:
        Path(target).write_bytes(picture.data)
    if as_json:
        click.echo(json.dumps({"uri": track.uri, "mime": picture.mime, "bytes": len(picture.data)}))
    else:
        wrote = f" written to {target}" if target is not None else ""
        click.echo(f"{called(track)}: {picture.mime}, {len(picture.data):,} bytes{wrote}")


_ENTRIES = ("KIND", "NAME", "ARTIST", "TIME", "FILE")
_HEADS = {
    EntryType.ARTIST: ("ARTIST",),
    EntryType.ALBUM: ("ALBUM", "ARTIST", "DATE"),
    EntryType.GENRE: ("GENRE",),
    EntryType.TRACK: ("TITLE", "ARTIST", "ALBUM", "TIME", "FILE"),
}
_NOTHING = "the library has nothing of that"


@music_command("browse", "List a folder of the library.")
@click.argument("folder", default="")
@list_options
def browse(config: Path, folder: str, wish: PageOptions) -> None:
    """List what is in FOLDER of the library, or at its top. What stands under FILE can be added."""

    async def listed(player: Player) -> None:
        await tell(
            wish,
            partial(player.list_directory, folder),
            _ENTRIES,
            lambda _, entry: entry_row(entry),
            empty="the folder is empty",
        )

    query(load_config(config), listed)


@music_command("artists", "List the artists of the library.")
@wanted_options
@list_options
def artists(config: Path, wanted: LibraryFilter, wish: PageOptions) -> None:
    """List the artists in the library, or those of an album or a genre."""
    _tell(config, EntryType.ARTIST, wanted, wish)


@music_command("albums", "List the albums of the library.")
@wanted_options
@list_options
def albums(config: Path, wanted: LibraryFilter, wish: PageOptions) -> None:
    """List the albums in the library, or those of an artist or a genre."""
    _tell(config, EntryType.ALBUM, wanted, wish)


@music_command("genres", "List the genres of the library.")
@wanted_options
@list_options
def genres(config: Path, wanted: LibraryFilter, wish: PageOptions) -> None:
    """List the genres in the library, or those of an artist or an album."""
    _tell(config, EntryType.GENRE, wanted, wish)


@music_command("tracks", "List tracks of the library.")
@wanted_options
@list_options
def tracks(config: Path, wanted: LibraryFilter, wish: PageOptions) -> None:
    """List the tracks in the library, or those of an artist, an album, a genre."""
    _tell(config, EntryType.TRACK, wanted, wish)


@music_command("search", "Search the library.")
@click.argument("words", nargs=-1, required=True)
@wanted_options
@list_options
def search(config: Path, words: tuple[str, ...], wanted: LibraryFilter, wish: PageOptions) -> None:
    """List the tracks that have all WORDS in their tags, whichever; capitals do not count."""
    both = LibraryFilter(artist=wanted.artist, album=wanted.album, genre=wanted.genre, text=" ".join(words))
    _tell(config, EntryType.TRACK, both, wish)


def _tell(config: Path, kind: EntryType, wanted: LibraryFilter, wish: PageOptions) -> None:
    async def listed(player: Player) -> None:
        fetch = partial(player.list_library, kind, wanted)
        await tell(wish, fetch, _HEADS[kind], lambda _, entry: _row(kind, entry), empty=_NOTHING)

    query(load_config(config), listed)


def _row(kind: EntryType, entry: Entry) -> Sequence[str]:
    if entry.track is not None:
        return track_row(entry.track)
    cells = (entry.name, entry.artist, entry.date) if kind is EntryType.ALBUM else (entry.name,)
    return [plain(cell) for cell in cells]


_NONE = "none"
_HEAD = ("RATING", "NAME", "ARTIST", "TIME", "FILE")
_NONE_YET = "there are no favourites yet; pi-appliance music like makes what plays one"


@music_command("favourites", "List the favourite tracks.")
@list_options
def favourites(config: Path, wish: PageOptions) -> None:
    """List the favourite tracks with their ratings. What stands under FILE can be added."""

    async def listed(player: Player) -> None:
        known: dict[str, TrackRating] = {}

        async def fetch(start: int, count: int) -> Page[Entry]:
            window = await player.list_favourites(start, count)
            if not wish.as_json:
                known.update(await player.ratings([_uri(entry) for entry in window.items]))
            return window

        def row(_: int, entry: Entry) -> tuple[str, ...]:
            opinion = known.get(_uri(entry), TrackRating())
            return (str(opinion.rating or "-"), *entry_row(entry)[1:])

        await tell(wish, fetch, _HEAD, row, empty=_NONE_YET)

    query(load_config(config), listed)


def _uri(entry: Entry) -> str:
    return entry.track.uri if entry.track else entry.uri


@music_command("like", "Make a track a favourite.")
@click.argument("what", default="", metavar="[N|FILE]")
def like(config: Path, what: str) -> None:
    """Make the current track a favourite, or track N of the queue, or FILE of the library."""
    _change(config, what, lambda before: dataclasses.replace(before, favourite=True), "is a favourite")


@music_command("unlike", "Make a track no favourite any more.")
@click.argument("what", default="", metavar="[N|FILE]")
def unlike(config: Path, what: str) -> None:
    """Let the current track, or track N of the queue, or FILE be no favourite any more."""
    _change(config, what, lambda before: dataclasses.replace(before, favourite=False), "is no favourite")


@music_command("rate", "Rate a track.")
@click.argument("rating", type=click.Choice([*map(str, range(1, 11)), _NONE]), metavar="1-10|none")
@click.argument("what", default="", metavar="[N|FILE]")
def rate(config: Path, rating: str, what: str) -> None:
    """Rate the current track, or track N of the queue, or FILE: from 1 to 10, or none to take the rating back."""
    number = None if rating == _NONE else int(rating)
    told = "is not rated" if number is None else f"is rated {number} of 10"
    _change(config, what, lambda before: dataclasses.replace(before, rating=number), told)


def _change(config: Path, what: str, change: Callable[[TrackRating], TrackRating], told: str) -> None:
    async def changed(player: Player) -> str:
        track = await chosen(player, what)
        before = (await player.ratings([track.uri])).get(track.uri, TrackRating())
        await player.set_rating(track.uri, change(before))
        return called(track)

    click.echo(f"{query(load_config(config), changed)} {told}")


_LOOK = 1.0  # seconds between two looks


async def updated(player: Player, folder: str) -> tuple[LibraryStats, LibraryStats]:
    """Update FOLDER to the end, and return how big the library was and is. How much is still to come, no MPD tells."""
    before = await player.library_stats()
    changes = player.watch_changes()
    await anext(changes)  # from here on nothing is missed
    await player.update_library(folder)
    await _until_done(player, folder, changes)
    return before, await player.library_stats()


async def _until_done(player: Player, folder: str, changes: AsyncIterator[frozenset[str]]) -> None:
    import asyncio  # noqa: PLC0415 - not needed to print the help

    bar, began = ProgressLine(), time.monotonic()
    change = asyncio.ensure_future(anext(changes))
    try:
        while (await player.state()).updating is not None:
            passed = player_text.format_time(time.monotonic() - began)
            bar.show(None, f"{passed} looking for what is new{await _so_far(player, folder)}")
            await asyncio.wait({change}, timeout=_LOOK)
            if change.done():
                change.result()  # raises Unavailable if the player is lost
                change = asyncio.ensure_future(anext(changes))
    finally:
        change.cancel()
        await asyncio.gather(change, return_exceptions=True)
        bar.clear()


async def _so_far(player: Player, folder: str) -> str:
    """Return how much of FOLDER is known by now. Of the whole library MPD tells that only at the end."""
    if not folder:
        return ""
    with suppress(Refused):  # the folder itself is still to be found
        return f", {(await player.library_stats(folder)).tracks:,} tracks by now"
    return ""
