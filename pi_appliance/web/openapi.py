"""What the endpoints answer, as JSON Schema: one name for each kind of answer.

The tests hold them to what comes.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from pi_appliance import __version__
from pi_appliance.music.model import Capability, EntryType, Mode, PlaybackState, ReplayGainMode
from pi_appliance.music.usb.drives import DriveState
from pi_appliance.operations import Argument, Operation
from pi_appliance.web.params import BASE

Schema = Mapping[str, Any]


def _schema_ref(name: str) -> Schema:
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
        **dict.fromkeys(("uri", "label", "title", "artist", "album", "album_artist", "genre", "date", "number"), _TEXT),
        "duration": {**_or_none(_NUMBER), "description": "seconds; null for a stream"},
        "position": {**_or_none(_WHOLE), "description": "in the queue, from 0"},
        "id": {**_or_none(_WHOLE), "description": "in the queue: it stays its own while the queue changes"},
    }
)
_PLAYER = _object(
    {
        "play": {"enum": list(PlaybackState)},
        "track": _or_none(_schema_ref("Track")),
        "elapsed": {**_or_none(_NUMBER), "description": "seconds"},
        "volume": {**_or_none(_WHOLE), "description": "0 to 100; null where the player has no mixer"},
        "muted": _FLAG,
        "repeat": _FLAG,
        "random": _FLAG,
        "single": {"enum": list(Mode)},
        "consume": {"enum": list(Mode)},
        "crossfade": {**_WHOLE, "description": "seconds"},
        "replay_gain": {"enum": list(ReplayGainMode)},
        "queue_length": _WHOLE,
        "queue_version": {**_WHOLE, "description": "another one whenever the queue is another"},
        "updating": {**_or_none(_WHOLE), "description": "the number of the update of the library that goes on"},
        "bitrate": {**_or_none(_WHOLE), "description": "kbit/s"},
        "audio": {**_TEXT, "description": "as in 44100:16:2"},
        "partition": _TEXT,
        "error": {**_TEXT, "description": "what went wrong last, in the player's own words"},
    }
)
_MUSIC: Mapping[str, Schema] = {
    "player": _or_none(_schema_ref("Player")),
    "capabilities": {
        **_list({"enum": sorted(Capability)}),
        "description": "what this player can; the rest is answered 409",
    },
    "error": {**_TEXT, "description": "why there is no player, or only a silent one"},
    "status_text": {**_TEXT, "description": "what is done about radio that has stopped by itself"},
    "fallback": {**_FLAG, "description": "whether the built-in silent player is used"},
}
_ENTRY: Mapping[str, Schema] = {
    "kind": {"enum": list(EntryType)},
    **dict.fromkeys(("name", "uri", "artist", "date"), _TEXT),
    "track": _or_none(_schema_ref("Track")),
}
_STATION: Mapping[str, Schema] = dict.fromkeys(("name", "url", "genre", "country"), _TEXT)
_RUN: Mapping[str, Schema] = {
    "id": _WHOLE,
    **dict.fromkeys(("job", "kind", "trigger", "summary", "status_text"), _TEXT),
    "scheduled_for": _or_none(_TEXT),
    "started": _INSTANT,
    "ended": _or_none(_INSTANT),
    "seconds": _or_none(_NUMBER),
    "outcome": _or_none(_TEXT),
    "details": _ANY,
    "attempts": _WHOLE,
    "progress": _or_none(_NUMBER),
}
_SLOT_PROPERTIES: Mapping[str, Schema] = {
    "job": _TEXT,
    "slot": _INSTANT,
    "local": {**_INSTANT, "description": "the slot in the time zone of its job"},
    "starts_at": _INSTANT,
    **dict.fromkeys(("selected", "used", "skipped"), _FLAG),
}
_SLOT = _object(_SLOT_PROPERTIES)
_SLOT_STATUS = _object(
    {
        **{name: _SLOT_PROPERTIES[name] for name in ("job", "slot", "local")},
        "run": _or_none(_WHOLE),
        "outcome": _or_none(_TEXT),
        "summary": _TEXT,
    }
)
_POST: Mapping[str, Schema] = {
    **dict.fromkeys(("id", "part", "parts", "attempts"), _WHOLE),
    **dict.fromkeys(("job", "slot", "network", "text", "state", "cost"), _TEXT),
}

_REPORT = _object({"job": _TEXT, "file": _TEXT, "written": _INSTANT, "bytes": _WHOLE})

RESPONSES: Mapping[str, Schema] = {
    "Error": _object({"error": _TEXT}, what="a no, in one sentence"),
    "Track": _TRACK,
    "Player": _PLAYER,
    "Music": _object(_MUSIC),
    "PlayerStatus": _object({**_MUSIC, "rating": _or_none(_WHOLE), "favourite": _FLAG}),
    "Volume": _object({**_MUSIC, "requested": {**_or_none(_WHOLE), "description": "before the volume policy"}}),
    "RemovedTracks": _object({**_MUSIC, "removed": _WHOLE}),
    "Capabilities": _list(
        _object({"capability": {"enum": list(Capability)}, "supported": _FLAG, "description": _TEXT})
    ),
    "Queue": _object(
        {
            "start": _WHOLE,
            "length": _WHOLE,
            "more": {**_FLAG, "description": "whether there are tracks after this page"},
            "items": _list(_schema_ref("Track")),
            "version": _WHOLE,
            "current": {**_or_none(_WHOLE), "description": "the position of the current track"},
        }
    ),
    "Entry": _object(
        _ENTRY,
        what="a track or stream has a track, a folder or playlist file a uri; the others are found by name",
    ),
    "Entries": _window(_schema_ref("Entry")),
    "Favourites": _window(_object({**_ENTRY, "rating": _or_none(_WHOLE)})),
    "Added": _list(_object({"name": _TEXT, "position": _WHOLE, "count": _WHOLE}, what="tracks added to the queue")),
    "Saved": _object({"playlist": _TEXT}),
    "SavedQueue": _object({"playlist": _TEXT, "tracks": _WHOLE}),
    "Playlists": _window(_object({"name": _TEXT, "changed": _TEXT})),
    "Outputs": _list(_object({"id": _WHOLE, "name": _TEXT, "on": _FLAG, "plugin": _TEXT})),
    "Partitions": _list(_object({"name": _TEXT, "current": _FLAG})),
    "Stats": _object(
        {**dict.fromkeys(("artists", "albums", "tracks", "seconds"), _WHOLE), "updated": _or_none(_WHOLE)}
    ),
    "Update": _object({"updating": _or_none(_WHOLE), "folder": _TEXT, "tracks": _or_none(_WHOLE)}),
    "Rating": _object({"track": _schema_ref("Track"), "rating": _or_none(_WHOLE), "favourite": _FLAG}),
    "TrackPicture": _object({"track": _schema_ref("Track"), "mime": _TEXT, "data": {**_TEXT, "description": "base64"}}),
    "Ratings": {
        "type": "object",
        "description": "by the URIs of tracks",
        "additionalProperties": _object({"rating": _or_none(_WHOLE), "favourite": _FLAG}),
    },
    "Station": _object(_STATION),
    "Stations": _list(_object({**_STATION, "custom": _FLAG, "overrides": _TEXT})),
    "RemovedStations": _list(_schema_ref("Station")),
    "Removed": _object({"removed": _TEXT}),
    "Events": {"type": "string", "description": "server-sent events; docs/web.md tells their names"},
    "Picture": {"type": "string", "format": "binary"},
    "Document": _ANY,
    "State": _object({**_MUSIC, "scheduler": _ANY, "jobs": _list(_schema_ref("Job"))}),
    "Job": _object({"job": _TEXT, "kind": _TEXT, "depends_on": _list(_TEXT), "failing": _FLAG}, more=True),
    "Jobs": _list(_schema_ref("Job")),
    "Started": _object({"job": _TEXT, "run": _WHOLE}),
    "Cancelled": _object({"job": _TEXT, "cancelled": _WHOLE}),
    "Pause": _object(
        {
            "job": _TEXT,
            "paused": _or_none(_object({"since": _INSTANT, "until": _or_none(_INSTANT)})),
            "next": _or_none(_SLOT),
        }
    ),
    "Explanation": _object({"job": _TEXT, "explanation": _list(_TEXT)}),
    "Slots": _list(_SLOT_STATUS),
    "NextSlots": _list(_object({**_SLOT_PROPERTIES, "result": _TEXT})),
    "Simulation": _object(
        {
            "from": _INSTANT,
            "to": _INSTANT,
            "slots": _list(
                _object(
                    {
                        **dict.fromkeys(("job", "slot", "local", "zone", "result"), _TEXT),
                        "starts_at": _or_none(_INSTANT),
                        "run": _or_none(_object(_RUN)),
                    }
                )
            ),
            "changes": _list(_object({"at": _INSTANT, **dict.fromkeys(("day", "zone", "before", "after"), _TEXT)})),
            "omitted": {**_WHOLE, "description": "slots beyond the limit, counted up to 10,000"},
            "notes": _list(_TEXT),
        }
    ),
    "History": _list({"anyOf": [_object(_RUN), _SLOT_STATUS]}),
    "Run": _object({**_RUN, "log": _TEXT}),
    "Reports": _list(_REPORT),
    "DatedReports": _list(_object({"date": _TEXT, "files": _list(_REPORT)})),
    "Post": _object(_POST, more=True),
    "Alarm": _object(
        {
            "job": _TEXT,
            "next": {**_or_none(_INSTANT), "description": "the next ring, for whatever reason"},
            "next_ring": {**_or_none(_INSTANT), "description": "the next ring by the schedule"},
            "slot": {**_or_none(_INSTANT), "description": "the next scheduled time, even if skipped"},
            "skipped": _or_none(_INSTANT),
            "paused": _FLAG,
            "paused_until": _or_none(_INSTANT),
            "one_shot": {**_FLAG, "description": "the job pauses after its next scheduled time"},
            "one_off_rings": _list(_INSTANT),
            "ringing": _FLAG,
            "snoozed_until": _or_none(_INSTANT),
            "run": _or_none(_WHOLE),
            "description": _TEXT,
        }
    ),
    "Alarms": _list(_schema_ref("Alarm")),
    "Sleep": _object(
        {
            "set": _FLAG,
            "job": _or_none(_TEXT),
            "phase": _or_none(_TEXT),
            "ends_at": _or_none(_INSTANT),
            "status_text": _TEXT,
        }
    ),
    "RunRequest": _object({"request": _WHOLE, "job": _TEXT, "run_at": _INSTANT}),
    "Skip": _object({"job": _TEXT, "skipped": _or_none(_INSTANT), "slot": _SLOT}),
    "UsbDrive": _object(
        {
            "name": _TEXT,
            "state": {"type": "string", "enum": list(DriveState)},
            "uri": {**_TEXT, "description": "of its folder in the library"},
            "size": {**_or_none(_WHOLE), "description": "bytes"},
            "used": {**_or_none(_WHOLE), "description": "bytes"},
            "files": {**_or_none(_WHOLE), "description": "audio files on the drive"},
            "tracks": {**_or_none(_WHOLE), "description": "in the library of the player"},
            "status_text": _TEXT,
        }
    ),
    "UsbDrives": _list(_schema_ref("UsbDrive")),
    "Status": _object(
        {
            "version": _TEXT,
            "pid": _WHOLE,
            **dict.fromkeys(("config", "state_dir"), _TEXT),
            "started_at": _INSTANT,
            "addresses": _list(_TEXT),
            "clock": _TEXT,
            "running": _list(_object({"job": _TEXT, "run": _WHOLE})),
            "next": _or_none(_object({"job": _TEXT, "at": _INSTANT})),
            **dict.fromkeys(("player_error", "scheduler_error"), _or_none(_TEXT)),
        }
    ),
    "Reloaded": _object({"reloaded": _TEXT}),
    "ScheduledRun": _object({"run": _WHOLE, "outcome": _or_none(_TEXT), "message": _TEXT, "exit_status": _WHOLE}),
    "Logs": _list(_object({"at": _INSTANT, "message": _TEXT})),
    "Posts": _object({"posts": _list(_schema_ref("Post")), "counts": _ANY, "months": _list(_ANY)}),
    "PostPreview": _object({"slots": _list(_ANY), "cost": _TEXT, "month": _ANY}),
    "Networks": _list(_object({"network": _TEXT, "kind": _TEXT, "secrets": _ANY})),
    "NetworkTests": _list(
        _object(
            {
                "network": _TEXT,
                "account": _or_none(_TEXT),
                "error": _or_none(_TEXT),
                "exit_status": {**_WHOLE, "description": "0: accepted, 75: not reached, else: rejected"},
                "needs_secrets": _FLAG,
            }
        )
    ),
}


VERSION = "3.1.0"
_WORD = re.compile(r"\{(\w+)(?::(\w+))?\}")  # as Starlette writes what varies in a path
_ERROR_RESPONSES = {
    "400": "A key or a value is wrong.",
    "401": "Sign in, or send the password.",
    "404": "There is nothing of that name.",
    "409": "The player or the job says no; what it cannot do is not among its `abilities`.",
    "503": "The player is away, or a disk takes nothing; nothing was done.",
}


def document(endpoints: Sequence[Operation]) -> dict[str, Any]:
    """Return the OpenAPI document of ENDPOINTS."""
    paths: dict[str, dict[str, Any]] = {}
    for endpoint in endpoints:
        paths.setdefault(plain(endpoint.path), {})[endpoint.method.lower()] = _operation(endpoint)
    return {
        "openapi": VERSION,
        "info": {
            "title": "pi-appliance",
            "version": __version__,
            "description": "What the page on the phone shows and does, for other programs.",
            "license": {"name": "MIT", "identifier": "MIT"},
        },
        "servers": [{"url": BASE}],
        "security": [{"password": []}, {}],
        "paths": paths,
        "components": {
            "schemas": dict(RESPONSES),
            "securitySchemes": {
                "password": {"type": "http", "scheme": "bearer", "description": "WEB_PASSWORD, where one is set"}
            },
            "responses": {
                f"No{status}": {"description": what, "content": _content("application/json", _ref("Error"))}
                for status, what in _ERROR_RESPONSES.items()
            },
        },
    }


def table(endpoints: Sequence[Operation]) -> str:
    """Return the table of ENDPOINTS for docs/web.md, in Markdown."""
    rows = [f"| {each.method} | `{plain(each.path)}` | {_keys(each)} | {each.summary} |" for each in endpoints]
    return "\n".join(["| | | keys | |", "|---|---|---|---|", *rows, ""])


def plain(path: str) -> str:
    """Return PATH without the kinds of what varies in it."""
    return _WORD.sub(r"{\1}", path)


def _keys(endpoint: Operation) -> str:
    return ", ".join(
        f"**`{key.name}`**" if key.required else f"`{key.name}`" for key in (*endpoint.query, *endpoint.body)
    )


def _operation(endpoint: Operation) -> dict[str, Any]:
    in_path = [_in_path(name, kind, endpoint.example) for name, kind in _WORD.findall(endpoint.path)]
    told: dict[str, Any] = {
        "summary": endpoint.summary,
        "operationId": _name(endpoint),
        "parameters": [*in_path, *(_in_query(key) for key in endpoint.query)],
        "responses": {
            str(endpoint.status): {
                "description": "Done.",
                "content": _content(endpoint.media, _ref(endpoint.result)),
            },
            **{status: {"$ref": f"#/components/responses/No{status}"} for status in _ERROR_RESPONSES},
        },
    }
    if endpoint.body:
        told["requestBody"] = _body(endpoint)
    return told


def _name(endpoint: Operation) -> str:
    words = re.findall(r"\w+", plain(endpoint.path))
    return "-".join([endpoint.method.lower(), *words])


def _in_path(name: str, kind: str, example: Mapping[str, Any]) -> dict[str, Any]:
    schema = {"type": "integer"} if kind else {"type": "string"}
    return {"name": name, "in": "path", "required": True, "schema": schema, "example": example[name]}


def _in_query(key: Argument) -> dict[str, Any]:
    told = {"name": key.name, "in": "query", "required": key.required, "description": key.help, "schema": _schema(key)}
    return told if key.example is None else {**told, "example": [key.example] if key.many else key.example}


def _body(endpoint: Operation) -> dict[str, Any]:
    needed = [key.name for key in endpoint.body if key.required]
    schema = {
        "type": "object",
        "properties": {key.name: {**_schema(key), "description": key.help} for key in endpoint.body},
        "required": needed,
        "additionalProperties": False,
    }
    example = {key.name: endpoint.example[key.name] for key in endpoint.body if key.name in endpoint.example}
    content = {"application/json": {"schema": schema, "example": example}}
    return {"required": bool(needed), "content": content}


def _schema(key: Argument) -> dict[str, Any]:
    return dict(key.schema) if key.default is None else {**key.schema, "default": key.default}


def _content(media: str, schema: Mapping[str, Any]) -> dict[str, Any]:
    return {media: {"schema": schema}}


def _ref(name: str) -> dict[str, str]:
    return {"$ref": f"#/components/schemas/{name}"}
