"""Results of the music operations as text for a terminal."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any

import click

from pi_appliance.errors import Unavailable
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


# Player

_STATES = {"play": "playing", "pause": "paused", "stop": "stopped"}


def player_line(result: Any, _: Values) -> str:
    """Return the state of the player in one line.

    Raises:
        Unavailable: There is no player.

    """
    state = result["player"]
    if state is None:
        raise Unavailable(result["error"] or "no player is connected")
    if result["fallback"]:
        click.echo("the configured MPD is not reached; this is the built-in silent player", err=True)
    parts = [_STATES[state["play"]]]
    if (track := state["track"]) is not None:
        parts[0] += f": {track_name(track)}"
        parts.append(f"{(track['position'] or 0) + 1} of {state['queue_length']}")
        if state["elapsed"] is not None:
            end = f"/{format_time(track['duration'])}" if track["duration"] else ""
            parts.append(f"{format_time(state['elapsed'])}{end}")
    else:
        parts.append(f"{state['queue_length']} in the queue" if state["queue_length"] else "the queue is empty")
    if state["volume"] is not None:
        parts.append(f"volume {state['volume']}%")
    error = f"; {plain(state['error'])}" if state["error"] else ""
    return ", ".join([*parts, *_modes(state)]) + error


def _modes(state: Mapping[str, Any]) -> list[str]:
    return [
        *(name for name in ("muted", "repeat", "random") if state[name]),
        *(name if state[name] == "on" else f"{name} once" for name in ("single", "consume") if state[name] != "off"),
        *([f"crossfade {state['crossfade']} s"] if state["crossfade"] else []),
        *([f"replay gain by {state['replay_gain']}"] if state["replay_gain"] != "off" else []),
    ]


def track_name(track: Mapping[str, Any]) -> str:
    """Return the artist, if known, and the title of `track`."""
    return plain(f"{track['artist']} - {track['label']}" if track["artist"] else track["label"])


def format_time(seconds: float | None) -> str:
    """Format seconds as 3:05 or 1:02:03; a dash if they are unknown."""
    if seconds is None:
        return "-"
    minutes, rest = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


# USB drives


def usb_drives(result: Any, _: Values) -> str:
    """Return the USB drives as a table."""
    if not result:
        return "no USB drive was connected yet"
    rows = [(each["name"], each["state"], _used_space(each), _track_count(each)) for each in result]
    return table(("DRIVE", "STATE", "USED", "TRACKS"), rows)


def _used_space(drive: Mapping[str, Any]) -> str:
    if drive["size"] is None or drive["used"] is None:
        return "-"
    return f"{drive['used'] / 1e9:.1f} of {drive['size'] / 1e9:.1f} GB"


def _track_count(drive: Mapping[str, Any]) -> str:
    if drive["tracks"] is None:
        return "-"
    return str(drive["tracks"]) if drive["files"] is None else f"{drive['tracks']} of {drive['files']}"


def usb_ejected(result: Any, _: Values) -> str:
    """Return that the drive can be unplugged."""
    return f"{plain(result['name'])} can be unplugged"
