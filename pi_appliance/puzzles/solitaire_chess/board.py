"""The solitaire chess board, its pieces and rules; known boards, notation and pictures."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from pi_appliance.errors import InvalidOption
from pi_appliance.puzzles import Rule, Rules, Step, Validation, check_rules, load_board, parse_number, pluralize
from pi_appliance.puzzles.text_format import Problems, find_tokens, svg_document

PIECES = "KQRBNP"
EMPTY = "."
PIECE_NAMES = {"K": "king", "Q": "queen", "R": "rook", "B": "bishop", "N": "knight", "P": "pawn"}
MAX_SIDE = 8  # squares
MAX_CAPTURE_LIMIT = 31  # captures of one piece
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
    """The rows from top to bottom, with KQRBNP or . per square, and the rules.

    Raises ValueError.
    """

    rows: tuple[str, ...]
    pawns: str = "down"  # direction in which pawns capture: down the drawing, up as in chess, or both
    king: str = "free"  # "last": the king may not be captured
    capture_limit: int = 0  # how often one piece may capture; 0: no limit
    search: str = "depth"  # "breadth": all positions after one capture, after two, and so on
    generated_pieces: int = 0  # pieces on boards that are generated from this one; 0: as many as on this one
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


def with_rules(board: Board | str, rules: Rules) -> Board:
    """Apply `rules` to `board`. Raises UnknownName or InvalidOption.

    >>> from pi_appliance.puzzles import solitaire_chess
    >>> solitaire_chess.with_rules("R..N", {"pawns": "up"}).pawns
    'up'
    """
    board = load_board(board, Board)
    values = check_rules("solitaire chess", RULES, rules, empty_is_default=False)
    limit = values.get("captures-each", str(board.capture_limit))
    pieces = values.get("pieces", str(board.generated_pieces))
    return replace(
        board,
        pawns=values.get("pawns", board.pawns),
        king=values.get("king", board.king),
        search=values.get("search", board.search),
        capture_limit=parse_number("captures-each", limit, 0, MAX_CAPTURE_LIMIT),
        generated_pieces=parse_number("pieces", pieces, 0, MAX_SIDE * MAX_SIDE),
        generated_size=_parse_size(values["size"]) if "size" in values else board.generated_size,
    )


def _parse_size(value: str) -> tuple[int, int] | None:
    if not value.strip():
        return None
    match = re.fullmatch(r"\s*([1-8])\s*[x\u00d7]\s*([1-8])\s*", value)
    if not match:
        raise InvalidOption(f"size: {value!r} is not a valid size; write files x ranks, such as 4x4, at most 8x8")
    return int(match[1]), int(match[2])


def describe(board: Board | str) -> str:
    """Describe the size of `board` and its non-default rules."""
    board = load_board(board, Board)
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
    # No solution: at least two pieces are left.
    "stuck": "...K/.R../B.N./N.BP",
    # One solution, on six by six squares.
    "wide": "..P..K/.....R/....../.N.B.P/.PN.../...NB.",
    # One solution, on a whole chess board.
    "full-size": "N....P../...B..../.P..B.../..B.B.P./......../P.R..N../N......./........",
}
BOARDS: Mapping[str, str] = {name: f"{rows}\n".replace("/", "\n") for name, rows in _KNOWN_ROWS.items()}


def check(board: Board | str, solution: Sequence[Capture]) -> Validation:
    """Check that `solution` has only legal captures and leaves a single piece of `board`.

    >>> from pi_appliance.puzzles import solitaire_chess
    >>> bool(solitaire_chess.check("R..N", next(solitaire_chess.solve("R..N").solutions)))
    True
    >>> solitaire_chess.check("R..N", ()).error
    '2 pieces are left after 0 captures'
    """
    board = load_board(board, Board)
    pieces = dict(board.pieces)
    captures_made = dict.fromkeys(pieces, 0)
    for number, (start, end) in enumerate(solution, 1):
        error = _check_capture(board, pieces, start, end)
        if not error and board.capture_limit and captures_made[start] >= board.capture_limit:
            times = pluralize(captures_made[start], "time")
            error = f"the {PIECE_NAMES[pieces[start]]} has already captured {times}"
        if error:
            return Validation(f"capture {number}, {start}x{end}: {error}")
        pieces[end] = pieces.pop(start)
        captures_made[end] = captures_made.pop(start) + 1
    if len(pieces) != 1:
        return Validation(f"{len(pieces)} pieces are left after {pluralize(len(solution), 'capture')}")
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


SQUARE_SIZE, LABEL_SIZE = 44, 22  # SVG units
# Each piece is drawn on a square of 44 by 44 units, on the same base.
_BASE = '<path d="M11 38h22v-3l-3-3h-16l-3 3z"/>'
PIECE_SHAPES = {
    "P": '<path d="M15 32c4-3 5-6 5-9h4c0 3 1 6 5 9z"/>'
    '<path d="M15.5 23.5h13v-3h-13z"/><circle cx="22" cy="15.5" r="5.5"/>',
    "R": '<path d="M14.5 32l1.5-13h12l1.5 13z"/><path d="M12.5 19v-10h4v3.5h3.5v-3.5h4v3.5h3.5v-3.5h4v10z"/>',
    "N": '<path d="M14 32c0-7 7-8 7-13l-6 4.5c-2 1-4-1-3-3l4-8.5 1.5-5 3.5 3c8 0 11.5 9 9.5 22z"/>'
    '<circle class="sol-eye" cx="18.5" cy="14.5" r="1.5"/>',
    "B": '<path d="M16 32c3-2 4-4 4-6h4c0 2 1 4 4 6z"/>'
    '<path d="M22 8c6 5 8.5 10 5 15.5h-10c-3.5-5.5-1-10.5 5-15.5z"/>'
    '<path d="M16 27h12v-3.5h-12z"/><circle cx="22" cy="6.5" r="2.5"/>'
    '<path class="sol-cut" d="M22 12.5v8M18.5 16.5h7"/>',
    "Q": '<path d="M14 32l-5-18 6.5 7 2.5-11 4 10.5 4-10.5 2.5 11 6.5-7-5 18z"/>'
    '<circle cx="9" cy="12" r="2.3"/>'
    '<circle cx="18" cy="8.5" r="2.3"/><circle cx="26" cy="8.5" r="2.3"/><circle cx="35" cy="12" r="2.3"/>',
    "K": '<path d="M14 32c-8-8-6-15 0-15 4 0 7 3 8 6 1-3 4-6 8-6 6 0 8 7 0 15z"/>'
    '<path d="M20.5 17.5v-4.5h-4v-3h4v-4h3v4h4v3h-4v4.5l-1.5 3z"/>',
}
STYLE = """\
.sol-light{fill:#f3e3c8}.sol-dark{fill:#c09a6b}.sol-piece{fill:#fdfdfb;stroke:#1d1d1b;stroke-width:1.6;stroke-linejoin:round}
.sol-eye{fill:#1d1d1b;stroke:none}.sol-cut{fill:none}.sol-from{fill:#2f6fd0;fill-opacity:.45}
.sol-to{fill:#d33a2c;fill-opacity:.55}
.sol-name{fill:#5b4a33;font:600 13px system-ui,-apple-system,'Segoe UI',Roboto,sans-serif;text-anchor:middle}
@media (prefers-color-scheme:dark){.sol-light{fill:#8d7a5f}.sol-dark{fill:#5a4a36}.sol-name{fill:#d7c6a4}
.sol-from{fill:#79b8ff}.sol-to{fill:#ff7b72}}"""


def render(board: Board | str) -> str:
    """Draw `board` in the format that `parse` reads, one line per row."""
    board = load_board(board, Board)
    return "".join(row + "\n" for row in board.rows)


def notate(board: Board | str, solution: Solution) -> str:
    """Write `solution` in long algebraic notation, such as "Rc1xb1 b3xc2". A pawn has no letter."""
    board = load_board(board, Board)
    return " ".join(
        f"{pieces[capture.start].replace('P', '')}{capture}" for pieces, capture, _ in _replay(board, solution)
    )


def render_solution(board: Board | str, solution: Solution) -> str:
    """Draw `solution`: its notation, then the board after each capture."""
    board = load_board(board, Board)
    drawings = [notate(board, solution)]
    for _, _, pieces in _replay(board, solution):
        marks = "".join(pieces.get(square, EMPTY) for square in board.squares)
        width = len(board.rows[0])
        drawings.append("\n".join(marks[at : at + width] for at in range(0, len(marks), width)))
    return "\n\n".join(drawings) + "\n"


def render_svg(board: Board | str) -> str:
    """Draw `board` as a self-contained SVG picture."""
    board = load_board(board, Board)
    return _draw_svg(board, board.pieces)


def steps(board: Board | str, solution: Solution) -> Iterator[Step]:
    """Yield a picture of the board before and after each capture of `solution`."""
    board = load_board(board, Board)
    yield Step("The board", _draw_svg(board, board.pieces))
    words = notate(board, solution).split()
    for number, (before, capture, pieces) in enumerate(_replay(board, solution)):
        caption = f"{number + 1}. {words[number]} captures the {PIECE_NAMES[before[capture.end]]}"
        yield Step(caption, _draw_svg(board, pieces, capture))


_Pieces = Mapping[Square, str]


def _replay(board: Board, line: Solution) -> Iterator[tuple[_Pieces, Capture, _Pieces]]:
    """Yield each capture of `line` with the pieces before and after it."""
    pieces: _Pieces = board.pieces
    for capture in line:
        after = {square: piece for square, piece in pieces.items() if square != capture.start}
        after[capture.end] = pieces[capture.start]
        yield pieces, capture, after
        pieces = after


def _draw_svg(board: Board, pieces: _Pieces, last: Capture | None = None) -> str:
    files, ranks = len(board.rows[0]), len(board.rows)
    parts: list[str] = []
    for square in sorted(board.squares, key=lambda square: square.rank):
        x, y = LABEL_SIZE + square.file * SQUARE_SIZE, (ranks - 1 - square.rank) * SQUARE_SIZE + 4
        names = ["light" if sum(square) % 2 else "dark"]
        if last and square in last:
            names.append("from" if square == last.start else "to")
        parts += (
            f'<rect class="sol-{name}" x="{x}" y="{y}" width="{SQUARE_SIZE}" height="{SQUARE_SIZE}"/>' for name in names
        )
        if square in pieces:
            shape = PIECE_SHAPES[pieces[square]] + _BASE
            parts.append(f'<g class="sol-piece" transform="translate({x} {y})">{shape}</g>')
    for file in range(files):
        x, y = LABEL_SIZE + file * SQUARE_SIZE + SQUARE_SIZE // 2, ranks * SQUARE_SIZE + 19
        parts.append(f'<text class="sol-name" x="{x}" y="{y}">{"abcdefgh"[file]}</text>')
    for rank in range(ranks):
        y = (ranks - 1 - rank) * SQUARE_SIZE + SQUARE_SIZE // 2 + 9
        parts.append(f'<text class="sol-name" x="10" y="{y}">{rank + 1}</text>')
    title = "Solitaire chess: " + ", ".join(f"{PIECE_NAMES[piece]} {square}" for square, piece in pieces.items())
    width, height = LABEL_SIZE + files * SQUARE_SIZE + 6, ranks * SQUARE_SIZE + LABEL_SIZE + 6
    return svg_document(width, height, title, STYLE, parts)


_FIGURES = dict(zip("♔♕♖♗♘♙♚♛♜♝♞♟", PIECES * 2, strict=True))
_TEXT_STYLE = "\ufe0e"  # Unicode variation selector: shows a plain figure instead of a coloured one
_EMPTY_MARKS = ".-_·"
_BOARD_HELP = "a square is one of K Q R B N P, or . if it is empty; a number stands for as many empty squares"
_FEN = re.compile(r"(\s*[^\s/]+(?:/[^\s/]+)+)\s+[wb](?:\s|$).*")  # the board, followed by the other fields
_CAPTURE = re.compile(r"([KQRBNP♔-♟]?)\ufe0e?([a-hA-H])([1-8])[x:\u00d7-]?([a-hA-H])([1-8])")


def parse(text: str, file: str = "board") -> Board:
    """Read a board, one line per row or rows separated by /. Raises ConfigError.

    >>> from pi_appliance.puzzles import solitaire_chess
    >>> solitaire_chess.parse("2RP/1RN1/BN2/PB2").rows
    ('..RP', '.RN.', 'BN..', 'PB..')
    """
    problems = Problems(file)
    rows: list[tuple[str, int, int]] = []
    for line, column, row, between in _split_rows(text):
        known = len(problems)
        marks = _parse_row(row, line, column, problems)
        if marks or len(problems) > known:
            rows.append((marks, line, column))
        elif between:
            problems.add(line, column, "a row without squares", "draw empty squares as .")
    if not rows:
        problems.add(1, 1, "there is no board here", _BOARD_HELP)
    elif not problems:
        _check_shape(rows, problems)
    problems.raise_any()
    return Board(tuple(marks for marks, _, _ in rows))


def _split_rows(text: str) -> Iterator[tuple[int, int, str, bool]]:
    """Yield each row: its line, its column, its text, and whether it is between two /.

    FEN fields after the rows are left out.
    """
    for number, line in enumerate(text.splitlines(), 1):
        fen = _FEN.fullmatch(line)
        column = 1
        parts = (fen[1] if fen else line).split("/")
        for at, row in enumerate(parts, 1):
            yield number, column, row, 1 < at < len(parts)
            column += len(row) + 1


def _parse_row(row: str, line: int, first: int, problems: Problems) -> str:
    """Return the squares of `row` as . and letters, up to its first problem."""
    marks = ""
    for column, mark in enumerate(row, first):
        if mark in "12345678":
            marks += EMPTY * int(mark)
        elif mark in _FIGURES or (mark.isascii() and mark.upper() in PIECES):
            marks += _FIGURES.get(mark, mark.upper())
        elif mark in _EMPTY_MARKS:
            marks += EMPTY
        elif not mark.isspace() and mark != _TEXT_STYLE:
            problems.add(line, column, f"{mark!r} is not a piece", _BOARD_HELP)
            break
    return marks


def _check_shape(rows: list[tuple[str, int, int]], problems: Problems) -> None:
    width = len(rows[0][0])
    max_size = f"a board has at most {MAX_SIDE} by {MAX_SIDE}"
    for at, (marks, line, column) in enumerate(rows):
        if len(marks) > MAX_SIDE:
            problems.add(line, column, f"this row has {len(marks)} squares", max_size)
        elif len(marks) != width:
            message = f"this row has {pluralize(len(marks), 'square')}, and the first one {width}"
            problems.add(line, column, message, "all rows have the same length; draw empty squares as .")
        if at == MAX_SIDE:
            problems.add(line, column, f"the board has {len(rows)} rows", max_size)
    if not set("".join(marks for marks, _, _ in rows)) - {EMPTY}:
        problems.add(*rows[0][1:], "the board has no piece", _BOARD_HELP)


def parse_solution(board: Board | str, text: str, file: str = "solution") -> Solution:
    """Read a solution of `board` such as "Rc1xb1 Bd2xb1". Raises ConfigError with every problem."""
    board = load_board(board, Board)
    hint = "write each capture as piece, square, x, square, such as Rc1xb1; a pawn has no letter"
    pieces: dict[Square, str] = dict(board.pieces)
    problems = Problems(file)
    captures: list[Capture] = []
    for word, place in find_tokens(text):
        match = _CAPTURE.fullmatch(word)
        if not match:
            problems.add(*place, f"{word!r} is not a valid capture", hint)
            continue
        start, end = (Square("abcdefgh".index(match[at].lower()), int(match[at + 1]) - 1) for at in (2, 4))
        piece = _FIGURES.get(match[1], match[1]) or "P"
        if pieces.get(start, piece) != piece:
            problems.add(*place, f"there is no {piece} on {start}, but {pieces[start]}", hint)
        pieces[end] = pieces.pop(start, piece)
        captures.append(Capture(start, end))
    problems.raise_any()
    return tuple(captures)
