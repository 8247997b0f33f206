"""Texts with a cube in each line: all are solved, and each solution names its cube."""

from pathlib import Path

import pytest

from pi_appliance.errors import ConfigError, Refused
from pi_appliance.puzzles import SolveMode
from pi_appliance.puzzles import rubiks_cube as cube
from pi_appliance.puzzles.board_report import BoardReport
from pi_appliance.puzzles.rubiks_cube.board import Board
from pi_appliance.puzzles.runtime import SearchRuntime
from pi_appliance.puzzles.runtime.local import open_runtime
from tests.puzzles.rubiks_cube import reference as cubes

STICKERS = cubes.scrambled_board(("R", "U")).facelets
TEXT = f"3x3: R U F2\n\n{STICKERS}\n2x2: F R'\n3x3x3:U\n"


def list_solutions(board: Board, runtime: SearchRuntime) -> str:
    parts: list[str] = []
    report = BoardReport(puzzle=cube, name="cubes", board=board, mode=SolveMode.FIRST)
    report.search(1, runtime, parts.append)
    return "".join(parts)


def test_each_line_is_a_cube() -> None:
    board = cube.parse(TEXT)
    assert [each.side for each in board.cubes] == [3, 3, 2, 3]
    assert [each.facelets for each in board.cubes][1] == STICKERS
    assert cube.describe(board) == "4 cubes"
    assert cube.parse(cube.render(board)) == board


def test_moves_in_several_lines_are_one_scramble() -> None:
    assert cube.parse("R U F2\nL D\n") == cube.parse("R U F2 L D")
    assert cube.parse("3x3: R U F2\nL D\n") == cube.parse("R U F2 L D")


def test_a_rule_is_that_of_all_cubes() -> None:
    board = cube.with_rules(cube.parse(TEXT), {"seconds": "0.5", "target": "20"})
    assert {(each.seconds, each.target) for each in board.cubes} == {(0.5, 20)}
    assert cube.describe(board) == "4 cubes, 0.5 seconds, stops at 20 moves"


def test_all_problems_have_their_lines() -> None:
    with pytest.raises(ConfigError) as caught:
        cube.parse("3x3: R U\n2x2: Q R\n\n3x3: R Z\n", "cubes.txt")
    assert [(each.line, each.column) for each in caught.value.problems] == [(2, 6), (4, 8)]


def test_a_line_that_is_not_a_cube_is_named_among_others() -> None:
    for wrong, column, message in (
        (STICKERS[:-1], 53, "there are 53 stickers"),
        ("R U", 1, "this line is not a cube"),
        ("hello", 1, "this line is not a cube"),
    ):
        with pytest.raises(ConfigError) as caught:
            cube.parse(f"{STICKERS}\n{wrong}\n{STICKERS}", "cubes.txt")
        (problem,) = caught.value.problems
        assert (problem.line, problem.column, problem.message) == (2, column, message)


def test_each_cube_gets_its_solution(tmp_path: Path) -> None:
    board = cube.with_rules(cube.parse(TEXT), {"seconds": "0"})
    with open_runtime(tmp_path, cores=2) as runtime:
        runtime.cache = cubes.runtime().cache
        text = list_solutions(board, runtime)
    assert list_solutions(board, cubes.runtime()).count("Start Solution") == 4, "also with one core"
    ((read, lines),) = cube.parse_listing(text, "listing", lambda *_: None)
    assert read == cube.parse(TEXT)
    assert lines == [("F2", "U'", "R'", "#1"), ("U'", "R'", "#2"), ("R", "F'", "#3"), ("U'", "#4")]
    assert [bool(cube.check(read, line)) for line in lines] == [True] * 4
    assert "Moves on average: 2" in text


def test_a_solution_is_checked_with_its_own_cube() -> None:
    board = cube.parse(TEXT)
    assert not cube.check(board, ("U'", "R'", "#1"))
    assert cube.check(board, ("U'", "R'", "#9")).error == "it does not say for which cube it is, from #1 to #4"
    for text in ("U' R'", "U' R' #9", "U' R' #", "U' R' #\u00b2"):
        with pytest.raises(ConfigError, match="has no number of a cube"):
            cube.parse_solution(board, text, "line")
    *_, last = cube.steps(board, ("U'", "R'", "#2"))
    assert last.caption.startswith("2 of 2: R'")
    assert last.svg == list(cube.steps(board.cubes[1], ("U'", "R'")))[-1].svg


@pytest.mark.parametrize("mode", [SolveMode.FEWEST, SolveMode.COUNT])
def test_many_cubes_have_one_solution_each(mode: SolveMode) -> None:
    with pytest.raises(Refused, match="use one cube per file"):
        cube.solve(TEXT, mode, cubes.runtime())


def test_a_hint_is_that_of_the_first_cube() -> None:
    assert cube.hint(TEXT, cubes.runtime()).startswith("turn the front face by a half (F2)")


def test_the_tables_of_all_sizes_are_foretold() -> None:
    foretold = cube.foretell(cube.parse(TEXT), SolveMode.FIRST, SearchRuntime())
    assert foretold.is_parallel
    assert len(foretold.tables) == 2
    assert cube.foretell(cube.parse("2x2: R\n2x2: U"), SolveMode.FIRST).is_parallel
