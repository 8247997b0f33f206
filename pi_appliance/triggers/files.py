"""Files that start jobs when they were written."""

import asyncio
import contextlib
import errno
from collections.abc import Callable, Iterator, Mapping
from fnmatch import fnmatchcase
from pathlib import Path

from pi_appliance.config.triggers import FileTrigger
from pi_appliance.system import inotify
from pi_appliance.system.inotify import FileEvent, Inotify

_EVENTS = (
    inotify.CLOSE_WRITE | inotify.MOVED_TO | inotify.CREATE | inotify.DELETE_SELF | inotify.MOVE_SELF
)  # CREATE is for folders only: a file is used when it is closed
_GONE = inotify.DELETE_SELF | inotify.MOVE_SELF | inotify.UNMOUNT | inotify.IGNORED
_RECHECK_INTERVAL = 60.0  # seconds; a mount over a watched folder is not an event
_SETTLE = 0.1  # seconds; several folders are often created together
_MAX_DELAYS = 10  # debounce times after which a file that never rests starts the job nevertheless
_LIMIT = "the kernel allows no more watched folders; raise it: sudo sysctl fs.inotify.max_user_watches=65536"

Pattern = tuple[str, Path, str]
"""A job, a folder and the pattern of the names in it."""


class FileWatcher:
    """Calls `fire` with a job when one of its files was written and closed.

    A folder that does not exist is waited for, at the nearest folder that does.

    Args:
        fire: Starts a job.
        report: Receives the problem of each job, or "".
    """

    def __init__(self, fire: Callable[[str], None], report: Callable[[str, str], None]) -> None:
        self._fire, self._report = fire, report
        self._triggers: Mapping[str, FileTrigger] = {}
        self._patterns: list[Pattern] = []
        self._watched: dict[Path, tuple[int, tuple[int, int]]] = {}  # the watch, and the identity of the folder
        self._wanted = set[Path]()  # the folders of the patterns when the watches were last updated
        self._waiting: dict[str, tuple[asyncio.TimerHandle, float]] = {}  # with the time of the first event
        self._changed = asyncio.Event()

    def use_triggers(self, triggers: Mapping[str, FileTrigger]) -> None:
        """Use other triggers from now on, without losing a file that is written meanwhile.

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
            paths = [Path(path).expanduser() for path in trigger.path or ()]
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
                # In a thread, because a network drive that is away does not answer. Events wait.
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
            if event.events & inotify.OVERFLOW:  # events were lost
                for job, _, _ in self._existing_files(self._patterns):
                    self._note(job)
                self._changed.set()
                continue
            folder = folders.get(event.watch)
            if event.events & (_GONE | inotify.IS_DIRECTORY):
                if event.events & inotify.IGNORED and folder:  # the kernel has removed the watch
                    self._watched.pop(folder, None)
                self._changed.set()
            elif folder:
                self._use_file(folder, event)

    def _use_file(self, folder: Path, event: FileEvent) -> None:
        if event.events & (inotify.CLOSE_WRITE | inotify.MOVED_TO):
            for job, each, pattern in self._patterns:
                if each == folder and _matches(event.name, pattern):
                    self._note(job)

    def _note(self, job: str) -> None:
        """Start `job` when its files have not changed for its debounce time."""
        if job not in self._triggers:  # it was removed while its folders were read
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
        new = [each for each in patterns if each[1] in appeared & self._wanted]  # those that were waited for
        self._wanted = {folder for _, folder, _ in patterns}
        return {job for job, _, _ in self._existing_files(new)}

    def _watch_nearest(self, kernel: Inotify, folder: Path) -> Path:
        """Watch `folder`, or else the nearest one that exists, and return it."""
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
            nearest = folder  # it has appeared in the meantime

    def _watch(self, kernel: Inotify, folder: Path) -> None:
        status = folder.stat()
        identity = status.st_dev, status.st_ino
        watch, before = self._watched.get(folder, (0, None))
        if before != identity:
            if before is not None:  # another folder has taken its place, such as a drive
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
