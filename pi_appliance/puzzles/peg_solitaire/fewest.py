"""Find the solutions of peg solitaire with the fewest moves, layer by layer.

A move is a series of jumps of one peg. Pegs that no jump passes over must move, which is a lower
bound.
"""

from array import array
from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import copy
from functools import partial
from itertools import chain
from typing import Any

from pi_appliance.puzzles import pluralize
from pi_appliance.puzzles.peg_solitaire import kernel
from pi_appliance.puzzles.peg_solitaire.bitboard import Bitboard, Move, diagonal_parity, find_pagodas, to_game
from pi_appliance.puzzles.peg_solitaire.board import Solution
from pi_appliance.puzzles.peg_solitaire.count import (
    COPY_SIZE,
    LARGE_TABLE,
    Cells,
    Frontier,
    PartResult,
    copy_words,
    expand,
    table_bits,
)
from pi_appliance.puzzles.runtime import Buffer, SearchRuntime, partial_result, spans, walk_levels

KEY_SIZE = 8  # bytes of a position in a table
POSITION_SHARE = 0.4  # bytes per placement of pegs, as measured on the full English board
MIN_PEGS_FOR_PAGODAS = 20  # with fewer pegs, pagoda functions cost more than they save


def _prepare_chains(shared: tuple[kernel.Game, int], _: SearchRuntime) -> Callable[[Cells], PartResult]:
    game, most = copy(shared[0]), shared[1]  # each thread needs its own stack
    return partial(expand, lambda cells, table: kernel.expand_chains(game, cells, 0, len(cells) // 3, table, most))


class Layers(Frontier):
    """The positions by the least number of moves to them, for solutions of at most `most` moves."""

    def __init__(self, game: kernel.Game, search: "MinMoveSearch", most: int) -> None:
        """Start the search. No jump passes `unjumpable` holes; `spare` of their pegs may stay."""
        super().__init__(game, {search.field.start: 1}, search.runtime)
        self.spare, self.most = search.spare, most
        game.unjumpable, game.goals = search.unjumpable, search.field.goals
        self.seen = kernel.KeySet(12)
        self.layers = [array("Q", [search.field.start])]
        self._add_seen(self.layers[0], lambda: None)

    def advance(self, step: str) -> None:
        """Compute the next layer."""
        super().advance(step)
        self.before = array("Q")
        keys = self.cells[::3]
        if KEY_SIZE << self.seen.bits >= LARGE_TABLE and self.seen.size + len(keys) > self.seen.most:
            self.runtime.require_memory(3 * KEY_SIZE << self.seen.bits, "all positions by their moves")
        self.layers.append(keys)
        self._add_seen(keys, lambda: self.runtime.report_progress(None, step))

    def _add_seen(self, keys: "array[int]", report: Callable[[], object]) -> None:
        """Add keys to the set of seen positions."""
        while self.seen.size + len(keys) > self.seen.most:
            self.seen = add_keys(self.seen.cells, kernel.KeySet(self.seen.bits + 1), report)
        add_keys(keys, self.seen, report)

    def _expand_parts(self) -> Iterator[PartResult]:
        return self.map_classes(_prepare_chains, (self.game, self.most - self.level - 1 + self.spare), self.done)

    def _merge(self, cells: "array[int]") -> None:
        kernel.merge_new(cells, 0, len(cells) // 3, self.seen, self.after)

    def state(self) -> tuple[dict[str, object], list[Buffer]]:
        """Return the state of the frontier, then the layers."""
        values, buffers = super().state()
        return values | {"most": self.most}, [*buffers, *self.layers]

    def restore(self, values: Mapping[str, Any], buffers: Sequence[memoryview]) -> None:
        """Restore a state. After an interruption, the layers are incomplete."""
        super().restore(values, buffers)
        self.layers = [copy_words(buffer) for buffer in buffers[3:]]
        for keys in self.layers:
            self._add_seen(keys, self.report_loading)


def add_keys(keys: "array[int]", to: kernel.KeySet, report: Callable[[], object]) -> kernel.KeySet:
    """Return a set that contains `to` and the non-zero `keys`."""
    for span in spans(len(keys), COPY_SIZE, report):
        kernel.add_keys(keys, *span, 1, to)
    return to


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
        self.checkpoint = field.checkpoint("moves", runtime)
        self.classes_seen = self.tried = 0  # classes seen, and jumps tried, by all searches so far
        self.layers: Layers

    def run(self) -> int:
        """Return the fewest moves. Raises Interrupted, and Refused if memory is too small."""
        field = self.field
        if field.start & (field.start - 1) == 0:
            return 0
        saved = self.checkpoint.load()
        most = saved.values["most"] if saved else max(1, (field.start & self.unjumpable).bit_count() - self.spare)
        with partial_result(lambda: _describe_bound(most)):
            pairs = list(chain(*field.final_pairs()))
            large = field.start.bit_count() > MIN_PEGS_FOR_PAGODAS
            proofs = find_pagodas(field, [field.start], pairs, self.symmetries, self.runtime) if large else ()
            game = to_game(field, self.symmetries, proofs)
            self.layers = Layers(game, self, most)
            if saved:
                self.classes_seen, self.tried = saved.values["spent"]
                self.layers.restore(*saved)
        with self.checkpoint.guard(self._state, lambda: _describe_bound(self.layers.most)) as save_sometimes:
            while not any(True for _ in self._final_classes()):
                if self.layers.level == self.layers.most or not self.layers.cells:
                    self._add_totals()
                    self.layers = Layers(game, self, self.layers.most + 1)
                self.layers.advance(f"move {self.layers.level + 1}, trying {self.layers.most} moves")
                save_sometimes()
        self._add_totals()
        return self.layers.level

    def _state(self) -> tuple[dict[str, object], list[Buffer]]:
        values, buffers = self.layers.state()
        return values | {"spent": [self.classes_seen, self.tried]}, buffers

    def _add_totals(self) -> None:
        self.classes_seen += self.layers.classes_seen
        self.tried += self.layers.tried

    def count(self) -> int:
        """Return the number of shortest solutions."""
        return sum(ways for _, ways in self._final_classes()) if self.field.start & (self.field.start - 1) else 1

    def _final_classes(self) -> Iterator[tuple[int, int]]:
        """Yield the single-peg goal positions of the last layer with their number of ways."""
        return ((key, ways) for key, ways in self.layers.classes() if not key & (key - 1) and key & self.field.goals)

    def solutions(self) -> Iterator[Solution]:
        """Yield each shortest solution."""
        if self.field.start & (self.field.start - 1) == 0:
            yield ()
            return
        on = self._classes_to_end()
        for chains in walk_levels(self.field.start, on[1:], self._chains, self.layers.game.canonical):
            yield tuple(map(self.field.jump, chain(*chains)))

    def _chains(self, position: int) -> Iterator[tuple[list[Move], int]]:
        waiting: list[tuple[list[Move], int]] = [([move], position) for move in reversed(self.field.moves)]
        while waiting:
            moves, before = waiting.pop()
            move = moves[-1]
            if before & move.triple == move.pair:
                after = before ^ move.triple
                yield moves, after
                waiting += [([*moves, other], after) for other in reversed(self.field.moves) if other.start == move.end]

    def _classes_to_end(self) -> list[set[int]]:
        """Return, for each layer, the classes from which a shortest solution continues."""

        def report() -> None:
            self.runtime.report_progress(None, "finding the positions on shortest solutions")

        canonical = self.layers.game.canonical
        on = [{key for key, _ in self._final_classes()}]
        for keys in reversed(self.layers.layers[:-1]):
            seen = add_keys(keys, kernel.KeySet(table_bits(len(keys))), report)
            before: set[int] = set()
            for position in on[0]:
                report()
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


def _describe_bound(most: int) -> str:
    return f"no solution takes fewer than {pluralize(most, 'move')}"
