"""What the endpoints answer, as JSON Schema: one name for each kind of answer. The tests hold them to what comes."""

from collections.abc import Mapping
from typing import Any

from pi_appliance.model.music import Can, Gain, Kind, Mode, Play
from pi_appliance.model.usb import StickState

Schema = Mapping[str, Any]


def _ref(name: str) -> Schema:
    return {"$ref": f"#/components/schemas/{name}"}


def _list(items: Schema) -> Schema:
    return {"type": "array", "items": items}


def _or_none(schema: Schema) -> Schema:
    return {"anyOf": [schema, {"type": "null"}]}


def _object(properties: Mapping[str, Schema], *, more: bool = False, what: str = "") -> Schema:
    told = {"type": "object", "properties": properties, "required": list(properties), "additionalProperties": more}
    return {**told, "description": what} if what else told


def _window(items: Schema) -> Schema:
    length = {**_or_none(_WHOLE), "description": "of the whole list; null: nobody has counted"}
    more = {**_FLAG, "description": "whether there is something behind this window"}
    return _object({"start": _WHOLE, "length": length, "more": more, "items": _list(items)})


_TEXT: Schema = {"type": "string"}
_FLAG: Schema = {"type": "boolean"}
_WHOLE: Schema = {"type": "integer"}
_NUMBER: Schema = {"type": "number"}
_INSTANT: Schema = {"type": "string", "format": "date-time"}
_ANY: Schema = {"type": "object"}

_TRACK = _object(
    {
        **dict.fromkeys(("uri", "label", "title", "artist", "album", "album-artist", "genre", "date", "number"), _TEXT),
        "duration": {**_or_none(_NUMBER), "description": "seconds; null for a stream"},
        "position": {**_or_none(_WHOLE), "description": "in the queue, from 0"},
        "id": {**_or_none(_WHOLE), "description": "in the queue: it stays its own while the queue changes"},
    }
)
_PLAYER = _object(
    {
        "play": {"enum": list(Play)},
        "track": _or_none(_ref("Track")),
        "elapsed": {**_or_none(_NUMBER), "description": "seconds"},
        "volume": {**_or_none(_WHOLE), "description": "0 to 100; null where the player has no mixer"},
        "muted": _FLAG,
        "repeat": _FLAG,
        "random": _FLAG,
        "single": {"enum": list(Mode)},
        "consume": {"enum": list(Mode)},
        "crossfade": {**_WHOLE, "description": "seconds"},
        "replay-gain": {"enum": list(Gain)},
        "queue-length": _WHOLE,
        "queue-version": {**_WHOLE, "description": "another one whenever the queue is another"},
        "updating": {**_or_none(_WHOLE), "description": "the number of the update of the library that goes on"},
        "bitrate": {**_or_none(_WHOLE), "description": "kbit/s"},
        "audio": {**_TEXT, "description": "as in 44100:16:2"},
        "partition": _TEXT,
        "error": {**_TEXT, "description": "what went wrong last, in the player's own words"},
    }
)
_MUSIC: Mapping[str, Schema] = {
    "player": _or_none(_ref("Player")),
    "abilities": {**_list({"enum": sorted(Can)}), "description": "what this player can; the rest is answered 409"},
    "trouble": {**_TEXT, "description": "why there is no player, or only a silent one"},
    "note": {**_TEXT, "description": "what is done about radio that has stopped by itself"},
    "stand-in": {**_FLAG, "description": "whether only the silent stand-in plays"},
}
_STATION: Mapping[str, Schema] = dict.fromkeys(("name", "url", "genre", "country"), _TEXT)
_RUN: Mapping[str, Schema] = {
    "id": _WHOLE,
    **dict.fromkeys(("job", "kind", "trigger", "summary", "note"), _TEXT),
    "due": _or_none(_TEXT),
    "started": _INSTANT,
    "ended": _or_none(_INSTANT),
    "seconds": _or_none(_NUMBER),
    "outcome": _or_none(_TEXT),
    "facts": _ANY,
    "attempts": _WHOLE,
    "progress": _or_none(_NUMBER),
}
_POST: Mapping[str, Schema] = {
    **dict.fromkeys(("post", "part", "parts", "tries"), _WHOLE),
    **dict.fromkeys(("job", "slot", "network", "text", "state", "cost"), _TEXT),
}

_REPORT = _object({"job": _TEXT, "file": _TEXT, "written": _INSTANT, "bytes": _WHOLE})

ANSWERS: Mapping[str, Schema] = {
    "Error": _object({"error": _TEXT}, what="a no, in one sentence"),
    "Track": _TRACK,
    "Player": _PLAYER,
    "Music": _object(_MUSIC),
    "Queue": _object({"start": _WHOLE, "length": _WHOLE, "version": _WHOLE, "tracks": _list(_ref("Track"))}),
    "Entry": _object(
        {
            "kind": {"enum": list(Kind)},
            **dict.fromkeys(("name", "uri", "artist", "date"), _TEXT),
            "track": _or_none(_ref("Track")),
        },
        what="a track or stream has a track, a folder or playlist file a uri; the others are found by name",
    ),
    "Entries": _window(_ref("Entry")),
    "Added": _object({"name": _TEXT, "position": _WHOLE, "count": _WHOLE}, what="what came into the queue, and where"),
    "Saved": _object({"playlist": _TEXT}),
    "Playlists": _window(_object({"name": _TEXT, "changed": _TEXT})),
    "Outputs": _list(_object({"id": _WHOLE, "name": _TEXT, "on": _FLAG, "plugin": _TEXT})),
    "Partitions": _list(_object({"name": _TEXT})),
    "Counts": _object(
        {**dict.fromkeys(("artists", "albums", "tracks", "seconds"), _WHOLE), "updated": _or_none(_WHOLE)}
    ),
    "Update": _object({"updating": _or_none(_WHOLE), "folder": _TEXT, "tracks": _or_none(_WHOLE)}),
    "Opinions": {
        "type": "object",
        "description": "by the addresses of tracks",
        "additionalProperties": _object({"rating": _or_none(_WHOLE), "favourite": _FLAG}),
    },
    "Station": _object(_STATION),
    "Stations": _list(_object({**_STATION, "own": _FLAG, "covers": _TEXT})),
    "RemovedStations": _list(_ref("Station")),
    "Removed": _object({"removed": _TEXT}),
    "Events": {"type": "string", "description": "server-sent events; docs/web.md tells their names"},
    "Picture": {"type": "string", "format": "binary"},
    "Document": _ANY,
    "State": _object({**_MUSIC, "scheduler": _ANY, "jobs": _list(_ref("Job"))}),
    "Job": _object({"job": _TEXT, "kind": _TEXT, "after": _list(_TEXT), "failing": _FLAG}, more=True),
    "Jobs": _list(_ref("Job")),
    "Started": _object({"started": _TEXT}, more=True),
    "Cancelled": _object({"cancelled": _WHOLE}),
    "Pause": _object(
        {"job": _TEXT, "paused": _or_none(_object({"since": _INSTANT, "until": _or_none(_INSTANT)}, more=True))}
    ),
    "Slots": _list(
        _object({"job": _TEXT, "slot": _INSTANT, "run": _or_none(_WHOLE), "outcome": _or_none(_TEXT), "summary": _TEXT})
    ),
    "Runs": _list(_object(_RUN)),
    "Run": _object({**_RUN, "log": _TEXT}),
    "Reports": _list(_REPORT),
    "DatedReports": _list(_object({"date": _TEXT, "files": _list(_REPORT)})),
    "Post": _object(_POST, more=True),
    "Alarm": _object(
        {
            "job": _TEXT,
            "next": {**_or_none(_INSTANT), "description": "when it rings next, whyever"},
            "rings": {**_or_none(_INSTANT), "description": "by its schedule"},
            "slot": {**_or_none(_INSTANT), "description": "the next of its schedule, skipped or not"},
            "skipped": _or_none(_INSTANT),
            "paused": _FLAG,
            "paused-until": _or_none(_INSTANT),
            "once": {**_FLAG, "description": "it pauses after its next slot"},
            "once-at": _list(_INSTANT),
            "ringing": _FLAG,
            "snoozed-until": _or_none(_INSTANT),
            "run": _or_none(_WHOLE),
            "words": _TEXT,
        }
    ),
    "Alarms": _list(_ref("Alarm")),
    "Sleep": _object(
        {"set": _FLAG, "job": _or_none(_TEXT), "phase": _or_none(_TEXT), "ends": _or_none(_INSTANT), "note": _TEXT}
    ),
    "Asked": _object({"asked": _WHOLE, "job": _TEXT, "due": _INSTANT}),
    "Skip": _object({"job": _TEXT, "skipped": _or_none(_INSTANT)}),
    "Stick": _object(
        {
            "name": _TEXT,
            "state": {"type": "string", "enum": list(StickState)},
            "uri": {**_TEXT, "description": "of its folder in the library"},
            "size": {**_or_none(_WHOLE), "description": "bytes"},
            "used": {**_or_none(_WHOLE), "description": "bytes"},
            "files": {**_or_none(_WHOLE), "description": "of sound, that lie on it"},
            "tracks": {**_or_none(_WHOLE), "description": "that the player knows of it by now"},
            "note": _TEXT,
        }
    ),
    "Sticks": _list(_ref("Stick")),
    "Posts": _object({"posts": _list(_ref("Post")), "counts": _ANY, "months": _list(_ANY)}),
}
