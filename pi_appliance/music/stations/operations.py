"""The operations on web radio stations."""

from collections.abc import Sequence

from pi_appliance.operations import Group, Operation, Role, boolean, integer, text

_API = "pi_appliance.music.stations.api"
_TEXT = "pi_appliance.music.text"
_STATION = text("station", "the name of the station; case does not matter", 200, required=True, positional=True)
_DETAILS = (text("genre", "the genre", 200), text("country", "the country", 200))
_CHECK = boolean("check", "whether the address must answer first", default=True)
_URL_HELP = "the address of the stream, or of a playlist file (.m3u, .m3u8, .pls)"
_EXAMPLE = {"name": "Groove", "url": "http://radio.example/groove", "genre": "Jazz", "check": False}

OPERATIONS: Sequence[Operation] = (
    Operation(
        command="music stations list",
        method="GET",
        path="/stations",
        role=Role.GUEST,
        summary="List the web radio stations, custom ones first.",
        handler=f"{_API}:list_stations",
        arguments=(
            integer("start", "the first item, counted from 0", 0, 10_000_000, default=0, example=0),
            integer("count", "the maximum number of items", 1, 5000, default=5000, example=50),
        ),
        result="Stations",
        show=f"{_TEXT}:stations",
    ),
    Operation(
        command="music stations removed",
        method="GET",
        path="/stations/removed",
        role=Role.CONTROL,
        summary="List the stations of your file that were removed or edited.",
        handler=f"{_API}:list_removed",
        result="RemovedStations",
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
        result="Station",
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
        result="Station",
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
        result="Removed",
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
        result="Station",
        done="restored {name}",
        example={"station": "Quiet"},
    ),
    Operation(
        command="music play-station",
        path="/player/play-station",
        role=Role.CONTROL,
        summary="Play a station in place of the queue.",
        details="A part of its name is enough if no other station has it.",
        handler="pi_appliance.music.api:play_station",
        arguments=(_STATION,),
        show=f"{_TEXT}:player_line",
        answer="starting {station} …",
        example={"station": "Groove"},
    ),
)
