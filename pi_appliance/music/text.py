"""Results of the music operations as text for a terminal."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

import click

from pi_appliance.cli.client import format_table, printable
from pi_appliance.config import units
from pi_appliance.errors import Unavailable
from pi_appliance.music.player_settings import SETTINGS, find_setting
from pi_appliance.operations import Values
from pi_appliance.system.shown_time import format_local_time

_MINUTES = "%a %Y-%m-%d %H:%M"


def local_time(instant: str | None) -> str:
    """Return an instant of the API in the time zone of this terminal, or a dash."""
    return format_local_time(instant) if instant else "-"


# Alarms


def alarms(result: Any, _: Values) -> str:
    """Return the alarms as a table."""
    if not result:
        return "there are no alarms; add one with: pi-appliance music alarm add 06:45 --days mon-fri --play STATION"
    head = ("ALARM", "SCHEDULE", "NEXT", "STATE", "DESCRIPTION")
    rows = [
        (each["job"], each["schedule"], local_time(each["next"]), _alarm_state(each), each["description"])
        for each in result
    ]
    return format_table(head, rows)


def alarm(result: Any, _: Values) -> str:
    """Return one alarm as a table."""
    return alarms([result], _)


def _alarm_state(alarm: Mapping[str, Any]) -> str:
    off = f"off until {local_time(alarm['paused_until'])}" if alarm["paused_until"] else "off"
    states = [
        "ringing" if alarm["ringing"] else "",
        f"snoozing until {local_time(alarm['snoozed_until'])}" if alarm["snoozed_until"] else "",
        off if alarm["paused"] else "",
        f"skipped {local_time(alarm['skipped'])}" if alarm["skipped"] else "",
        *(f"once {local_time(each)}" for each in alarm["one_off_rings"]),
    ]
    return ", ".join(filter(None, states)) or "-"


def sleep_timer(result: Any, _: Values) -> str:
    """Return when the sleep timer stops the music."""
    if not result["set"]:
        return "no sleep timer is set"
    end = f" {local_time(result['ends_at'])}" if result["ends_at"] else ""
    match result["phase"]:
        case "fading-out":
            return f"the music fades out{f' until{end}' if end else ''}"
        case "playing-out":
            return "the music is played out, then it stops"
    return f"the music stops{end}" if end else "the sleep timer is set"


# Stations


def stations(result: Any, _: Values) -> str:
    """Return the stations as a table."""
    if not result:
        return "there are no stations; add one with: pi-appliance music stations add NAME URL"
    details = [name for name in result[0] if name not in ("name", "url", "custom", "overrides")]
    rows = [
        (each["name"], *(each[name] for name in details), "custom" if each["custom"] else "", each["url"])
        for each in result
    ]
    return format_table(("NAME", *map(str.upper, details), "", "URL"), rows)


def removed_stations(result: Any, _: Values) -> str:
    """Return the stations that can be restored."""
    if not result:
        return "no station of your file was removed or edited"
    return format_table(("NAME", "URL"), [(each["name"], each["url"]) for each in result])


# Player

_STATES = {"play": "playing", "pause": "paused", "stop": "stopped"}


def player_line(result: Any, _: Values) -> str:
    """Return the state of the player in one line.

    Raises:
        Unavailable: There is no player.
    """
    state = _player_of(result)
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
    return units.join_clauses(", ".join([*parts, *_active_modes(state)]), printable(state["error"] or ""))


def _player_of(result: Any) -> Mapping[str, Any]:
    state: Mapping[str, Any] | None = result["player"]
    if state is None:
        raise Unavailable(result["error"] or "no player is connected")
    if result["fallback"]:
        click.echo("the configured MPD is not reached; this is the built-in silent player", err=True)
    return state


def _active_modes(state: Mapping[str, Any]) -> list[str]:
    return [
        *(name for name in ("muted", "repeat", "random") if state[name]),
        *(name if state[name] == "on" else f"{name} once" for name in ("single", "consume") if state[name] != "off"),
        *filter(None, (setting.describe_state(state) for setting in SETTINGS.values())),
    ]


def player_status(result: Any, values: Values) -> str:
    """Return the state of the player, and below it details of the track."""
    line, state = player_line(result, values), result["player"]
    track = state["track"] or dict.fromkeys(("album", "album_artist", "date", "genre", "uri"), "")
    details = {
        "album": ", ".join(filter(None, (track["album"], track["album_artist"], track["date"]))),
        "genre": track["genre"],
        "file": track["uri"],
        "sound": ", ".join(filter(None, (state["audio"], f"{state['bitrate']} kbit/s" if state["bitrate"] else ""))),
        "rating": f"{result['rating']} of 10" if result["rating"] else "",
        "favourite": "yes" if result["favourite"] else "",
        "partition": state["partition"] if state["partition"] != "default" else "",
        "library": "is being updated" if state["updating"] is not None else "",
    }
    return "\n".join([line, *(f"  {name:<9}  {printable(text)}" for name, text in details.items() if text)])


def volume(result: Any, _: Values) -> str:
    """Return the volume, and whether the volume policy lowered it."""
    current, requested = _player_of(result)["volume"], result["requested"]
    if current is None:
        return "the player has no mixer"
    is_limited = requested is not None and current < requested
    return f"volume {current}%, the maximum that is allowed now" if is_limited else f"volume {current}%"


def modes(result: Any, values: Values) -> str:
    """Return the modes that `values` ask for, or the state of the player after they were set."""
    if any(value is not None for value in values.values()):
        return player_line(result, values)
    state = _player_of(result)
    words = {True: "on", False: "off"}
    return "\n".join(f"{name} {words.get(state[name], state[name])}" for name in values)


def player_setting(result: Any, values: Values) -> str:
    """Return the value of a setting, or the state of the player after it was set."""
    setting = find_setting(values)
    if values[setting.argument.name] is not None:
        return player_line(result, values)
    return setting.text.format(_player_of(result)[setting.field])


def outputs(result: Any, _: Values) -> str:
    """Return the outputs as a table."""
    if not result:
        return "the player has no outputs here"
    rows = [
        (str(number), each["name"], "yes" if each["on"] else "no", each["plugin"])
        for number, each in enumerate(result, start=1)
    ]
    return format_table(("N", "NAME", "ON", "PLUGIN"), rows)


def partitions(result: Any, _: Values) -> str:
    """Return the partitions as a table; > marks the one in use."""
    return format_table((" ", "NAME"), [(">" if each["current"] else " ", each["name"]) for each in result])


def output_moved(_: Any, values: Values) -> str:
    """Return where an output was moved."""
    target = f"the partition {printable(values['to'])}" if values["to"] else "the partition in use"
    return f"moved {printable(values['output'])} into {target}"


def rating(result: Any, values: Values) -> str:
    """Return the rating of a track, or whether it is a favourite: whichever was changed."""
    if "rating" in values:
        shown = f"is rated {result['rating']} of 10" if result["rating"] else "is not rated"
    else:
        shown = "is a favourite" if result["favourite"] else "is not a favourite"
    return f"{track_name(result['track'])} {shown}"


def track_name(track: Mapping[str, Any]) -> str:
    """Return the artist, if known, and the title of `track`."""
    return printable(f"{track['artist']} - {track['label']}" if track["artist"] else track["label"])


def format_time(seconds: float | None) -> str:
    """Format seconds as 3:05 or 1:02:03; a dash if they are unknown."""
    return "-" if seconds is None else units.format_position(seconds)


# Queue


def queue(result: Any, _: Values) -> str:
    """Return a part of the queue as a table; > marks the current track."""
    head = (" ", "N", "TITLE", "ARTIST", "ALBUM", "TIME", "FILE")
    rows = [
        (">" if track["position"] == result["current"] else " ", str(track["position"] + 1), *_track_row(track))
        for track in result["items"]
    ]
    return _page(result, head, rows, "the queue is empty")


def added(result: Any, values: Values) -> str:
    """Return where the sources were added to the queue."""
    is_next = values.get("where") == "next"
    # index of the track that plays: the first source may be added last
    playing = -1 if not values.get("play") else len(result) - 1 if is_next else 0
    return "\n".join(
        _describe_added(each, is_next=is_next, plays=index == playing) for index, each in enumerate(result)
    )


def playing(result: Any, _: Values) -> str:
    """Return which sources replaced the queue."""
    return added(result, {"play": True})


def _describe_added(result: Mapping[str, Any], *, is_next: bool, plays: bool) -> str:
    count, first = result["count"], result["position"] + 1
    if is_next:  # tracks that are added before the playing one move it
        place = "next" if count == 1 else f"{count} tracks, next"
    else:
        place = f"at {first}" if count == 1 else f"{count} tracks from {first} on"
    return f"{'playing' if plays else 'added'} {printable(result['name'])}, {place}"


def added_answer(result: Any, values: Values) -> str:
    """Return the line for the page that names the music added to the queue."""
    label = "starting" if values["play"] else "plays next" if values["where"] == "next" else "added"
    count = sum(each["count"] for each in result)
    length = "" if count == 1 else f", {count:,} tracks"
    chosen = [values[name] for name in ("playlist", "album", "artist", "genre") if values.get(name)]
    names = chosen[:1] or [each["name"] for each in result]
    return f"{label}: {', '.join(names)}{length}"


def playing_answer(result: Any, values: Values) -> str:
    """Return the sources that replaced the queue, in one line for the page."""
    return added_answer(result, {**values, "play": True})


def moved(result: Any, values: Values) -> str:
    """Return which track was moved."""
    if values["number"] is None or values["to_number"] is None:
        return player_line(result, values)
    return f"moved track {values['number']} to {values['to_number']}"


def removed(result: Any, _: Values) -> str:
    """Return how many tracks were removed."""
    count, length = result["removed"], _player_of(result)["queue_length"]
    return f"removed {count} {'track' if count == 1 else 'tracks'}; {length} left in the queue"


# Library and playlists

_EMPTY = "the library has nothing of that"


def entries(result: Any, _: Values) -> str:
    """Return a folder as a table."""
    head = ("KIND", "NAME", "ARTIST", "TIME", "FILE")
    return _page(result, head, [_entry_row(each) for each in result["items"]], "the folder is empty")


def artists(result: Any, _: Values) -> str:
    """Return artists as a table."""
    return _page(result, ("ARTIST",), [(each["name"],) for each in result["items"]], _EMPTY)


def albums(result: Any, _: Values) -> str:
    """Return albums as a table."""
    rows = [(each["name"], each["artist"], each["date"]) for each in result["items"]]
    return _page(result, ("ALBUM", "ARTIST", "DATE"), rows, _EMPTY)


def genres(result: Any, _: Values) -> str:
    """Return genres as a table."""
    return _page(result, ("GENRE",), [(each["name"],) for each in result["items"]], _EMPTY)


def tracks(result: Any, _: Values) -> str:
    """Return tracks as a table."""
    head = ("TITLE", "ARTIST", "ALBUM", "TIME", "FILE")
    return _page(result, head, [_track_row(each["track"]) for each in result["items"]], _EMPTY)


def favourites(result: Any, _: Values) -> str:
    """Return the favourite tracks with their ratings."""
    rows = [(str(each["rating"] or "-"), *_entry_row(each)[1:]) for each in result["items"]]
    empty = "there are no favourites yet; pi-appliance music like adds the current track"
    return _page(result, ("RATING", "NAME", "ARTIST", "TIME", "FILE"), rows, empty)


def stats(result: Any, values: Values) -> str:
    """Return the size of the library."""
    of_tags = "" if values["folder"] else f", {result['albums']:,} albums, {result['artists']:,} artists"
    lines = [f"{library_size(result)}{of_tags}"]
    if result["updated"] is not None:
        lines.append(f"updated {datetime.fromtimestamp(result['updated']).astimezone():{_MINUTES}}")
    return "\n".join(lines)


def library_size(stats: Mapping[str, Any]) -> str:
    """Return the number of tracks and their total time."""
    return f"{stats['tracks']:,} tracks of {format_time(stats['seconds'])}"


def playlists(result: Any, _: Values) -> str:
    """Return the playlists as a table."""
    rows = [(each["name"], local_time(each["changed"])) for each in result["items"]]
    return _page(result, ("NAME", "CHANGED"), rows, "there are no playlists; pi-appliance music save NAME adds one")


def playlist(result: Any, values: Values) -> str:
    """Return the entries of a playlist as a table."""
    rows = [(str(number), *_entry_row(each)) for number, each in enumerate(result["items"], start=result["start"] + 1)]
    head = ("N", "KIND", "NAME", "ARTIST", "TIME", "FILE")
    return _page(result, head, rows, f"the playlist {printable(values['name'])} is empty")


def playlist_played(result: Any, values: Values) -> str:
    """Return that the playlist plays, or where it was added."""
    return added(result, {**values, "play": values["where"] == "replace"})


def playlist_extended(result: Any, values: Values) -> str:
    """Return how long a playlist is after something was added."""
    return f"added to {printable(values['name'])}{_length_of(result)}"


def playlist_reduced(result: Any, values: Values) -> str:
    """Return how many entries were removed."""
    count = len(set(values["numbers"] or values["positions"]))
    return (
        f"removed {count} {'entry' if count == 1 else 'entries'} from {printable(values['name'])}{_length_of(result)}"
    )


def _length_of(result: Mapping[str, Any]) -> str:
    return "" if result["length"] is None else f", which has {result['length']:,} now"


def entry_moved(_: Any, values: Values) -> str:
    """Return which entry of a playlist was moved."""
    number, target = values["number"] or values["position"] + 1, values["to_number"] or values["to"] + 1
    return f"moved {number} to {target} in {printable(values['name'])}"


def _page(result: Mapping[str, Any], head: Sequence[str], rows: Sequence[Sequence[str]], empty: str) -> str:
    """Return a part of a list as a table, with the option that shows the rest."""
    if not rows:
        start = result["start"]
        return f"the list ends before {start}" if start and result["length"] != 0 else empty
    lines = format_table(head, rows)
    if result["more"]:
        end = result["start"] + len(rows)
        rest = f"{result['length'] - end:,} more" if result["length"] is not None else "more"
        lines += f"\n… {rest}; --start {end}"
    return lines


def _track_row(track: Mapping[str, Any]) -> tuple[str, ...]:
    return (track["label"], track["artist"], track["album"], format_time(track["duration"]), track["uri"])


def _entry_row(entry: Mapping[str, Any]) -> tuple[str, ...]:
    if track := entry["track"]:
        return (entry["kind"], track["label"], track["artist"], format_time(track["duration"]), track["uri"])
    end = "/" if entry["kind"] == "folder" and not entry["uri"].endswith("/") else ""
    return (entry["kind"], entry["name"], entry["artist"], "-", f"{entry['uri']}{end}")


# USB drives


def usb_drives(result: Any, _: Values) -> str:
    """Return the USB drives as a table."""
    if not result:
        return "no USB drive was connected yet"
    rows = [(each["name"], each["state"], _used_space(each), _track_count(each)) for each in result]
    return format_table(("DRIVE", "STATE", "USED", "TRACKS"), rows)


def _used_space(drive: Mapping[str, Any]) -> str:
    if drive["size"] is None or drive["used"] is None:
        return "-"
    return f"{drive['used'] / 1e9:.1f} of {drive['size'] / 1e9:.1f} GB"


def _track_count(drive: Mapping[str, Any]) -> str:
    if drive["tracks"] is None:
        return "-"
    return str(drive["tracks"]) if drive["files"] is None else f"{drive['tracks']} of {drive['files']}"
