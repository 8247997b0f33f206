"""Music as JSON values, for the API and the events, and the schemas of these values."""

import dataclasses
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, TypeVar

from pi_appliance.json_schema import (
    FLAG,
    INSTANT,
    NUMBER,
    TEXT,
    WHOLE,
    Schema,
    describe,
    list_of,
    nullable,
    object_of,
    page_of,
    properties_of,
    reference,
)
from pi_appliance.music.model import (
    AddResult,
    Capability,
    Entry,
    LibraryStats,
    Mode,
    Output,
    Page,
    PlaybackState,
    PlayerState,
    Queue,
    ReplayGainMode,
    Station,
    Track,
)
from pi_appliance.music.usb.drives import UsbDrive

if TYPE_CHECKING:
    from pi_appliance.music.interface import Music
    from pi_appliance.music.stations.service import StationView


_TRACK = properties_of(
    Track,
    {
        "duration": "seconds; null for a stream",
        "position": "in the queue, from 0",
        "id": "in the queue; it stays the same while the queue changes",
    },
)
_MODE: Schema = {"enum": list(Mode)}
_PLAYER: Mapping[str, Schema] = {
    "play": {"enum": list(PlaybackState)},
    "track": nullable(reference("Track")),
    "elapsed": nullable(NUMBER, "seconds"),
    "volume": nullable(WHOLE, "0 to 100; null if the player has no mixer"),
    **dict.fromkeys(("muted", "repeat", "random"), FLAG),
    **dict.fromkeys(("single", "consume"), _MODE),
    "crossfade": describe(WHOLE, "seconds"),
    "replay_gain": {"enum": list(ReplayGainMode)},
    "queue_length": WHOLE,
    "queue_version": describe(WHOLE, "changes with the queue"),
    "updating": nullable(WHOLE, "the number of the current update of the library"),
    "bitrate": nullable(WHOLE, "kbit/s"),
    "audio": describe(TEXT, "as in 44100:16:2"),
    "partition": TEXT,
    "error": describe(TEXT, "the last error, as the player reports it"),
}
MUSIC: Mapping[str, Schema] = {
    "player": nullable(reference("Player")),
    "capabilities": describe(
        list_of({"enum": sorted(Capability)}), "the capabilities of this player; other requests get status 409"
    ),
    "error": describe(TEXT, "why there is no player, or only a silent one"),
    "status_text": describe(TEXT, "the action after a web radio stopped unexpectedly"),
    "fallback": describe(FLAG, "whether the built-in silent player is used"),
}
_ENTRY = properties_of(Entry)
_STATION = properties_of(Station)
_RATING: Mapping[str, Schema] = {"rating": nullable(WHOLE), "favourite": FLAG}
_USB_DRIVE = properties_of(
    UsbDrive,
    {
        "uri": "of its folder in the library",
        "size": "bytes",
        "used": "bytes",
        "files": "audio files on the drive",
        "tracks": "in the library of the player",
    },
)

SCHEMAS: Mapping[str, Schema] = {
    "Track": object_of({**_TRACK, "label": describe(TEXT, "the title, or the last part of the URI")}),
    "Player": object_of(_PLAYER),
    "Music": object_of(MUSIC),
    "PlayerStatus": object_of({**MUSIC, **_RATING}),
    "Volume": object_of({**MUSIC, "requested": nullable(WHOLE, "before the volume policy")}),
    "RemovedTracks": object_of({**MUSIC, "removed": WHOLE}),
    "Capabilities": list_of(
        object_of({"capability": {"enum": list(Capability)}, "supported": FLAG, "description": TEXT})
    ),
    "Queue": object_of(
        {
            "start": WHOLE,
            "length": WHOLE,
            "more": describe(FLAG, "whether there are tracks after this page"),
            "items": list_of(reference("Track")),
            "version": WHOLE,
            "current": nullable(WHOLE, "the position of the current track"),
        }
    ),
    "Entry": object_of(
        _ENTRY,
        description="a track or stream has a track, a folder or playlist file a URI; the others have a name",
    ),
    "Entries": page_of(reference("Entry")),
    "Favourites": page_of(object_of({**_ENTRY, "rating": nullable(WHOLE)})),
    "Added": list_of(object_of(properties_of(AddResult), description="tracks added to the queue")),
    "Saved": object_of({"playlist": TEXT}),
    "SavedQueue": object_of({"playlist": TEXT, "tracks": WHOLE}),
    "Playlists": page_of(object_of({"name": TEXT, "changed": TEXT})),
    "Outputs": list_of(object_of({"id": WHOLE, "name": TEXT, "on": FLAG, "plugin": TEXT})),
    "Partitions": list_of(object_of({"name": TEXT, "current": FLAG})),
    "Stats": object_of(properties_of(LibraryStats)),
    "Update": object_of({"updating": nullable(WHOLE), "folder": TEXT, "tracks": nullable(WHOLE)}),
    "Rating": object_of({"track": reference("Track"), **_RATING}),
    "Ratings": {"type": "object", "description": "by the URIs of tracks", "additionalProperties": object_of(_RATING)},
    "TrackPicture": object_of({"track": reference("Track"), "mime": TEXT, "data": describe(TEXT, "base64")}),
    "Events": describe(TEXT, "server-sent events; docs/web.md describes them"),
    "Picture": {"type": "string", "format": "binary"},
    "Station": object_of(_STATION),
    "Stations": list_of(object_of({**_STATION, "custom": FLAG, "overrides": TEXT})),
    "RemovedStations": list_of(reference("Station")),
    "Removed": object_of({"removed": TEXT}),
    "Alarm": object_of(
        {
            "job": TEXT,
            "next": nullable(INSTANT, "the next ring, scheduled or single"),
            "next_ring": nullable(INSTANT, "the next ring by the schedule"),
            "slot": nullable(INSTANT, "the next scheduled time, even if skipped"),
            "skipped": nullable(INSTANT),
            "paused": FLAG,
            "paused_until": nullable(INSTANT),
            "one_shot": describe(FLAG, "the job pauses after its next scheduled time"),
            "one_off_rings": list_of(INSTANT),
            "ringing": FLAG,
            "snoozed_until": nullable(INSTANT),
            "run": nullable(WHOLE),
            "description": TEXT,
        }
    ),
    "Alarms": list_of(reference("Alarm")),
    "Sleep": object_of(
        {
            "set": FLAG,
            "job": nullable(TEXT),
            "phase": nullable(TEXT),
            "ends_at": nullable(INSTANT),
            "status_text": TEXT,
        }
    ),
    "RunRequest": object_of({"request": WHOLE, "job": TEXT, "run_at": INSTANT}),
    "UsbDrive": object_of(_USB_DRIVE),
    "UsbDrives": list_of(reference("UsbDrive")),
}


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
