"""The puzzles as a library: examples in docstrings, and a typed program outside the package."""

import doctest
import inspect
import os
import re
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from pi_appliance import plugins
from pi_appliance.puzzles import ConfigError, Refused, SolveMode, UnknownName, connect_four, rubiks_cube, sudoku

ROOT = Path(__file__).parents[2]
NAMES = [name.replace("-", "_") for name in plugins.names("puzzles")]
DRAWING = "53..7....6..195....98....6.8...6...34..8.3..17...2...6.6....28....419..5....8..79"
PROGRAM = f'''\
from typing import assert_type  # unlike an annotation, it takes no Any

from pi_appliance.puzzles import Answer, GeneratedBoard, SolveMode
from pi_appliance.puzzles import {", ".join(NAMES)}

grid = assert_type(sudoku.solve("{DRAWING}"), Answer[sudoku.Solution])
digits = assert_type(next(grid.solutions).digits, str)
fleet = assert_type(battleship.solve(battleship.BOARDS["midgame"], SolveMode.FIRST), Answer[battleship.Solution])
paper = assert_type(bimaru.solve(bimaru.BOARDS["magazine"]), Answer[bimaru.Solution])
game = assert_type(connect_four.solve(connect_four.BOARDS["squeeze"]), Answer[connect_four.Solution])
order = assert_type(panguru.solve(panguru.BOARDS["original"]), Answer[panguru.Solution])
jumps = assert_type(peg_solitaire.solve(peg_solitaire.BOARDS["cross"], SolveMode.COUNT), Answer[peg_solitaire.Solution])
turns = assert_type(rubiks_cube.solve(rubiks_cube.BOARDS["checkers"]), Answer[rubiks_cube.Solution])
captures = assert_type(solitaire_chess.solve(solitaire_chess.BOARDS["first-steps"]), Answer[solitaire_chess.Solution])
ships = assert_type(next(fleet.solutions), tuple[battleship.Ship, ...])
new = assert_type(sudoku.generate(7), GeneratedBoard[sudoku.Board])
hints = [
    sudoku.hint("{DRAWING}"),
    panguru.hint(panguru.BOARDS["original"]),
    connect_four.hint(connect_four.BOARDS["squeeze"]),
    battleship.hint(battleship.BOARDS["midgame"]),
    bimaru.hint(bimaru.BOARDS["magazine"]),
    peg_solitaire.hint(peg_solitaire.BOARDS["cross"]),
    rubiks_cube.hint(rubiks_cube.BOARDS["checkers"]),
    solitaire_chess.hint(solitaire_chess.BOARDS["first-steps"]),
]
assert_type(hints, list[str])
valid = bool(sudoku.check("{DRAWING}", sudoku.Solution(1, digits)))
drawn = [panguru.render("original"), battleship.render_svg("midgame"), peg_solitaire.describe("cross")]
drawn += [step.svg for step in peg_solitaire.steps("cross", peg_solitaire.parse_solution("cross", "3,1-3,3"))]
drawn += [bimaru.notate("small", bimaru.parse_solution("small", "A1")), connect_four.render("4453")]
assert_type(drawn, list[str])
assert solitaire_chess.check("R..N", solitaire_chess.legal_captures("R..N")[:1]) and all(drawn)
assert valid and jumps.count == 4 and order.count == 12 and len(ships) == 5 and all(hints), hints
assert bimaru.is_unique(bimaru.BOARDS["magazine"]) and next(paper.solutions)
assert next(game.solutions)
assert next(turns.solutions)
assert next(captures.solutions)
assert sudoku.solve(new.board).count == 1
'''


def module_of(name: str) -> Any:
    return import_module(f"pi_appliance.puzzles.{name}")


@pytest.mark.parametrize("name", NAMES)
def test_the_examples_in_docstrings_print_what_they_say(name: str) -> None:
    puzzle, with_example = module_of(name), set()
    for function in puzzle.__all__:
        if inspect.isfunction(member := getattr(puzzle, function)):
            for example in doctest.DocTestFinder(recurse=False).find(member, function, globs={}):
                assert doctest.DocTestRunner().run(example).failed == 0
                with_example.add(function)
    assert with_example >= {"solve", "parse", "check"}


@pytest.mark.parametrize("name", NAMES)
def test_a_known_board_is_solved_by_its_name(name: str) -> None:
    puzzle = module_of(name)
    known = "cross" if name == "peg_solitaire" else next(iter(puzzle.BOARDS))
    drawing, named = puzzle.solve(puzzle.BOARDS[known]), puzzle.solve(known)
    assert (next(named.solutions), named.count) == (next(drawing.solutions), drawing.count)


@pytest.mark.parametrize("name", NAMES)
def test_every_function_takes_a_drawing_and_a_name_as_a_board(name: str) -> None:
    puzzle = module_of(name)
    known = "cross" if name == "peg_solitaire" else next(iter(puzzle.BOARDS))
    board = puzzle.parse(puzzle.BOARDS[known])
    line = next(puzzle.solve(board).solutions)
    for text in (known, puzzle.BOARDS[known]):
        for function in (puzzle.describe, puzzle.render, puzzle.render_svg):
            assert function(text) == function(board)
        for function in (puzzle.check, puzzle.notate, puzzle.render_solution):
            assert function(text, line) == function(board, line)
        assert list(puzzle.steps(text, line)) == list(puzzle.steps(board, line))
        assert puzzle.parse_solution(text, puzzle.notate(text, line)) == line
        rules = {rule: puzzle.RULES[rule].default for rule in list(puzzle.RULES)[:1] if puzzle.RULES[rule].default}
        assert puzzle.with_rules(text, rules) == puzzle.with_rules(board, rules)


@pytest.mark.parametrize("name", NAMES)
def test_the_arguments_have_the_documented_names(name: str) -> None:
    puzzle, page = module_of(name), (ROOT / "docs" / "library.md").read_text("utf-8")
    functions = re.findall(r"`(\w+)\(([^)]*)\)`", page.partition("## Functions")[2].partition("```")[0])
    assert {function for function, _ in functions} >= {"solve", "check", "steps"}
    for function, words in functions:
        if hasattr(puzzle, function):
            documented = [word for word in words.split(", ") if word.isidentifier()]
            assert list(inspect.signature(getattr(puzzle, function)).parameters)[: len(documented)] == documented


@pytest.mark.parametrize("name", NAMES)
def test_every_function_names_the_place_of_a_mistake_in_a_drawing(name: str) -> None:
    puzzle = module_of(name)
    calls: list[Callable[[], object]] = [partial(each, "€") for each in (puzzle.describe, puzzle.render)]
    calls += [partial(puzzle.render_svg, "€"), partial(puzzle.check, "€", ()), partial(puzzle.with_rules, "€", {})]
    calls += [partial(puzzle.render_solution, "€", ()), lambda: list(puzzle.steps("€", ()))]
    for call in calls:
        with pytest.raises(ConfigError, match=r"^board:1:1: [^\n]+$"):
            call()


@pytest.mark.parametrize("name", NAMES)
def test_what_is_not_a_board_is_a_type_error_that_names_the_type(name: str) -> None:
    for wrong in (None, 53, [[5, 3]]):
        with pytest.raises(TypeError, match=f"BOARDS, or the result of parse, not {type(wrong).__name__}"):
            module_of(name).solve(wrong)
        with pytest.raises(TypeError, match=f"BOARDS, or the result of parse, not {type(wrong).__name__}"):
            module_of(name).check(wrong, ())


@pytest.mark.parametrize("name", NAMES)
def test_a_mode_that_a_puzzle_does_not_support_is_refused_with_those_that_it_does(name: str) -> None:
    puzzle = module_of(name)
    board = next(iter(puzzle.BOARDS))
    for mode in {*SolveMode, "cuont"} - set(puzzle.MODES):
        with pytest.raises(UnknownName, match=f"is called '{mode}'; (known|did you mean)"):
            puzzle.solve(board, mode)


@pytest.mark.parametrize("name", NAMES)
def test_a_solution_is_parsed_without_the_name_of_a_file(name: str) -> None:
    puzzle = module_of(name)
    board = puzzle.parse(next(iter(puzzle.BOARDS.values())))
    with pytest.raises(ConfigError, match=r"^solution:1:"):
        puzzle.parse_solution(board, "?")


def test_rules_take_numbers() -> None:
    board = rubiks_cube.with_rules(rubiks_cube.parse("R U"), {"seconds": 0.5, "target": 20})
    assert (board.seconds, board.target) == (0.5, 20)
    assert sudoku.with_rules(sudoku.parse(DRAWING), {"clues": 30}).clues == 30


def test_many_boards_are_a_list_and_a_problem_names_the_one() -> None:
    for function in (rubiks_cube.solve_many, connect_four.score_many):
        with pytest.raises(TypeError, match="write a list"):
            function("3344")
        with pytest.raises(ConfigError, match=r"^boards\[1\]:1:"):
            function([next(iter(module_of(function.__module__.split(".")[2]).BOARDS.values())), "?"])


def test_a_random_cube_is_the_generated_one() -> None:
    pocket = next(each for each in rubiks_cube.BOARDS if rubiks_cube.parse(rubiks_cube.BOARDS[each]).side == 2)
    assert rubiks_cube.random_cube(7, pocket) == rubiks_cube.generate(7, pocket).board
    assert rubiks_cube.random_cube(7) == rubiks_cube.random_cube(7) != rubiks_cube.random_cube(8)


def test_sudokus_are_counted_and_unique_or_not() -> None:
    assert sudoku.is_unique(DRAWING)
    assert not sudoku.is_unique("sixteen")
    assert not sudoku.is_unique("5" + DRAWING[1:3] + "5" + DRAWING[4:])  # two fives in the first row
    assert sudoku.count_solutions("sixteen", 100) == 100
    with pytest.raises(Refused, match="2 grids"):
        sudoku.is_unique(f"{DRAWING}\n{DRAWING}")


def test_an_answer_is_shown_without_its_functions() -> None:
    assert repr(sudoku.solve(DRAWING)).startswith("Answer(count=1, proof=None")


@pytest.mark.parametrize("name", [name for name in NAMES if name != "peg_solitaire"])
def test_a_new_board_needs_only_a_seed(name: str) -> None:
    puzzle = import_module(f"pi_appliance.puzzles.{name}")
    if name == "rubiks_cube":  # the tables of the 3x3x3 take seconds
        board = puzzle.BOARDS[next(known for known in puzzle.BOARDS if puzzle.parse(puzzle.BOARDS[known]).side == 2)]
        assert puzzle.generate(7, board) == puzzle.generate(7, puzzle.parse(board))
    else:
        default = next(iter(puzzle.BOARDS.values()))
        assert puzzle.generate(7) == puzzle.generate(7, puzzle.parse(default))


def test_a_program_outside_the_package_runs_without_any_object_of_the_program(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(PROGRAM, "utf-8")
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [sys.executable, program], cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


def test_a_program_outside_the_package_passes_mypy_and_meets_no_any(tmp_path: Path) -> None:
    pytest.importorskip("mypy")
    program = tmp_path / "program.py"
    program.write_text(PROGRAM, "utf-8")
    cache = ROOT / ".mypy_cache" / "library"  # without its cache of the package, mypy takes six times as long
    options = ["--strict", "--disallow-any-expr", "--follow-imports=silent", "--config-file=", f"--cache-dir={cache}"]
    words = [sys.executable, "-m", "mypy", *options, str(program)]
    environment = {**os.environ, "MYPYPATH": str(ROOT)}
    done = subprocess.run(words, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
