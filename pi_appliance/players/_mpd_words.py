"""What MPD says, in our words: its key-and-value answers as data, its errors as lines for people."""

import re
import socket
from collections.abc import Mapping
from typing import Any

from pi_appliance.model.music import Play, PlayerState, Track

_ACK = re.compile(r"\[(?P<code>\d+)@\d+\]\s+\{[^}]*\}\s*(?P<words>.*)")
NOT_ALLOWED = {"3", "4"}  # a wrong password; a command that needs one
NO_SUCH_THING = "50"
_TODO = {"Not playing": "play the queue or a station first"}

Answer = Mapping[str, Any]


def state(status: Answer, song: Answer) -> PlayerState:
    """Return what `status` and `currentsong` say together."""
    volume = int(status.get("volume", -1))
    return PlayerState(
        play=Play(status["state"]),
        track=track(song) if song else None,
        elapsed=_seconds(status.get("elapsed")),
        volume=volume if volume >= 0 else None,
        repeat=status.get("repeat") == "1",
        random=status.get("random") == "1",
        single=status.get("single", "0") != "0",  # "oneshot" is single, once
        consume=status.get("consume", "0") != "0",
        queue_length=int(status["playlistlength"]),
        error=status.get("error", ""),
    )


def track(song: Answer) -> Track:
    """Return a song; a web radio's name stands where an album's would, once the stream says what it plays."""
    name, title = _text(song.get("name")), _text(song.get("title"))
    return Track(
        uri=song["file"],
        title=title or name,
        artist=_text(song.get("artist")),
        album=_text(song.get("album")) or (name if title else ""),
        duration=_seconds(song.get("duration", song.get("time"))),
        position=_number(song.get("pos")),
        id=_number(song.get("id")),
    )


def folder(name: str, position: int | None = None) -> Track:
    """Return a folder of the library; its uri ends in '/', which tells it from a file."""
    return Track(uri=f"{name}/", title=name.rsplit("/", 1)[-1] or "the whole library", position=position)


def refusal(said: str) -> tuple[str, str]:
    """Return the code and the words of an ACK line such as `[50@0] {play} No such song`, with what to do if known."""
    match = _ACK.match(said)
    code, words = (match["code"], match["words"]) if match else ("", said)
    return code, f"{words}; {_TODO[words]}" if words in _TODO else words


def why(error: Exception) -> str:
    """Return in a few words why a connection failed."""
    match error:
        case TimeoutError():
            return "it does not answer"
        case ConnectionRefusedError():
            return "nothing listens there"
        case FileNotFoundError():
            return "there is no such socket"
        case socket.gaierror() | PermissionError():
            return str(error.strerror)
        case OSError() if error.errno is None:  # asyncio tried several addresses of one name, and says so at length
            return "nothing listens there"
        case OSError():
            return str(error.strerror)
        case ValueError() | LookupError():
            return "what answers there is no MPD"
    return "it hung up"


def _text(value: str | list[str] | None) -> str:
    return ", ".join(value) if isinstance(value, list) else value or ""


def _seconds(value: str | None) -> float | None:
    return None if value is None else float(value)


def _number(value: str | None) -> int | None:
    return None if value is None else int(value)
