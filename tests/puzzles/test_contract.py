"""The contract of all puzzles, which are found by name. Boards that take too long are skipped."""

import ast
import contextlib
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cache, partial
from itertools import islice
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple, cast
from xml.etree import ElementTree

import pytest

from pi_appliance import plugins
from pi_appliance.errors import ApplianceError, ConfigError, InvalidOption, UnknownName
from pi_appliance.puzzles import Answer, Puzzle, SolveMode
from pi_appliance.puzzles.board_report import BoardReport
from pi_appliance.puzzles.raster import Canvas
from pi_appliance.puzzles.runtime import Interrupted, SearchRuntime
from pi_appliance.puzzles.text_format import BOARD_HEADER

pytestmark = pytest.mark.contract

NAMES = plugins.names("puzzles")
PUZZLES = [pytest.param(plugins.load("puzzles", name), id=name) for name in NAMES]
BOARDS = [
    pytest.param(plugins.load("puzzles", name), board, id=f"{name}-{board}")
    for name in NAMES
    for board in plugins.load("puzzles", name).BOARDS
]
PUZZLE_MODES = [
    pytest.param(plugins.load("puzzles", name), mode, id=f"{name}-{mode}")
    for name in NAMES
    for mode in plugins.load("puzzles", name).MODES
]
BOARD_TIMEOUT = 2.0  # seconds for one board, of those that are asked for their answers
ENOUGH = 2  # boards of a puzzle that are answered for each wish
MANY_BOARDS = 100  # lines that are checked


class Hurried(SearchRuntime):
    """Work that ends a search when its time is over."""

    def __init__(self, seconds: float = BOARD_TIMEOUT) -> None:
        super().__init__(time.monotonic)
        self.until = time.monotonic() + seconds

    def report_progress(self, part: float | None, note: str) -> None:
        assert part is None or 0 <= part <= 1, f"{part} is no part of a whole"
        assert note, "progress says what is done"
        if time.monotonic() > self.until:
            raise Interrupted("the test has no time")


class Question(NamedTuple):
    """A board that is answered in time, its answer, and the first of its lines."""

    puzzle: Puzzle
    name: str
    board: Any
    answer: Answer
    lines: list[Any]


def parse_board(puzzle: Puzzle, name: str) -> Any:
    return puzzle.parse(puzzle.BOARDS[name], name)


def solvable_boards(puzzle: Puzzle, mode: SolveMode) -> tuple[Question, ...]:
    """Return the first boards that are answered in time. A puzzle must have one."""
    return _solvable_boards_of(cast(ModuleType, puzzle), mode)


@cache
def _solvable_boards_of(module: ModuleType, mode: SolveMode) -> tuple[Question, ...]:
    puzzle = cast(Puzzle, module)
    result = tuple(islice(_solvable_boards(puzzle, mode), ENOUGH))
    assert result, f"no board of {puzzle.TITLE} is answered for {mode} within {BOARD_TIMEOUT} s"
    return result


def _solvable_boards(puzzle: Puzzle, mode: SolveMode) -> Iterator[Question]:
    for name in puzzle.BOARDS:
        board = parse_board(puzzle, name)
        try:
            answer = puzzle.solve(board, mode, Hurried())
            lines = list(islice(answer.solutions, MANY_BOARDS))
        except Interrupted:
            continue
        yield Question(puzzle, name, board, answer, lines)


def cut_off(runtime: Callable[[], object]) -> str:
    """Call `work`; return its partial result if it is interrupted."""
    try:
        runtime()
    except Interrupted as interrupted:
        return interrupted.partial_result
    return ""


def first_of(puzzle: Puzzle, board: Any, mode: SolveMode) -> Any:
    """Search for a line without any time."""
    return next(puzzle.solve(board, mode, Hurried(0)).solutions, None)


def solved(puzzle: Puzzle) -> Iterator[tuple[Puzzle, Any, Any]]:
    """Yield lines of boards with solutions."""
    mode = next(mode for mode in (SolveMode.FIRST, SolveMode.ALL, SolveMode.FEWEST) if mode in puzzle.MODES)
    for question in solvable_boards(puzzle, mode):
        for line in question.lines[:10]:
            yield puzzle, question.board, line


@pytest.mark.parametrize(("puzzle", "name"), BOARDS)
def test_a_known_board_is_read_back_from_its_own_drawing(puzzle: Puzzle, name: str) -> None:
    board = parse_board(puzzle, name)
    assert puzzle.render(board) == puzzle.BOARDS[name]
    assert puzzle.parse(puzzle.render(board), name) == board
    assert puzzle.parse(f"\n\n{puzzle.BOARDS[name]}\n\n", name) == board, "blank space around it does not count"
    assert all(row.strip() for row in puzzle.render(board).splitlines()), "an empty row ends a board in a listing"
    assert puzzle.describe(board)
    assert hash(board) == hash(parse_board(puzzle, name))


@pytest.mark.parametrize(("puzzle", "mode"), PUZZLE_MODES)
def test_a_result_has_solutions_a_count_or_a_proof(puzzle: Puzzle, mode: SolveMode) -> None:
    for _, name, _, answer, lines in solvable_boards(puzzle, mode):
        assert (answer.proof is not None) == bool(answer.reason), name
        if answer.proof is not None:
            assert not lines, name
            assert answer.count in (None, 0), name
        elif mode is SolveMode.COUNT:
            assert not lines, name
            assert answer.count, name
        else:
            assert lines, name
        if answer.count is not None and mode in (SolveMode.ALL, SolveMode.FEWEST):
            assert len(lines) == min(answer.count, MANY_BOARDS), name
        if mode is SolveMode.FIRST:
            assert len(lines) <= MANY_BOARDS
        assert answer.nodes_searched() >= 0
        for fact in answer.details:
            assert fact == fact.lower().replace("-", "_").replace(" ", "_"), "names are in snake_case"
        for table in answer.tables:
            assert all(len(row) == len(table.headers) for row in table.rows), table.title


@pytest.mark.slow
@pytest.mark.parametrize("puzzle", PUZZLES)
def test_all_modes_agree(puzzle: Puzzle) -> None:
    """All modes agree about the existence and the number of solutions."""
    visited: dict[str, set[bool]] = {}
    counts: dict[str, set[int]] = {}
    for mode in puzzle.MODES:
        for _, name, _, answer, lines in solvable_boards(puzzle, mode):
            visited.setdefault(name, set()).add(answer.proof is None)
            if answer.count is not None and mode is not SolveMode.FEWEST:
                counts.setdefault(name, set()).add(answer.count)
                if mode is SolveMode.ALL and answer.count <= MANY_BOARDS:
                    counts[name].add(len(lines))
    assert all(len(each) == 1 for each in visited.values()), visited
    assert all(len(each) == 1 for each in counts.values()), counts


@pytest.mark.parametrize(("puzzle", "mode"), PUZZLE_MODES)
def test_every_solution_passes_the_check_and_is_unique(puzzle: Puzzle, mode: SolveMode) -> None:
    for _, name, board, _, lines in solvable_boards(puzzle, mode):
        for line in lines:
            checked = puzzle.check(board, line)
            assert checked, f"{name}: {checked.error}"
        assert len(lines) == len(set(lines)), name


@pytest.mark.parametrize("puzzle", PUZZLES)
def test_a_solution_is_parsed_from_its_notation(puzzle: Puzzle) -> None:
    for _, board, line in solved(puzzle):
        notation = puzzle.notate(board, line)
        assert notation
        assert "\n" not in notation
        assert puzzle.parse_solution(board, notation, "mine") == line


@pytest.mark.parametrize("puzzle", PUZZLES)
def test_a_truncated_solution_fails_the_check(puzzle: Puzzle) -> None:
    for _, board, line in islice(solved(puzzle), 4):
        notation = puzzle.notate(board, line)
        for length in range(len(notation)):
            try:
                shorter = puzzle.parse_solution(board, notation[:length], "mine")
            except ConfigError:
                continue
            checked = puzzle.check(board, shorter)
            assert shorter == line or not checked, f"{notation[:length]!r} passes in place of {notation!r}"
            assert bool(checked) == (not checked.error)


@pytest.mark.parametrize("puzzle", PUZZLES)
def test_a_solution_of_another_board_fails_without_an_exception(puzzle: Puzzle) -> None:
    lines = list(solved(puzzle))
    for _, board, _ in lines:
        for _, _, line in lines:
            checked = puzzle.check(board, line)
            assert bool(checked) == (not checked.error)


@pytest.mark.parametrize("puzzle", PUZZLES)
def test_an_invalid_solution_is_rejected_with_its_place(puzzle: Puzzle) -> None:
    board = parse_board(puzzle, next(iter(puzzle.BOARDS)))
    for text in ("€", "\x00", "Dear diary, nothing was solved today"):
        with pytest.raises(ConfigError, match="mine"):
            puzzle.parse_solution(board, text, "mine")


@pytest.mark.parametrize("puzzle", PUZZLES)
def test_a_listing_is_read_back_as_it_was_written(puzzle: Puzzle) -> None:
    mode = next(mode for mode in (SolveMode.ALL, SolveMode.FIRST, SolveMode.FEWEST) if mode in puzzle.MODES)
    for _, name, board, answer, lines in solvable_boards(puzzle, mode):
        parts = [f"{BOARD_HEADER}\n{puzzle.render(board)}\n"]
        listed = replace(answer, solutions=iter(lines))
        report = BoardReport(puzzle=puzzle, name=name, board=board, mode=mode, answer=listed)
        report.list_solutions(20, parts.append)
        ((read, again),) = puzzle.parse_listing("".join(parts), name, lambda *_: None)
        assert read == board
        assert list(again) == lines[:20]
        assert report.listed == len(again)


@pytest.mark.parametrize(("puzzle", "name"), BOARDS)
def test_a_picture_is_one_svg_that_needs_nothing_else(puzzle: Puzzle, name: str) -> None:
    looked_at(puzzle.render_svg(parse_board(puzzle, name)))


@pytest.mark.parametrize(("puzzle", "mode"), PUZZLE_MODES)
def test_the_pictures_of_an_answer_need_nothing_else(puzzle: Puzzle, mode: SolveMode) -> None:
    for question in solvable_boards(puzzle, mode):
        for name, drawn in question.answer.pictures.items():
            assert name == name.lower().replace("_", "-").replace(" ", "-")
            looked_at(drawn)


def looked_at(picture: str) -> None:
    root = ElementTree.fromstring(picture)  # noqa: S314 - our own text
    assert root.tag == "{http://www.w3.org/2000/svg}svg"
    assert root.get("viewBox")
    assert root.find("{http://www.w3.org/2000/svg}title") is not None, "it is read out to who cannot see it"
    assert "href" not in picture
    assert "<script" not in picture
    assert "prefers-color-scheme:dark" in picture


@pytest.mark.parametrize("puzzle", PUZZLES)
def test_the_steps_of_a_solution_are_pictures_from_start_to_end(puzzle: Puzzle) -> None:
    for _, board, line in islice(solved(puzzle), 2):
        steps = list(puzzle.steps(board, line))
        assert len(steps) >= 2, "the board as it begins, and what is done"
        assert steps[0].svg != steps[-1].svg
        assert all(step.caption.strip() and "\n" not in step.caption for step in steps)
        for step in steps:
            looked_at(step.svg)
        sizes = {ElementTree.fromstring(step.svg).get("viewBox") for step in steps}  # noqa: S314 - our own text
        assert len(sizes) == 1, "nothing jumps about when it is played"


@pytest.mark.parametrize("puzzle", PUZZLES)
def test_every_picture_is_drawn_as_pixels(puzzle: Puzzle) -> None:
    """A shape that `raster` does not know raises an error."""
    for _, board, line in islice(solved(puzzle), 2):
        steps = list(puzzle.steps(board, line))
        for step in (steps[0], steps[1], steps[-1]):
            canvas = Canvas(200, 200, "#fff")
            canvas.draw_svg(step.svg, (0, 0, 200, 200))
            assert len(canvas.finish().getcolors(maxcolors=40_000) or []) > 2


@pytest.mark.parametrize("puzzle", PUZZLES)
def test_an_invalid_board_is_rejected_with_its_place(puzzle: Puzzle) -> None:
    for text in ("", "\n \n", "€", "\x00", "Dear diary,\nnothing was solved today.\n", "🧩" * 100):
        with pytest.raises(ConfigError) as caught:
            puzzle.parse(text, "mine.txt")
        assert str(caught.value).startswith("mine.txt:")
        assert all(problem.line >= 1 <= problem.column for problem in caught.value.problems)


@pytest.mark.parametrize("puzzle", PUZZLES)
def test_an_invalid_listing_is_rejected(puzzle: Puzzle) -> None:
    with pytest.raises(ConfigError, match=r"mine\.txt:1:1"):
        puzzle.parse_listing("Dear diary\n", "mine.txt", lambda *_: None)


@pytest.mark.parametrize("puzzle", PUZZLES)
def test_a_rule_that_there_is_not_is_refused_with_the_nearest(puzzle: Puzzle) -> None:
    board = parse_board(puzzle, next(iter(puzzle.BOARDS)))
    assert puzzle.with_rules(board, {}) == board
    with pytest.raises(UnknownName, match="'the moon'"):
        puzzle.with_rules(board, {"the moon": "1"})
    for name, rule in puzzle.RULES.items():
        assert rule.description
        with pytest.raises(UnknownName, match=f"did you mean '{name}'"):
            puzzle.with_rules(board, {f"{name}s": rule.default})
        with pytest.raises(ApplianceError) as caught:
            puzzle.with_rules(board, {name: "the moon"})
        assert caught.value.exit_status == 2
        assert "\n" not in str(caught.value)
        if rule.choices and rule.default:
            assert rule.default in rule.choices
        for choice in rule.choices:
            with contextlib.suppress(InvalidOption):  # the board itself says something else
                chosen = puzzle.with_rules(board, {name: choice})
                assert puzzle.with_rules(chosen, {name: choice}) == chosen


@pytest.mark.parametrize("puzzle", PUZZLES)
def test_an_interruption_at_once_is_noticed(puzzle: Puzzle) -> None:
    for name in puzzle.BOARDS:
        for mode in puzzle.MODES:
            begun, board = time.monotonic(), parse_board(puzzle, name)
            reported = cut_off(partial(first_of, puzzle, board, mode))
            assert "\n" not in reported
            assert time.monotonic() - begun < 2 * BOARD_TIMEOUT, f"{name}, {mode}: heard too late"


@pytest.mark.parametrize("puzzle", PUZZLES)
def test_generation_is_reproducible(puzzle: Puzzle) -> None:
    generate = getattr(puzzle, "generate", None)
    if generate is None:
        return
    board = parse_board(puzzle, next(iter(puzzle.BOARDS)))
    first, again = generate(20261121, board, SearchRuntime()), generate(20261121, board, SearchRuntime())
    assert first.board == again.board
    assert dict(first.details) == dict(again.details)
    assert puzzle.parse(puzzle.render(first.board), "made") == puzzle.parse(puzzle.render(again.board), "made")
    assert any(generate(seed, board, SearchRuntime()).board != first.board for seed in (1, 2, 3))


@pytest.mark.parametrize("puzzle", PUZZLES)
def test_a_hint_is_one_line_of_text(puzzle: Puzzle) -> None:
    hint = getattr(puzzle, "hint", None)
    if hint is None:
        return
    mode = next(
        mode for mode in (SolveMode.FIRST, SolveMode.ALL, SolveMode.FEWEST, SolveMode.COUNT) if mode in puzzle.MODES
    )
    for question in solvable_boards(puzzle, mode):
        reported = hint(question.board, Hurried(10 * BOARD_TIMEOUT))
        assert reported
        assert "\n" not in reported


@pytest.mark.slow_variants
@pytest.mark.parametrize("puzzle", PUZZLES)
def test_precomputation_can_be_interrupted(puzzle: Puzzle) -> None:
    precompute = getattr(puzzle, "precompute", None)
    if precompute is None:
        return
    assert "\n" not in cut_off(lambda: precompute(Hurried()))


@pytest.mark.parametrize("puzzle", PUZZLES)
def test_the_check_shares_no_code_with_the_solver(puzzle: Puzzle) -> None:
    package = cast(ModuleType, puzzle).__name__
    imports = _imported(sys.modules[puzzle.check.__module__], package)
    if puzzle.check.__module__ != package:
        assert not [name for name in imports if "solve" in name.rpartition(".")[2] or "kernel" in name]


def _imported(module: ModuleType, package: str) -> set[str]:
    """Return the modules of `package` that `module` imports, directly or not."""
    tree = ast.parse(Path(cast(str, module.__file__)).read_text("utf-8"))
    names = {node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) and node.module}
    direct = {name for name in names if name.startswith(f"{package}.")}
    return direct.union(*(_imported(sys.modules[name], package) for name in direct))


def test_a_puzzle_is_loaded_by_name() -> None:
    assert cast(Puzzle, plugins.load("puzzles", "peg-solitaire")).TITLE == "Peg solitaire"
    with pytest.raises(UnknownName, match="did you mean 'peg-solitaire'"):
        plugins.load("puzzles", "peg-solitare")
