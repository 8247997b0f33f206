"""Work for a search that is called as a library: one core, nothing is told, its shelf is memory."""

from collections.abc import Callable, Iterable, Iterator

from pi_appliance.errors import Unavailable
from pi_appliance.puzzles.runtime.interface import Cache, Item, Result


class MemoryCache:
    """A shelf in memory."""

    def __init__(self) -> None:
        self._kept: dict[str, bytes] = {}

    def load(self, name: str) -> memoryview | None:
        """Return what was saved as NAME."""
        return memoryview(self._kept[name]).toreadonly() if name in self._kept else None

    def save(self, name: str, parts: Iterable[bytes | bytearray | memoryview]) -> None:
        """Keep PARTS as NAME."""
        self._kept[name] = b"".join(parts)

    def remove(self, name: str) -> None:
        """Take NAME away."""
        self._kept.pop(name, None)

    def names(self) -> list[str]:
        """Return what there is."""
        return sorted(self._kept)


class SerialRuntime:
    """The simplest Work there is."""

    cores = 1

    def __init__(self, monotonic: Callable[[], float] = lambda: 0.0) -> None:
        self.cache: Cache = MemoryCache()
        self.monotonic = monotonic

    def report_progress(self, part: float | None, note: str) -> None:
        """Tell nobody."""

    def map(self, function: Callable[[Item], Result], items: Iterable[Item]) -> Iterator[Result]:
        """Call FUNCTION for each of ITEMS."""
        return map(function, items)

    def shared_buffer(self, size: int) -> memoryview:
        """Return SIZE bytes."""
        return memoryview(bytearray(size))

    def require_memory(self, size: int, purpose: str) -> None:
        """Let everything fit."""

    def seconds_left(self) -> None:
        """Nobody is in a hurry."""


def save_checkpoint(save: Callable[..., None], *what: object) -> str:
    """Call SAVE with WHAT; return what to say behind a sentence on how far it is: nothing, or why it is not kept."""
    try:
        save(*what)
    except Unavailable as error:
        return f"; that could not be kept: {error}"
    return ""
