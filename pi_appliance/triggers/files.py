"""Start jobs when files were written."""

import asyncio
import contextlib
import ctypes
import errno
import os
import struct
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path

from pi_appliance.config.triggers import FileTrigger
from pi_appliance.system.files import expand_user

_CLOSE_WRITE, _MOVED_TO, _CREATE = 0x8, 0x80, 0x100
_DELETE_SELF, _MOVE_SELF, _UNMOUNT, _OVERFLOW, _IGNORED = 0x400, 0x800, 0x2000, 0x4000, 0x8000
_IS_DIRECTORY = 0x4000_0000
_ONLY_DIRECTORY = 0x0100_0000
_HEAD = struct.Struct("iIII")  # struct inotify_event: watch, events, cookie, length of the name
_BUFFER = 65_536  # bytes of events that are read at a time
_EVENTS = (
    _CLOSE_WRITE | _MOVED_TO | _CREATE | _DELETE_SELF | _MOVE_SELF
)  # CREATE is needed for folders only: a file counts when it is closed
_GONE = _DELETE_SELF | _MOVE_SELF | _UNMOUNT | _IGNORED
_RECHECK_INTERVAL = 60.0  # seconds; the kernel does not report a mount over a watched folder
_SETTLE = 0.1  # seconds to wait, because several folders are often created together
_MAX_DELAYS = 10  # debounce times after which a file that never rests starts the job nevertheless
_LIMIT = "the kernel allows no more watched folders; raise it: sudo sysctl fs.inotify.max_user_watches=65536"

Pattern = tuple[str, Path, str]
"""A job, a folder and the pattern of the names in it."""


@dataclass(frozen=True, slots=True)
class FileEvent:
    """An event in the folder with the number `watch`.

    `name` is the file, or "" for the folder itself.
    """

    watch: int
    events: int
    name: str


class Inotify:
    """Watches folders by inotify(7). Its file descriptor is readable when there are events."""

    def __init__(self) -> None:
        self._libc = ctypes.CDLL(None, use_errno=True)
        self._descriptor = self._call("inotify_init1", os.O_NONBLOCK | os.O_CLOEXEC)

    def fileno(self) -> int:
        """Return the file descriptor."""
        return self._descriptor

    def watch(self, folder: Path, events: int) -> int:
        """Watch `folder` and return the number of the watch. Raises OSError."""
        return self._call("inotify_add_watch", self._descriptor, os.fsencode(folder), events | _ONLY_DIRECTORY)

    def unwatch(self, watch: int) -> None:
        """Remove the watch. Raises OSError if the kernel has removed it already."""
        self._call("inotify_rm_watch", self._descriptor, watch)

    def read(self) -> Iterator[FileEvent]:
        """Yield the events that the kernel has stored, without waiting."""
        try:
            data = os.read(self._descriptor, _BUFFER)
        except BlockingIOError:
            return
        start = 0
        while start < len(data):
            watch, events, _, length = _HEAD.unpack_from(data, start)
            start += _HEAD.size
            yield FileEvent(watch, events, os.fsdecode(data[start : start + length].rstrip(b"\0")))
            start += length

    def close(self) -> None:
        """Remove all watches."""
        os.close(self._descriptor)

    def _call(self, function: str, *arguments: int | bytes) -> int:
        result = int(getattr(self._libc, function)(*arguments))
        if result < 0:
            number = ctypes.get_errno()
            raise OSError(number, os.strerror(number))
        return result


class FileWatcher:
    """Calls `fire` with a job when one of its files was written and closed.

    While a folder does not exist, the nearest existing one above it is watched.

    Args:
        fire: Starts a job.
        report: Receives the problem of each job, or "".
    """

    def __init__(self, fire: Callable[[str], None], report: Callable[[str, str], None]) -> None:
        self._fire, self._report = fire, report
        self._triggers: Mapping[str, FileTrigger] = {}
        self._patterns: list[Pattern] = []
        self._watched: dict[Path, tuple[int, tuple[int, int]]] = {}  # folder: its watch, and the identity of the folder
        self._wanted = set[Path]()  # the folders of the patterns when the watches were last updated
        # job: its timer, and the time of the first event
        self._waiting: dict[str, tuple[asyncio.TimerHandle, float]] = {}
        self._changed = asyncio.Event()

    def use_triggers(self, triggers: Mapping[str, FileTrigger]) -> None:
        """Watch the files of other jobs from now on.

        A file that is written meanwhile is not missed.

        Args:
            triggers: The trigger of each job.
        """
        if triggers == self._triggers:
            return
        for job in self._triggers.keys() - triggers.keys():
            self._report(job, "")
            if job in self._waiting:
                self._waiting.pop(job)[0].cancel()
        self._triggers, self._patterns = triggers, []
        for job, trigger in triggers.items():
            paths = [expand_user(path) for path in trigger.path or ()]
            self._patterns += [(job, path.parent, path.name) for path in paths]
        self._changed.set()

    async def run(self) -> None:
        """Watch until it is cancelled. Raises OSError if the kernel has no inotify left."""
        kernel, loop = Inotify(), asyncio.get_running_loop()
        self._watched, self._wanted = {}, set()
        try:
            self._report("", "")
            await asyncio.to_thread(self._update_watches, kernel)
            loop.add_reader(kernel.fileno(), self._read, kernel)
            while True:
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(_RECHECK_INTERVAL):
                        await self._changed.wait()
                await asyncio.sleep(_SETTLE)
                self._changed.clear()
                # In a thread, because a network drive may not answer. Events wait meanwhile.
                loop.remove_reader(kernel.fileno())
                for job in await asyncio.to_thread(self._update_watches, kernel):
                    self._note(job)
                loop.add_reader(kernel.fileno(), self._read, kernel)
        finally:
            loop.remove_reader(kernel.fileno())
            kernel.close()
            for timer, _ in self._waiting.values():
                timer.cancel()
            self._waiting.clear()

    def _read(self, kernel: Inotify) -> None:
        folders = {watch: folder for folder, (watch, _) in self._watched.items()}
        for event in kernel.read():
            if event.events & _OVERFLOW:  # the kernel has dropped events
                for job, _, _ in self._existing_files(self._patterns):
                    self._note(job)
                self._changed.set()
                continue
            folder = folders.get(event.watch)
            if event.events & (_GONE | _IS_DIRECTORY):
                if event.events & _IGNORED and folder:  # the kernel has removed the watch
                    self._watched.pop(folder, None)
                self._changed.set()
            elif folder:
                self._use_file(folder, event)

    def _use_file(self, folder: Path, event: FileEvent) -> None:
        if event.events & (_CLOSE_WRITE | _MOVED_TO):
            for job, each, pattern in self._patterns:
                if each == folder and _matches(event.name, pattern):
                    self._note(job)

    def _note(self, job: str) -> None:
        """Start `job` when its files have not changed for the debounce time."""
        if job not in self._triggers:  # the job was removed while its folders were read
            return
        loop, delay = asyncio.get_running_loop(), self._triggers[job].debounce.total_seconds()
        now, first = loop.time(), loop.time()
        if job in self._waiting:
            timer, first = self._waiting[job]
            timer.cancel()
        at = min(now + delay, first + _MAX_DELAYS * delay)
        self._waiting[job] = loop.call_at(at, self._end_wait, job), first

    def _end_wait(self, job: str) -> None:
        del self._waiting[job]
        self._fire(job)

    def _update_watches(self, kernel: Inotify) -> set[str]:
        """Watch each folder, or the nearest one that exists.

        Returns:
            The jobs with files in folders that have appeared since the last time.
        """
        triggers, patterns = self._triggers, self._patterns
        appeared, problems = set[Path](), dict.fromkeys(triggers, "")
        wanted = set[Path]()
        for job, folder, _ in patterns:
            before = self._watched.get(folder)
            try:
                wanted.add(self._watch_nearest(kernel, folder))
            except OSError as error:
                problems[job] = _LIMIT if error.errno == errno.ENOSPC else f"{folder}: {error.strerror}"
            if self._watched.get(folder) not in (None, before):
                appeared.add(folder)
        for folder in self._watched.keys() - wanted:
            with contextlib.suppress(OSError):
                kernel.unwatch(self._watched[folder][0])
            del self._watched[folder]
        for job, problem in problems.items():
            self._report(job, problem)
        # patterns whose folder was awaited, and has appeared
        new = [each for each in patterns if each[1] in appeared & self._wanted]
        self._wanted = {folder for _, folder, _ in patterns}
        return {job for job, _, _ in self._existing_files(new)}

    def _watch_nearest(self, kernel: Inotify, folder: Path) -> Path:
        """Watch `folder`, or else the nearest existing folder above it, and return that folder.

        Return the watched folder.
        """
        nearest = folder
        while True:
            try:
                self._watch(kernel, nearest)
            except (FileNotFoundError, NotADirectoryError):
                nearest = nearest.parent
                continue
            below = nearest / folder.relative_to(nearest).parts[0] if nearest != folder else None
            if below is None or not below.is_dir():
                return nearest
            nearest = folder  # the folder has appeared meanwhile

    def _watch(self, kernel: Inotify, folder: Path) -> None:
        status = folder.stat()
        identity = status.st_dev, status.st_ino
        watch, before = self._watched.get(folder, (0, None))
        if before != identity:
            if before is not None:  # another folder has taken its place, such as a mounted drive
                with contextlib.suppress(OSError):
                    kernel.unwatch(watch)
            self._watched[folder] = kernel.watch(folder, _EVENTS), identity

    @staticmethod
    def _existing_files(patterns: list[Pattern]) -> Iterator[Pattern]:
        for each in patterns:
            with contextlib.suppress(OSError):
                if any(_matches(file.name, each[2]) for file in each[1].iterdir() if file.is_file()):
                    yield each


def _matches(name: str, pattern: str) -> bool:
    """Return whether `name` fits `pattern`, as in a shell: `*` does not match a hidden file."""
    return fnmatchcase(name, pattern) and (pattern.startswith(".") or not name.startswith("."))
