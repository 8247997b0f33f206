"""A Volumio, listened to and told what to do by its REST API; never by the MPD inside it, which knows one track only.

Volumio says Success whatever came of a command. So it is looked at before (one that is hung is found out before
anything was asked of it), and after: until what was asked for shows, or a second has passed.
"""

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from datetime import timedelta
from typing import Any
from urllib.parse import quote

from pi_appliance.errors import Refused, Unavailable
from pi_appliance.music.model import (
    AddResult,
    Capability,
    CoverArt,
    Entry,
    EntryType,
    LibraryFilter,
    LibraryStats,
    Mode,
    Page,
    PlayerState,
    Playlist,
    Queue,
    QueuePosition,
    Source,
    Track,
)
from pi_appliance.music.volumio import library as words
from pi_appliance.music.volumio.client import VolumioClient
from pi_appliance.music.volumio.library import VolumioLibrary
from pi_appliance.music.volumio.player import UnsupportedCommands, refuse
from pi_appliance.music.volumio.push import ChangeWatcher

SETTLES = 1.0  # seconds in which the effect of a command must show
AGAIN = 0.1  # seconds until the next look


class Adding:
    """Puts things into the queue, which TRACKS reads."""

    def __init__(
        self, rest: VolumioClient, library: VolumioLibrary, tracks: Callable[[], Awaitable[list[Track]]]
    ) -> None:
        self._rest, self._library, self._tracks = rest, library, tracks
        self._one = asyncio.Lock()  # two stations at once would mix their queues

    async def add_source(self, source: Source, where: QueuePosition, play: bool) -> AddResult:
        """Put SOURCE into the queue and return what came. Raises Refused for the unknown, before anything is done."""
        if where is QueuePosition.NEXT:
            refuse("put something behind the current track", "add it to the end, or do it on Volumio's own page")
        await self._rest.state()
        async with self._one:
            found = await self._library.find(source)
            before = len(await self._tracks()) if where is QueuePosition.END else 0
            if where is QueuePosition.REPLACE and not play:
                await self._rest.command("clearQueue")
            try:
                await self._send(found.items, where, play)
                return await self._came(found.name, before, play)
            except Unavailable:  # after something was done
                raise self._rest.uncertain("add") from None

    async def length(self, true: Callable[[int], bool]) -> int:
        """Look at the queue until TRUE holds for its length, or a second has passed; return its length."""
        ends = _now() + SETTLES
        while True:
            length = len(await self._tracks())
            if true(length) or _now() >= ends:
                return length
            await asyncio.sleep(AGAIN)

    async def _send(self, items: Sequence[Mapping[str, Any]], where: QueuePosition, play: bool) -> None:
        data: Any = items[0] if len(items) == 1 else list(items)
        if where is QueuePosition.REPLACE and play:
            instead = data if len(items) == 1 else {"list": data, "index": 0}
            await self._rest.post("replaceAndPlay", instead, once="add")
        else:
            await self._rest.post("addPlay" if play else "addToQueue", data, once="add")

    async def _came(self, name: str, before: int, play: bool) -> AddResult:
        length = await self.length(lambda length: length > before)
        if length > before:
            return AddResult(name=name, position=before, count=length - before)
        if play and before:  # what the queue ends with already is played, and not added again
            return AddResult(name=name, position=int((await self._rest.state()).get("position") or 0), count=0)
        why = "Volumio cannot play it, or its queue ends with it already"
        raise Refused(f"Volumio said Success, but {name} is not added: {why}")


def _now() -> float:
    return asyncio.get_running_loop().time()


class Pictures:
    """The pictures of one Volumio."""

    def __init__(self, rest: VolumioClient) -> None:
        self._rest = rest
        self._none: bytes | None = None  # the picture it shows for want of any

    async def of(self, uri: str) -> CoverArt | None:
        """Return the picture that Volumio shows for URI; None if there is none, or it is elsewhere in the world."""
        target = await self._where(uri)
        if not target.startswith("/albumart?"):
            return None
        if self._none is None:
            self._none = (await self._rest.picture("/albumart")).body
        picture = await self._rest.picture(quote(target, safe="/?&=%+:,~", errors="replace"))
        if picture.status != 200 or not picture.mime.startswith("image/") or picture.body in (b"", self._none):
            return None
        return CoverArt(data=picture.body, mime=picture.mime)

    async def _where(self, uri: str) -> str:
        """Return where Volumio has the picture for URI: that of the queue, else that of its folder; '' for neither."""
        for item in await self._rest.queue():
            if words.address(item) == uri and isinstance(item.get("albumart"), str):
                return str(item["albumart"])
        folder = uri.removeprefix(f"{words.ROOT}/").rpartition("/")[0]
        if not folder or "://" in uri:
            return ""
        path = quote(f"/mnt/{folder}", safe="", errors="replace")
        return f"/albumart?path={path}"


_EMPTY = "the queue is empty; add something to it first"
_NO_MIXER = "has its volume control switched off; choose a mixer in Settings, Playback Options, on its own page"


class VolumioPlayer(UnsupportedCommands):
    """A Volumio, as ports_player.Player describes it. After `next`, `add` and the like a lost answer is Uncertain."""

    def __init__(
        self,
        name: str,
        place: tuple[str, int],
        *,
        listen: int = 0,
        poll: timedelta = timedelta(seconds=5),
        clock: Callable[[], float] = time.time,
    ) -> None:
        """NAME is how the owner wrote PLACE; LISTEN is the port on which pushes are heard, 0 for any."""
        self._rest = VolumioClient(name, place)
        self._library = VolumioLibrary(self._rest)
        self._listen, self._poll = listen, poll
        self._adding = Adding(self._rest, self._library, self._tracks)
        self._pictures = Pictures(self._rest)
        self._watches: set[ChangeWatcher] = set()
        self._uris: list[str] | None = None  # of the queue as it was read last
        self._version = int(clock())  # a player made later begins higher

    async def state(self) -> PlayerState:
        """Return what it is doing now."""
        for _ in range(2):
            said = await self._rest.state()
            tracks = await self._tracks()
            state = words.state(said, tracks, self._version)
            if state.track is None or state.track.id is not None:  # else the queue changed between the two
                break
        return state

    async def capabilities(self) -> frozenset[Capability]:
        """Return what it can, as it is set up at this moment."""
        can = {
            Capability.SEEK,
            Capability.PLAYLISTS,
            Capability.FOLDERS,
            Capability.TAGS,
            Capability.SEARCH,
            Capability.ART,
        }
        mixer = not (await self._rest.state()).get("disableVolumeControl")
        return frozenset(can | {Capability.VOLUME, Capability.MUTE} if mixer else can)

    async def play(self, position: int | None = None, *, at: float = 0.0) -> None:
        """Play the track at POSITION, from its second AT on, or go on. Raises Refused if there is nothing there."""
        await self._rest.state()
        tracks = await self._tracks()
        if not tracks:
            raise Refused(_EMPTY)
        if position is None:
            return await self._rest.command("play")
        if not 0 <= position < len(tracks):
            raise Refused(f"there is no track {position + 1} in the queue; it ends with {len(tracks)}")
        await self._rest.command("play", N=position)
        await self._until(lambda said: said.get("position") == position, f"does not go to track {position + 1}")
        if at > 0:
            with contextlib.suppress(Refused):  # a radio
                await self.seek(at)
        return None

    async def play_id(self, id: int) -> None:  # noqa: A002 - MPD's word
        """Play the track of the queue that has ID. Raises Refused if it is gone."""
        position = next((track.position for track in await self._tracks() if track.id == id), None)
        if position is None:
            raise Refused("that track is not in the queue any more; look at the queue again")
        await self.play(position)

    async def pause(self) -> None:
        """Pause; the radio is stopped, for it goes on without us. Nothing happens unless it plays."""
        said = await self._rest.state()
        if said["status"] == "play":
            await self._rest.command("stop" if words.is_stream(said) else "pause")

    async def toggle(self) -> None:
        """Pause if it plays, else play."""
        said = await self._rest.state()
        if said["status"] == "play":
            return await self._rest.command("stop" if words.is_stream(said) else "pause", once="toggle")
        if not await self._tracks():
            raise Refused(_EMPTY)
        return await self._rest.command("play", once="toggle")

    async def stop(self) -> None:
        """Stop."""
        await self._rest.state()
        await self._rest.command("stop")

    async def next(self) -> None:
        """Go to the next track."""
        await self._step("next", "next")

    async def previous(self) -> None:
        """Go to the previous track; Volumio goes to the start of the current one first."""
        await self._step("prev", "previous")

    async def seek(self, seconds: float) -> None:
        """Go to SECONDS from the start of the current track."""
        said = await self._rest.state()
        if said["status"] == "stop":
            raise Refused("nothing plays; play the queue or a station first")
        if words.is_stream(said):
            raise Refused("the radio has no other place to go to; it plays what is sent")
        await self._rest.command("seek", position=max(0, round(seconds)))

    async def set_volume(self, volume: int) -> None:
        """Set the volume, 0 to 100. Raises Refused where the player has no mixer."""
        await self._mixer()
        if not 0 <= volume <= 100:
            raise Refused(f"{volume} is no volume; it goes from 0 to 100")
        await self._rest.command("volume", volume=volume)
        await self._until(
            lambda said: said.get("volume") == volume, "the volume is another; see the most that its settings allow"
        )

    async def set_mute(self, on: bool) -> None:
        """Be silent, or as loud as before."""
        said = await self._mixer()
        if (said.get("mute") is True) is not on:  # muted twice, it forgets how loud it was
            await self._rest.command("volume", volume="mute" if on else "unmute")
            await self._until(lambda said: (said.get("mute") is True) is on, f"it is {'not' if on else 'still'} muted")

    async def set_modes(
        self,
        *,
        repeat: bool | None = None,
        random: bool | None = None,
        single: Mode | None = None,
        consume: Mode | None = None,
    ) -> None:
        """Set those that are given. Raises Refused, before anything is set, where one cannot be set from outside."""
        said = await self._rest.state()
        now = words.state(said, (), 0)
        if consume not in (None, now.consume):
            refuse("set consume")
        if single not in (None, Mode.OFF, now.single):
            refuse("repeat one track")
        if random is not None:
            await self._rest.command("random", value=_word(random))
            await self._until(lambda said: (said.get("random") is True) is random, "random is as it was")
        if repeat is not None or (single is Mode.OFF and now.single is Mode.ON):
            wanted = now.repeat if repeat is None else repeat
            if wanted is now.repeat and single is not Mode.OFF:
                return  # it would end the repeating of one track, which nobody asked for
            await self._rest.command("repeat", value=_word(wanted))
            await self._until(lambda said: (said.get("repeat") is True) is wanted, "repeat is as it was")

    async def list_queue(self, start: int = 0, count: int = 100) -> Queue:
        """Return COUNT tracks of the queue from position START."""
        tracks = await self._tracks()
        start = max(0, start)
        part = tracks[start : start + max(0, count)]
        return Queue(tracks=part, start=start, length=len(tracks), version=self._version)

    async def add_source(
        self, source: Source, where: QueuePosition = QueuePosition.END, *, play: bool = False
    ) -> AddResult:
        """Put SOURCE into the queue, and PLAY it from its first track. What is not known leaves the queue as it was."""
        return await self._adding.add_source(source, where, play)

    async def clear_queue(self) -> None:
        """Empty the queue."""
        await self._rest.state()
        await self._rest.command("clearQueue")
        if await self._adding.length(lambda length: length == 0):
            raise Refused("Volumio said Success, but its queue is not empty; try it on Volumio's own page")

    async def list_directory(self, path: str = "", start: int = 0, count: int = 100) -> Page[Entry]:
        """Return folders, tracks and playlist files in the folder PATH of the library, '' for its top.

        Volumio's other sources, such as `radio` and `favourites`, are folders as well.
        """
        await self._rest.state()
        return await self._library.list_directory(path, start, count)

    async def list_library(
        self,
        kind: EntryType,
        wanted: LibraryFilter = LibraryFilter(),  # noqa: B008 - it never changes
        start: int = 0,
        count: int = 100,
    ) -> Page[Entry]:
        """Return the ARTISTs, ALBUMs, GENREs or TRACKs in which WANTED is found, in the order of their names.

        Tracks are in Volumio's order. All of them at once, and the genres of anything, are Refused.
        """
        await self._rest.state()
        return await self._library.entries(kind, wanted, start, count)

    async def library_stats(self, folder: str = "") -> LibraryStats:
        """Return how big the library is. Raises Refused for a folder: Volumio does not count it."""
        if folder:
            raise Refused("Volumio counts its whole library only; ask without a folder")
        await self._rest.state()
        return await self._library.library_stats()

    async def list_playlists(self) -> Sequence[Playlist]:
        """Return the saved playlists, in the order of their names."""
        await self._rest.state()
        return await self._library.list_playlists()

    async def list_playlist(self, name: str, start: int = 0, count: int = 100) -> Page[Entry]:
        """Return COUNT entries of the playlist NAME. Raises Refused if there is none."""
        await self._rest.state()
        return await self._library.list_playlist(name, start, count)

    async def album_art(self, uri: str) -> CoverArt | None:
        """Return the picture that Volumio shows for URI; None where that is the one it shows for want of any."""
        await self._rest.state()
        return await self._pictures.of(uri)

    async def watch_changes(self) -> AsyncIterator[frozenset[str]]:
        """Yield the names of what changed, as MPD calls them; at first all. Raises Unavailable when it is lost."""
        watch = ChangeWatcher(self._rest, self.state, listen=self._listen, poll=self._poll.total_seconds())
        self._watches.add(watch)
        try:
            async for names in watch.changes():
                yield names
        finally:
            await watch.end()
            self._watches.discard(watch)

    async def close(self) -> None:
        """Let go of every connection; whoever waits for changes gets Unavailable."""
        await asyncio.gather(*(watch.end() for watch in list(self._watches)))

    async def _tracks(self) -> list[Track]:
        tracks = words.queue(await self._rest.queue())
        uris = [track.uri for track in tracks]
        if self._uris is not None and uris != self._uris:
            self._version += 1
        self._uris = uris
        return tracks

    async def _mixer(self) -> Mapping[str, Any]:
        said = await self._rest.state()
        if said.get("disableVolumeControl"):
            raise Refused(f"Volumio at {self._rest.name} {_NO_MIXER}")
        return said

    async def _step(self, command: str, once: str) -> None:
        await self._rest.state()
        if not await self._tracks():
            raise Refused(_EMPTY)
        await self._rest.command(command, once=once)

    async def _until(self, shows: Callable[[Mapping[str, Any]], bool], otherwise: str) -> None:
        """Look at the state until it SHOWS what was asked for. Raises Refused if it never does, and says OTHERWISE."""
        ends = _now() + SETTLES
        while not shows(await self._rest.state()):
            if _now() >= ends:
                raise Refused(f"Volumio said Success, but {otherwise}")
            await asyncio.sleep(AGAIN)


def _word(on: bool) -> str:
    return "true" if on else "false"
