"""The saved playlists of an MPD: list, show in windows, fill, rearrange, rename, delete."""

from collections.abc import Collection, Sequence

from pi_appliance.core import sources
from pi_appliance.errors import Refused
from pi_appliance.model.music import Entry, Playlist, Saved, Source, Track, Uri, Wanted, Window
from pi_appliance.players import _mpd_filter, _mpd_words
from pi_appliance.players._mpd_adding import must_be_known, no_playlist
from pi_appliance.players._mpd_door import Door
from pi_appliance.players._mpd_line import EXISTS, NO_SUCH_THING, TOO_MANY, Command, Line, Said


class Listing(Door):
    """The part of ports_player.Player that is about saved playlists."""

    async def playlists(self) -> Sequence[Playlist]:
        """Return the saved playlists, in the order of their names."""
        async with self._session() as line:
            found = _mpd_words.records(await line.ask("listplaylists"), {"playlist"})
            lists = [Playlist(name=each["playlist"], changed=each.get("last-modified", "")) for each in found]
            return sorted(lists, key=lambda each: _mpd_words.order(each.name))

    async def playlist(self, name: str, start: int = 0, count: int = 100) -> Window[Entry]:
        """Return COUNT entries of the playlist NAME. Raises Refused if there is none."""
        async with self._session() as line:
            # MPD cuts no window before 0.24, and the tags of many are more than it says at once. Names are little.
            cut = _mpd_words.window(await _uris(line, name), start, count)
            return _mpd_words.filled(cut, await entries(line, cut.items))

    async def playlist_add(self, name: str, source: Source) -> None:
        """Put SOURCE at the end of the playlist NAME, which is made if it is not there."""
        async with self._session() as line:
            match source:
                case Uri():
                    if _mpd_words.is_stream(source.uri):
                        await must_be_known(line, source.uri)
                    await _change(line, "add", _one(name, source), none=f"the library has no {source.uri!r}")
                case Saved():
                    uris = await _uris(line, source.playlist)
                    await line.ask_each([("playlistadd", name, uri) for uri in uris], "add")
                case Wanted():
                    await _must_be_there(line, source)
                    await _change(line, "add", ("searchaddpl", name, _mpd_filter.songs(source)[1]))

    async def playlist_remove(self, name: str, positions: Collection[int]) -> None:
        """Take the entries at POSITIONS out of the playlist NAME."""
        last_first = sorted(set(positions), reverse=True)  # so that the others stay where they are
        async with self._session() as line:
            await _must_have(line, name, last_first)
            if last_first:
                await _change(line, "remove", *(("playlistdelete", name, position) for position in last_first))

    async def playlist_move(self, name: str, position: int, to: int) -> None:
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


async def entries(line: Line, uris: Sequence[str]) -> list[Entry]:
    """Return the tracks and streams at URIS; of one that is not in the library, no more than its address."""
    inside = [uri for uri in uris if _mpd_words.is_inside(uri)]
    answers = await line.ask_each([("lsinfo", uri) for uri in inside])
    found = [track for answer in answers if answer for track in _mpd_words.tracks(answer)]
    known = {track.uri: track for track in found}
    return [_mpd_words.entry(known.get(uri) or Track(uri=uri)) for uri in uris]


async def _uris(line: Line, name: str) -> list[str]:
    if not _mpd_words.is_stored(name):
        raise await no_playlist(line, name)
    try:
        return _mpd_words.values(await line.ask("listplaylist", name), "file")
    except Said as no:
        if no.code == NO_SUCH_THING:
            raise await no_playlist(line, name) from None
        raise


async def _change(line: Line, verb: str, *commands: Command, of: str = "", none: str = "", taken: str = "") -> None:
    """Do COMMANDS. NONE and TAKEN are what to tell where MPD says that there is none, or one already.

    Where there is none, and OF is the name of a playlist, that is what is not there.
    """
    words = {NO_SUCH_THING: none, EXISTS: taken, TOO_MANY: "the playlist would be longer than MPD lets it be"}
    try:
        await line.act(verb, *commands)
    except Said as no:
        if of and no.code == NO_SUCH_THING:
            raise await no_playlist(line, of) from None
        if told := words.get(no.code):
            raise Refused(told) from None
        raise


async def _must_have(line: Line, name: str, positions: Collection[int]) -> None:
    """Raise Refused if one of POSITIONS is not in the playlist NAME: MPD takes one too many for there."""
    there = len(await _uris(line, name))
    for position in positions:
        if not 0 <= position < there:
            raise Refused(f"there is no entry {position + 1} in the playlist {name!r}; it has {there}")


async def _must_be_there(line: Line, wanted: Wanted) -> None:
    """Raise Refused if nothing is WANTED: MPD would make an empty list and say nothing."""
    find, expression = _mpd_filter.songs(wanted)
    if not await line.ask(find, expression, "window", "0:1"):
        raise Refused(f"nothing in the library is {sources.describe(wanted)}")


def _one(name: str, source: Uri) -> Command:
    if not source.uri:
        raise Refused("nothing is named to add")
    return ("playlistadd", name, source.uri if _mpd_words.is_stream(source.uri) else source.uri.strip("/"))
