"""USB drives of the daemon: scanned, mounted and ejected, over a fake list of mounts."""

import asyncio
import contextlib
import dataclasses
from collections.abc import AsyncIterator, Coroutine, Sequence
from pathlib import Path
from typing import Any

import pytest

from pi_appliance.config.options import Usb
from pi_appliance.errors import Refused, Unavailable, UnknownName
from pi_appliance.music.model import Capability, LibraryStats, PlaybackState, PlayerState, Queue, Track
from pi_appliance.music.usb import mounts
from pi_appliance.music.usb.drives import DriveState, Settings, UsbDrives

DRIVE = Path("USB", "Blue")


class ScanningPlayer:
    """A player with a library of scanned folders; each scan takes one more query."""

    def __init__(self) -> None:
        self.updates: list[str] = []
        self.known = 0
        self.left = 0  # queries until the scan is complete
        self.cans = frozenset({Capability.UPDATE})
        self.queued: Sequence[str] = ()
        self.now = PlayerState(playback=PlaybackState.STOPPED)
        self.pressed: list[object] = []

    async def capabilities(self) -> frozenset[Capability]:
        return self.cans

    async def update_library(self, folder: str = "") -> None:
        self.updates.append(folder)
        self.left = 3

    async def state(self) -> PlayerState:
        self.left = max(0, self.left - 1)
        self.known += 1 if self.left else 0
        return dataclasses.replace(self.now, updating=7 if self.left else None)

    async def library_stats(self, folder: str = "") -> LibraryStats:
        assert folder in self.updates
        if not self.known:
            raise Refused("No such directory")  # MPD's error for a folder that it has not scanned yet
        return LibraryStats(artists=0, albums=0, tracks=self.known, seconds=0)

    async def list_queue(self, start: int = 0, count: int = 100) -> Queue:
        tracks = [Track(uri=uri, position=position) for position, uri in enumerate(self.queued)]
        return Queue(tracks=tracks[start : start + count], start=start, length=len(tracks))

    async def play(self, position: int | None = None, *, at: float = 0.0) -> None:  # noqa: ARG002
        self.pressed.append(position)

    async def stop(self) -> None:
        self.pressed.append("stop")

    def plays(self, position: int, *uris: str, play: PlaybackState = PlaybackState.PLAYING) -> None:
        """Set the queue to `uris`, with the one at `position` playing."""
        self.queued = uris
        track = Track(uri=uris[position], position=position)
        self.now = PlayerState(playback=play, track=track, queue_length=len(uris))


class FakeHub:
    """A hub whose player may be missing."""

    def __init__(self, player: ScanningPlayer | None) -> None:
        self._player, self._news = player, asyncio.Event()

    def arrives(self, player: ScanningPlayer) -> None:
        self._player = player
        self._news.set()

    async def player(self) -> Any:
        if self._player is None:
            raise Unavailable("the player is not reached yet")
        return self._player

    async def watch_changes(self) -> AsyncIterator[frozenset[str]]:
        while True:
            yield frozenset({"connection"})
            await self._news.wait()
            self._news.clear()


class Home:
    """A folder of drives, a list of mounts, and the drives of the daemon."""

    def __init__(self, folder: Path, player: ScanningPlayer | None) -> None:
        self.folder, self.run, self.player = folder / "music" / "USB", folder / "run", player
        self.list, self.request = folder / "mountinfo", folder / "service" / "usb-remove"
        self.folder.mkdir(parents=True)
        self.request.parent.mkdir()
        self.list.write_text("")
        self.music = FakeHub(player)
        self.usb: Usb | None = Usb(mount_dir=self.folder)
        places = Settings(
            mount_table=self.list,
            root=mounts.Paths(self.run, folder / "drives.json", self.request),
            scan_poll=0,
            unmount_timeout=0.2,
            may_unmount=False,
        )
        self.drives = UsbDrives(lambda: self.usb, lambda: self.music, places)

    def mount(self, name: str = "Blue", files: int = 3) -> None:
        """Mount the drive `name` with audio files and one other file."""
        point = self.run / name
        point.mkdir(parents=True, exist_ok=True)
        for number in range(files):
            (point / f"{number}.Flac").touch()
        (point / "cover.jpg").touch()
        (self.folder / name).unlink(missing_ok=True)
        (self.folder / name).symlink_to(point)
        self.list.write_text(self.list.read_text() + f"40 1 8:1 / {point} ro - vfat /dev/sda1 ro\n")
        self.drives.wake()

    def unmount(self, name: str = "Blue") -> None:
        """Unmount it, as root does."""
        (self.folder / name).unlink()
        (self.folder / name).symlink_to(".")
        lines = self.list.read_text().splitlines(keepends=True)
        self.list.write_text("".join(line for line in lines if f"/{name} " not in line))
        self.drives.wake()

    async def wait_until(self, state: DriveState, name: str = "Blue") -> None:
        """Wait until the drive `name` is in `state`."""
        async with asyncio.timeout(5):
            while [each.state for each in self.drives.all() if each.name == name] != [state]:
                await asyncio.sleep(0)

    async def unmount_requested(self) -> None:
        """Unmount the requested drive once, as the unit does."""
        while not self.request.exists():
            await asyncio.sleep(0.001)
        name = self.request.read_text()
        self.request.unlink()
        self.unmount(name)


def run_scenario(home: Home, scenario: Coroutine[Any, Any, None]) -> None:
    """Run `scenario` with the drives of `home`."""

    async def life() -> None:
        task = asyncio.create_task(home.drives.run())
        try:
            await scenario
            assert not task.done(), task
        finally:
            task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await task

    asyncio.run(life())


@pytest.fixture
def player() -> ScanningPlayer:
    return ScanningPlayer()


@pytest.fixture
def home(tmp_path: Path, player: ScanningPlayer) -> Home:
    return Home(tmp_path, player)


def test_a_new_drive_is_scanned_and_named(home: Home, player: ScanningPlayer) -> None:
    async def scenario() -> None:
        home.mount()
        await home.wait_until(DriveState.SCANNING)
        await home.wait_until(DriveState.READY)
        (drive,) = home.drives.all()
        assert (drive.uri, drive.files, drive.tracks) == ("USB/Blue", 3, 2)
        assert drive.size is not None
        assert player.updates == ["USB/Blue"]
        home.mount("Red")
        await home.wait_until(DriveState.READY, "Red")
        assert player.updates == ["USB/Blue", "USB/Red"], "the one that was there is left alone"

    run_scenario(home, scenario())


def test_a_removed_drive_is_remembered_and_nothing_is_lost(home: Home, player: ScanningPlayer) -> None:
    async def scenario() -> None:
        home.mount()
        await home.wait_until(DriveState.READY)
        home.unmount()
        await home.wait_until(DriveState.UNMOUNTED)
        await home.drives.check()
        assert player.updates == ["USB/Blue"]
        home.mount()
        await home.wait_until(DriveState.READY)
        assert player.updates == ["USB/Blue", "USB/Blue"]

    run_scenario(home, scenario())


def test_a_drive_is_mounted_before_it_is_linked(home: Home, player: ScanningPlayer) -> None:
    async def scenario() -> None:
        home.mount()
        link = home.folder / "Blue"
        link.unlink()
        assert not await home.drives.check()
        link.symlink_to(home.run / "Blue")  # nothing reports this change
        await home.wait_until(DriveState.READY)
        assert await home.drives.check()

    run_scenario(home, scenario())


def test_a_drive_waits_for_the_player(tmp_path: Path, player: ScanningPlayer) -> None:
    home = Home(tmp_path, None)

    async def scenario() -> None:
        home.mount()
        await home.wait_until(DriveState.WAITING)
        async with asyncio.timeout(5):
            while home.drives.all()[0].status_text != "the player is not reached yet":
                await asyncio.sleep(0)
        home.music.arrives(player)
        await home.wait_until(DriveState.READY)
        assert player.updates == ["USB/Blue"]

    run_scenario(home, scenario())


def test_a_player_that_cannot_update_is_not_asked(home: Home, player: ScanningPlayer) -> None:
    player.cans = frozenset()

    async def scenario() -> None:
        home.mount()
        await home.wait_until(DriveState.READY)
        assert player.updates == []
        assert "on its own" in home.drives.all()[0].status_text

    run_scenario(home, scenario())


def test_a_reload_may_name_another_folder(home: Home, player: ScanningPlayer) -> None:
    async def scenario() -> None:
        home.mount()
        await home.wait_until(DriveState.READY)
        home.usb = None
        await home.drives.check()
        with pytest.raises(Unavailable, match="no folder of USB drives"):
            home.drives.all()
        home.usb = Usb(mount_dir=home.folder, library_path="Sticks/")
        await home.drives.check()
        await home.wait_until(DriveState.READY)
        assert player.updates == ["USB/Blue", "Sticks/Blue"]

    run_scenario(home, scenario())


@pytest.mark.parametrize(
    ("current", "queue", "play", "pressed"),
    [
        (0, ("USB/Blue/a", "USB/Blue/b", "Home/c"), PlaybackState.PLAYING, [2]),
        (0, ("USB/Blue/a", "USB/Bluebird/b"), PlaybackState.PLAYING, [1]),
        (1, ("Home/c", "USB/Blue/a"), PlaybackState.PLAYING, ["stop"]),
        (0, ("USB/Blue/a", *["USB/Blue/b"] * 500, "Home/c"), PlaybackState.PLAYING, [501]),
        (0, ("USB/Blue/a", "Home/c"), PlaybackState.PAUSED, ["stop"]),
        (1, ("USB/Blue/a", "Home/c"), PlaybackState.PLAYING, []),
        (0, ("USB/Blue/a", "Home/c"), PlaybackState.STOPPED, []),
    ],
)
def test_playback_from_an_ejected_drive_stops(
    home: Home, player: ScanningPlayer, current: int, queue: tuple[str, ...], play: PlaybackState, pressed: list[object]
) -> None:
    player.plays(current, *queue, play=play)

    async def scenario() -> None:
        home.mount()
        await home.wait_until(DriveState.READY)
        root = asyncio.create_task(home.unmount_requested())
        drive = await home.drives.eject("Blue")
        assert drive.state is DriveState.UNMOUNTED
        assert player.pressed == pressed
        await root

    run_scenario(home, scenario())


def test_a_drive_without_an_unmount_helper_may_not_be_removed(home: Home) -> None:
    async def scenario() -> None:
        home.mount()
        await home.wait_until(DriveState.READY)
        with pytest.raises(Unavailable, match="Blue was not unmounted"):
            await home.drives.eject("Blue")
        assert not home.request.exists(), "it is not done later, when nobody expects it any more"
        assert home.drives.all()[0].state is DriveState.READY
        home.request.parent.rmdir()
        with pytest.raises(Unavailable, match="sudo umount"):
            await home.drives.eject("Blue")

    run_scenario(home, scenario())


def test_only_connected_drives_of_ours_are_ejected(home: Home, tmp_path: Path) -> None:
    async def scenario() -> None:
        with pytest.raises(UnknownName):
            await home.drives.eject("../Blue")
        home.mount()
        home.unmount()
        with pytest.raises(Refused, match="is not mounted"):
            await home.drives.eject("Blue")
        (home.folder / "Red").mkdir()
        home.list.write_text(f"41 1 8:2 / {home.folder}/Red rw - ext4 /dev/sdb1 rw\n")
        with pytest.raises(Refused, match=f"sudo umount '{home.folder}/Red'"):
            await home.drives.eject("Red")

    run_scenario(home, scenario())


def test_a_folder_with_music_is_not_a_drive(home: Home) -> None:
    (home.folder / "Own").mkdir()
    (home.folder / "Own" / "a.ogg").touch()
    (home.folder / "Bare").mkdir()
    assert [(each.name, each.state) for each in home.drives.all()] == [("Bare", DriveState.UNMOUNTED)]
