"""One level of positions after another, each with its number of ways: counted on all cores, kept where it stops."""

import json
from array import array
from collections.abc import Callable, Iterator, Mapping
from itertools import pairwise
from typing import Any

from pi_appliance.puzzles import kernel_mode
from pi_appliance.puzzles.peg_solitaire import kernel
from pi_appliance.puzzles.runtime.interface import SearchRuntime

ITEM = 8_192 if kernel_mode(kernel) == "compiled" else 192  # classes a call: hundredths of a second
SPAN = 16 * ITEM  # cells that are copied in about that time
FEW = 4  # calls that are not worth a second core
LARGE = 64_000_000  # bytes of a table, from where it is asked whether it fits
CELL = 24  # bytes
MAGIC = b"PEGLVL01"

Tell = Callable[[float], None]
"""Told how much of a level is done, 0 to 1; what it raises, ends the count."""
Came = tuple["array[int]", int, int, int]  # classes, positions they came from, moves there, ways to those without


class Frontier:
    """The positions that can be reached by so many jumps, and those after them as far as they are known.

    A class is [least member, high, low] in `cells`, one behind the other.
    """

    def __init__(self, game: kernel.Game, ways: Mapping[int, int]) -> None:
        """Begin with the classes of WAYS, and the number of ways to each."""
        self.game = game
        self.level = 0
        self.cells = array("Q")
        for key, number in ways.items():
            self.cells.extend((key, number >> 64, number & (1 << 64) - 1))
        self.before = array("Q")  # the level before
        self.rows: list[tuple[int, int, int]] = []  # of each level that is done: classes, positions, ways
        self.stuck = 0  # ways to positions that have no move
        self.tried = 0  # moves
        self._begin()

    def _begin(self) -> None:
        self.done = self.positions = 0
        self.after = kernel.Table(max(10, (2 * self.size).bit_length()))

    @property
    def size(self) -> int:
        """The number of classes of this level."""
        return len(self.cells) // 3

    @property
    def ways(self) -> int:
        """The number of ways to this level."""
        return (sum(self.cells[1::3]) << 64) + sum(self.cells[2::3])

    @property
    def looked(self) -> int:
        """The number of classes of all levels until now."""
        return sum(row[0] for row in self.rows) + self.size

    def classes(self) -> Iterator[tuple[int, int]]:
        """Yield each class with its ways."""
        cells = iter(self.cells)
        for key, high, low in zip(cells, cells, cells, strict=True):
            yield key, (high << 64) + low

    def advance(self, runtime: SearchRuntime, tell: Tell) -> None:
        """Go on by one jump; at the end `cells` may be empty. What TELL raises leaves it so that it can go on."""
        spans = self.spans(self.done)
        for (_, last), (cells, positions, tried, stuck) in zip(
            spans, self.map(runtime, self._expanded, spans), strict=True
        ):
            self._absorb(cells, runtime, tell)
            self.positions += positions
            self.tried += tried
            self.stuck += stuck
            self.done = last
            tell(last / self.size)
        level = packed(self.after, lambda: tell(1.0))
        self.rows.append((self.size, self.positions, self.ways))
        self.before, self.cells = self.cells, level
        self.level += 1
        if CELL * 4 * self.size >= LARGE:  # what the next level is laid out for
            runtime.require_memory(CELL * 8 * self.size, "a level of positions")
        self._begin()

    def project(self, game: kernel.Game, tell: Callable[[], None]) -> None:
        """See the positions as GAME does, which has other symmetries. What TELL raises leaves it as it was."""
        table = kernel.Table(max(10, (2 * self.size).bit_length()))
        for first, last in self.spans():
            kernel.project(game, self.cells, first, last, table)
            tell()
        self.cells = packed(table, tell)
        self.game = game
        self._begin()

    def spans(self, begin: int = 0) -> list[tuple[int, int]]:
        """Return the classes from BEGIN on, in parts for one call each."""
        return list(pairwise([*range(begin, self.size, ITEM), self.size])) if begin < self.size else []

    @staticmethod
    def map(
        runtime: SearchRuntime, function: Callable[[tuple[int, int]], Any], spans: list[tuple[int, int]]
    ) -> Iterator[Any]:
        """Call FUNCTION for each of SPANS, on all cores if it is worth it."""
        return runtime.executor.map(function, spans) if len(spans) > FEW else map(function, spans)

    def _expanded(self, span: tuple[int, int]) -> Came:
        bits = (8 * ITEM).bit_length()
        while True:
            table = kernel.Table(bits)
            if kernel.expand(self.game, self.cells, *span, table):
                return (
                    packed(table, lambda: None),
                    table.positions,
                    table.tried,
                    (table.stuck_high << 64) + table.stuck_low,
                )
            bits += 1

    def _absorb(self, cells: "array[int]", runtime: SearchRuntime, tell: Tell) -> None:
        while self.after.size + len(cells) // 3 > self.after.most:
            self.after = grown(self.after, runtime, lambda: tell(self.done / self.size))
        self._put(cells)

    def _put(self, cells: "array[int]") -> None:
        """Put CELLS into the level after this one."""
        kernel.absorb(cells, 0, len(cells) // 3, self.after)

    def save(self) -> tuple[list[bytes | memoryview], dict[str, Any]]:
        """Return all there is: its numbers, not copied, and words that tell how they are to be read."""
        after = packed(self.after, lambda: None)
        parts: list[bytes | memoryview] = [memoryview(each).cast("B") for each in (self.cells, self.before, after)]
        about = {
            "level": self.level,
            "rows": self.rows,
            "stuck": self.stuck,
            "tried": self.tried,
            "done": self.done,
            "positions": self.positions,
            "sizes": [len(part) for part in parts],
        }
        return parts, about

    def load(self, data: memoryview, about: Mapping[str, Any], tell: Callable[[], None]) -> None:
        """Be as one was that was saved; what TELL raises leaves it without what was found of the level after."""
        self.cells, self.before, after = array("Q"), array("Q"), array("Q")
        at = 0
        for cells, size in zip((self.cells, self.before, after), about["sizes"], strict=True):
            cells.frombytes(data[at : at + size])
            at += size
        self.level, self.stuck, self.tried = about["level"], about["stuck"], about["tried"]
        self.rows = [(classes, positions, ways) for classes, positions, ways in about["rows"]]
        self._begin()
        self.after = table_of(after, tell)
        self.done, self.positions = about["done"], about["positions"]


def table_of(cells: "array[int]", tell: Callable[[], None]) -> kernel.Table:
    """Return CELLS so that a class can be found among them."""
    size = len(cells) // 3
    table = kernel.Table(max(10, (2 * size).bit_length()))
    for first, last in pairwise([*range(0, size, SPAN), size]):
        kernel.absorb(cells, first, last, table)
        tell()
    return table


def grown(table: kernel.Table, runtime: SearchRuntime, tell: Callable[[], None]) -> kernel.Table:
    """Return a TABLE of twice the size."""
    if CELL << table.bits >= LARGE:
        runtime.require_memory(3 * CELL << table.bits, "a level of positions")
    larger = kernel.Table(table.bits + 1)
    for first, last in pairwise([*range(0, 1 << table.bits, SPAN), 1 << table.bits]):
        kernel.absorb(table.cells, first, last, larger)
        tell()
    return larger


def packed(table: kernel.Table, tell: Callable[[], None]) -> "array[int]":
    """Return the classes of TABLE, one behind the other."""
    level = array("Q", bytes(CELL * table.size))
    at = 0
    for first, last in pairwise([*range(0, 1 << table.bits, SPAN), 1 << table.bits]):
        at = kernel.pack(table.cells, first, last, level, at)
        tell()
    return level


def written(about: Mapping[str, Any], parts: list[bytes | memoryview]) -> list[bytes | memoryview]:
    """Return PARTS with words ABOUT them, as they go to a shelf."""
    words = json.dumps(about).encode()
    return [MAGIC, len(words).to_bytes(8, "little"), words, *parts]


def read(data: memoryview | None) -> tuple[dict[str, Any], memoryview] | None:
    """Return what was `written`; None if that is something else."""
    if data is None or len(data) < 16 or bytes(data[:8]) != MAGIC:
        return None
    length = int.from_bytes(data[8:16], "little")
    try:
        about = json.loads(bytes(data[16 : 16 + length]))
    except ValueError:
        return None
    return about, data[16 + length :]
