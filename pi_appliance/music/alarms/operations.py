"""The operations on alarms, the sleep timer and announcements."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from pi_appliance.music.operations import words
from pi_appliance.operations import (
    Argument,
    Group,
    Operation,
    array,
    boolean,
    choice,
    date,
    duration,
    integer,
    matching,
    text,
)
from pi_appliance.roles import Role

_API = "pi_appliance.music.alarms.api"
_TIME_OF_DAY = r"([01]?[0-9]|2[0-3]):[0-5][0-9]"
_TIME_EXPECTED = "a time of day such as 06:45"
_AT = matching("at", "the time of day", _TIME_OF_DAY, _TIME_EXPECTED, required=True, positional=True)
_TEXT = "pi_appliance.music.text"
_JOB = text("job", "the alarm; not needed if there is only one", 100, positional=True, example="wake")
_RINGING = text("job", "the alarm; without it, every alarm that rings", 100, positional=True, example="wake")


_EXISTING = text("job", "the alarm", 100, required=True, positional=True)
_DAY_NAME = "sun|mon|tue|wed|thu|fri|sat"
_DAY = matching(
    "days",
    "the days, such as mon-fri; give it again for more",
    rf"(({_DAY_NAME})(-({_DAY_NAME}))?|weekdays|weekends|daily)?",
    "a day or a range such as mon-fri",
)
_SOURCE = text("play", "a station, playlist:NAME, album:NAME …; give it again for the next choice", 1000)


def _list_without_blanks(item: Argument, max_items: int, **more: Any) -> Argument:
    """Return an argument that takes several values; empty fields of a form are left out."""
    several = array(item, max_items)

    def parse(value: object) -> list[Any]:
        if isinstance(value, str):
            value = [value]
        if not isinstance(value, (list, tuple)):
            raise ValueError
        filled = [each for each in value if each != ""]
        return list(several.parse(filled)) if filled else []

    schema = {**several.schema, "minItems": 0}
    expected = several.expected.replace("a list of 1 to", "a list of up to")
    return replace(several, parse=parse, schema=schema, expected=expected, **more)


_FIELDS = (
    _list_without_blanks(_DAY, 7, example=["mon-fri"]),
    _list_without_blanks(_SOURCE, 20, example=["FIP", "playlist:Morning"]),
    integer("volume", "the volume at the end of the fade", 1, 100),
    integer("start_volume", "the volume at which the fade starts", 0, 100),
    duration("duration", "how long it plays, such as 1h; 0s: until somebody stops it"),
    duration("fade", "how long it gets louder, such as 5m"),
    duration("snooze", "how long a snooze is silent, such as 9m"),
    boolean("one_shot", "whether it rings once and is off then"),
)


def _editing_operation(command: str, path: str, summary: str, *arguments: Argument, **more: Any) -> Operation:
    return Operation(
        command=f"music alarm {command}",
        path=path,
        summary=summary,
        handler=f"{_API}:{command}",
        arguments=arguments,
        **{"show": f"{_TEXT}:alarm", "role": Role.CONTROL, **more},
    )


def _alarm_operation(
    command: str, summary: str, argument: Argument, method: str = "POST", *more: Argument, handler: str = ""
) -> Operation:
    name = handler or command.replace("-", "_")
    return Operation(
        command=f"music alarm {command}",
        method=method,
        path="/alarms/once" if command == "cancel-once" else f"/alarms/{command}",
        summary=summary,
        handler=f"{_API}:{name}",
        arguments=(argument, *more),
        role=Role.CONTROL,
        show=f"{_TEXT}:alarms",
    )


OPERATIONS: Sequence[Operation] = (
    Operation(
        command="music alarms",
        method="GET",
        path="/alarms",
        role=Role.CONTROL,
        summary="List the alarms: when each rings next, and which one rings now.",
        handler=f"{_API}:list_alarms",
        show=f"{_TEXT}:alarms",
    ),
    _alarm_operation("on", "Switch an alarm on.", _JOB, handler="switch_on"),
    _alarm_operation("off", "Switch an alarm off. It stays in the list.", _JOB, handler="switch_off"),
    _alarm_operation(
        "skip",
        "Skip the next ring of an alarm.",
        _JOB,
        "POST",
        date("day", "the date of the ring to skip; without it, the next one"),
    ),
    _alarm_operation("unskip", "Let an alarm ring although its next ring was to be skipped.", _JOB),
    _alarm_operation("snooze", "Snooze the alarm that rings.", _RINGING),
    _alarm_operation("stop", "Stop the alarm that rings or snoozes.", _RINGING),
    Operation(
        command="music alarm once",
        path="/alarms/once",
        role=Role.CONTROL,
        summary="Let an alarm ring once at another time.",
        details="It rings the next time the clock shows that time. Its schedule stays as it is.",
        handler=f"{_API}:once",
        arguments=(
            _AT,
            _JOB,
        ),
        show=f"{_TEXT}:alarms",
        example={"at": "06:45", "job": "wake"},
    ),
    _alarm_operation("cancel-once", "Cancel the single rings of an alarm.", _JOB, "DELETE"),
    _editing_operation(
        "add",
        "/alarms",
        "Add an alarm to the configuration file.",
        replace(_AT, name="time"),
        *_FIELDS,
        text("name", "its name; without it, the name is made from the time", 100, may_be_empty=False),
        status=201,
        example={"time": "06:45", "days": ["mon-fri"], "play": ["FIP", "playlist:Morning"], "volume": 40},
    ),
    Operation(
        command="music alarm show",
        method="GET",
        path="/alarms/{job}",
        role=Role.CONTROL,
        summary="Show one alarm.",
        handler=f"{_API}:get_alarm",
        arguments=(_EXISTING,),
        show=f"{_TEXT}:alarm",
        example={"job": "wake"},
    ),
    _editing_operation(
        "edit",
        "/alarms/{job}",
        "Change an alarm in the configuration file.",
        _EXISTING,
        replace(_AT, name="time", required=False, positional=False),
        *_FIELDS,
        text("name", "a new name", 100, may_be_empty=False),
        text(
            "version", "the `version` of the alarm that you have read; another one is refused", 100, may_be_empty=False
        ),
        method="PATCH",
        details="Omitted arguments stay unchanged, and so do comments and everything else in the file.",
        example={"job": "wake", "volume": 45},
    ),
    _editing_operation(
        "copy",
        "/alarms/{job}/copy",
        "Add a copy of an alarm to the configuration file.",
        _EXISTING,
        text("name", "the name of the copy", 100, may_be_empty=False, positional=True),
        status=201,
        example={"job": "wake", "name": "wake-late"},
    ),
    _editing_operation(
        "remove",
        "/alarms/{job}",
        "Remove an alarm from the configuration file.",
        _EXISTING,
        method="DELETE",
        show=f"{_TEXT}:alarms",
        example={"job": "wake"},
    ),
    Operation(
        method="GET",
        path="/sleep",
        role=Role.CONTROL,
        summary="Return the sleep timer.",
        handler=f"{_API}:get_sleep_timer",
    ),
    Operation(
        command="music sleep",
        path="/sleep",
        role=Role.CONTROL,
        summary="Set or show the sleep timer, which fades the music out and stops it.",
        details="Without arguments, show the timer. A new timer replaces the active one.",
        handler=f"{_API}:set_sleep_timer",
        arguments=(
            duration("in", "how long the music still plays, such as 30m", positional=True),
            matching("at", "the time of day at which it stops", _TIME_OF_DAY, _TIME_EXPECTED),
            choice("play_out", "then play the track, album or queue to its end", ("track", "album", "queue")),
            duration("fade", "how long it fades out"),
        ),
        groups=(Group(("in", "at"), required=False),),
        show=f"{_TEXT}:sleep_timer",
        answer=f"{_TEXT}:sleep_timer",
        status=202,
        example={"in": "30m"},
    ),
    Operation(
        command="music cancel-sleep",
        method="DELETE",
        path="/sleep",
        role=Role.CONTROL,
        summary="Cancel the sleep timer. The music continues.",
        handler=f"{_API}:cancel_sleep_timer",
        done="the music continues",
    ),
    Operation(
        command="music announce",
        path="/announce",
        role=Role.CONTROL,
        summary="Speak a text or play a sound while the music is paused.",
        handler=f"{_API}:announce",
        arguments=(
            words("text", "the text to speak", positional=True),
            text("source", "the sound to play: a file of the library, an address, or chime"),
            integer("volume", "the volume of the announcement", 0, 100),
            integer("wait", "how many seconds to wait for the result", 0, 150, default=20),
        ),
        done="{summary}",
        status=202,
        example={"text": "dinner is ready", "wait": 0},
    ),
)
