"""The exact score of a position, by null-window searches of the kernel on all cores."""

from array import array
from collections.abc import Callable, Iterator, Sequence
from itertools import chain
from typing import NamedTuple

from pi_appliance.puzzles.connect_four import kernel
from pi_appliance.puzzles.connect_four.board import EMPTY, HEIGHT, SQUARES, WIDTH, Board, Colour, Square
from pi_appliance.puzzles.runtime import SearchRuntime

CENTRE_FIRST = (4, 3, 5, 2, 6, 1, 7)  # the centre is in most fours


class Position(NamedTuple):
    """Bitboards: the discs of the side to move, and all discs. See the kernel for the bits."""

    own: int
    mask: int

    @property
    def discs(self) -> int:
        """The number of discs."""
        return self.mask.bit_count()

    @property
    def key(self) -> int:
        """A key that only the mirror image of the position shares."""
        key = self.own + self.mask
        return min(key, kernel.mirror(key))

    def square(self, column: int) -> int:
        """Return the bit of the lowest empty square of `column`, from 1; 0 if it is full."""
        lowest = 1 << 7 * (column - 1)
        return (self.mask + lowest) & ((lowest << HEIGHT) - lowest)

    def moves(self) -> Iterator[tuple[int, int]]:
        """Yield the columns that are not full with their lowest empty square, centre first."""
        for column in CENTRE_FIRST:
            if square := self.square(column):
                yield column, square

    def wins(self, square: int) -> bool:
        """Return whether a disc of the side to move at `square` makes four in a row."""
        return kernel.has_four(self.own | square)

    def play(self, square: int) -> "Position":
        """Return the position after a move, from the view of the opponent."""
        return Position(self.own ^ self.mask, self.mask | square)


EMPTY_POSITION = Position(0, 0)


def position_of(board: Board) -> Position:
    """Convert a board to bitboards."""
    own = mask = 0
    for top, row in enumerate(board.rows):
        for column, mark in enumerate(row):
            bit = 1 << (7 * column + HEIGHT - 1 - top)
            mask |= bit if mark in "RY" else 0
            own |= bit if mark == board.turn.mark else 0
    return Position(own, mask)


def board_of(position: Position, turn: Colour) -> Board:
    """Convert bitboards to a board with `turn` to move."""
    marks = (EMPTY, turn.other.mark, turn.mark)
    own, mask = position
    rows = (
        "".join(marks[(mask >> bit & 1) + (own >> bit & 1)] for bit in range(row, 7 * WIDTH, 7))
        for row in reversed(range(HEIGHT))
    )
    return Board(tuple(rows), turn)


def min_score(discs: int) -> int:
    """Return the lowest possible score with `discs` discs: the opponent wins with the next disc."""
    return -((SQUARES - discs) // 2)


def max_score(discs: int) -> int:
    """Return the highest possible score with `discs` discs: a win with the next disc."""
    return (SQUARES + 1 - discs) // 2


def last_move_number(score: int, discs: int) -> int:
    """Return the number of the last move of the game under perfect play."""
    if not score:
        return SQUARES
    begins = (discs if score > 0 else discs + 1) % 2 == 0  # whether the winner moved first
    return SQUARES + (1 if begins else 2) - 2 * abs(score)


def describe_score(score: int, discs: int, turn: Colour) -> str:
    """Return the meaning of a score in words, with `turn` to move."""
    if not score:
        return "a draw"
    return f"{turn if score > 0 else turn.other} wins with move {last_move_number(score, discs)}"


def square_of(bit: int) -> Square:
    """Return the square of a single bit."""
    column, row = divmod(bit.bit_length() - 1, 7)
    return Square(column + 1, row + 1)


# (discs, bits): positions of up to `discs` discs use a table of 2**bits entries of 8 bytes. A new
# table must be cleared, which takes longer than most searches; only the first moves gain from a
# large one.
_TABLE_BITS = ((7, 22), (42, 20))


def table_bytes(discs: int) -> int:
    """Return the bytes of the table for positions with at least `discs` discs."""
    return 8 << next(bits for most, bits in _TABLE_BITS if discs <= most)


class Search:
    """A search of the kernel and its transposition table, for positions of `discs` discs or more.

    `book` maps the key of a position of up to `plies` discs to its score, or to `kernel.UNKNOWN`.
    """

    def __init__(
        self,
        runtime: SearchRuntime,
        discs: int,
        note: str,
        book: Callable[[int], int] = lambda _: kernel.UNKNOWN,
        plies: int = -1,
    ) -> None:
        size = table_bytes(discs)
        runtime.require_memory(size, "the table of positions")
        table, bits = runtime.shared_buffer(size).cast("Q"), size.bit_length() - 4
        self.runtime, self.note = runtime, note
        self._kernel = kernel.Search(table, bits, self._tick, book, plies)

    @property
    def nodes(self) -> int:
        """The number of positions searched."""
        return int(self._kernel.nodes)

    def exact_score(
        self,
        position: Position,
        low: int | None = None,
        high: int | None = None,
        on_bounds: Callable[[int, int], object] | None = None,
    ) -> int:
        """Return the score of an undecided position, from `low` to `high`. Raises Interrupted.

        `on_bounds` receives each improved pair of bounds.
        """
        discs = position.discs
        low = min_score(discs) if low is None else low
        high = max_score(discs) if high is None else high
        return int(self._kernel.exact_score(position.own, position.mask, discs, low, high, on_bounds))

    def score_many(self, positions: Sequence[Position]) -> Sequence[int]:
        """Return the scores of undecided positions, by one kernel call. Raises Interrupted."""
        scores = array("b", bytes(len(positions)))
        self._kernel.score_many(memoryview(array("Q", chain.from_iterable(positions))), memoryview(scores))
        return scores

    def is_at_least(self, position: Position, goal: int) -> bool:
        """Return whether the score is at least `goal`. Raises Interrupted."""
        return bool(self._kernel.bound(position.own, position.mask, position.discs, goal) >= goal)

    def _tick(self, tried: int) -> None:
        self.runtime.report_progress(None, f"{self.note}: {tried:,} positions tried")
