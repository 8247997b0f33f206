"""The operations on alarms, the sleep timer and announcements."""

from collections.abc import Sequence

from pi_appliance.music.operations import words
from pi_appliance.operations import Argument, Group, Operation, choice, duration, integer, matching, text

_API = "pi_appliance.music.alarms.api"
_TIME_OF_DAY = r"([01]?[0-9]|2[0-3]):[0-5][0-9]"
_TIME_EXPECTED = "a time of day such as 06:45"
_AT = matching("at", "the time of day", _TIME_OF_DAY, _TIME_EXPECTED, required=True, positional=True)
_TEXT = "pi_appliance.music.text"
_JOB = text("job", "the alarm; not needed if there is only one", 100, positional=True, example="wake")
_RINGING = text("job", "the alarm; without it, every alarm that rings", 100, positional=True, example="wake")


def _alarm_operation(command: str, summary: str, argument: Argument, method: str = "POST") -> Operation:
    name = command.replace("-", "_")
    return Operation(
        command=f"music alarm {command}",
        method=method,
        path="/alarms/once" if command == "cancel-once" else f"/alarms/{command}",
        summary=summary,
        handler=f"{_API}:{name}",
        arguments=(argument,),
        result="Alarms",
        show=f"{_TEXT}:alarms",
    )


OPERATIONS: Sequence[Operation] = (
    Operation(
        command="music alarms",
        method="GET",
        path="/alarms",
        summary="List the alarms: when each rings next, and which one rings now.",
        handler=f"{_API}:list_alarms",
        result="Alarms",
        show=f"{_TEXT}:alarms",
    ),
    _alarm_operation("skip", "Skip the next ring of an alarm.", _JOB),
    _alarm_operation("unskip", "Let an alarm ring although its next ring was to be skipped.", _JOB),
    _alarm_operation("snooze", "Snooze the alarm that rings.", _RINGING),
    _alarm_operation("stop", "Stop the alarm that rings or snoozes.", _RINGING),
    Operation(
        command="music alarm once",
        path="/alarms/once",
        summary="Let an alarm ring once at another time.",
        details="It rings the next time the clock shows that time. Its schedule stays as it is.",
        handler=f"{_API}:once",
        arguments=(
            _AT,
            _JOB,
        ),
        result="Alarms",
        show=f"{_TEXT}:alarms",
        example={"at": "06:45", "job": "wake"},
    ),
    _alarm_operation("cancel-once", "Cancel the single rings of an alarm.", _JOB, "DELETE"),
    Operation(
        method="GET",
        path="/sleep",
        summary="Return the sleep timer.",
        handler=f"{_API}:get_sleep_timer",
        result="Sleep",
    ),
    Operation(
        command="music sleep",
        path="/sleep",
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
        result="Sleep",
        show=f"{_TEXT}:sleep_timer",
        status=202,
        example={"in": "30m"},
    ),
    Operation(
        command="music cancel-sleep",
        method="DELETE",
        path="/sleep",
        summary="Cancel the sleep timer. The music continues.",
        handler=f"{_API}:cancel_sleep_timer",
        result="Sleep",
        done="the music continues",
    ),
    Operation(
        command="music announce",
        path="/announce",
        summary="Speak a text or play a sound while the music is paused.",
        handler=f"{_API}:announce",
        arguments=(
            words("text", "the text to speak", positional=True),
            text("source", "the sound to play: a file of the library or an address"),
            integer("volume", "the volume of the announcement", 0, 100),
        ),
        result="RunRequest",
        done="the announcement starts; see: pi-appliance jobs history {job}",
        status=202,
        example={"text": "dinner is ready"},
    ),
)
