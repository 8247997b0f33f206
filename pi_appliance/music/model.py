"""Music, in MPD's words: track, queue, state, library, playlist, output, partition, station; and what a player can."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Generic, TypeVar

T = TypeVar("T")


class Play(StrEnum):
    """What the player is doing."""

    PLAYING = "play"
    PAUSED = "pause"
    STOPPED = "stop"


class Mode(StrEnum):
    """How `single` or `consume` is set; once: until it has done its work one time."""

    OFF = "off"
    ON = "on"
    ONCE = "once"


class ReplayGainMode(StrEnum):
    """ReplayGain: by what the loudness of tracks is made even."""

    OFF = "off"
    TRACK = "track"
    ALBUM = "album"
    AUTO = "auto"


class Capability(StrEnum):
    """What not every player can. Asked for without it, the player raises Refused and says why."""

    VOLUME = "volume"
    MUTE = "mute"  # by itself; the appliance mutes others by their volume
    SEEK = "seek"
    SINGLE = "single"
    CONSUME = "consume"
    CROSSFADE = "crossfade"
    REPLAY_GAIN = "replay-gain"
    OUTPUTS = "outputs"
    NEXT = "next"  # put something right behind the current track
    MOVE = "move"
    REMOVE = "remove"
    SHUFFLE = "shuffle"
    SAVE = "save"  # the queue, as a playlist
    PLAYLISTS = "playlists"  # list and play them
    EDIT_PLAYLISTS = "edit-playlists"
    FOLDERS = "folders"
    TAGS = "tags"  # the library by artist, album, genre
    SEARCH = "search"
    STICKERS = "stickers"  # ratings and favourites that are kept beside the library
    ART = "art"
    UPDATE = "update"
    PARTITIONS = "partitions"


class EntryType(StrEnum):
    """What an entry of the library, of a playlist or of the queue is."""

    TRACK = "track"
    STREAM = "stream"
    FOLDER = "folder"
    PLAYLIST = "playlist"
    ARTIST = "artist"
    ALBUM = "album"
    GENRE = "genre"


@dataclass(frozen=True, slots=True, kw_only=True)
class Track:
    """One thing that can be played. `position` and `id` are its place in the queue, where it has one."""

    uri: str
    title: str = ""
    artist: str = ""
    album: str = ""
    album_artist: str = ""
    genre: str = ""
    date: str = ""
    number: str = ""  # on its album, as the tag says
    duration: float | None = None  # seconds; None for a stream
    position: int | None = None  # from 0
    id: int | None = None

    @property
    def label(self) -> str:
        """What to call it: its title, else the last part of its address."""
        return self.title or self.uri.rstrip("/").rsplit("/", 1)[-1]


@dataclass(frozen=True, slots=True, kw_only=True)
class PlayerState:
    """What a player says of itself at one moment."""

    play: Play
    track: Track | None = None
    elapsed: float | None = None  # seconds
    volume: int | None = None  # 0 to 100; None where the player has no mixer
    muted: bool = False
    repeat: bool = False
    random: bool = False
    single: Mode = Mode.OFF
    consume: Mode = Mode.OFF
    crossfade: int = 0  # seconds
    replay_gain: ReplayGainMode = ReplayGainMode.OFF
    queue_length: int = 0
    queue_version: int = 0  # another one whenever the queue is another
    updating: int | None = None  # the number of the update of the library that goes on
    bitrate: int | None = None  # kbit/s
    audio: str = ""  # as in 44100:16:2, where the player tells
    partition: str = ""
    error: str = ""  # what went wrong last, in the player's own words


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One line of a list. TRACK and STREAM have a track; a FOLDER or PLAYLIST a uri; the others are found by name."""

    kind: EntryType
    name: str
    uri: str = ""
    artist: str = ""  # whose album it is
    date: str = ""
    track: Track | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Page(Generic[T]):
    """A part of a list: `items` from `start` on. `length` is that of the whole; None: nobody has counted."""

    items: Sequence[T]
    start: int
    length: int | None
    more: bool  # whether there is something behind it


@dataclass(frozen=True, slots=True, kw_only=True)
class Queue:
    """A window of what plays next, how long the whole is, and which one."""

    tracks: Sequence[Track]
    start: int
    length: int
    version: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class LibraryFilter:
    """What is looked for in the library: all that is given must hold. Tags are matched whole, `text` anywhere.

    Capitals do not count in `text`; its words may stand in any tags.
    """

    artist: str = ""
    album: str = ""
    genre: str = ""
    text: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Uri:
    """A file, a folder or a stream. `title` is what to call a stream."""

    uri: str
    title: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class SavedPlaylist:
    """A saved playlist."""

    playlist: str


Source = Uri | SavedPlaylist | LibraryFilter
"""What can be put into the queue or into a playlist."""


class QueuePosition(StrEnum):
    """Where in the queue."""

    END = "end"
    NEXT = "next"  # behind the current track
    INSTEAD = "instead"  # of all that is there


@dataclass(frozen=True, slots=True, kw_only=True)
class AddResult:
    """What came into the queue: how many tracks, from which position on, and what to call it."""

    name: str
    position: int
    count: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Playlist:
    """A saved list. `changed` is an instant as text, where the player tells."""

    name: str
    changed: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Output:
    """Where sound comes out."""

    id: int
    name: str
    on: bool
    plugin: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Partition:
    """A player within the player: a queue, a volume and outputs of its own."""

    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class LibraryStats:
    """How big the library is; `updated` is an instant in seconds since 1970."""

    artists: int
    albums: int
    tracks: int
    seconds: int
    updated: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TrackRating:
    """What the household thinks of a track: a rating from 1 to 10, and whether it is a favourite."""

    rating: int | None = None
    favourite: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Art:
    """A picture of a track or of its album."""

    data: bytes
    mime: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Station:
    """A web radio station."""

    name: str
    url: str
    genre: str = ""
    country: str = ""
