"""The interface that every player implements."""

from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from typing import Any, Protocol

from pi_appliance.errors import Refused
from pi_appliance.music.model import (
    AddResult,
    Capability,
    CoverArt,
    Entry,
    EntryType,
    LibraryFilter,
    LibraryStats,
    Mode,
    Output,
    Page,
    Partition,
    PlayerState,
    Playlist,
    Queue,
    QueuePosition,
    Source,
    TrackRating,
)
from pi_appliance.music.player_settings import PlayerSetting

NO_PLAYER = 'no player is configured; write  player: {kind: mpd}  into appliance.yaml and see "pi-appliance music"'


class Player(Protocol):
    """A program that plays music.

    Every call raises one of three errors. `Unavailable`: the player does not answer; raised within
    about a second, and certainly nothing was done. `Uncertain`: a command that must not be repeated
    was sent and the answer was lost. `Refused`: the player rejects the command or lacks the
    capability; the message is for users.

    Positions count from 0. An `id` belongs to one track in the queue and stays the same when others
    move.

    A method with a body is for a capability that few players have; others inherit the refusal.
    """

    async def state(self) -> PlayerState:
        """Return the current state of the player."""

    async def capabilities(self) -> frozenset[Capability]:
        """Return the supported functions with the player's current setup."""

    async def play(self, position: int | None = None, *, at: float = 0.0) -> None:
        """Play the track at `position` from second `at` on; without a position, resume.

        Raises Refused if none.
        """

    async def play_id(self, id: int) -> None:  # noqa: A002 - MPD's word
        """Play the queued track with the id `id`. Raises Refused if it has left the queue."""

    async def pause(self) -> None:
        """Pause if music plays."""

    async def toggle(self) -> None:
        """Pause if music plays, otherwise play."""

    async def stop(self) -> None:
        """Stop playback."""

    async def next(self) -> None:
        """Play the next track."""

    async def previous(self) -> None:
        """Play the previous track."""

    async def seek(self, seconds: float) -> None:
        """Seek to `seconds` from the start of the current track."""

    async def set_volume(self, volume: int) -> None:
        """Set the volume, 0 to 100. Raises Refused without a mixer."""

    async def set_mute(self, on: bool) -> None:
        """Mute or unmute. Raises Refused without `Capability.MUTE`."""

    async def set_modes(
        self,
        *,
        repeat: bool | None = None,
        random: bool | None = None,
        single: Mode | None = None,
        consume: Mode | None = None,
    ) -> None:
        """Set the given modes; `None` leaves a mode as it is."""

    async def change_setting(self, setting: PlayerSetting, value: Any) -> None:
        """Set `setting` to `value`. Raises Refused if the player lacks its capability."""

    async def list_outputs(self) -> Sequence[Output]:
        """Return the audio outputs."""

    async def set_output(self, id: int, on: bool) -> None:  # noqa: A002 - MPD's word
        """Enable or disable the output `id`."""

    async def list_queue(self, start: int = 0, count: int = 100) -> Queue:
        """Return `count` tracks of the queue from position `start` on."""

    async def add_source(
        self, source: Source, where: QueuePosition = QueuePosition.END, *, play: bool = False
    ) -> AddResult:
        """Add `source` to the queue; with `play`, play its first track.

        An unknown source raises Refused and leaves the queue unchanged.
        """

    async def move_track(self, id: int, to: int) -> None:  # noqa: A002 - MPD's word
        """Move the queued track `id` to position `to`."""

    async def remove_tracks(self, ids: Collection[int]) -> None:
        """Remove tracks from the queue. Unknown ids are ignored."""

    async def set_priority(self, ids: Collection[int], priority: int) -> None:  # noqa: ARG002
        """Set the priority of queued tracks, 0 to 255; in random mode, higher ones come first."""
        raise Refused(f"this player cannot {Capability.PRIORITY.description}; MPD can")

    async def clear_queue(self) -> None:
        """Empty the queue."""

    async def shuffle_queue(self) -> None:
        """Reorder the queue randomly."""

    async def save_queue(self, name: str, *, replace: bool = False) -> None:
        """Save the queue as a playlist.

        Raises Refused if `name` exists, unless `replace` is set.
        """

    async def list_directory(self, path: str = "", start: int = 0, count: int = 100) -> Page[Entry]:
        """Return the folders, tracks and playlist files in a folder, by default in the top one."""

    async def list_library(
        self,
        kind: EntryType,
        library_filter: LibraryFilter = LibraryFilter(),  # noqa: B008 - it is immutable
        start: int = 0,
        count: int = 100,
    ) -> Page[Entry]:
        """Return the artists, albums, genres or tracks that match, sorted by name.

        Tracks are sorted by album, then by their number.
        """

    async def library_stats(self, folder: str = "") -> LibraryStats:
        """Return the size of the library.

        For a `folder`, only the number of tracks and their seconds are known.
        """

    async def update_library(self, folder: str = "") -> None:
        """Start to scan `folder` for changes, or the whole library if it is empty.

        `PlayerState.updating` shows when the scan has ended.
        """

    async def list_playlists(self) -> Sequence[Playlist]:
        """Return the saved playlists, sorted by name."""

    async def list_playlist(self, name: str, start: int = 0, count: int = 100) -> Page[Entry]:
        """Return `count` entries of a playlist. Raises Refused if it does not exist."""

    async def add_to_playlist(self, name: str, source: Source) -> None:
        """Append `source` to a playlist, which is created if it does not exist."""

    async def remove_from_playlist(self, name: str, positions: Collection[int]) -> None:
        """Remove the entries at `positions` from a playlist."""

    async def move_in_playlist(self, name: str, position: int, to: int) -> None:
        """Move one entry of a playlist."""

    async def rename_playlist(self, name: str, to: str) -> None:
        """Rename a playlist. Raises Refused if it does not exist or the new name is taken."""

    async def delete_playlist(self, name: str) -> None:
        """Delete a playlist. Raises Refused if it does not exist."""

    async def ratings(self, uris: Collection[str]) -> Mapping[str, TrackRating]:
        """Return the ratings of the tracks in `uris`. Tracks without a rating are left out."""

    async def set_rating(self, uri: str, rating: TrackRating) -> None:
        """Replace the rating of a track."""

    async def list_favourites(self, start: int = 0, count: int = 100) -> Page[Entry]:
        """Return the favourite tracks, sorted by URI."""

    async def album_art(self, uri: str) -> CoverArt | None:
        """Return the image in the file `uri`, or else the image of its folder.

        `None` without one.
        """

    async def list_partitions(self) -> Sequence[Partition]:
        """Return the partitions: players within the player, each with its own queue."""

    async def use_partition(self, name: str) -> None:
        """Use another partition from now on, on every connection.

        Raises Refused if it does not exist.
        """

    async def create_partition(self, name: str) -> None:
        """Create a partition."""

    async def delete_partition(self, name: str) -> None:
        """Delete a partition. Raises Refused if it has outputs or clients."""

    async def limit_other_partitions(self, limit: int) -> Sequence[str]:
        """Lower the volume of all partitions but the current one; return their names."""

    async def move_output(self, name: str) -> None:
        """Move the output `name` into the current partition."""

    def watch_changes(self) -> AsyncIterator[frozenset[str]]:
        """Yield the names of changed MPD subsystems: player, mixer, playlist, options, ...

        The first item comes at once. Raises Unavailable when the player is lost.
        """

    async def close(self) -> None:
        """Close all connections."""
