"""The Volumio player, over its REST API.

The MPD inside Volumio cannot be used: it knows only the current track.

Volumio replies "Success" even if a command fails. So the state is read before each command, which
detects a Volumio that hangs before anything was requested, and after it, until the effect shows or
a second or two have passed. So the state after a command is the new one.
"""

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from datetime import timedelta
from typing import Any, NoReturn
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
from pi_appliance.music.player import Player
from pi_appliance.music.player_settings import PlayerSetting
from pi_appliance.music.volumio import library as parsing
from pi_appliance.music.volumio.client import STATE_TIMEOUT, ChangeWatcher, VolumioClient
from pi_appliance.music.volumio.library import VolumioLibrary

EFFECT_TIMEOUT = 1.0  # seconds in which the effect of a command must show
PLAYBACK_TIMEOUT = 2.0  # the same for playback: Volumio stops one track before it starts the next
EFFECT_POLL = 0.1  # seconds between two reads of the state while an effect is awaited
_SEEK_TOLERANCE = 2.0  # seconds by which a position may differ from the requested one
_QUEUE_EMPTY = "the queue is empty; add something to it first"
_NO_MIXER = "has its volume control switched off; choose a mixer in Settings, Playback Options, on its own page"
_OWN_PAGE = "do it on Volumio's own page"
_CAPABILITIES = frozenset(
    {
        Capability.SEEK,
        Capability.PLAYLISTS,
        Capability.FOLDERS,
        Capability.TAGS,
        Capability.SEARCH,
        Capability.ART,
    }
)


def _lacking(message: str) -> Any:
    """Return a method that raises Refused with `message`, because Volumio lacks the function."""

    async def refuse(*_: object, **__: object) -> NoReturn:
        raise Refused(message)

    return refuse


def _no_way_to(action: str, hint: str = _OWN_PAGE) -> Any:
    return _lacking(_refusal(action, hint))


def _refusal(action: str, hint: str = _OWN_PAGE) -> str:
    return f"Volumio's REST API cannot {action}; {hint}"


class VolumioPlayer(Player):
    """A `Player` for Volumio.

    A lost reply is `Uncertain` for commands that must not be repeated, such as `next`.
    """

    def __init__(
        self,
        name: str,
        address: tuple[str, int],
        *,
        listen: int = 0,
        poll: timedelta = timedelta(seconds=5),
        state_timeout: float = STATE_TIMEOUT,
    ) -> None:
        """Create a player; nothing is sent yet.

        Args:
            name: the address as the owner wrote it, for messages.
            listen: port for push notifications, 0 for any.
            poll: interval of reading the state without push notifications.
            state_timeout: seconds to wait for the state, which is read before each command.
        """
        self._client = VolumioClient(name, address, state_timeout=state_timeout)
        self._library = VolumioLibrary(self._client)
        self._listen, self._poll = listen, poll
        self._add_lock = asyncio.Lock()  # two sources that are added at the same time must not mix
        self._placeholder: bytes | None = None  # the image that Volumio shows for tracks without album art
        self._watchers: set[ChangeWatcher] = set()
        self._queue_uris: list[str] | None = None  # URIs of the queue when it was read last
        self._queue_version = int(time.time())  # begins with the time, so that versions also grow over restarts

    async def state(self) -> PlayerState:
        for _ in range(2):
            reply = await self._client.state()
            tracks = await self._read_queue()
            state = parsing.to_state(reply, tracks, self._queue_version)
            # otherwise the queue has changed between the two requests
            if state.track is None or state.track.id is not None:
                break
        return state

    async def capabilities(self) -> frozenset[Capability]:
        has_mixer = not (await self._client.state()).get("disableVolumeControl")
        return _CAPABILITIES | {Capability.VOLUME, Capability.MUTE} if has_mixer else _CAPABILITIES

    async def play(self, position: int | None = None, *, at: float = 0.0) -> None:
        await self._client.state()
        tracks = await self._read_queue()
        if not tracks:
            raise Refused(_QUEUE_EMPTY)
        if position is None:
            await self._client.command("play")
            return await self._wait_until(_plays)
        if not 0 <= position < len(tracks):
            raise Refused(f"there is no track {position + 1} in the queue; it ends with {len(tracks)}")
        await self._client.command("play", N=position)
        await self._wait_for(lambda reply: reply.get("position") == position, f"it does not play track {position + 1}")
        await self._wait_until(_plays)
        if at > 0:
            with contextlib.suppress(Refused):  # web radio cannot be continued at a position
                await self.seek(at)
        return None

    async def play_id(self, id: int) -> None:  # noqa: A002 - MPD's word
        position = next((track.position for track in await self._read_queue() if track.id == id), None)
        if position is None:
            raise Refused("that track is not in the queue any more; look at the queue again")
        await self.play(position)

    async def pause(self) -> None:
        """Pause; web radio is stopped, because it cannot be resumed where it was."""
        reply = await self._client.state()
        if reply["status"] == "play":
            await self._client.command("stop" if parsing.is_stream(reply) else "pause")
            await self._wait_until(lambda reply: not _plays(reply))

    async def toggle(self) -> None:
        reply = await self._client.state()
        if reply["status"] == "play":
            command = "stop" if parsing.is_stream(reply) else "pause"
            await self._client.command(command, non_idempotent="toggle")
            return await self._wait_until(lambda reply: not _plays(reply))
        if not await self._read_queue():
            raise Refused(_QUEUE_EMPTY)
        await self._client.command("play", non_idempotent="toggle")
        return await self._wait_until(_plays)

    async def stop(self) -> None:
        await self._client.state()
        await self._client.command("stop")
        await self._wait_until(lambda reply: reply["status"] == "stop")

    async def next(self) -> None:
        await self._skip("next", "next")

    async def previous(self) -> None:
        """Play the previous track; Volumio first goes to the start of the current one."""
        await self._skip("prev", "previous")

    async def seek(self, seconds: float) -> None:
        reply = await self._client.state()
        if reply["status"] == "stop":
            raise Refused("nothing plays; play the queue or a station first")
        if parsing.is_stream(reply):
            raise Refused("web radio cannot seek")
        target = max(0, round(seconds))
        await self._client.command("seek", position=target)
        await self._wait_until(lambda reply: abs((reply.get("seek") or 0) / 1000 - target) <= _SEEK_TOLERANCE)

    async def set_volume(self, volume: int) -> None:
        await self._require_mixer()
        if not 0 <= volume <= 100:
            raise Refused(f"{volume} is not a valid volume; it goes from 0 to 100")
        await self._client.command("volume", volume=volume)
        await self._wait_for(
            lambda reply: reply.get("volume") == volume,
            "the volume is a different one; check the maximum volume in its settings",
        )

    async def set_mute(self, on: bool) -> None:
        reply = await self._require_mixer()
        if (reply.get("mute") is True) is not on:  # if muted twice, Volumio forgets the volume
            await self._client.command("volume", volume="mute" if on else "unmute")
            problem = f"it is {'not' if on else 'still'} muted"
            await self._wait_for(lambda reply: (reply.get("mute") is True) is on, problem)

    async def set_modes(
        self,
        *,
        repeat: bool | None = None,
        random: bool | None = None,
        single: Mode | None = None,
        consume: Mode | None = None,
    ) -> None:
        """Set the given modes.

        Raises Refused, before anything is set, if the API cannot set one of them.
        """
        now = parsing.to_state(await self._client.state(), (), 0)
        if consume not in (None, now.consume):
            raise Refused(_refusal("set consume"))
        if single not in (None, Mode.OFF, now.single):
            raise Refused(_refusal("repeat one track"))
        if random is not None:
            await self._client.command("random", value=_bool_text(random))
            await self._wait_for(lambda reply: (reply.get("random") is True) is random, "random has not changed")
        if repeat is not None or (single is Mode.OFF and now.single is Mode.ON):
            target = now.repeat if repeat is None else repeat
            if target is now.repeat and single is not Mode.OFF:
                return  # the command would also switch off "repeat one track"
            await self._client.command("repeat", value=_bool_text(target))
            await self._wait_for(lambda reply: (reply.get("repeat") is True) is target, "repeat has not changed")

    async def list_queue(self, start: int = 0, count: int = 100) -> Queue:
        tracks = await self._read_queue()
        start = max(0, start)
        page = tracks[start : start + max(0, count)]
        return Queue(tracks=page, start=start, length=len(tracks), version=self._queue_version)

    async def add_source(
        self, source: Source, where: QueuePosition = QueuePosition.END, *, play: bool = False
    ) -> AddResult:
        if where is QueuePosition.NEXT:
            raise Refused(_refusal("add after the current track", f"add it to the end, or {_OWN_PAGE}"))
        await self._client.state()
        async with self._add_lock:
            playable = await self._library.find(source)
            old_length = len(await self._read_queue()) if where is QueuePosition.END else 0
            if where is QueuePosition.REPLACE and not play:
                await self._client.command("clearQueue")
            try:
                await self._send_items(playable.items, where, play)
                return await self._wait_until_added(playable.name, old_length, play)
            except Unavailable:  # the command was sent, so its effect is checked
                raise self._client.uncertain("add") from None

    async def _send_items(self, items: Sequence[Mapping[str, Any]], where: QueuePosition, play: bool) -> None:
        data: Any = items[0] if len(items) == 1 else list(items)
        if where is QueuePosition.REPLACE and play:
            body = data if len(items) == 1 else {"list": data, "index": 0}
            await self._client.post("replaceAndPlay", body, non_idempotent="add")
        else:
            await self._client.post("addPlay" if play else "addToQueue", data, non_idempotent="add")

    async def _wait_until_added(self, name: str, old_length: int, play: bool) -> AddResult:
        length = await self._wait_for_length(lambda length: length > old_length)
        if length > old_length:
            if play:
                await self._wait_until(_plays)
            return AddResult(name=name, position=old_length, count=length - old_length)
        if play and old_length:  # Volumio does not add its last track twice, but plays it again
            position = (await self._client.state()).get("position") or 0
            return AddResult(name=name, position=int(position), count=0)
        reason = "Volumio cannot play it, or it is already the last one in the queue"
        raise Refused(f"Volumio reported success, but {name} is not added: {reason}")

    async def _wait_for_length(self, is_reached: Callable[[int], bool]) -> int:
        """Read the queue until its length is reached or time is up; return its length."""
        deadline = _now() + EFFECT_TIMEOUT
        while True:
            length = len(await self._read_queue())
            if is_reached(length) or _now() >= deadline:
                return length
            await asyncio.sleep(EFFECT_POLL)

    async def clear_queue(self) -> None:
        await self._client.state()
        await self._client.command("clearQueue")
        if await self._wait_for_length(lambda length: length == 0):
            raise Refused("Volumio reported success, but its queue is not empty; try it on Volumio's own page")

    async def list_directory(self, path: str = "", start: int = 0, count: int = 100) -> Page[Entry]:
        """Return a page of a folder.

        Volumio's other sources, such as `radio` and `favourites`, are folders, too.
        """
        await self._client.state()
        return await self._library.list_directory(path, start, count)

    async def list_library(
        self,
        kind: EntryType,
        library_filter: LibraryFilter = LibraryFilter(),  # noqa: B008 - it is immutable
        start: int = 0,
        count: int = 100,
    ) -> Page[Entry]:
        """Return matching entries.

        Volumio refuses all tracks without a filter, and genres with one.
        """
        await self._client.state()
        return await self._library.list_entries(kind, library_filter, start, count)

    async def library_stats(self, folder: str = "") -> LibraryStats:
        if folder:
            raise Refused("Volumio counts only its whole library; ask without a folder")
        await self._client.state()
        return await self._library.read_stats()

    async def list_playlists(self) -> Sequence[Playlist]:
        await self._client.state()
        return await self._library.list_playlists()

    async def list_playlist(self, name: str, start: int = 0, count: int = 100) -> Page[Entry]:
        await self._client.state()
        return await self._library.list_playlist(name, start, count)

    async def album_art(self, uri: str) -> CoverArt | None:
        await self._client.state()
        target = await self._find_image(uri)
        if not target.startswith("/albumart?"):
            return None
        if self._placeholder is None:
            self._placeholder = (await self._client.image("/albumart")).body
        image = await self._client.image(quote(target, safe="/?&=%+:,~", errors="replace"))
        if image.status != 200 or not image.mime.startswith("image/") or image.body in (b"", self._placeholder):
            return None
        return CoverArt(data=image.body, mime=image.mime)

    async def _find_image(self, uri: str) -> str:
        """Return the path of a track's image, from the queue or its folder; else empty."""
        for item in await self._client.queue():
            if parsing.item_uri(item) == uri and isinstance(item.get("albumart"), str):
                return str(item["albumart"])
        folder = uri.removeprefix(f"{parsing.ROOT}/").rpartition("/")[0]
        if not folder or "://" in uri:
            return ""
        path = quote(f"/mnt/{folder}", safe="", errors="replace")
        return f"/albumart?path={path}"

    async def watch_changes(self) -> AsyncIterator[frozenset[str]]:
        watcher = ChangeWatcher(self._client, self.state, listen=self._listen, poll=self._poll.total_seconds())
        self._watchers.add(watcher)
        try:
            async for names in watcher.changes():
                yield names
        finally:
            await watcher.close()
            self._watchers.discard(watcher)

    async def close(self) -> None:
        """Close all connections; `watch_changes()` then raises Unavailable."""
        await asyncio.gather(*(watcher.close() for watcher in list(self._watchers)))

    # Volumio's REST API lacks the following functions.

    async def change_setting(self, setting: PlayerSetting, value: Any) -> None:  # noqa: ARG002 - the shape of all players
        raise Refused(f"Volumio has no {setting.title}; MPD has")

    list_outputs = set_output = _no_way_to("list or choose outputs", "see Settings, Playback Options, on its own page")
    move_track = _no_way_to("move tracks in its queue")
    remove_tracks = _no_way_to("remove single tracks from its queue", f"clear all of it, or {_OWN_PAGE}")
    shuffle_queue = _no_way_to("shuffle its queue", "switch random on instead")
    save_queue = _no_way_to("save its queue")
    update_library = _no_way_to(
        "start a scan of its library",
        "it scans a USB drive when you plug it in; else see Settings, Sources, on its page",
    )
    add_to_playlist = remove_from_playlist = move_in_playlist = _no_way_to("edit its playlists")
    rename_playlist = _no_way_to("rename its playlists")
    delete_playlist = _no_way_to("delete its playlists")
    ratings = set_rating = _no_way_to("store ratings", "the appliance stores them itself")
    list_favourites = _no_way_to(
        "store favourites", "its own are in the folder `favourites`; the appliance stores others itself"
    )
    list_partitions = use_partition = create_partition = delete_partition = move_output = _lacking(
        "Volumio has no partitions; MPD has"
    )

    async def limit_other_partitions(self, limit: int) -> Sequence[str]:  # noqa: ARG002
        return []

    async def _read_queue(self) -> list[Track]:
        tracks = parsing.to_queue(await self._client.queue())
        uris = [track.uri for track in tracks]
        if self._queue_uris is not None and uris != self._queue_uris:
            self._queue_version += 1
        self._queue_uris = uris
        return tracks

    async def _require_mixer(self) -> Mapping[str, Any]:
        reply = await self._client.state()
        if reply.get("disableVolumeControl"):
            raise Refused(f"Volumio at {self._client.name} {_NO_MIXER}")
        return reply

    async def _skip(self, command: str, description: str) -> None:
        before = await self._client.state()
        if not await self._read_queue():
            raise Refused(_QUEUE_EMPTY)
        await self._client.command(command, non_idempotent=description)
        status = "play" if command == "next" else before["status"]
        await self._wait_until(lambda reply: reply["status"] == status and _is_elsewhere(reply, before))

    async def _wait_until(self, is_effective: Callable[[Mapping[str, Any]], bool]) -> None:
        """Read the state until a command shows its effect, or the time is over."""
        with contextlib.suppress(Refused, Unavailable):
            await self._wait_for(is_effective, "", PLAYBACK_TIMEOUT)

    async def _wait_for(
        self, is_effective: Callable[[Mapping[str, Any]], bool], problem: str, timeout: float = EFFECT_TIMEOUT
    ) -> None:
        """Read the state until a command shows its effect.

        Raises Refused with `problem` after the timeout.
        """
        deadline = _now() + timeout
        while not is_effective(await self._client.state()):
            if _now() >= deadline:
                raise Refused(f"Volumio reported success, but {problem}")
            await asyncio.sleep(EFFECT_POLL)


def _plays(reply: Mapping[str, Any]) -> bool:
    return bool(reply["status"] == "play")


def _is_elsewhere(reply: Mapping[str, Any], before: Mapping[str, Any]) -> bool:
    """Return whether another track is the current one, or the same one has begun again."""
    place, old = [(each.get("position"), each.get("uri")) for each in (reply, before)]
    return place != old or (reply.get("seek") or 0) < (before.get("seek") or 0)


def _bool_text(on: bool) -> str:
    return "true" if on else "false"


def _now() -> float:
    return asyncio.get_running_loop().time()
