"""What Volumio says, in our words: its state, the items of its queue, and those of the pages one browses."""

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from hashlib import blake2b
from typing import Any
from urllib.parse import unquote

from pi_appliance.model.music import Entry, Kind, Mode, Play, PlayerState, Track

ROOT = "music-library"
Item = Mapping[str, Any]
_SONGS = {"song", "track", "cuesong", "webradio", "mywebradio"}
_TAGS = {  # what a page is of, by how many names its address has
    "artists": (Kind.ARTIST, Kind.ALBUM),
    "albums": (Kind.ALBUM, Kind.ALBUM),
    "genres": (Kind.GENRE, Kind.ARTIST, Kind.ALBUM),
}


def state(said: Item, queue: Sequence[Track], version: int) -> PlayerState:
    """Return what getState says (seek in ms, duration in s), beside the whole QUEUE."""
    play, mixer = Play(said["status"]), not said.get("disableVolumeControl")
    seek, volume = _number(said.get("seek")), _number(said.get("volume"))
    return PlayerState(
        play=play,
        track=_current(said, queue),
        elapsed=None if seek is None or play is Play.STOPPED else seek / 1000,
        volume=min(100, max(0, round(volume))) if mixer and volume is not None else None,
        muted=said.get("mute") is True,
        repeat=said.get("repeat") is True,  # null until somebody sets it
        random=said.get("random") is True,
        single=Mode.ON if said.get("repeatSingle") is True else Mode.OFF,
        consume=Mode.ON if said.get("consume") is True else Mode.OFF,
        queue_length=len(queue),
        queue_version=version,
        updating=1 if said.get("updatedb") is True else None,
        bitrate=_whole(said.get("bitrate")),
        audio=_audio(said),
    )


def is_stream(said: Item) -> bool:
    """Say whether a state or an item is of the radio. `stream` alone does not tell: it may be a file's type."""
    return "webradio" in (said.get("service"), said.get("trackType"), said.get("type")) or said.get("stream") is True


def queue(items: Iterable[Item]) -> list[Track]:
    """Return the queue. Ids follow from the address and which of several with that address it is.

    So they stay their own while the queue changes around them, for every program that looks at it.
    """
    seen: Counter[str] = Counter()
    tracks = []
    for position, item in enumerate(items):
        uri = address(item)
        seen[uri] += 1
        digest = blake2b(f"{seen[uri]} {uri}".encode("utf-8", "surrogatepass"), digest_size=6)
        tracks.append(_track(item, position, int.from_bytes(digest.digest(), "big")))
    return tracks


def address(item: Item) -> str:
    """Return where an item is: of files the address by which one browses, for the queue has another for some."""
    uri = _text(item.get("uri"))
    return f"{ROOT}/{uri.removeprefix('mnt/')}" if uri.startswith("mnt/") else uri


def entry(item: Item) -> Entry | None:
    """Return one item of a page; None for what has no name or no address."""
    name, uri = _text(item.get("title") or item.get("name")), address(item)
    scheme, _, rest = uri.partition("://")
    names = [unquote(part) for part in rest.split("/")]
    if not uri:
        return None
    if scheme in _TAGS and rest:
        kinds = _TAGS[scheme]
        kind = kinds[min(len(names), len(kinds)) - 1]
        artist = _text(item.get("artist")) or (names[-2] if len(names) > 1 else "")
        if not (name or names[-1]):
            return None  # all that has no such tag
        if kind is not Kind.ALBUM:
            return Entry(kind=kind, name=name or names[-1], uri=uri)
        return Entry(kind=kind, name=name or names[-1], uri=uri, artist=artist, date=_text(item.get("year")))
    if item.get("type") in _SONGS:
        kind, track = Kind.STREAM if is_stream(item) else Kind.TRACK, _track(item)
        return Entry(kind=kind, name=track.label, uri=uri, artist=track.artist, track=track)
    kind = Kind.PLAYLIST if item.get("type") == "playlist" or uri.startswith("playlists/") else Kind.FOLDER
    return Entry(kind=kind, name=name or uri, uri=uri)


def seconds(clock: Any) -> int:
    """Return h:mm:ss in seconds; of what is none, 0."""
    parts = str(clock).split(":")
    if not all(part.isascii() and part.isdecimal() for part in parts):
        return 0
    total = 0
    for part in parts:
        total = total * 60 + int(part)
    return total


def _current(said: Item, queued: Sequence[Track]) -> Track | None:
    position, track = said.get("position"), _track(said)
    if not track.uri and not track.title:
        return None
    if not isinstance(position, int) or not 0 <= position < len(queued) or queued[position].uri != track.uri:
        return track  # such as what a phone sends over AirPlay
    return _track(said, position, queued[position].id)


def _track(item: Item, position: int | None = None, id: int | None = None) -> Track:  # noqa: A002 - MPD's word
    number = _text(item.get("tracknumber"))
    length = _number(item.get("duration"))
    return Track(
        uri=address(item),
        title=_text(item.get("title") or item.get("name")),
        artist=_text(item.get("artist")),
        album=_text(item.get("album")),
        genre=_text(item.get("genre")),
        date=_text(item.get("year")),
        number="" if number == "0" else number,
        duration=length if length and not is_stream(item) else None,
        position=position,
        id=id,
    )


def _audio(said: Item) -> str:
    """Return 44100:16:2 of "44.1 kHz", "16 bit" and 2; '' if any of them is not told."""
    rate, bits = _number(said.get("samplerate")), _whole(said.get("bitdepth"))
    channels = _whole(said.get("channels"))
    if not rate or not bits or not channels:
        return ""
    return f"{round(rate * 1000) if rate < 1000 else round(rate)}:{bits}:{channels}"


def _whole(value: Any) -> int | None:
    number = _number(value)
    return None if number is None else round(number)


def _number(value: Any) -> float | None:
    """Return the number that VALUE is or begins with; a unit may follow."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    found = re.match(r"\s*-?\d{1,15}(\.\d{1,9})?(?=[\s%a-zA-Z]|$)", str(value))
    return float(found[0]) if found else None


def _text(value: Any) -> str:
    return str(value) if isinstance(value, str | int) and not isinstance(value, bool) else ""
