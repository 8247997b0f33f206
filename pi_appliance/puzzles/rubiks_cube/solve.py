"""Solve a cube: in two phases, optimally or by table; give hints; generate cubes; build tables.

A 2x2x2 has a table of all positions, with the corner DBL fixed.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import cache
from random import Random

from pi_appliance.errors import Refused
from pi_appliance.puzzles import (
    Answer,
    Details,
    Footprint,
    GeneratedBoard,
    SolveMode,
    Table,
    check_mode,
    kernel_mode,
    load_board,
    load_boards,
    pluralize,
    solutions_of,
)
from pi_appliance.puzzles.rubiks_cube import coordinates as c
from pi_appliance.puzzles.rubiks_cube import kernel, pruning_tables
from pi_appliance.puzzles.rubiks_cube.board import TURN_NAMES, Board, Solution, is_solved
from pi_appliance.puzzles.rubiks_cube.kernel import SearchTables
from pi_appliance.puzzles.rubiks_cube.notation import describe_turn
from pi_appliance.puzzles.rubiks_cube.pruning_tables import LARGE_NAME, LARGE_SIZE, SMALL_NAME, load_tables
from pi_appliance.puzzles.rubiks_cube.search import (
    OptimalSearch,
    PhaseSolution,
    Turns,
    TwoPhaseSearch,
    find_near_solutions,
    inverse_turn,
    may_be_near,
)
from pi_appliance.puzzles.runtime import SERIAL, Buffer, Interrupted, SearchRuntime

PROVABLE_LENGTH = 14  # moves up to which it is decided within a second whether a shorter solution exists
DEADLINE_MARGIN = 0.5  # seconds that are left to write the answer
MIN_PARALLEL_SECONDS = 0.1  # seconds; starting several cores takes tens of milliseconds
DEFAULT_SECONDS = 600  # seconds that the rule "all the time" means without a deadline
NODES_PER_SECOND = 200_000  # positions that count as one second if there is no clock
_NO_SOLUTION = 99  # moves; longer than any solution
# bytes of the tables of the 3x3x3 without the large one, and of the 2x2x2
SMALL_BYTES, POCKET_BYTES = 15_300_000, 3_700_000
SMALL_MEMORY, POCKET_MEMORY = 45_000_000, 30_000_000  # bytes while they are built, measured


MODES = (SolveMode.FIRST, SolveMode.FEWEST, SolveMode.COUNT)


def solve(board: Board | str, mode: SolveMode = SolveMode.FIRST, runtime: SearchRuntime = SERIAL) -> Answer[Solution]:
    """Solve the board; `FIRST` gives the shortest solution found in time. Raises Interrupted.

    Kociemba's two-phase algorithm (see docs/puzzles/rubiks-cube.md). Moves are face turns.

    >>> from pi_appliance.puzzles import rubiks_cube
    >>> next(rubiks_cube.solve(rubiks_cube.BOARDS["checkers"]).solutions)
    ('U2', 'D2', 'R2', 'L2', 'F2', 'B2')
    """
    started_at = runtime.monotonic()
    mode = check_mode("the cube", MODES, mode)
    board = load_board(board, Board)
    if board.others:
        return _solve_each(board, mode, runtime)
    if is_solved(board):
        return Answer(solutions=solutions_of(mode, iter([()])), count=1, details={"moves": 0, "optimal": "proven"})
    runtime.report_progress(None, "looking nearby")
    state = c.cube_state(board.facelets, board.side)
    # The search for near solutions takes ten milliseconds. Loaded tables exclude most cubes from
    # it.
    tables = load_tables(runtime) if board.side == 3 and pruning_tables.has_loaded_tables(runtime) else None
    if (tables is None or may_be_near(state, tables)) and (near := find_near_solutions(state, board.side)):
        return _optimal_answer(near, mode)
    if board.side == 2:
        return solve_pocket(board, mode, runtime)
    if tables is None:
        runtime.require_memory(foretell(board, mode, runtime).memory, "the search with its tables")
        tables = load_tables(runtime)
    if mode is SolveMode.FIRST:
        return _FirstSearch(board, tables, runtime, started_at).run()
    search = OptimalSearch(state, tables, runtime)
    search.run()
    return _optimal_answer(search.progress.solutions, mode, search.progress.nodes)


def solve_many(boards: Sequence[Board | str], runtime: SearchRuntime = SERIAL) -> Iterator[Solution]:
    """Yield the shortest solution found in time of each board, in their order. Raises Interrupted.

    Each cube is solved by one core or one worker of the runtime. The progress is that of all.

    >>> from pi_appliance.puzzles import rubiks_cube
    >>> list(rubiks_cube.solve_many(["R U", "F2"]))
    [("U'", "R'"), ('F2',)]
    """
    cubes = load_boards(boards, Board)
    return (solution for solution, _ in _solve_cubes(cubes, runtime))


def _solve_each(board: Board, mode: SolveMode, runtime: SearchRuntime) -> Answer[Solution]:
    """Return a solution of each cube. A cube is solved when its solution is listed."""
    if mode is not SolveMode.FIRST:
        raise Refused(f"many cubes have one solution each (`{SolveMode.FIRST}`), not `{mode}`; use one cube per file")
    cubes, nodes, moves = board.cubes, 0, 0
    details: Details = {"cubes": len(cubes), "kernel": kernel_mode(kernel)}

    def solutions() -> Iterator[Solution]:
        nonlocal nodes, moves
        for number, (solution, tried) in enumerate(_solve_cubes(cubes, runtime), 1):
            nodes, moves = nodes + tried, moves + len(solution)
            details["moves_on_average"] = moves / number
            yield (*solution, f"#{number}")

    return Answer(solutions=solutions(), nodes_searched=lambda: nodes, details=details)


def _solve_cubes(cubes: Sequence[Board], runtime: SearchRuntime) -> Iterator[tuple[Solution, int]]:
    """Yield the solution of each cube, and the positions searched."""
    sides = {cube.side: cube for cube in cubes}
    for cube in sides.values():
        runtime.require_memory(foretell(cube, SolveMode.FIRST, runtime).memory, "the search with its tables")
    tables = load_tables(runtime) if 3 in sides else None, load_distances(runtime) if 2 in sides else None
    for number, solution in enumerate(runtime.map(_cube_solver, tables, cubes), 1):
        runtime.report_progress(number / len(cubes), f"{number} of {pluralize(len(cubes), 'cube')}")
        yield solution


def _cube_solver(
    shared: tuple[SearchTables | None, memoryview | None], runtime: SearchRuntime
) -> Callable[[Board], tuple[Solution, int]]:
    tables, distances = shared

    def solve_cube(board: Board) -> tuple[Solution, int]:
        started_at, state = runtime.monotonic(), c.cube_state(board.facelets, board.side)
        if is_solved(board):
            return (), 0
        if tables is None or board.side == 2:
            assert distances is not None
            return next(_iter_solutions(distances, c.pocket_position(state))), 0
        if may_be_near(state, tables) and (near := find_near_solutions(state, board.side)):
            return turn_names(near[0]), 0
        answer = _FirstSearch(board, tables, runtime, started_at).run()
        return next(answer.solutions), answer.nodes_searched()

    return solve_cube


def count_boards(board: Board) -> int:
    """Return the number of cubes."""
    return len(board.cubes)


def hint(board: Board | str, runtime: SearchRuntime = SERIAL) -> str:
    """Return the next move as text, of many cubes for the first one. Raises `Interrupted`.

    >>> from pi_appliance.puzzles import rubiks_cube
    >>> rubiks_cube.hint("checkers")
    'turn the upper face by a half (U2); 5 moves after that'
    """
    board = load_board(board, Board).cubes[0]
    if is_solved(board):
        return "the cube is solved: leave it as it is"
    solution: Solution = next(solve(board, SolveMode.FIRST, runtime).solutions)
    rest = f"{pluralize(len(solution) - 1, 'move')} after that" if len(solution) > 1 else "and it is solved"
    return f"turn {describe_turn(solution[0])} ({solution[0]}); {rest}"


def precompute(runtime: SearchRuntime) -> Answer[Solution]:
    """Build and cache all tables; resumes after an interruption. Raises `Interrupted`."""
    runtime.require_memory(foretell(None, SolveMode.FIRST, runtime).memory, "building the tables")
    positions = distance_table(load_distances(runtime))
    counts = pruning_tables.build_large_table(runtime)
    title = "First phase of the 3x3x3: twist by flip and slice, up to symmetry"
    return Answer(
        details={"large_table_bytes": LARGE_SIZE, "kernel": kernel_mode(kernel)},
        tables=[Table(title, ("moves", "entries"), list(enumerate(counts))), positions],
    )


def foretell(board: Board | None, mode: SolveMode, runtime: SearchRuntime = SERIAL) -> Footprint:
    """Predict the memory of the tables that `board` needs; without a board, of all tables."""
    sides = {cube.side for cube in board.cubes} if board else {2, 3}
    wanted = {CACHE_NAME: POCKET_BYTES * (2 in sides), SMALL_NAME: SMALL_BYTES * (3 in sides)}
    wanted[LARGE_NAME] = LARGE_SIZE * (board is None)
    known = set(runtime.cache.names())
    tables = {name: size for name, size in wanted.items() if size and name not in known}
    if board is None:
        return Footprint(memory=SMALL_MEMORY + LARGE_SIZE, tables=tables, is_parallel=True)
    if sides == {2}:
        return Footprint(memory=POCKET_MEMORY, tables=tables, saves=False, is_parallel=bool(board.others))
    memory = SMALL_MEMORY + (LARGE_SIZE if LARGE_NAME in known else 0)
    return Footprint(memory=memory, tables=tables, saves=mode is not SolveMode.FIRST, is_parallel=True)


def turn_names(turns: Iterable[int]) -> Solution:
    """Return the names of turns given by number."""
    return tuple(TURN_NAMES[turn] for turn in turns)


def _optimal_answer(optimal: Sequence[Turns], mode: SolveMode, nodes: int = 0) -> Answer[Solution]:
    return Answer(
        solutions=solutions_of(mode, map(turn_names, optimal)),
        nodes_searched=lambda: nodes,
        count=len(optimal),
        details={"moves": len(optimal[0]), "optimal": "proven", "kernel": kernel_mode(kernel)},
    )


class _FirstSearch:
    """The search for the shortest solution that is found in time."""

    def __init__(self, board: Board, tables: SearchTables, runtime: SearchRuntime, started_at: float) -> None:
        self.board, self.tables, self.runtime, self.started_at = board, tables, runtime, started_at
        self.state = c.cube_state(board.facelets, 3)
        self.best: PhaseSolution | None = None
        self.lower_bound = self.nodes = 0
        left, seconds = runtime.seconds_left(), board.seconds
        if seconds is None:
            seconds = DEFAULT_SECONDS if left is None else left
        self.seconds = seconds if left is None else min(seconds, max(left * 0.9 - DEADLINE_MARGIN, 0))

    @property
    def moves(self) -> int:
        """The length of the best solution."""
        return len(self.best.turns) if self.best else _NO_SOLUTION

    def seconds_spent(self, nodes: int) -> float:
        """Return the seconds spent. If there is no clock, estimate them from `nodes`."""
        return self.runtime.monotonic() - self.started_at or nodes / NODES_PER_SECOND

    def run(self) -> Answer[Solution]:
        """Search until the time is over or the solution is short enough."""
        history: list[tuple[int | float | str, ...]] = []
        try:
            self._search_phases(history)
            if self.moves <= PROVABLE_LENGTH:
                self._prove_optimal()
        except Interrupted as interrupted:
            if self.best:
                turns = " ".join(turn_names(self.best.turns))
                interrupted.partial_result = f"a solution of {pluralize(self.moves, 'move')}: {turns}"
            raise
        assert self.best is not None
        return Answer(
            solutions=iter([turn_names(self.best.turns)]),
            nodes_searched=lambda: self.nodes,
            details={
                "moves": self.moves,
                "first_phase": self.best.split[0],
                "second_phase": self.best.split[1],
                "moves_at_least": self.lower_bound,
                "optimal": "proven" if self.lower_bound >= self.moves else "not proven",
                "kernel": kernel_mode(kernel),
                "tables": "large" if self.tables.is_large else "small",
            },
            tables=[Table("Shorter and shorter", ("moves", "phases", "positions", "seconds"), history)],
        )

    def _search_phases(self, history: list[tuple[int | float | str, ...]]) -> None:
        is_parallel = self.runtime.cores > 1 and self.seconds >= MIN_PARALLEL_SECONDS
        search = TwoPhaseSearch(self.state, self.tables, self.runtime if is_parallel else None)
        self.lower_bound = search.lower_bound

        def should_stop(moves: int, nodes: int) -> bool:
            return moves <= max(self.board.target, PROVABLE_LENGTH) or self.seconds_spent(nodes) >= self.seconds

        for solution in search.run(should_stop):
            self.nodes = search.nodes
            if solution and len(solution.turns) < self.moves:
                self.best = solution
                phases = f"{solution.split[0]} + {solution.split[1]}"
                history.append((self.moves, phases, self.nodes, round(self.seconds_spent(self.nodes), 3)))
            part = min(self.seconds_spent(self.nodes) / self.seconds, 1) if self.best and self.seconds else None
            note = pluralize(self.moves, "move") if self.best else "looking for a first solution"
            self.runtime.report_progress(part, note)

    def _prove_optimal(self) -> None:
        search = OptimalSearch(self.state, self.tables, self.runtime)
        self.lower_bound = max(self.lower_bound, search.progress.length)
        while self.lower_bound < self.moves:
            nodes = 0
            for nodes in search.search_step(self.lower_bound):
                self.runtime.report_progress(None, f"is there one of {pluralize(self.lower_bound, 'move')}?")
                if self.seconds_spent(self.nodes + nodes) >= self.seconds:
                    return
            self.nodes += nodes
            if search.progress.solutions:
                turns = search.progress.solutions[0]
                self.best = PhaseSolution(turns, (len(turns), 0))
            else:
                self.lower_bound += 1


def generate(seed: int, board: Board | str = "checkers", runtime: SearchRuntime = SERIAL) -> GeneratedBoard[Board]:
    """Return a random cube with the size and rules of `board`, and a scramble that leads to it.

    `random_cube` gives the same cube without the scramble, which takes most of the time.
    """
    cube = random_cube(seed, board)
    if cube.side == 2:
        solution = next(solve(cube, SolveMode.FIRST, runtime).solutions)
    else:
        solution = ()
        state = c.cube_state(cube.facelets, cube.side)
        for found in TwoPhaseSearch(state, load_tables(runtime, use_large=False)).run():
            runtime.report_progress(None, "looking for a scramble")
            if found:  # found with the small tables, so that the scramble does not depend on the cache
                solution = turn_names(found.turns)
                break
    scramble = " ".join(TURN_NAMES[inverse_turn(TURN_NAMES.index(move))] for move in reversed(solution))
    return GeneratedBoard(cube, {"scramble": scramble, "scramble_moves": len(solution)})


def random_cube(seed: int, board: Board | str = "checkers") -> Board:
    """Return a random cube of the size and rules of `board`; every cube is equally likely.

    >>> from pi_appliance.puzzles import rubiks_cube
    >>> rubiks_cube.random_cube(7).facelets[:9]
    'LUUBURFBU'
    """
    board = load_board(board, Board)
    state = random_state(Random(seed), board.side)  # noqa: S311 - a game
    return replace(board, facelets=c.facelets_of(state, board.side), others=())


def random_state(rng: Random, side: int) -> c.State:
    """Return a random reachable state; the corner DBL of a 2x2x2 is solved."""
    corners = [corner for corner in range(len(c.CORNERS)) if side == 3 or corner != c.FIXED_CORNER]
    edges = list(range(len(c.EDGES))) if side == 3 else []
    corner_places, edge_places = rng.sample(corners, len(corners)), rng.sample(edges, len(edges))
    if side == 3 and c.is_odd(corner_places) != c.is_odd(edge_places):
        edge_places[:2] = reversed(edge_places[:2])
    state = list(c.SOLVED)
    for first, size, homes, places in ((0, 3, corners, corner_places), (3 * len(c.CORNERS), 2, edges, edge_places)):
        turns = [rng.randrange(size) for _ in homes]
        # the last one follows from the others, if there is any
        turns[-1:] = [-sum(turns[:-1]) % size for _ in turns[-1:]]
        for home, place, turn in zip(homes, places, turns, strict=True):
            for sticker in range(size):
                state[first + home * size + sticker] = first + place * size + (sticker + turn) % size
    return tuple(state)


CACHE_NAME = "rubiks-cube/pocket-2"
GODS_NUMBER = 11


def load_distances(runtime: SearchRuntime) -> memoryview:
    """Return the distance of each position, a byte each. Raises `Interrupted`."""

    def build() -> dict[str, Buffer]:
        orders, twists = c.pocket_moves()
        sizes = c.POCKET_ORDERS, c.POCKET_TWISTS, c.POCKET_TURNS
        return {"distances": pruning_tables.build_distance_table(orders, twists, *sizes, runtime, "table of the 2x2x2")}

    return pruning_tables.cached_tables(runtime, CACHE_NAME, build)["distances"]


def distance_table(distances: "memoryview[int]") -> Table:
    """Return the number of positions by distance."""
    content = bytes(distances)
    rows = [(distance, content.count(distance)) for distance in range(GODS_NUMBER + 1)]
    title = f"Positions of the 2x2x2 by the moves they need (God's number: {GODS_NUMBER})"
    return Table(title, ("moves", "positions"), rows)


def solve_pocket(board: Board, mode: SolveMode, runtime: SearchRuntime) -> Answer[Solution]:
    """Return the shortest solutions of a 2x2x2. Raises `Interrupted`."""
    distances = load_distances(runtime)
    start = c.pocket_position(c.cube_state(board.facelets, 2))
    nodes = 0

    @cache
    def count_paths(position: int) -> int:
        nonlocal nodes
        if not distances[position]:
            return 1
        nodes += 1
        return sum(count_paths(other) for _, other in _closer_positions(distances, position))

    return Answer(
        solutions=solutions_of(mode, _iter_solutions(distances, start)),
        count=count_paths(start),
        nodes_searched=lambda: nodes,
        details={"moves": distances[start], "optimal": "proven", "kernel": kernel_mode(kernel)},
        tables=[distance_table(distances)],
    )


def _closer_positions(distances: "memoryview[int]", position: int) -> Iterator[tuple[int, int]]:
    orders, twists = c.pocket_moves()
    order, twist = divmod(position, c.POCKET_TWISTS)
    for turn in range(c.POCKET_TURNS):
        other = orders[order * c.POCKET_TURNS + turn] * c.POCKET_TWISTS + twists[twist * c.POCKET_TURNS + turn]
        if distances[other] < distances[position]:
            yield turn, other


def _iter_solutions(distances: "memoryview[int]", position: int) -> Iterator[Solution]:
    if not distances[position]:
        yield ()
    for turn, other in _closer_positions(distances, position):
        for rest in _iter_solutions(distances, other):
            yield (TURN_NAMES[turn], *rest)
