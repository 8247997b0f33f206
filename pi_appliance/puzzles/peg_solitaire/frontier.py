"""Search level by level on all cores, with checkpoints; find the solutions with the fewest moves.

A move is a series of jumps of one peg. Pegs that no jump passes over must move, which is a lower
bound.
"""

import json
from array import array
from collections.abc import Callable, Iterator, Mapping
from itertools import pairwise
from typing import Any

from pi_appliance.puzzles import kernel_mode, pluralize
from pi_appliance.puzzles.peg_solitaire import kernel
from pi_appliance.puzzles.peg_solitaire.bitboard import Bitboard, Move, diagonal_parity, find_pagodas, to_game
from pi_appliance.puzzles.peg_solitaire.board import Solution
from pi_appliance.puzzles.runtime import Interrupted, SearchRuntime, save_checkpoint

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
    """The positions after a number of jumps, with their ways, and the unfinished next level.

    `cells` has three numbers per class: canonical position, high and low word of the ways.
    """

    def __init__(self, game: kernel.Game, ways: Mapping[int, int]) -> None:
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

    def advance(self, runtime: SearchRuntime, report: PartCallback) -> None:
        """Compute the next level, which may be empty. It resumes after an exception of `report`."""
        spans = self.spans(self.done)
        for (_, last), (cells, positions, tried, stuck) in zip(
            spans, self.map_spans(runtime, self._expand, spans), strict=True
        ):
            while self.after.size + len(cells) // 3 > self.after.most:
                self.after = grow_table(self.after, runtime, lambda: report(self.done / self.size))
            self._merge(cells)
            self.positions += positions
            self.tried += tried
            self.stuck += stuck
            self.done = last
            report(last / self.size)
        level = compact_table(self.after, lambda: report(1.0))
        self.rows.append((self.size, self.positions, self.ways))
        self.before, self.cells = self.cells, level
        self.level += 1
        if CELL_SIZE * 4 * self.size >= LARGE_TABLE:  # the table of the next level
            runtime.require_memory(CELL_SIZE * 8 * self.size, "a level of positions")
        self._start_level()

    def project(self, game: kernel.Game, report: Callable[[], None]) -> None:
        """Merge the classes under the symmetries of `game`, or change nothing."""
        table = kernel.Table(max(10, (2 * self.size).bit_length()))
        for first, last in self.spans():
            kernel.project(game, self.cells, first, last, table)
            report()
        self.cells = compact_table(table, report)
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

    def _merge(self, cells: "array[int]") -> None:
        kernel.merge(cells, 0, len(cells) // 3, self.after)

    def save(self) -> tuple[list[bytes | memoryview], dict[str, Any]]:
        """Return the numbers, not copied, and a JSON description of them."""
        after = compact_table(self.after, lambda: None)
        parts: list[bytes | memoryview] = [memoryview(each).cast("B") for each in (self.cells, self.before, after)]
        header = {name: getattr(self, name) for name in ("level", "rows", "stuck", "tried", "done", "positions")}
        return parts, header | {"sizes": [len(part) for part in parts]}

    def load(self, data: memoryview, header: Mapping[str, Any], report: Callable[[], None]) -> None:
        """Restore a saved state. An exception of `report` loses the unfinished next level only."""
        self.cells, self.before, after = array("Q"), array("Q"), array("Q")
        at = 0
        for cells, size in zip((self.cells, self.before, after), header["sizes"], strict=True):
            cells.frombytes(data[at : at + size])
            at += size
        self.level, self.stuck, self.tried = header["level"], header["stuck"], header["tried"]
        self.rows = [(classes, positions, ways) for classes, positions, ways in header["rows"]]
        self._start_level()
        self.after = build_table(after, report)
        self.done, self.positions = header["done"], header["positions"]


def build_table(cells: "array[int]", report: Callable[[], None]) -> kernel.Table:
    """Return a hash table of `cells`."""
    size = len(cells) // 3
    table = kernel.Table(max(10, (2 * size).bit_length()))
    for first, last in pairwise([*range(0, size, COPY_SPAN), size]):
        kernel.merge(cells, first, last, table)
        report()
    return table


def grow_table(table: kernel.Table, runtime: SearchRuntime, report: Callable[[], None]) -> kernel.Table:
    """Return a copy of `table` of twice the size."""
    if CELL_SIZE << table.bits >= LARGE_TABLE:
        runtime.require_memory(3 * CELL_SIZE << table.bits, "a level of positions")
    larger = kernel.Table(table.bits + 1)
    for first, last in pairwise([*range(0, 1 << table.bits, COPY_SPAN), 1 << table.bits]):
        kernel.merge(table.cells, first, last, larger)
        report()
    return larger


def compact_table(table: kernel.Table, report: Callable[[], None]) -> "array[int]":
    """Return the classes of `table` without gaps."""
    level = array("Q", bytes(CELL_SIZE * table.size))
    at = 0
    for first, last in pairwise([*range(0, 1 << table.bits, COPY_SPAN), 1 << table.bits]):
        at = kernel.compact(table.cells, first, last, level, at)
        report()
    return level


def encode_checkpoint(header: Mapping[str, Any], parts: list[bytes | memoryview]) -> list[bytes | memoryview]:
    """Return the parts of a cache entry."""
    words = json.dumps(header).encode()
    return [MAGIC, len(words).to_bytes(8, "little"), words, *parts]


def decode_checkpoint(data: memoryview | None) -> tuple[dict[str, Any], memoryview] | None:
    """Return the description and the numbers of a cache entry, or None if it is not valid."""
    if data is None or len(data) < 16 or bytes(data[:8]) != MAGIC:
        return None
    length = int.from_bytes(data[8:16], "little")
    try:
        header = json.loads(bytes(data[16 : 16 + length]))
    except ValueError:
        return None
    return header, data[16 + length :]


KEY_SIZE = 8  # bytes
MIN_PEGS_FOR_PAGODAS = 20  # pegs: below, pagoda functions cost more than they save
SAVE_INTERVAL = 120.0  # seconds; an interruption saves a checkpoint, too


class Layers(Frontier):
    """The positions by their least number of moves, for solutions of at most `most` moves."""

    def __init__(self, game: kernel.Game, field: Bitboard, unjumpable: int, spare: int, most: int) -> None:
        """Start the search. No jump passes `unjumpable` holes; `spare` of their pegs may stay."""
        super().__init__(game, {field.start: 1})
        self.spare, self.most = spare, most
        game.unjumpable, game.goals = unjumpable, field.goals
        self.seen = kernel.KeySet(12)
        self.layers = [array("Q", [field.start])]
        self.add_seen(self.layers[0], lambda: None)

    def advance(self, runtime: SearchRuntime, report: PartCallback) -> None:
        """Compute the next layer."""
        super().advance(runtime, report)
        self.before = array("Q")
        keys = self.cells[::3]
        if KEY_SIZE << self.seen.bits >= LARGE_TABLE and self.seen.size + len(keys) > self.seen.most:
            runtime.require_memory(3 * KEY_SIZE << self.seen.bits, "all positions by their moves")
        self.layers.append(keys)
        self.add_seen(keys, lambda: report(1.0))

    def add_seen(self, keys: "array[int]", report: Callable[[], None]) -> None:
        """Add keys to the set of seen positions."""
        while self.seen.size + len(keys) > self.seen.most:
            larger = kernel.KeySet(self.seen.bits + 1)
            for first, last in pairwise([*range(0, len(self.seen.cells), COPY_SPAN), len(self.seen.cells)]):
                kernel.add_keys(self.seen.cells, first, last, 1, larger)
                report()
            self.seen = larger
        for first, last in pairwise([*range(0, len(keys), COPY_SPAN), len(keys)]):
            kernel.add_keys(keys, first, last, 1, self.seen)
            report()

    def _expand(self, span: tuple[int, int]) -> SpanResult:
        bits = (8 * ITEM_SIZE).bit_length()
        moves_left = self.most - self.level - 1 + self.spare
        while True:
            table = kernel.Table(bits)
            if kernel.expand_chains(self.game, self.cells, *span, table, moves_left):
                return compact_table(table, lambda: None), 0, table.tried, 0
            bits += 1

    def _merge(self, cells: "array[int]") -> None:
        kernel.merge_new(cells, 0, len(cells) // 3, self.seen, self.after)

    def save(self) -> tuple[list[bytes | memoryview], dict[str, Any]]:
        """Return the state of the frontier, then the layers."""
        parts, header = super().save()
        return [*parts, *(memoryview(keys).cast("B") for keys in self.layers)], header | {
            "layers": [len(each) for each in self.layers]
        }

    def load(self, data: memoryview, header: Mapping[str, Any], report: Callable[[], None]) -> None:
        """Restore a saved state. After an exception of `report`, the layers are incomplete."""
        super().load(data, header, report)
        at, self.layers = sum(header["sizes"]), []
        for size in header["layers"]:
            self.layers.append(array("Q", bytes(data[at : at + KEY_SIZE * size])))
            self.add_seen(self.layers[-1], report)
            at += KEY_SIZE * size


def _describe_bound(most: int) -> str:
    return f"no solution takes fewer than {pluralize(most, 'move')}"


class MinMoveSearch:
    """A search for the solutions with the fewest moves that can be interrupted and resumed."""

    def __init__(self, field: Bitboard, runtime: SearchRuntime) -> None:
        self.field, self.runtime = field, runtime
        self.symmetries = field.stabilizer(frozenset({field.start}))
        self.unjumpable = field.full & ~sum({1 << move.over for move in field.moves})
        begin = diagonal_parity(field.board, field.board.pegs)
        ends = [hole for hole in field.board.holes if diagonal_parity(field.board, [hole]) == begin]
        at = {hole: 1 << number for number, hole in enumerate(field.board.holes)}
        self.spare = int(any(at[hole] & field.goals & self.unjumpable for hole in ends))
        self.name = field.checkpoint_name("moves")
        self.saved = runtime.monotonic()
        self.classes_seen = self.tried = 0  # of all searches so far
        self.layers: Layers

    def run(self) -> int:
        """Return the fewest moves. Raises Interrupted, and Refused if memory is too small."""
        field = self.field
        if field.start & (field.start - 1) == 0:
            return 0
        pairs = [pair for orbit in field.final_pairs() for pair in orbit]
        large = field.start.bit_count() > MIN_PEGS_FOR_PAGODAS
        checkpoint = decode_checkpoint(self.runtime.cache.load(self.name))
        most = checkpoint[0]["most"] if checkpoint else max(1, (field.start & self.unjumpable).bit_count() - self.spare)
        try:
            proofs = find_pagodas(field, [field.start], pairs, self.symmetries, self.runtime) if large else ()
            game = to_game(field, self.symmetries, proofs)
            self.layers = self._load_layers(checkpoint, game) or Layers(game, field, self.unjumpable, self.spare, most)
        except Interrupted as error:
            error.partial_result = _describe_bound(most)
            raise
        try:
            while not any(True for _ in self._final_classes()):
                if self.layers.level == self.layers.most or not self.layers.cells:
                    self._add_totals()
                    self.layers = Layers(game, field, self.unjumpable, self.spare, self.layers.most + 1)
                self.layers.advance(self.runtime, self._report)
                if self.runtime.monotonic() - self.saved > SAVE_INTERVAL:
                    self._save()
        except Interrupted as error:
            error.partial_result = _describe_bound(self.layers.most) + self._save()
            raise
        self.runtime.cache.remove(self.name)
        self._add_totals()
        return self.layers.level

    def _add_totals(self) -> None:
        self.classes_seen += self.layers.classes_seen
        self.tried += self.layers.tried

    def count(self) -> int:
        """Return the number of shortest solutions."""
        return sum(ways for _, ways in self._final_classes()) if self.field.start & (self.field.start - 1) else 1

    def _final_classes(self) -> Iterator[tuple[int, int]]:
        """Yield the single-peg goal positions of the last layer with their number of ways."""
        return ((key, ways) for key, ways in self.layers.classes() if not key & (key - 1) and key & self.field.goals)

    def _report(self, part: float) -> None:
        layers = self.layers
        note = f"move {layers.level + 1}, trying {layers.most} moves: {layers.size:,} positions, {part:.0%}"
        self.runtime.report_progress(None, note)

    # Enumerating the solutions

    def solutions(self) -> Iterator[Solution]:
        """Yield each shortest solution."""
        if self.field.start & (self.field.start - 1) == 0:
            yield ()
            return
        on = self._classes_to_end()
        for line in self._follow_layers(self.field.start, on, 1):
            yield tuple(self.field.jump(move) for move in line)

    def _follow_layers(self, position: int, on: list[set[int]], number: int) -> Iterator[list[Move]]:
        """Yield the moves from `position` through the classes `on` from layer `number` on."""
        if number == len(on):
            yield []
            return
        canonical = self.layers.game.canonical
        for chain, after in self._chains(position):
            if canonical(after) in on[number]:
                yield from (chain + rest for rest in self._follow_layers(after, on, number + 1))

    def _chains(self, position: int) -> Iterator[tuple[list[Move], int]]:
        waiting: list[tuple[list[Move], int]] = [([move], position) for move in reversed(self.field.moves)]
        while waiting:
            chain, before = waiting.pop()
            move = chain[-1]
            if before & move.triple == move.pair:
                after = before ^ move.triple
                yield chain, after
                waiting += [([*chain, other], after) for other in reversed(self.field.moves) if other.start == move.end]

    def _classes_to_end(self) -> list[set[int]]:
        """Return, for each layer, the classes from which a shortest solution continues."""
        canonical = self.layers.game.canonical
        on = [{key for key, _ in self._final_classes()}]
        for number in range(len(self.layers.layers) - 2, -1, -1):
            keys = self.layers.layers[number]
            seen = kernel.KeySet(max(10, (2 * len(keys)).bit_length()))
            for first, last in pairwise([*range(0, len(keys), COPY_SPAN), len(keys)]):
                kernel.add_keys(keys, first, last, 1, seen)
                self.runtime.report_progress(None, "finding the positions on shortest solutions")
            before: set[int] = set()
            for position in on[0]:
                self.runtime.report_progress(None, "finding the positions on shortest solutions")
                before.update(key for key in map(canonical, self._before_chain(position)) if seen.has(key))
            on.insert(0, before)
        return on

    def _before_chain(self, position: int) -> set[int]:
        waiting = [(position, move) for move in self.field.moves]
        known: set[tuple[int, int]] = set()
        while waiting:
            after, move = waiting.pop()
            before = after ^ move.triple
            if after & move.triple == 1 << move.end and (before, move.start) not in known:
                known.add((before, move.start))
                waiting += [(before, other) for other in self.field.moves if other.end == move.start]
        return {before for before, _ in known}

    # Checkpoints

    def _save(self) -> str:
        parts, header = self.layers.save()
        words = header | {"most": self.layers.most, "spent": [self.classes_seen, self.tried]}
        lost = save_checkpoint(self.runtime.cache.save, self.name, encode_checkpoint(words, parts))
        self.saved = self.runtime.monotonic()
        return lost

    def _load_layers(self, checkpoint: tuple[dict[str, Any], memoryview] | None, game: kernel.Game) -> Layers | None:
        if checkpoint is None or len(checkpoint[1]) != sum(checkpoint[0]["sizes"]) + KEY_SIZE * sum(
            checkpoint[0]["layers"]
        ):
            return None
        if len(checkpoint[1]) >= LARGE_TABLE:
            self.runtime.require_memory(4 * len(checkpoint[1]), "the checkpoint")
        layers = Layers(game, self.field, self.unjumpable, self.spare, checkpoint[0]["most"])
        layers.load(checkpoint[1], checkpoint[0], lambda: self.runtime.report_progress(None, "loading the checkpoint"))
        self.classes_seen, self.tried = checkpoint[0]["spent"]
        return layers
