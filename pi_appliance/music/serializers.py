"""Music as plain values, for the JSON API and the events."""

import dataclasses
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

from pi_appliance.music.model import Entry, LibraryStats, Output, Page, PlayerState, Queue, Station, Track

if TYPE_CHECKING:
    from pi_appliance.music.interface import Music
    from pi_appliance.music.stations.service import StationView

T = TypeVar("T")
Values = dict[str, Any]


def music(hub: "Music", after: PlayerState | None = None) -> Values:
    """Return the player, its capabilities and its error; `after` is newer than the hub's state."""
    return {
        "player": player(after or hub.state),
        "capabilities": sorted(hub.capabilities),
        "error": hub.error,
        "status_text": hub.status_text,
        "fallback": hub.uses_fallback,
    }


def player(state: PlayerState | None) -> Values | None:
    """Return the state of the player."""
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
    """Return a track with all its fields."""
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
    """Return a page of the queue."""
    items = [track(each) for each in queue.tracks]
    more = queue.start + len(items) < queue.length
    return {"start": queue.start, "length": queue.length, "more": more, "items": items, "version": queue.version}


def window(window: Page[T], each: Callable[[T], Values]) -> Values:
    """Return a page; `each` converts an item."""
    items = [each(item) for item in window.items]
    return {"start": window.start, "length": window.length, "more": window.has_more, "items": items}


def entry(entry: Entry) -> Values:
    """Return an entry of a list."""
    return {
        "kind": entry.kind,
        "name": entry.name,
        "uri": entry.uri,
        "artist": entry.artist,
        "date": entry.date,
        "track": track(entry.track) if entry.track else None,
    }


def output(output: Output) -> Values:
    """Return an output."""
    return {"id": output.id, "name": output.name, "on": output.enabled, "plugin": output.plugin}


def stats(stats: LibraryStats) -> Values:
    """Return the size of the library."""
    return dataclasses.asdict(stats)


def station(station: Station) -> Values:
    """Return a station."""
    return dataclasses.asdict(station)


def station_view(view: "StationView") -> Values:
    """Return a station, whether it is custom, and the owner's station that it overrides."""
    return {**station(view.station), "custom": view.custom, "overrides": view.overrides}
