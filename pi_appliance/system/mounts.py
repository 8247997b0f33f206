"""The mount table: which file systems are mounted, read-only or volatile."""

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
    """One line of the mount table.

    `options` are those of the mount and of the file system. `device` is the device number, such as 8:1.
    """

    folder: Path
    kind: str
    source: str
    options: frozenset[str]
    device: str = ""

    @property
    def read_only(self) -> bool:
        """Whether it is mounted read-only."""
        return bool(self.options & {"ro", "emergency_ro"})

    def option(self, name: str) -> str | None:
        """Return the value of the mount option `name`."""
        return next((each.partition("=")[2] for each in self.options if each.startswith(f"{name}=")), None)


def read_mounts(path: Path = MOUNT_TABLE) -> list[Mount]:
    """Return all mounts in the order of mounting. Raises OSError if the kernel has no mount table."""
    return [mount for line in path.read_text("utf-8", "surrogateescape").splitlines() if (mount := _parse(line))]


def find_mount(folder: Path, known: Sequence[Mount]) -> Mount | None:
    """Return the mount of `known` that `folder` is on, or would be on once it exists."""
    folder = folder.resolve()
    found = None
    for mount in known:  # a later mount hides an earlier one
        if folder.is_relative_to(mount.folder) and (found is None or mount.folder.is_relative_to(found.folder)):
            found = mount
    return found


def is_volatile(mount: Mount, known: Sequence[Mount]) -> bool:
    """Return whether files on `mount` are lost when the machine or its container restarts."""
    if mount.kind in _IN_MEMORY or _MEMORY_DEVICE.match(mount.source):
        return True
    if mount.kind not in _OVERLAYS:
        return False
    upper = Path(mount.option("upperdir") or "")
    below = None
    with contextlib.suppress(OSError):
        if upper.is_absolute() and upper.is_dir():  # else it is outside this container
            below = find_mount(upper, [each for each in known if each.kind not in _OVERLAYS])
    return below is None or is_volatile(below, known)


def _parse(line: str) -> Mount | None:
    """Parse a line: id parent device root FOLDER OPTIONS tags… - KIND SOURCE OPTIONS (man 5 proc)."""
    before, _, after = line.partition(" - ")
    place, system = before.split(" "), after.split(" ")
    if len(place) < 6 or len(system) < 3:
        return None
    options = frozenset((*place[5].split(","), *_unescape(system[2]).split(",")))
    return Mount(Path(_unescape(place[4])), system[0], _unescape(system[1]), options, place[2])


def _unescape(text: str) -> str:
    """Decode the octal escapes of spaces and other characters."""
    return _ESCAPE.sub(lambda match: chr(int(match[1], 8)), text)


class MountWatcher:
    """Call `on_change` in the running event loop after each change of the mount table."""

    def __init__(self, on_change: Callable[[], None], path: Path = MOUNT_TABLE) -> None:
        import asyncio  # noqa: PLC0415 - commands that run as root read the table without it

        self._on_change, self._loop = on_change, asyncio.get_running_loop()
        self._epoll: select.epoll | None = None
        try:
            self._file = path.open("rb")
        except OSError:  # no mount table here: changes are not reported
            return
        epoll = select.epoll()
        try:
            epoll.register(self._file.fileno(), select.EPOLLPRI)
        except PermissionError:  # an ordinary file
            epoll.close()
            self._file.close()
            return
        self._epoll = epoll
        self._loop.add_reader(epoll.fileno(), self._on_event)

    def close(self) -> None:
        """Stop watching."""
        if self._epoll is not None:
            self._loop.remove_reader(self._epoll.fileno())
            self._epoll.close()
            self._file.close()
            self._epoll = None

    def _on_event(self) -> None:
        assert self._epoll is not None
        with contextlib.suppress(InterruptedError):
            self._epoll.poll(0)  # else the event is reported again and again
        self._on_change()
