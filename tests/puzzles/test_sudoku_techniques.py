"""Sudoku: the steps of a person, how hard a grid is, the pictures, and new grids."""

import random
from collections import Counter
from xml.etree import ElementTree

import pytest

from pi_appliance.errors import Refused
from pi_appliance.puzzles import SolveMode, sudoku
from pi_appliance.puzzles.runtime.interface import Interrupted, SerialRuntime
from pi_appliance.puzzles.sudoku.sat import SatSearch
from pi_appliance.puzzles.sudoku.techniques import CONTRADICTION, TECHNIQUES, CandidateGrid, iter_deductions
from tests.puzzles.sudokus import NONE, SEVERAL, UNIQUE, Stops, varied

SVG = "{http://www.w3.org/2000/svg}"
# Each needs what it stands for, and nothing harder.
NEEDS = {
    "hidden single": "..4..17...8..2....2...7.......5.3.78..5...4..96.1.4.......5...9....1..6...17..2..",
    "guess": "1....7.9..3..2...8..96..5....53..9...1..8...26....4...3......1..4......7..7...3..",
}


def drawn(svg: str) -> ElementTree.Element:
    return ElementTree.fromstring(svg)  # noqa: S314 - our own


def empty() -> sudoku.Board:
    return sudoku.parse("." * 81, "f")


def test_no_step_ever_crosses_out_what_is_right() -> None:
    chance = random.Random(8)
    seen: Counter[str] = Counter()
    grids = [varied(grid.replace("0", "."), chance) for grid in UNIQUE for _ in range(3)]
    grids += [made(seed, {}).grids[0] for seed in range(40)]
    for grid in grids:
        solution = next(sudoku.solve(sudoku.parse(grid, "f"), SolveMode.FIRST, SerialRuntime()).solutions).digits
        grid_candidates = CandidateGrid(grid, 9)
        for deduction in iter_deductions(grid_candidates, solution):
            seen[deduction.technique] += 1
            assert deduction.technique != CONTRADICTION
            # The move is done when the next one is asked for.
            for at, mark in enumerate(solution):
                assert grid_candidates.candidates[at] >> int(mark) - 1 & 1, (grid, deduction)
            assert deduction.solved_cell is None or deduction.digits == 1 << int(solution[deduction.solved_cell]) - 1
            assert deduction.solved_cell is not None or any(
                grid_candidates.removed_candidates(deduction, at) for at in deduction.reduced_cells
            )
        assert not grid_candidates.unsolved
    assert set(seen) == set(TECHNIQUES)


def test_steps_hold_for_every_solution_where_there_are_several() -> None:
    for grid in SEVERAL:
        lines = list(sudoku.solve(sudoku.parse(grid, "f"), SolveMode.ALL, SerialRuntime()).solutions)
        grid_candidates = CandidateGrid(grid, 9)
        for _ in iter_deductions(grid_candidates):
            for line in lines[:50]:
                assert all(grid_candidates.candidates[at] >> int(mark) - 1 & 1 for at, mark in enumerate(line.digits))


def made(seed: int, rules: dict[str, str]) -> sudoku.Board:
    board: sudoku.Board = sudoku.generate(seed, sudoku.with_rules(empty(), rules), SerialRuntime()).board
    return board


@pytest.mark.parametrize("technique", NEEDS)
def test_what_a_grid_needs(technique: str) -> None:
    assert (
        sudoku.solve(sudoku.parse(NEEDS[technique], "f"), SolveMode.ALL, SerialRuntime()).details["hardest_step"]
        == technique
    )


def test_a_guess_is_named_as_one_and_only_where_nothing_else_helps() -> None:
    board = sudoku.parse(NEEDS["guess"], "f")
    line = next(sudoku.solve(board, SolveMode.ALL, SerialRuntime()).solutions)
    captions = [step.caption for step in sudoku.steps(board, line)]
    assert captions[0] == "The clues"
    assert any(caption.startswith("a guess: r") for caption in captions)
    for step in sudoku.steps(board, line):
        assert ('class="su-try"' in step.svg) == step.caption.startswith("a guess: r")
    easy = sudoku.parse(NEEDS["hidden single"], "f")
    captions = [
        step.caption for step in sudoku.steps(easy, next(sudoku.solve(easy, SolveMode.ALL, SerialRuntime()).solutions))
    ]
    assert len(captions) == 1 + 81 - 24
    assert not any("guess" in caption for caption in captions)


def test_pictures_are_whole_and_small() -> None:
    for name, drawing in sudoku.BOARDS.items():
        board = sudoku.parse(drawing, name)
        assert drawn(sudoku.render_svg(board)).tag == f"{SVG}svg"
    board = sudoku.parse(NEEDS["guess"], "f")
    line = next(sudoku.solve(board, SolveMode.ALL, SerialRuntime()).solutions)
    steps = list(sudoku.steps(board, line))
    last = drawn(steps[-1].svg)
    digits = [text.text or "" for text in last.iter(f"{SVG}text")]
    assert sum(map(len, digits)) == 81
    for step in steps:
        for text in drawn(step.svg).iter(f"{SVG}text"):
            marks = len(text.text or "")
            assert len(text.attrib["x"].split()) == len(text.attrib["y"].split()) == marks
        assert len(step.svg) < 8_000
    many = drawn(sudoku.render_svg(sudoku.parse("\n".join(UNIQUE), "f")))
    assert many.find(f"{SVG}title") is not None
    assert len([g for g in many.iter(f"{SVG}g") if "su" not in g.attrib]) == 18


def test_a_hint_is_the_next_step() -> None:
    assert sudoku.hint(sudoku.parse(NEEDS["hidden single"], "f"), SerialRuntime()) == (
        "naked single: r4c3 is 2: it sees all other digits"
    )
    assert sudoku.hint(sudoku.parse(next(iter(UNIQUE.values())), "f"), SerialRuntime()) == "the grid is full"
    assert sudoku.hint(sudoku.parse(NONE[1], "f"), SerialRuntime())


@pytest.mark.parametrize(
    "rules",
    [{}, {"difficulty": "easy"}, {"difficulty": "medium"}, {"difficulty": "extreme"}, {"clues": "26"}, {"clues": "40"}],
)
def test_new_grids_are_as_they_were_wished(rules: dict[str, str]) -> None:
    board = sudoku.with_rules(empty(), rules)
    came = [sudoku.generate(seed, board, SerialRuntime()) for seed in (1, 2, "a word")]
    for each in came:
        answer = sudoku.solve(each.board, SolveMode.ALL, SerialRuntime())
        assert answer.count == 1
        assert next(answer.solutions).digits == each.details["solution"]
        assert (
            answer.details["difficulty"]
            == each.details["difficulty"]
            == rules.get("difficulty", each.details["difficulty"])
        )
        assert str(answer.details["clues"]) == rules.get("clues", str(each.details["clues"]))
        assert answer.details["minimal"] == each.details["minimal"]
        assert rules or each.details["minimal"] == "yes"
        two = list(zip(SatSearch(each.board.grids[0], 9, SerialRuntime()).solutions(), "ab", strict=False))
        assert len(two) == 1
    assert came[0] == sudoku.generate(1, board, SerialRuntime())
    assert len({each.board.grids for each in came}) == 3


def test_what_cannot_be_made_is_refused() -> None:
    with pytest.raises(Refused, match="ask for 17 or more"):
        made(1, {"clues": "16"})
    with pytest.raises(Interrupted):
        sudoku.generate(1, sudoku.with_rules(empty(), {"clues": "17"}), Stops(after=500))
