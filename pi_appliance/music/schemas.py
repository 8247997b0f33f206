"""The JSON Schemas of music, for the OpenAPI document. `model` makes the values."""

from collections.abc import Mapping

from pi_appliance.json_schema import (
    FLAG,
    INSTANT,
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
from pi_appliance.music.model import AddResult, Capability, Entry, LibraryStats, PlayerState, Station, Track
from pi_appliance.music.sound_cards import SoundCard
from pi_appliance.music.usb.drives import UsbDrive

_TRACK = properties_of(
    Track,
    {
        "duration": "seconds; null for a stream",
        "position": "in the queue, from 0",
        "id": "in the queue; it stays the same while the queue changes",
    },
)
_PLAYER = properties_of(
    PlayerState,
    {
        "elapsed": "seconds",
        "volume": "0 to 100; null if the player has no mixer",
        "crossfade": "seconds",
        "queue_version": "changes with the queue",
        "updating": "the number of the current update of the library",
        "bitrate": "kbit/s",
        "audio_format": "as in 44100:16:2",
        "error": "the last error, as the player reports it",
    },
)
_PLAYER |= {"play": _PLAYER.pop("playback"), "audio": _PLAYER.pop("audio_format")}
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
    "PlayerCheck": object_of({"text": TEXT}),
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
            "one_off_rings": list_of(INSTANT),
            "rings": describe(
                list_of(object_of({"at": INSTANT, "skipped": FLAG})),
                "the scheduled times up to the next ring, and those until the last one-off ring",
            ),
            "ringing": FLAG,
            "snoozed_until": nullable(INSTANT),
            "run": nullable(WHOLE),
            "description": TEXT,
            "schedule": describe(TEXT, "the schedule in words"),
            "times": describe(list_of(TEXT), "empty if the schedule has another form"),
            "days": list_of(TEXT),
            "play": describe(list_of(TEXT), "the sources, in the order in which they are tried"),
            "sources": describe(list_of(TEXT), "their names"),
            "volume": WHOLE,
            "start_volume": describe(WHOLE, "the volume at which the fade starts"),
            "duration": describe(TEXT, "how long it plays; 0s: until somebody stops it"),
            "fade": TEXT,
            "snooze": TEXT,
            "one_shot": describe(FLAG, "the job pauses after its next scheduled time"),
            "limit": describe(WHOLE, "the maximum volume at the next ring"),
            "version": describe(TEXT, "changes with the entry in the configuration"),
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
    "Announcement": object_of(
        {
            "request": WHOLE,
            "job": TEXT,
            "run_at": INSTANT,
            "outcome": nullable(describe(TEXT, "null while it has not ended")),
            "summary": TEXT,
        }
    ),
    "RunRequest": object_of({"request": WHOLE, "job": TEXT, "run_at": INSTANT}),
    "SoundCard": object_of(properties_of(SoundCard, {"id": "of ALSA", "kind": "HDMI, USB, headphones, or empty"})),
    "SoundCards": list_of(reference("SoundCard")),
    "UsbDrive": object_of(_USB_DRIVE),
    "UsbDrives": list_of(reference("UsbDrive")),
}
