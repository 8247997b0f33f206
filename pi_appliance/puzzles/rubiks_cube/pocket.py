"""The 2x2x2, completely: how far each of its 3,674,160 positions is from home, and every shortest solution.

The corner DBL stays where it is, so U, R and F are all the turns there are: any other is one of them, and a turn of the
whole cube. A position is the order of seven corners, times 729, and the twists of six.
"""

from array import array
from collections.abc import Iterator
from functools import lru_cache
from itertools import permutations

from pi_appliance.puzzles import SolveMode, SolveResult, Table, kernel_mode
from pi_appliance.puzzles.rubiks_cube import pruning_tables, table_kernel
from pi_appliance.puzzles.rubiks_cube.board import TURNS, Board, Solution
from pi_appliance.puzzles.rubiks_cube.cubies import CORNERS, State, cube_state, turn_states
from pi_appliance.puzzles.rubiks_cube.pruning_tables import build_distance_table
from pi_appliance.puzzles.runtime.interface import SearchRuntime, save_checkpoint

NAME = "rubiks-cube/pocket-1"
ORDERS, TWISTS, WIDTH = 5040, 729, 9
POSITIONS = ORDERS * TWISTS
GODS_NUMBER = 11
_FIXED = CORNERS.index("DBL")
_BUILT_TABLES: dict[str, memoryview] = {}  # by this process: it is the same for every shelf
_PLACES = tuple(place for place in range(len(CORNERS)) if place != _FIXED)


def load_distances(runtime: SearchRuntime) -> memoryview:
    """Return how far each position is, a byte each; from the shelf, or built in seconds. Raises Interrupted."""
    known = pruning_tables.load_checksummed(runtime.cache, NAME, POSITIONS)
    if known is None:
        known = _BUILT_TABLES.get(NAME) or memoryview(
            build_distance_table(*_move_tables(), ORDERS, TWISTS, WIDTH, runtime, "table of the 2x2x2")
        )
        _BUILT_TABLES[NAME] = known
        save_checkpoint(pruning_tables.save_checksummed, runtime.cache, NAME, [known])
    return known


def distance_table(near: "memoryview[int]") -> Table:
    """Return how many positions are how far, by the distances NEAR."""
    every = bytes(near)
    rows = [(far, every.count(far)) for far in range(GODS_NUMBER + 1)]
    title = f"Positions of the 2x2x2 by the moves they need (God's number: {GODS_NUMBER})"
    return Table(title, ("moves", "positions"), rows)


def solve_pocket(board: Board, mode: SolveMode, runtime: SearchRuntime) -> SolveResult:
    """Return the answer for a 2x2x2: shortest solutions. Raises Interrupted."""
    near = load_distances(runtime)
    start = _position_number(cube_state(board.facelets, 2))
    ways: dict[int, int] = {}
    count = _count_paths(near, start, ways)
    lines = iter(()) if mode is SolveMode.COUNT else _iter_solutions(near, start)
    if mode is SolveMode.FIRST:
        lines = (line for line in [next(lines)])
    return SolveResult(
        solutions=lines,
        nodes_searched=lambda: len(ways),
        count=count,
        details={
            "moves": near[start],
            "optimal": "proven",
            "kernel": kernel_mode(table_kernel),
        },
        tables=[distance_table(near)],
    )


def _position_number(state: State) -> int:
    corners = [divmod(state[3 * corner], 3) for corner in range(len(CORNERS))]
    order = tuple(_PLACES.index(corners[corner][0]) for corner in _PLACES)
    twisted = dict(corners)
    twist = sum(twisted[place] * 3**at for at, place in enumerate(_PLACES[:-1]))
    number: int = _order_numbers()[order] * TWISTS + twist
    return number


@lru_cache(maxsize=1)
def _order_numbers() -> dict[tuple[int, ...], int]:
    return {order: number for number, order in enumerate(permutations(range(len(_PLACES))))}


@lru_cache(maxsize=1)
def _move_tables() -> "tuple[array[int], array[int]]":
    """Return the order, and the twist, after each turn of each."""
    numbers = _order_numbers()
    orders, twists = array("H"), array("H")
    actions = []
    for state in turn_states()[:WIDTH]:
        pieces = [divmod(state[3 * place], 3) for place in _PLACES]
        actions.append([(_PLACES.index(place), turn) for place, turn in pieces])
    for order in numbers:
        orders.extend(numbers[tuple([action[at][0] for at in order])] for action in actions)
    for number in range(TWISTS):
        digits = [number // 3**at % 3 for at in range(6)]
        digits.append(-sum(digits) % 3)
        for action in actions:
            turned = zip(action, digits, strict=True)
            twists.append(sum((turn + digit) % 3 * 3**to for (to, turn), digit in turned if to < 6))
    return orders, twists


def _closer_positions(near: "memoryview[int]", position: int) -> Iterator[tuple[int, int]]:
    """Yield each turn that brings POSITION nearer, and where it leads."""
    orders, twists = _move_tables()
    order, twist = divmod(position, TWISTS)
    for turn in range(WIDTH):
        other = orders[order * WIDTH + turn] * TWISTS + twists[twist * WIDTH + turn]
        if near[other] < near[position]:
            yield turn, other


def _count_paths(near: "memoryview[int]", position: int, ways: dict[int, int]) -> int:
    if not near[position]:
        return 1
    if position not in ways:
        ways[position] = sum(_count_paths(near, other, ways) for _, other in _closer_positions(near, position))
    return ways[position]


def _iter_solutions(near: "memoryview[int]", position: int) -> Iterator[Solution]:
    if not near[position]:
        yield ()
    for turn, other in _closer_positions(near, position):
        for rest in _iter_solutions(near, other):
            yield (TURNS[turn], *rest)
