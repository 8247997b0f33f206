"""Read solitaire chess boards and solutions."""

import re
from collections.abc import Iterator

from pi_appliance.errors import ConfigError, Problem
from pi_appliance.puzzles import pluralize
from pi_appliance.puzzles.solitaire_chess.board import EMPTY, MAX_SIDE, PIECES, Board, Capture, Solution, Square

_FIGURES = dict(zip("♔♕♖♗♘♙♚♛♜♝♞♟", PIECES * 2, strict=True))
_TEXT_STYLE = "\ufe0e"  # Unicode variation selector: a plain figure, not a coloured one
_EMPTY_MARKS = ".-_·"
_BOARD_HELP = "a square is one of K Q R B N P, or . if it is empty; a number stands for as many empty squares"
_FEN = re.compile(r"(\s*[^\s/]+(?:/[^\s/]+)+)\s+[wb](?:\s|$).*")  # with the fields after the board
_CAPTURE = re.compile(r"([KQRBNP♔-♟]?)\ufe0e?([a-hA-H])([1-8])[x:\u00d7-]?([a-hA-H])([1-8])")


def parse(text: str, file: str) -> Board:
    """Read a board, one line per row or rows separated by /. Raises ConfigError."""
    problems: list[Problem] = []
    rows: list[tuple[str, int, int]] = []
    for line, column, row, between in _split_rows(text):
        marks, row_problems = _parse_row(row, file, line, column)
        problems += row_problems
        if marks or row_problems:
            rows.append((marks, line, column))
        elif between:
            problems.append(Problem(file, line, column, "a row without squares", "draw empty squares as ."))
    if not rows:
        problems.append(Problem(file, 1, 1, "there is no board here", _BOARD_HELP))
    elif not problems:
        problems += _check_shape(rows, file)
    if problems:
        raise ConfigError(problems)
    return Board(tuple(marks for marks, _, _ in rows))


def _split_rows(text: str) -> Iterator[tuple[int, int, str, bool]]:
    """Yield line, column and text of each row without FEN fields, and if it is between two /."""
    for number, line in enumerate(text.splitlines(), 1):
        fen = _FEN.fullmatch(line)
        column = 1
        parts = (fen[1] if fen else line).split("/")
        for at, row in enumerate(parts, 1):
            yield number, column, row, 1 < at < len(parts)
            column += len(row) + 1


def _parse_row(row: str, file: str, line: int, first: int) -> tuple[str, list[Problem]]:
    """Return the squares of `row` as . and letters, and its first problem if there is one."""
    marks = ""
    for column, mark in enumerate(row, first):
        if mark in "12345678":
            marks += EMPTY * int(mark)
        elif mark in _FIGURES or (mark.isascii() and mark.upper() in PIECES):
            marks += _FIGURES.get(mark, mark.upper())
        elif mark in _EMPTY_MARKS:
            marks += EMPTY
        elif not mark.isspace() and mark != _TEXT_STYLE:
            return marks, [Problem(file, line, column, f"{mark!r} is not a piece", _BOARD_HELP)]
    return marks, []


def _check_shape(rows: list[tuple[str, int, int]], file: str) -> Iterator[Problem]:
    width = len(rows[0][0])
    max_size = f"a board has at most {MAX_SIDE} by {MAX_SIDE}"
    for at, (marks, line, column) in enumerate(rows):
        if len(marks) > MAX_SIDE:
            yield Problem(file, line, column, f"this row has {len(marks)} squares", max_size)
        elif len(marks) != width:
            wrong = f"this row has {pluralize(len(marks), 'square')}, and the first one {width}"
            yield Problem(file, line, column, wrong, "all rows have the same length; draw empty squares as .")
        if at == MAX_SIDE:
            yield Problem(file, line, column, f"the board has {len(rows)} rows", max_size)
    if not set("".join(marks for marks, _, _ in rows)) - {EMPTY}:
        yield Problem(file, rows[0][1], rows[0][2], "the board has no piece", _BOARD_HELP)


def parse_solution(board: Board, text: str, file: str) -> Solution:
    """Read a solution of `board` such as "Rc1xb1 Bd2xb1". Raises ConfigError with every problem."""
    right = "write each capture as piece, square, x, square, such as Rc1xb1; a pawn has no letter"
    pieces: dict[Square, str] = dict(board.pieces)
    problems: list[Problem] = []
    captures: list[Capture] = []
    for word in re.finditer(r"\S+", text):
        match = _CAPTURE.fullmatch(word[0])
        place = file, text.count("\n", 0, word.start()) + 1, word.start() - text.rfind("\n", 0, word.start())
        if not match:
            problems.append(Problem(*place, f"{word[0]!r} is not a valid capture", right))
            continue
        start, end = (Square("abcdefgh".index(match[at].lower()), int(match[at + 1]) - 1) for at in (2, 4))
        piece = _FIGURES.get(match[1], match[1]) or "P"
        if pieces.get(start, piece) != piece:
            problems.append(Problem(*place, f"there is no {piece} on {start}, but {pieces[start]}", right))
        pieces[end] = pieces.pop(start, piece)
        captures.append(Capture(start, end))
    if problems:
        raise ConfigError(problems)
    return tuple(captures)
