"""The fewest moves of peg solitaire: known results, brute force, and interruptions."""

import os
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pi_appliance.puzzles import Proof, SolveMode
from pi_appliance.puzzles.peg_solitaire import Board, Hole, check, solve
from pi_appliance.puzzles.peg_solitaire.bitboard import to_bitboard
from pi_appliance.puzzles.peg_solitaire.fewest import MinMoveSearch
from pi_appliance.puzzles.peg_solitaire.notation import parse
from pi_appliance.puzzles.runtime import Interrupted, SearchRuntime
from tests.examples import examples
from tests.puzzles.peg_solitaire.reference import InterruptedRuntime, known_board, moves, plain, triangle

LONG = pytest.mark.skipif(
    "PI_APPLIANCE_PEG_PROOFS" not in os.environ, reason="minutes; PI_APPLIANCE_PEG_PROOFS=1 asks for it"
)


@pytest.mark.slow_variants
@pytest.mark.parametrize(
    ("name", "anywhere", "centre"),
    [("cross", 4, 5), ("plus", 5, 6), ("fireplace", 7, 8), ("pyramid", 7, 8), ("arrow", 8, 9)],
)
def test_the_fewest_moves_of_the_known_boards(name: str, anywhere: int, centre: int) -> None:
    for goal, fewest in (("", anywhere), ("3,3", centre)):
        board = known_board(name, goal)
        result = solve(board, SolveMode.FEWEST, SearchRuntime())
        lines = list(result.solutions)
        assert result.details["moves"] == fewest
        assert result.count == len(lines) == len(set(lines))
        assert {moves(line) for line in lines} == {fewest}
        assert all(check(board, line) for line in lines)


@pytest.mark.parametrize("name", ["cross", "plus", pytest.param("fireplace", marks=pytest.mark.slow)])
def test_all_shortest_solutions_of_small_boards_match_brute_force(name: str) -> None:
    board = known_board(name)
    every = list(plain(board, board.pegs))
    fewest = min(map(moves, every))
    result = solve(board, SolveMode.FEWEST, SearchRuntime())
    assert sorted(result.solutions) == sorted(line for line in every if moves(line) == fewest)


rows = st.lists(st.text("XXO ", min_size=5, max_size=5), min_size=3, max_size=4)


@settings(max_examples=examples(30), deadline=None)
@given(rows=rows, triangular=st.booleans(), data=st.data())
def test_a_random_board_has_the_shortest_solutions_that_trying_everything_finds(
    rows: list[str], triangular: bool, data: st.DataObject
) -> None:
    drawn = parse("\n".join(["XXO", *rows]), "random")
    pegs = frozenset(sorted(drawn.pegs, key=lambda hole: (hole.x * 7 + hole.y * 5) % 11)[:7])
    board = Board(drawn.holes, pegs, data.draw(st.sampled_from([None, *drawn.holes])), triangular=triangular)
    every = list(plain(board, board.pegs))
    result = solve(board, SolveMode.FEWEST, SearchRuntime())
    if not every:
        assert result.proof is not None
        return
    fewest = min(map(moves, every))
    assert result.details["moves"] == fewest
    assert sorted(result.solutions) == sorted(line for line in every if moves(line) == fewest)


@pytest.mark.parametrize("empty", [Hole(0, 1), Hole(1, 2)])
def test_a_triangle_of_ten_holes_is_solved_in_the_fewest_moves(empty: Hole) -> None:
    board = triangle(empty, side=4)
    every = list(plain(board, board.pegs))
    result = solve(board, SolveMode.FEWEST, SearchRuntime())
    fewest = min(map(moves, every), default=None)
    assert result.details.get("moves") == fewest
    assert sorted(result.solutions) == sorted(line for line in every if moves(line) == fewest)


def test_a_board_of_one_peg_takes_no_move_and_one_without_solution_has_none() -> None:
    result = solve(known_board("XO"), SolveMode.FEWEST, SearchRuntime())
    assert (result.count, result.details["moves"], list(result.solutions)) == (1, 0, [()])
    assert solve(known_board("diamond"), SolveMode.FEWEST, SearchRuntime()).proof is Proof.PARITY
    assert solve(known_board("fireplace", "3,6"), SolveMode.FEWEST, SearchRuntime()).proof is Proof.EXHAUSTION


def test_an_interrupted_search_resumes() -> None:
    field = to_bitboard(known_board("fireplace"))
    random = Random(7)
    cuts = 0
    for _ in range(4):
        runtime = SearchRuntime()
        while True:
            search = MinMoveSearch(field, InterruptedRuntime(runtime, random.randint(1, 9)))
            try:
                assert search.run() == 7
                break
            except Interrupted as error:
                partial_result = error.partial_result
            cuts += 1
            assert partial_result.startswith("no solution takes fewer than ")
        whole = MinMoveSearch(field, SearchRuntime())
        whole.run()
        search.runtime = SearchRuntime()
        assert (search.count(), search.classes_seen, search.tried) == (whole.count(), whole.classes_seen, whole.tried)
        assert list(search.solutions()) == list(whole.solutions())
        assert list(runtime.cache.names()) == []
    assert cuts


def test_a_search_interrupted_early_reports_its_lower_bound() -> None:
    """Over eight holes, the corners, no jump goes: their pegs have to move by themselves."""
    for words in (0, 5):
        with pytest.raises(Interrupted) as caught:
            MinMoveSearch(to_bitboard(known_board("full")), InterruptedRuntime(SearchRuntime(), words)).run()
        assert caught.value.partial_result.startswith("no solution takes fewer than 8 moves")


@LONG
def test_the_full_board_takes_17_moves_and_18_to_the_centre() -> None:
    for goal, fewest in (("", 17), ("3,3", 18)):
        board = known_board("full", goal)
        result = solve(board, SolveMode.FEWEST, SearchRuntime())
        assert (result.details["moves"], result.count) == (fewest, 7_488)
        lines = list(result.solutions)
        assert len(set(lines)) == 7_488
        assert all(check(board, line) and moves(line) == fewest for line in lines)
