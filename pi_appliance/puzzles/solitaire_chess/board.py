"""A solitaire chess board of up to eight by eight squares, the pieces on it, and the rules it is played by."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import NamedTuple

from pi_appliance.errors import UnknownName, WrongArgument
from pi_appliance.puzzles import pluralize

PIECES = "KQRBNP"
EMPTY = "."
NAMES = {"K": "king", "Q": "queen", "R": "rook", "B": "bishop", "N": "knight", "P": "pawn"}
SIDE = 8
MOST_CAPTURES = 31  # of one piece, where that is limited
RULES = ("pawns", "king", "captures-each", "search", "pieces", "size")


class Pawns(StrEnum):
    """Which way pawns capture."""

    DOWN = "down"  # towards the bottom of the drawing, as the original has it
    UP = "up"  # as white ones in chess
    BOTH = "both"


class King(StrEnum):
    """Whether a king may be captured."""

    FREE = "free"
    LAST = "last"  # never: so it is the last piece


class Search(StrEnum):
    """How solutions are looked for; they are the same."""

    DEPTH = "depth"  # one after the other: the first one comes soon
    BREADTH = "breadth"  # all positions after one capture, after two, and so on


class Square(NamedTuple):
    """A square; files count from the left and ranks from the bottom, both from 0."""

    file: int
    rank: int

    def __str__(self) -> str:
        return f"{'abcdefgh'[self.file]}{self.rank + 1}"


class Capture(NamedTuple):
    """The piece on `start` captures the one on `end`."""

    start: Square
    end: Square

    def __str__(self) -> str:
        return f"{self.start}x{self.end}"


Solution = tuple[Capture, ...]
"""A solution: captures from the board as it begins to a single piece."""


@dataclass(frozen=True, slots=True)
class Board:
    """The rows from the top to the bottom: KQRBNP, or . for an empty square; and the rules.

    Raises ValueError if it is not a rectangle of at most eight by eight, or if there is no piece.
    """

    rows: tuple[str, ...]
    pawns: Pawns = Pawns.DOWN
    king: King = King.FREE
    captures_each: int = 0
    """How often one piece may capture; 0: as often as it can."""
    search: Search = Search.DEPTH
    pieces: int = 0
    """How many pieces a board has that is made like this one; 0: as many as this one."""
    size: tuple[int, int] | None = None
    """How many files and ranks a board has that is made like this one; None: as this one."""

    def __post_init__(self) -> None:
        widths = {len(row) for row in self.rows}
        if len(widths) != 1 or not 1 <= len(self.rows) <= SIDE or not 1 <= min(widths) <= SIDE:
            raise ValueError("a board is a rectangle of at most eight by eight squares")
        marks = set("".join(self.rows))
        if marks - set(PIECES + EMPTY) or marks == {EMPTY}:
            raise ValueError("a square holds one of KQRBNP or ., and at least one holds a piece")

    @property
    def men(self) -> dict[Square, str]:
        """The pieces by their squares, in reading order."""
        ranks = reversed(range(len(self.rows)))
        return {
            Square(file, rank): mark
            for rank, row in zip(ranks, self.rows, strict=True)
            for file, mark in enumerate(row)
            if mark != EMPTY
        }


def with_rules(board: Board, rules: Mapping[str, str]) -> Board:
    """Return BOARD with RULES in place of its own. Raises UnknownName (no such rule or value), WrongArgument."""
    for name, value in rules.items():
        match name:
            case "pawns":
                board = replace(board, pawns=Pawns(_one_of(Pawns, name, value)))
            case "king":
                board = replace(board, king=King(_one_of(King, name, value)))
            case "search":
                board = replace(board, search=Search(_one_of(Search, name, value)))
            case "captures-each":
                board = replace(board, captures_each=_number(name, value, MOST_CAPTURES))
            case "pieces":
                board = replace(board, pieces=_number(name, value, SIDE * SIDE))
            case "size":
                board = replace(board, size=_size(value))
            case _:
                raise UnknownName("rule of solitaire chess", name, RULES)
    return board


def _one_of(choices: type[StrEnum], name: str, value: str) -> str:
    known = [choice.value for choice in choices]
    if value not in known:
        raise UnknownName(f"choice of {name}", value, known)
    return value


def _number(name: str, value: str, most: int) -> int:
    if not re.fullmatch("[0-9]{1,3}", value.strip()) or int(value) > most:
        raise WrongArgument(f"{name}: {value!r} is none of 0 to {most}")
    return int(value)


def _size(value: str) -> tuple[int, int] | None:
    if not value.strip():
        return None
    match = re.fullmatch(r"\s*([1-8])\s*[x\u00d7]\s*([1-8])\s*", value)
    if not match:
        raise WrongArgument(f"size: {value!r} is no size; write files x ranks, such as 4x4, at most 8x8")
    return int(match[1]), int(match[2])


def describe(board: Board) -> str:
    """Return the size of BOARD, and rules other than the default ones, in words."""
    parts = [f"{pluralize(len(board.men), 'piece')} on {len(board.rows[0])}x{len(board.rows)}"]
    if board.pawns is not Pawns.DOWN:
        parts.append("pawns capture up" if board.pawns is Pawns.UP else "pawns capture up and down")
    if board.king is King.LAST:
        parts.append("the king is never captured")
    if board.captures_each:
        parts.append(f"at most {pluralize(board.captures_each, 'capture')} a piece")
    if board.search is Search.BREADTH:
        parts.append("breadth first")
    return ", ".join(parts)
