"""The queue of an MPD: what is in it, and what comes, moves and goes."""

from collections.abc import Collection

from pi_appliance.errors import Refused
from pi_appliance.model.music import Added, Queue, Source, Uri, Where
from pi_appliance.players import _mpd_adding, _mpd_words
from pi_appliance.players._mpd_door import Door
from pi_appliance.players._mpd_line import EXISTS, NO_SUCH_THING, Line, Said

_UNDER_WAY = "pi-appliance is saving"  # a playlist that is only there while another one is replaced


class Queueing(Door):
    """The part of ports_player.Player that is about the queue."""

    async def queue(self, start: int = 0, count: int = 100) -> Queue:
        """Return COUNT tracks of the queue from position START."""
        async with self._session() as line:
            try:
                status, songs = await line.ask_all(("status",), ("playlistinfo", f"{start}:{start + max(0, count)}"))
            except Said as no:
                if no.place == 0:
                    raise
                status, songs = no.answers[0], b""  # the queue ends before START
            said = _mpd_words.fields(status)
            return Queue(
                tracks=_mpd_words.tracks(songs),
                start=start,
                length=int(said["playlistlength"]),
                version=int(said["playlist"]),
            )

    async def add(self, source: Source, where: Where = Where.END, *, play: bool = False) -> Added:
        """Put SOURCE into the queue, and PLAY it from its first track. What is not known leaves the queue as it was."""
        async with self._session() as line, self._adding:
            position, count = await _mpd_adding.add(line, source, where, play=play)
            name = _mpd_adding.name_of(source)
            if isinstance(source, Uri) and count == 1:
                (track,) = _mpd_words.tracks(await line.ask("playlistinfo", position))
                name = track.label
            return Added(name=name, position=position, count=count)

    async def move(self, id: int, to: int) -> None:  # noqa: A002 - MPD's word
        """Move the track that has ID to position TO."""
        async with self._session() as line:
            # Twice would be harmless, were the ids the same ones after a restart of MPD.
            await line.act("move", ("moveid", id, to))

    async def remove(self, ids: Collection[int]) -> None:
        """Take the tracks that have IDS out of the queue. Those that are gone already do not count."""
        async with self._session() as line:
            await line.ask_each([("deleteid", each) for each in ids], "remove")

    async def clear(self) -> None:
        """Empty the queue."""
        async with self._session() as line:
            await line.ask("clear")

    async def shuffle(self) -> None:
        """Put the queue into a random order."""
        async with self._session() as line:
            await line.ask("shuffle")

    async def save(self, name: str, *, replace: bool = False) -> None:
        """Keep the queue as the playlist NAME. Raises Refused if there is one and it is not to be REPLACEd."""
        async with self._session() as line:
            try:
                await line.act("save", ("save", name))
            except Said as no:
                if no.code != EXISTS:
                    raise
                if not replace:
                    raise Refused(
                        f"there is a playlist called {name!r} already; replace it, or choose another name"
                    ) from None
                await _save_over(line, name)


async def length(line: Line) -> int:
    """Return how many tracks are in the queue."""
    return int(_mpd_words.fields(await line.ask("status"))["playlistlength"])


async def _save_over(line: Line, name: str) -> None:
    """Replace the playlist NAME; a power cut leaves it as it was, or as it shall be."""
    try:
        await line.ask("rm", _UNDER_WAY)  # left by a power cut
    except Said as no:
        if no.code != NO_SUCH_THING:
            raise
    await line.act("save", ("save", _UNDER_WAY), ("rm", name), ("rename", _UNDER_WAY, name))
