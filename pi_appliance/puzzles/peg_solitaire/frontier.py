"""Count level after level of positions on all cores, with checkpoints."""

import json
from array import array
from collections.abc import Callable, Iterator, Mapping
from itertools import pairwise
from typing import Any

from pi_appliance.puzzles import kernel_mode
from pi_appliance.puzzles.peg_solitaire import kernel
from pi_appliance.puzzles.runtime.interface import SearchRuntime

ITEM_SIZE = 8_192 if kernel_mode(kernel) == "compiled" else 192  # classes per call, some 10 ms
COPY_SPAN = 16 * ITEM_SIZE  # cells copied in about that time
MIN_PARALLEL_CALLS = 4  # up to this many calls, one core is faster
LARGE_TABLE = 64_000_000  # bytes; larger tables check the memory first
CELL_SIZE = 24  # bytes
MAGIC = b"PEGLVL01"

PartCallback = Callable[[float], None]
"""Receives the part of a level that is done, 0 to 1; its exceptions end the count."""
SpanResult = tuple["array[int]", int, int, int]  # classes, expanded positions, their moves, ways to stuck ones


class Frontier:
    """The positions after a number of jumps, with their number of ways, and the unfinished next level.

    `cells` has three numbers per class: canonical position, high and low word of the ways.
    """

    def __init__(self, game: kernel.Game, ways: Mapping[int, int]) -> None:
        """Start with the classes of `ways` and the number of ways to each."""
        self.game = game
        self.level = 0
        self.cells = array("Q")
        for key, number in ways.items():
            self.cells.extend((key, number >> 64, number & (1 << 64) - 1))
        self.before = array("Q")  # the previous level
        self.rows: list[tuple[int, int, int]] = []  # of finished levels: classes, positions, ways
        self.stuck = 0  # ways to positions that have no move
        self.tried = 0  # moves
        self._start_level()

    def _start_level(self) -> None:
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
    def classes_seen(self) -> int:
        """The number of classes of all levels so far."""
        return sum(row[0] for row in self.rows) + self.size

    def classes(self) -> Iterator[tuple[int, int]]:
        """Yield each class with its number of ways."""
        cells = iter(self.cells)
        for key, high, low in zip(cells, cells, cells, strict=True):
            yield key, (high << 64) + low

    def advance(self, runtime: SearchRuntime, tell: PartCallback) -> None:
        """Compute the next level; afterwards `cells` may be empty. After an exception of `tell`, it can continue."""
        spans = self.spans(self.done)
        for (_, last), (cells, positions, tried, stuck) in zip(
            spans, self.map_spans(runtime, self._expand, spans), strict=True
        ):
            self._absorb(cells, runtime, tell)
            self.positions += positions
            self.tried += tried
            self.stuck += stuck
            self.done = last
            tell(last / self.size)
        level = compact_table(self.after, lambda: tell(1.0))
        self.rows.append((self.size, self.positions, self.ways))
        self.before, self.cells = self.cells, level
        self.level += 1
        if CELL_SIZE * 4 * self.size >= LARGE_TABLE:  # the table of the next level
            runtime.require_memory(CELL_SIZE * 8 * self.size, "a level of positions")
        self._start_level()

    def project(self, game: kernel.Game, tell: Callable[[], None]) -> None:
        """Merge the classes under the symmetries of `game`. An exception of `tell` leaves everything unchanged."""
        table = kernel.Table(max(10, (2 * self.size).bit_length()))
        for first, last in self.spans():
            kernel.project(game, self.cells, first, last, table)
            tell()
        self.cells = compact_table(table, tell)
        self.game = game
        self._start_level()

    def spans(self, begin: int = 0) -> list[tuple[int, int]]:
        """Return the ranges of classes from `begin` on, one per call."""
        return list(pairwise([*range(begin, self.size, ITEM_SIZE), self.size])) if begin < self.size else []

    @staticmethod
    def map_spans(
        runtime: SearchRuntime, function: Callable[[tuple[int, int]], Any], spans: list[tuple[int, int]]
    ) -> Iterator[Any]:
        """Call `function` for each span, on all cores if there are enough spans."""
        return runtime.executor.map(function, spans) if len(spans) > MIN_PARALLEL_CALLS else map(function, spans)

    def _expand(self, span: tuple[int, int]) -> SpanResult:
        bits = (8 * ITEM_SIZE).bit_length()
        while True:
            table = kernel.Table(bits)
            if kernel.expand(self.game, self.cells, *span, table):
                return (
                    compact_table(table, lambda: None),
                    table.positions,
                    table.tried,
                    (table.stuck_high << 64) + table.stuck_low,
                )
            bits += 1

    def _absorb(self, cells: "array[int]", runtime: SearchRuntime, tell: PartCallback) -> None:
        while self.after.size + len(cells) // 3 > self.after.most:
            self.after = grow_table(self.after, runtime, lambda: tell(self.done / self.size))
        self._merge(cells)

    def _merge(self, cells: "array[int]") -> None:
        """Add `cells` to the next level."""
        kernel.merge(cells, 0, len(cells) // 3, self.after)

    def save(self) -> tuple[list[bytes | memoryview], dict[str, Any]]:
        """Return the numbers, not copied, and a JSON description of them."""
        after = compact_table(self.after, lambda: None)
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
        """Restore a saved state. An exception of `tell` loses the unfinished next level only."""
        self.cells, self.before, after = array("Q"), array("Q"), array("Q")
        at = 0
        for cells, size in zip((self.cells, self.before, after), about["sizes"], strict=True):
            cells.frombytes(data[at : at + size])
            at += size
        self.level, self.stuck, self.tried = about["level"], about["stuck"], about["tried"]
        self.rows = [(classes, positions, ways) for classes, positions, ways in about["rows"]]
        self._start_level()
        self.after = build_table(after, tell)
        self.done, self.positions = about["done"], about["positions"]


def build_table(cells: "array[int]", tell: Callable[[], None]) -> kernel.Table:
    """Return a hash table of `cells`."""
    size = len(cells) // 3
    table = kernel.Table(max(10, (2 * size).bit_length()))
    for first, last in pairwise([*range(0, size, COPY_SPAN), size]):
        kernel.merge(cells, first, last, table)
        tell()
    return table


def grow_table(table: kernel.Table, runtime: SearchRuntime, tell: Callable[[], None]) -> kernel.Table:
    """Return a copy of `table` of twice the size."""
    if CELL_SIZE << table.bits >= LARGE_TABLE:
        runtime.require_memory(3 * CELL_SIZE << table.bits, "a level of positions")
    larger = kernel.Table(table.bits + 1)
    for first, last in pairwise([*range(0, 1 << table.bits, COPY_SPAN), 1 << table.bits]):
        kernel.merge(table.cells, first, last, larger)
        tell()
    return larger


def compact_table(table: kernel.Table, tell: Callable[[], None]) -> "array[int]":
    """Return the classes of `table` without gaps."""
    level = array("Q", bytes(CELL_SIZE * table.size))
    at = 0
    for first, last in pairwise([*range(0, 1 << table.bits, COPY_SPAN), 1 << table.bits]):
        at = kernel.compact(table.cells, first, last, level, at)
        tell()
    return level


def encode_checkpoint(about: Mapping[str, Any], parts: list[bytes | memoryview]) -> list[bytes | memoryview]:
    """Return the parts of a cache entry."""
    words = json.dumps(about).encode()
    return [MAGIC, len(words).to_bytes(8, "little"), words, *parts]


def decode_checkpoint(data: memoryview | None) -> tuple[dict[str, Any], memoryview] | None:
    """Return the description and the numbers of a cache entry, or None if it is not valid."""
    if data is None or len(data) < 16 or bytes(data[:8]) != MAGIC:
        return None
    length = int.from_bytes(data[8:16], "little")
    try:
        about = json.loads(bytes(data[16 : 16 + length]))
    except ValueError:
        return None
    return about, data[16 + length :]
