"""The operations on the configuration file, and their results as text for a terminal."""

from collections.abc import Sequence
from typing import Any

from pi_appliance.operations import Operation, Values, boolean, document, integer, matching, text

_API = "pi_appliance.settings.api"
_MAX_TEXT = 400_000  # characters
_MAX_BODY = 2_000_000  # bytes: in JSON, a character may take several
_FILE = document("text", "the whole text of the file, as YAML", _MAX_TEXT, required=True)
_EXAMPLE = {"text": "state-dir: state\n"}
_VERSION = matching("version", "the version of the text that the change is based on", "[0-9a-f]{16}", "16 hex digits")
_ONLY_CHECK = boolean("only_check", "only return what would change", default=False)
_EARLIER = "2026-11-22T20-15-00.000000Z"
_NAME = text(
    "name", 'the name of the earlier text, or "last-good" for the one in use', 60, required=True, positional=True
)

OPERATIONS: Sequence[Operation] = (
    Operation(
        method="GET",
        path="/config",
        summary="Return the text of the configuration file, with a placeholder for each program that it starts.",
        handler=f"{_API}:read_config",
        needs_state=False,
    ),
    Operation(
        path="/config",
        summary="Replace the text of the configuration file, if it is valid, and read it.",
        handler=f"{_API}:replace_config",
        arguments=(_FILE, _VERSION, _ONLY_CHECK),
        needs_state=False,
        example={**_EXAMPLE, "only_check": True},
        max_body=_MAX_BODY,
    ),
    Operation(
        path="/config/check",
        summary="Return all problems that a text of the configuration file would have.",
        handler=f"{_API}:check_text",
        arguments=(_FILE,),
        needs_state=False,
        example=_EXAMPLE,
        max_body=_MAX_BODY,
    ),
    Operation(
        path="/config/complete",
        summary="Return the keys and values that can be written at a place of a text of the configuration file.",
        handler=f"{_API}:complete_text",
        arguments=(
            _FILE,
            integer("line", "the line of the cursor, from 1", 1, _MAX_TEXT, required=True),
            integer("column", "the column of the cursor, from 1", 1, _MAX_TEXT, required=True),
        ),
        needs_state=False,
        example={**_EXAMPLE, "line": 2, "column": 1},
        max_body=_MAX_BODY,
    ),
    Operation(
        command="config set",
        path="/config/values",
        summary="Change one value of the configuration file; comments and all other lines stay.",
        details="The key is written with dots, such as volume.maximum. Without a value, the key is removed.",
        handler=f"{_API}:set_value",
        arguments=(
            text("key", "the key, such as volume.maximum", 200, required=True, positional=True, example="time-zone"),
            text("value", "the new value, as in YAML", 2000, positional=True, example="Europe/London"),
            _VERSION,
            _ONLY_CHECK,
        ),
        needs_state=False,
        show=f"{__name__}:show_change",
        example={"key": "time-zone", "value": "UTC", "only_check": True},
    ),
    Operation(
        command="config history",
        method="GET",
        path="/config/history",
        summary="List the earlier texts of the configuration file, the newest first.",
        handler=f"{_API}:list_history",
        needs_state=False,
        show=f"{__name__}:show_history",
    ),
    Operation(
        command="config restore",
        path="/config/history/{name}",
        summary="Go back to an earlier text of the configuration file.",
        details="The text of today becomes an earlier one, so this can be undone.",
        handler=f"{_API}:restore_earlier",
        arguments=(_NAME, _ONLY_CHECK),
        example={"name": _EARLIER},
        needs_state=False,
        show=f"{__name__}:show_change",
    ),
)


def show_change(result: Any, values: Values) -> str:
    """Return the lines that changed."""
    if not result["diff"]:
        return "nothing changed"
    return f"{result['diff']}\nnothing was written" if values["only_check"] else str(result["diff"])


def show_history(result: Any, _: Values) -> str:
    """Return a line per earlier text."""
    lines = [f"{each['name']}  {each['size']} bytes, in use until {each['replaced_at']}" for each in result]
    return "\n".join(lines) or "the file was not changed from the page or the command line yet"
