"""The operations on the player, its outputs and partitions, on ratings and web radio stations."""

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from pi_appliance.music.player_settings import SETTINGS, PlayerSetting
from pi_appliance.operations import Argument, Group, Operation, array, boolean, choice, integer, text
from pi_appliance.roles import Role

_API = "pi_appliance.music.api"
_TEXT = "pi_appliance.music.text"
MAX_POSITION = 10_000_000
MAX_COUNT = 5000  # items of a list
_VOLUME = r"[+-][0-9]{1,9}|[0-9]{1,2}|100"
_TIME = r"([+-]?)(?:(?:([0-9]{1,3}):)?([0-5]?[0-9]):([0-5]?[0-9])|([0-9]{1,6}))(\.[0-9]{1,3})?"


def switch(name: str, description: str, **more: Any) -> Argument:
    """Return an argument that takes on or off, or true or false."""

    def parse(value: object) -> bool:
        if isinstance(value, bool):
            return value
        if value not in ("on", "off", "true", "false"):
            raise ValueError
        return value in ("on", "true")

    schema = {"type": "boolean"}
    return Argument(name=name, help=description, expected="on or off", parse=parse, schema=schema, **more)


def words(name: str, description: str, **more: Any) -> Argument:
    """Return an argument that takes one or more words and joins them."""

    def parse(value: object) -> str:
        words = [value] if isinstance(value, str) else value
        if not isinstance(words, (list, tuple)) or not all(isinstance(word, str) for word in words):
            raise ValueError
        return str(line.parse(" ".join(words)))

    line = text(name, description, **more)
    schema = {
        "anyOf": [
            line.schema,
            {
                "type": "array",
                "items": {"type": "string", "pattern": "^[^\\x00\\n\\r]{1,50}$"},
                "minItems": 1,
                "maxItems": 10,
            },
        ]
    }
    return replace(line, parse=parse, many=True, schema=schema)


def _parse_volume(value: object) -> int | str:
    """Return a volume as a number, or a change such as +5 as text."""
    if isinstance(value, (int, float)) and not isinstance(value, bool) and 0 <= value <= 100:
        return round(value)
    if not isinstance(value, str) or not re.fullmatch(_VOLUME, value):
        raise ValueError
    return value if value[0] in "+-" else int(value)


def _parse_time(value: object) -> float | str:
    """Return seconds from the start of the track as a number, or a step such as -10.0 as text."""
    if isinstance(value, (int, float)) and not isinstance(value, bool) and 0 <= value < 1_000_000:
        return float(value)
    match = re.fullmatch(_TIME, value) if isinstance(value, str) else None
    if match is None:
        raise ValueError
    sign, hours, minutes, rest, seconds, fraction = match.groups(default="")
    total = int(hours or 0) * 3600 + int(minutes or 0) * 60 + float(f"{rest or seconds}{fraction}")
    return f"{sign}{total}" if sign else total


def _number_or_pattern(maximum: float, pattern: str) -> dict[str, Any]:
    number = {"type": "number", "minimum": 0, "maximum": maximum}
    return {"anyOf": [number, {"type": "string", "pattern": f"^({pattern})$"}]}


START = integer("start", "the first item, counted from 0", 0, MAX_POSITION, default=0, example=0)
COUNT = integer("count", "the maximum number of items", 1, MAX_COUNT, default=100, example=50)
NUMBER = integer("number", "the track, counted from 1", 1, MAX_POSITION, positional=True)
POSITION = integer("position", "the track by its position in the queue, counted from 0", 0, MAX_POSITION)
ID = integer("id", "the track by its id in the queue, which it keeps when others move", 0, 2**31)
TRACK = text(
    "track", "the number of a track in the queue, or its file; default: the current track", 2000, positional=True
)
URI = text("uri", "the URI of a track", 2000, required=True, example="a.ogg")
_PARTITION = text("name", "the name of the partition", 100, required=True, positional=True)
_OUTPUT = text("output", "the name of the output, or its number in the list", 200, required=True, positional=True)
_ON = switch("on", "whether it is on", required=True)
_MODES = (
    switch("repeat", "start again at the end of the queue"),
    switch("random", "play the queue in a random order"),
    choice(
        "single",
        "stop after each track (with repeat: play it again), or after this one (once)",
        MODE := ("off", "on", "once"),
    ),
    choice("consume", "remove each track from the queue after it was played, or only this one (once)", MODE),
)


def _player_operation(name: str, summary: str, *arguments: Argument, **more: Any) -> Operation:
    handler = f"{_API}:{name.replace('-', '_')}"
    settings = {"handler": handler, "show": f"{_TEXT}:player_line", "role": Role.CONTROL, **more}
    return Operation(command=f"music {name}", path=f"/player/{name}", summary=summary, arguments=arguments, **settings)


def _mode_operation(mode: Argument) -> Operation:
    return _player_operation(
        mode.name,
        f"Set or show {mode.name}: {mode.help}.",
        replace(mode, positional=True),
        handler=f"{_API}:modes",
        show=f"{_TEXT}:modes",
        details="Without a value, show how it is.",
    )


def _setting_operation(setting: PlayerSetting) -> Operation:
    return _player_operation(
        setting.name,
        setting.summary,
        setting.argument,
        handler=f"{_API}:player_setting",
        show=f"{_TEXT}:player_setting",
        example={setting.argument.name: setting.example},
    )


_PLAYER: Sequence[Operation] = (
    Operation(
        command="music status",
        method="GET",
        path="/player",
        role=Role.LISTEN,
        summary="Show what plays, and how.",
        handler=f"{_API}:status",
        show=f"{_TEXT}:player_status",
    ),
    Operation(
        command="music capabilities",
        method="GET",
        path="/player/capabilities",
        role=Role.GUEST,
        summary="List the capabilities of this player.",
        handler=f"{_API}:capabilities",
    ),
    Operation(
        path="/player/reconnect",
        summary="Connect to the player again now, instead of waiting for the next attempt.",
        handler=f"{_API}:reconnect",
        needs_daemon=True,
    ),
    Operation(
        command="music check",
        path="/player/check",
        summary="Say whether a player answers, without using it: the configured one, or one at another address.",
        handler=f"{_API}:check_player",
        arguments=(
            text("kind", "the kind of player; without it, that of the configuration", 60),
            text("address", "the address as in the configuration; without it, the one there", 300),
        ),
        done="{text}",
        needs_state=False,
        example={"kind": "mpd", "address": "localhost:1"},
    ),
    _player_operation(
        "play",
        "Resume, or play a track of the queue.",
        NUMBER,
        POSITION,
        ID,
        groups=(Group(("number", "position", "id"), required=False),),
        example={"number": 2},
    ),
    _player_operation("pause", "Pause. Nothing happens unless it plays."),
    _player_operation("toggle", "Pause if it plays, otherwise play."),
    _player_operation("stop", "Stop."),
    _player_operation("next", "Go to the next track."),
    _player_operation("previous", "Go to the previous track."),
    _player_operation(
        "seek",
        "Go to another place in the track.",
        Argument(
            name="seconds",
            help="seconds from the start of the track, as 90, 1:30 or 1:02:03; with + or - from here",
            expected="seconds or a time such as 1:30, or a step such as +10 or -0:30",
            parse=_parse_time,
            schema=_number_or_pattern(999_999, _TIME),
            required=True,
            positional=True,
        ),
        example={"seconds": 90},
    ),
    _player_operation(
        "volume",
        "Set, change or show the volume.",
        Argument(
            name="volume",
            help="0 to 100, or a change such as +5 or -5; without it, the volume is shown",
            expected="a volume from 0 to 100, or a change such as +5 or -5",
            parse=_parse_volume,
            schema=_number_or_pattern(100, _VOLUME),
            positional=True,
        ),
        details="It never becomes louder than the volume policy allows.",
        show=f"{_TEXT}:volume",
        example={"volume": 40},
    ),
    _player_operation(
        "mute",
        "Mute the player. The music continues.",
        switch("on", "whether it is muted", default=True, positional=True),
        example={"on": True},
    ),
    _player_operation("unmute", "Return to the volume before the mute."),
    _player_operation(
        "modes",
        "Set or show how the queue is played.",
        *_MODES,
        details="Omitted arguments stay unchanged.",
        show=f"{_TEXT}:modes",
        example={"random": True, "single": "once"},
    ),
    *map(_mode_operation, _MODES),
    *map(_setting_operation, SETTINGS.values()),
)

_OUTPUTS: Sequence[Operation] = (
    Operation(
        command="music outputs list",
        method="GET",
        path="/player/outputs",
        role=Role.CONTROL,
        summary="List the audio outputs.",
        handler=f"{_API}:list_outputs",
        show=f"{_TEXT}:outputs",
    ),
    Operation(
        path="/player/outputs/{id:run}",
        role=Role.CONTROL,
        summary="Enable or disable an output.",
        handler=f"{_API}:set_output",
        arguments=(integer("id", "the output", 0, 2**31, required=True), _ON),
        example={"id": 0, "on": True},
    ),
    *(
        Operation(
            command=f"music outputs {word}",
            path=f"/player/outputs/{word}",
            role=Role.CONTROL,
            summary=f"{verb} an output.",
            handler=f"{_API}:{handler}",
            arguments=(_OUTPUT,),
            show=f"{_TEXT}:outputs",
            example={"output": "Kitchen"},
        )
        for word, verb, handler in (("on", "Enable", "enable_output"), ("off", "Disable", "disable_output"))
    ),
)

_CARDS: Sequence[Operation] = (
    Operation(
        method="GET",
        path="/sound/cards",
        role=Role.CONTROL,
        summary="List the sound cards of this machine that can play.",
        handler=f"{_API}:list_sound_cards",
    ),
    Operation(
        path="/sound/cards/{id}/use",
        role=Role.CONTROL,
        summary="Let another sound card play. MPD starts again.",
        handler=f"{_API}:use_sound_card",
        arguments=(text("id", "the id of the card", 60, required=True),),
        done="{id} plays",
        example={"id": "DAC"},
    ),
)

_PARTITIONS: Sequence[Operation] = (
    Operation(
        command="music partitions list",
        method="GET",
        path="/player/partitions",
        summary="List the partitions: players within the player, with their own queue, volume and outputs.",
        handler=f"{_API}:list_partitions",
        show=f"{_TEXT}:partitions",
    ),
    Operation(
        command="music partitions new",
        path="/player/partitions",
        summary="Create a partition. It has no outputs yet.",
        handler=f"{_API}:create_partition",
        arguments=(_PARTITION,),
        done="created the partition {name}",
        status=201,
        example={"name": "terrace"},
    ),
    Operation(
        command="music partitions use",
        path="/player/partitions/{name}/use",
        summary="Use another partition from now on, in commands and on the page.",
        details="`default` is the one that always exists.",
        handler=f"{_API}:use_partition",
        arguments=(_PARTITION,),
        done="the partition {name} is used now",
        example={"name": "default"},
    ),
    Operation(
        command="music partitions move-output",
        path="/player/partitions/move-output",
        summary="Move an output into a partition.",
        handler=f"{_API}:move_output",
        arguments=(
            text("output", "the name of the output", 200, required=True, positional=True),
            text("to", "the partition; without it, the one in use", 100),
        ),
        show=f"{_TEXT}:output_moved",
        example={"output": "Kitchen"},
    ),
    Operation(
        command="music partitions delete",
        method="DELETE",
        path="/player/partitions/{name}",
        summary="Delete a partition that has no outputs.",
        details="If it is the one in use, `default` is used from then on.",
        handler=f"{_API}:delete_partition",
        arguments=(_PARTITION,),
        done="deleted the partition {name}",
        example={"name": "garden"},
    ),
)


def _parse_rating(value: object) -> int:
    if value == "none":
        return 0
    if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) < 3:
        value = int(value)
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= 10:
        raise ValueError
    return value


def _rating_operation(name: str, summary: str, *arguments: Argument, **more: Any) -> Operation:
    by_uri = replace(URI, required=False, help="the URI of the track, in place of `track`")
    settings = {
        "handler": f"{_API}:{name}",
        "show": f"{_TEXT}:rating",
        "answer": f"{_TEXT}:rating",
        "groups": (Group(("track", "uri"), required=False),),
        **more,
    }
    return _player_operation(name, summary, *arguments, TRACK, by_uri, **settings)


_RATINGS: Sequence[Operation] = (
    _rating_operation("like", "Make a track a favourite.", example={"uri": "a.ogg"}),
    _rating_operation("unlike", "Remove a track from the favourites.", example={"uri": "a.ogg"}),
    _rating_operation(
        "rate",
        "Rate a track.",
        Argument(
            name="rating",
            help="1 to 10; none or 0 removes the rating",
            expected="a number from 1 to 10, or none",
            parse=_parse_rating,
            schema={"anyOf": [{"type": "integer", "minimum": 0, "maximum": 10}, {"const": "none"}]},
            required=True,
            positional=True,
        ),
        example={"rating": 8, "uri": "a.ogg"},
    ),
    Operation(
        method="GET",
        path="/player/ratings",
        role=Role.GUEST,
        summary="Return the ratings of tracks. Those without one are left out.",
        handler=f"{_API}:ratings",
        arguments=(array(URI, 20),),  # web servers refuse longer addresses,
    ),
)

_STATION = text("station", "the name of the station; case does not matter", 200, required=True, positional=True)
_DETAILS = (text("genre", "the genre", 200), text("country", "the country", 200))
_CHECK = boolean("check", "whether the address must answer first", default=True)
_URL_HELP = "the address of the stream, or of a playlist file (.m3u, .m3u8, .pls)"
_EXAMPLE = {"name": "Groove", "url": "http://radio.example/groove", "genre": "Jazz", "check": False}

_STATIONS: Sequence[Operation] = (
    Operation(
        command="music stations list",
        method="GET",
        path="/stations",
        role=Role.GUEST,
        summary="List the web radio stations, custom ones first.",
        handler=f"{_API}:list_stations",
        arguments=(
            START,
            replace(COUNT, default=MAX_COUNT),
        ),
        show=f"{_TEXT}:stations",
    ),
    Operation(
        command="music stations removed",
        method="GET",
        path="/stations/removed",
        role=Role.CONTROL,
        summary="List the stations of your file that were removed or edited.",
        handler=f"{_API}:list_removed",
        show=f"{_TEXT}:removed_stations",
    ),
    Operation(
        command="music stations add",
        path="/stations",
        role=Role.CONTROL,
        summary="Add a station.",
        details="It is stored in the state folder. Your own file of stations stays as it is.",
        handler=f"{_API}:add_station",
        arguments=(
            text("name", "its name", 200, required=True, positional=True),
            text("url", _URL_HELP, 2000, required=True, positional=True),
            *_DETAILS,
            _CHECK,
        ),
        done="added {name}",
        status=201,
        example={**_EXAMPLE, "name": "Radio X"},
    ),
    Operation(
        command="music stations edit",
        method="PATCH",
        path="/stations/{station}",
        role=Role.CONTROL,
        summary="Change a station.",
        details="Omitted arguments stay unchanged. A station of your file is overridden by a custom one.",
        handler=f"{_API}:edit_station",
        arguments=(_STATION, text("name", "a new name", 200), text("url", _URL_HELP, 2000), *_DETAILS, _CHECK),
        groups=(Group(("name", "url", *(each.name for each in _DETAILS)), exclusive=False),),
        done="changed {name}",
        example={"station": "Groove", "genre": "Soul", "check": False},
    ),
    Operation(
        command="music stations remove",
        method="DELETE",
        path="/stations/{station}",
        role=Role.CONTROL,
        summary="Remove a station. One of your file is hidden.",
        handler=f"{_API}:remove_station",
        arguments=(_STATION,),
        done="removed {removed}",
        example={"station": "Groove"},
    ),
    Operation(
        command="music stations restore",
        path="/stations/{station}/restore",
        role=Role.CONTROL,
        summary="Restore a station of your file that was removed or edited.",
        handler=f"{_API}:restore_station",
        arguments=(_STATION,),
        done="restored {name}",
        example={"station": "Quiet"},
    ),
    Operation(
        command="music play-station",
        path="/player/play-station",
        role=Role.CONTROL,
        summary="Play a station in place of the queue.",
        details="A part of its name is enough if no other station has it.",
        handler=f"{_API}:play_station",
        arguments=(_STATION,),
        show=f"{_TEXT}:player_line",
        answer="starting {station} …",
        example={"station": "Groove"},
    ),
)

OPERATIONS: Sequence[Operation] = (*_PLAYER, *_OUTPUTS, *_CARDS, *_PARTITIONS, *_RATINGS, *_STATIONS)
