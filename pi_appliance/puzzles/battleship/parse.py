"""Read a battleship board: a grid of marks, lists of 0 and 1, or shots such as "B5 hit"."""

import re
from collections.abc import Iterator, Sequence

from pi_appliance.errors import InvalidOption, UnknownName, suggest
from pi_appliance.puzzles import pluralize
from pi_appliance.puzzles.battleship.board import HIT, MISS, RULES, SUNK, UNKNOWN, Board, with_rules
from pi_appliance.puzzles.battleship.fleet import (
    MAX_SIDE,
    Ship,
    Square,
    draw_rows,
    find_ship_names,
    parse_ship,
    parse_size,
)
from pi_appliance.puzzles.rendering import Problems

MARKS = {"?": "?", ".": ".", "~": ".", "o": ".", "O": ".", "X": "X", "x": "X", "#": "#"}
SHOT_WORDS = {"hit": HIT, "miss": MISS, "sunk": SUNK}
_SUGGESTED_MARKS = {" ": "?", "_": "?", "-": "?", "*": "X", "0": ".", "1": "#", "S": "#", "H": "X", "M": "."}
_SQUARE_HELP = "a square is ? (unknown), . (miss), X (hit) or # (of a sunk ship)"
_SHOT_HELP = "write squares and hit, miss or sunk, such as: B5 hit, or D4-D6 sunk for a whole ship"
_HEADER_NAMES = (*RULES, "size", "whole")
_HEADER = re.compile(r"\s*([A-Za-z]+)\s*:(.*)")
_LIST = re.compile(r"\s*(?:\w+\s*=\s*)?[\[\]01,\s]*")
_LIST_START = re.compile(r"\s*(?:\w+\s*=\s*)?\[")
_SHOT = re.compile(r"\b(hit|miss|sunk)\b", re.IGNORECASE)
_SHOT_PART = re.compile(r"[^\s,;:]+")
_COLUMN_NAMES = re.compile(r"\s*(?:A(?:\s*[B-O])*|1(?:\s+\d+)+)\s*")
_ROW_NUMBER = re.compile(r"\s*\d+\s+(?=\S)|\s*\d+(?=[^\s\d])")

Row = tuple[int, str]  # A line number of the file, and the line
_MarkRow = tuple[int, list[tuple[int, str]]]
"""A line number of the file, and the column and mark of each square in the line."""


class _ParseState(Problems):
    """The headers of a drawing and the problems."""

    def __init__(self, file: str) -> None:
        super().__init__(file)
        self.headers: dict[str, tuple[int, int, str]] = {}
        """By name: line, column and text of the value."""
        self.whole: list[tuple[int, int, str]] = []
        """Line, column and text of each ship after "whole"."""


def parse(text: str, file: str = "board") -> Board:
    """Read a board, with headers such as "fleet: 5,4,3,3,2" above it. Raises ConfigError."""
    state = _ParseState(file)
    body = [row for row in enumerate(text.splitlines(), 1) if row[1].strip() and not _parse_header(state, row)]
    rules = {name: state.headers[name][2] for name in RULES if name in state.headers}
    for name, value in rules.items():
        try:
            with_rules(Board(rows=("?",)), {name: value})
        except (UnknownName, InvalidOption) as error:
            state.add_error(*state.headers[name][:2], error)
    rows: Sequence[str]
    sunk_ships: Sequence[Ship] = ()
    if any(_SHOT.search(row) or _begins_with_square(row) for _, row in body) or (not body and "size" in state.headers):
        rows, sunk_ships = _parse_shots(state, body, _parse_size(state))
    elif "size" in state.headers:
        line, column, _ = state.headers["size"]
        state.add(line, column, "a size is given, and a grid follows", "a grid shows its size: remove this row")
        rows = ["?"]
    elif all(_LIST.fullmatch(row) for _, row in body) or any(_LIST_START.match(row) for _, row in body):
        rows = _parse_lists(state, body)
    else:
        rows = _parse_grid(state, body)
    state.raise_any()
    sunk_ships = [*sunk_ships, *_parse_whole_ships(state, rows, sunk_ships)]
    state.raise_any()
    return with_rules(Board(rows=tuple(rows), sunk_ships=tuple(sorted(set(sunk_ships)))), rules)


def _begins_with_square(row: str) -> bool:
    """Return whether `row` begins with a square and a word, so that it is meant as shots."""
    words = row.split()
    return len(words) > 1 and parse_ship(words[0].rstrip(",;:")) is not None and words[1].strip(",;:").isalpha()


def _parse_header(state: _ParseState, row: Row) -> bool:
    """Store `row` if it is a header, which has a name, a colon and a value."""
    match = _HEADER.fullmatch(row[1])
    if not match or _SHOT.fullmatch(match[1]):
        return False
    name, at = match[1].lower(), (row[0], match.start(1) + 1)
    if name not in _HEADER_NAMES:
        state.add(*at, f"unknown header {match[1]!r}", suggest(name, _HEADER_NAMES))
    elif name == "whole":
        state.whole += [(row[0], *ship) for ship in find_ship_names(row[1], match.start(2))]
    elif name in state.headers:
        state.add(*at, f"{name} is given twice", "remove one of the two")
    else:
        value = match[2].strip()
        state.headers[name] = (row[0], match.start(2) + len(match[2]) - len(match[2].lstrip()) + 1, value)
    return True


def _parse_size(state: _ParseState) -> tuple[int, int]:
    line, column, text = state.headers.get("size", (1, 1, "10x10"))
    try:
        return parse_size(text)
    except InvalidOption as error:
        state.add_error(line, column, error)
        return 10, 10


def _parse_grid(state: _ParseState, body: Sequence[Row]) -> list[str]:
    if body and _COLUMN_NAMES.fullmatch(body[0][1]):
        body = body[1:]
    rows: list[_MarkRow] = []
    numbered = bool(body) and all(_ROW_NUMBER.match(row) for _, row in body)
    for line, row in body:
        number = _ROW_NUMBER.match(row) if numbered else None
        start = number.end() if number else 0
        squares = [(column, mark) for column, mark in enumerate(row[start:], start + 1) if not mark.isspace()]
        for column, mark in squares:
            if mark not in MARKS:
                suggestion = f"did you mean {_SUGGESTED_MARKS[mark]!r}? " if mark in _SUGGESTED_MARKS else ""
                state.add(line, column, f"{mark!r} is not a mark", suggestion + _SQUARE_HELP)
                break
        rows.append((line, [(column, MARKS.get(mark, "?")) for column, mark in squares]))
    return _check_shape(state, rows)


def _parse_lists(state: _ParseState, body: Sequence[Row]) -> list[str]:
    brackets = any("[" in row for _, row in body)
    rows: list[_MarkRow] = []
    inside = False
    for line, row in body:
        if not brackets:
            rows.append((line, []))
            inside = True
        for column, mark in enumerate(row[row.find("=") + 1 :], row.find("=") + 2):
            if mark == "[":
                inside = True
                rows.append((line, []))
            elif mark == "]":
                inside = False
            elif mark in "01" and inside:
                rows[-1][1].append((column, "." if mark == "0" else "#"))
            elif mark not in "01, \t":
                hint = "a row is a list of 0 (miss) and 1 (of a sunk ship), such as [0, 1]"
                state.add(line, column, f"{mark!r} is neither 0 nor 1", hint)
                break
            elif mark in "01":
                hint = "write each row in brackets: [[0, 1], [0, 0]]"
                state.add(line, column, "a number outside the rows", hint)
    # The bracket around all rows also opened a row, which is empty.
    return _check_shape(state, [(line, row) for line, row in rows if row or not brackets])


def _check_shape(state: _ParseState, rows: Sequence[_MarkRow]) -> list[str]:
    """Return the marks of `rows`; add a problem for each row of another length."""
    if not any(row for _, row in rows):
        hint = f"draw rows of squares: {_SQUARE_HELP}; or list shots, such as B5 hit"
        state.add(1, 1, "there is no board here", hint)
    width = len(rows[0][1]) if rows else 0
    for number, (line, row) in enumerate(rows):
        if len(row) != width:
            message = f"this row has {pluralize(len(row), 'square')}, the first one {width}"
            column = row[width][0] if len(row) > width else (row[-1][0] if row else 0) + 1
            state.add(line, column, message, "all rows are as long as the first")
        elif len(row) > MAX_SIDE or number == MAX_SIDE:
            column = row[0][0] if number == MAX_SIDE else row[MAX_SIDE][0]
            hint = f"it may have {MAX_SIDE} columns and {MAX_SIDE} rows"
            state.add(line, column, "the board is too large", hint)
            break
    return ["".join(mark for _, mark in row) for _, row in rows]


def _parse_whole_ships(state: _ParseState, rows: Sequence[str], shot_ships: Sequence[Ship]) -> list[Ship]:
    """Return the ships of the "whole" headers, which must be sunk and not overlap `shot_ships`."""
    ships: list[Ship] = []
    occupied = {square for ship in shot_ships for square in ship.squares}
    for line, column, word in state.whole:
        ship = parse_ship(word)
        if ship is None:
            hint = "name its first and last square, such as B5-B8"
            state.add(line, column, f"{word!r} is not a valid ship", hint)
        elif ship.end.x >= len(rows[0]) or ship.end.y >= len(rows):
            state.add(line, column, f"{ship} is outside the sea", "columns are letters, rows are numbers")
        elif any(rows[y][x] != SUNK for x, y in ship.squares):
            state.add(line, column, f"{ship} is not drawn as sunk", f"draw {SUNK} on all its squares")
        elif occupied & set(ship.squares) and ship not in shot_ships:
            state.add(line, column, f"{ship} overlaps another sunk ship", "two ships share no square")
        else:
            occupied |= set(ship.squares)
            ships.append(ship)
    return ships


def _parse_shots(state: _ParseState, body: Sequence[Row], size: tuple[int, int]) -> tuple[Sequence[str], list[Ship]]:
    """Return the rows of a board of `size` (columns, rows), and the ships sunk as a whole."""
    width, height = size
    marks: dict[Square, str] = {}
    whole: dict[Square, Ship] = {}
    for line, row in body:
        for mark, targets in _split_clauses(state, line, row):
            for ship, column in _join_sunk_squares(mark, targets):
                if ship.end.x >= width or ship.end.y >= height:
                    hint = f"it has {width} columns and {height} rows"
                    state.add(line, column, f"{ship} is outside the sea", hint)
                    continue
                for square in ship.squares:
                    before = marks.get(square, mark)
                    if MISS in (before, mark) and before != mark:
                        state.add(line, column, f"{square} is a miss and a hit", "remove one of the two")
                    if whole.get(square, ship) != ship:
                        message = f"{ship} overlaps {whole[square]}"
                        state.add(line, column, message, "two ships share no square")
                    marks[square] = SUNK if SUNK in (before, mark) else mark
                if mark == SUNK and len(ship.squares) > 1:
                    whole.update(dict.fromkeys(ship.squares, ship))
    return draw_rows(marks, width, height, UNKNOWN), sorted(set(whole.values()))


def _split_clauses(state: _ParseState, line: int, row: str) -> Iterator[tuple[str, list[tuple[Ship, int]]]]:
    """Yield each mark in `row` with its targets, which precede or follow it, and their columns."""
    targets: list[tuple[Ship, int]] = []
    leading_mark, mark_column = "", 0
    has_unknown_word = False  # it may be a misspelt square, so a mark without squares is not reported as well
    for match in _SHOT_PART.finditer(row):
        word, column = match[0], match.start() + 1
        mark, ship = SHOT_WORDS.get(word.lower()), parse_ship(word)
        if ship:
            targets.append((ship, column))
        elif not mark:
            guess = suggest(word.lower(), tuple(SHOT_WORDS))
            hint = f"{guess} {_SHOT_HELP}" if guess.endswith("?") else _SHOT_HELP
            state.add(line, column, f"{word!r} is neither a square nor a mark", hint)
            has_unknown_word = True
        elif targets and not leading_mark:
            yield mark, targets
            targets = []
        else:
            if leading_mark:
                yield leading_mark, targets
            if leading_mark and not (targets or has_unknown_word):
                state.add(line, mark_column, "this mark has no square", _SHOT_HELP)
            leading_mark, mark_column, targets = mark, column, []
    if leading_mark:
        yield leading_mark, targets
    if leading_mark and not (targets or has_unknown_word):
        state.add(line, mark_column, "this mark has no square", _SHOT_HELP)
    elif targets and not leading_mark and not has_unknown_word:
        state.add(line, targets[0][1], f"{targets[0][0]} is neither hit nor miss here", _SHOT_HELP)


def _join_sunk_squares(mark: str, targets: list[tuple[Ship, int]]) -> list[tuple[Ship, int]]:
    """Return `targets`; squares in one line that were sunk together become one ship."""
    squares = sorted({square for ship, _ in targets for square in ship.squares})
    if mark == SUNK and len(squares) > 1 and all(ship.start == ship.end for ship, _ in targets):
        whole = Ship(squares[0], squares[-1])
        straight = whole.start.x == whole.end.x or whole.start.y == whole.end.y
        if straight and list(whole.squares) == squares:
            return [(whole, targets[0][1])]
    return targets
