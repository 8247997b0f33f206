"""What the parts may ask of a program that makes sound, whichever it is."""

from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from typing import Protocol

from pi_appliance.music.model import (
    AddResult,
    Art,
    Capability,
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
    ReplayGainMode,
    Source,
    TrackRating,
)


class Player(Protocol):
    """A program that makes sound.

    Every call raises Unavailable within a second or so if the player does not answer, and then certainly nothing was
    done; Uncertain where something was asked that, done twice, does two things, and the answer was lost; Refused where
    the player says no or lacks the ability (see `abilities`), in words for people. Positions count from 0. `id` is that
    of a track in the queue: it stays its own while the queue changes around it.
    """

    async def state(self) -> PlayerState:
        """Return what it is doing now."""

    async def abilities(self) -> frozenset[Capability]:
        """Return what it can, as it is set up at this moment."""

    async def play(self, position: int | None = None, *, at: float = 0.0) -> None:
        """Play the track at POSITION, from its second AT on, or go on. Raises Refused if there is nothing there."""

    async def play_id(self, id: int) -> None:  # noqa: A002 - MPD's word
        """Play the track of the queue that has ID. Raises Refused if it is gone."""

    async def pause(self) -> None:
        """Pause; nothing happens unless it plays."""

    async def toggle(self) -> None:
        """Pause if it plays, else play."""

    async def stop(self) -> None:
        """Stop."""

    async def next(self) -> None:
        """Go to the next track."""

    async def previous(self) -> None:
        """Go to the previous track."""

    async def seek(self, seconds: float) -> None:
        """Go to SECONDS from the start of the current track."""

    async def set_volume(self, volume: int) -> None:
        """Set the volume, 0 to 100. Raises Refused where the player has no mixer."""

    async def set_mute(self, on: bool) -> None:
        """Be silent, or as loud as before. Raises Refused where the player itself cannot (Can.MUTE)."""

    async def set_modes(
        self,
        *,
        repeat: bool | None = None,
        random: bool | None = None,
        single: Mode | None = None,
        consume: Mode | None = None,
    ) -> None:
        """Set those that are given."""

    async def set_crossfade(self, seconds: int) -> None:
        """Let tracks overlap by SECONDS; 0: not."""

    async def set_replay_gain(self, gain: ReplayGainMode) -> None:
        """Choose by what loudness is made even."""

    async def outputs(self) -> Sequence[Output]:
        """Return where sound comes out."""

    async def set_output(self, id: int, on: bool) -> None:  # noqa: A002 - MPD's word
        """Switch the output that has ID."""

    async def queue(self, start: int = 0, count: int = 100) -> Queue:
        """Return COUNT tracks of the queue from position START."""

    async def add(self, source: Source, where: QueuePosition = QueuePosition.END, *, play: bool = False) -> AddResult:
        """Put SOURCE into the queue, and PLAY it from its first track. What is not known leaves the queue as it was."""

    async def move(self, id: int, to: int) -> None:  # noqa: A002 - MPD's word
        """Move the track that has ID to position TO."""

    async def remove(self, ids: Collection[int]) -> None:
        """Take the tracks that have IDS out of the queue. Those that are gone already do not count."""

    async def clear(self) -> None:
        """Empty the queue."""

    async def shuffle(self) -> None:
        """Put the queue into a random order."""

    async def save(self, name: str, *, replace: bool = False) -> None:
        """Keep the queue as the playlist NAME. Raises Refused if there is one and it is not to be REPLACEd."""

    async def folder(self, path: str = "", start: int = 0, count: int = 100) -> Page[Entry]:
        """Return folders, tracks and playlist files in the folder PATH of the library, '' for its top."""

    async def library(
        self,
        kind: EntryType,
        wanted: LibraryFilter = LibraryFilter(),  # noqa: B008 - it never changes
        start: int = 0,
        count: int = 100,
    ) -> Page[Entry]:
        """Return the ARTISTs, ALBUMs, GENREs or TRACKs in which WANTED is found, in the order of their names.

        TRACKs come in the order of the library: albums as a whole, and in the order of their tracks.
        """

    async def counts(self, folder: str = "") -> LibraryStats:
        """Return how big the library is, or what of it is in FOLDER (then only its tracks and seconds are counted)."""

    async def update(self, folder: str = "") -> None:
        """Look for what is new in FOLDER, '' for all. It goes on by itself: `PlayerState.updating`."""

    async def playlists(self) -> Sequence[Playlist]:
        """Return the saved playlists, in the order of their names."""

    async def playlist(self, name: str, start: int = 0, count: int = 100) -> Page[Entry]:
        """Return COUNT entries of the playlist NAME. Raises Refused if there is none."""

    async def playlist_add(self, name: str, source: Source) -> None:
        """Put SOURCE at the end of the playlist NAME, which is made if it is not there."""

    async def playlist_remove(self, name: str, positions: Collection[int]) -> None:
        """Take the entries at POSITIONS out of the playlist NAME."""

    async def playlist_move(self, name: str, position: int, to: int) -> None:
        """Move one entry of the playlist NAME."""

    async def rename_playlist(self, name: str, to: str) -> None:
        """Call the playlist NAME otherwise. Raises Refused if there is none, or one of the new name."""

    async def delete_playlist(self, name: str) -> None:
        """Delete the playlist NAME. Raises Refused if there is none."""

    async def opinions(self, uris: Collection[str]) -> Mapping[str, TrackRating]:
        """Return what is thought of those of URIS that something is thought of."""

    async def set_opinion(self, uri: str, opinion: TrackRating) -> None:
        """Keep what is thought of the track URI, in place of what was thought before."""

    async def favourites(self, start: int = 0, count: int = 100) -> Page[Entry]:
        """Return the favourite tracks, in the order of their addresses."""

    async def art(self, uri: str) -> Art | None:
        """Return the picture in the file URI, else that of its folder; None if there is neither."""

    async def partitions(self) -> Sequence[Partition]:
        """Return the partitions there are."""

    async def use_partition(self, name: str) -> None:
        """Speak of the partition NAME from now on, on every connection. Raises Refused if there is none."""

    async def new_partition(self, name: str) -> None:
        """Make a partition."""

    async def delete_partition(self, name: str) -> None:
        """Delete a partition that has no outputs and no listeners. Raises Refused otherwise."""

    async def move_output(self, name: str) -> None:
        """Move the output called NAME into the partition that is spoken of."""

    def changes(self) -> AsyncIterator[frozenset[str]]:
        """Yield the names of what changed, as MPD calls them (player, mixer, playlist, options, database, …).

        The first item comes at once. Raises Unavailable when the player is lost.
        """

    async def close(self) -> None:
        """Let go of every connection."""
