"""Parse the sources that users write: a station, a playlist, an album, a file, a folder, a stream."""

from collections.abc import Sequence

from pi_appliance.errors import UnknownName
from pi_appliance.music.model import LibraryFilter, SavedPlaylist, Source, Station, Uri

FORMS = "a station, playlist:NAME, album:NAME, artist:NAME, genre:NAME, search:WORDS, an address, a file or a folder"


def parse_source(text: str, stations: Sequence[Station]) -> Source:
    """Parse one of `FORMS`. Text without a prefix is a station if one has this name, ignoring case.

    Raises:
        UnknownName: there is no such station for `station:NAME`.
        ValueError: the text or the name is empty.
    """
    form, colon, name = text.strip().partition(":")
    name = name.strip()
    if not text.strip() or (colon and form in _FORMS and not name):
        raise ValueError(f"nothing is named to play; write {FORMS}")
    if not colon or form not in _FORMS:
        station = _find_station(text.strip(), stations)
        return Uri(uri=station.url, title=station.name) if station else Uri(uri=text.strip())
    if form == "station":
        station = _find_station(name, stations)
        if station is None:
            raise UnknownName("station", name, [each.name for each in stations])
        return Uri(uri=station.url, title=station.name)
    return SavedPlaylist(playlist=name) if form == "playlist" else _parse_filter(form, name)


def describe_source(source: Source) -> str:
    """Return the name of `source` for a sentence."""
    match source:
        case Uri():
            return source.title or source.uri
        case SavedPlaylist():
            return f"the playlist {source.playlist}"
        case LibraryFilter():
            parts = {"album": source.album, "artist": source.artist, "genre": source.genre, "search": source.text}
            return " ".join(f"{key} {value}" for key, value in parts.items() if value) or "the whole library"


def describe_text(text: str) -> str:
    """Return the name of the source `text` for a sentence, without checking whether it exists."""
    form, colon, name = text.strip().partition(":")
    if not colon or form not in _FORMS:
        return text.strip()
    return name.strip() if form == "station" else describe_source(parse_source(text, ()))


_FORMS = ("station", "playlist", "album", "artist", "genre", "search")


def _parse_filter(form: str, name: str) -> LibraryFilter:
    match form:
        case "album":
            return LibraryFilter(album=name)
        case "artist":
            return LibraryFilter(artist=name)
        case "genre":
            return LibraryFilter(genre=name)
    return LibraryFilter(text=name)


def _find_station(name: str, stations: Sequence[Station]) -> Station | None:
    wanted = name.casefold()
    return next((each for each in stations if each.name.casefold() == wanted), None)
