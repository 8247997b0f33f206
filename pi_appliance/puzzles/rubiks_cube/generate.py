"""Generate random cubes from a seed; all reachable positions are equally likely."""

from collections.abc import Iterable
from dataclasses import replace
from random import Random

from pi_appliance.puzzles import GeneratedBoard, SolveMode
from pi_appliance.puzzles.rubiks_cube.board import TURNS, Board, Solution
from pi_appliance.puzzles.rubiks_cube.cubies import CORNERS, EDGES, SOLVED, State, facelets_of, is_odd
from pi_appliance.puzzles.rubiks_cube.pocket import FIXED_CORNER
from pi_appliance.puzzles.rubiks_cube.pruning_tables import load_tables
from pi_appliance.puzzles.rubiks_cube.solve import solve, turn_names
from pi_appliance.puzzles.rubiks_cube.two_phase import TwoPhaseSearch, inverse_turn
from pi_appliance.puzzles.runtime.interface import SearchRuntime


def generate(seed: int, board: Board, runtime: SearchRuntime) -> GeneratedBoard:
    """Return a random cube of the size and rules of `board`, and a scramble that leads to it.

    Raises:
        Interrupted: the run must end.

    """
    rng = Random(seed)  # noqa: S311 - a game
    state = random_state(rng, board.side)
    cube = replace(board, facelets=facelets_of(state, board.side))
    solution: Solution
    if board.side == 2:
        solution = next(solve(cube, SolveMode.FIRST, runtime).solutions)
    else:
        solution = turn_names(_first_solution(state, runtime))
    scramble = " ".join(TURNS[inverse_turn(TURNS.index(move))] for move in reversed(solution))
    return GeneratedBoard(cube, {"scramble": scramble, "scramble_moves": len(solution)})


def _first_solution(state: State, runtime: SearchRuntime) -> tuple[int, ...]:
    """Return the first solution by the small tables: it does not depend on the cache."""
    for solution in TwoPhaseSearch(state, load_tables(runtime, use_large=False)).run():
        runtime.report_progress(None, "looking for a scramble")
        if solution:
            return solution.turns
    raise AssertionError("every cube is solved in 22 moves")


def random_state(rng: Random, side: int) -> State:
    """Return a random reachable state; the corner DBL of a 2x2x2 is solved."""
    corners = [corner for corner in range(len(CORNERS)) if side == 3 or corner != FIXED_CORNER]
    edges = list(range(len(EDGES))) if side == 3 else []
    corner_places, edge_places = rng.sample(corners, len(corners)), rng.sample(edges, len(edges))
    if side == 3 and is_odd(corner_places) != is_odd(edge_places):
        edge_places[:2] = reversed(edge_places[:2])
    state = list(SOLVED)
    twists = _random_orientations(rng, 3, len(corners))
    _place_pieces(state, 0, 3, zip(corners, corner_places, twists, strict=True))
    flips = _random_orientations(rng, 2, len(edges))
    _place_pieces(state, 3 * len(CORNERS), 2, zip(edges, edge_places, flips, strict=True))
    return tuple(state)


def _random_orientations(rng: Random, base: int, count: int) -> list[int]:
    """Return orientations of `count` pieces whose sum is 0 modulo `base`."""
    turns = [rng.randrange(base) for _ in range(count)]
    return [*turns[:-1], -sum(turns[:-1]) % base] if turns else []


def _place_pieces(state: list[int], first: int, size: int, pieces: Iterable[tuple[int, int, int]]) -> None:
    """Place pieces (home, place, orientation) of `size` stickers, numbered from `first`."""
    for home, place, turn in pieces:
        for sticker in range(size):
            state[first + home * size + sticker] = first + place * size + (sticker + turn) % size
