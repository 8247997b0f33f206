"""Rubik's cube solved: at once, shorter with time, in the fewest moves, and the 2x2x2 completely."""

import os
import random
from collections.abc import Iterator
from dataclasses import replace
from itertools import count
from pathlib import Path

import pytest

from pi_appliance.puzzles import SolveMode, kernel_mode
from pi_appliance.puzzles import rubiks_cube as cube
from pi_appliance.puzzles.rubiks_cube import kernel, pocket
from pi_appliance.puzzles.rubiks_cube.board import TURNS, Board, apply_turn, parse_turn
from pi_appliance.puzzles.rubiks_cube.cubies import cube_state, facelets_of
from pi_appliance.puzzles.rubiks_cube.generate import random_state
from pi_appliance.puzzles.rubiks_cube.kernel import DONE, FOUND, PhaseSearch
from pi_appliance.puzzles.rubiks_cube.optimal import MAX_NEAR_MOVES, OptimalSearch, find_near_solutions
from pi_appliance.puzzles.rubiks_cube.pruning_tables import load_tables
from pi_appliance.puzzles.rubiks_cube.solve import turn_names
from pi_appliance.puzzles.rubiks_cube.two_phase import MAX_PHASE2, NO_FACE, cube_views, search_buffers, turn_prefixes
from pi_appliance.puzzles.runtime.interface import Interrupted, SerialRuntime
from pi_appliance.puzzles.runtime.local import open_runtime
from tests.puzzles import cubes

LONG = os.environ.get("PI_APPLIANCE_LONG") == "1"
COMPILED = kernel_mode(kernel) == "compiled"
POSITIONS = (1, 9, 54, 321, 1847, 9992, 50136, 227536, 870072, 1887748, 623800, 2644)


class Clock(SerialRuntime):
    """Work whose clock goes on by a thousandth with each look, and that has so many seconds left, or is cut off."""

    def __init__(self, left: float | None = None, words: int | None = None) -> None:
        ticks = count()
        super().__init__(lambda: next(ticks) / 1000)
        self.cache = cubes.runtime().cache
        self._left, self._words = left, words

    def seconds_left(self) -> float | None:
        return self._left

    def report_progress(self, part: float | None, note: str) -> None:  # noqa: ARG002
        if self._words is not None:
            self._words -= 1
            if self._words < 0:
                raise Interrupted("enough")


def first(board: Board) -> tuple[str, ...]:
    return next(cube.solve(board, SolveMode.FIRST, cubes.runtime()).solutions)


def test_any_cube_is_solved_in_22_moves_at_once() -> None:
    chance = random.Random(20261121)
    for _ in range(40 if COMPILED else 3):
        board = Board(3, facelets_of(random_state(chance, 3), 3), seconds=0)
        line = first(board)
        assert len(line) <= 22
        assert cube.check(board, line)
        assert cubes.is_solved(cubes.replayed(board.facelets, line))


def test_the_superflip_is_solved() -> None:
    board = replace(cube.parse(cubes.SUPERFLIP, "mine"), seconds=0)
    assert board == replace(cube.parse(cube.BOARDS["superflip"], "mine"), seconds=0)
    line = first(board)
    assert 20 <= len(line) <= 22, "it is known to need 20"
    assert cube.check(board, line)


def test_more_time_never_makes_it_longer_and_a_target_ends_it() -> None:
    board = cube.parse(cube.BOARDS["scrambled"], "mine")
    lengths = [len(first(replace(board, seconds=seconds))) for seconds in (0, 0.1, 0.5)]
    assert lengths == sorted(lengths, reverse=True)
    answer = cube.solve(replace(board, seconds=1000, target=21), SolveMode.FIRST, cubes.runtime())
    assert answer.details["moves"] <= 21
    history = answer.tables[0].rows
    assert history[-1][0] == answer.details["moves"]
    assert [row[0] for row in history] == sorted((row[0] for row in history), reverse=True)


def test_where_the_clock_stands_still_the_answer_is_the_same_again() -> None:
    board = replace(cube.parse(cube.BOARDS["scrambled"], "mine"), seconds=0.2)
    assert first(board) == first(board)


def test_the_answer_is_there_before_the_deadline() -> None:
    board = replace(cube.parse(cube.BOARDS["scrambled"], "mine"), seconds=None)
    runtime = Clock(left=1.0)
    assert cube.check(board, next(cube.solve(board, SolveMode.FIRST, runtime).solutions))
    assert runtime.monotonic() < 1.0


def test_who_is_cut_off_says_what_was_found() -> None:
    board = replace(cube.parse(cube.BOARDS["scrambled"], "mine"), seconds=1000)
    with pytest.raises(Interrupted) as caught:
        cube.solve(board, SolveMode.FIRST, Clock(words=700))
    assert caught.value.partial_result.startswith("a solution of ")
    assert cube.check(board, tuple(caught.value.partial_result.partition(": ")[2].split()))


def test_on_all_cores_it_is_over_in_time_and_the_shortest_is_told(tmp_path: Path) -> None:
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


def test_a_hunt_by_shares_of_first_turns_misses_nothing() -> None:
    view = cube_views(cube_state(cubes.after(cubes.scramble(random.Random(5), 7)).facelets, 3))[0]
    small = load_tables(cubes.runtime(), use_large=False)

    def ways(first: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
        start: tuple[int, ...] = view.start
        for turn in first:
            start = small.apply_turn(start, turn)
        search = PhaseSearch(small, search_buffers())
        search.begin(start, 8 - len(first), 30, MAX_PHASE2, first[-1] // 3 if first else NO_FACE)
        while (said := search.run(1000)) != DONE:
            if said == FOUND:
                yield (*first, *search.path[: search.solution_length - search.phase2_length])

    shared = [way for pair in turn_prefixes(2) for way in ways(pair)]
    assert shared == list(ways(()))
    assert len(set(shared)) > 3


def slowly(board: Board, longest: int) -> set[tuple[str, ...]]:
    """Return all shortest solutions of up to LONGEST moves by trying everything, with stickers."""
    level = {(): board.facelets}
    for _ in range(longest + 1):
        home = {line for line, facelets in level.items() if solved(facelets)}
        if home:
            return home
        level = {
            (*line, move): apply_turn(facelets, board.side, parse_turn(move, board.side))
            for line, facelets in level.items()
            for move in (TURNS if board.side == 3 else TURNS[:9])
            if not line or (line[-1][0] != move[0] and line[-1][0] + move[0] not in ("DU", "LR", "BF"))
        }
    return set()


def solved(facelets: str) -> bool:
    area = len(facelets) // 6
    return all(len(set(facelets[at : at + area])) == 1 for at in range(0, len(facelets), area))


@pytest.mark.parametrize("side", [2, 3])
def test_shortest_solutions_nearby_are_those_that_trying_everything_finds(side: int) -> None:
    chance = random.Random(side)
    for length in (0, 1, 2, 3, 3, 3) if side == 3 else (1, 2, 3, 4, 4, 4):
        line = " ".join(cubes.scramble(chance, length))
        board = cube.parse(f"{side}x{side}x{side} {line or 'U U2 U'}", "mine")
        fewest = cube.solve(board, SolveMode.FEWEST, cubes.runtime())
        lines = list(fewest.solutions)
        assert set(lines) == slowly(board, 4)
        assert len(lines) == len(set(lines)) == fewest.count
        assert cube.solve(board, SolveMode.COUNT, cubes.runtime()).count == fewest.count


def test_shortest_solutions_are_the_same_from_both_ends_and_along_the_axes() -> None:
    chance = random.Random(8)
    scrambles = [cubes.scramble(chance, length) for length in (3, 4, 5, 5, 6, 6)] + [
        ("U2", "D2", "R2", "L2", "F2", "B2")
    ]
    for line in scrambles:
        state = cube_state(cubes.after(line).facelets, 3)
        search = OptimalSearch(state, load_tables(cubes.runtime()), cubes.runtime())
        assert search.run()
        assert sorted(search.progress.solutions) == find_near_solutions(state, 3)


def test_a_short_solution_is_proven_to_be_the_shortest() -> None:
    line = ("R", "U", "F'", "L2", "D", "B'", "R2", "U'", "F", "D'")[: 10 if COMPILED else 8]
    board = cubes.after(line)
    answer = cube.solve(replace(board, seconds=100), SolveMode.FIRST, cubes.runtime())
    fewest = cube.solve(board, SolveMode.FEWEST, cubes.runtime())
    assert answer.details["optimal"] == "proven"
    assert answer.details["moves"] == fewest.details["moves"] == len(line)
    assert cubes.undone(line) in set(fewest.solutions)


def test_a_search_for_the_fewest_goes_on_where_it_was_cut_off() -> None:
    line = cubes.scramble(random.Random(4), 13 if COMPILED else 8)
    board = cubes.after(line)
    whole = cube.solve(board, SolveMode.FEWEST, Clock())
    looks = list(_until_done(board))
    assert len(looks) > 1, "it was cut off"
    assert all("no solution has fewer than" in told for told in looks[:-1])
    assert looks[-1] == str(sorted(whole.solutions))


def _until_done(board: Board) -> Iterator[str]:
    for words in count(3, 700):
        try:
            answer = cube.solve(board, SolveMode.FEWEST, Clock(words=words))
        except Interrupted as interrupted:
            yield interrupted.partial_result
        else:
            yield str(sorted(answer.solutions))
            return


def test_the_2x2x2_has_so_many_positions_at_each_distance() -> None:
    table = pocket.distance_table(pocket.load_distances(cubes.runtime()))
    assert [row[1] for row in table.rows] == list(POSITIONS)
    assert sum(POSITIONS) == 3_674_160


def test_the_2x2x2_has_as_many_positions_by_its_stickers() -> None:
    """Those nearby, and all of them where there is time for it: a minute, and 400 MB."""
    before: set[str] = set()
    level = {"".join(face * 4 for face in "URFDLB")}
    counts = []
    turns = [parse_turn(move, 2) for move in TURNS[:9]]
    while level and (LONG or len(counts) <= 5):
        counts.append(len(level))
        around = (apply_turn(each, 2, turn) for each in level for turn in turns)
        before, level = level, {each for each in around if each not in level and each not in before}
    assert tuple(counts) == (POSITIONS if LONG else POSITIONS[:6])


def test_any_2x2x2_is_solved_in_the_fewest_moves() -> None:
    chance = random.Random(2)
    near = pocket.load_distances(cubes.runtime())
    assert max(near) == 11
    for _ in range(30):
        board = Board(2, facelets_of(random_state(chance, 2), 2))
        answer = cube.solve(board, SolveMode.FEWEST, cubes.runtime())
        lines = list(answer.solutions)
        assert lines
        assert len(set(lines)) == answer.count
        for line in lines[:20]:
            assert cube.check(board, line)
            assert len(line) == answer.details["moves"] <= 11


def test_shortest_solutions_of_the_2x2x2_are_as_many_from_both_ends_as_by_table() -> None:
    chance = random.Random(3)
    near = pocket.load_distances(cubes.runtime())
    for length in (3, 4, 5, 6, 6, 6):
        board = cube.parse("2x2x2: " + " ".join(cubes.scramble(chance, length)), "mine")
        by_table = pocket.solve_pocket(board, SolveMode.FEWEST, cubes.runtime())
        ways = [turn_names(turns) for turns in find_near_solutions(cube_state(board.facelets, 2), 2)]
        assert sorted(by_table.solutions) == sorted(ways)
        assert by_table.details["moves"] <= MAX_NEAR_MOVES
        assert len(near) == 3_674_160


def test_a_2x2x2_held_otherwise_is_solved_as_it_is_held() -> None:
    board = cube.parse("2x2x2: R U F R2 U' F x y2 D L B", "mine")
    assert cube.check(board, first(board))


@pytest.mark.parametrize("side", [2, 3])
def test_a_made_cube_is_what_its_scramble_makes(side: int) -> None:
    board = cube.parse(f"{side}x{side}x{side}: R", "mine")
    made = cube.generate(7, replace(board, seconds=0), cubes.runtime())
    again = cube.parse(f"{side}x{side}x{side}: {made.details['scramble']}", "mine")
    assert again.facelets == made.board.facelets
    assert made.board.seconds == 0
    assert len(str(made.details["scramble"]).split()) == made.details["scramble_moves"]


def test_a_hint_is_the_first_move_of_a_solution() -> None:
    assert cube.hint(cubes.after(("R", "U")), cubes.runtime()) == (
        "turn the upper face a quarter anticlockwise (U'); 1 move after that"
    )
    assert cube.hint(cubes.after(("F2",)), cubes.runtime()) == "turn the front face by a half (F2); and it is solved"
    assert "is solved" in cube.hint(cubes.after(()), cubes.runtime())


def test_a_solved_cube_needs_nothing() -> None:
    answer = cube.solve(cubes.after(()), SolveMode.FIRST, cubes.runtime())
    assert list(answer.solutions) == [()]
    assert cube.check(cubes.after(()), ())
