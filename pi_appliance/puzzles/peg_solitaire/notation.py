"""Lines of peg solitaire in one row: `3,1-3,3 5,3-3,3-1,3`, where a peg that jumps on is named once."""

import re
from itertools import pairwise

from pi_appliance.errors import ConfigError, Problem
from pi_appliance.puzzles.peg_solitaire.board import Board, Hole, Jump, Solution

_WORD = re.compile(r"\S+")
_MOVE = re.compile(r"\d{1,2},\d{1,2}(-\d{1,2},\d{1,2})+", re.ASCII)
_HOLE = re.compile(r"\d+,\d+", re.ASCII)
_RIGHT = "a jump is written from-to, holes as x,y, such as 3,1-3,3, with one more hole for each jump of the same peg"


def notate(board: Board, line: Solution) -> str:  # noqa: ARG001 - as every puzzle has it
    """Return LINE in one row; jumps by one peg in a row stand together."""
    return " ".join("-".join(map(str, move)) for move in moves_of(line))


def moves_of(line: Solution) -> list[list[Hole]]:
    """Return the moves of LINE: the holes that one peg goes through, as long as it is the same that jumps."""
    moves: list[list[Hole]] = []
    for start, end in line:
        if moves and moves[-1][-1] == start:
            moves[-1].append(end)
        else:
            moves.append([start, end])
    return moves


def parse_solution(board: Board, text: str, file: str) -> Solution:
    """Return the line that TEXT notates, whatever the rules say of it. Raises ConfigError with every problem."""
    jumps: list[Jump] = []
    problems: list[Problem] = []
    for number, row in enumerate(text.splitlines(), 1):
        for word in _WORD.finditer(row):
            at = word.start() + 1
            if not _MOVE.fullmatch(word[0]):
                problems.append(Problem(file, number, at, f"{word[0]!r} is no jump", _RIGHT))
                continue
            holes = [Hole(*map(int, each[0].split(","))) for each in _HOLE.finditer(word[0])]
            jumps += [Jump(start, end) for start, end in pairwise(holes)]
            problems += [
                Problem(file, number, at + each.start(), f"there is no hole at {hole}", _inside(board))
                for each, hole in zip(_HOLE.finditer(word[0]), holes, strict=True)
                if hole not in board.holes
            ]
    if not jumps and not problems and len(board.pegs) != 1:
        problems.append(Problem(file, 1, 1, "no jump is written here", _RIGHT))
    if problems:
        raise ConfigError(problems)
    return tuple(jumps)


def _inside(board: Board) -> str:
    return f"a hole is called x,y, both counted from 0 at the top left, such as {board.holes[len(board.holes) // 2]}"
