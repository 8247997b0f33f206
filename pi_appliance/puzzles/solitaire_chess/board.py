"""The solitaire chess board, its pieces and rules, and the built-in boards."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from types import MappingProxyType
from typing import NamedTuple

from pi_appliance.errors import InvalidOption, UnknownName
from pi_appliance.puzzles import Rule, Validation, pluralize

PIECES = "KQRBNP"
EMPTY = "."
PIECE_NAMES = {"K": "king", "Q": "queen", "R": "rook", "B": "bishop", "N": "knight", "P": "pawn"}
MAX_SIDE = 8  # squares
MAX_CAPTURE_LIMIT = 31  # of one piece


class PawnDirection(StrEnum):
    """Which way pawns capture."""

    DOWN = "down"  # towards the bottom of the drawing, as in the original program
    UP = "up"  # like white pawns in chess
    BOTH = "both"


class KingRule(StrEnum):
    """Whether a king may be captured."""

    FREE = "free"
    LAST = "last"  # no, so it is the last piece


class SearchOrder(StrEnum):
    """How solutions are searched. Both orders list the same solutions."""

    DEPTH = "depth"  # one after the other: the first one is found early
    BREADTH = "breadth"  # all positions after one capture, after two, and so on


def _choices(values: type[StrEnum]) -> tuple[str, tuple[str, ...]]:
    names = tuple(each.value for each in values)
    return names[0], names


RULES = {
    "pawns": Rule("which way pawns capture", *_choices(PawnDirection)),
    "king": Rule("whether a king may be captured (free) or must be the last piece (last)", *_choices(KingRule)),
    "captures-each": Rule("how often one piece may capture, such as 2; 0: no limit", "0"),
    "search": Rule("the search order; the solutions are the same", *_choices(SearchOrder)),
    "pieces": Rule("the number of pieces of a generated board; 0: as many as this board", "0"),
    "size": Rule("the size of a generated board, files x ranks, such as 5x4; empty: the size of this board"),
}


class Square(NamedTuple):
    """A square. Files count from the left, ranks from the bottom, both from 0."""

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


Solution = tuple[Capture, ...]  # captures from the first position to a single piece


@dataclass(frozen=True, slots=True)
class Board:
    """The rows from top to bottom, KQRBNP or . per square, and the rules. Raises ValueError."""

    rows: tuple[str, ...]
    pawns: PawnDirection = PawnDirection.DOWN
    king: KingRule = KingRule.FREE
    capture_limit: int = 0  # how often one piece may capture; 0: no limit
    search: SearchOrder = SearchOrder.DEPTH
    generated_pieces: int = 0  # the number of pieces of boards generated from this one; 0: as many
    generated_size: tuple[int, int] | None = None
    """The files and ranks of boards generated from this one; None: the same."""

    def __post_init__(self) -> None:
        widths = {len(row) for row in self.rows}
        if len(widths) != 1 or not 1 <= len(self.rows) <= MAX_SIDE or not 1 <= min(widths) <= MAX_SIDE:
            raise ValueError("a board must be a rectangle of at most eight by eight squares")
        marks = set("".join(self.rows))
        if marks - set(PIECES + EMPTY) or marks == {EMPTY}:
            raise ValueError("each square must hold one of KQRBNP or ., and at least one a piece")

    @property
    def pieces(self) -> dict[Square, str]:
        """The pieces by their squares, in reading order."""
        ranks = reversed(range(len(self.rows)))
        return {
            Square(file, rank): mark
            for rank, row in zip(ranks, self.rows, strict=True)
            for file, mark in enumerate(row)
            if mark != EMPTY
        }


def with_rules(board: Board, rules: Mapping[str, str]) -> Board:
    """Apply `rules` to `board`. Raises UnknownName or InvalidOption."""
    for name, value in rules.items():
        match name:
            case "pawns":
                board = replace(board, pawns=PawnDirection(_parse_choice(PawnDirection, name, value)))
            case "king":
                board = replace(board, king=KingRule(_parse_choice(KingRule, name, value)))
            case "search":
                board = replace(board, search=SearchOrder(_parse_choice(SearchOrder, name, value)))
            case "captures-each":
                board = replace(board, capture_limit=_parse_number(name, value, MAX_CAPTURE_LIMIT))
            case "pieces":
                board = replace(board, generated_pieces=_parse_number(name, value, MAX_SIDE * MAX_SIDE))
            case "size":
                board = replace(board, generated_size=_parse_size(value))
            case _:
                raise UnknownName("rule of solitaire chess", name, list(RULES))
    return board


def _parse_choice(choices: type[StrEnum], name: str, value: str) -> str:
    known = [choice.value for choice in choices]
    if value not in known:
        raise UnknownName(f"choice of {name}", value, known)
    return value


def _parse_number(name: str, value: str, most: int) -> int:
    if not re.fullmatch("[0-9]{1,3}", value.strip()) or int(value) > most:
        raise InvalidOption(f"{name}: {value!r} is not a valid number; write a number from 0 to {most}")
    return int(value)


def _parse_size(value: str) -> tuple[int, int] | None:
    if not value.strip():
        return None
    match = re.fullmatch(r"\s*([1-8])\s*[x\u00d7]\s*([1-8])\s*", value)
    if not match:
        raise InvalidOption(f"size: {value!r} is not a valid size; write files x ranks, such as 4x4, at most 8x8")
    return int(match[1]), int(match[2])


def describe(board: Board) -> str:
    """Describe the size of `board` and its non-default rules."""
    parts = [f"{pluralize(len(board.pieces), 'piece')} on {len(board.rows[0])}x{len(board.rows)}"]
    if board.pawns is not PawnDirection.DOWN:
        parts.append("pawns capture up" if board.pawns is PawnDirection.UP else "pawns capture up and down")
    if board.king is KingRule.LAST:
        parts.append("the king is never captured")
    if board.capture_limit:
        parts.append(f"at most {pluralize(board.capture_limit, 'capture')} a piece")
    if board.search is SearchOrder.BREADTH:
        parts.append("breadth first")
    return ", ".join(parts)


def _split_rows(rows: str) -> str:
    return "".join(row + "\n" for row in rows.split("/"))


BOARDS: Mapping[str, str] = MappingProxyType(
    {
        # One solution, in three captures.
        "first-steps": _split_rows("..../N.../R.../B.N."),
        # One solution: the bishop makes the first capture, a knight the last.
        "seven": _split_rows("KNB./...N/PB../.P.."),
        # 68,917 solutions; 6,657 if the king may not be captured.
        "crowd": _split_rows("RBK./.N.B/.NQR/...."),
        # No solution: two pieces are left at best.
        "stuck": _split_rows("...K/.R../B.N./N.BP"),
        # One solution, on six by six squares.
        "wide": _split_rows("..P..K/.....R/....../.N.B.P/.PN.../...NB."),
        # One solution, on a whole chess board.
        "full-size": _split_rows("N....P../...B..../.P..B.../..B.B.P./......../P.R..N../N......./........"),
    }
)


def check(board: Board, line: Sequence[Capture]) -> Validation:
    """Check that `line` has only legal captures and leaves a single piece of `board`."""
    pieces = dict(board.pieces)
    captures_made = dict.fromkeys(pieces, 0)
    for number, (start, end) in enumerate(line, 1):
        error = _check_capture(board, pieces, start, end)
        if not error and board.capture_limit and captures_made[start] >= board.capture_limit:
            times = pluralize(captures_made[start], "time")
            error = f"the {PIECE_NAMES[pieces[start]]} has already captured {times}"
        if error:
            return Validation(f"capture {number}, {start}x{end}: {error}")
        pieces[end] = pieces.pop(start)
        captures_made[end] = captures_made.pop(start) + 1
    if len(pieces) != 1:
        return Validation(f"{len(pieces)} pieces are left after {pluralize(len(line), 'capture')}")
    return Validation()


def _check_capture(board: Board, pieces: dict[Square, str], start: Square, end: Square) -> str:
    """Return the rule that the capture breaks; empty if none."""
    for square in (start, end):
        if square not in pieces:
            return f"there is no piece on {square}"
    if pieces[end] == "K" and board.king is KingRule.LAST:
        return "a king is never captured"
    piece, across, up = pieces[start], end[0] - start[0], end[1] - start[1]
    if not _can_reach(board.pawns, piece, across, up):
        return f"a {PIECE_NAMES[piece]} does not capture like that"
    distance = max(abs(across), abs(up))
    if piece != "N":
        for step in range(1, distance):
            between = Square(start[0] + across * step // distance, start[1] + up * step // distance)
            if between in pieces:
                return f"{between} is in the way"
    return ""


def _can_reach(pawns: PawnDirection, piece: str, across: int, up: int) -> bool:
    """Return whether `piece` may move `across` files and `up` ranks on an empty board."""
    width, height = abs(across), abs(up)
    straight, diagonal = (width == 0) != (height == 0), width == height != 0
    match piece:
        case "K":
            return max(width, height) == 1
        case "Q":
            return straight or diagonal
        case "R":
            return straight
        case "B":
            return diagonal
        case "N":
            return {width, height} == {1, 2}
        case _:
            one_diagonal = width == height == 1
            return one_diagonal and (pawns is PawnDirection.BOTH or (up > 0) == (pawns is PawnDirection.UP))
