"""Music data classes in MPD's terms, the text forms of sources, and the JSON objects of the API."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from enum import StrEnum
from typing import Annotated, Any, Generic, TypedDict, TypeVar

from pi_appliance.errors import UnknownName
from pi_appliance.system.http import hide_credentials

T = TypeVar("T")
DEFAULT_PARTITION = "default"  # the partition that MPD always has
CONNECTION = "connection"  # a change of the player itself: it appeared, was lost, or was replaced
Sleep = Callable[[float], Awaitable[None]]


class PlaybackState(StrEnum):
    """Whether the player plays."""

    PLAYING = "play"
    PAUSED = "pause"
    STOPPED = "stop"


class Mode(StrEnum):
    """Setting of `single` or `consume`. `ONCE` switches itself off after the next track."""

    OFF = "off"
    ON = "on"
    ONCE = "once"


class ReplayGainMode(StrEnum):
    """ReplayGain: adjust the loudness per track, per album, or as the random mode suggests."""

    OFF = "off"
    TRACK = "track"
    ALBUM = "album"
    AUTO = "auto"


class Capability(StrEnum):
    """Functions that some players lack.

    Without the capability, the player raises Refused with the reason.
    """

    description: str

    def __new__(cls, name: str, description: str) -> "Capability":
        """Create the member `name`.

        Its `description` completes the sentence "this player can …".
        """
        member = str.__new__(cls, name)
        member._value_, member.description = name, description
        return member

    VOLUME = "volume", "set the volume"
    MUTE = "mute", "mute; other players are muted by their volume"
    SEEK = "seek", "seek in a track"
    SINGLE = "single", "stop after each track"
    CONSUME = "consume", "remove played tracks from the queue"
    CROSSFADE = "crossfade", "overlap tracks"
    REPLAY_GAIN = "replay-gain", "even out the loudness of tracks"
    OUTPUTS = "outputs", "enable and disable outputs"
    NEXT = "next", "add after the current track"
    MOVE = "move", "move tracks in the queue"
    REMOVE = "remove", "remove tracks from the queue"
    PRIORITY = "priority", "play some tracks before the others in random mode"
    SHUFFLE = "shuffle", "shuffle the queue"
    SAVE = "save", "save the queue as a playlist"
    PLAYLISTS = "playlists", "list and play playlists"
    EDIT_PLAYLISTS = "edit-playlists", "edit playlists"
    FOLDERS = "folders", "list the folders of the library"
    TAGS = "tags", "list artists, albums and genres"
    SEARCH = "search", "search the library"
    STICKERS = "stickers", "store ratings and favourites; for other players the appliance stores them"
    ART = "art", "return pictures of albums"
    UPDATE = "update", "scan the library for new files"
    PARTITIONS = "partitions", "be several players at once"


class EntryType(StrEnum):
    """Type of an entry of the library, a playlist or the queue."""

    TRACK = "track"
    STREAM = "stream"
    FOLDER = "folder"
    PLAYLIST = "playlist"
    ARTIST = "artist"
    ALBUM = "album"
    GENRE = "genre"


def is_stream(uri: str) -> bool:
    """Return whether `uri` is an address in place of a path in the library."""
    return "://" in uri


@dataclass(frozen=True, slots=True, kw_only=True)
class Track:
    """A file or a stream. `position` and `id` are set if it is in the queue."""

    uri: str
    title: str = ""
    artist: str = ""
    album: str = ""
    album_artist: str = ""
    genre: str = ""
    date: str = ""
    number: str = ""  # number on the album, as tagged
    duration: Annotated[float | None, "seconds; null for a stream"] = None
    position: Annotated[int | None, "in the queue, from 0"] = None
    id: Annotated[int | None, "in the queue; it stays the same while the queue changes"] = None
    label: Annotated[str, "the title, or the last part of the URI"] = field(init=False)

    def __post_init__(self) -> None:
        """Set the label that people see: the title, else the last part of the address."""
        address = hide_credentials(self.uri) if is_stream(self.uri) else self.uri
        object.__setattr__(self, "label", self.title or address.rstrip("/").rsplit("/", 1)[-1])


@dataclass(frozen=True, slots=True, kw_only=True)
class PlayerState:
    """State of the player at one moment."""

    playback: PlaybackState
    track: Track | None = None
    elapsed: float | None = None  # seconds since the start of the track
    volume: int | None = None  # 0 to 100; None without a mixer
    muted: bool = False
    repeat: bool = False
    random: bool = False
    single: Mode = Mode.OFF
    consume: Mode = Mode.OFF
    crossfade: int = 0  # seconds
    replay_gain: ReplayGainMode = ReplayGainMode.OFF
    queue_length: int = 0
    queue_version: int = 0  # increases with every change of the queue
    updating: int | None = None  # number of the running library update
    bitrate: int | None = None  # kbit/s
    audio_format: str = ""  # such as 44100:16:2
    partition: str = ""
    error: str = ""  # latest error, in the player's words


def advanced(state: PlayerState, seconds: float) -> PlayerState:
    """Return `state` as it is `seconds` after it was read, if nothing else changes."""
    if state.playback is not PlaybackState.PLAYING or state.elapsed is None:
        return state
    elapsed, end = state.elapsed + seconds, state.track.duration if state.track else None
    return replace(state, elapsed=elapsed if end is None else min(elapsed, end))


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One entry of a list.

    Tracks and streams have `track`, folders and playlists `uri`, the others only `name`.
    """

    kind: EntryType
    name: str
    uri: str = ""
    artist: str = ""  # artist of an album
    date: str = ""
    track: Track | None = None


def track_entry(track: Track) -> Entry:
    """Return a track as an entry of a list."""
    kind = EntryType.STREAM if is_stream(track.uri) else EntryType.TRACK
    return Entry(kind=kind, name=track.label, uri=track.uri, artist=track.artist, date=track.date, track=track)


@dataclass(frozen=True, slots=True, kw_only=True)
class RatedEntry(Entry):
    """An entry of the list of favourites, with its rating."""

    rating: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Page(Generic[T]):
    """A part of a list, beginning at index `start`."""

    start: int
    length: Annotated[int | None, "the length of the whole list; null if it is not known"]
    more: Annotated[bool, "whether there are items after this page"]
    items: Sequence[T]


def cut_page(items: Sequence[T], start: int, count: int) -> Page[T]:
    """Return `count` of `items`, which are the whole list, from index `start` on."""
    start, end = max(0, start), max(0, start) + max(0, count)
    return Page(items=items[start:end], start=start, length=len(items), more=end < len(items))


def replace_items(page: Page[Any], items: Sequence[T]) -> Page[T]:
    """Return `page` with other items."""
    return Page(items=items, start=page.start, length=page.length, more=page.more)


@dataclass(frozen=True, slots=True, kw_only=True)
class Queue:
    """A part of the queue, beginning at index `start`.

    `length` and `version` are of the whole queue.
    """

    tracks: Sequence[Track]
    start: int
    length: int
    version: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class LibraryFilter:
    """A search in the library.

    All given fields must match: tags exactly, `text` anywhere in any tag.

    `text` ignores upper and lower case; its words may be in different tags.
    """

    artist: str = ""
    album: str = ""
    genre: str = ""
    text: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Uri:
    """A file, a folder or a stream. `title` is the display name of a stream."""

    uri: str
    title: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class SavedPlaylist:
    """A saved playlist, used as a source of tracks."""

    playlist: str


Source = Uri | SavedPlaylist | LibraryFilter
"""Anything that can be added to the queue or to a playlist."""


class QueuePosition(StrEnum):
    """Where to add to the queue."""

    END = "end"
    NEXT = "next"  # insert after the current track
    REPLACE = "replace"  # replace the whole queue


@dataclass(frozen=True, slots=True, kw_only=True)
class AddResult:
    """Tracks added to the queue: number, position of the first, and name of the source."""

    name: str
    position: int
    count: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Playlist:
    """A saved playlist; `modified` is a timestamp as text, if the player reports it."""

    name: str
    modified: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Output:
    """An audio output."""

    id: int
    name: str
    on: bool
    plugin: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Partition:
    """A player within the player, with its own queue, volume and outputs."""

    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class LibraryStats:
    """Size of the library. `seconds` is the total duration, `updated` a Unix timestamp."""

    artists: int
    albums: int
    tracks: int
    seconds: int
    updated: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TrackRating:
    """The owner's rating of a track, from 1 to 10, and whether it is a favourite."""

    rating: int | None = None
    favourite: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class CoverArt:
    """An image of a track or its album; `mime` is its media type."""

    data: bytes
    mime: str


_IMAGE_SIGNATURES = {
    b"\xff\xd8\xff": "image/jpeg",
    b"\x89PNG": "image/png",
    b"GIF8": "image/gif",
    b"BM": "image/bmp",
    b"II*\0": "image/tiff",
}


def detect_image_type(data: bytes) -> str:
    """Return the media type of an image by its first bytes; '' if it is unknown."""
    if data[:4] == b"RIFF" and data[8:12] == b"WEBP":
        return "image/webp"
    return next((mime for start, mime in _IMAGE_SIGNATURES.items() if data.startswith(start)), "")


@dataclass(frozen=True, slots=True, kw_only=True)
class Station:
    """A web radio station."""

    name: str
    url: str
    genre: str = ""
    country: str = ""

    @property
    def details(self) -> str:
        """The fields besides name and address in one line."""
        return " · ".join(filter(None, (self.genre, self.country)))


FORMS = "a station, playlist:NAME, album:NAME, artist:NAME, genre:NAME, search:WORDS, an address, a file or a folder"


def parse_source(text: str, stations: Sequence[Station]) -> Source:
    """Parse one of `FORMS`. Text without a prefix is a station if one has this name, ignoring case.

    Raises:
        UnknownName: there is no such station for `station:NAME`.
        ValueError: the text or the name is empty.
    """
    form, colon, name = text.strip().partition(":")
    name = name.strip()
    if not text.strip() or (colon and form in _FORMS and not name):
        raise ValueError(f"nothing is named to play; write {FORMS}")
    if not colon or form not in _FORMS:
        station = _find_station(text.strip(), stations)
        return Uri(uri=station.url, title=station.name) if station else Uri(uri=text.strip())
    if form == "station":
        station = _find_station(name, stations)
        if station is None:
            raise UnknownName("station", name, [each.name for each in stations])
        return Uri(uri=station.url, title=station.name)
    return SavedPlaylist(playlist=name) if form == "playlist" else _parse_filter(form, name)


def describe_source(source: Source) -> str:
    """Return the name of `source` for a sentence."""
    match source:
        case Uri():
            return source.title or hide_credentials(source.uri)
        case SavedPlaylist():
            return f"the playlist {source.playlist}"
        case LibraryFilter():
            parts = {"album": source.album, "artist": source.artist, "genre": source.genre, "search": source.text}
            return " ".join(f"{key} {value}" for key, value in parts.items() if value) or "the whole library"


def describe_text(text: str) -> str:
    """Return the name of the source `text` for a sentence, without checking whether it exists."""
    form, colon, name = text.strip().partition(":")
    if not colon or form not in _FORMS:
        return text.strip()
    return name.strip() if form == "station" else describe_source(parse_source(text, ()))


_FORMS = ("station", "playlist", "album", "artist", "genre", "search")


def _parse_filter(form: str, name: str) -> LibraryFilter:
    match form:
        case "album":
            return LibraryFilter(album=name)
        case "artist":
            return LibraryFilter(artist=name)
        case "genre":
            return LibraryFilter(genre=name)
    return LibraryFilter(text=name)


def _find_station(name: str, stations: Sequence[Station]) -> Station | None:
    wanted = name.casefold()
    return next((each for each in stations if each.name.casefold() == wanted), None)


def extended(kind: type[T], base: Any, **more: Any) -> T:
    """Return a `kind` with the fields of `base`, whose class it extends, and `more`."""
    return kind(**{each.name: getattr(base, each.name) for each in fields(base)}, **more)


class PlayerJson(TypedDict):
    """The state of the player."""

    play: PlaybackState
    track: Track | None
    elapsed: Annotated[float | None, "seconds"]
    volume: Annotated[int | None, "0 to 100; null if the player has no mixer"]
    muted: bool
    repeat: bool
    random: bool
    single: Mode
    consume: Mode
    crossfade: Annotated[int, "seconds"]
    replay_gain: ReplayGainMode
    queue_length: int
    queue_version: Annotated[int, "changes with the queue"]
    updating: Annotated[int | None, "the number of the current update of the library"]
    bitrate: Annotated[int | None, "kbit/s"]
    audio: Annotated[str, "as in 44100:16:2"]
    partition: str
    error: Annotated[str, "the last error, as the player reports it"]


def list_state(state: PlayerState | None) -> Mapping[str, Any] | None:
    """Return the state for which a page draws a list. The script compares it with /events."""
    if state is None:
        return None
    return {**player_values(state), "track": {"id": state.track.id if state.track else None}}


def player_values(state: PlayerState) -> PlayerJson:
    """Return the state of the player as a JSON object."""
    return {
        "play": state.playback,
        "track": state.track,
        "elapsed": None if state.elapsed is None else round(state.elapsed, 1),
        "volume": state.volume,
        "muted": state.muted,
        "repeat": state.repeat,
        "random": state.random,
        "single": state.single,
        "consume": state.consume,
        "crossfade": state.crossfade,
        "replay_gain": state.replay_gain,
        "queue_length": state.queue_length,
        "queue_version": state.queue_version,
        "updating": state.updating,
        "bitrate": state.bitrate,
        "audio": state.audio_format,
        "partition": state.partition,
        "error": state.error,
    }
