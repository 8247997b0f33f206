"""The USB drives as the daemon sees them: scan a new one, and release a drive before it is ejected.

The systemd units mount and unmount (`mounts.py`). This module follows the mount table.
"""

import asyncio
import contextlib
import dataclasses
import logging
import os
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Annotated

from pi_appliance.config.options import Usb
from pi_appliance.errors import ApplianceError, Refused, Unavailable, UnknownName
from pi_appliance.music.model import Capability, PlaybackState
from pi_appliance.music.player import Player
from pi_appliance.music.player_hub import Music
from pi_appliance.music.usb import mounts
from pi_appliance.system import files, machine
from pi_appliance.system.machine import MountWatcher

_QUEUE_PAGE = 200  # tracks per request
_UNMOUNT_POLL = 0.05  # seconds between two checks whether a drive is unmounted
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Paths, and times in seconds."""

    mount_table: Path = machine.MOUNT_TABLE
    root: mounts.Paths = field(default_factory=lambda: mounts.Paths.from_environment(os.environ))
    scan_poll: float = 1.0
    unmount_timeout: float = 20.0
    may_unmount: bool = field(default_factory=lambda: os.geteuid() == 0)


class DriveState(StrEnum):
    """The state of a USB drive."""

    UNMOUNTED = "unmounted"  # known from earlier; its tracks stay in the library
    WAITING = "waiting"  # mounted, but there is no player
    SCANNING = "scanning"
    READY = "ready"
    EJECTING = "ejecting"


@dataclass(frozen=True, slots=True, kw_only=True)
class UsbDrive:
    """A USB drive. Unknown values are None."""

    name: str
    state: DriveState
    uri: Annotated[str, "of its folder in the library"]
    size: Annotated[int | None, "bytes"] = None
    used: Annotated[int | None, "bytes"] = None
    files: Annotated[int | None, "audio files on the drive"] = None
    tracks: Annotated[int | None, "in the library of the player"] = None
    status_text: str = ""


async def eject(name: str, usb: Usb, player: Player | None, settings: Settings) -> None:
    """Stop playback from the drive `name` and unmount it.

    Raises:
        UnknownName: There is no such drive.
        Refused: It is not mounted, or another program mounted it.
        Unavailable: It was not unmounted in time.
    """
    drives = {each.name: each.mount for each in mounts.find_drives(usb.mount_dir, settings.mount_table)}
    if name not in drives:
        raise UnknownName("USB drive", name, list(drives))
    mount = drives[name]
    if mount is None:
        raise Refused(f"{name} is not mounted")
    if mount.folder.parent != settings.root.mounts:
        raise Refused(f"{name} was not mounted by the appliance; unmount it with: sudo umount '{mount.folder}'")
    if player is not None:
        await _stop_playback_from(player, f"{usb.uri}/{name}/")
    await _unmount(name, usb, mount, settings)


async def _stop_playback_from(player: Player, prefix: str) -> None:
    """If the current track is below `prefix`, play the next track that is not, or else stop."""
    state = await player.state()
    if state.track is None or state.playback is PlaybackState.STOPPED or not state.track.uri.startswith(prefix):
        return None
    position = (state.track.position or 0) + 1
    while state.playback is PlaybackState.PLAYING and position < state.queue_length:
        tracks = (await player.list_queue(position, _QUEUE_PAGE)).tracks
        other = next((each for each in tracks if not each.uri.startswith(prefix)), None)
        if other is not None:
            return await player.play(other.position)
        if not tracks:
            break
        position += len(tracks)
    return await player.stop()


async def _unmount(name: str, usb: Usb, mount: machine.Mount, settings: Settings) -> None:
    """Unmount directly as root, otherwise through the systemd unit."""
    request = settings.root.request
    if settings.may_unmount:
        await asyncio.to_thread(mounts.remove, name, usb.mount_dir, settings.root)
    elif not request.parent.is_dir():
        raise Unavailable(
            f"{request.parent} does not exist, so the unit cannot be asked to unmount {name};"
            f" run: sudo umount '{mount.folder}'"
        )
    else:
        files.write_file(request, name.encode())
    deadline = time.monotonic() + settings.unmount_timeout
    while any(each.name == name and each.mount for each in mounts.find_drives(usb.mount_dir, settings.mount_table)):
        if time.monotonic() > deadline:
            request.unlink(missing_ok=True)
            raise Unavailable(f"{name} was not unmounted; see: systemctl status pi-appliance-usb.path pi-appliance-usb")
        await asyncio.sleep(_UNMOUNT_POLL)


class UsbDrives:
    """The USB drives of the daemon.

    Args:
        config: Returns the current `usb` section, which may change when the configuration is
            reloaded.
        music: Returns the current connection to the player.
        may_scan: Whether `run` is called, so that a drive is scanned before it is ready.
    """

    def __init__(
        self,
        config: Callable[[], Usb | None],
        music: Callable[[], Music],
        settings: Settings | None = None,
        *,
        may_scan: bool = True,
    ) -> None:
        self._config, self._music, self._settings = config, music, settings or Settings()
        self._may_scan = may_scan
        self._changed = asyncio.Event()
        self._scans: dict[str, _Scan] = {}
        self._ejecting: set[str] = set()
        self._eject_lock, self._check_lock = asyncio.Lock(), asyncio.Lock()

    async def run(self) -> None:
        """Scan each new drive, until cancelled."""
        watcher = MountWatcher(self._changed.set, self._settings.mount_table)
        try:
            delay = self._settings.scan_poll
            while True:
                delay = self._settings.scan_poll if self._changed.is_set() else 2 * delay
                self._changed.clear()
                complete = True
                try:
                    complete = await self.check()
                except ApplianceError as error:
                    _log.warning("usb: %s", error)
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(None if complete else delay):
                        await self._changed.wait()
        finally:
            watcher.close()
            for name in list(self._scans):
                await self._end_scan(name)

    def wake(self) -> None:
        """Check again, because the configuration or the player changed."""
        self._changed.set()

    async def check(self) -> bool:
        """Start scans of new drives, and end the scans of removed ones.

        Returns:
            Whether every mounted drive has its link. Root mounts first and links then; the kernel
            reports the mount.
        """
        async with self._check_lock:
            usb = self._config()
            drives = self._find(usb) if usb else []
            present = {each.name: each.mount for each in drives if each.mount is not None}
            for name, scan in list(self._scans.items()):
                if present.get(name) != scan.mount or not usb or not scan.is_for(_uri(usb, name), self._music()):
                    await self._end_scan(name)
            for name in present.keys() - self._scans.keys():
                assert usb is not None
                _log.info("usb: mounted name=%s", name)
                self._scans[name] = _Scan(_uri(usb, name), present[name], self._music(), self._settings.scan_poll)
            settings = self._settings
            return usb is None or mounts.all_linked(settings.root.mounts, present, settings.mount_table)

    async def _end_scan(self, name: str) -> None:
        _log.info("usb: removed name=%s", name)
        scan = self._scans.pop(name)
        scan.task.cancel()
        await asyncio.gather(scan.task, return_exceptions=True)

    def all(self) -> list[UsbDrive]:
        """Return every drive, by name.

        Raises `UsbNotConfigured` if no folder for drives is configured.
        """
        usb = mounts.require_usb(self._config())
        return [self._describe(each, usb) for each in self._find(usb)]

    async def eject(self, name: str) -> UsbDrive:
        """Stop playback from the drive `name`, unmount it and return it. Raises as `eject`."""
        async with self._eject_lock:  # one at a time, because the unit takes one request
            self._ejecting.add(name)
            try:
                usb = mounts.require_usb(self._config())
                await eject(name, usb, await self._player_or_none(), self._settings)
                return next(each for each in self.all() if each.name == name)
            finally:
                self._ejecting.discard(name)

    async def _player_or_none(self) -> Player | None:
        try:
            return await self._music().player()
        except Unavailable:
            return None

    def _find(self, usb: Usb) -> list[mounts.Drive]:
        """Return the drives. Raises `Unavailable` if the mount table cannot be read."""
        try:
            return mounts.find_drives(usb.mount_dir, self._settings.mount_table)
        except OSError as error:
            raise Unavailable(f"{self._settings.mount_table} cannot be read: {error.strerror}") from None

    def _describe(self, each: mounts.Drive, usb: Usb) -> UsbDrive:
        size, used = (mounts.disk_space(each.mount) if each.mount else None) or (None, None)
        state = DriveState.READY if each.mount else DriveState.UNMOUNTED
        drive = UsbDrive(name=each.name, state=state, uri=_uri(usb, each.name), size=size, used=used)
        scan = self._scans.get(each.name)
        if each.mount is None or not self._may_scan:
            return drive
        if scan is None:  # mounted a moment ago, so it is not scanned yet
            return dataclasses.replace(drive, state=DriveState.WAITING)
        state = DriveState.EJECTING if each.name in self._ejecting else scan.state
        return dataclasses.replace(
            drive, state=state, files=scan.files, tracks=scan.tracks, status_text=scan.status_text
        )


class _Scan:
    """The scan of one drive; it waits until there is a player."""

    def __init__(self, uri: str, mount: machine.Mount, music: Music, poll_interval: float) -> None:
        self.mount, self.music = mount, music
        self.state, self.status_text = DriveState.WAITING, ""
        self.files: int | None = None
        self.tracks: int | None = None
        self.uri, self._poll_interval = uri, poll_interval
        self.task = asyncio.create_task(self._run())

    def is_for(self, uri: str, music: Music) -> bool:
        """Return whether this scan is for `uri` in the player `music`."""
        return self.uri == uri and self.music is music

    async def _run(self) -> None:
        self.files = await asyncio.to_thread(mounts.count_audio_files, self.mount.folder)
        async for _ in self.music.watch_changes():  # a change may mean that there is a player now
            try:
                await self._scan(await self.music.player())
            except Unavailable as error:
                self.state, self.status_text = DriveState.WAITING, str(error)
            except ApplianceError as error:
                self.state, self.status_text = DriveState.READY, str(error)
                return
            else:
                return

    async def _scan(self, player: Player) -> None:
        if Capability.UPDATE not in await player.capabilities():
            self.state, self.status_text = DriveState.READY, "this player scans for new music on its own"
            return
        self.state, self.status_text = DriveState.SCANNING, ""
        await player.update_library(self.uri)
        while (await player.state()).updating is not None:
            self.tracks = await count_tracks(player, self.uri)
            await asyncio.sleep(self._poll_interval)
        self.tracks = await count_tracks(player, self.uri)
        self.state = DriveState.READY
        _log.info("usb: scanned uri=%s tracks=%d", self.uri, self.tracks)


async def count_tracks(player: Player, uri: str) -> int:
    """Return the number of tracks below `uri` in the library."""
    try:
        return (await player.library_stats(uri)).tracks
    except Refused:  # the scan has not reached the folder yet
        return 0


def _uri(usb: Usb, name: str) -> str:
    return f"{usb.uri}/{name}"
