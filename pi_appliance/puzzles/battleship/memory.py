"""How much memory a count of battleship's placements will need, told before it starts."""

from collections import Counter
from collections.abc import Sequence

from pi_appliance.puzzles.battleship.board import Board
from pi_appliance.puzzles.battleship.fit import Place
from pi_appliance.puzzles.battleship.plan import Plan

KEY = 200  # bytes: the key, its share of the table, the head of its ways; as measured on CPython 3.11
LIMITS = 4  # lengths whose numbers of ships are respected; with more of them the bound would take long itself
_WATER, _ENDED, _GOES_ON = range(3)


def layer_bytes(board: Board, there: Sequence[Place], plan: Plan) -> int:
    """Return the bytes of the largest layer after a row, at the most: as many keys as the places THERE can make."""
    fills: dict[int, list[set[int]]] = {}
    width = len(plan.rows[0])
    for place in there:
        squares = [(y, x) if plan.turned else (x, y) for x, y in place.ship.squares]
        across = squares[0][1] == squares[-1][1]
        for number, (x, y) in enumerate(squares):
            left = 1 if across else len(squares) - number
            fills.setdefault(y, [set() for _ in range(width)])[x].add(left)
    most = max((_keys(board, columns) for columns in fills.values()), default=1)
    return most * (KEY + plan.size.slots * plan.size.words * 6)  # not every coefficient is there


def _keys(board: Board, columns: Sequence[set[int]]) -> int:
    """Return how many keys there can be behind a row: which values each of its COLUMNS may have beside 0, water."""
    lengths = sorted({length for length in board.fleet if length > 1})[-LIMITS:]
    ships = [sum(other >= length for other in board.fleet) for length in lengths]
    apart = board.touching != "allowed"
    states: Counter[tuple[int, tuple[int, ...], int]] = Counter({(_WATER, (0,) * len(lengths), 0): 1})
    for values in columns:
        after: Counter[tuple[int, tuple[int, ...], int]] = Counter()
        for (before, used, all_used), number in states.items():
            after[_WATER, used, all_used] += number
            if apart and 1 in values and before != _GOES_ON:
                more = all_used + (before == _WATER)
                if more <= len(board.fleet):
                    after[_ENDED, used, more] += number
            if apart and before != _WATER:
                continue
            for value in values - {1}:
                now = tuple(count + (value >= length) for count, length in zip(used, lengths, strict=True))
                if all(count <= most for count, most in zip(now, ships, strict=True)):
                    after[_GOES_ON, now, all_used + apart] += number
        states = after
    return states.total()
