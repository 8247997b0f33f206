"""Count the solutions of peg solitaire exactly, without enumerating them.

A small board is counted level by level. On a larger one, a search from the start and one back from
the last two pegs, with lost positions discarded, meet in the middle: see
docs/puzzles/peg-solitaire.md.
"""

from array import array
from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field
from functools import partial
from itertools import chain, zip_longest
from math import comb
from typing import Any, TypeAlias

from pi_appliance.errors import Refused
from pi_appliance.puzzles import kernel_mode, pluralize
from pi_appliance.puzzles.peg_solitaire import kernel
from pi_appliance.puzzles.peg_solitaire.bitboard import Bitboard, PagodaFunction, apply_symmetry, find_pagodas, to_game
from pi_appliance.puzzles.peg_solitaire.board import Hole
from pi_appliance.puzzles.runtime import (
    Buffer,
    Prepare,
    Result,
    SearchRuntime,
    Shared,
    format_bytes,
    partial_result,
    spans,
)

ITEM_SIZE = 8_192 if kernel_mode(kernel) == "compiled" else 192  # classes per kernel call, some 10 ms
COPY_SIZE = 16 * ITEM_SIZE  # cells that are copied in about the same time
MIN_PARALLEL_CALLS = 4  # up to this many kernel calls, one core is faster
LARGE_TABLE = 64_000_000  # bytes; a larger table checks the memory first
CELL_SIZE = 24  # bytes of a cell of the table
FULL_COUNT_LIMIT = 100_000  # classes: smaller boards are counted completely, for their tables
CLASS_MEMORY = 170  # bytes per class of the last levels of both searches, as measured
MEETING_MEMORY = 220_000_000  # bytes that the full English board needs
POSITION_SHARE = 0.7  # bytes per placement of pegs for a count of all positions, as measured on that board


Cells: TypeAlias = "array[int]"  # three numbers per class: see `Frontier`
Row = tuple[int, int, int]  # of a level: number of classes, positions and ways
PartResult = tuple[Cells, int, int, int]  # classes, expanded positions, their moves, ways to positions without a move


class _Parts(Sequence[Cells]):
    """The classes from `start` on, in parts of `ITEM_SIZE`. A part is copied when it is needed."""

    def __init__(self, cells: Cells, start: int) -> None:
        self._cells, self._firsts = cells, range(3 * start, len(cells), 3 * ITEM_SIZE)

    def __len__(self) -> int:
        return len(self._firsts)

    def __getitem__(self, at: int) -> Cells:  # type: ignore[override] # nobody takes slices
        first = self._firsts[at]
        return self._cells[first : first + 3 * ITEM_SIZE]


def _prepare_jumps(game: kernel.Game, _: SearchRuntime) -> Callable[[Cells], PartResult]:
    game = copy(game)  # each thread prepares a function, and needs its own stack
    return partial(expand, lambda cells, table: kernel.expand(game, cells, 0, len(cells) // 3, table))


def expand(expand_into: Callable[[Cells, kernel.Table], bool], cells: Cells) -> PartResult:
    """Return the classes that follow `cells`.

    `expand_into` returns False if its table is too small.
    """
    bits = (8 * ITEM_SIZE).bit_length()
    while not expand_into(cells, table := kernel.Table(bits)):
        bits += 1
    return compact_table(table), table.positions, table.tried, (table.stuck_high << 64) + table.stuck_low


def _prepare_meetings(shared: tuple[kernel.Game, Cells, int], runtime: SearchRuntime) -> Callable[[Cells], int]:
    game, others, full = copy(shared[0]), *shared[1:]
    table = build_table(others, lambda: runtime.report_progress(None, f"{len(others) // 3:,} positions to be met"))

    def join_part(cells: Cells) -> int:
        size = len(cells) // 3
        sums = array("Q", bytes(16 * size))
        kernel.count_meetings(game, cells, 0, size, table, full, sums)
        return sum(
            ((cells[3 * at + 1] << 64) + cells[3 * at + 2]) * ((sums[2 * at] << 64) + sums[2 * at + 1])
            for at in range(size)
            if sums[2 * at] or sums[2 * at + 1]
        )

    return join_part


def foretell_size(sizes: Sequence[int], levels: int) -> int:
    """Foretell the size of a level from the last three: the growth shrinks alike each time."""
    first, second, size = sizes
    growth = size / second
    # growth falls a little faster later, as measured on the English board
    shrinks = min(1.0, growth * first / second) * 0.98
    result = float(size)
    for _ in range(levels):
        growth *= shrinks
        result *= max(1.0, growth)
    return round(result)


class Frontier:
    """All positions after a number of jumps, with their ways, and the unfinished next level.

    `cells` has three numbers per class of symmetric positions: the canonical position, and the high
    and the low word of the number of ways.
    """

    def __init__(self, game: kernel.Game, ways: Mapping[int, int], runtime: SearchRuntime) -> None:
        self.game, self.runtime = game, runtime
        self.level = 0
        self.cells = array("Q")
        for key, number in ways.items():
            self.cells.extend((key, number >> 64, number & (1 << 64) - 1))
        self.before = array("Q")  # the previous level
        self.rows: list[Row] = []  # one row for each finished level
        self.stuck = 0  # ways to positions that have no move
        self.tried = 0  # number of moves tried
        self._start_level()

    def _start_level(self) -> None:
        self.done = self.positions = 0
        self.after = kernel.Table(table_bits(self.size))

    @property
    def size(self) -> int:
        """The number of classes in this level."""
        return len(self.cells) // 3

    @property
    def ways(self) -> int:
        """The number of ways from the start to this level."""
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

    def advance(self, step: str) -> None:
        """Compute the next level, which may be empty. It resumes after an interruption."""

        def report() -> None:
            self.runtime.report_progress(None, f"{step}: {self.size:,} positions, {self.done / self.size:.0%}")

        for cells, positions, tried, stuck in self._expand_parts():
            while self.after.size + len(cells) // 3 > self.after.most:
                if CELL_SIZE << self.after.bits >= LARGE_TABLE:
                    self.runtime.require_memory(3 * CELL_SIZE << self.after.bits, "a level of positions")
                self.after = build_table(self.after.cells, report, self.after.bits + 1)
            self._merge(cells)
            self.positions += positions
            self.tried += tried
            self.stuck += stuck
            self.done = min(self.done + ITEM_SIZE, self.size)
            report()
        level = compact_table(self.after, report)
        self.rows.append((self.size, self.positions, self.ways))
        self.before, self.cells = self.cells, level
        self.level += 1
        if CELL_SIZE * 4 * self.size >= LARGE_TABLE:  # the table of the next level may be large
            self.runtime.require_memory(CELL_SIZE * 8 * self.size, "a level of positions")
        self._start_level()

    def project(self, game: kernel.Game) -> None:
        """Merge the classes under the symmetries of `game`, or change nothing."""

        def report() -> None:
            self.runtime.report_progress(None, "the symmetries")

        table = kernel.Table(table_bits(self.size))
        for span in spans(self.size, ITEM_SIZE, report):
            kernel.project(game, self.cells, *span, table)
        self.cells, self.game = compact_table(table, report), game
        self._start_level()

    def map_classes(self, prepare: Prepare[Shared, Cells, Result], shared: Shared, start: int) -> Iterator[Result]:
        """Call a function for parts of the classes from `start` on, if many, by all workers."""
        parts = _Parts(self.cells, start)
        if len(parts) > MIN_PARALLEL_CALLS:
            return self.runtime.map(prepare, shared, parts)
        return map(prepare(shared, self.runtime), parts)

    def _expand_parts(self) -> Iterator[PartResult]:
        """Yield the classes after each part that is not done."""
        return self.map_classes(_prepare_jumps, self.game, self.done)

    def _merge(self, cells: "array[int]") -> None:
        kernel.merge(cells, 0, len(cells) // 3, self.after)

    def state(self) -> tuple[dict[str, object], list[Buffer]]:
        """Return the values and buffers of a checkpoint. The buffers are views, not copies."""
        values = {name: getattr(self, name) for name in ("level", "rows", "stuck", "tried", "done", "positions")}
        return values, [self.cells, self.before, compact_table(self.after)]

    def restore(self, values: Mapping[str, Any], buffers: Sequence[memoryview]) -> None:
        """Restore a state. An interruption loses the unfinished next level only."""
        if (size := sum(buffer.nbytes for buffer in buffers)) >= LARGE_TABLE:
            self.runtime.require_memory(4 * size, "the checkpoint")
        self.cells, self.before, after = map(copy_words, buffers[:3])
        self.level, self.stuck, self.tried = values["level"], values["stuck"], values["tried"]
        self.rows = [(classes, positions, ways) for classes, positions, ways in values["rows"]]
        self._start_level()
        self.after = build_table(after, self.report_loading)
        self.done, self.positions = values["done"], values["positions"]

    def report_loading(self) -> None:
        """Report that a checkpoint is loaded."""
        self.runtime.report_progress(None, "loading the checkpoint")


def table_bits(size: int) -> int:
    """Return the bits of a table for `size` classes."""
    return max(10, (2 * size).bit_length())


def build_table(cells: "array[int]", report: Callable[[], object], bits: int = 0) -> kernel.Table:
    """Return a hash table of the used `cells`, with 2**bits places (default: room for all)."""
    size = len(cells) // 3
    table = kernel.Table(bits or table_bits(size))
    for span in spans(size, COPY_SIZE, report):
        kernel.merge(cells, *span, table)
    return table


def compact_table(table: kernel.Table, report: Callable[[], object] = lambda: None) -> "array[int]":
    """Return the classes of `table` without gaps."""
    level = array("Q", bytes(CELL_SIZE * table.size))
    at = 0
    for span in spans(1 << table.bits, COPY_SIZE, report):
        at = kernel.compact(table.cells, *span, level, at)
    return level


def copy_words(view: memoryview) -> "array[int]":
    """Return a copy of 64-bit numbers."""
    words = array("Q")
    words.frombytes(view.cast("B"))
    return words


@dataclass(frozen=True, slots=True, kw_only=True)
class CountResult:
    """The result of a count."""

    count: int  # the number of solutions
    ends: Mapping[tuple[Hole, ...], int]
    """The number of solutions by final hole, or by a group of symmetric holes."""
    rows: list[Row]  # one row per level
    back: list[Row] = field(default_factory=list)  # the levels of the backward searches, added up over all last pairs
    all_positions: bool  # whether all reachable positions were visited; otherwise lost positions were discarded
    tried: int = 0  # the number of jumps tried
    # The following are known if all positions were visited:
    fewest: int = 1  # fewest pegs that can be left
    games: int = 0  # number of games that end without a move

    @property
    def classes(self) -> int:
        """The number of positions visited, up to symmetry."""
        return sum(row[0] for row in self.rows) + sum(row[0] for row in self.back)


class CountLimitReached(Refused):
    """There are more positions than allowed, or more ways than fit into 128 bits."""


class SolutionCounter:
    """A count that can be interrupted and resumed."""

    def __init__(
        self, field: Bitboard, runtime: SearchRuntime, *, most: float = float("inf"), small: int = FULL_COUNT_LIMIT
    ) -> None:
        """Count at most `most` classes. With more than `small`, two searches meet in the middle."""
        self.field, self.runtime, self.most, self.small = field, runtime, most, small
        self.pegs = field.start.bit_count()
        self.symmetries = field.stabilizer(frozenset({field.start}))
        self.forward = Frontier(to_game(field, self.symmetries), {field.start: 1}, runtime)
        self.proofs: tuple[PagodaFunction, ...] | None = None
        self.into: list[int] = []  # number of ways into each finished orbit of final pairs
        self.back: Frontier | None = None  # backward search of the next orbit
        self.back_proofs: tuple[PagodaFunction, ...] = ()
        self.back_rows: list[Row] = []  # levels of the finished backward searches
        self.back_tried = 0
        self.joined = (0, 0)  # classes of `forward` that are done in the unfinished meeting, and the ways through them
        self.met_at = 0  # the level of `forward` at which lost positions were first discarded
        self.foretold = 0  # bytes of memory that the count will need; 0: not known yet
        self.checkpoint = field.checkpoint("all" if field.board.all_positions else "count", runtime)

    def run(self) -> CountResult:
        """Count the solutions. Raises Interrupted, CountLimitReached, Refused."""
        with partial_result(self.describe_progress):
            self._load()
        with self.checkpoint.guard(self._state, self.describe_progress) as self._save_sometimes:
            while self.forward.cells and (
                self.field.board.all_positions
                or self.forward.classes_seen <= self.small
                or (self.proofs is None and self.forward.level > self.pegs - 4)  # too late to meet in the middle
            ):
                self._advance(self.forward, self.pegs)
            met = self.forward.cells or self.proofs is not None
            return self._meet_in_middle() if met else self._finish_full_count()

    def describe_progress(self) -> str:
        """Return the partial result."""
        front = self.forward
        counted = f"all {front.classes_seen:,} positions of up to {front.level} jumps" if front.level else "nothing"
        back = f", and {pluralize(self.back.level, 'jump')} back from the end" if self.back and self.back.level else ""
        ends = (
            f"; {len(self.into)} of {len(self.field.final_pairs())} kinds of final pairs are done" if self.into else ""
        )
        return f"{counted} counted{back}{ends}"

    def _advance(self, front: Frontier, pegs: int) -> None:
        back = " back" if front is not self.forward else ""
        foretold = f", in the end about {format_bytes(self.foretold)} of memory" if self.foretold else ""
        front.advance(f"jump {front.level + 1} of {pegs - 1}{back}{foretold}")
        if front.classes_seen > self.most:
            raise CountLimitReached(f"there are more than {self.most:,.0f} positions")
        # With this limit, all later sums stay within 128 bits.
        if front.ways * len(self.field.moves) * len(self.field.symmetries) >> 128:
            raise CountLimitReached("there are more than 2^128 ways")
        if self.proofs is not None:
            self._foretell_memory(front)
        self._save_sometimes()

    def _foretell_memory(self, front: Frontier) -> None:
        """Refuse a count early that will not fit into memory. Raises Refused."""
        sizes = [*(row[0] for row in front.rows), front.size]
        if front is self.forward:
            # after lost positions were discarded, the first level grows less than the others
            sizes = sizes[self.met_at + 1 :]
        if len(sizes) < 3 or front.size <= self.small:
            return
        jumps_left = (self.pegs - 2) // 2 - front.level
        searches = 2 if self.back else 1
        self.foretold = CLASS_MEMORY * searches * foretell_size(sizes[-3:], jumps_left)
        self._require_foretold()

    def _require_foretold(self) -> None:
        used = CLASS_MEMORY * (self.forward.size + (self.back.size if self.back else 0))
        if self.foretold - used >= LARGE_TABLE:
            self.runtime.require_memory(self.foretold - used, "this count")

    def _finish_full_count(self) -> CountResult:
        front = self.forward
        front.cells, front.level = front.before, front.level - 1
        pegs_left = self.pegs - front.level
        ends: dict[tuple[Hole, ...], int] = {}
        if pegs_left == 1:
            for key, ways in front.classes():
                members = {apply_symmetry(key, turn) for turn in self.symmetries}
                for member in members:
                    if member & self.field.goals:
                        ends[self.field.board.holes[member.bit_length() - 1],] = ways // len(members)
        return CountResult(
            count=sum(ends.values()),
            ends=dict(sorted(ends.items())),
            rows=front.rows,
            all_positions=True,
            tried=front.tried,
            fewest=pegs_left,
            games=front.stuck,
        )

    def _meet_in_middle(self) -> CountResult:
        """Advance the searches from both ends until only one jump is between them."""
        field, front = self.field, self.forward
        self.runtime.require_memory(MEETING_MEMORY, "a count that meets in the middle")
        orbits = field.final_pairs()
        if self.proofs is None:
            targets = list(chain(*orbits))
            proofs = find_pagodas(field, [field.start], targets, field.symmetries, self.runtime)
            front.project(to_game(field, field.symmetries, proofs))
            self.proofs, self.met_at = proofs, front.level
        for orbit in orbits[len(self.into) :]:
            ways = self._count_ways_into(orbit)
            self._finish_backward()
            self.into.append(ways)
            self.joined = (0, 0)
        totals = self._count_ends(orbits)
        return CountResult(
            count=sum(totals.values()),
            ends=totals,
            rows=[*front.rows, (front.size, 0, front.ways)],
            back=self.back_rows,
            all_positions=False,
            tried=front.tried + self.back_tried,
        )

    def _count_ends(self, orbits: list[tuple[int, ...]]) -> dict[tuple[Hole, ...], int]:
        """Return the solutions by final hole, or by groups of symmetric holes."""
        field = self.field
        even = len(self.symmetries) == len(field.symmetries)
        ends: dict[tuple[Hole, ...], int] = {}
        for hole in range(len(field.board.holes)):
            images = sorted({turn[hole] for turn in field.symmetries})
            last = [move for move in field.moves if move.end in images and 1 << move.end & field.goals]
            ways = sum(
                into * sum(move.pair == orbit[0] for move in last)
                for orbit, into in zip(orbits, self.into, strict=True)
            )
            together = [hole] if even else images
            if ways:
                ends[tuple(field.board.holes[each] for each in together)] = ways * len(together) // len(images)
        return ends

    def _count_ways_into(self, orbit: tuple[int, ...]) -> int:
        field, front = self.field, self.forward
        between = self.pegs - 3  # all jumps except the one between the two searches
        symmetries = len(field.symmetries)
        if self.back is None and 2 * front.level <= between + 1 and (first := self._mirror_first_jumps(orbit)):
            while front.cells and 2 * front.level < between + 1:
                self._advance(front, self.pegs)
            cells = front.cells if 2 * front.level == between + 1 else front.before
            return self._join(cells) * len(orbit) // (symmetries * first)
        if self.back is None:
            self.back = self._start_backward(orbit)
        back = self.back
        while front.level + back.level < between and front.cells and back.cells:
            self._advance(min(front, back, key=lambda each: each.size), self.pegs)
        return self._join(back.cells) // symmetries

    def _finish_backward(self) -> None:
        if self.back:
            rows = [*self.back.rows, (self.back.size, 0, self.back.ways)]
            both = zip_longest(self.back_rows, rows, fillvalue=(0, 0, 0))
            self.back_rows = [(one[0] + two[0], one[1] + two[1], one[2] + two[2]) for one, two in both]
            self.back_tried += self.back.tried
            self.back = None

    def _mirror_first_jumps(self, orbit: tuple[int, ...]) -> int:
        """Return the number of first jumps if all lead to complements of `orbit`; otherwise 0."""
        field = self.field
        first = [field.start ^ move.triple for move in field.moves if field.start & move.triple == move.pair]
        return len(first) if all(field.full ^ position in orbit for position in first) else 0

    def _start_backward(self, orbit: tuple[int, ...], proofs: tuple[PagodaFunction, ...] | None = None) -> Frontier:
        field = self.field
        begin = [field.full ^ pair for pair in orbit]
        if proofs is None:
            targets = sorted({apply_symmetry(field.full ^ field.start, turn) for turn in field.symmetries})
            proofs = find_pagodas(field, begin, targets, field.symmetries, self.runtime)
        self.back_proofs = proofs
        game = to_game(field, field.symmetries, proofs)
        return Frontier(game, {game.canonical(begin[0]): len(orbit)}, self.runtime)

    def _join(self, cells: "array[int]") -> int:
        """Return the ways through all pairs of positions one jump apart, times the symmetries."""
        front = self.forward
        done, total = self.joined
        for part in front.map_classes(_prepare_meetings, (front.game, cells, self.field.full), done):
            done, total = min(done + ITEM_SIZE, front.size), total + part
            self.joined = done, total
            self.runtime.report_progress(None, f"{done:,} of {front.size:,} positions meet {len(cells) // 3:,}")
            self._save_sometimes()
        self.runtime.prepared = None  # frees the table of the classes that were met
        return total

    def _state(self) -> tuple[dict[str, object], list[Buffer]]:
        forward, buffers = self.forward.state()
        back, back_buffers = self.back.state() if self.back else (None, [])
        values: dict[str, object] = {"forward": forward, "proofs": self.proofs, "into": self.into, "back": back}
        values["joined"] = self.joined
        values |= {"back_rows": self.back_rows, "back_tried": self.back_tried, "back_proofs": self.back_proofs}
        return values, buffers + back_buffers

    def _load(self) -> None:
        if (saved := self.checkpoint.load()) is None:
            return
        values, buffers = saved
        if values["proofs"] is not None:
            self.proofs = tuple(PagodaFunction(*proof) for proof in values["proofs"])
            self.forward.game = to_game(self.field, self.field.symmetries, self.proofs)
        self.forward.restore(values["forward"], buffers[:3])
        self.met_at = self.forward.level
        self.into, self.back_tried = values["into"], values["back_tried"]
        done, total = values.get("joined", (0, 0))  # a checkpoint of an earlier release has no such value
        self.joined = done, total
        self.back_rows = [(classes, positions, ways) for classes, positions, ways in values["back_rows"]]
        if values["back"]:
            proofs = tuple(PagodaFunction(*proof) for proof in values["back_proofs"])
            self.back = self._start_backward(self.field.final_pairs()[len(self.into)], proofs)
            self.back.restore(values["back"], buffers[3:])


class _Probe(SolutionCounter):
    """A count that stops with CountLimitReached as soon as its memory is known."""

    def _require_foretold(self) -> None:
        raise CountLimitReached("the memory is known")


def foretell_memory(field: Bitboard, runtime: SearchRuntime) -> int:
    """Return the bytes that a count needs, estimated from its first levels. Raises Interrupted."""
    if field.board.all_positions:
        return round(POSITION_SHARE * count_placements(field))
    probe = _Probe(field, runtime.detach(memory_is_limited=False))
    try:
        result = probe.run()
    except CountLimitReached:
        return max(probe.foretold, MEETING_MEMORY)
    return CLASS_MEMORY * result.classes if result.all_positions else MEETING_MEMORY


def count_placements(field: Bitboard) -> int:
    """Return the number of ways to place as many pegs as at the start or fewer, up to symmetry."""
    holes, symmetries = len(field.board.holes), field.stabilizer(frozenset({field.start}))
    return sum(comb(holes, pegs) for pegs in range(1, field.start.bit_count() + 1)) // len(symmetries)
