"""How something comes into the queue of an MPD: at its end, behind the current track, or in place of all.

What is done in one list of commands nobody else's come between. So a queue is never replaced by halves.
"""

from collections.abc import Sequence
from pathlib import PurePosixPath

from pi_appliance.core import sources
from pi_appliance.errors import Refused, nearest
from pi_appliance.model.music import Saved, Source, Uri, Wanted, Where
from pi_appliance.players import _mpd_filter, _mpd_words
from pi_appliance.players._mpd_line import NO_SUCH_THING, TOO_MANY, Command, Line, Said, word

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
            return source.title or _mpd_words.last_part(source.uri.strip("/"))
        case Saved():
            return source.playlist
        case Wanted():
            return sources.describe(source)


async def add(line: Line, source: Source, where: Where, *, play: bool) -> Came:
    """Put SOURCE into the queue. Raises Refused, and leaves the queue as it was, if there is no such thing."""
    command = await _how(line, source)
    if where is Where.INSTEAD:
        return await _instead(line, source, command, play=play)
    status, answer, count = await _append(line, source, command)
    position, then = _places(where, status, count)
    then += _title(source, answer)
    if play:
        then.append(("play", position))
    if then:
        await line.act("add", *then)
    return position, count


async def _how(line: Line, source: Source) -> Command:
    """Return the command that adds SOURCE, which is there. Raises Refused, in words, if it is not."""
    match source:
        case Uri() if _mpd_words.is_stream(source.uri):
            word(source.title)  # what cannot be said would come up when the stream is in the queue already
            await must_be_known(line, source.uri)
            return ("addid", source.uri)
        case Uri():
            return await _how_from_library(line, source.uri)
        case Saved():
            if not _mpd_words.is_stored(source.playlist):
                raise Refused(f"there is no playlist called {source.playlist!r}")
            if not await _holds_something(line, source.playlist):
                raise Refused(f"the playlist {source.playlist!r} holds nothing that can be played")
            return ("load", source.playlist)
        case Wanted():
            find, expression = _mpd_filter.songs(source)
            if not await line.ask(find, expression, "window", "0:1"):
                raise Refused(f"nothing in the library is {sources.describe(source)}")
            return (f"{find}add", expression)


async def _how_from_library(line: Line, uri: str) -> Command:
    path = uri.strip("/")
    if not uri:
        raise Refused("nothing is named to add")
    if not _mpd_words.is_inside(path):
        raise Refused(f"the library has no {uri!r}")
    try:
        if await line.ask("find", _mpd_filter.within(path), "window", "0:1"):
            return ("add", path)
    except Said as no:
        if no.code != NO_SUCH_THING:
            raise
        if PurePosixPath(path).suffix.lower() in _LISTS and await _holds_something(line, path):
            return ("load", path)
        raise Refused(f"the library has no {uri!r}") from None
    raise Refused(f"{_mpd_words.last_part(path)} holds nothing that can be played")


async def must_be_known(line: Line, uri: str) -> None:
    """Raise Refused if MPD does not know what to do with an address such as URI, or it is a file of the machine.

    Who comes through a socket may have MPD play any file; who holds a phone may not.
    """
    if uri.lower().startswith("file:"):
        raise Refused(f"{uri!r} is a file outside the library; put it into the folder of the music")
    known = _mpd_words.values(await line.ask("urlhandlers"), "handler")
    if not any(uri.lower().startswith(each) for each in known):
        raise Refused(f"MPD cannot play addresses that begin with {uri.partition('://')[0]}://")


async def _holds_something(line: Line, name: str) -> bool:
    """Say whether something in the playlist NAME can be played. Raises Refused if there is no such playlist."""
    try:
        uris = _mpd_words.values(await line.ask("listplaylist", name), "file")
    except Said as no:
        if no.code != NO_SUCH_THING:
            raise
        raise await no_playlist(line, name) from None
    if not all(map(_mpd_words.is_inside, uris)):
        return True
    for start in range(0, len(uris), _FEW):
        if any(await line.ask_each([("lsinfo", uri) for uri in uris[start : start + _FEW]])):
            return True
    return False


async def no_playlist(line: Line, name: str) -> Refused:
    """Return the error that says that there is no playlist NAME, with the nearest one."""
    known = _mpd_words.values(await line.ask("listplaylists"), "playlist")
    return Refused(f"there is no playlist called {name!r}; {nearest(name, known)}")


async def _instead(line: Line, source: Source, command: Command, *, play: bool) -> Came:
    """Let the queue be what COMMAND adds and nothing else. What is too long for any queue, as far as it goes."""
    playing: Sequence[Command] = [("play", 0)] if play else []
    try:
        _, answer, status, *_ = await line.act("add", ("clear",), command, ("status",), *playing)
    except Said as no:
        if no.code != TOO_MANY:
            raise
        answer, status = b"", (await line.act("add", ("status",), *playing))[0]
    if then := _title(source, answer):
        await line.act("add", *then)
    return 0, int(_mpd_words.fields(status)["playlistlength"])


async def _append(line: Line, source: Source, command: Command) -> tuple[dict[str, str], bytes, int]:
    """Put what COMMAND adds behind the queue; return the status before, the answer, and how many tracks came."""
    try:
        before, answer, after = await line.act("add", ("status",), command, ("status",))
    except Said as no:
        if no.code != TOO_MANY or no.place != 1:
            raise
        # MPD keeps what it has added up to the one that did not fit.
        length = int(_mpd_words.fields(no.answers[0])["playlistlength"])
        await line.act("add", ("delete", f"{length}:"))
        raise Refused(_TOO_MANY) from None
    status = _mpd_words.fields(before)
    count = int(_mpd_words.fields(after)["playlistlength"]) - int(status["playlistlength"])
    if count <= 0:
        raise Refused(f"MPD added nothing of {name_of(source)}")
    return status, answer, count


def _places(where: Where, status: dict[str, str], count: int) -> tuple[int, list[Command]]:
    """Return where COUNT tracks at the end of the queue belong, and what brings them there. STATUS is from before."""
    end = int(status["playlistlength"])
    if where is Where.END:
        return end, []
    position = int(status["song"]) + 1 if "song" in status else 0
    then: list[Command] = [("move", f"{end}:{end + count}", position)] if position != end else []
    if status.get("random") == "1":
        then.append(("prio", _SOONEST, f"{position}:{position + count}"))
    return position, then


def _title(source: Source, answer: bytes) -> list[Command]:
    """Return what gives a stream its title; a file has tags of its own. ANSWER is that of `addid`."""
    if isinstance(source, Uri) and source.title and _mpd_words.is_stream(source.uri):
        return [("addtagid", _mpd_words.fields(answer)["id"], "title", source.title)]
    return []
