"""Boards as bitboards, their symmetries, and the parity rule ("rule of three")."""

from array import array
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from itertools import product
from types import ModuleType
from typing import NamedTuple

from pi_appliance.puzzles.peg_solitaire import kernel
from pi_appliance.puzzles.peg_solitaire.board import Board, Hole, Jump


def diagonal_parity(board: Board, holes: Iterable[Hole]) -> tuple[bool, ...]:
    """Return an invariant of jumps: which diagonal colours have equal parity of pegs.

    Colour the diagonals in three colours in turn. A jump changes one hole of each colour, so all three parities flip.
    On squares this holds for both directions of diagonals, on triangles for one.
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


Symmetry = tuple[int, ...]
"""The index of the image of each hole."""
_PART_BITS_OF_THREE = 13  # bits; boards up to three parts
_PART_BITS = 11
_WORD_MASK = (1 << 64) - 1
_GUARD_BITS = 0x8080_8080_8080_8080  # the highest bit of each of eight fields


class Move(NamedTuple):
    """A jump by hole indices."""

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


@dataclass(frozen=True, slots=True)
class PagodaFunction:
    """Weights of holes that no jump increases.

    A position with a total below `least` cannot reach the targets that the function was made for.
    """

    weights: tuple[int, ...]
    least: int

    def apply_symmetry(self, turn: Symmetry) -> "PagodaFunction":
        """Return the same function for positions after `turn`."""
        return PagodaFunction(tuple(self.weights[to] for to in turn), self.least)

    def weight(self, position: int) -> int:
        """Return the total weight of a position."""
        return sum(weight for number, weight in enumerate(self.weights) if position >> number & 1)


@dataclass(frozen=True, slots=True)
class Bitboard:
    """A board as numbers: bit n of a position is hole n in reading order."""

    board: Board
    start: int
    full: int
    goals: int
    moves: tuple[Move, ...]
    """In reading order of the start hole; for each: right, left, down, up."""
    symmetries: tuple[Symmetry, ...]
    """The symmetries of the shape and the goal; the first one is the identity."""

    def jump(self, move: Move) -> Jump:
        """Convert a move by indices to a jump of holes."""
        return Jump(self.board.holes[move.start], self.board.holes[move.end])

    def stabilizer(self, positions: frozenset[int]) -> tuple[Symmetry, ...]:
        """Return the symmetries that map the set of `positions` to itself."""
        return tuple(
            turn for turn in self.symmetries if {apply_symmetry(each, turn) for each in positions} == positions
        )

    def final_pairs(self) -> list[tuple[int, ...]]:
        """Return the two-peg positions one jump before a goal, grouped into orbits of the symmetries."""
        begin = diagonal_parity(self.board, self.board.pegs)
        orbits = {
            tuple(sorted({apply_symmetry(move.pair, turn) for turn in self.symmetries}))
            for move in self.moves
            if 1 << move.end & self.goals and diagonal_parity(self.board, [self.board.holes[move.end]]) == begin
        }
        return sorted(orbits)

    def checkpoint_name(self, kind: str) -> str:
        """Return the cache name of a checkpoint for this board."""
        about = repr((self.board.holes, sorted(self.board.pegs), self.board.goal, self.board.triangular))
        return f"peg-solitaire/{kind}-{blake2b(about.encode(), digest_size=8).hexdigest()}-2"


def to_bitboard(board: Board) -> Bitboard:
    """Convert a board."""
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
    """Return the image of a position."""
    return sum(1 << to for number, to in enumerate(turn) if position >> number & 1)


def _find_symmetries(board: Board, number: dict[Hole, int]) -> Iterator[Symmetry]:
    """Yield the symmetries of the shape, the identity first."""
    ways = board.directions
    for (a, b), (c, d) in product(ways, ways):
        if {(a * x + c * y, b * x + d * y) for x, y in ways} != set(ways):
            continue
        moved = [(a * x + c * y, b * x + d * y) for x, y in board.holes]
        left, top = min(x for x, _ in moved), min(y for _, y in moved)
        laid = [number.get(Hole(x - left, y - top)) for x, y in moved]
        if None not in laid:
            yield tuple(at for at in laid if at is not None)


def to_game(
    field: Bitboard, turns: Sequence[Symmetry], proofs: Iterable[PagodaFunction] = (), way: ModuleType = kernel
) -> kernel.Game:
    """Return the board for the kernel `way`; positions that `turns` map to each other count as one."""
    size = len(field.board.holes)
    width, parts = (
        (max(1, -(-size // 3)), 3) if size <= 3 * _PART_BITS_OF_THREE else (_PART_BITS, -(-size // _PART_BITS))
    )
    fields = list(dict.fromkeys(proof.apply_symmetry(turn) for proof in proofs for turn in turns))
    words = [fields[at : at + 8] for at in range(0, len(fields), 8)]
    moves = field.moves
    game: kernel.Game = way.Game(
        [(move.triple, move.pair, move.end) for move in moves],
        [sum(move.start < hole for move in moves) for hole in range(size + 1)],
        width,
        parts,
        _part_sums(([1 << to for to in turn] for turn in turns), width, parts),
        _part_sums(
            (_pack_weights([proof.weights for proof in word], size) for word in words),
            width,
            parts,
            _base_fields(words),
        ),
        array("Q", [_move_loss(word, move) for move in moves for word in words]),
    )
    return game


def _part_sums(values: Iterable[Sequence[int]], width: int, parts: int, bases: Iterable[int] = ()) -> "array[int]":
    """Return, for each of `values` and each part of `width` bits, the sum for every value of the part, plus `bases`."""
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


def _pack_weights(weights: Sequence[Sequence[int]], size: int) -> list[int]:
    """Return for each hole up to eight weights in one word."""
    return [sum(each[hole] << 8 * at for at, each in enumerate(weights)) & _WORD_MASK for hole in range(size)]


def _base_fields(words: Sequence[Sequence[PagodaFunction]]) -> list[int]:
    """Return for each word its fields for an empty board. Unused fields never lose their guard bit."""
    return [(_GUARD_BITS - sum(each.least << 8 * at for at, each in enumerate(word))) & _WORD_MASK for word in words]


def _move_loss(word: Sequence[PagodaFunction], move: Move) -> int:
    lost = (each.weights[move.start] + each.weights[move.over] - each.weights[move.end] for each in word)
    return sum(loss << 8 * at for at, loss in enumerate(lost))
