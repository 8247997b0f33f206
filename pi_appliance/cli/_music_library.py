"""pi-appliance music browse, artists, albums, genres, tracks, search: what there is to hear."""

from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path

import click

from pi_appliance.cli import _music_lists
from pi_appliance.cli._music_group import button
from pi_appliance.cli._music_lists import Wish, list_options
from pi_appliance.cli._music_session import ask
from pi_appliance.cli._music_sources import wanted_options
from pi_appliance.cli._music_text import entry_row, plain, track_row
from pi_appliance.config.load import load
from pi_appliance.model.music import Entry, Kind, Wanted, Window
from pi_appliance.ports_player import Player

ENTRIES = ("KIND", "NAME", "ARTIST", "TIME", "FILE")
TRACKS = ("TITLE", "ARTIST", "ALBUM", "TIME", "FILE")
_NOTHING = "the library has nothing of that"


@button("browse", "List a folder of the library.")
@click.argument("folder", default="")
@list_options
def browse(config: Path, folder: str, wish: Wish) -> None:
    """List what is in FOLDER of the library, or at its top. What stands under FILE can be added."""
    window = _read(config, wish, lambda player, start, count: player.folder(folder, start, count))
    _music_lists.show(wish, window, ENTRIES, lambda _, entry: entry_row(entry), empty="the folder is empty")


@button("artists", "List the artists of the library.")
@wanted_options
@list_options
def artists(config: Path, wanted: Wanted, wish: Wish) -> None:
    """List the artists in the library, or those of an album or a genre."""
    _names(config, Kind.ARTIST, wanted, wish)


@button("albums", "List the albums of the library.")
@wanted_options
@list_options
def albums(config: Path, wanted: Wanted, wish: Wish) -> None:
    """List the albums in the library, or those of an artist or a genre."""
    window = _find(config, Kind.ALBUM, wanted, wish)
    _music_lists.show(
        wish,
        window,
        ("ALBUM", "ARTIST", "DATE"),
        lambda _, entry: [plain(text) for text in (entry.name, entry.artist, entry.date)],
        empty=_NOTHING,
    )


@button("genres", "List the genres of the library.")
@wanted_options
@list_options
def genres(config: Path, wanted: Wanted, wish: Wish) -> None:
    """List the genres in the library, or those of an artist or an album."""
    _names(config, Kind.GENRE, wanted, wish)


@button("tracks", "List tracks of the library.")
@wanted_options
@list_options
def tracks(config: Path, wanted: Wanted, wish: Wish) -> None:
    """List the tracks in the library, or those of an artist, an album, a genre."""
    _show_tracks(wish, _find(config, Kind.TRACK, wanted, wish))


@button("search", "Search the library.")
@click.argument("words", nargs=-1, required=True)
@wanted_options
@list_options
def search(config: Path, words: tuple[str, ...], wanted: Wanted, wish: Wish) -> None:
    """List the tracks that have all WORDS in their tags, whichever; capitals do not count."""
    both = Wanted(artist=wanted.artist, album=wanted.album, genre=wanted.genre, text=" ".join(words))
    _show_tracks(wish, _find(config, Kind.TRACK, both, wish))


def _find(config: Path, kind: Kind, wanted: Wanted, wish: Wish) -> Window[Entry]:
    return _read(config, wish, lambda player, start, count: player.library(kind, wanted, start, count))


def _read(config: Path, wish: Wish, fetch: Callable[[Player, int, int], Awaitable[Window[Entry]]]) -> Window[Entry]:
    return ask(load(config), lambda player: _music_lists.read(wish, lambda start, count: fetch(player, start, count)))


def _names(config: Path, kind: Kind, wanted: Wanted, wish: Wish) -> None:
    window = _find(config, kind, wanted, wish)
    _music_lists.show(wish, window, (kind.upper(),), lambda _, entry: (plain(entry.name),), empty=_NOTHING)


def _show_tracks(wish: Wish, window: Window[Entry]) -> None:
    _music_lists.show(wish, window, TRACKS, lambda _, entry: _row(entry), empty=_NOTHING)


def _row(entry: Entry) -> Sequence[str]:
    return track_row(entry.track) if entry.track else (plain(entry.name), "", "", "-", plain(entry.uri))
