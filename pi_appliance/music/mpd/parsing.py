"""Convert MPD's replies to data classes, filters to expressions, errors to messages."""

import re
import socket
import unicodedata
from collections.abc import Mapping, Sequence

from pi_appliance.music.model import (
    LibraryFilter,
    Mode,
    Output,
    PlaybackState,
    PlayerState,
    ReplayGainMode,
    Track,
    is_stream,
)
from pi_appliance.system.http import describe_network_error, hide_credentials

Fields = Mapping[str, str | list[str]]
"""An object in a reply, as python-mpd2 parses it; a list where a tag has several values."""

_MODES = {"0": Mode.OFF, "1": Mode.ON, "oneshot": Mode.ONCE}
SETTING_COMMANDS = {"crossfade": "crossfade", "replay-gain": "replay_gain_mode"}
"""MPD's command for each of `player_settings.SETTINGS`; `to_state` reads the values."""
MODE_ARGUMENTS = {mode: argument for argument, mode in _MODES.items()}
_OTHER_PARTITION = "dummy"  # the plugin that MPD reports for an output in another partition
NOT_AN_MPD = "the program there is not an MPD"
_MAX_FOLDED_LENGTH = 100  # characters of a search that ignores accents: MPD limits the length of a command
_ACCENTED = (
    *("aàáâãäåāăą", "cçćĉċč", "dďđ", "eèéêëēĕėęě", "gĝğġģ", "hĥħ", "iìíîïĩīĭį\u0131", "jĵ", "kķ", "lĺļľŀł", "nñńņňŉ"),
    *("oòóôõöøōŏő", "rŕŗř", "sśŝşšș", "tţťŧț", "uùúûüũūŭůűų", "wŵ", "yýÿŷ", "zźżž"),
)
_PATTERNS = {letter: rf"[{letters}]\p{{M}}*" for letters in _ACCENTED for letter in letters}
_DECODER_ERROR = re.compile(r"Failed to decode (?P<uri>.+?)(; (?P<reason>.+))?", re.DOTALL)
_HTTP_STATUS = re.compile(r"returned error: (\d{3})")
_ALSA_ERROR = re.compile(r'.*Failed to open ALSA device "(?P<device>[^"]*)": (?P<reason>.+)', re.DOTALL)
# Parts of error messages of the kernel and of ALSA, each with its cause and remedy.
_ALSA_CAUSES = (
    ("busy", "another program uses it; stop that program"),
    ("Permission denied", "MPD may not use it; run: sudo usermod --append --groups audio mpd; and start MPD again"),
    ("524", "nothing is plugged into it; choose another sound card: pi-appliance music card"),  # HDMI without a screen
    ("No such", "there is no such card; choose one that is there: pi-appliance music card"),
)
_NOT_MUSIC = re.compile(r"avformat|invalid data|unrecognized|unsupported|no decoder", re.IGNORECASE)
_HINTS = {
    "Not playing": "play the queue or a station first",
    "No such song": "it may not be in the queue any more",
    "Bad song index": "the queue or the playlist is not that long",
    "Bad playlist name": "a name has no / and no line break, and is not empty",
}


def find_values(reply: bytes, key: str) -> list[str]:
    """Return all values of `key`.

    For `list`, whose parser in python-mpd2 makes a dictionary of every line, too slow for 100,000
    names.
    """
    return re.findall(rf"^{key}: (.*)$", reply.decode("utf-8", "replace"), re.MULTILINE | re.IGNORECASE)


def to_state(status: Mapping[str, str], song: Fields, replay_gain: str | None) -> PlayerState:
    """Return the state from the replies of `status`, `currentsong` and `replay_gain_status`."""
    volume = int(status.get("volume", -1))
    return PlayerState(
        playback=PlaybackState(status["state"]),
        track=to_track(song) if song else None,
        elapsed=_to_float(status.get("elapsed")),
        volume=volume if volume >= 0 else None,
        repeat=status.get("repeat") == "1",
        random=status.get("random") == "1",
        single=_MODES[status.get("single", "0")],
        consume=_MODES[status.get("consume", "0")],
        crossfade=int(status.get("xfade", 0)),
        replay_gain=ReplayGainMode(replay_gain or "off"),
        queue_length=int(status["playlistlength"]),
        queue_version=int(status["playlist"]),
        updating=_to_int(status.get("updating_db")),
        bitrate=_to_int(status.get("bitrate")) or None,
        audio_format=status.get("audio", ""),
        partition=status.get("partition", ""),
        error=explain_error(status["error"]) if "error" in status else "",
    )


def explain_error(text: str) -> str:
    """Return the error of a track or device in plain words; MPD's own words if unknown."""
    text = hide_credentials(text)
    if alsa := _ALSA_ERROR.fullmatch(text):
        cause = next((cause for words, cause in _ALSA_CAUSES if words in alsa["reason"]), alsa["reason"])
        return f"the sound device {alsa['device']} cannot be opened: {cause}"
    if "JACK server" in text:  # without a sound card, Debian's MPD tries JACK last
        return "this machine has no sound card that MPD can use; plug one in, and see: pi-appliance music card"
    match = _DECODER_ERROR.fullmatch(text)
    if match is None:
        return text
    reason = (match["reason"] or "").removeprefix("CURL failed: ")
    if status := _HTTP_STATUS.search(reason):
        reason = f"its server answers {status[1]}"
    elif _NOT_MUSIC.search(reason):
        reason = "it is not music that MPD can decode"
    else:
        reason = describe_network_error(reason) or reason
    return f"{match['uri']} cannot be played" + (f": {reason}" if reason else "")


def to_track(song: Fields) -> Track:
    """Return a song as a track.

    The name of a web radio becomes the album once the stream sends a title.
    """
    fields = {key: ", ".join(value) if isinstance(value, list) else value for key, value in song.items()}
    name, title = fields.get("name", ""), fields.get("title", "")
    return Track(
        uri=fields["file"],
        title=title or name,
        artist=fields.get("artist", ""),
        album=fields.get("album", "") or (name if title else ""),
        album_artist=fields.get("albumartist", ""),
        genre=fields.get("genre", ""),
        date=fields.get("date", ""),
        number=fields.get("track", ""),
        duration=_to_float(fields.get("duration", fields.get("time"))),
        position=_to_int(fields.get("pos")),
        id=_to_int(fields.get("id")),
    )


def to_outputs(outputs: Sequence[Mapping[str, str]]) -> Sequence[Output]:
    """Return the outputs that are in the current partition."""
    return [
        Output(
            id=int(each["outputid"]),
            name=each["outputname"],
            on=each["outputenabled"] == "1",
            plugin=each.get("plugin", ""),
        )
        for each in outputs
        if each.get("plugin") != _OTHER_PARTITION
    ]


def sort_key(name: str) -> str:
    """Return the key for sorting names without regard to case and accents."""
    if name.isascii():
        return name.lower()
    return "".join(each for each in unicodedata.normalize("NFKD", name.casefold()) if not unicodedata.combining(each))


def is_in_library(uri: str) -> bool:
    """Return whether `uri` is a path in the library: not a URL, not absolute, and without `..`.

    MPD allows paths outside to local clients, and reads cover art from any folder.
    """
    return not is_stream(uri) and not uri.startswith("/") and ".." not in uri.split("/")


def is_saved_playlist(name: str) -> bool:
    """Return whether `name` may be a saved playlist: MPD takes a name with a slash for a file."""
    return "/" not in name


def base_name(path: str) -> str:
    """Return the last part of a library path as its display name."""
    return path.rsplit("/", 1)[-1] or "the whole library"


def add_hint(message: str) -> str:
    """Return MPD's error message with a hint, if there is one."""
    if message.startswith("unknown command"):
        return f"{message}; this MPD is too old for that, or was built without it"
    return f"{message}; {_HINTS[message]}" if message in _HINTS else message


def describe_error(error: Exception) -> str:
    """Return why a connection failed, in a few words."""
    match error:
        case TimeoutError():
            return "it does not answer"
        case ConnectionRefusedError():
            return "nothing listens there"
        case FileNotFoundError():
            return "there is no such socket"
        case ConnectionResetError() | BrokenPipeError():
            return "it closed the connection"
        case socket.gaierror() | PermissionError():
            return str(error.strerror)
        case OSError() if error.errno is None:  # asyncio has tried several addresses, and lists all errors
            return "nothing listens there"
        case OSError():
            return str(error.strerror)
        case ValueError() | LookupError() | TypeError():
            return NOT_AN_MPD
    return "it closed the connection"


def _to_float(value: str | None) -> float | None:
    return None if value is None else float(value)


def _to_int(value: str | None) -> int | None:
    return None if value is None else int(value)


def quote_value(text: str) -> str:
    """Return `text` as a value in a filter expression.

    The whole expression is quoted once more as an argument.
    """
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def folder_filter(folder: str) -> str:
    """Return the filter expression for all tracks in `folder`, empty for the whole library."""
    return f"(base {quote_value(folder.strip('/'))})"


def song_search(library_filter: LibraryFilter, *, regex: bool = True) -> tuple[str, str]:
    """Return the command, `find` or `search`, and the filter expression for songs.

    In MPD either all parts of an expression ignore case (`search`) or none does (`find`), except
    for regular expressions. `regex=False` is for an MPD that was built without them.
    """
    words = _word_filters(library_filter.text, regex=regex)
    return ("search" if words and not regex else "find"), _join([*_tag_filters(library_filter), *words])


def list_filters(library_filter: LibraryFilter, *, regex: bool = True) -> list[str]:
    """Return the filter expression for `list`, if one is needed."""
    parts = [*_tag_filters(library_filter), *_word_filters(library_filter.text, regex=regex)]
    return [_join(parts)] if parts else []


def _word_filters(text: str, *, regex: bool) -> list[str]:
    if not regex:
        return [f"(any contains {quote_value(word)})" for word in text.split()]
    to_pattern = _fold_pattern if len(text) <= _MAX_FOLDED_LENGTH else re.escape
    # (*UTF) makes all letters match in both cases, not only ASCII letters.
    return [f"(any =~ {quote_value(f'(*UTF)(?i){to_pattern(word)}')})" for word in text.split()]


def _fold_pattern(word: str) -> str:
    """Return the regular expression for `word` that ignores accents, as MPD 0.23 cannot."""
    letters = unicodedata.normalize("NFC", word.casefold())
    return "".join(_PATTERNS.get(letter) or re.escape(letter) for letter in letters)


def _tag_filters(library_filter: LibraryFilter) -> list[str]:
    parts = []
    if library_filter.artist:
        # The artist of the album or of the track. MPD has no OR, so this is: not (neither of them).
        name = quote_value(library_filter.artist)
        parts.append(f"(!((artist != {name}) AND (albumartist != {name})))")
    if library_filter.album:
        parts.append(f"(album == {quote_value(library_filter.album)})")
    if library_filter.genre:
        parts.append(f"(genre == {quote_value(library_filter.genre)})")
    return parts


def _join(parts: list[str]) -> str:
    match parts:
        case []:
            return folder_filter("")
        case [part]:
            return part
    return f"({' AND '.join(parts)})"
