"""A shelf that knows what this run put on it: others may put something there at the same time."""

from collections.abc import Iterable

from pi_appliance.ports_work import Shelf, is_of_a_board


class NotingShelf:
    """The Shelf of ports_work, in front of another one."""

    def __init__(self, shelf: Shelf) -> None:
        self._shelf = shelf
        self._saved: set[str] = set()

    def load(self, name: str) -> memoryview | None:
        """Return what was saved as NAME."""
        return self._shelf.load(name)

    def save(self, name: str, parts: Iterable[bytes | bytearray | memoryview]) -> None:
        """Keep PARTS as NAME. Raises Unavailable."""
        self._saved.add(name)
        self._shelf.save(name, parts)

    def remove(self, name: str) -> None:
        """Take NAME away."""
        self._shelf.remove(name)

    def names(self) -> Iterable[str]:
        """Return what there is."""
        return self._shelf.names()

    def begin(self) -> None:
        """Begin with a board: what is kept from now on may be its own."""
        self._saved.clear()

    def forget(self) -> None:
        """Take away what was kept of that board alone."""
        for name in filter(is_of_a_board, self._saved):
            self._shelf.remove(name)
