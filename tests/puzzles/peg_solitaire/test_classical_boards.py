"""The classical boards, with every hole empty at the start, and the table of the page."""

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from pi_appliance.puzzles import Proof, SearchRuntime
from pi_appliance.puzzles.peg_solitaire import BOARDS, Board, Hole, check, describe, parse, solve
from pi_appliance.puzzles.peg_solitaire.bitboard import to_bitboard

PAGE = Path(__file__).parents[3] / "docs" / "puzzles" / "peg-solitaire.md"
TABLE = PAGE.read_text("utf-8").partition("<!-- solvable starts -->\n")[2].partition("<!-- end -->")[0]
ROWS = dict(re.findall(r"^\| `(.+?)` \| (.+) \|$", TABLE, re.MULTILINE))
UNDECIDED = "; not decided: "


def starts(board: Board) -> Iterator[tuple[Hole, Board]]:
    """Yield the board with each hole empty, one of each group of symmetric holes."""
    symmetries = to_bitboard(board).symmetries
    for number, hole in enumerate(board.holes):
        if number == min(symmetry[number] for symmetry in symmetries):
            yield hole, replace(board, pegs=frozenset(board.holes) - {hole})


def orbit(board: Board, hole: Hole) -> frozenset[Hole]:
    number = board.holes.index(hole)
    return frozenset(board.holes[symmetry[number]] for symmetry in to_bitboard(board).symmetries)


@pytest.mark.parametrize(
    ("name", "size"),
    [
        ("european", "36 pegs in 37 holes"),
        ("wiegleb", "44 pegs in 45 holes"),
        ("diamond-41", "40 pegs in 41 holes"),
        *((f"triangle-{side}", f"{pegs} pegs in {pegs + 1} holes of a triangular board")
          for side, pegs in ((4, 9), (5, 14), (6, 20), (7, 27))),
    ],
)  # fmt: skip
def test_a_classical_board_is_known(name: str, size: str) -> None:
    board = parse(BOARDS[name], name)
    assert describe(board) == size
    (empty,) = set(board.holes) - board.pegs
    assert ROWS[name] == "every hole" or any(
        empty in orbit(board, Hole(*map(int, each.split(",")))) for each in ROWS[name].partition(UNDECIDED)[0].split()
    )


@pytest.mark.parametrize(
    "name",
    [
        "european",
        *(pytest.param(name, marks=pytest.mark.slow) for name in ("wiegleb", "diamond-41")),
        *(f"triangle-{side}" for side in (4, 5, 6, 7)),
    ],
)
def test_a_classical_board_is_solved(name: str) -> None:
    board = parse(BOARDS[name], name)
    line = next(solve(board).solutions)
    assert check(board, line)
    assert len(line) == len(board.pegs) - 1


@pytest.mark.slow
@pytest.mark.parametrize("name", ROWS)
def test_the_page_says_which_starts_can_be_solved(name: str) -> None:
    board = parse(BOARDS[name], name)
    known, _, unknown = ROWS[name].partition(UNDECIDED)
    undecided = {orbit(board, Hole(*map(int, each.split(",")))) for each in unknown.split()}
    solvable, impossible = set(), set()
    for hole, start in starts(board):
        if orbit(board, hole) in undecided:
            continue
        answer = solve(start, runtime=SearchRuntime())
        if line := next(answer.solutions, None):
            assert check(start, line)
            solvable.add(orbit(board, hole))
        else:
            assert answer.proof is Proof.PARITY, hole
            impossible.add(orbit(board, hole))
    if known == "every hole":
        assert not impossible
    else:
        assert solvable == {orbit(board, Hole(*map(int, each.split(",")))) for each in known.split()}
