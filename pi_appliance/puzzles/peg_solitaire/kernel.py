"""Count positions of peg solitaire: plain Python over `array` buffers, with Cython types in kernel.pxd.

A move has a triple (three holes) and a pair (the two that must hold pegs). It is legal if position & triple
== pair, and leads to position ^ triple. A class of symmetric positions is represented by the least
(canonical) one. A level has three words per class: canonical position, high and low 64 bits of the ways to
its members.
"""

from array import array
from collections.abc import Sequence
from typing import Any

WORD_MASK = 0xFFFF_FFFF_FFFF_FFFF
HASH_FACTOR = 0x9E37_79B9_7F4A_7C15  # 2**64 / golden ratio: spreads neighbouring keys
GUARDS = 0x8080_8080_8080_8080
STACK_SIZE = 4096  # at most five chains per jump, 64 holes


class Game:
    """A board: moves, symmetries and pagoda functions.

    Moves are (triple, pair, end hole); `starts` is the first move of each hole. A position has `parts` of
    `width` bits. `images` has the image of each value of a part under each symmetry. Eight pagoda functions
    share a word of 8-bit fields: `weight_sums` per part value, `losses` per move. A position is lost if the
    highest bit of a field is 0.
    """

    def __init__(
        self,
        moves: Sequence[tuple[int, int, int]],
        starts: Sequence[int],
        width: int,
        parts: int,
        images: "array[int]",
        weight_sums: "array[int]",
        losses: "array[int]",
    ) -> None:
        self.moves, self.holes = len(moves), len(starts) - 1
        self.triples = array("Q", [move[0] for move in moves])
        self.pairs = array("Q", [move[1] for move in moves])
        self.end_holes = array("I", [move[2] for move in moves])
        self.starts = array("I", starts)
        self.width, self.parts, self.low = width, parts, (1 << width) - 1
        self.images, self.count = images, len(images) // (parts << width)
        self.weight_sums, self.losses, self.words = weight_sums, losses, len(weight_sums) // (parts << width)
        self.fields = array("Q", bytes(8 * self.words + 8))
        self.stack = array("Q", bytes(8 * STACK_SIZE))
        self.pegs = array("I", bytes(4 * STACK_SIZE))
        self.stabilizer = 1
        self.unjumpable = self.goals = 0  # for expand_chains
        self.definition = moves, starts, width, parts, images, weight_sums, losses

    def __reduce__(self) -> tuple[object, ...]:
        """Return how to rebuild the board, for the workers of a search."""
        return _restore_game, (self.definition, self.unjumpable, self.goals)

    def canonical(self, position: int) -> int:
        """Return the least image of `position`; sets `stabilizer`, the number of symmetries that keep it."""
        best, stabilizer = position, 1
        images, width, low, parts = self.images, self.width, self.low, self.parts
        chunk = low + 1
        one = position & low
        two = chunk + (position >> width & low)
        three = 2 * chunk + (position >> 2 * width & low)
        at = 0
        for _ in range(1, self.count):
            at += parts * chunk
            image = images[at + one] | images[at + two] | images[at + three]
            if parts > 3:
                for part in range(3, parts):
                    image |= images[at + part * chunk + (position >> part * width & low)]
            if image < best:
                best, stabilizer = image, 1
            elif image == best:
                stabilizer += 1
        self.stabilizer = stabilizer
        return best

    def alive(self, position: int) -> bool:
        """Return whether no pagoda function proves `position` lost; if so, `fields` is set for `stays_alive`."""
        weight_sums, width, low, at = self.weight_sums, self.width, self.low, 0
        for word in range(self.words):
            field = 0
            for part in range(self.parts):
                field = (field + weight_sums[at + (position >> part * width & low)]) & WORD_MASK
                at += low + 1
            if field & GUARDS != GUARDS:
                return False
            self.fields[word] = field
        return True

    def stays_alive(self, move: int) -> bool:
        """Return whether `move` keeps the position of the last `alive` from being proven lost."""
        at, left = move * self.words, GUARDS
        for word in range(self.words):
            left &= self.fields[word] - self.losses[at + word]
            if left != GUARDS:
                break
        return left == GUARDS


def _restore_game(definition: tuple[Any, ...], unjumpable: int, goals: int) -> Game:
    game = Game(*definition)
    game.unjumpable, game.goals = unjumpable, goals
    return game


class Table:
    """A hash table of classes with their number of ways; 2**bits places."""

    def __init__(self, bits: int) -> None:
        self.bits = bits
        self.cells = array("Q", bytes(24 << bits))
        self.shift, self.mask = 64 - bits, (1 << bits) - 1
        self.size, self.most = 0, (3 << bits) >> 2  # used places; at most 3/4 to keep probes short
        self.positions = 0  # members of the expanded classes
        self.tried = 0  # legal moves of expanded positions
        self.stuck_high = self.stuck_low = 0  # ways to positions without a move

    def find(self, key: int) -> int:
        """Return the index of the class in `cells`, or of its free place."""
        place = (key * HASH_FACTOR & WORD_MASK) >> self.shift
        at = 3 * place
        while self.cells[at] != key and self.cells[at] != 0:
            place = (place + 1) & self.mask
            at = 3 * place
        return at

    def add(self, key: int, high: int, low: int) -> None:
        """Add ways to a class."""
        at = self.find(key)
        if self.cells[at] == 0:
            self.cells[at] = key
            self.size += 1
        total = (self.cells[at + 2] + low) & WORD_MASK
        self.cells[at + 1] = (self.cells[at + 1] + high + (total < low)) & WORD_MASK
        self.cells[at + 2] = total

    def add_stuck(self, high: int, low: int) -> None:
        """Add ways to positions without a move."""
        total = (self.stuck_low + low) & WORD_MASK
        self.stuck_high = (self.stuck_high + high + (total < low)) & WORD_MASK
        self.stuck_low = total


class KeySet:
    """A hash set of canonical positions; 2**bits places."""

    def __init__(self, bits: int) -> None:
        self.bits = bits
        self.cells = array("Q", bytes(8 << bits))
        self.shift, self.mask = 64 - bits, (1 << bits) - 1
        self.size, self.most = 0, (3 << bits) >> 2

    def find(self, key: int) -> int:
        """Return the index of the key in `cells`, or of its free place."""
        place = (key * HASH_FACTOR & WORD_MASK) >> self.shift
        while self.cells[place] != key and self.cells[place] != 0:
            place = (place + 1) & self.mask
        return place

    def has(self, key: int) -> bool:
        """Return whether the set has the key."""
        return self.cells[self.find(key)] != 0

    def add(self, key: int) -> None:
        """Add a key."""
        place = self.find(key)
        if self.cells[place] == 0:
            self.cells[place] = key
            self.size += 1


def expand(game: Game, cells: Sequence[int], first: int, last: int, table: Table) -> bool:
    """Add the successors of the classes `first` to `last` by one jump to `table`; return False if it is too small."""
    for index in range(first, last):
        if table.size + game.moves > table.most:
            return False
        position, high, low = cells[3 * index], cells[3 * index + 1], cells[3 * index + 2]
        game.canonical(position)
        table.positions += game.count // game.stabilizer
        if not game.alive(position):
            continue
        opened = False
        for move in range(game.moves):
            if position & game.triples[move] == game.pairs[move]:
                opened = True
                table.tried += 1
                if game.stays_alive(move):
                    table.add(game.canonical(position ^ game.triples[move]), high, low)
        if not opened:
            table.add_stuck(high, low)
    return True


def expand_chains(game: Game, cells: Sequence[int], first: int, last: int, table: Table, most: int) -> bool:
    """Add the successors by any chain of jumps of one peg to `table`; return False if it is too small.

    Skips lost positions and those with more than `most` pegs in `unjumpable` holes.
    """
    stack, pegs, triples = game.stack, game.pegs, game.triples
    for index in range(first, last):
        high, low = cells[3 * index + 1], cells[3 * index + 2]
        for hole in range(game.holes):
            stack[0], pegs[0], depth = cells[3 * index], hole, 1
            while depth > 0:
                if table.size + game.moves > table.most:
                    return False
                depth -= 1
                position, peg = stack[depth], pegs[depth]
                for move in range(game.starts[peg], game.starts[peg + 1]):
                    if position & triples[move] == game.pairs[move]:
                        after = position ^ triples[move]
                        table.tried += 1
                        if game.alive(after) or (after & game.goals and has_at_most(after, 1)):
                            stack[depth], pegs[depth] = after, game.end_holes[move]
                            depth += 1
                            if has_at_most(after & game.unjumpable, most):
                                table.add(game.canonical(after), high, low)
    return True


def count_meetings(
    game: Game, cells: Sequence[int], first: int, last: int, table: Table, flip: int, sums: "array[int]"
) -> None:
    """Write the ways from the successors of each class to the end into `sums`, as high and low words.

    `table` is of the backward search; `flip` swaps holes and pegs. Numbers count once per symmetry.
    """
    for index in range(first, last):
        high = low = 0
        position = cells[3 * index]
        if game.alive(position):
            for move in range(game.moves):
                if position & game.triples[move] == game.pairs[move] and game.stays_alive(move):
                    at = table.find(game.canonical(position ^ game.triples[move] ^ flip))
                    if table.cells[at]:
                        for _ in range(game.stabilizer):
                            low = (low + table.cells[at + 2]) & WORD_MASK
                            high = (high + table.cells[at + 1] + (low < table.cells[at + 2])) & WORD_MASK
        sums[2 * (index - first)], sums[2 * (index - first) + 1] = high, low


def has_at_most(bits: int, most: int) -> bool:
    """Return whether at most `most` of `bits` are set."""
    while bits and most > 0:
        bits &= bits - 1
        most -= 1
    return bits == 0


def merge(cells: Sequence[int], first: int, last: int, table: Table) -> None:
    """Add the used cells `first` to `last` to `table`, which must have room."""
    for index in range(first, last):
        if cells[3 * index]:
            table.add(cells[3 * index], cells[3 * index + 1], cells[3 * index + 2])


def project(game: Game, cells: Sequence[int], first: int, last: int, table: Table) -> None:
    """Add the classes under the symmetries of `game` to `table`, which must have room."""
    for index in range(first, last):
        table.add(game.canonical(cells[3 * index]), cells[3 * index + 1], cells[3 * index + 2])


def compact(cells: Sequence[int], first: int, last: int, level: "array[int]", at: int) -> int:
    """Copy the used cells to `level` from class index `at` on; return the next index."""
    for index in range(first, last):
        if cells[3 * index]:
            level[3 * at] = cells[3 * index]
            level[3 * at + 1] = cells[3 * index + 1]
            level[3 * at + 2] = cells[3 * index + 2]
            at += 1
    return at


def merge_new(cells: Sequence[int], first: int, last: int, seen: KeySet, table: Table) -> None:
    """Add the cells whose keys are not in `seen` to `table`, which must have room."""
    for index in range(first, last):
        if not seen.has(cells[3 * index]):
            table.add(cells[3 * index], cells[3 * index + 1], cells[3 * index + 2])


def add_keys(keys: Sequence[int], first: int, last: int, step: int, seen: KeySet) -> None:
    """Add every `step`-th non-zero number of `keys` to `seen`, which must have room."""
    for index in range(first, last):
        if keys[step * index]:
            seen.add(keys[step * index])
