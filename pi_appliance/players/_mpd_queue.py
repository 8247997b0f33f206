"""The queue of an MPD: what is in it, and what comes, moves and goes."""

from collections.abc import Collection
from pathlib import PurePosixPath

from pi_appliance.core import sources
from pi_appliance.errors import Refused
from pi_appliance.model.music import Added, Queue, Saved, Source, Track, Uri, Wanted, Where
from pi_appliance.players import _mpd_filter, _mpd_words
from pi_appliance.players._mpd_door import Door
from pi_appliance.players._mpd_line import EXISTS, NO_SUCH_THING, TOO_MANY, Command, Line, Said, word

_LISTS = {".m3u", ".m3u8", ".pls", ".xspf", ".asx", ".cue"}  # files that hold a playlist
_SOONEST = 255  # MPD's greatest priority: in random order, this comes next
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
        command, name = _command(source), _name(source)
        async with self._session() as line, self._adding:
            status, answer, count = await _append(line, source, command, where)
            position, then = _places(where, status, count)
            if isinstance(source, Uri) and source.title and _mpd_words.is_stream(source.uri):  # a file has its own tags
                then.append(("addtagid", _mpd_words.fields(answer)["id"], "title", source.title))
            if play:
                then.append(("play", position))
            if then:
                await line.act("add", *then)
            if isinstance(source, Uri) and count == 1:
                name = (await _track_at(line, position)).label
            return Added(name=name, position=position, count=count)

    async def move(self, id: int, to: int) -> None:  # noqa: A002 - MPD's word
        """Move the track that has ID to position TO."""
        async with self._session() as line:
            # Twice would be harmless, were the ids the same ones after a restart of MPD.
            await line.act("move", ("moveid", id, to))

    async def remove(self, ids: Collection[int]) -> None:
        """Take the tracks that have IDS out of the queue. Those that are gone already do not count."""
        left: list[Command] = [("deleteid", each) for each in ids]
        async with self._session() as line:
            while left:
                try:
                    await line.act("remove", *left)
                except Said as no:
                    if no.code != NO_SUCH_THING:
                        raise
                    del left[: no.place + 1]
                else:
                    return

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
                    raise Refused(f"there is a playlist called {name!r} already") from None
                await _save_over(line, name)


async def length(line: Line) -> int:
    """Return how many tracks are in the queue."""
    return int(_mpd_words.fields(await line.ask("status"))["playlistlength"])


async def _append(line: Line, source: Source, command: Command, where: Where) -> tuple[dict[str, str], bytes, int]:
    """Put what COMMAND adds behind the queue; return the status before, the answer, and how many tracks came."""
    try:
        before, answer, after = await line.act("add", ("status",), command, ("status",))
    except Said as no:
        if no.place != 1:
            raise
        await _take_back(line, int(_mpd_words.fields(no.answers[0])["playlistlength"]))
        if no.code == NO_SUCH_THING and command[0] == "add" and PurePosixPath(str(command[1])).suffix in _LISTS:
            return await _append(line, source, ("load", command[1]), where)
        if no.code == TOO_MANY and where is Where.INSTEAD:
            return await _in_place_of_a_full_one(line, command)
        raise _not_added(source, no) from None
    status = _mpd_words.fields(before)
    count = int(_mpd_words.fields(after)["playlistlength"]) - int(status["playlistlength"])
    if count <= 0:
        if isinstance(source, Uri):
            raise Refused(f"{_name(source)} holds nothing that can be played")
        raise _nothing(source)
    return status, answer, count


async def _take_back(line: Line, length_before: int) -> None:
    """Let the queue be as long as it was; MPD keeps what it has added up to the one that did not fit."""
    if await length(line) > length_before:
        await line.act("add", ("delete", f"{length_before}:"))


async def _in_place_of_a_full_one(line: Line, command: Command) -> tuple[dict[str, str], bytes, int]:
    """Empty the queue, then add: what is known to be there, and did not fit beside the old one. The rest stays out."""
    try:
        _, before, answer, after = await line.act("add", ("clear",), ("status",), command, ("status",))
    except Said as no:
        if no.code != TOO_MANY:
            raise
        before, answer, after = no.answers[1], b"", await line.ask("status")
    return _mpd_words.fields(before), answer, int(_mpd_words.fields(after)["playlistlength"])


def _places(where: Where, status: dict[str, str], count: int) -> tuple[int, list[Command]]:
    """Return where COUNT tracks at the end of the queue belong, and what brings them there. STATUS is from before."""
    end = int(status["playlistlength"])
    match where:
        case Where.INSTEAD:
            return 0, [("stop",), ("delete", f"0:{end}")] if end else []
        case Where.NEXT:
            position = int(status["song"]) + 1 if "song" in status else 0
            then: list[Command] = [("move", f"{end}:{end + count}", position)] if position != end else []
            if status.get("random") == "1":
                then.append(("prio", _SOONEST, f"{position}:{position + count}"))
            return position, then
    return end, []


def _command(source: Source) -> Command:
    match source:
        case Uri() if _mpd_words.is_stream(source.uri):
            word(source.title)  # else one that cannot be said would come up when the stream is in the queue
            return ("addid", source.uri)
        case Uri():
            if not source.uri:
                raise Refused("nothing is named to add")
            return ("add", source.uri.strip("/"))
        case Saved():
            return ("load", source.playlist)
        case Wanted():
            find, expression = _mpd_filter.songs(source)
            return (f"{find}add", expression)


def _name(source: Source) -> str:
    match source:
        case Uri():
            return source.title or _mpd_words.last_part(source.uri.strip("/"))
        case Saved():
            return source.playlist
        case Wanted():
            return sources.describe(source)


def _nothing(source: Source) -> Refused:
    if isinstance(source, Saved):
        return Refused(f"the playlist {source.playlist!r} is empty")
    return Refused(f"nothing in the library is {sources.describe(source)}")


def _not_added(source: Source, no: Said) -> Refused | Said:
    match source:
        case _ if no.code == TOO_MANY:
            return Refused("the queue would be longer than MPD lets it be (max_playlist_length in mpd.conf)")
        case Saved() if no.code == NO_SUCH_THING:
            return Refused(f"there is no playlist called {source.playlist!r}")
        case Uri() if not _mpd_words.is_stream(source.uri) and no.code == NO_SUCH_THING:
            return Refused(f"the library has no {source.uri!r}; MPD says: {no.words}")
    return no


async def _track_at(line: Line, position: int) -> Track:
    (found,) = _mpd_words.tracks(await line.ask("playlistinfo", position))
    return found


async def _save_over(line: Line, name: str) -> None:
    """Replace the playlist NAME; a power cut leaves it as it was, or as it shall be."""
    try:
        await line.ask("rm", _UNDER_WAY)  # left by a power cut
    except Said as no:
        if no.code != NO_SUCH_THING:
            raise
    await line.act("save", ("save", _UNDER_WAY), ("rm", name), ("rename", _UNDER_WAY, name))
