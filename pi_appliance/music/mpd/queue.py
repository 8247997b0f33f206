"""How something comes into the queue of an MPD: at its end, behind the current track, or in place of all.

What is done in one list of commands nobody else's come between. So a queue is never replaced by halves.
"""

from collections.abc import Collection, Sequence
from pathlib import PurePosixPath

from pi_appliance.errors import Refused, suggest
from pi_appliance.music import sources
from pi_appliance.music.model import (
    AddResult,
    Entry,
    LibraryFilter,
    Page,
    Playlist,
    Queue,
    QueuePosition,
    SavedPlaylist,
    Source,
    Track,
    Uri,
)
from pi_appliance.music.mpd import parsing
from pi_appliance.music.mpd.connection import (
    EXISTS,
    NO_SUCH_THING,
    TOO_MANY,
    Command,
    MpdAckError,
    MpdClientBase,
    MpdConnection,
    quote,
)

_LISTS = {".m3u", ".m3u8", ".pls", ".xspf", ".asx", ".cue"}  # files that hold a playlist
_SOONEST = 255  # MPD's greatest priority: in random order, this comes next
_FEW = 100  # entries of a playlist that are looked up at once
_TOO_MANY = "the queue would be longer than MPD lets it be (max_playlist_length in mpd.conf)"

Came = tuple[int, int]
"""From which position on, and how many."""


def name_of(source: Source) -> str:
    """Return what to call SOURCE."""
    match source:
        case Uri():
            return source.title or parsing.last_part(source.uri.strip("/"))
        case SavedPlaylist():
            return source.playlist
        case LibraryFilter():
            return sources.describe_source(source)


async def add(line: MpdConnection, source: Source, where: QueuePosition, *, play: bool) -> Came:
    """Put SOURCE into the queue. Raises Refused, and leaves the queue as it was, if there is no such thing."""
    command = await _how(line, source)
    if where is QueuePosition.REPLACE:
        return await _instead(line, source, command, play=play)
    status, answer, count = await _append(line, source, command)
    position, then = _places(where, status, count)
    then += _title(source, answer)
    if play:
        then.append(("play", position))
    if then:
        await line.act("add", *then)
    return position, count


async def _how(line: MpdConnection, source: Source) -> Command:
    """Return the command that adds SOURCE, which is there. Raises Refused, in words, if it is not."""
    match source:
        case Uri() if parsing.is_stream(source.uri):
            quote(source.title)  # what cannot be said would come up when the stream is in the queue already
            await must_be_known(line, source.uri)
            return ("addid", source.uri)
        case Uri():
            return await _how_from_library(line, source.uri)
        case SavedPlaylist():
            if not parsing.is_stored(source.playlist):
                raise Refused(f"there is no playlist called {source.playlist!r}")
            if not await _holds_something(line, source.playlist):
                raise Refused(f"the playlist {source.playlist!r} holds nothing that can be played")
            return ("load", source.playlist)
        case LibraryFilter():
            find, expression = parsing.songs(source)
            if not await line.ask(find, expression, "window", "0:1"):
                raise Refused(f"nothing in the library is {sources.describe_source(source)}")
            return (f"{find}add", expression)


async def _how_from_library(line: MpdConnection, uri: str) -> Command:
    path = uri.strip("/")
    if not uri:
        raise Refused("nothing is named to add")
    if not parsing.is_inside(path):
        raise Refused(f"the library has no {uri!r}")
    try:
        if await line.ask("find", parsing.within(path), "window", "0:1"):
            return ("add", path)
    except MpdAckError as no:
        if no.code != NO_SUCH_THING:
            raise
        if PurePosixPath(path).suffix.lower() in _LISTS and await _holds_something(line, path):
            return ("load", path)
        raise Refused(f"the library has no {uri!r}") from None
    raise Refused(f"{parsing.last_part(path)} holds nothing that can be played")


async def must_be_known(line: MpdConnection, uri: str) -> None:
    """Raise Refused if MPD does not know what to do with an address such as URI, or it is a file of the machine.

    Who comes through a socket may have MPD play any file; who holds a phone may not.
    """
    if uri.lower().startswith("file:"):
        raise Refused(f"{uri!r} is a file outside the library; put it into the folder of the music")
    known = parsing.values(await line.ask("urlhandlers"), "handler")
    if not any(uri.lower().startswith(each) for each in known):
        raise Refused(f"MPD cannot play addresses that begin with {uri.partition('://')[0]}://")


async def _holds_something(line: MpdConnection, name: str) -> bool:
    """Say whether something in the playlist NAME can be played. Raises Refused if there is no such playlist."""
    try:
        uris = parsing.values(await line.ask("listplaylist", name), "file")
    except MpdAckError as no:
        if no.code != NO_SUCH_THING:
            raise
        raise await no_playlist(line, name) from None
    if not all(map(parsing.is_inside, uris)):
        return True
    for start in range(0, len(uris), _FEW):
        if any(await line.ask_each([("lsinfo", uri) for uri in uris[start : start + _FEW]])):
            return True
    return False


async def no_playlist(line: MpdConnection, name: str) -> Refused:
    """Return the error that says that there is no playlist NAME, with the nearest one."""
    known = parsing.values(await line.ask("listplaylists"), "playlist")
    return Refused(f"there is no playlist called {name!r}; {suggest(name, known)}")


async def _instead(line: MpdConnection, source: Source, command: Command, *, play: bool) -> Came:
    """Let the queue be what COMMAND adds and nothing else. What is too long for any queue, as far as it goes."""
    playing: Sequence[Command] = [("play", 0)] if play else []
    try:
        _, answer, status, *_ = await line.act("add", ("clear",), command, ("status",), *playing)
    except MpdAckError as no:
        if no.code != TOO_MANY:
            raise
        answer, status = b"", (await line.act("add", ("status",), *playing))[0]
    if then := _title(source, answer):
        await line.act("add", *then)
    return 0, int(parsing.fields(status)["playlistlength"])


async def _append(line: MpdConnection, source: Source, command: Command) -> tuple[dict[str, str], bytes, int]:
    """Put what COMMAND adds behind the queue; return the status before, the answer, and how many tracks came."""
    try:
        before, answer, after = await line.act("add", ("status",), command, ("status",))
    except MpdAckError as no:
        if no.code != TOO_MANY or no.place != 1:
            raise
        # MPD keeps what it has added up to the one that did not fit.
        length = int(parsing.fields(no.answers[0])["playlistlength"])
        await line.act("add", ("delete", f"{length}:"))
        raise Refused(_TOO_MANY) from None
    status = parsing.fields(before)
    count = int(parsing.fields(after)["playlistlength"]) - int(status["playlistlength"])
    if count <= 0:
        raise Refused(f"MPD added nothing of {name_of(source)}")
    return status, answer, count


def _places(where: QueuePosition, status: dict[str, str], count: int) -> tuple[int, list[Command]]:
    """Return where COUNT tracks at the end of the queue belong, and what brings them there. STATUS is from before."""
    end = int(status["playlistlength"])
    if where is QueuePosition.END:
        return end, []
    position = int(status["song"]) + 1 if "song" in status else 0
    then: list[Command] = [("move", f"{end}:{end + count}", position)] if position != end else []
    if status.get("random") == "1":
        then.append(("prio", _SOONEST, f"{position}:{position + count}"))
    return position, then


def _title(source: Source, answer: bytes) -> list[Command]:
    """Return what gives a stream its title; a file has tags of its own. ANSWER is that of `addid`."""
    if isinstance(source, Uri) and source.title and parsing.is_stream(source.uri):
        return [("addtagid", parsing.fields(answer)["id"], "title", source.title)]
    return []


class PlaylistCommands(MpdClientBase):
    """The part of ports_player.Player that is about saved playlists."""

    async def list_playlists(self) -> Sequence[Playlist]:
        """Return the saved playlists, in the order of their names."""
        async with self._session() as line:
            found = parsing.records(await line.ask("listplaylists"), {"playlist"})
            lists = [Playlist(name=each["playlist"], modified=each.get("last-modified", "")) for each in found]
            return sorted(lists, key=lambda each: parsing.order(each.name))

    async def list_playlist(self, name: str, start: int = 0, count: int = 100) -> Page[Entry]:
        """Return COUNT entries of the playlist NAME. Raises Refused if there is none."""
        async with self._session() as line:
            # MPD cuts no window before 0.24, and the tags of many are more than it says at once. Names are little.
            cut = parsing.window(await _uris(line, name), start, count)
            return parsing.pad_page(cut, await entries(line, cut.items))

    async def add_to_playlist(self, name: str, source: Source) -> None:
        """Put SOURCE at the end of the playlist NAME, which is made if it is not there."""
        async with self._session() as line:
            match source:
                case Uri():
                    if parsing.is_stream(source.uri):
                        await must_be_known(line, source.uri)
                    await _change(line, "add", _one(name, source), none=f"the library has no {source.uri!r}")
                case SavedPlaylist():
                    uris = await _uris(line, source.playlist)
                    await line.ask_each([("playlistadd", name, uri) for uri in uris], "add")
                case LibraryFilter():
                    await _must_be_there(line, source)
                    await _change(line, "add", ("searchaddpl", name, parsing.songs(source)[1]))

    async def remove_from_playlist(self, name: str, positions: Collection[int]) -> None:
        """Take the entries at POSITIONS out of the playlist NAME."""
        last_first = sorted(set(positions), reverse=True)  # so that the others stay where they are
        async with self._session() as line:
            await _must_have(line, name, last_first)
            if last_first:
                await _change(line, "remove", *(("playlistdelete", name, position) for position in last_first))

    async def move_in_playlist(self, name: str, position: int, to: int) -> None:
        """Move one entry of the playlist NAME."""
        async with self._session() as line:
            await _must_have(line, name, [position, to])
            await _change(line, "move", ("playlistmove", name, position, to))

    async def rename_playlist(self, name: str, to: str) -> None:
        """Call the playlist NAME otherwise. Raises Refused if there is none, or one of the new name."""
        async with self._session() as line:
            taken = f"there is a playlist called {to!r} already"
            await _change(line, "rename", ("rename", name, to), of=name, taken=taken)

    async def delete_playlist(self, name: str) -> None:
        """Delete the playlist NAME. Raises Refused if there is none."""
        async with self._session() as line:
            await _change(line, "delete", ("rm", name), of=name)


async def entries(line: MpdConnection, uris: Sequence[str]) -> list[Entry]:
    """Return the tracks and streams at URIS; of one that is not in the library, no more than its address."""
    inside = [uri for uri in uris if parsing.is_inside(uri)]
    answers = await line.ask_each([("lsinfo", uri) for uri in inside])
    found = [track for answer in answers if answer for track in parsing.tracks(answer)]
    known = {track.uri: track for track in found}
    return [parsing.entry(known.get(uri) or Track(uri=uri)) for uri in uris]


async def _uris(line: MpdConnection, name: str) -> list[str]:
    if not parsing.is_stored(name):
        raise await no_playlist(line, name)
    try:
        return parsing.values(await line.ask("listplaylist", name), "file")
    except MpdAckError as no:
        if no.code == NO_SUCH_THING:
            raise await no_playlist(line, name) from None
        raise


async def _change(
    line: MpdConnection, verb: str, *commands: Command, of: str = "", none: str = "", taken: str = ""
) -> None:
    """Do COMMANDS. NONE and TAKEN are what to tell where MPD says that there is none, or one already.

    Where there is none, and OF is the name of a playlist, that is what is not there.
    """
    words = {NO_SUCH_THING: none, EXISTS: taken, TOO_MANY: "the playlist would be longer than MPD lets it be"}
    try:
        await line.act(verb, *commands)
    except MpdAckError as no:
        if of and no.code == NO_SUCH_THING:
            raise await no_playlist(line, of) from None
        if told := words.get(no.code):
            raise Refused(told) from None
        raise


async def _must_have(line: MpdConnection, name: str, positions: Collection[int]) -> None:
    """Raise Refused if one of POSITIONS is not in the playlist NAME: MPD takes one too many for there."""
    there = len(await _uris(line, name))
    for position in positions:
        if not 0 <= position < there:
            raise Refused(f"there is no entry {position + 1} in the playlist {name!r}; it has {there}")


async def _must_be_there(line: MpdConnection, wanted: LibraryFilter) -> None:
    """Raise Refused if nothing is WANTED: MPD would make an empty list and say nothing."""
    find, expression = parsing.songs(wanted)
    if not await line.ask(find, expression, "window", "0:1"):
        raise Refused(f"nothing in the library is {sources.describe_source(wanted)}")


def _one(name: str, source: Uri) -> Command:
    if not source.uri:
        raise Refused("nothing is named to add")
    return ("playlistadd", name, source.uri if parsing.is_stream(source.uri) else source.uri.strip("/"))


_UNDER_WAY = "pi-appliance is saving"  # a playlist that is only there while another one is replaced


class QueueCommands(MpdClientBase):
    """The part of ports_player.Player that is about the queue."""

    async def list_queue(self, start: int = 0, count: int = 100) -> Queue:
        """Return COUNT tracks of the queue from position START."""
        async with self._session() as line:
            try:
                status, songs = await line.ask_all(("status",), ("playlistinfo", f"{start}:{start + max(0, count)}"))
            except MpdAckError as no:
                if no.place == 0:
                    raise
                status, songs = no.answers[0], b""  # the queue ends before START
            said = parsing.fields(status)
            return Queue(
                tracks=parsing.tracks(songs),
                start=start,
                length=int(said["playlistlength"]),
                version=int(said["playlist"]),
            )

    async def add_source(
        self, source: Source, where: QueuePosition = QueuePosition.END, *, play: bool = False
    ) -> AddResult:
        """Put SOURCE into the queue, and PLAY it from its first track. What is not known leaves the queue as it was."""
        async with self._session() as line, self._adding:
            position, count = await add(line, source, where, play=play)
            name = name_of(source)
            if isinstance(source, Uri) and count == 1:
                (track,) = parsing.tracks(await line.ask("playlistinfo", position))
                name = track.label
            return AddResult(name=name, position=position, count=count)

    async def move_track(self, id: int, to: int) -> None:  # noqa: A002 - MPD's word
        """Move the track that has ID to position TO."""
        async with self._session() as line:
            # Twice would be harmless, were the ids the same ones after a restart of MPD.
            await line.act("move", ("moveid", id, to))

    async def remove_tracks(self, ids: Collection[int]) -> None:
        """Take the tracks that have IDS out of the queue. Those that are gone already do not count."""
        async with self._session() as line:
            await line.ask_each([("deleteid", each) for each in ids], "remove")

    async def clear_queue(self) -> None:
        """Empty the queue."""
        async with self._session() as line:
            await line.ask("clear")

    async def shuffle_queue(self) -> None:
        """Put the queue into a random order."""
        async with self._session() as line:
            await line.ask("shuffle")

    async def save_queue(self, name: str, *, replace: bool = False) -> None:
        """Keep the queue as the playlist NAME. Raises Refused if there is one and it is not to be REPLACEd."""
        async with self._session() as line:
            try:
                await line.act("save", ("save", name))
            except MpdAckError as no:
                if no.code != EXISTS:
                    raise
                if not replace:
                    raise Refused(
                        f"there is a playlist called {name!r} already; replace it, or choose another name"
                    ) from None
                await _save_over(line, name)


async def length(line: MpdConnection) -> int:
    """Return how many tracks are in the queue."""
    return int(parsing.fields(await line.ask("status"))["playlistlength"])


async def _save_over(line: MpdConnection, name: str) -> None:
    """Replace the playlist NAME; a power cut leaves it as it was, or as it shall be."""
    try:
        await line.ask("rm", _UNDER_WAY)  # left by a power cut
    except MpdAckError as no:
        if no.code != NO_SUCH_THING:
            raise
    await line.act("save", ("save", _UNDER_WAY), ("rm", name), ("rename", _UNDER_WAY, name))
