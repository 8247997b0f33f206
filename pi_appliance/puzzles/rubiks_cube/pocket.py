"""The 2x2x2 ("pocket cube"): the distance of all 3,674,160 positions, and every shortest solution.

The corner DBL stays fixed, so U, R and F are all the turns there are: any other turn is one of them
and a rotation of the whole cube. A position is the order of seven corners, times 729, plus the
twists of six.
"""

from array import array
from collections.abc import Iterator
from functools import lru_cache
from itertools import islice, permutations

from pi_appliance.puzzles import SolveMode, SolveResult, Table, kernel_mode
from pi_appliance.puzzles.rubiks_cube import table_kernel
from pi_appliance.puzzles.rubiks_cube.board import TURNS, Board, Solution
from pi_appliance.puzzles.rubiks_cube.cubies import CORNERS, State, cube_state, turn_states
from pi_appliance.puzzles.rubiks_cube.optimal import POCKET_TURNS
from pi_appliance.puzzles.rubiks_cube.pruning_tables import (
    build_distance_table,
    load_checksummed,
    save_checksummed,
)
from pi_appliance.puzzles.runtime.interface import SearchRuntime, save_checkpoint

CACHE_NAME = "rubiks-cube/pocket-1"
ORDERS, TWISTS = 5040, 729
POSITIONS = ORDERS * TWISTS
GODS_NUMBER = 11
FIXED_CORNER = CORNERS.index("DBL")
_PLACES = tuple(place for place in range(len(CORNERS)) if place != FIXED_CORNER)
_BUILT: dict[str, memoryview] = {}  # by this process; it is the same for every cache


def load_distances(runtime: SearchRuntime) -> memoryview:
    """Return the distance of each position, a byte each. Raises `Interrupted`."""
    distances = load_checksummed(runtime.cache, CACHE_NAME, POSITIONS)
    if distances is None:
        distances = _BUILT.get(CACHE_NAME)
        if distances is None:
            orders, twists = _move_tables()
            table = build_distance_table(orders, twists, ORDERS, TWISTS, POCKET_TURNS, runtime, "table of the 2x2x2")
            distances = _BUILT[CACHE_NAME] = memoryview(table)
        save_checkpoint(save_checksummed, runtime.cache, CACHE_NAME, [distances])
    return distances


def distance_table(distances: "memoryview[int]") -> Table:
    """Return the number of positions by distance."""
    content = bytes(distances)
    rows = [(distance, content.count(distance)) for distance in range(GODS_NUMBER + 1)]
    title = f"Positions of the 2x2x2 by the moves they need (God's number: {GODS_NUMBER})"
    return Table(title, ("moves", "positions"), rows)


def solve_pocket(board: Board, mode: SolveMode, runtime: SearchRuntime) -> SolveResult:
    """Return the shortest solutions of a 2x2x2. Raises `Interrupted`."""
    distances = load_distances(runtime)
    start = _position_number(cube_state(board.facelets, 2))
    path_counts: dict[int, int] = {}
    count = _count_paths(distances, start, path_counts)
    solutions: Iterator[Solution] = iter(()) if mode is SolveMode.COUNT else _iter_solutions(distances, start)
    if mode is SolveMode.FIRST:
        solutions = islice(solutions, 1)
    return SolveResult(
        solutions=solutions,
        nodes_searched=lambda: len(path_counts),
        count=count,
        details={
            "moves": distances[start],
            "optimal": "proven",
            "kernel": kernel_mode(table_kernel),
        },
        tables=[distance_table(distances)],
    )


def _position_number(state: State) -> int:
    corners = [divmod(state[3 * corner], 3) for corner in range(len(CORNERS))]
    order = tuple(_PLACES.index(corners[corner][0]) for corner in _PLACES)
    twist_at = dict(corners)
    twist = sum(twist_at[place] * 3**at for at, place in enumerate(_PLACES[:-1]))
    number: int = _order_numbers()[order] * TWISTS + twist
    return number


@lru_cache(maxsize=1)
def _order_numbers() -> dict[tuple[int, ...], int]:
    return {order: number for number, order in enumerate(permutations(range(len(_PLACES))))}


@lru_cache(maxsize=1)
def _move_tables() -> "tuple[array[int], array[int]]":
    """Return the move tables of orders and of twists."""
    numbers = _order_numbers()
    orders, twists = array("H"), array("H")
    actions = []
    for state in turn_states()[:POCKET_TURNS]:
        pieces = [divmod(state[3 * place], 3) for place in _PLACES]
        actions.append([(_PLACES.index(place), turn) for place, turn in pieces])
    for order in numbers:
        orders.extend(numbers[tuple([action[at][0] for at in order])] for action in actions)
    for number in range(TWISTS):
        digits = [number // 3**at % 3 for at in range(6)]
        digits.append(-sum(digits) % 3)
        for action in actions:
            moved = zip(action, digits, strict=True)
            twists.append(sum((turn + digit) % 3 * 3**to for (to, turn), digit in moved if to < 6))
    return orders, twists


def _closer_positions(distances: "memoryview[int]", position: int) -> Iterator[tuple[int, int]]:
    """Yield each turn that leads closer to the solved cube, and the position after it."""
    orders, twists = _move_tables()
    order, twist = divmod(position, TWISTS)
    for turn in range(POCKET_TURNS):
        other = orders[order * POCKET_TURNS + turn] * TWISTS + twists[twist * POCKET_TURNS + turn]
        if distances[other] < distances[position]:
            yield turn, other


def _count_paths(distances: "memoryview[int]", position: int, path_counts: dict[int, int]) -> int:
    if not distances[position]:
        return 1
    if position not in path_counts:
        path_counts[position] = sum(
            _count_paths(distances, other, path_counts) for _, other in _closer_positions(distances, position)
        )
    return path_counts[position]


def _iter_solutions(distances: "memoryview[int]", position: int) -> Iterator[Solution]:
    if not distances[position]:
        yield ()
    for turn, other in _closer_positions(distances, position):
        for rest in _iter_solutions(distances, other):
            yield (TURNS[turn], *rest)
