"""The check of peg solitaire: it replays the rules and believes nothing."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pi_appliance.puzzles import SolveMode
from pi_appliance.puzzles.peg_solitaire import Board, Hole, Jump, check, solve, with_rules
from pi_appliance.puzzles.peg_solitaire.board import BOARDS
from pi_appliance.puzzles.peg_solitaire.notation import parse
from pi_appliance.puzzles.runtime import SearchRuntime

ROW = parse("XXO\nXO ", "row")


def first_line(name: str) -> tuple[Board, tuple[Jump, ...]]:
    board = parse(BOARDS[name], name)
    return board, next(solve(board, SolveMode.FIRST, SearchRuntime()).solutions)


CROSS, CROSS_LINE = first_line("cross")
FULL, FULL_LINE = first_line("full")
HOLES = st.sampled_from(FULL.holes)


def jump(start: str, end: str) -> Jump:
    (x, y), (u, v) = (map(int, place.split(",")) for place in (start, end))
    return Jump(Hole(x, y), Hole(u, v))


@pytest.mark.parametrize(
    ("start", "end", "wrong"),
    [
        ("0,0", "1,0", "two holes"),
        ("0,0", "2,2", "two holes"),
        ("0,0", "0,0", "two holes"),
        ("0,0", "-2,0", "there is no hole at"),
        ("2,0", "0,0", "there is no peg at 2,0"),
        ("0,0", "0,2", "there is no hole at 0,2"),
    ],
)
def test_an_illegal_jump_is_reported_with_the_broken_rule(start: str, end: str, wrong: str) -> None:
    checked = check(ROW, [jump(start, end)])
    assert not checked
    assert wrong in checked.error
    assert checked.error.startswith("jump 1, ")


def test_a_jump_onto_a_peg_is_refused() -> None:
    assert check(parse("XXX", "three"), [jump("0,0", "2,0")]).error.endswith("2,0 is not empty")


def test_a_jump_over_an_empty_hole_is_refused() -> None:
    assert check(parse("XOO", "one"), [jump("0,0", "2,0")]).error.endswith("there is no peg at 1,0")


def test_a_solution_that_leaves_two_pegs_fails() -> None:
    assert check(ROW, [jump("0,0", "2,0")]).error == "2 pegs are left after 1 jump"


def test_a_solution_that_misses_the_goal_fails() -> None:
    board = with_rules(parse("XXO", "row"), {"goal": "0,0"})
    assert check(board, [jump("0,0", "2,0")]).error == "the last peg is at 2,0, not at 0,0"


def test_a_board_that_begins_solved_needs_no_jump() -> None:
    assert check(parse("XO", "one"), [])


@pytest.mark.parametrize(("board", "line"), [(CROSS, CROSS_LINE), (FULL, FULL_LINE)], ids=["cross", "full"])
def test_a_missing_doubled_or_reversed_jump_fails(board: Board, line: tuple[Jump, ...]) -> None:
    assert check(board, line)
    for at, (start, end) in enumerate(line):
        before, after = line[:at], line[at + 1 :]
        assert not check(board, before + after)
        assert not check(board, (*before, line[at], line[at], *after))
        assert not check(board, (*before, Jump(end, start), *after))


@given(at=st.integers(0, len(FULL_LINE) - 1), start=HOLES, end=HOLES)
def test_any_replaced_jump_fails(at: int, start: Hole, end: Hole) -> None:
    other = Jump(start, end)
    changed = (*FULL_LINE[:at], other, *FULL_LINE[at + 1 :])
    remaining_pegs = set(FULL.pegs)
    for one, two in changed:  # the same rules, reported in another way
        over = Hole((one.x + two.x) // 2, (one.y + two.y) // 2)
        straight = {abs(one.x - two.x), abs(one.y - two.y)} == {0, 2}
        if not straight or not {one, over} <= remaining_pegs or two in remaining_pegs or two not in FULL.holes:
            assert not check(FULL, changed)
            return
        remaining_pegs ^= {one, over, two}
    assert bool(check(FULL, changed)) == (len(remaining_pegs) == 1)
