"""Results of the music operations as text for a terminal."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any

from pi_appliance.operations import Values


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return aligned columns; control characters of names from the web become spaces."""
    lines = [tuple(head), *(tuple(plain(cell) for cell in row) for row in rows)]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    return "\n".join("  ".join(map(str.ljust, line, widths)).rstrip() for line in lines)


def plain(text: str) -> str:
    """Return `text` with a space for each character that would move the cursor."""
    return text if text.isprintable() else "".join(each if each.isprintable() else " " for each in text)


def local_time(instant: str | None) -> str:
    """Convert an instant of the API to the time zone of this terminal, with the weekday."""
    return datetime.fromisoformat(instant).astimezone().strftime("%a %Y-%m-%d %H:%M") if instant else "-"


# Alarms


def alarms(result: Any, _: Values) -> str:
    """Return the alarms as a table."""
    if not result:
        return "there are no alarms; docs/alarms.md shows how to add one"
    rows = [(each["job"], local_time(each["next"]), _alarm_state(each), each["description"]) for each in result]
    return table(("ALARM", "NEXT", "STATE", "DESCRIPTION"), rows)


def _alarm_state(alarm: Mapping[str, Any]) -> str:
    states = [
        "ringing" if alarm["ringing"] else "",
        f"snoozing until {local_time(alarm['snoozed_until'])}" if alarm["snoozed_until"] else "",
        "paused" if alarm["paused"] else "",
        f"skipped {local_time(alarm['skipped'])}" if alarm["skipped"] else "",
        *(f"once {local_time(each)}" for each in alarm["one_off_rings"]),
    ]
    return ", ".join(filter(None, states)) or "-"


# Stations


def stations(result: Any, _: Values) -> str:
    """Return the stations as a table."""
    if not result:
        return "there are no stations; add one with: pi-appliance music stations add NAME URL"
    rows = [
        (each["name"], each["genre"], each["country"], "custom" if each["custom"] else "", each["url"])
        for each in result
    ]
    return table(("NAME", "GENRE", "COUNTRY", "", "URL"), rows)


def removed_stations(result: Any, _: Values) -> str:
    """Return the stations that can be restored."""
    if not result:
        return "no station of your file was removed or edited"
    return table(("NAME", "URL"), [(each["name"], each["url"]) for each in result])


def station_added(result: Any, _: Values) -> str:
    """Return which station was added."""
    return f"added {plain(result['name'])}"


def station_changed(result: Any, _: Values) -> str:
    """Return which station was changed."""
    return f"changed {plain(result['name'])}"


def station_removed(result: Any, _: Values) -> str:
    """Return which station was removed."""
    return f"removed {plain(result['removed'])}"


def station_restored(result: Any, _: Values) -> str:
    """Return which station was restored."""
    return f"restored {plain(result['name'])}"
