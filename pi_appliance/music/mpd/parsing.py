"""What MPD says, in our words: its lines as data, its errors as lines for people."""

import re
import socket
import unicodedata
from collections.abc import Collection, Mapping, Sequence
from typing import Any, TypeVar

from pi_appliance.music.model import (
    Entry,
    EntryType,
    LibraryFilter,
    Mode,
    Output,
    Page,
    PlaybackState,
    PlayerState,
    ReplayGainMode,
    Track,
)

Answer = Mapping[str, str]
T = TypeVar("T")

SONG = ("file",)
_ONCE = {"0": Mode.OFF, "1": Mode.ON, "oneshot": Mode.ONCE}
_MODES = {mode: word for word, mode in _ONCE.items()}
_ELSEWHERE = "dummy"  # the plugin of an output that is in another partition
_TODO = {
    "Not playing": "play the queue or a station first",
    "No such song": "it may be gone from the queue by now",
    "Bad song index": "the queue or the playlist is not that long",
    "Bad playlist name": "a name has no / and no line break, and is not empty",
}


def fields(answer: bytes) -> dict[str, str]:
    """Return ANSWER, which tells of one thing."""
    found = records(answer)
    return found[0] if found else {}


def records(answer: bytes, starts: Collection[str] = ()) -> list[dict[str, str]]:
    """Return the things that ANSWER tells of; a new one begins with each of the keys STARTS, in small letters.

    A key that comes again is one with several values; they stand side by side. Raises ValueError for what is no answer.
    """
    found: list[dict[str, str]] = []
    for line in answer.decode("utf-8", "replace").split("\n")[:-1]:
        name, colon, value = line.partition(": ")
        if not colon:
            raise ValueError(f"{line!r} is no line of an answer")
        key = name.lower()
        if not found or key in starts:
            found.append({key: value})
        else:
            last = found[-1]
            last[key] = f"{last[key]}, {value}" if key in last else value
    return found


def values(answer: bytes, key: str) -> list[str]:
    """Return what stands behind KEY, line by line. There may be very many: nothing else is made of them."""
    return re.findall(rf"^{key}: (.*)$", answer.decode("utf-8", "replace"), re.MULTILINE | re.IGNORECASE)


def state(status: Answer, song: Answer, gain: Answer) -> PlayerState:
    """Return what `status`, `currentsong` and `replay_gain_status` say together."""
    volume = int(status.get("volume", -1))
    return PlayerState(
        playback=PlaybackState(status["state"]),
        track=track(song) if song else None,
        elapsed=_seconds(status.get("elapsed")),
        volume=volume if volume >= 0 else None,
        repeat=status.get("repeat") == "1",
        random=status.get("random") == "1",
        single=_ONCE[status.get("single", "0")],
        consume=_ONCE[status.get("consume", "0")],
        crossfade=int(status.get("xfade", 0)),
        replay_gain=ReplayGainMode(gain.get("replay_gain_mode", "off")),
        queue_length=int(status["playlistlength"]),
        queue_version=int(status["playlist"]),
        updating=_number(status.get("updating_db")),
        bitrate=_number(status.get("bitrate")) or None,
        audio_format=status.get("audio", ""),
        partition=status.get("partition", ""),
        error=status.get("error", ""),
    )


def mode(wanted: Mode) -> str:
    """Return how MPD calls WANTED."""
    return _MODES[wanted]


def track(song: Answer) -> Track:
    """Return a song; a web radio's name stands where an album's would, once the stream says what it plays."""
    name, title = song.get("name", ""), song.get("title", "")
    return Track(
        uri=song["file"],
        title=title or name,
        artist=song.get("artist", ""),
        album=song.get("album", "") or (name if title else ""),
        album_artist=song.get("albumartist", ""),
        genre=song.get("genre", ""),
        date=song.get("date", ""),
        number=song.get("track", ""),
        duration=_seconds(song.get("duration", song.get("time"))),
        position=_number(song.get("pos")),
        id=_number(song.get("id")),
    )


def tracks(answer: bytes) -> list[Track]:
    """Return the songs of ANSWER."""
    return [track(song) for song in records(answer, SONG)]


def entry(song: Track) -> Entry:
    """Return SONG as a line of a list."""
    kind = EntryType.STREAM if is_stream(song.uri) else EntryType.TRACK
    return Entry(kind=kind, name=song.label, uri=song.uri, artist=song.artist, date=song.date, track=song)


def outputs(answer: bytes) -> Sequence[Output]:
    """Return the outputs of ANSWER that are in the partition which was asked."""
    return [
        Output(
            id=int(each["outputid"]),
            name=each["outputname"],
            enabled=each["outputenabled"] == "1",
            plugin=each.get("plugin", ""),
        )
        for each in records(answer, {"outputid"})
        if each.get("plugin") != _ELSEWHERE
    ]


def window(items: Sequence[T], start: int, count: int) -> Page[T]:
    """Return COUNT of ITEMS, which are the whole list, from START on."""
    return Page(items=items[start : start + count], start=start, length=len(items), has_more=start + count < len(items))


def pad_page(place: Page[Any], items: Sequence[T]) -> Page[T]:
    """Return the window at PLACE with ITEMS in it."""
    return Page(items=items, start=place.start, length=place.length, has_more=place.has_more)


def order(name: str) -> str:
    """Return what NAME is sorted by: capitals and the dots of an Ä do not count."""
    if name.isascii():
        return name.lower()
    return "".join(each for each in unicodedata.normalize("NFKD", name.casefold()) if not unicodedata.combining(each))


def is_stream(uri: str) -> bool:
    """Say whether URI is an address on a network, not a place in the library."""
    return "://" in uri


def is_inside(uri: str) -> bool:
    """Say whether URI is a place in the library: an address, a path of the machine and a way out of it are not.

    MPD believes the last two of who comes through a socket, and gives anybody the picture in a folder outside.
    """
    return not is_stream(uri) and not uri.startswith("/") and ".." not in uri.split("/")


def is_stored(playlist: str) -> bool:
    """Say whether PLAYLIST may be the name of a saved one: one with a slash is a file of the machine to MPD."""
    return "/" not in playlist


def last_part(path: str) -> str:
    """Return how to call the file or folder PATH, '' for the top of the library."""
    return path.rsplit("/", 1)[-1] or "the whole library"


def refusal(words: str) -> str:
    """Return the words of MPD's no, with what to do if that is known."""
    if words.startswith("unknown command"):
        return f"{words}; it is too old for that, or was built without it"
    return f"{words}; {_TODO[words]}" if words in _TODO else words


def why(error: Exception) -> str:
    """Return in a few words why a connection failed."""
    match error:
        case TimeoutError():
            return "it does not answer"
        case ConnectionRefusedError():
            return "nothing listens there"
        case FileNotFoundError():
            return "there is no such socket"
        case ConnectionResetError() | BrokenPipeError():
            return "it hung up"
        case socket.gaierror() | PermissionError():
            return str(error.strerror)
        case OSError() if error.errno is None:  # asyncio tried several addresses of one name, and says so at length
            return "nothing listens there"
        case OSError():
            return str(error.strerror)
        case ValueError() | LookupError() | NoMpd():
            return "what answers there is no MPD"
    return "it hung up"


def _seconds(value: str | None) -> float | None:
    return None if value is None else float(value)


def _number(value: str | None) -> int | None:
    return None if value is None else int(value)


def quoted(text: str) -> str:
    """Return TEXT as a value within an expression. The expression as a whole is quoted once more, as any word is."""
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def within(folder: str) -> str:
    """Return the expression for all that is in FOLDER, '' for the whole library."""
    return f"(base {quoted(folder.strip('/'))})"


def songs(wanted: LibraryFilter) -> tuple[str, str]:
    """Return how to look for the songs that are WANTED: which of `find` and `search`, and the expression.

    MPD knows no `find` in which only a part forgets the capitals, so where there is a text, they count nowhere.
    """
    words = [f"(any contains {quoted(word)})" for word in wanted.text.split()]
    return ("search" if words else "find"), _all([*_tags(wanted), *words])


def lists(wanted: LibraryFilter, *, patterns: bool = True) -> list[str]:
    """Return the expression for `list`, if one is needed. It minds capitals; only PATTERNS do not.

    An MPD that was built without them knows none.
    """
    parts = _tags(wanted)
    for word in wanted.text.split():
        # Without UTF, the capitals of ASCII alone would be forgotten.
        pattern = quoted(f"(*UTF)(?i){re.escape(word)}")
        parts.append(f"(any =~ {pattern})" if patterns else f"(any contains {quoted(word)})")
    return [_all(parts)] if parts else []


def _tags(wanted: LibraryFilter) -> list[str]:
    parts = []
    if wanted.artist:
        # His on the album or on the track. MPD has no OR; but not (neither the one nor the other) is the same.
        name = quoted(wanted.artist)
        parts.append(f"(!((artist != {name}) AND (albumartist != {name})))")
    if wanted.album:
        parts.append(f"(album == {quoted(wanted.album)})")
    if wanted.genre:
        parts.append(f"(genre == {quoted(wanted.genre)})")
    return parts


def _all(parts: list[str]) -> str:
    match parts:
        case []:
            return within("")
        case [part]:
            return part
    return f"({' AND '.join(parts)})"


class NoMpd(Exception):
    """What answers does not speak MPD's language."""
