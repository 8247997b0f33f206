"""Music as plain values, for the JSON API and the events."""

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from starlette.exceptions import HTTPException

from pi_appliance.music import sources
from pi_appliance.music.model import (
    AddResult,
    Entry,
    LibraryFilter,
    LibraryStats,
    Output,
    Page,
    PlayerState,
    Queue,
    SavedPlaylist,
    Source,
    Station,
    Track,
    TrackRating,
    Uri,
)
from pi_appliance.music.stations.service import Stations, StationView
from pi_appliance.operations import text
from pi_appliance.web.interface import Music

T = TypeVar("T")
Values = dict[str, Any]


def music(hub: Music, after: PlayerState | None = None) -> Values:
    """Return the player, what it can, and why there is none; AFTER is newer than what the hub has heard."""
    return {
        "player": player(after or hub.state),
        "capabilities": sorted(hub.capabilities),
        "error": hub.error,
        "status_text": hub.status_text,
        "fallback": hub.uses_fallback,
    }


def player(state: PlayerState | None) -> Values | None:
    """Return what the player does."""
    if state is None:
        return None
    return {
        "play": state.playback,
        "track": track(state.track) if state.track else None,
        "elapsed": None if state.elapsed is None else round(state.elapsed, 1),
        "volume": state.volume,
        "muted": state.muted,
        "repeat": state.repeat,
        "random": state.random,
        "single": state.single,
        "consume": state.consume,
        "crossfade": state.crossfade,
        "replay_gain": state.replay_gain,
        "queue_length": state.queue_length,
        "queue_version": state.queue_version,
        "updating": state.updating,
        "bitrate": state.bitrate,
        "audio": state.audio_format,
        "partition": state.partition,
        "error": state.error,
    }


def track(track: Track) -> Values:
    """Return TRACK with every field it has."""
    return {
        "uri": track.uri,
        "label": track.label,
        "title": track.title,
        "artist": track.artist,
        "album": track.album,
        "album_artist": track.album_artist,
        "genre": track.genre,
        "date": track.date,
        "number": track.number,
        "duration": track.duration,
        "position": track.position,
        "id": track.id,
    }


def queue(queue: Queue) -> Values:
    """Return a window of what plays next."""
    tracks = [track(each) for each in queue.tracks]
    return {"start": queue.start, "length": queue.length, "version": queue.version, "tracks": tracks}


def window(window: Page[T], each: Callable[[T], Values]) -> Values:
    """Return WINDOW, its items as EACH makes them."""
    items = [each(item) for item in window.items]
    return {"start": window.start, "length": window.length, "more": window.has_more, "items": items}


def entry(entry: Entry) -> Values:
    """Return a line of a list."""
    return {
        "kind": entry.kind,
        "name": entry.name,
        "uri": entry.uri,
        "artist": entry.artist,
        "date": entry.date,
        "track": track(entry.track) if entry.track else None,
    }


def added(added: AddResult) -> Values:
    """Return what came into the queue."""
    return {"name": added.name, "position": added.position, "count": added.count}


def output(output: Output) -> Values:
    """Return where sound comes out."""
    return {"id": output.id, "name": output.name, "on": output.enabled, "plugin": output.plugin}


def counts(counts: LibraryStats) -> Values:
    """Return how big the library is."""
    return {
        "artists": counts.artists,
        "albums": counts.albums,
        "tracks": counts.tracks,
        "seconds": counts.seconds,
        "updated": counts.updated,
    }


def opinions(opinions: Mapping[str, TrackRating]) -> Values:
    """Return what is thought of tracks, by their addresses."""
    return {uri: {"rating": each.rating, "favourite": each.favourite} for uri, each in opinions.items()}


def station(station: Station) -> Values:
    """Return a station."""
    return {"name": station.name, "url": station.url, "genre": station.genre, "country": station.country}


def station_view(view: StationView) -> Values:
    """Return a station, whether it is the household's own, and which one of the owner's file it stands in for."""
    return {**station(view.station), "custom": view.custom, "overrides": view.overrides}


_TAGS = ("artist", "album", "genre", "text")
SOURCE = (
    text("source", f"in one word: {sources.FORMS}"),
    text("uri", "a file, a folder or a stream"),
    text("title", "what to call the stream at `uri`"),
    text("playlist", "the name of a saved playlist"),
    text("artist", "all of an artist; with `album`, `genre` or `text` what all of them hold for"),
    text("album", "an album"),
    text("genre", "a genre"),
    text("text", "words that stand in any tags"),
)
TAGS = SOURCE[4:]


def source_of(given: Mapping[str, Any], stations: Stations) -> Source:
    """Return the one source that GIVEN names. Raises HTTPException 400 for none or several, UnknownName.

    It may read the files of stations: call it in a thread.
    """
    tags = {name: given[name] for name in _TAGS if given[name]}
    named = [name for name in ("source", "uri", "playlist") if given[name]]
    if len(named) + bool(tags) != 1:
        raise HTTPException(400, 'name one thing: by "source", "uri", "playlist", or by tags such as "album"')
    if given["title"] and named != ["uri"]:
        raise HTTPException(400, '"title" goes with "uri"')
    if tags:
        return LibraryFilter(**tags)
    match named[0]:
        case "uri":
            return Uri(uri=given["uri"], title=given["title"] or "")
        case "playlist":
            return SavedPlaylist(playlist=given["playlist"])
    return _parsed(given["source"], stations)


def _parsed(text: str, stations: Stations) -> Source:
    known = stations.all()
    try:
        source = sources.parse_source(text, known)
    except ValueError as error:
        raise HTTPException(400, str(error)) from None
    if isinstance(source, Uri) and any((each.name, each.url) == (source.title, source.uri) for each in known):
        return Uri(uri=stations.resolved(source.title).url, title=source.title)
    return source
