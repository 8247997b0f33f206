"""Times and durations as text for the page. static/words.js does the same in the browser."""

from datetime import datetime, timedelta
from zoneinfo import ZoneInfo

from pi_appliance.music.model import Capability

UNSUPPORTED = {
    Capability.VOLUME: "set the volume",
    Capability.SEEK: "seek in a track",
    Capability.SINGLE: "stop after each track",
    Capability.CONSUME: "remove played tracks",
    Capability.CROSSFADE: "crossfade tracks",
    Capability.REPLAY_GAIN: "even out the loudness",
    Capability.OUTPUTS: "switch outputs",
    Capability.NEXT: "play something next",
    Capability.MOVE: "move tracks in the queue",
    Capability.REMOVE: "remove single tracks from the queue",
    Capability.SHUFFLE: "shuffle the queue",
    Capability.SAVE: "save the queue",
    Capability.PLAYLISTS: "play saved playlists",
    Capability.EDIT_PLAYLISTS: "edit saved playlists",
    Capability.FOLDERS: "show folders",
    Capability.TAGS: "show artists, albums and genres",
    Capability.SEARCH: "search",
    Capability.ART: "show covers",
    Capability.UPDATE: "update the library",
    Capability.PARTITIONS: "have partitions",
}
"""What the page says a player cannot do. Mute and ratings are missing: the appliance has its own."""


def ago(when: datetime, now: datetime) -> str:
    """Return how long ago `when` was: just now, 5 min ago, 3 h ago, 2 days ago."""
    minutes = int((now - when) / timedelta(minutes=1))
    if minutes < 1:
        return "just now"
    if minutes < 60:
        return f"{minutes} min ago"
    hours = minutes // 60
    if hours < 48:
        return f"{hours} h ago"
    return f"{hours // 24} days ago"


def format_report_date(name: str) -> str:
    """Return the date in the name of a report set: 2026-11-21_0330 becomes 21 Nov 2026, 03:30."""
    when = datetime.strptime(name[:15], "%Y-%m-%d_%H%M")  # noqa: DTZ007 - in the time zone of the job
    number = name[15:].removeprefix("-")
    return f"{when.day} {when:%b %Y, %H:%M}" + (f" ({number})" if number else "")


def day_and_time(when: datetime, now: datetime, zone: ZoneInfo) -> str:
    """Return `when` as people say it: today 18:00, tomorrow 06:00, Monday 06:00, 12 Apr 06:00."""
    local, today = when.astimezone(zone), now.astimezone(zone).date()
    days = (local.date() - today).days
    if days in (0, 1):
        day = ("today", "tomorrow")[days]
    elif 1 < days < 7:
        day = f"{local:%A}"
    else:
        day = f"{local.day} {local:%b}" + ("" if local.year == today.year else f" {local.year}")
    return f"{day} {local:%H:%M}"


def time_of_day(when: datetime, zone: ZoneInfo) -> str:
    """Return the time of day of `when`: 06:03."""
    return f"{when.astimezone(zone):%H:%M}"


def clock(seconds: float | None) -> str:
    """Return a position in a track: 3:07, or 1:02:45."""
    if seconds is None:
        return ""
    minutes, rest = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"
