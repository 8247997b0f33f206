"""pi-appliance music browse, artists, albums, genres, tracks, search: what there is to hear."""

from collections.abc import Sequence
from functools import partial
from pathlib import Path

import click

from pi_appliance.cli import _music_lists
from pi_appliance.cli._music_group import button
from pi_appliance.cli._music_lists import Wish, list_options
from pi_appliance.cli._music_session import ask
from pi_appliance.cli._music_sources import wanted_options
from pi_appliance.cli._music_text import entry_row, plain, track_row
from pi_appliance.config.load import load
from pi_appliance.model.music import Entry, Kind, Wanted
from pi_appliance.ports_player import Player

_ENTRIES = ("KIND", "NAME", "ARTIST", "TIME", "FILE")
_HEADS = {
    Kind.ARTIST: ("ARTIST",),
    Kind.ALBUM: ("ALBUM", "ARTIST", "DATE"),
    Kind.GENRE: ("GENRE",),
    Kind.TRACK: ("TITLE", "ARTIST", "ALBUM", "TIME", "FILE"),
}
_NOTHING = "the library has nothing of that"


@button("browse", "List a folder of the library.")
@click.argument("folder", default="")
@list_options
def browse(config: Path, folder: str, wish: Wish) -> None:
    """List what is in FOLDER of the library, or at its top. What stands under FILE can be added."""

    async def listed(player: Player) -> None:
        await _music_lists.tell(
            wish,
            partial(player.folder, folder),
            _ENTRIES,
            lambda _, entry: entry_row(entry),
            empty="the folder is empty",
        )

    ask(load(config), listed)


@button("artists", "List the artists of the library.")
@wanted_options
@list_options
def artists(config: Path, wanted: Wanted, wish: Wish) -> None:
    """List the artists in the library, or those of an album or a genre."""
    _tell(config, Kind.ARTIST, wanted, wish)


@button("albums", "List the albums of the library.")
@wanted_options
@list_options
def albums(config: Path, wanted: Wanted, wish: Wish) -> None:
    """List the albums in the library, or those of an artist or a genre."""
    _tell(config, Kind.ALBUM, wanted, wish)


@button("genres", "List the genres of the library.")
@wanted_options
@list_options
def genres(config: Path, wanted: Wanted, wish: Wish) -> None:
    """List the genres in the library, or those of an artist or an album."""
    _tell(config, Kind.GENRE, wanted, wish)


@button("tracks", "List tracks of the library.")
@wanted_options
@list_options
def tracks(config: Path, wanted: Wanted, wish: Wish) -> None:
    """List the tracks in the library, or those of an artist, an album, a genre."""
    _tell(config, Kind.TRACK, wanted, wish)


@button("search", "Search the library.")
@click.argument("words", nargs=-1, required=True)
@wanted_options
@list_options
def search(config: Path, words: tuple[str, ...], wanted: Wanted, wish: Wish) -> None:
    """List the tracks that have all WORDS in their tags, whichever; capitals do not count."""
    both = Wanted(artist=wanted.artist, album=wanted.album, genre=wanted.genre, text=" ".join(words))
    _tell(config, Kind.TRACK, both, wish)


def _tell(config: Path, kind: Kind, wanted: Wanted, wish: Wish) -> None:
    async def listed(player: Player) -> None:
        fetch = partial(player.library, kind, wanted)
        await _music_lists.tell(wish, fetch, _HEADS[kind], lambda _, entry: _row(kind, entry), empty=_NOTHING)

    ask(load(config), listed)


def _row(kind: Kind, entry: Entry) -> Sequence[str]:
    if entry.track is not None:
        return track_row(entry.track)
    cells = (entry.name, entry.artist, entry.date) if kind is Kind.ALBUM else (entry.name,)
    return [plain(cell) for cell in cells]
