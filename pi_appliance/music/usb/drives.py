"""USB sticks: one that appears is looked through, and nothing else is; one that is to go is let go of first.

The units of systemd mount and unmount (music/usb/root_helper.py). Here is only seen that they did, by the kernel's list
mounts, which tells of each change by itself.
"""

import asyncio
import contextlib
import dataclasses
import logging
import os
import time
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Protocol

from pi_appliance.config.model import Usb
from pi_appliance.errors import ApplianceError, Refused, Unavailable, UnknownName
from pi_appliance.music.model import Capability, PlaybackState
from pi_appliance.music.player import Player
from pi_appliance.music.usb import mounted, root_helper
from pi_appliance.system import files, mounts
from pi_appliance.system.mounts import MountWatcher

_WINDOW = 200  # tracks of the queue asked for at a time
_GLANCE = 0.05  # seconds between two looks at whether it is gone


@dataclass(frozen=True, slots=True, kw_only=True)
class Places:
    """Where is looked, and how long is waited, in seconds."""

    mounts: Path = mounts.MOUNT_TABLE
    root: root_helper.Places = field(default_factory=lambda: root_helper.Places.of(os.environ))
    tick: float = 1.0  # between two looks at how far a scan is
    patience: float = 20.0  # for who unmounts
    may_unmount: bool = field(default_factory=lambda: os.geteuid() == 0)


async def eject(name: str, usb: Usb, player: Player | None, places: Places) -> None:
    """Let go of the stick NAME; when this returns, it may be pulled. Without a PLAYER nothing plays from it.

    Raises UnknownName; Refused if it is away, or others have mounted it; Unavailable if nobody unmounts it.
    """
    known = {each.name: each.mount for each in mounted.find_drives(usb.folder, places.mounts)}
    if name not in known:
        raise UnknownName("stick", name, list(known))
    mount = known[name]
    if mount is None:
        raise Refused(f"{name} is away already")
    if mount.folder.parent != places.root.mounts:
        raise Refused(f"{name} was not mounted by the appliance; who did must unmount it: sudo umount '{mount.folder}'")
    if player is not None:
        await _stop_playback_from(player, f"{usb.uri}/{name}/")
    await _unmounted(name, usb, places)


async def _stop_playback_from(player: Player, prefix: str) -> None:
    """Go on to the next track that is not below PREFIX if the current one is; stop where there is none."""
    state = await player.state()
    if state.track is None or state.playback is PlaybackState.STOPPED or not state.track.uri.startswith(prefix):
        return None
    position = (state.track.position or 0) + 1
    while state.playback is PlaybackState.PLAYING and position < state.queue_length:
        tracks = (await player.list_queue(position, _WINDOW)).tracks
        other = next((each for each in tracks if not each.uri.startswith(prefix)), None)
        if other is not None:
            return await player.play(other.position)
        if not tracks:
            break
        position += len(tracks)
    return await player.stop()


async def _unmounted(name: str, usb: Usb, places: Places) -> None:
    """Have NAME unmounted: by ourselves as root, else by the unit that waits for requests. Raises Unavailable."""
    if places.may_unmount:
        await asyncio.to_thread(root_helper.remove, name, usb.folder, places.root)
    else:
        request = places.root.request
        if not request.parent.is_dir():
            raise Unavailable(
                f"{request.parent} is not there, so nobody can be asked to unmount {name};"
                f" run: sudo pi-appliance music usb remove '{name}'"
            )
        files.write_file(request, name.encode())
    deadline = time.monotonic() + places.patience
    while any(each.name == name and each.mount for each in mounted.find_drives(usb.folder, places.mounts)):
        if time.monotonic() > deadline:
            places.root.request.unlink(missing_ok=True)
            raise Unavailable(f"nobody unmounts {name}; see: systemctl status pi-appliance-usb.path pi-appliance-usb")
        await asyncio.sleep(_GLANCE)


class StickState(StrEnum):
    """How a stick is."""

    AWAY = "away"  # it was here once: its tracks are kept
    WAITING = "waiting"  # it is here, and the player is not
    SCANNING = "scanning"
    READY = "ready"
    GOING = "going"  # somebody wants to pull it


@dataclass(frozen=True, slots=True, kw_only=True)
class UsbDrive:
    """One stick. What is not known, or not known yet, is None."""

    name: str
    state: StickState
    uri: str  # of its folder in the library
    size: int | None = None  # bytes
    used: int | None = None  # bytes
    files: int | None = None  # of sound, that lie on it
    tracks: int | None = None  # that the player knows of it
    note: str = ""  # what is not as it should be


NONE = "no folder of USB sticks is configured; write  usb: {folder: /var/lib/mpd/music/USB}  into appliance.yaml"
_log = logging.getLogger(__name__)


class Music(Protocol):
    """The player, as the hub holds it."""

    async def player(self) -> Player:
        """Return the player. Raises Unavailable if there is none."""

    def watch_changes(self) -> AsyncIterator[frozenset[str]]:
        """Yield what changed. The first item comes at once."""


class UsbDrives:
    """The sticks of the daemon. SETTINGS and MUSIC are asked anew each time, as the file may have been read again."""

    def __init__(
        self, settings: Callable[[], Usb | None], music: Callable[[], Music], places: Places | None = None
    ) -> None:
        self._settings, self._music, self._places = settings, music, places or Places()
        self._news = asyncio.Event()
        self._scans: dict[str, _Scan] = {}
        self._going: set[str] = set()
        self._one, self._looking = asyncio.Lock(), asyncio.Lock()

    async def run(self) -> None:
        """Have each stick that appears looked through, until cancelled."""
        alarm = MountWatcher(self._news.set, self._places.mounts)
        try:
            pause = self._places.tick
            while True:
                pause = self._places.tick if self._news.is_set() else 2 * pause
                self._news.clear()
                settled = True
                try:
                    settled = await self.look()
                except ApplianceError as error:
                    _log.warning("usb: %s", error)
                with contextlib.suppress(TimeoutError):
                    await asyncio.wait_for(self._news.wait(), None if settled else pause)
        finally:
            alarm.close()
            for name in list(self._scans):
                await self._end(name)

    def wake(self) -> None:
        """Look again: the configuration, or the player, is another one."""
        self._news.set()

    async def look(self) -> bool:
        """See what came and what went, and begin to scan what came. Say whether all that is mounted is in its place.

        Root mounts a stick first and links it then: the kernel tells of the mount alone.
        """
        async with self._looking:
            usb = self._settings()
            here = {each.name: each.mount for each in self._found(usb) if each.mount is not None} if usb else {}
            for name, scan in list(self._scans.items()):
                if here.get(name) != scan.mount or not usb or not scan.is_for(_uri(usb, name), self._music()):
                    await self._end(name)
            for name in here.keys() - self._scans.keys():
                assert usb is not None
                _log.info("usb: %s is here", name)
                self._scans[name] = _Scan(_uri(usb, name), here[name], self._music(), self._places.tick)
            return usb is None or mounted.linked(self._places.root.mounts, here, self._places.mounts)

    async def _end(self, name: str) -> None:
        _log.info("usb: %s goes", name)
        scan = self._scans.pop(name)
        scan.task.cancel()
        await asyncio.gather(scan.task, return_exceptions=True)

    def all(self) -> list[UsbDrive]:
        """Return every stick, by name. Raises Unavailable where sticks are not configured."""
        usb = configured(self._settings())
        return [self._told(each, usb) for each in self._found(usb)]

    async def remove(self, name: str) -> UsbDrive:
        """Let go of the stick NAME and return it: then it may be pulled. What plays from it ends.

        Raises UnknownName; Refused if it is away, or others have mounted it; Unavailable if nobody unmounts it.
        """
        async with self._one:  # there is one place to ask for it
            self._going.add(name)
            try:
                usb = configured(self._settings())
                await eject(name, usb, await self._player_or_none(), self._places)
                return next(each for each in self.all() if each.name == name)
            finally:
                self._going.discard(name)

    async def _player_or_none(self) -> Player | None:
        try:
            return await self._music().player()
        except Unavailable:
            return None

    def _found(self, usb: Usb) -> list[mounted.Found]:
        return found(usb, self._places)

    def _told(self, each: mounted.Found, usb: Usb) -> UsbDrive:
        stick = told(each, usb)
        scan = self._scans.get(each.name)
        if stick.state is StickState.AWAY:
            return stick
        if scan is None:  # it came this moment
            return dataclasses.replace(stick, state=StickState.WAITING)
        state = StickState.GOING if each.name in self._going else scan.state
        return dataclasses.replace(stick, state=state, files=scan.files, tracks=scan.tracks, note=scan.note)


class _Scan:
    """One stick that is here: has the player look through it, however long it takes for a player to be there."""

    def __init__(self, uri: str, mount: mounts.Mount, music: Music, tick: float) -> None:
        self.mount, self.music = mount, music
        self.state, self.note = StickState.WAITING, ""
        self.files: int | None = None
        self.tracks: int | None = None
        self.uri, self._tick = uri, tick
        self.task = asyncio.create_task(self._until_ready())

    def is_for(self, uri: str, music: Music) -> bool:
        """Say whether it has MUSIC look through URI."""
        return self.uri == uri and self.music is music

    async def _until_ready(self) -> None:
        self.files = await asyncio.to_thread(mounted.count_sound, self.mount.folder)
        async for _ in self.music.watch_changes():  # each time that something changes: perhaps the player is there now
            try:
                await self._scan(await self.music.player())
            except Unavailable as error:
                self.state, self.note = StickState.WAITING, str(error)
            except ApplianceError as error:
                self.state, self.note = StickState.READY, str(error)
                return
            else:
                return

    async def _scan(self, player: Player) -> None:
        if Capability.UPDATE not in await player.capabilities():
            self.state, self.note = StickState.READY, "this player looks for what is new by itself"
            return
        self.state, self.note = StickState.SCANNING, ""
        await player.update_library(self.uri)
        while (await player.state()).updating is not None:
            self.tracks = await _tracks(player, self.uri)
            await asyncio.sleep(self._tick)
        self.tracks = await _tracks(player, self.uri)
        self.state = StickState.READY
        _log.info("usb: %s has %d tracks", self.uri, self.tracks)


def configured(usb: Usb | None) -> Usb:
    """Return USB. Raises Unavailable if there is none."""
    if usb is None:
        raise Unavailable(NONE)
    return usb


def found(usb: Usb, places: Places) -> list[mounted.Found]:
    """Return the sticks of the folder. Raises Unavailable where the kernel does not tell what is mounted."""
    try:
        return mounted.find_drives(usb.folder, places.mounts)
    except OSError as error:
        raise Unavailable(f"{places.mounts} cannot be read: {error.strerror}") from None


async def _tracks(player: Player, uri: str) -> int:
    """Return how many tracks PLAYER knows below URI. It refuses to count in a folder that it has not come to yet."""
    try:
        return (await player.library_stats(uri)).tracks
    except Refused:
        return 0


def _uri(usb: Usb, name: str) -> str:
    return f"{usb.uri}/{name}"


def told(each: mounted.Found, usb: Usb) -> UsbDrive:
    """Return what can be said of a stick without asking the player."""
    room = mounted.disk_space(each.mount) if each.mount else None
    size, used = room or (None, None)
    state = StickState.READY if each.mount else StickState.AWAY
    return UsbDrive(name=each.name, state=state, uri=_uri(usb, each.name), size=size, used=used)


async def counted(stick: UsbDrive, each: mounted.Found, player: Player) -> UsbDrive:
    """Return STICK with what PLAYER knows of it, for who is not the daemon."""
    tracks = await _tracks(player, stick.uri)
    if each.mount is None:
        return dataclasses.replace(stick, tracks=tracks)
    lie = await asyncio.to_thread(mounted.count_sound, each.mount.folder)
    state = StickState.SCANNING if (await player.state()).updating is not None else StickState.READY
    return dataclasses.replace(stick, state=state, files=lie, tracks=tracks)
