"""How much memory a count of battleship's placements will need, told before it starts."""

from collections import Counter
from collections.abc import Sequence

from pi_appliance.puzzles.battleship.board import Board
from pi_appliance.puzzles.battleship.fit import Place
from pi_appliance.puzzles.battleship.kernel import Size
from pi_appliance.puzzles.battleship.plan import is_turned

KEY = 200  # bytes: the key, its share of the table, the head of its ways; as measured on CPython 3.11
LIMITS = 3  # lengths whose numbers of ships are respected; with more of them the bound would take long itself
_WATER, _ENDED, _GOES_ON = range(3)


def layer_bytes(board: Board, there: Sequence[Place], size: Size) -> int:
    """Return the bytes of the largest layer after a row, at the most: as many keys as the places THERE can make."""
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
    most = max((_keys(board, columns) for columns in rows), default=1)
    return most * (KEY + size.slots * size.words * 6)  # not every coefficient is there


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
