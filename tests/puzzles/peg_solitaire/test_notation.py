"""Lines of peg solitaire in one row: read, written, refused; and 10,000 that somebody meddled with."""

from dataclasses import replace
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pi_appliance.errors import ConfigError
from pi_appliance.puzzles import SolveMode
from pi_appliance.puzzles.peg_solitaire import Board, Hole, Jump, check, hint, notate, parse_solution, solve
from pi_appliance.puzzles.peg_solitaire.notation import steps
from pi_appliance.puzzles.runtime import SearchRuntime
from tests.examples import repetitions
from tests.puzzles.peg_solitaire.reference import known_board, moves, triangle


def problems(board: Board, text: str) -> list[tuple[int, int, str]]:
    with pytest.raises(ConfigError) as caught:
        parse_solution(board, text, "mine")
    return [(each.line, each.column, each.message) for each in caught.value.problems]


def test_jumps_by_one_peg_in_a_row_are_written_as_one_move() -> None:
    line = (Jump(Hole(3, 1), Hole(3, 3)), Jump(Hole(3, 3), Hole(5, 3)), Jump(Hole(2, 3), Hole(4, 3)))
    assert notate(known_board("full"), line) == "3,1-3,3-5,3 2,3-4,3"
    for text in ("3,1-3,3-5,3 2,3-4,3", "3,1-3,3 3,3-5,3\n 2,3-4,3\n"):
        assert parse_solution(known_board("full"), text, "mine") == line


@pytest.mark.parametrize("name", ["cross", "plus", "fireplace"])
def test_every_solution_is_read_back_from_its_notation(name: str) -> None:
    board = known_board(name)
    for line in solve(board, SolveMode.ALL, SearchRuntime()).solutions:
        assert parse_solution(board, notate(board, line), "mine") == line
        assert len(notate(board, line).split()) == moves(line)


def test_every_invalid_jump_is_reported_with_its_place() -> None:
    board = known_board("full")
    assert problems(board, "3,1-3,3 up\n 0,0-3,3-9,9") == [
        (1, 9, "'up' is not a jump"),
        (2, 2, "there is no hole at 0,0"),
        (2, 10, "there is no hole at 9,9"),
    ]
    assert problems(board, " \n") == [(1, 1, "no jump is written here")]
    assert problems(board, "3,1") == [(1, 1, "'3,1' is not a jump")]
    assert parse_solution(known_board("XO"), "", "mine") == ()


@given(st.text(max_size=40))
def test_any_text_is_a_solution_or_a_problem_with_a_place(text: str) -> None:
    try:
        parse_solution(known_board("full"), text, "mine")
    except ConfigError as error:
        result = error.problems
    else:
        result = ()
    assert all(each.line >= 1 and each.column >= 1 for each in result)


def replayed(board: Board, line: tuple[Jump, ...]) -> bool:
    """Return whether `line` solves `board`, by sets of three holes in a row."""
    ways = [(1, 0), (0, 1), *([(1, 1)] if board.triangular else [])]
    rows = {((x, y), (x + dx, y + dy), (x + 2 * dx, y + 2 * dy)) for x, y in board.holes for dx, dy in ways}
    pegs, holes = {tuple(hole) for hole in board.pegs}, {tuple(hole) for hole in board.holes}
    for start, end in line:
        three = next((row for row in rows if {row[0], row[2]} == {tuple(start), tuple(end)}), None)
        if three is None or not holes.issuperset(three) or pegs & set(three) != {tuple(start), three[1]}:
            return False
        pegs ^= set(three)
    return len(pegs) == 1 and (board.goal is None or tuple(board.goal) in pegs)


def meddled(board: Board, line: tuple[Jump, ...], random: Random) -> tuple[Jump, ...]:
    """Change `line` in one or two places."""
    jumped = list(line)
    for _ in range(random.choice((1, 1, 2))):
        at = random.randrange(len(jumped) or 1)
        hole = random.choice(board.holes)
        match random.randrange(7):
            case 0:
                del jumped[at : at + 1]
            case 1:
                jumped.insert(at, random.choice(jumped or [Jump(hole, hole)]))
            case 2:
                other = random.randrange(len(jumped) or 1)
                if jumped:
                    jumped[at], jumped[other] = jumped[other], jumped[at]
            case 3:
                jumped[at : at + 1] = [Jump(hole, each.end) for each in jumped[at : at + 1]]
            case 4:
                jumped[at : at + 1] = [Jump(each.start, hole) for each in jumped[at : at + 1]]
            case 5:
                jumped[at : at + 1] = [Jump(each.end, each.start) for each in jumped[at : at + 1]]
            case _:
                jumped = jumped[: max(at, len(jumped) - 2)]
    return tuple(jumped)


def test_mutated_solutions_pass_only_if_valid() -> None:
    random = Random(20261121)
    boards = [
        known_board("full"),
        known_board("full", "3,3"),
        known_board("plus"),
        known_board("cross", "3,0"),
        triangle(Hole(0, 0)),
    ]
    right = {board: next(solve(board, SolveMode.FIRST, SearchRuntime()).solutions) for board in boards}
    refused = passed = 0
    while refused < repetitions(10_000):
        board = random.choice(boards)
        line = meddled(board, right[board], random)
        reported = check(board, line)
        assert bool(reported) == replayed(board, line)
        assert bool(reported) == (not reported.error)
        refused += not reported
        passed += bool(reported)
    assert passed > repetitions(50), "some changes leave a solution a solution"


def after_jumps(board: Board, line: tuple[Jump, ...], random: Random) -> tuple[Board, tuple[Jump, ...]]:
    """Return `board` after some jumps of `line`, and the remaining ones."""
    done, pegs = random.randrange(len(line) // 3, len(line) + 1), board.pegs
    for start, end in line[:done]:
        pegs = pegs - {start, Hole((start.x + end.x) // 2, (start.y + end.y) // 2)} | {end}
    return replace(board, pegs=pegs), line[done:]


def add_wrong_jump(board: Board, line: tuple[Jump, ...], random: Random) -> tuple[Board, tuple[Jump, ...]]:
    """Return a board that one jump turns into `board`, and that jump and `line`; the jump may be as wrong as can be.

    All else is correct: the jumping peg and the removed one are gone, and a peg is on the target.
    """
    while True:
        end, start = random.choice(board.holes), random.choice(board.holes)
        if random.random() < 0.9:
            start = Hole(end.x + random.choice((-2, 0, 2)), end.y + random.choice((-2, 0, 2)))
        over = Hole((start.x + end.x) // 2, (start.y + end.y) // 2)
        if end in board.pegs and not {start, over} & board.pegs:
            break
    pegs = set(board.pegs) - {end}
    for hole, likely in ((start, 0.8), (over, 0.8), (end, 0.2)):
        if hole in board.holes and random.random() < likely:
            pegs.add(hole)
    return Board(board.holes, frozenset(pegs), board.goal, triangular=board.triangular), (Jump(start, end), *line)


@pytest.mark.slow
def test_a_solution_with_one_wrong_jump_is_rejected() -> None:
    """Lines that were changed anywhere go wrong in many ways at once; these in one, so that no rule can be missing."""
    random = Random(5)
    boards = [known_board("cross"), known_board("plus", "3,3"), triangle(Hole(0, 0)), triangle(Hole(0, 2))]
    right = {board: next(solve(board, SolveMode.FIRST, SearchRuntime()).solutions) for board in boards}
    verdicts = {True: 0, False: 0}
    while sum(verdicts.values()) < 20_000:
        board = random.choice(boards)
        before, line = add_wrong_jump(*after_jumps(board, right[board], random), random)
        verdict = bool(check(before, line))
        assert verdict == replayed(before, line), (before, line)
        verdicts[verdict] += 1
    assert min(verdicts.values()) > 200
    for board, line in right.items():
        for goal in board.holes:
            assert bool(check(replace(board, goal=goal), line)) == (goal == line[-1].end)


def test_the_steps_begin_with_the_board_and_show_each_jump() -> None:
    board = known_board("cross")
    line = next(solve(board, SolveMode.FIRST, SearchRuntime()).solutions)
    shown = list(steps(board, line))
    assert [step.caption for step in shown] == [
        "Start: 6 pegs",
        *(f"Jump {number} of 5: {jump}" for number, jump in enumerate(line, 1)),
    ]
    assert [step.svg.count('class="peg-body"') for step in shown] == [6, 5, 4, 3, 2, 1]
    assert [step.svg.count('class="peg-head"') for step in shown] == [0, 1, 1, 1, 1, 1]


def test_a_hint_is_the_first_jump_of_a_solution() -> None:
    board = known_board("cross")
    line = next(solve(board, SolveMode.FIRST, SearchRuntime()).solutions)
    assert hint(board, SearchRuntime()) == f"the peg at {line[0].start} jumps to {line[0].end}"
    assert "rule of three" in hint(known_board("diamond"), SearchRuntime())
    assert hint(known_board("XO"), SearchRuntime()) == "only one peg is left: it is solved"
