"""Read battleship boards and fleets; draw them and the probability map as text and as SVG pictures.

A board is a grid of marks, lists of 0 and 1, or shots such as "B5 hit".
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from math import sqrt
from string import ascii_lowercase, ascii_uppercase

from pi_appliance.errors import InvalidOption, UnknownName, suggest
from pi_appliance.puzzles import Step, Table, load_board, pluralize
from pi_appliance.puzzles.battleship import fleet as fleets
from pi_appliance.puzzles.battleship.board import HIT, MISS, RULES, SUNK, UNKNOWN, Board, notate, with_rules
from pi_appliance.puzzles.battleship.count import Marginals
from pi_appliance.puzzles.battleship.fleet import Ship, Solution, Square, draw_rows, parse_ship
from pi_appliance.puzzles.text_format import Problems, Token, svg_document

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

Row = tuple[int, str]  # line number in the file, and the line
_MarkRow = tuple[int, list[tuple[int, str]]]
"""A line number of the file, and the column and mark of each square in the line."""


class _ParseState(Problems):
    """What a parser has read so far: the headers of a drawing, and the problems."""

    def __init__(self, file: str) -> None:
        super().__init__(file)
        self.headers: dict[str, Token] = {}  # the values of the headers by their names
        self.whole: list[Token] = []  # the ships listed after "whole"


def parse(text: str, file: str = "board") -> Board:
    """Read a board, with headers such as "fleet: 5,4,3,3,2" above it. Raises ConfigError.

    >>> from pi_appliance.puzzles import battleship
    >>> battleship.parse(battleship.BOARDS["midgame"]).fleet
    (5, 4, 3, 3, 2)
    """
    state = _ParseState(file)
    body = [row for row in enumerate(text.splitlines(), 1) if row[1].strip() and not _parse_header(state, row)]
    rules = {name: state.headers[name].text for name in RULES if name in state.headers}
    for name, value in rules.items():
        try:
            with_rules(Board(rows=("?",)), {name: value})
        except (UnknownName, InvalidOption) as error:
            state.add_error(*state.headers[name].place, error)
    rows: Sequence[str]
    sunk_ships: Sequence[Ship] = ()
    if any(_SHOT.search(row) or _begins_with_square(row) for _, row in body) or (not body and "size" in state.headers):
        rows, sunk_ships = _parse_shots(state, body)
    elif "size" in state.headers:
        state.add(
            *state.headers["size"].place,
            "a size is given, and a grid follows",
            "a grid shows its size: remove this row",
        )
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
    """Return whether `row` begins with a square and a word, which means that it lists shots."""
    words = row.split()
    return len(words) > 1 and parse_ship(words[0].rstrip(",;:")) is not None and words[1].strip(",;:").isalpha()


def _parse_header(state: _ParseState, row: Row) -> bool:
    """Store `row` if it is a header: a name, a colon and a value. Return whether it is one."""
    match = _HEADER.fullmatch(row[1])
    if not match or _SHOT.fullmatch(match[1]):
        return False
    name, at = match[1].lower(), (row[0], match.start(1) + 1)
    if name not in _HEADER_NAMES:
        state.add(*at, f"unknown header {match[1]!r}", suggest(name, _HEADER_NAMES))
    elif name == "whole":
        words = fleets.SHIP_NAME.finditer(row[1], match.start(2))
        state.whole += [Token(word[0], (row[0], word.start() + 1)) for word in words]
    elif name in state.headers:
        state.add(*at, f"{name} is given twice", "remove one of the two")
    else:
        column = match.end(2) - len(match[2].lstrip()) + 1
        state.headers[name] = Token(match[2].strip(), (row[0], column))
    return True


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
    inside = not brackets
    for line, row in body:
        if not brackets:
            rows.append((line, []))
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
    # The bracket around all rows has opened an empty row, which is left out.
    return _check_shape(state, [(line, row) for line, row in rows if row or not brackets])


def _check_shape(state: _ParseState, rows: Sequence[_MarkRow]) -> list[str]:
    """Return the marks of `rows`.

    Add a problem for each row that is longer or shorter than the others.
    """
    if not any(row for _, row in rows):
        hint = f"draw rows of squares: {_SQUARE_HELP}; or list shots, such as B5 hit"
        state.add(1, 1, "there is no board here", hint)
    width = len(rows[0][1]) if rows else 0
    for number, (line, row) in enumerate(rows):
        if len(row) != width:
            message = f"this row has {pluralize(len(row), 'square')}, the first one {width}"
            column = row[width][0] if len(row) > width else (row[-1][0] if row else 0) + 1
            state.add(line, column, message, "all rows are as long as the first")
        elif len(row) > fleets.MAX_SIDE or number == fleets.MAX_SIDE:
            column = row[0][0] if number == fleets.MAX_SIDE else row[fleets.MAX_SIDE][0]
            hint = f"it may have {fleets.MAX_SIDE} columns and {fleets.MAX_SIDE} rows"
            state.add(line, column, "the board is too large", hint)
            break
    return ["".join(mark for _, mark in row) for _, row in rows]


def _parse_whole_ships(state: _ParseState, rows: Sequence[str], shot_ships: Sequence[Ship]) -> list[Ship]:
    """Return the ships of the "whole" headers, which must be sunk and not overlap `shot_ships`."""
    ships: list[Ship] = []
    occupied = {square for ship in shot_ships for square in ship.squares}
    for word, place in state.whole:
        ship = parse_ship(word)
        if ship is None:
            state.add(*place, f"{word!r} is not a valid ship", "name its first and last square, such as B5-B8")
        elif ship.end.x >= len(rows[0]) or ship.end.y >= len(rows):
            state.add(*place, f"{ship} is outside the sea", "columns are letters, rows are numbers")
        elif any(rows[y][x] != SUNK for x, y in ship.squares):
            state.add(*place, f"{ship} is not drawn as sunk", f"draw {SUNK} on all its squares")
        elif occupied & set(ship.squares) and ship not in shot_ships:
            state.add(*place, f"{ship} overlaps another sunk ship", "two ships share no square")
        else:
            occupied |= set(ship.squares)
            ships.append(ship)
    return ships


def _parse_shots(state: _ParseState, body: Sequence[Row]) -> tuple[Sequence[str], list[Ship]]:
    """Return the rows of a board, and the ships sunk as a whole."""
    size = state.headers.get("size", Token("10x10", (1, 1)))
    try:
        width, height = fleets.parse_size(size.text)
    except InvalidOption as error:
        state.add_error(*size.place, error)
        width = height = 10
    marks: dict[Square, str] = {}
    whole: dict[Square, Ship] = {}
    for line, row in body:
        for mark, targets in _split_clauses(state, line, row):
            for ship, column in _join_sunk_squares(mark, targets):
                if ship.end.x >= width or ship.end.y >= height:
                    state.add(line, column, f"{ship} is outside the sea", f"it has {width} columns and {height} rows")
                    continue
                for square in ship.squares:
                    before = marks.get(square, mark)
                    if MISS in (before, mark) and before != mark:
                        state.add(line, column, f"{square} is a miss and a hit", "remove one of the two")
                    if whole.get(square, ship) != ship:
                        state.add(line, column, f"{ship} overlaps {whole[square]}", "two ships share no square")
                    marks[square] = SUNK if SUNK in (before, mark) else mark
                if mark == SUNK and len(ship.squares) > 1:
                    whole.update(dict.fromkeys(ship.squares, ship))
    return draw_rows(marks, width, height, UNKNOWN), sorted(set(whole.values()))


def _split_clauses(state: _ParseState, line: int, row: str) -> Iterator[tuple[str, list[tuple[Ship, int]]]]:
    """Yield each mark in `row` with the squares that it is for, and their columns in the row.

    The mark stands before or after its squares.
    """
    targets: list[tuple[Ship, int]] = []
    leading_mark, mark_column = "", 0
    has_unknown_word = False  # the word may be a misspelt square: then the mark is not reported as well
    parts = [(match[0], match.start() + 1) for match in _SHOT_PART.finditer(row)]
    for word, column in [*parts, ("", 0)]:  # the end of the row also ends a clause
        mark, ship = SHOT_WORDS.get(word.lower(), ""), parse_ship(word)
        if ship:
            targets.append((ship, column))
        elif word and not mark:
            guess = suggest(word.lower(), tuple(SHOT_WORDS))
            hint = f"{guess} {_SHOT_HELP}" if guess.endswith("?") else _SHOT_HELP
            state.add(line, column, f"{word!r} is neither a square nor a mark", hint)
            has_unknown_word = True
        elif mark and targets and not leading_mark:
            yield mark, targets
            targets = []
        else:
            if leading_mark:
                yield leading_mark, targets
            if leading_mark and not (targets or has_unknown_word):
                state.add(line, mark_column, "this mark has no square", _SHOT_HELP)
            elif targets and not (leading_mark or has_unknown_word):
                state.add(line, targets[0][1], f"{targets[0][0]} is neither hit nor miss here", _SHOT_HELP)
            leading_mark, mark_column, targets = mark, column, []


def _join_sunk_squares(mark: str, targets: list[tuple[Ship, int]]) -> list[tuple[Ship, int]]:
    """Return `targets`, in which sunk squares that are in one line have become one ship."""
    squares = tuple(sorted({square for ship, _ in targets for square in ship.squares}))
    if mark == SUNK and len(squares) > 1 and all(ship.start == ship.end for ship, _ in targets):
        whole = Ship(squares[0], squares[-1])
        if whole.squares == squares:
            return [(whole, targets[0][1])]
    return targets


SQUARE_SIZE = 36  # SVG units
LABEL_SIZE = 28  # SVG units for letters and numbers
# Day and night colours. Hits differ in shape as well as in colour.
STYLE = """\
.bs-sea{fill:#cfe6f5}.bs-fog{fill:#9fb8c9}.bs-grid{stroke:#fff;stroke-width:1.5}.bs-name{fill:#33475b}
.bs-miss{fill:#fff;stroke:#5b7f99;stroke-width:2}.bs-ship{fill:#4a5560;stroke:#20272e;stroke-width:2}
.bs-hit{stroke:#d55e00;stroke-width:5;stroke-linecap:round}.bs-sunk{fill:#20272e}
.bs-name,.bs-chance{font-family:system-ui,sans-serif;text-anchor:middle}
@media (prefers-color-scheme:dark){.bs-sea{fill:#16364d}.bs-fog{fill:#33495a}.bs-grid{stroke:#0b1c29}
.bs-name{fill:#c3d3e0}.bs-miss{fill:#16364d;stroke:#9cc3de}.bs-ship{fill:#5d6a76;stroke:#e8edf2}
.bs-hit{stroke:#ffab66}.bs-sunk{fill:#5d6a76}}"""

# The heatmap has shades of a single hue, which colour-blind people can distinguish, and numbers.
SHADES = 8
INVERTED_TEXT_SHADE = 5  # from this shade on, the number has a light colour
_DAY_SHADES = ("#f1f6fb", "#d6e6f4", "#b3d3ea", "#86bbdd", "#5a9fcc", "#347fb6", "#175e98", "#08407a")
_NIGHT_SHADES = ("#0d1b27", "#12304a", "#15466d", "#1a5f92", "#2b7bb4", "#5299cd", "#86bbe2", "#bfdcf3")
_HEATMAP_STYLE = (
    STYLE
    + "".join(f".bs-h{n}{{fill:{shade}}}" for n, shade in enumerate(_DAY_SHADES))
    + ".bs-chance{fill:#0b1c29}.bs-on{fill:#fff}.bs-best{fill:none;stroke:#d55e00;stroke-width:4}"
    + "@media (prefers-color-scheme:dark){"
    + "".join(f".bs-h{n}{{fill:{shade}}}" for n, shade in enumerate(_NIGHT_SHADES))
    + ".bs-chance{fill:#fff}.bs-on{fill:#0b1c29}.bs-best{stroke:#ff9a4d}}"
)


def render(board: Board | str) -> str:
    """Draw `board` in the format that `parse` reads: non-default rules, then one line per row."""
    board = load_board(board, Board)
    values = fleets.format_fleet(board.fleet), board.touching, board.ships, board.sinking
    rules = zip(RULES.items(), values, strict=True)
    headers = [f"{name}: {value}\n" for (name, rule), value in rules if value != rule.default]
    headers += [f"whole: {', '.join(map(str, board.sunk_ships))}\n"] if board.sunk_ships else []
    return "".join(headers) + "".join(f"{row}\n" for row in board.rows)


def render_solution(board: Board | str, solution: Solution) -> str:
    """Draw `solution`: its notation, then the sea with a letter per ship and water as dots."""
    board = load_board(board, Board)
    named = zip(ascii_uppercase + ascii_lowercase, solution, strict=False)
    letters = {square: letter for letter, ship in named for square in ship.squares}
    rows = draw_rows(letters, board.width, board.height, MISS)
    return notate(board, solution) + "\n\n" + "".join(f"{row}\n" for row in rows)


def parse_solution(board: Board | str, text: str, file: str = "solution") -> Solution:
    """Read a fleet such as "J10 C3-E3 A1-A4". Raises ConfigError."""
    board = load_board(board, Board)
    return tuple(reversed(fleets.parse_ships(text, board.width, board.height, file)))


def render_svg(board: Board | str) -> str:
    """Draw `board` as a self-contained SVG picture."""
    board = load_board(board, Board)
    marks = {"hit": HIT, "missed": MISS, "sunk": SUNK, "unknown": UNKNOWN}
    numbers = {name: len(board.find_marks(mark)) for name, mark in marks.items()}
    title = ", ".join(f"{number} {name}" for name, number in numbers.items() if number)
    return _draw_board(board, (), f"Battleship: {title}")


def steps(board: Board | str, solution: Solution) -> Iterator[Step]:
    """Yield `board`, then the fleet of `solution` with one more ship in each picture."""
    board = load_board(board, Board)
    yield Step("The marks", render_svg(board))
    for number, ship in enumerate(solution, 1):
        caption = f"{ship}, {pluralize(len(ship.squares), 'square')}"
        yield Step(caption, _draw_board(board, solution[:number], f"Battleship: {pluralize(number, 'ship')} placed"))


def _draw_board(board: Board, fleet: Iterable[Ship], title: str) -> str:
    marks = [(mark, x, y) for y, row in enumerate(board.rows) for x, mark in enumerate(row)]
    parts = [_draw_square(f"bs-{'fog' if mark == UNKNOWN else 'sea'} bs-grid", x, y) for mark, x, y in marks]
    parts += [*_draw_labels(board), *map(_draw_ship, dict.fromkeys([*fleet, *board.sunk_ships]))]
    for mark, x, y in marks:
        parts += _draw_mark(mark, *_square_center(x, y))
    return svg_document(*_picture_size(board), title, STYLE, parts)


def _picture_size(board: Board) -> tuple[int, int]:
    return LABEL_SIZE + SQUARE_SIZE * board.width + 4, LABEL_SIZE + SQUARE_SIZE * board.height + 4


def _square_center(x: int, y: int) -> tuple[int, int]:
    return LABEL_SIZE + SQUARE_SIZE * x + SQUARE_SIZE // 2, LABEL_SIZE + SQUARE_SIZE * y + SQUARE_SIZE // 2


def _draw_square(style: str, x: int, y: int) -> str:
    left, top = LABEL_SIZE + SQUARE_SIZE * x, LABEL_SIZE + SQUARE_SIZE * y
    return f'<rect class="{style}" x="{left}" y="{top}" width="{SQUARE_SIZE}" height="{SQUARE_SIZE}"/>'


def _draw_labels(board: Board) -> Iterator[str]:
    places = [(str(Square(x, 0))[0], _square_center(x, 0)[0], LABEL_SIZE - 8) for x in range(board.width)]
    places += [(str(y + 1), LABEL_SIZE // 2, _square_center(0, y)[1] + 5) for y in range(board.height)]
    return (f'<text class="bs-name" font-size="15" x="{x}" y="{y}">{name}</text>' for name, x, y in places)


def _draw_ship(ship: Ship) -> str:
    (left, top), (right, bottom) = _square_center(*ship.start), _square_center(*ship.end)
    radius = SQUARE_SIZE // 2 - 5
    width, height = right - left + 2 * radius, bottom - top + 2 * radius
    x, y = left - radius, top - radius
    return f'<rect class="bs-ship" x="{x}" y="{y}" width="{width}" height="{height}" rx="{radius}"/>'


def _draw_mark(mark: str, x: int, y: int) -> Iterator[str]:
    if mark == MISS:
        yield f'<circle class="bs-miss" cx="{x}" cy="{y}" r="4"/>'
    if mark == SUNK:
        yield f'<rect class="bs-sunk" x="{x - 11}" y="{y - 11}" width="22" height="22" rx="4"/>'
    if mark in (HIT, SUNK):
        yield f'<path class="bs-hit" d="M{x - 7} {y - 7}l14 14m0-14l-14 14"/>'


def find_best_shot(board: Board, marginals: Marginals) -> Square | None:
    """Return the unknown square with the highest ship probability; None if all are known."""
    return min(board.find_marks(UNKNOWN), key=lambda square: marginals.water[square.y][square.x], default=None)


def ship_percent(marginals: Marginals, square: Square) -> float:
    """Return the probability of a ship on `square`, in per cent."""
    return 100 * (marginals.total - marginals.water[square.y][square.x]) / marginals.total


def probability_tables(board: Board, marginals: Marginals) -> list[Table]:
    """Return tables with the ship probability of each square, and with the counts behind them."""
    headers = ("row", *(str(Square(x, 0))[0] for x in range(board.width)))
    rows = [(y, [Square(x, y) for x in range(board.width)]) for y in range(board.height)]
    chances = [(y + 1, *(round(ship_percent(marginals, square), 2) for square in row)) for y, row in rows]
    counts = [(y + 1, *(marginals.total - water for water in marginals.water[y])) for y, _ in rows]
    return [
        Table("Probability of a ship on each square, in per cent", headers, chances),
        Table("Placements with a ship on each square", headers, counts),
    ]


def render_heatmap(board: Board, marginals: Marginals) -> str:
    """Draw the ship probability of every square, and the best shot."""
    parts: list[str] = []
    for square in board.find_marks(UNKNOWN + MISS + HIT + SUNK):
        parts += _draw_chance(board.rows[square.y][square.x], ship_percent(marginals, square), *square)
    title = "Battleship: the probability of a ship on each square, in per cent"
    parts += _draw_labels(board)
    if best := find_best_shot(board, marginals):
        (x, y), half = _square_center(*best), SQUARE_SIZE // 2 - 2
        parts.append(f'<rect class="bs-best" x="{x - half}" y="{y - half}" width="{2 * half}" height="{2 * half}"/>')
        title += f"; the best shot is {best}, {ship_percent(marginals, best):.1f}"
    return svg_document(*_picture_size(board), title, _HEATMAP_STYLE, parts)


def _draw_chance(mark: str, percent: float, x: int, y: int) -> Iterator[str]:
    # The square root spreads small probabilities over more shades: on an empty sea, all are small.
    shade = min(SHADES - 1, int(SHADES * sqrt(percent / 100))) if mark == UNKNOWN else 0
    yield _draw_square(f"bs-h{shade} bs-grid", x, y)
    across, down = _square_center(x, y)
    if mark == MISS:
        yield from _draw_mark(MISS, across, down)
    elif mark in (HIT, SUNK):
        yield from _draw_mark(HIT, across, down)
    else:
        bright = " bs-on" if shade >= INVERTED_TEXT_SHADE else ""
        number = f"{percent:.0f}"  # 0 and 100 only stand for exact values
        if 0 < percent < 1 or 99 < percent < 100:
            number = "&lt;1" if percent < 1 else "&gt;99"
        size = 17 if len(number) < 3 else 14
        yield f'<text class="bs-chance{bright}" font-size="{size}" x="{across}" y="{down + 6}">{number}</text>'
