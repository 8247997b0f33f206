"""Reads a solitaire chess board from the ways that one is written down."""

import re
from collections.abc import Iterator

from pi_appliance.errors import ConfigError, Problem
from pi_appliance.puzzles import pluralize
from pi_appliance.puzzles.solitaire_chess.board import EMPTY, PIECES, SIDE, Board, Capture, Solution, Square

_FIGURES = dict(zip("♔♕♖♗♘♙♚♛♜♝♞♟", PIECES * 2, strict=True))
_EMPTIES = ".-_·"
_RIGHT = "a square is one of K Q R B N P, or . where it is empty; a number stands for so many empty ones"
_FEN = re.compile(r"(\s*[^\s/]+(?:/[^\s/]+)+)\s+[wb](?:\s|$).*")  # what follows the board: whose turn, and so on
_CAPTURE = re.compile(r"([KQRBNP♔-♟]?)\ufe0e?([a-hA-H])([1-8])[x:\u00d7-]?([a-hA-H])([1-8])")


def parse(text: str, file: str) -> Board:
    """Return the board drawn in TEXT, a row a line, or rows parted by /. Raises ConfigError with every problem."""
    problems: list[Problem] = []
    rows: list[tuple[str, int, int]] = []
    for number, column, row, between in _rows(text):
        drawn, strange = _row(row, file, number, column)
        problems += strange
        if drawn or strange:
            rows.append((drawn, number, column))
        elif between:
            problems.append(Problem(file, number, column, "a row without squares", "draw empty squares as ."))
    if not rows:
        problems.append(Problem(file, 1, 1, "no board is drawn here", _RIGHT))
    elif not problems:
        problems += _shape(rows, file)
    if problems:
        raise ConfigError(problems)
    return Board(tuple(drawn for drawn, _, _ in rows))


def _rows(text: str) -> Iterator[tuple[int, int, str, bool]]:
    """Yield rows with the line and the column where each begins, and whether it stands between two /.

    What follows a board in FEN is left out.
    """
    for number, line in enumerate(text.splitlines(), 1):
        fen = _FEN.fullmatch(line)
        column = 1
        parts = (fen[1] if fen else line).split("/")
        for at, row in enumerate(parts, 1):
            yield number, column, row, 1 < at < len(parts)
            column += len(row) + 1


def _row(row: str, file: str, number: int, first: int) -> tuple[str, list[Problem]]:
    """Return ROW as . and letters, and its first problem if there is one."""
    drawn = ""
    for column, mark in enumerate(row, first):
        if mark in "12345678":
            drawn += EMPTY * int(mark)
        elif mark in _FIGURES or (mark.isascii() and mark.upper() in PIECES):
            drawn += _FIGURES.get(mark, mark.upper())
        elif mark in _EMPTIES:
            drawn += EMPTY
        elif not mark.isspace() and mark != "\ufe0e":  # what asks for a plain figure, not a coloured one
            return drawn, [Problem(file, number, column, f"{mark!r} is no piece", _RIGHT)]
    return drawn, []


def _shape(rows: list[tuple[str, int, int]], file: str) -> Iterator[Problem]:
    wide = len(rows[0][0])
    for at, (drawn, number, column) in enumerate(rows):
        if len(drawn) > SIDE:
            right = f"a board has at most {SIDE} by {SIDE}"
            yield Problem(file, number, column, f"this row has {len(drawn)} squares", right)
        elif len(drawn) != wide:
            wrong = f"this row has {pluralize(len(drawn), 'square')}, and the first one {wide}"
            yield Problem(file, number, column, wrong, "all rows are of the same length; draw empty squares as .")
        if at == SIDE:
            right = f"a board has at most {SIDE} by {SIDE}"
            yield Problem(file, number, column, f"the board has {len(rows)} rows", right)
    if not set("".join(drawn for drawn, _, _ in rows)) - {EMPTY}:
        yield Problem(file, rows[0][1], rows[0][2], "the board has no piece", _RIGHT)


def parse_solution(board: Board, text: str, file: str) -> Solution:
    """Return the line of BOARD that TEXT notates, such as "Rc1xb1 Bd2xb1". Raises ConfigError with every problem."""
    right = "write each capture as piece, square, x, square, such as Rc1xb1; a pawn has no letter"
    men: dict[Square, str] = dict(board.men)
    problems: list[Problem] = []
    line: list[Capture] = []
    for match in re.finditer(r"\S+", text):
        word = _CAPTURE.fullmatch(match[0])
        place = file, text.count("\n", 0, match.start()) + 1, match.start() - text.rfind("\n", 0, match.start())
        if not word:
            problems.append(Problem(*place, f"{match[0]!r} is no capture", right))
            continue
        start, end = (Square("abcdefgh".index(word[at].lower()), int(word[at + 1]) - 1) for at in (2, 4))
        piece = _FIGURES.get(word[1], word[1]) or "P"
        if men.get(start, piece) != piece:
            problems.append(Problem(*place, f"there is no {piece} on {start}, but {men[start]}", right))
        men[end] = men.pop(start, piece)
        line.append(Capture(start, end))
    if problems:
        raise ConfigError(problems)
    return tuple(line)
