"""Sudoku techniques, rating, pictures and generated grids."""

import random
from collections import Counter
from xml.etree import ElementTree

import pytest

from pi_appliance.errors import InvalidOption
from pi_appliance.puzzles import SolveMode, sudoku
from pi_appliance.puzzles.runtime import Interrupted, SearchRuntime
from pi_appliance.puzzles.sudoku.sat import SatSearch
from pi_appliance.puzzles.sudoku.techniques import CONTRADICTION, TECHNIQUES, CandidateGrid, iter_deductions
from tests.examples import repetitions
from tests.puzzles.sudoku.grids import NONE, SEVERAL, UNIQUE, InterruptingRuntime, permute_grid

SVG = "{http://www.w3.org/2000/svg}"
# Each needs this technique and nothing harder.
HARDEST_STEPS = {
    "hidden single": "..4..17...8..2....2...7.......5.3.78..5...4..96.1.4.......5...9....1..6...17..2..",
    "guess": "1....7.9..3..2...8..96..5....53..9...1..8...26....4...3......1..4......7..7...3..",
}


def parse_svg(svg: str) -> ElementTree.Element:
    return ElementTree.fromstring(svg)  # noqa: S314 - our own


def empty_board() -> sudoku.Board:
    return sudoku.parse("." * 81, "f")


def test_deductions_never_remove_the_solution() -> None:
    rng = random.Random(8)
    counts: Counter[str] = Counter()
    grids = [permute_grid(grid.replace("0", "."), rng) for grid in UNIQUE for _ in range(3)]
    grids += [generate_grid(seed, {}).grids[0] for seed in range(60, 60 + repetitions(50))]
    for grid in grids:
        solution = next(sudoku.solve(sudoku.parse(grid, "f"), SolveMode.FIRST, SearchRuntime()).solutions).digits
        candidates = CandidateGrid(grid, 9)
        for deduction in iter_deductions(candidates, solution):
            counts[deduction.technique] += 1
            assert deduction.technique != CONTRADICTION
            # The deduction is applied when the next one is requested.
            for at, mark in enumerate(solution):
                assert candidates.candidates[at] >> int(mark) - 1 & 1, (grid, deduction)
            assert deduction.solved_cell is None or deduction.digits == 1 << int(solution[deduction.solved_cell]) - 1
            assert deduction.solved_cell is not None or any(
                candidates.removed_candidates(deduction, at) for at in deduction.reduced_cells
            )
        assert not candidates.unsolved
    assert set(counts) == set(TECHNIQUES)


def test_deductions_hold_for_every_solution() -> None:
    for grid in SEVERAL:
        lines = list(sudoku.solve(sudoku.parse(grid, "f"), SolveMode.ALL, SearchRuntime()).solutions)
        candidates = CandidateGrid(grid, 9)
        for _ in iter_deductions(candidates):
            for line in lines[:50]:
                assert all(candidates.candidates[at] >> int(mark) - 1 & 1 for at, mark in enumerate(line.digits))


def generate_grid(seed: int, rules: dict[str, str]) -> sudoku.Board:
    board: sudoku.Board = sudoku.generate(seed, sudoku.with_rules(empty_board(), rules), SearchRuntime()).board
    return board


@pytest.mark.parametrize("technique", HARDEST_STEPS)
def test_the_hardest_step_is_found(technique: str) -> None:
    assert (
        sudoku.solve(sudoku.parse(HARDEST_STEPS[technique], "f"), SolveMode.ALL, SearchRuntime()).details[
            "hardest_step"
        ]
        == technique
    )


def test_only_steps_without_technique_are_named_a_guess() -> None:
    board = sudoku.parse(HARDEST_STEPS["guess"], "f")
    line = next(sudoku.solve(board, SolveMode.ALL, SearchRuntime()).solutions)
    captions = [step.caption for step in sudoku.steps(board, line)]
    assert captions[0] == "The clues"
    assert any(caption.startswith("a guess: r") for caption in captions)
    for step in sudoku.steps(board, line):
        assert ('class="su-try"' in step.svg) == step.caption.startswith("a guess: r")
    easy = sudoku.parse(HARDEST_STEPS["hidden single"], "f")
    captions = [
        step.caption for step in sudoku.steps(easy, next(sudoku.solve(easy, SolveMode.ALL, SearchRuntime()).solutions))
    ]
    assert len(captions) == 1 + 81 - 24
    assert not any("guess" in caption for caption in captions)


def test_pictures_are_complete_and_small() -> None:
    for name, drawing in sudoku.BOARDS.items():
        board = sudoku.parse(drawing, name)
        assert parse_svg(sudoku.render_svg(board)).tag == f"{SVG}svg"
    board = sudoku.parse(HARDEST_STEPS["guess"], "f")
    line = next(sudoku.solve(board, SolveMode.ALL, SearchRuntime()).solutions)
    steps = list(sudoku.steps(board, line))
    last = parse_svg(steps[-1].svg)
    digits = [text.text or "" for text in last.iter(f"{SVG}text")]
    assert sum(map(len, digits)) == 81
    for step in steps:
        for text in parse_svg(step.svg).iter(f"{SVG}text"):
            marks = len(text.text or "")
            assert len(text.attrib["x"].split()) == len(text.attrib["y"].split()) == marks
        assert len(step.svg) < 8_000
    many = parse_svg(sudoku.render_svg(sudoku.parse("\n".join(UNIQUE), "f")))
    assert many.find(f"{SVG}title") is not None
    assert len([g for g in many.iter(f"{SVG}g") if "su" not in g.attrib]) == 18


def test_a_hint_is_the_next_deduction() -> None:
    assert sudoku.hint(sudoku.parse(HARDEST_STEPS["hidden single"], "f"), SearchRuntime()) == (
        "naked single: r4c3 is 2: it sees all other digits"
    )
    assert sudoku.hint(sudoku.parse(next(iter(UNIQUE.values())), "f"), SearchRuntime()) == "the grid is full"
    assert sudoku.hint(sudoku.parse(NONE[1], "f"), SearchRuntime())


@pytest.mark.usefixtures("sat_library")
@pytest.mark.slow_variants
@pytest.mark.parametrize(
    "rules",
    [{}, {"difficulty": "easy"}, {"difficulty": "medium"}, {"difficulty": "extreme"}, {"clues": "26"}, {"clues": "40"}],
)
def test_generated_grids_follow_the_rules(rules: dict[str, str]) -> None:
    board = sudoku.with_rules(empty_board(), rules)
    generated = [sudoku.generate(seed, board, SearchRuntime()) for seed in (1, 2, "a word")]
    for each in generated:
        answer = sudoku.solve(each.board, SolveMode.ALL, SearchRuntime())
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
        two = list(zip(SatSearch(each.board.grids[0], 9, SearchRuntime()).solutions(), "ab", strict=False))
        assert len(two) == 1
    assert generated[0] == sudoku.generate(1, board, SearchRuntime())
    assert len({each.board.grids for each in generated}) == 3


def test_impossible_requests_are_refused() -> None:
    with pytest.raises(InvalidOption, match="write 17 or more"):
        generate_grid(1, {"clues": "16"})
    with pytest.raises(Interrupted):
        sudoku.generate(1, sudoku.with_rules(empty_board(), {"clues": "17"}), InterruptingRuntime(after=500))
