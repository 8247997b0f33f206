"""The puzzles as a library: examples in docstrings, and a typed program outside the package."""

import doctest
import os
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

from pi_appliance import plugins

ROOT = Path(__file__).parents[2]
NAMES = [name.replace("-", "_") for name in plugins.names("puzzles")]
DRAWING = "53..7....6..195....98....6.8...6...34..8.3..17...2...6.6....28....419..5....8..79"
PROGRAM = f'''\
from pi_appliance.puzzles import Answer, GeneratedBoard, SolveMode
from pi_appliance.puzzles import {", ".join(NAMES)}

grid: Answer[sudoku.Solution] = sudoku.solve("{DRAWING}")
digits: str = next(grid.solutions).digits
fleet: Answer[battleship.Solution] = battleship.solve(battleship.BOARDS["midgame"], SolveMode.FIRST)
paper: Answer[bimaru.Solution] = bimaru.solve(bimaru.BOARDS["magazine"])
game: Answer[connect_four.Solution] = connect_four.solve(connect_four.BOARDS["squeeze"])
order: Answer[panguru.Solution] = panguru.solve(panguru.BOARDS["original"])
jumps: Answer[peg_solitaire.Solution] = peg_solitaire.solve(peg_solitaire.BOARDS["cross"], SolveMode.COUNT)
turns: Answer[rubiks_cube.Solution] = rubiks_cube.solve(rubiks_cube.BOARDS["checkers"])
captures: Answer[solitaire_chess.Solution] = solitaire_chess.solve(solitaire_chess.BOARDS["first-steps"])
ships: tuple[battleship.Ship, ...] = next(fleet.solutions)
new: GeneratedBoard[sudoku.Board] = sudoku.generate(7)
hints: list[str] = [
    sudoku.hint("{DRAWING}"),
    panguru.hint(panguru.BOARDS["original"]),
    connect_four.hint(connect_four.BOARDS["squeeze"]),
    battleship.hint(battleship.BOARDS["midgame"]),
    bimaru.hint(bimaru.BOARDS["magazine"]),
    peg_solitaire.hint(peg_solitaire.BOARDS["cross"]),
    rubiks_cube.hint(rubiks_cube.BOARDS["checkers"]),
    solitaire_chess.hint(solitaire_chess.BOARDS["first-steps"]),
]
valid: bool = bool(sudoku.check(sudoku.parse("{DRAWING}"), sudoku.Solution(1, digits)))
assert valid and jumps.count == 4 and order.count == 12 and len(ships) == 5 and all(hints), hints
assert bimaru.is_unique(bimaru.BOARDS["magazine"]) and next(paper.solutions)
assert next(game.solutions)
assert next(turns.solutions)
assert next(captures.solutions)
assert sudoku.solve(new.board).count == 1
'''


@pytest.mark.parametrize("name", NAMES)
def test_the_example_in_the_docstring_of_solve_prints_what_it_says(name: str) -> None:
    puzzle = import_module(f"pi_appliance.puzzles.{name}")
    (example,) = doctest.DocTestFinder(recurse=False).find(puzzle.solve, "solve", globs={})
    assert example.examples
    assert doctest.DocTestRunner().run(example).failed == 0


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
    cache = ROOT / ".mypy_cache" / "library"  # without what it knows of the package, it takes six times as long
    options = ["--strict", "--disallow-any-expr", "--follow-imports=silent", "--config-file=", f"--cache-dir={cache}"]
    words = [sys.executable, "-m", "mypy", *options, str(program)]
    environment = {**os.environ, "MYPYPATH": str(ROOT)}
    done = subprocess.run(words, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
