"""Read a Bimaru puzzle: the totals of the columns, and rows of squares with their totals."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from pi_appliance.errors import InvalidOption, suggest
from pi_appliance.puzzles import pluralize
from pi_appliance.puzzles.battleship.fleet import MAX_SIDE, SIDES, Square, format_fleet, parse_fleet
from pi_appliance.puzzles.bimaru.board import (
    ENDS,
    FLEETS,
    SHIP_MARKS,
    Board,
    Mark,
    column_name,
    default_fleet,
    find_fleet_error,
)
from pi_appliance.puzzles.text_format import Problems, Token

_ALIASES = ("?", ".~≈wW", "Xx", "<lL◀", ">rR▶", "^tT▲", "vVbB▼", "#mM■", "OoSs●")
MARKS = {alias: aliases[0] for aliases in _ALIASES for alias in aliases}
_HEADER = re.compile(r"\s*([A-Za-z]+)\s*:(.*)")
_TOKEN = re.compile(r"\d+|[^\s|,;:]", re.ASCII)
_COMPACT_TOTALS = re.compile(r"\s*\d{2,}\s*", re.ASCII)
_UNKNOWN_TOTALS = "?-"
_MARK_HELP = "a square is ? (unknown), . (water), X (ship) or a piece: < > ^ v (ends), # (middle), O (single)"
_TOTALS_HELP = "write the total of each column above the grid, with blanks between them, and - for an unknown one"


class _ParseState(Problems):
    """What a parser has read so far: the tokens of a drawing, and the problems."""

    def __init__(self, file: str) -> None:
        super().__init__(file)
        self.fleet: tuple[int, ...] = ()
        self.fleet_place = (1, 1)
        self.row_totals: list[Token] = []
        self.column_totals: Sequence[Token] = ()
        self.squares: dict[Square, Token] = {}


def parse(text: str, file: str = "board") -> Board:
    """Read a puzzle, with "fleet: 4,3,3,2,2,2,1,1,1,1" above it. Raises ConfigError.

    >>> from pi_appliance.puzzles import bimaru
    >>> bimaru.parse(bimaru.BOARDS["small"]).fleet
    (3, 2, 2, 1, 1, 1)
    """
    state = _ParseState(file)
    body = [tokens for row in enumerate(text.splitlines(), 1) if (tokens := _parse_row(state, row))]
    if not body and not state:
        state.add(1, 1, "no puzzle is drawn here", f"{_TOTALS_HELP}; {_MARK_HELP}")
    state.raise_any()
    at = _find_column_totals(state, body)
    state.raise_any()
    state.column_totals = body.pop(at)
    rows = _parse_squares(state, body)
    state.raise_any()
    board = Board(
        rows=rows,
        row_totals=_read_totals(state, state.row_totals, len(rows[0]), [f"row {y + 1}" for y in range(len(rows))]),
        column_totals=_read_totals(state, state.column_totals, len(rows), list(map(column_name, range(len(rows[0]))))),
        fleet=state.fleet,
    )
    state.raise_any()
    board = _add_fleet(state, board)
    state.raise_any()
    _check_lines(state, board)
    marks = {square: rows[square.y][square.x] for square in state.squares}
    for square in board.find_marks(SHIP_MARKS):
        for message, hint in _find_piece_errors(marks, square):
            state.add(*state.squares[square].place, message, hint)
    state.raise_any()
    return board


def _parse_row(state: _ParseState, row: tuple[int, str]) -> list[Token]:
    """Return the tokens of a row. If the row is the fleet, store that and return no tokens."""
    line, text = row
    match = _HEADER.fullmatch(text)
    if match is None:
        tokens = [Token(found[0], (line, found.start() + 1)) for found in _TOKEN.finditer(text)]
        if _COMPACT_TOTALS.fullmatch(text):
            return [Token(digit, (line, tokens[0].place[1] + at)) for at, digit in enumerate(tokens[0].text)]
        return tokens
    column = match.start(1) + 1
    if match[1].lower() != "fleet":
        state.add(line, column, f"unknown header {match[1]!r}", suggest(match[1].lower(), ["fleet"]))
    elif state.fleet:
        state.add(line, column, "fleet is given twice", "remove one of the two")
    else:
        try:
            state.fleet, state.fleet_place = parse_fleet(match[2], FLEETS), (line, column)
        except InvalidOption as error:
            state.add_error(line, column, error)
    return []


def _is_total(token: Token) -> bool:
    """Return whether a token is certainly a total: a number or -. A ? may also be a square."""
    return token.text.isdecimal() or token.text == "-"


def _find_column_totals(state: _ParseState, body: Sequence[Sequence[Token]]) -> int:
    """Return the number of the row with the column totals: the first or the last one."""
    clear = [at for at, tokens in enumerate(body) if _is_clear_total_row(tokens)]
    for at in clear[1:]:
        message = f"these are column totals, and those in line {body[clear[0]][0].place[0]}, too"
        state.add(*body[at][0].place, message, "write them once, above or below the grid")
    if clear:
        if clear[0] not in (0, len(body) - 1):
            state.add(*body[clear[0]][0].place, "column totals within the grid", "write them above or below it")
        return clear[0]
    others = max(len(tokens) for tokens in body)
    for at in (0, len(body) - 1):  # such as "? ? 3": shorter than the rows, because these also have a total
        if len(body[at]) == others - 1 and all(_is_total(token) or token.text == Mark.UNKNOWN for token in body[at]):
            return at
    marks = (token for tokens in body for token in tokens if not _is_total(token))
    if wrong := next((token for token in marks if token.text not in MARKS), None):
        state.add(*wrong.place, f"{wrong.text!r} is not a mark", _MARK_HELP)
    else:
        state.add(*body[0][0].place, "the totals of the columns are missing", _TOTALS_HELP)
    return 0


def _is_clear_total_row(tokens: Sequence[Token]) -> bool:
    totals = [at for at, token in enumerate(tokens) if _is_total(token)]
    # A row of squares has one total, at its beginning or end.
    has_inner = any(0 < at < len(tokens) - 1 for at in totals)
    return (len(totals) > 1 or has_inner) and all(token.text in _UNKNOWN_TOTALS or _is_total(token) for token in tokens)


def _parse_squares(state: _ParseState, body: Sequence[Sequence[Token]]) -> tuple[str, ...]:
    width = len(state.column_totals)
    if width > MAX_SIDE or len(body) > MAX_SIDE:
        token = state.column_totals[MAX_SIDE] if width > MAX_SIDE else body[MAX_SIDE][0]
        state.add(*token.place, "the grid is too large", f"it may have {MAX_SIDE} columns and {MAX_SIDE} rows")
    elif not body:
        state.add(*state.column_totals[0].place, "the grid has no rows", _MARK_HELP)
    right_side = any(_is_total(tokens[-1]) for tokens in body) and not any(_is_total(tokens[0]) for tokens in body)
    rows: list[str] = []
    for y, tokens in enumerate(body):
        total, squares = _split_total(tokens, width, right_side=right_side)
        if total is None:
            hint = "write the number of its ship squares before it, or - if unknown"
            state.add(*tokens[0].place, "this row has no total", hint)
        else:
            state.row_totals.append(total)
        if total is not None and len(squares) != width:
            message = f"this row has {pluralize(len(squares), 'square')}, and there are {width} column totals"
            extra = squares[width] if len(squares) > width else tokens[-1]
            state.add(*extra.place, message, "all rows have a square for each column")
        for x, token in enumerate(squares):
            if token.text not in MARKS:
                state.add(*token.place, f"{token.text!r} is not a mark", _MARK_HELP)
                break
            state.squares[Square(x, y)] = token
        rows.append("".join(MARKS.get(token.text, Mark.UNKNOWN) for token in squares))
    return tuple(rows)


def _split_total(tokens: Sequence[Token], width: int, *, right_side: bool) -> tuple[Token | None, Sequence[Token]]:
    """Return the total of a row, and its squares.

    A ? is taken for the total if there is one mark too many.
    """
    if _is_total(tokens[0]):
        return tokens[0], tokens[1:]
    if _is_total(tokens[-1]):
        return tokens[-1], tokens[:-1]
    ends = [-1, 0] if right_side else [0, -1]
    for end in ends:
        if len(tokens) == width + 1 and tokens[end].text == Mark.UNKNOWN:
            return tokens[end], tokens[:-1] if end else tokens[1:]
    return None, tokens


def _read_totals(
    state: _ParseState, tokens: Sequence[Token], length: int, names: Sequence[str]
) -> tuple[int | None, ...]:
    for token, name in zip(tokens, names, strict=True):
        if not token.text.isdecimal() and token.text not in _UNKNOWN_TOTALS:
            state.add(*token.place, f"{token.text!r} is not a total", "write a number, or - for an unknown one")
        elif token.text.isdecimal() and (len(token.text) > 2 or int(token.text) > length):
            message = f"{name} cannot have {token.text[:9]} ship squares"
            state.add(*token.place, message, f"it has {pluralize(length, 'square')}")
    return tuple(int(token.text) if token.text.isdecimal() and len(token.text) < 3 else None for token in tokens)


def _add_fleet(state: _ParseState, board: Board) -> Board:
    """Return the board with its fleet. Report totals that contradict the fleet or each other."""
    rows, columns = (
        None if None in totals else sum(filter(None, totals)) for totals in (board.row_totals, board.column_totals)
    )
    place = state.column_totals[0].place
    if rows is not None and columns is not None and rows != columns:
        message = f"the columns add up to {columns}, the rows to {rows}"
        state.add(*place, message, "both are the number of ship squares: correct a total")
        return board
    known = rows if rows is not None else columns
    fleet = board.fleet
    if not fleet:
        usual = [fleet for fleet in FLEETS.values() if known in (None, sum(fleet))]
        preferred = default_fleet(board.width, board.height)
        fleet = preferred if preferred in usual else next(iter(usual), ())
        if not fleet:
            message = f"the totals add up to {known}, which no usual fleet has"
            state.add(*place, message, 'write the fleet above the grid, such as "fleet: 5,4,3,3,2"')
            return board
    elif known is not None and known != sum(fleet):
        message = f"the fleet {format_fleet(fleet)} has {pluralize(sum(fleet), 'square')}, the totals add up to {known}"
        state.add(*state.fleet_place, message, "correct the fleet or a total")
    for name, totals in (("rows", board.row_totals), ("columns", board.column_totals)):
        least = sum(filter(None, totals))
        if None in totals and least > sum(fleet):
            message = f"the known totals of the {name} add up to {least}"
            message += f", the fleet has {pluralize(sum(fleet), 'square')}"
            state.add(*place, message, "correct a total or the fleet")
    if error := find_fleet_error(fleet, board.width, board.height):
        state.add_error(*(state.fleet_place if state.fleet else place), InvalidOption(error))
    return replace(board, fleet=fleet)


def _check_lines(state: _ParseState, board: Board) -> None:
    """Report lines whose given squares contradict their total, and too many given ship squares."""
    lines = [(f"row {y + 1}", board.row_totals[y], row, state.row_totals[y]) for y, row in enumerate(board.rows)]
    for x, total in enumerate(board.column_totals):
        lines.append((column_name(x), total, "".join(row[x] for row in board.rows), state.column_totals[x]))
    for name, total, marks, token in lines:
        ships, water = sum(mark in SHIP_MARKS for mark in marks), marks.count(Mark.WATER)
        if total is not None and ships > total:
            verb = "is" if ships == 1 else "are"
            message = f"{name} has the total {total}, and {pluralize(ships, 'ship square')} in it {verb} given"
            state.add(*token.place, message, f"write {ships} or more, or correct a square")
        elif total is not None and len(marks) - water < total:
            message = f"{name} has the total {total}, and only {len(marks) - water} of its squares can hold a ship"
            state.add(*token.place, message, f"write {len(marks) - water} or less, or correct a square")
    given = len(board.find_marks(SHIP_MARKS))
    if given > sum(board.fleet):
        message = f"{given} ship squares are given, the fleet has {sum(board.fleet)}"
        state.add(*state.fleet_place, message, "correct the fleet or a square")


_SIDE_NAMES = {(1, 0): "to the right", (-1, 0): "to the left", (0, 1): "downwards", (0, -1): "upwards"}


def _find_piece_errors(marks: Mapping[Square, str], square: Square) -> Iterator[tuple[str, str]]:
    """Yield the contradictions between a ship square and its neighbours, each with a hint."""
    (x, y), mark = square, marks[square]
    for right, down in ((1, 1), (-1, 1)):
        other = Square(x + right, y + down)
        if marks.get(other, Mark.WATER) in SHIP_MARKS:
            yield f"the ships on {square} and {other} touch at a corner", "one of the two is wrong"
    sides = {(right, down): Square(x + right, y + down) for right, down in SIDES}
    if mark == Mark.MIDDLE:
        can_continue = [marks.get(other, Mark.WATER) != Mark.WATER for other in sides.values()]
        if not (all(can_continue[:2]) or all(can_continue[2:])):
            hint = "a middle piece has a ship square on two opposite sides"
            yield f"{square} is the middle of a ship, which cannot go on in both directions", hint
    continues = ENDS.get(Mark(mark))  # the ship goes on in these directions; the other sides are water
    for side, other in sides.items() if continues or mark == Mark.SINGLE else ():
        if side == continues and marks.get(other, Mark.WATER) == Mark.WATER:
            blocked = f"{other} is water" if other in marks else "there is the edge"
            yield f"the ship on {square} goes on {_SIDE_NAMES[side]}, and {blocked}", "correct the piece"
        elif side != continues and marks.get(other, Mark.WATER) in SHIP_MARKS:
            yield f"the ship on {square} ends there, and {other} is a ship square", "correct one of the two"
