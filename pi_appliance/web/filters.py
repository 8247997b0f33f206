"""Instants and lengths in the words of the page. static/words.js says the same in the browser."""

from datetime import datetime, timedelta
from zoneinfo import ZoneInfo

from pi_appliance.music.model import Capability

UNSUPPORTED = {
    Capability.VOLUME: "set the volume",
    Capability.SEEK: "go to a place in a track",
    Capability.SINGLE: "stop after each track",
    Capability.CONSUME: "forget what was played",
    Capability.CROSSFADE: "let tracks overlap",
    Capability.REPLAY_GAIN: "make the loudness even",
    Capability.OUTPUTS: "switch outputs",
    Capability.NEXT: "put something behind the current track",
    Capability.MOVE: "move tracks of the queue",
    Capability.REMOVE: "take single tracks out of the queue",
    Capability.SHUFFLE: "shuffle the queue",
    Capability.SAVE: "save the queue",
    Capability.PLAYLISTS: "play saved playlists",
    Capability.EDIT_PLAYLISTS: "change saved playlists",
    Capability.FOLDERS: "show folders",
    Capability.TAGS: "show artists, albums and genres",
    Capability.SEARCH: "search",
    Capability.ART: "show covers",
    Capability.UPDATE: "look for new music when told to",
    Capability.PARTITIONS: "have several rooms",
}
"""What a player cannot do, in words; mute and stickers are not among them, for the appliance does those itself."""


def ago(when: datetime, now: datetime) -> str:
    """Return how long WHEN is past: just now, 5 min ago, 3 h ago, 2 days ago."""
    minutes = int((now - when) / timedelta(minutes=1))
    if minutes < 1:
        return "just now"
    if minutes < 60:
        return f"{minutes} min ago"
    hours = minutes // 60
    if hours < 48:
        return f"{hours} h ago"
    return f"{hours // 24} days ago"


def format_report_date(edition: str) -> str:
    """Return the name of an EDITION as people say it: 2026-11-21_0330 is 21 Nov 2026, 03:30."""
    when = datetime.strptime(edition[:15], "%Y-%m-%d_%H%M")  # noqa: DTZ007 - it is written in the job's own zone
    again = edition[15:].removeprefix("-")
    return f"{when.day} {when:%b %Y, %H:%M}" + (f" ({again})" if again else "")


def day_and_time(when: datetime, now: datetime, zone: ZoneInfo) -> str:
    """Return WHEN as people say it: today 18:00, tomorrow 06:00, Monday 06:00, 12 Apr 06:00."""
    there, today = when.astimezone(zone), now.astimezone(zone).date()
    days = (there.date() - today).days
    if days in (0, 1):
        day = ("today", "tomorrow")[days]
    elif 1 < days < 7:
        day = f"{there:%A}"
    else:
        day = f"{there.day} {there:%b}" + ("" if there.year == today.year else f" {there.year}")
    return f"{day} {there:%H:%M}"


def time_of_day(when: datetime, zone: ZoneInfo) -> str:
    """Return the time of day of WHEN: 06:03."""
    return f"{when.astimezone(zone):%H:%M}"


def clock(seconds: float | None) -> str:
    """Return a place in a track: 3:07, or 1:02:45."""
    if seconds is None:
        return ""
    minutes, rest = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"
