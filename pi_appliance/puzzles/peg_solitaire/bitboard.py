"""Boards as bitboards, their symmetries, the parity rule ("rule of three"), and pagoda functions.

A pagoda function proves that a position is lost. A linear program finds one for a given position.
"""

from array import array
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from random import Random
from types import ModuleType
from typing import NamedTuple

from pi_appliance.puzzles import pluralize
from pi_appliance.puzzles.peg_solitaire import kernel
from pi_appliance.puzzles.peg_solitaire.board import Board, Hole, Jump
from pi_appliance.puzzles.runtime import Checkpoint, SearchRuntime


def diagonal_parity(board: Board, holes: Iterable[Hole]) -> tuple[bool, ...]:
    """Return an invariant of jumps: which diagonal colours have equal parity of pegs.

    A jump changes one hole of each of three colours. On triangles this holds for one direction.
    """
    odd = [False] * 6
    for x, y in holes:
        odd[(x + y) % 3] ^= True
        if not board.triangular:
            odd[3 + (x - y) % 3] ^= True
    return (odd[0] == odd[1], odd[1] == odd[2], odd[3] == odd[4], odd[4] == odd[5])


def find_parity_obstacle(board: Board) -> str:
    """Return why parity forbids a single last peg at the goal; '' if it does not."""
    ends = (board.goal,) if board.goal else board.holes
    begin = diagonal_parity(board, board.pegs)
    if any(diagonal_parity(board, [end]) == begin for end in ends):
        return ""
    where = f"at {board.goal}" if board.goal else "anywhere on this board"
    return f"the rule of three: these pegs cannot be reduced to one {where}"


Symmetry = tuple[int, ...]  # for each hole, the index of its image
_PART_BITS_OF_THREE = 13  # bits of a part, if three parts are enough for the board
_PART_BITS = 11
_WORD_MASK = (1 << 64) - 1
_GUARD_BITS = 0x8080_8080_8080_8080  # the highest bit of each of eight fields


class Move(NamedTuple):
    """A jump, with its three holes as indices."""

    start: int
    over: int
    end: int

    @property
    def triple(self) -> int:
        """The bits of all three holes."""
        return self.pair | 1 << self.end

    @property
    def pair(self) -> int:
        """The bits of the two holes that must hold pegs."""
        return 1 << self.start | 1 << self.over


class PagodaFunction(NamedTuple):
    """Weights that no jump increases. Positions below `least` are lost."""

    weights: Sequence[int]
    least: int

    def apply_symmetry(self, turn: Symmetry) -> "PagodaFunction":
        """Return the same function for positions after `turn`."""
        return PagodaFunction(tuple(self.weights[to] for to in turn), self.least)

    def weight(self, position: int) -> int:
        """Return the total weight of a position."""
        return total_weight(position, self.weights)

    def loss(self, move: Move) -> int:
        """Return the weight that the pegs lose by a move."""
        return self.weights[move.start] + self.weights[move.over] - self.weights[move.end]


def total_weight(position: int, weights: Sequence[int]) -> int:
    """Return the sum of the weights of all pegs."""
    return sum(weight for number, weight in enumerate(weights) if position >> number & 1)


@dataclass(frozen=True, slots=True)
class Bitboard:
    """A board as numbers: bit n of a position is hole n in reading order."""

    board: Board
    start: int
    full: int
    goals: int
    moves: tuple[Move, ...]  # in reading order of the start hole; for each: right, left, down, up
    symmetries: tuple[Symmetry, ...]  # symmetries of the shape and the goal, beginning with the identity

    def jump(self, move: Move) -> Jump:
        """Convert a move by indices to a jump of holes."""
        return Jump(self.board.holes[move.start], self.board.holes[move.end])

    def stabilizer(self, positions: frozenset[int]) -> tuple[Symmetry, ...]:
        """Return the symmetries that map the set of `positions` to itself."""
        return tuple(
            turn for turn in self.symmetries if {apply_symmetry(each, turn) for each in positions} == positions
        )

    def final_pairs(self) -> list[tuple[int, ...]]:
        """Return the two-peg positions one jump before a goal, grouped by symmetry."""
        begin = diagonal_parity(self.board, self.board.pegs)
        orbits = {
            tuple(sorted({apply_symmetry(move.pair, turn) for turn in self.symmetries}))
            for move in self.moves
            if 1 << move.end & self.goals and diagonal_parity(self.board, [self.board.holes[move.end]]) == begin
        }
        return sorted(orbits)

    def checkpoint(self, kind: str, runtime: SearchRuntime) -> Checkpoint:
        """Return the checkpoint of a search on this board."""
        board = self.board
        identity = (board.holes, sorted(board.pegs), board.goal, board.triangular)
        return Checkpoint(runtime, f"peg-solitaire/{kind}", identity, interval=120.0)


def to_bitboard(board: Board) -> Bitboard:
    """Return `board` with its holes, moves and symmetries as numbers."""
    number = {hole: at for at, hole in enumerate(board.holes)}
    moves = []
    for start in board.holes:
        for right, down in board.directions:
            over, end = (Hole(start.x + right * step, start.y + down * step) for step in (1, 2))
            if over in number and end in number:
                moves.append(Move(number[start], number[over], number[end]))
    full = (1 << len(board.holes)) - 1
    goals = 1 << number[board.goal] if board.goal else full
    turns = tuple(turn for turn in _find_symmetries(board, number) if apply_symmetry(goals, turn) == goals)
    return Bitboard(board, sum(1 << number[peg] for peg in board.pegs), full, goals, tuple(moves), turns)


def apply_symmetry(position: int, turn: Symmetry) -> int:
    """Return the image of a position under a symmetry."""
    return sum(1 << to for number, to in enumerate(turn) if position >> number & 1)


def _find_symmetries(board: Board, number: dict[Hole, int]) -> Iterator[Symmetry]:
    ways = board.directions
    for (a, b), (c, d) in product(ways, ways):
        if {(a * x + c * y, b * x + d * y) for x, y in ways} != set(ways):
            continue
        moved = [(a * x + c * y, b * x + d * y) for x, y in board.holes]
        left, top = min(x for x, _ in moved), min(y for _, y in moved)
        images = [number.get(Hole(x - left, y - top)) for x, y in moved]
        if None not in images:
            yield tuple(at for at in images if at is not None)


def to_game(
    field: Bitboard, turns: Sequence[Symmetry], proofs: Iterable[PagodaFunction] = (), way: ModuleType = kernel
) -> kernel.Game:
    """Return the board in the form of the kernel `way`.

    Positions that `turns` map onto each other are one.
    """
    size = len(field.board.holes)
    width, parts = max(1, -(-size // 3)), 3
    if width > _PART_BITS_OF_THREE:
        width, parts = _PART_BITS, -(-size // _PART_BITS)
    fields = list(dict.fromkeys(proof.apply_symmetry(turn) for proof in proofs for turn in turns))
    words = [fields[at : at + 8] for at in range(0, len(fields), 8)]
    weights = ([_pack(proof.weights[hole] for proof in word) & _WORD_MASK for hole in range(size)] for word in words)
    # The fields of an empty board. The guard bit of an unused field is never lost.
    bases = [(_GUARD_BITS - _pack(proof.least for proof in word)) & _WORD_MASK for word in words]
    moves = field.moves
    game: kernel.Game = way.Game(
        [(move.triple, move.pair, move.end) for move in moves],
        [sum(move.start < hole for move in moves) for hole in range(size + 1)],
        width,
        parts,
        _part_sums(([1 << to for to in turn] for turn in turns), width, parts),
        _part_sums(weights, width, parts, bases),
        array("Q", [_pack(proof.loss(move) for proof in word) for move in moves for word in words]),
    )
    return game


def _part_sums(values: Iterable[Sequence[int]], width: int, parts: int, bases: Iterable[int] = ()) -> "array[int]":
    """Return the sums of each of `values` for every bit pattern of each part, plus `bases`."""
    table = array("Q")
    base = iter(bases)
    for each in values:
        for part in range(parts):
            sums = [next(base, 0) if part == 0 else 0]
            for bit in range(part * width, part * width + width):
                more = each[bit] if bit < len(each) else 0
                sums += [(known + more) & _WORD_MASK for known in sums]
            table.extend(sums)
    return table


def _pack(numbers: Iterable[int]) -> int:
    """Return a number with `numbers` as fields of eight bits, the first one lowest."""
    return sum(number << 8 * at for at, number in enumerate(numbers))


MAX_WORDS = 16  # words of eight pagoda functions with their images; more cost more than they save
MAX_TRIES = 120  # linear programs tried, a few milliseconds each
MAX_MISSES = 12  # consecutive tries without a result after which the search ends
MAX_WEIGHT = 4  # largest absolute weight
SCALES = (1, 2, 3, 4, 5, 6)
FIELD_RANGE = 128  # how far an 8-bit field can be from its threshold
EPSILON = 1e-9
MAX_PIVOTS = 400


def find_pagodas(
    field: Bitboard, begin: Sequence[int], targets: Sequence[int], turns: Sequence[Symmetry], runtime: SearchRuntime
) -> tuple[PagodaFunction, ...]:
    """Return functions that prove positions of random games lost on the way to `targets`."""
    random = Random(1)  # noqa: S311 - the same games each time
    proofs: list[PagodaFunction] = []
    game, missed = to_game(field, turns), 0
    for _ in range(MAX_TRIES):
        runtime.report_progress(None, f"{pluralize(len(proofs), 'proof')} that positions are lost")
        if game.words >= MAX_WORDS or missed == MAX_MISSES:
            break
        position = _play_random_game(field, random.choice(begin), game, random)
        proof = _find_separating(field, targets, position, random)
        missed += 1
        if proof and is_valid_pagoda(proof, field.moves, targets) and _fits_field(proof, field, begin, turns):
            proofs.append(proof)
            game, missed = to_game(field, turns, proofs), 0
    return tuple(proofs)


def is_valid_pagoda(proof: PagodaFunction, moves: Sequence[Move], targets: Sequence[int]) -> bool:
    """Return whether no move increases the weight and every target has at least `least`."""
    falls = all(proof.loss(move) >= 0 for move in moves)
    return falls and all(proof.weight(target) >= proof.least for target in targets)


def _fits_field(proof: PagodaFunction, field: Bitboard, begin: Sequence[int], turns: Sequence[Symmetry]) -> bool:
    most = max(proof.apply_symmetry(turn).weight(position) for turn in turns for position in begin)
    least = sum(min(weight, 0) for weight in proof.weights)
    loss = max(map(proof.loss, field.moves), default=0)
    return most - proof.least < FIELD_RANGE and least - proof.least >= -FIELD_RANGE and loss <= FIELD_RANGE


def _play_random_game(field: Bitboard, position: int, game: kernel.Game, random: Random) -> int:
    pegs = position.bit_count()
    for _ in range(random.randint(pegs // 5, max(pegs // 5, 3 * pegs // 4))):
        after = [position ^ move.triple for move in field.moves if position & move.triple == move.pair]
        after = [each for each in after if game.alive(each)]
        if not after:
            break
        position = random.choice(after)
    return position


def _find_separating(field: Bitboard, targets: Sequence[int], position: int, random: Random) -> PagodaFunction | None:
    """Return an integer function under which `position` weighs less than every target, or None."""
    size = len(field.board.holes)
    # Small random numbers prevent cycling. The result is verified anyway.
    wanted = [(position >> hole & 1) + random.random() * 1e-6 for hole in range(size)]
    columns: list[tuple[list[int], float]] = [([0] * size, 0.0) for _ in field.moves]
    for (column, _), (start, over, end) in zip(columns, field.moves, strict=True):
        column[start], column[over], column[end] = 1, 1, -1
    columns += [([target >> hole & 1 for hole in range(size)], 1.0) for target in targets]
    weights = _solve_linear_program(columns, wanted)
    for scale in SCALES:
        whole = [round(weight * scale) for weight in weights]
        if all(abs(weight * scale - number) < 1e-4 for weight, number in zip(weights, whole, strict=True)):
            proof = PagodaFunction(tuple(whole), scale)
            return proof if proof.weight(position) < scale else None
    return None


def _solve_linear_program(columns: Sequence[tuple[Sequence[int], float]], wanted: Sequence[float]) -> list[float]:
    """Return weights up to MAX_WEIGHT that minimize weights*wanted and keep all lower bounds.

    Each of `columns` comes with a lower bound for weights*column. The simplex method solves the
    dual.
    """
    size, count = len(wanted), len(columns)
    rows = []
    for hole in range(size):
        unit = [float(other == hole) for other in range(size)]
        rows.append([*(float(column[hole]) for column, _ in columns), *unit, *(-each for each in unit), wanted[hole]])
    # how much each column of the dual can improve the result
    gains = [value + MAX_WEIGHT * sum(column) for column, value in columns]
    gains += [0.0] * size + [-2.0 * MAX_WEIGHT] * size + [0.0]
    for _ in range(MAX_PIVOTS):
        best = max(range(count + 2 * size), key=gains.__getitem__)
        if gains[best] < EPSILON:
            break
        ratios = [(row[-1] / row[best], number) for number, row in enumerate(rows) if row[best] > EPSILON]
        if not ratios:
            break
        pivot = min(ratios)[1]
        by = rows[pivot][best]
        row = rows[pivot] = [each / by for each in rows[pivot]]
        for number, other in enumerate(rows):
            if number != pivot and (factor := other[best]):
                rows[number] = [one - factor * two for one, two in zip(other, row, strict=True)]
        factor = gains[best]
        gains = [one - factor * two for one, two in zip(gains, row, strict=True)]
    return [-MAX_WEIGHT - gain for gain in gains[count : count + size]]
