"""Music as plain values, for the JSON API and the events."""

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from pi_appliance.engine.stations import Shown
from pi_appliance.model.music import (
    Added,
    Counts,
    Entry,
    Opinion,
    Output,
    PlayerState,
    Queue,
    Station,
    Track,
    Window,
)
from pi_appliance.web.world import Music

T = TypeVar("T")
Values = dict[str, Any]


def music(hub: Music, after: PlayerState | None = None) -> Values:
    """Return the player, what it can, and why there is none; AFTER is newer than what the hub has heard."""
    return {
        "player": player(after or hub.state),
        "abilities": sorted(hub.abilities),
        "trouble": hub.trouble,
        "note": hub.note,
        "stand-in": hub.stand_in,
    }


def player(state: PlayerState | None) -> Values | None:
    """Return what the player does."""
    if state is None:
        return None
    return {
        "play": state.play,
        "track": track(state.track) if state.track else None,
        "elapsed": None if state.elapsed is None else round(state.elapsed, 1),
        "volume": state.volume,
        "muted": state.muted,
        "repeat": state.repeat,
        "random": state.random,
        "single": state.single,
        "consume": state.consume,
        "crossfade": state.crossfade,
        "replay-gain": state.replay_gain,
        "queue-length": state.queue_length,
        "queue-version": state.queue_version,
        "updating": state.updating,
        "bitrate": state.bitrate,
        "audio": state.audio,
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
        "album-artist": track.album_artist,
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


def window(window: Window[T], each: Callable[[T], Values]) -> Values:
    """Return WINDOW, its items as EACH makes them."""
    items = [each(item) for item in window.items]
    return {"start": window.start, "length": window.length, "more": window.more, "items": items}


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


def added(added: Added) -> Values:
    """Return what came into the queue."""
    return {"name": added.name, "position": added.position, "count": added.count}


def output(output: Output) -> Values:
    """Return where sound comes out."""
    return {"id": output.id, "name": output.name, "on": output.on, "plugin": output.plugin}


def counts(counts: Counts) -> Values:
    """Return how big the library is."""
    return {
        "artists": counts.artists,
        "albums": counts.albums,
        "tracks": counts.tracks,
        "seconds": counts.seconds,
        "updated": counts.updated,
    }


def opinions(opinions: Mapping[str, Opinion]) -> Values:
    """Return what is thought of tracks, by their addresses."""
    return {uri: {"rating": each.rating, "favourite": each.favourite} for uri, each in opinions.items()}


def station(station: Station) -> Values:
    """Return a station."""
    return {"name": station.name, "url": station.url, "genre": station.genre, "country": station.country}


def shown_station(shown: Shown) -> Values:
    """Return a station, whether it is the household's own, and which one of the owner's file it stands in for."""
    return {**station(shown.station), "own": shown.own, "covers": shown.covers}
