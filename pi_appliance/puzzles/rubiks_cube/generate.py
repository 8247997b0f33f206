"""New cubes from a seed, each of all positions as likely as any other; the next move; the tables built ahead."""

from collections.abc import Sequence
from dataclasses import replace
from random import Random

from pi_appliance.puzzles import GeneratedBoard, SolveMode, SolveResult, Table, kernel_mode, pluralize
from pi_appliance.puzzles.rubiks_cube import pocket, table_kernel
from pi_appliance.puzzles.rubiks_cube.board import TURNS, Board, Solution, is_solved
from pi_appliance.puzzles.rubiks_cube.cubies import CORNERS, EDGES, State, facelets_of
from pi_appliance.puzzles.rubiks_cube.pruning_tables import LARGE_SIZE, build_large_table, load_tables
from pi_appliance.puzzles.rubiks_cube.render import describe_turn
from pi_appliance.puzzles.rubiks_cube.solve import solve, turn_names
from pi_appliance.puzzles.rubiks_cube.two_phase import TwoPhaseSearch
from pi_appliance.puzzles.runtime.interface import SearchRuntime

_FIXED_CORNER = CORNERS.index("DBL")  # of a 2x2x2, whose other corners move around it


def generate(seed: int, board: Board, runtime: SearchRuntime) -> GeneratedBoard:
    """Return a cube of the size and the rules of BOARD, and a scramble that leads to it. Raises Interrupted."""
    random = Random(seed)  # noqa: S311 - a puzzle is no secret
    state = random_state(random, board.side)
    cube = replace(board, facelets=facelets_of(state, board.side))
    line = _solution(cube, runtime) if board.side == 2 else turn_names(_first_solution(state, runtime))
    scramble = " ".join(TURNS[TURNS.index(move) // 3 * 3 + 2 - TURNS.index(move) % 3] for move in reversed(line))
    return GeneratedBoard(cube, {"scramble": scramble, "scramble_moves": len(line)})


def _first_solution(state: State, runtime: SearchRuntime) -> tuple[int, ...]:
    """Return the first solution there is, by the small tables: the same one, whatever the shelf has."""
    for found in TwoPhaseSearch(state, load_tables(runtime, wide=False)).run():
        runtime.report_progress(None, "looking for a scramble")
        if found:
            return found.turns
    raise AssertionError("every cube is solved in 22 moves")


def random_state(random: Random, side: int) -> State:
    """Return a state of a cube of SIDE: each that can be reached is as likely as any other."""
    corners = [corner for corner in range(len(CORNERS)) if side == 3 or corner != _FIXED_CORNER]
    edges = list(range(len(EDGES))) if side == 3 else []
    corner_places, edge_places = random.sample(corners, len(corners)), random.sample(edges, len(edges))
    if side == 3 and _is_odd_order(corner_places) != _is_odd_order(edge_places):
        edge_places[:2] = reversed(edge_places[:2])
    state = list(range(3 * len(CORNERS) + 2 * len(EDGES)))
    _place_pieces(state, 0, 3, zip(corners, corner_places, _random_orientations(random, 3, len(corners)), strict=True))
    _place_pieces(
        state, 3 * len(CORNERS), 2, zip(edges, edge_places, _random_orientations(random, 2, len(edges)), strict=True)
    )
    return tuple(state)


def _is_odd_order(places: Sequence[int]) -> bool:
    return sum(one > other for at, one in enumerate(places) for other in places[at:]) % 2 == 1


def _random_orientations(random: Random, ways: int, count: int) -> list[int]:
    """Return how COUNT pieces are turned, each in one of WAYS, so that all together are not."""
    turns = [random.randrange(ways) for _ in range(count)]
    return [*turns[:-1], -sum(turns[:-1]) % ways] if turns else []


def _place_pieces(state: list[int], first: int, size: int, pieces: "zip[tuple[int, int, int]]") -> None:
    """Put PIECES (home, place, turn), whose stickers begin with the number FIRST, SIZE a piece, into STATE."""
    for home, place, turn in pieces:
        for sticker in range(size):
            state[first + home * size + sticker] = first + place * size + (sticker + turn) % size


def _solution(board: Board, runtime: SearchRuntime) -> Solution:
    line: Solution = next(solve(board, SolveMode.FIRST, runtime).solutions)
    return line


def hint(board: Board, runtime: SearchRuntime) -> str:
    """Return the next move in words. Raises Interrupted."""
    if is_solved(board):
        return "the cube is solved: leave it as it is"
    line = _solution(board, runtime)
    rest = f"{pluralize(len(line) - 1, 'move')} after that" if len(line) > 1 else "and it is solved"
    return f"turn {describe_turn(line[0])} ({line[0]}); {rest}"


def precompute(runtime: SearchRuntime) -> SolveResult:
    """Build all tables on the shelf; go on where it was cut off. Raises Interrupted."""
    census = pocket.distance_table(pocket.load_distances(runtime))
    counts = build_large_table(runtime)
    rows = [(far, count) for far, count in enumerate(counts)]
    headers = ("moves", "entries")
    return SolveResult(
        details={"wide_table_bytes": LARGE_SIZE, "kernel": kernel_mode(table_kernel)},
        tables=[Table("First phase of the 3x3x3: twist by flip and slice, up to symmetry", headers, rows), census],
    )
