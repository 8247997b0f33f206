"""Finds the solutions of peg solitaire with the fewest moves, where jumps by one peg in a row are one move.

From the start on, layer after layer: what can be reached by so many moves and not by fewer. A peg in a hole over which
no jump goes has to move by itself, so that a position with many of those needs as many moves more; with that, a first
search looks for solutions of as few moves as the start needs at least, and each one after for one more, until there is
one. Every solution of that length goes through the layers as they are then, so that the ways to the end are all.
"""

from array import array
from collections.abc import Callable, Iterator, Mapping
from itertools import pairwise
from typing import Any

from pi_appliance.puzzles import pluralize
from pi_appliance.puzzles.peg_solitaire import kernel
from pi_appliance.puzzles.peg_solitaire.board import Solution
from pi_appliance.puzzles.peg_solitaire.field import Bitboard, Move, game_of
from pi_appliance.puzzles.peg_solitaire.frontier import ITEM, LARGE, SPAN, Came, Frontier, Tell, packed, read, written
from pi_appliance.puzzles.peg_solitaire.parity import parity
from pi_appliance.puzzles.peg_solitaire.proofs import find_proofs
from pi_appliance.puzzles.runtime.interface import Interrupted, SearchRuntime, save_checkpoint

WORD = 8  # bytes
LEAST = 20  # pegs: with fewer, there are so few positions that proofs would take longer than they save
OFTEN = 120.0  # seconds between two checkpoints; where it is interrupted, there is one anyway


class Layers(Frontier):
    """The positions that can be reached by so many moves and not by fewer, if MOST moves are to do."""

    def __init__(self, game: kernel.Game, field: Bitboard, own: int, spare: int, most: int) -> None:
        """Begin. OWN are the holes over which no jump goes; SPARE says how many of their pegs may stay."""
        super().__init__(game, {field.start: 1})
        self.spare, self.most = spare, most
        game.own, game.goals = own, field.goals
        self.seen = kernel.Seen(12)
        self.layers = [array("Q", [field.start])]
        self.seen_of(self.layers[0], lambda: None)

    def advance(self, runtime: SearchRuntime, tell: Tell) -> None:
        """Go on by one move."""
        super().advance(runtime, tell)
        self.before = array("Q")
        keys = self.cells[::3]
        if WORD << self.seen.bits >= LARGE and self.seen.size + len(keys) > self.seen.most:
            runtime.require_memory(3 * WORD << self.seen.bits, "all positions by their moves")
        self.layers.append(keys)
        self.seen_of(keys, lambda: tell(1.0))

    def seen_of(self, keys: "array[int]", tell: Callable[[], None]) -> None:
        """Remember KEYS."""
        while self.seen.size + len(keys) > self.seen.most:
            larger = kernel.Seen(self.seen.bits + 1)
            for first, last in pairwise([*range(0, len(self.seen.cells), SPAN), len(self.seen.cells)]):
                kernel.remember(self.seen.cells, first, last, 1, larger)
                tell()
            self.seen = larger
        for first, last in pairwise([*range(0, len(keys), SPAN), len(keys)]):
            kernel.remember(keys, first, last, 1, self.seen)
            tell()

    def _expanded(self, span: tuple[int, int]) -> Came:
        bits = (8 * ITEM).bit_length()
        left = self.most - self.level - 1 + self.spare
        while True:
            table = kernel.Table(bits)
            if kernel.spread(self.game, self.cells, *span, table, left):
                return packed(table, lambda: None), 0, table.tried, 0
            bits += 1

    def _put(self, cells: "array[int]") -> None:
        kernel.absorb_new(cells, 0, len(cells) // 3, self.seen, self.after)

    def save(self) -> tuple[list[bytes | memoryview], dict[str, Any]]:
        """Return all there is, as of a frontier; behind it come the layers."""
        parts, about = super().save()
        return [*parts, *(memoryview(keys).cast("B") for keys in self.layers)], about | {
            "layers": [len(each) for each in self.layers]
        }

    def load(self, data: memoryview, about: Mapping[str, Any], tell: Callable[[], None]) -> None:
        """Be as one was that was saved; what TELL raises leaves it without its layers."""
        super().load(data, about, tell)
        at, self.layers = sum(about["sizes"]), []
        for size in about["layers"]:
            self.layers.append(array("Q", bytes(data[at : at + WORD * size])))
            self.seen_of(self.layers[-1], tell)
            at += WORD * size


def _so_far(most: int) -> str:
    return f"no solution takes fewer than {pluralize(most, 'move')}"


class MinMoveSearch:
    """One search for the solutions with the fewest moves, which may be cut off and gone on with."""

    def __init__(self, field: Bitboard, runtime: SearchRuntime) -> None:
        """Search FIELD, of which it is known that it has a solution."""
        self.field, self.runtime = field, runtime
        self.turns = field.keeping(frozenset({field.start}))
        self.own = field.full & ~sum({1 << move.over for move in field.moves})
        begin = parity(field.board, field.board.pegs)
        ends = [hole for hole in field.board.holes if parity(field.board, [hole]) == begin]
        at = {hole: 1 << number for number, hole in enumerate(field.board.holes)}
        self.spare = int(any(at[hole] & field.goals & self.own for hole in ends))
        self.name = field.name("moves")
        self.saved = runtime.monotonic()
        self.looked = self.tried = 0  # positions and jumps, of all searches until now
        self.layers: Layers

    def run(self) -> int:
        """Return the fewest moves. Raises Interrupted, and Refused if memory is too small."""
        field = self.field
        if field.start & (field.start - 1) == 0:
            return 0
        pairs = [pair for orbit in field.last_pairs() for pair in orbit]
        large = field.start.bit_count() > LEAST
        kept = read(self.runtime.cache.load(self.name))
        most = kept[0]["most"] if kept else max(1, (field.start & self.own).bit_count() - self.spare)
        try:
            proofs = find_proofs(field, [field.start], pairs, self.turns, self.runtime) if large else ()
            game = game_of(field, self.turns, proofs)
            self.layers = self._loaded(kept, game) or Layers(game, field, self.own, self.spare, most)
        except Interrupted as error:
            error.partial_result = _so_far(most)
            raise
        try:
            while not self._single():
                if self.layers.level == self.layers.most or not self.layers.cells:
                    self._add()
                    self.layers = Layers(game, field, self.own, self.spare, self.layers.most + 1)
                self.layers.advance(self.runtime, self._tell)
                if self.runtime.monotonic() - self.saved > OFTEN:
                    self._save()
        except Interrupted as error:
            error.partial_result = _so_far(self.layers.most) + self._save()
            raise
        self.runtime.cache.remove(self.name)
        self._add()
        return self.layers.level

    def _add(self) -> None:
        self.looked += self.layers.looked
        self.tried += self.layers.tried

    def count(self) -> int:
        """Return how many solutions take so few moves."""
        return sum(ways for _, ways in self._ends()) if self.field.start & (self.field.start - 1) else 1

    def _single(self) -> bool:
        return any(True for _ in self._ends())

    def _ends(self) -> Iterator[tuple[int, int]]:
        """Yield the classes of the last layer that are a single peg at a goal, with the ways to it."""
        return ((key, ways) for key, ways in self.layers.classes() if not key & (key - 1) and key & self.field.goals)

    def _tell(self, part: float) -> None:
        layers = self.layers
        said = f"move {layers.level + 1} of {layers.most}, if there are so few: {layers.size:,} positions, {part:.0%}"
        self.runtime.report_progress(None, said)

    # The lines themselves

    def lines(self) -> Iterator[Solution]:
        """Yield each solution of so many moves."""
        if self.field.start & (self.field.start - 1) == 0:
            yield ()
            return
        on = self._leading()
        for line in self._from(self.field.start, on, 1):
            yield tuple(self.field.jump(move) for move in line)

    def _from(self, position: int, on: list[set[int]], number: int) -> Iterator[list[Move]]:
        """Yield the ways from POSITION through the classes ON the way from layer NUMBER on."""
        if number == len(on):
            yield []
            return
        canonical = self.layers.game.canonical
        for chain, after in self._chains(position):
            if canonical(after) in on[number]:
                yield from (chain + rest for rest in self._from(after, on, number + 1))

    def _chains(self, position: int) -> Iterator[tuple[list[Move], int]]:
        """Yield all chains of jumps by one peg from POSITION, with the position after."""
        waiting: list[tuple[list[Move], int]] = [([move], position) for move in reversed(self.field.moves)]
        while waiting:
            chain, before = waiting.pop()
            move = chain[-1]
            if before & move.triple == move.pair:
                after = before ^ move.triple
                yield chain, after
                waiting += [([*chain, other], after) for other in reversed(self.field.moves) if other.start == move.end]

    def _leading(self) -> list[set[int]]:
        """Return for each layer the classes that are on the way to an end with so few moves."""
        canonical = self.layers.game.canonical
        on = [{key for key, _ in self._ends()}]
        for number in range(len(self.layers.layers) - 2, -1, -1):
            keys = self.layers.layers[number]
            seen = kernel.Seen(max(10, (2 * len(keys)).bit_length()))
            for first, last in pairwise([*range(0, len(keys), SPAN), len(keys)]):
                kernel.remember(keys, first, last, 1, seen)
                self.runtime.report_progress(None, "which of them lead to the end")
            before: set[int] = set()
            for position in on[0]:
                self.runtime.report_progress(None, "which of them lead to the end")
                before.update(key for key in map(canonical, self._unchained(position)) if seen.has(key))
            on.insert(0, before)
        return on

    def _unchained(self, position: int) -> set[int]:
        """Return what POSITION may have been before a chain of jumps by one peg."""
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
        parts, about = self.layers.save()
        words = about | {"most": self.layers.most, "spent": [self.looked, self.tried]}
        lost = save_checkpoint(self.runtime.cache.save, self.name, written(words, parts))
        self.saved = self.runtime.monotonic()
        return lost

    def _loaded(self, came: tuple[dict[str, Any], memoryview] | None, game: kernel.Game) -> Layers | None:
        """Return the layers of the checkpoint that CAME, if there is one that is whole."""
        if came is None or len(came[1]) != sum(came[0]["sizes"]) + WORD * sum(came[0]["layers"]):
            return None
        if len(came[1]) >= LARGE:
            self.runtime.require_memory(4 * len(came[1]), "what was found before")
        layers = Layers(game, self.field, self.own, self.spare, came[0]["most"])
        layers.load(came[1], came[0], lambda: self.runtime.report_progress(None, "what was found before is read"))
        self.looked, self.tried = came[0]["spent"]
        return layers
