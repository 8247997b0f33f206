"""A peg solitaire board in the words of the kernel: holes are bits, and what a board looks like turned and mirrored."""

from array import array
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from itertools import product
from types import ModuleType
from typing import NamedTuple

from pi_appliance.puzzles.peg_solitaire import kernel
from pi_appliance.puzzles.peg_solitaire.board import Board, Hole, Jump
from pi_appliance.puzzles.peg_solitaire.parity import parity

Turn = tuple[int, ...]
"""A symmetry: the hole that each hole goes to, by their numbers."""
WIDE = 13  # bits of a part where three of them hold the board; otherwise six of 11: tables that fit a small cache
LONG = 11
WORD = (1 << 64) - 1
GUARDS = 0x8080_8080_8080_8080  # the highest bits of eight fields


class Move(NamedTuple):
    """A jump by the numbers of its holes."""

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
class Proof:
    """What proves that positions are lost: weights of the holes, of which no jump makes a position heavier.

    A position that weighs less than `least` cannot become one of those for which this was made.
    """

    weights: tuple[int, ...]
    least: int

    def turned(self, turn: Turn) -> "Proof":
        """Return what this one says of a position that is turned."""
        return Proof(tuple(self.weights[to] for to in turn), self.least)

    def weight(self, position: int) -> int:
        """Return what POSITION weighs."""
        return sum(weight for number, weight in enumerate(self.weights) if position >> number & 1)


@dataclass(frozen=True, slots=True)
class Bitboard:
    """A board as numbers: bit N of a position is its hole N in reading order."""

    board: Board
    start: int
    full: int
    goals: int
    moves: tuple[Move, ...]
    """In reading order of their starts, and for each to the right, left, down, up."""
    turns: tuple[Turn, ...]
    """The symmetries of the shape and its goal; the first one changes nothing."""

    def jump(self, move: Move) -> Jump:
        """Return MOVE as people see it."""
        return Jump(self.board.holes[move.start], self.board.holes[move.end])

    def keeping(self, positions: frozenset[int]) -> tuple[Turn, ...]:
        """Return the symmetries that turn POSITIONS into each other."""
        return tuple(turn for turn in self.turns if {turned(each, turn) for each in positions} == positions)

    def last_pairs(self) -> list[tuple[int, ...]]:
        """Return the positions of two pegs from where a jump goes to a goal, images of each other together."""
        begin = parity(self.board, self.board.pegs)
        orbits = {
            tuple(sorted({turned(move.pair, turn) for turn in self.turns}))
            for move in self.moves
            if 1 << move.end & self.goals and parity(self.board, [self.board.holes[move.end]]) == begin
        }
        return sorted(orbits)

    def name(self, what: str) -> str:
        """Return the name of a checkpoint of WHAT for this board."""
        about = repr((self.board.holes, sorted(self.board.pegs), self.board.goal, self.board.triangular))
        return f"peg-solitaire/{what}-{blake2b(about.encode(), digest_size=8).hexdigest()}-2"


def field_of(board: Board) -> Bitboard:
    """Return BOARD as numbers."""
    number = {hole: at for at, hole in enumerate(board.holes)}
    moves = []
    for start in board.holes:
        for right, down in board.directions:
            over, end = (Hole(start.x + right * step, start.y + down * step) for step in (1, 2))
            if over in number and end in number:
                moves.append(Move(number[start], number[over], number[end]))
    full = (1 << len(board.holes)) - 1
    goals = 1 << number[board.goal] if board.goal else full
    turns = tuple(turn for turn in _turns(board, number) if turned(goals, turn) == goals)
    return Bitboard(board, sum(1 << number[peg] for peg in board.pegs), full, goals, tuple(moves), turns)


def turned(position: int, turn: Turn) -> int:
    """Return POSITION after TURN."""
    return sum(1 << to for number, to in enumerate(turn) if position >> number & 1)


def _turns(board: Board, number: dict[Hole, int]) -> Iterator[Turn]:
    """Yield the ways to lay the shape of BOARD onto itself, beginning with none at all."""
    ways = board.directions
    for (a, b), (c, d) in product(ways, ways):
        if {(a * x + c * y, b * x + d * y) for x, y in ways} != set(ways):
            continue
        moved = [(a * x + c * y, b * x + d * y) for x, y in board.holes]
        left, top = min(x for x, _ in moved), min(y for _, y in moved)
        laid = [number.get(Hole(x - left, y - top)) for x, y in moved]
        if None not in laid:
            yield tuple(at for at in laid if at is not None)


def game_of(
    field: Bitboard, turns: Sequence[Turn], proofs: Iterable[Proof] = (), way: ModuleType = kernel
) -> kernel.Game:
    """Return FIELD as one WAY of the kernel sees it, where positions that TURNS make of each other are one."""
    size = len(field.board.holes)
    width, parts = (max(1, -(-size // 3)), 3) if size <= 3 * WIDE else (LONG, -(-size // LONG))
    fields = list(dict.fromkeys(proof.turned(turn) for proof in proofs for turn in turns))
    words = [fields[at : at + 8] for at in range(0, len(fields), 8)]
    moves = field.moves
    game: kernel.Game = way.Game(
        [(move.triple, move.pair, move.end) for move in moves],
        [sum(move.start < hole for move in moves) for hole in range(size + 1)],
        width,
        parts,
        _sums(([1 << to for to in turn] for turn in turns), width, parts),
        _sums((_packed([proof.weights for proof in word], size) for word in words), width, parts, _bases(words)),
        array("Q", [_loss(word, move) for move in moves for word in words]),
    )
    return game


def _sums(values: Iterable[Sequence[int]], width: int, parts: int, bases: Iterable[int] = ()) -> "array[int]":
    """Return, for each of VALUES and each part of WIDTH bits, what each value of the part comes to; BASES are added."""
    table = array("Q")
    base = iter(bases)
    for each in values:
        for part in range(parts):
            sums = [next(base, 0) if part == 0 else 0]
            for bit in range(part * width, part * width + width):
                more = each[bit] if bit < len(each) else 0
                sums += [(known + more) & WORD for known in sums]
            table.extend(sums)
    return table


def _packed(weights: Sequence[Sequence[int]], size: int) -> list[int]:
    """Return for each hole its up to eight WEIGHTS in one word."""
    return [sum(each[hole] << 8 * at for at, each in enumerate(weights)) & WORD for hole in range(size)]


def _bases(words: Sequence[Sequence[Proof]]) -> list[int]:
    """Return for each word what its fields hold for no peg at all; those that nothing uses never fall."""
    return [(GUARDS - sum(each.least << 8 * at for at, each in enumerate(word))) & WORD for word in words]


def _loss(word: Sequence[Proof], move: Move) -> int:
    lost = (each.weights[move.start] + each.weights[move.over] - each.weights[move.end] for each in word)
    return sum(loss << 8 * at for at, loss in enumerate(lost))
