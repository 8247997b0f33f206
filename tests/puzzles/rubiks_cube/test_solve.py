"""Solving Rubik's cubes: solve_first solutions, optimal ones, and the 2x2x2."""

import os
import random
from collections.abc import Iterator
from dataclasses import replace
from itertools import count
from pathlib import Path

import pytest

from pi_appliance.puzzles import SolveMode, kernel_mode
from pi_appliance.puzzles import rubiks_cube as cube
from pi_appliance.puzzles.rubiks_cube import kernel
from pi_appliance.puzzles.rubiks_cube.board import TURN_NAMES, Board, apply_turn, parse_turn
from pi_appliance.puzzles.rubiks_cube.coordinates import (
    compose,
    cube_state,
    facelets_of,
    to_coordinates,
    turn_states,
)
from pi_appliance.puzzles.rubiks_cube.kernel import DONE, FOUND, PhaseSearch
from pi_appliance.puzzles.rubiks_cube.pruning_tables import load_tables
from pi_appliance.puzzles.rubiks_cube.search import (
    MAX_NEAR_MOVES,
    MAX_PHASE2,
    NO_FACE,
    OptimalSearch,
    cube_views,
    find_near_solutions,
    may_be_near,
    search_buffers,
    turn_prefixes,
)
from pi_appliance.puzzles.rubiks_cube.solve import (
    distance_table,
    load_distances,
    random_state,
    solve_pocket,
    turn_names,
)
from pi_appliance.puzzles.runtime import Interrupted, SearchRuntime
from pi_appliance.puzzles.runtime.local import open_runtime
from tests.examples import repetitions
from tests.puzzles.rubiks_cube import reference as cubes

LONG = os.environ.get("PI_APPLIANCE_LONG") == "1"
COMPILED = kernel_mode(kernel) == "compiled"
POSITIONS = (1, 9, 54, 321, 1847, 9992, 50136, 227536, 870072, 1887748, 623800, 2644)


class TickingRuntime(SearchRuntime):
    """A runtime whose clock advances by 1 ms per call; may have a deadline or be interrupted."""

    def __init__(self, seconds_left: float | None = None, reports: int | None = None) -> None:
        ticks = count()
        super().__init__(lambda: next(ticks) / 1000)
        # The tables are built first, so that only the search spends the clock and the reports.
        load_tables(cubes.runtime())
        self.cache = cubes.runtime().cache
        self._left, self._reports = seconds_left, reports

    def seconds_left(self) -> float | None:
        return self._left

    def report_progress(self, part: float | None, note: str) -> None:  # noqa: ARG002 - as in the base class
        if self._reports is not None:
            self._reports -= 1
            if self._reports < 0:
                raise Interrupted("enough")


def solve_first(board: Board) -> tuple[str, ...]:
    return next(cube.solve(board, SolveMode.FIRST, cubes.runtime()).solutions)


def test_random_cubes_are_solved_in_22_moves() -> None:
    rng = random.Random(20261121)
    for _ in range(repetitions(40) if COMPILED else 3):
        board = Board(3, facelets_of(random_state(rng, 3), 3), seconds=0)
        line = solve_first(board)
        assert len(line) <= 22
        assert cube.check(board, line)
        assert cubes.is_solved(cubes.apply_moves(board.facelets, line))


def test_the_superflip_is_solved() -> None:
    board = replace(cube.parse(cubes.SUPERFLIP, "mine"), seconds=0)
    assert board == replace(cube.parse(cube.BOARDS["superflip"], "mine"), seconds=0)
    line = solve_first(board)
    assert 20 <= len(line) <= 22, "it is known to need 20"
    assert cube.check(board, line)


def test_more_time_gives_shorter_solutions_until_the_target() -> None:
    board = cube.parse(cube.BOARDS["scrambled"], "mine")
    lengths = [len(solve_first(replace(board, seconds=seconds))) for seconds in (0, 0.1, 0.5)]
    assert lengths == sorted(lengths, reverse=True)
    answer = cube.solve(replace(board, seconds=1000, target=21), SolveMode.FIRST, cubes.runtime())
    assert answer.details["moves"] <= 21
    history = answer.tables[0].rows
    assert history[-1][0] == answer.details["moves"]
    assert [row[0] for row in history] == sorted((row[0] for row in history), reverse=True)


def test_without_a_clock_the_answer_is_reproducible() -> None:
    board = replace(cube.parse(cube.BOARDS["scrambled"], "mine"), seconds=0.2)
    assert solve_first(board) == solve_first(board)


def test_the_answer_comes_before_the_deadline() -> None:
    board = replace(cube.parse(cube.BOARDS["scrambled"], "mine"), seconds=None)
    runtime = TickingRuntime(seconds_left=1.0)
    assert cube.check(board, next(cube.solve(board, SolveMode.FIRST, runtime).solutions))
    assert runtime.monotonic() < 1.0


def test_an_interruption_reports_the_best_solution() -> None:
    board = replace(cube.parse(cube.BOARDS["scrambled"], "mine"), seconds=1000)
    with pytest.raises(Interrupted) as caught:
        cube.solve(board, SolveMode.FIRST, TickingRuntime(reports=700))
    assert caught.value.partial_result.startswith("a solution of ")
    assert cube.check(board, tuple(caught.value.partial_result.partition(": ")[2].split()))


def test_a_parallel_search_stops_and_returns_the_shortest(tmp_path: Path) -> None:
    board = replace(cube.parse(cube.BOARDS["scrambled"], "mine"), seconds=0.5)
    with open_runtime(tmp_path, cores=2) as runtime:
        runtime.cache = cubes.runtime().cache
        for asked in (board, replace(board, seconds=1_000_000, target=21)):
            answer = cube.solve(asked, SolveMode.FIRST, runtime)
            line = next(answer.solutions)
            assert cube.check(board, line)
            history = [row[0] for row in answer.tables[0].rows]
            assert history == sorted(set(history), reverse=True)
            assert history[-1] == answer.details["moves"] == len(line) <= 21
            assert answer.nodes_searched() > 0


def test_many_cubes_are_solved_in_their_order_on_all_cores(tmp_path: Path) -> None:
    rng, progress = random.Random(9), list[tuple[float | None, str]]()
    boards = [Board(side, facelets_of(random_state(rng, side), side), seconds=0) for side in (3, 2, 3, 3)]
    boards = boards if COMPILED else boards[:2]
    alone = [solve_first(board) for board in boards]
    with open_runtime(tmp_path, lambda *report: progress.append(report), cores=2) as runtime:
        runtime.cache = cubes.runtime().cache
        assert list(cube.solve_many(boards, runtime)) == alone
    assert progress[-1] == (1, f"{len(boards)} of {len(boards)} cubes")
    for board, line in zip(boards, alone, strict=True):
        assert cube.check(board, line)


def test_splitting_by_first_turns_loses_no_solution() -> None:
    view = cube_views(cube_state(cubes.scrambled_board(cubes.random_moves(random.Random(5), 7)).facelets, 3))[0]
    small = load_tables(cubes.runtime(), use_large=False)

    def ways(solve_first: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
        state = view.state
        for turn in solve_first:
            state = compose(state, turn_states()[turn])
        start = to_coordinates([state])[0]
        search = PhaseSearch(small, search_buffers())
        search.begin(start, 8 - len(solve_first), 30, MAX_PHASE2, solve_first[-1] // 3 if solve_first else NO_FACE)
        while (status := search.run(1000)) != DONE:
            if status == FOUND:
                yield (*solve_first, *search.path[: search.solution_length - search.phase2_length])

    shared = [way for pair in turn_prefixes(2) for way in ways(pair)]
    assert sorted(shared) == sorted(ways(()))
    assert len(set(shared)) > 3


def solve_by_brute_force(board: Board, longest: int) -> set[tuple[str, ...]]:
    """Return all shortest solutions of up to `longest` moves by brute force on stickers."""
    level = {(): board.facelets}
    for _ in range(longest + 1):
        home = {line for line, facelets in level.items() if is_solved(facelets)}
        if home:
            return home
        level = {
            (*line, move): apply_turn(facelets, board.side, parse_turn(move, board.side))
            for line, facelets in level.items()
            for move in (TURN_NAMES if board.side == 3 else TURN_NAMES[:9])
            if not line or (line[-1][0] != move[0] and line[-1][0] + move[0] not in ("DU", "LR", "BF"))
        }
    return set()


def is_solved(facelets: str) -> bool:
    area = len(facelets) // 6
    return all(len(set(facelets[at : at + area])) == 1 for at in range(0, len(facelets), area))


@pytest.mark.parametrize("side", [2, 3])
def test_near_solutions_agree_with_brute_force(side: int) -> None:
    rng = random.Random(side)
    for length in (0, 1, 2, 3, 3, 3) if side == 3 else (1, 2, 3, 4, 4, 4):
        line = " ".join(cubes.random_moves(rng, length))
        board = cube.parse(f"{side}x{side}x{side} {line or 'U U2 U'}", "mine")
        fewest = cube.solve(board, SolveMode.FEWEST, cubes.runtime())
        lines = list(fewest.solutions)
        assert set(lines) == solve_by_brute_force(board, 4)
        assert len(lines) == len(set(lines)) == fewest.count
        assert cube.solve(board, SolveMode.COUNT, cubes.runtime()).count == fewest.count


def test_bidirectional_and_deepening_search_agree() -> None:
    rng = random.Random(8)
    scrambles = [cubes.random_moves(rng, length) for length in (3, 4, 5, 5, 6, 6)] + [
        ("U2", "D2", "R2", "L2", "F2", "B2")
    ]
    for line in scrambles:
        state = cube_state(cubes.scrambled_board(line).facelets, 3)
        search = OptimalSearch(state, load_tables(cubes.runtime()), cubes.runtime())
        search.run()
        assert sorted(search.progress.solutions) == find_near_solutions(state, 3)
        assert may_be_near(state, load_tables(cubes.runtime()))
    assert not may_be_near(random_state(rng, 3), load_tables(cubes.runtime()))


def test_a_short_solution_is_proven_optimal() -> None:
    line = ("R", "U", "F'", "L2", "D", "B'", "R2", "U'", "F", "D'")[: 10 if COMPILED else 8]
    board = cubes.scrambled_board(line)
    answer = cube.solve(replace(board, seconds=100), SolveMode.FIRST, cubes.runtime())
    fewest = cube.solve(board, SolveMode.FEWEST, cubes.runtime())
    assert answer.details["optimal"] == "proven"
    assert answer.details["moves"] == fewest.details["moves"] == len(line)
    assert cubes.invert_moves(line) in set(fewest.solutions)


@pytest.mark.slow
def test_an_interrupted_optimal_search_resumes() -> None:
    line = cubes.random_moves(random.Random(4), 13 if COMPILED else 8)
    board = cubes.scrambled_board(line)
    whole = cube.solve(board, SolveMode.FEWEST, TickingRuntime())
    looks = list(_run_until_done(board))
    assert len(looks) > 1, "it was cut off"
    assert all("no solution has fewer than" in messages for messages in looks[:-1])
    assert looks[-1] == str(sorted(whole.solutions))


def _run_until_done(board: Board) -> Iterator[str]:
    for reports in count(3, 700):
        try:
            answer = cube.solve(board, SolveMode.FEWEST, TickingRuntime(reports=reports))
        except Interrupted as interrupted:
            yield interrupted.partial_result
        else:
            yield str(sorted(answer.solutions))
            return


def test_the_2x2x2_has_the_known_positions_by_distance() -> None:
    table = distance_table(load_distances(cubes.runtime()))
    assert [row[1] for row in table.rows] == list(POSITIONS)
    assert sum(POSITIONS) == 3_674_160


def test_turned_stickers_of_the_2x2x2_give_the_same_positions() -> None:
    """Near positions; all of them (a minute and 400 MB) with PI_APPLIANCE_LONG=1."""
    before: set[str] = set()
    level = {"".join(face * 4 for face in "URFDLB")}
    counts = []
    turns = [parse_turn(move, 2) for move in TURN_NAMES[:9]]
    while level and (LONG or len(counts) <= 5):
        counts.append(len(level))
        around = (apply_turn(each, 2, turn) for each in level for turn in turns)
        before, level = level, {each for each in around if each not in level and each not in before}
    assert tuple(counts) == (POSITIONS if LONG else POSITIONS[:6])


@pytest.mark.slow
def test_random_2x2x2_are_solved_optimally() -> None:
    rng = random.Random(2)
    near = load_distances(cubes.runtime())
    assert max(near) == 11
    for _ in range(30):
        board = Board(2, facelets_of(random_state(rng, 2), 2))
        answer = cube.solve(board, SolveMode.FEWEST, cubes.runtime())
        lines = list(answer.solutions)
        assert lines
        assert len(set(lines)) == answer.count
        for line in lines[:20]:
            assert cube.check(board, line)
            assert len(line) == answer.details["moves"] <= 11


def test_bidirectional_search_and_table_agree_for_the_2x2x2() -> None:
    rng = random.Random(3)
    near = load_distances(cubes.runtime())
    for length in (3, 4, 5, 6, 6, 6):
        board = cube.parse("2x2x2: " + " ".join(cubes.random_moves(rng, length)), "mine")
        by_table = solve_pocket(board, SolveMode.FEWEST, cubes.runtime())
        ways = [turn_names(turns) for turns in find_near_solutions(cube_state(board.facelets, 2), 2)]
        assert sorted(by_table.solutions) == sorted(ways)
        assert by_table.details["moves"] <= MAX_NEAR_MOVES
        assert len(near) == 3_674_160


def test_a_rotated_2x2x2_is_solved_in_its_orientation() -> None:
    board = cube.parse("2x2x2: R U F R2 U' F x y2 D L B", "mine")
    assert cube.check(board, solve_first(board))


@pytest.mark.parametrize("side", [2, 3])
def test_a_generated_cube_matches_its_scramble(side: int) -> None:
    board = cube.parse(f"{side}x{side}x{side}: R", "mine")
    generated = cube.generate(7, replace(board, seconds=0), cubes.runtime())
    again = cube.parse(f"{side}x{side}x{side}: {generated.details['scramble']}", "mine")
    assert again.facelets == generated.board.facelets
    assert generated.board.seconds == 0
    assert len(str(generated.details["scramble"]).split()) == generated.details["scramble_moves"]


def test_a_hint_is_the_first_move_of_a_solution() -> None:
    assert cube.hint(cubes.scrambled_board(("R", "U")), cubes.runtime()) == (
        "turn the upper face a quarter anticlockwise (U'); 1 move after that"
    )
    assert (
        cube.hint(cubes.scrambled_board(("F2",)), cubes.runtime())
        == "turn the front face by a half (F2); and it is solved"
    )
    assert "is solved" in cube.hint(cubes.scrambled_board(()), cubes.runtime())


def test_a_solved_cube_needs_no_moves() -> None:
    answer = cube.solve(cubes.scrambled_board(()), SolveMode.FIRST, cubes.runtime())
    assert list(answer.solutions) == [()]
    assert cube.check(cubes.scrambled_board(()), ())
