"""How much memory a count of battleship's placements will need, told before it starts."""

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from pi_appliance.puzzles.battleship.board import Board
from pi_appliance.puzzles.battleship.fit import Placement
from pi_appliance.puzzles.battleship.kernel import Size
from pi_appliance.puzzles.battleship.plan import is_turned

KEY, PACKED = 200, 12  # bytes beside the ways: in a table of CPython 3.11, and on their way to the shelf
AT_ONCE = 5  # layers that a count has at its peak, as measured
LIMITS = 3  # lengths whose numbers of ships are respected; with more of them the bound would take long itself
_WATER, _ENDED, _GOES_ON = range(3)


class Needs(NamedTuple):
    """Bytes at the peak, at the most; some of it is never used."""

    total: int
    survey: int


def needs(board: Board, there: Sequence[Placement], size: Size) -> Needs:
    """Return what a sweep over the places THERE needs, in polynomials of SIZE."""
    keys, ways = _most_keys(board, there), 8 * size.slots * size.words
    # A survey has a packed layer of each row, and of each cell of one row; those that ships reach are unpacked.
    packed, unpacked = board.width + board.height, max(board.fleet) + 2
    return Needs(AT_ONCE * keys * (KEY + ways), keys * (packed * (PACKED + ways) + unpacked * (KEY + ways)))


def _most_keys(board: Board, there: Sequence[Placement]) -> int:
    """Return how many keys the largest layer after a row has at the most: as many as the places THERE can make."""
    fills: dict[int, list[set[int]]] = {}
    turned = is_turned(board)
    width = board.height if turned else board.width
    for place in there:
        squares = [(y, x) if turned else (x, y) for x, y in place.ship.squares]
        across = squares[0][1] == squares[-1][1]
        for number, (x, y) in enumerate(squares):
            left = 1 if across else len(squares) - number
            fills.setdefault(y, [set() for _ in range(width)])[x].add(left)
    rows = {tuple(map(frozenset, columns)) for columns in fills.values()}
    return max((_keys(board, columns) for columns in rows), default=1)


def _keys(board: Board, columns: Sequence[frozenset[int]]) -> int:
    """Return how many keys there can be behind a row: which values each of its COLUMNS may have beside 0, water."""
    all_lengths = sorted({length for length in board.fleet if length > 1})
    lengths = sorted(
        {all_lengths[number * len(all_lengths) // LIMITS] for number in range(LIMITS)} if all_lengths else ()
    )
    ships = [sum(other >= length for other in board.fleet) for length in lengths]
    apart = board.touching != "allowed"
    states: Counter[tuple[int, tuple[int, ...]]] = Counter({(_WATER, (0,) * len(lengths)): 1})
    for values in columns:
        after: Counter[tuple[int, tuple[int, ...]]] = Counter()
        # Values between the same limits make the same difference.
        steps = Counter(tuple(value >= length for length in lengths) for value in values - {1})
        for (before, used), number in states.items():
            after[_WATER, used] += number
            if apart and 1 in values and before != _GOES_ON:
                after[_ENDED, used] += number
            if apart and before != _WATER:
                continue
            for step, ways in steps.items():
                now = tuple(count + more for count, more in zip(used, step, strict=True))
                if all(count <= most for count, most in zip(now, ships, strict=True)):
                    after[_GOES_ON, now] += number * ways
        states = after
    return states.total()
