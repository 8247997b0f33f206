"""The solitaire chess board, its pieces and rules, and the built-in boards."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import NamedTuple

from pi_appliance.errors import InvalidOption
from pi_appliance.puzzles import Rule, Validation, check_rules, pluralize

PIECES = "KQRBNP"
EMPTY = "."
PIECE_NAMES = {"K": "king", "Q": "queen", "R": "rook", "B": "bishop", "N": "knight", "P": "pawn"}
MAX_SIDE = 8  # squares
MAX_CAPTURE_LIMIT = 31  # of one piece
RULES = {
    "pawns": Rule("which way pawns capture", "down", ("down", "up", "both")),
    "king": Rule("whether a king may be captured (free) or must be the last piece (last)", "free", ("free", "last")),
    "captures-each": Rule("how often one piece may capture, such as 2; 0: no limit", "0"),
    "search": Rule("the search order; the solutions are the same", "depth", ("depth", "breadth")),
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
    pawns: str = "down"  # which way they capture: down the drawing, up as in chess, or both
    king: str = "free"  # or "last": it may not be captured
    capture_limit: int = 0  # how often one piece may capture; 0: no limit
    search: str = "depth"  # or "breadth": all positions after one capture, after two, and so on
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
        return {square: mark for square, mark in zip(self.squares, "".join(self.rows), strict=True) if mark != EMPTY}

    @property
    def squares(self) -> list[Square]:
        """All squares in reading order."""
        return [Square(file, rank) for rank in reversed(range(len(self.rows))) for file in range(len(self.rows[0]))]


def with_rules(board: Board, rules: Mapping[str, str]) -> Board:
    """Apply `rules` to `board`. Raises UnknownName or InvalidOption."""
    rules = check_rules("solitaire chess", RULES, rules, empty_is_default=False)
    limit = rules.get("captures-each", str(board.capture_limit))
    pieces = rules.get("pieces", str(board.generated_pieces))
    return replace(
        board,
        pawns=rules.get("pawns", board.pawns),
        king=rules.get("king", board.king),
        search=rules.get("search", board.search),
        capture_limit=_parse_number("captures-each", limit, MAX_CAPTURE_LIMIT),
        generated_pieces=_parse_number("pieces", pieces, MAX_SIDE * MAX_SIDE),
        generated_size=_parse_size(rules["size"]) if "size" in rules else board.generated_size,
    )


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
    limit = board.capture_limit and f", at most {pluralize(board.capture_limit, 'capture')} a piece"
    return (
        f"{pluralize(len(board.pieces), 'piece')} on {len(board.rows[0])}x{len(board.rows)}"
        + {"down": "", "up": ", pawns capture up", "both": ", pawns capture up and down"}[board.pawns]
        + (", the king is never captured" if board.king == "last" else "")
        + (limit or "")
        + (", breadth first" if board.search == "breadth" else "")
    )


_KNOWN_ROWS = {
    # One solution, in three captures.
    "first-steps": "..../N.../R.../B.N.",
    # One solution: the bishop makes the first capture, a knight the last.
    "seven": "KNB./...N/PB../.P..",
    # 68,917 solutions; 6,657 if the king may not be captured.
    "crowd": "RBK./.N.B/.NQR/....",
    # No solution: two pieces are left at best.
    "stuck": "...K/.R../B.N./N.BP",
    # One solution, on six by six squares.
    "wide": "..P..K/.....R/....../.N.B.P/.PN.../...NB.",
    # One solution, on a whole chess board.
    "full-size": "N....P../...B..../.P..B.../..B.B.P./......../P.R..N../N......./........",
}
BOARDS: Mapping[str, str] = MappingProxyType(
    {name: f"{rows}\n".replace("/", "\n") for name, rows in _KNOWN_ROWS.items()}
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
    if pieces[end] == "K" and board.king == "last":
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


def _can_reach(pawns: str, piece: str, across: int, up: int) -> bool:
    """Return whether `piece` may move `across` files and `up` ranks on an empty board."""
    width, height = abs(across), abs(up)
    straight, diagonal = (width == 0) != (height == 0), width == height != 0
    return {
        "K": max(width, height) == 1,
        "Q": straight or diagonal,
        "R": straight,
        "B": diagonal,
        "N": {width, height} == {1, 2},
        "P": width == height == 1 and (pawns == "both" or (up > 0) == (pawns == "up")),
    }[piece]
