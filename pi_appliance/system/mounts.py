"""What is mounted where, by the kernel's own list: who can be written to, and who will still know it tomorrow."""

import asyncio
import contextlib
import re
import select
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

MOUNT_TABLE = Path("/proc/self/mountinfo")
_IN_MEMORY = {"tmpfs", "ramfs", "devtmpfs"}
_OVERLAYS = {"overlay", "overlayfs", "aufs", "fuse-overlayfs", "unionfs"}
_MEMORY_DEVICE = re.compile(r"/dev/(zram|ram)\d")
_ESCAPE = re.compile(r"\\([0-7]{3})")


@dataclass(frozen=True, slots=True)
class Mount:
    """One line of the list: a file system at a folder. `options` are of the mount and of the file system.

    `device` is the number of what it lies on, as in 8:1.
    """

    folder: Path
    kind: str
    source: str
    options: frozenset[str]
    device: str = ""

    @property
    def read_only(self) -> bool:
        """Whether nobody can write here."""
        return bool(self.options & {"ro", "emergency_ro"})

    def option(self, name: str) -> str | None:
        """Return the value of the option NAME."""
        return next((each.partition("=")[2] for each in self.options if each.startswith(f"{name}=")), None)


def read_mounts(path: Path = MOUNT_TABLE) -> list[Mount]:
    """Return what is mounted, in the order in which it was. Raises OSError where the kernel does not tell."""
    return [mount for line in path.read_text("utf-8", "surrogateescape").splitlines() if (mount := _parse(line))]


def find_mount(folder: Path, known: Sequence[Mount]) -> Mount | None:
    """Return the mount of KNOWN that FOLDER is on; where there is no such folder yet, the one it would be on."""
    folder = folder.resolve()
    found = None
    for mount in known:  # a later one hides what was there before it
        if folder.is_relative_to(mount.folder) and (found is None or mount.folder.is_relative_to(found.folder)):
            found = mount
    return found


def is_volatile(mount: Mount, known: Sequence[Mount]) -> bool:
    """Say whether what is written to MOUNT is gone when the machine, or its container, starts anew."""
    if mount.kind in _IN_MEMORY or _MEMORY_DEVICE.match(mount.source):
        return True
    if mount.kind not in _OVERLAYS:
        return False
    upper = Path(mount.option("upperdir") or "")
    below = None
    with contextlib.suppress(OSError):
        if upper.is_absolute() and upper.is_dir():  # else it lies outside of the container that we are in
            below = find_mount(upper, [each for each in known if each.kind not in _OVERLAYS])
    return below is None or is_volatile(below, known)


def _parse(line: str) -> Mount | None:
    """Read a line: id parent device root FOLDER OPTIONS tags… - KIND SOURCE OPTIONS (man 5 proc)."""
    before, _, after = line.partition(" - ")
    place, system = before.split(" "), after.split(" ")
    if len(place) < 6 or len(system) < 3:
        return None
    options = frozenset((*place[5].split(","), *_plain(system[2]).split(",")))
    return Mount(Path(_plain(place[4])), system[0], _plain(system[1]), options, place[2])


def _plain(text: str) -> str:
    """Undo the kernel's way to write spaces and the like."""
    return _ESCAPE.sub(lambda match: chr(int(match[1], 8)), text)


class MountWatcher:
    """Calls RING in the running loop after each change of the LIST of mounts."""

    def __init__(self, ring: Callable[[], None], path: Path = MOUNT_TABLE) -> None:
        self._ring, self._loop = ring, asyncio.get_running_loop()
        self._epoll: select.epoll | None = None
        try:
            self._file = path.open("rb")
        except OSError:  # no such list here: nothing rings
            return
        epoll = select.epoll()
        try:
            epoll.register(self._file.fileno(), select.EPOLLPRI)
        except PermissionError:  # a plain file
            epoll.close()
            self._file.close()
            return
        self._epoll = epoll
        self._loop.add_reader(epoll.fileno(), self._rung)

    def close(self) -> None:
        """Ring no more."""
        if self._epoll is not None:
            self._loop.remove_reader(self._epoll.fileno())
            self._epoll.close()
            self._file.close()
            self._epoll = None

    def _rung(self) -> None:
        assert self._epoll is not None
        with contextlib.suppress(InterruptedError):
            self._epoll.poll(0)  # else it would be told again and again
        self._ring()
