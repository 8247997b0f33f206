"""Read and draw Panguru boards and their solutions, as text and as SVG pictures."""

import math
import re
from collections.abc import Iterator
from itertools import pairwise

from pi_appliance.errors import ConfigError
from pi_appliance.puzzles import Step, load_board, pluralize
from pi_appliance.puzzles.panguru.board import (
    HOLE,
    HOME,
    TRIANGLE_SIZES,
    Board,
    MoveLines,
    Solution,
    draw_triangles,
    parse_lines,
    reachable_places,
    triangle_rows,
)
from pi_appliance.puzzles.text_format import Problems, Token, find_tokens, parse_error, svg_document

_HEADER = re.compile(r"\s*(plates|pebbles|moves)\s*[:=]", re.IGNORECASE)
_SEPARATORS = "/|,;\"'"  # allowed between or around plates and pebbles
_HOLE_MARKS = "-._"
_BOARD_HELP = (
    "draw two triangles side by side, plates and pebbles, or write 15 plates, a space and 15 pebbles, - for the hole"
)


def parse(text: str, file: str = "board") -> Board:
    """Read two triangles, drawn or in rows, and `moves:`. Raises ConfigError.

    >>> from pi_appliance.puzzles import panguru
    >>> panguru.parse("WCBRBOGYGPCORPY -PCBRYOGYGBCORP").pebbles
    '-PCBRYOGYGBCORP'
    """
    sections = _split_sections(text)
    problems = Problems(file)
    marks = {name: list(_parse_marks(rows, problems)) for name, rows in sections.items() if name != "moves"}
    problems.raise_any()
    plates, pebbles = _split_triangles(marks, file)
    _check_colours(plates, pebbles, file)
    return Board(
        "".join(mark.text.replace(HOLE, HOME) for mark in plates),
        "".join(mark.text for mark in pebbles),
        _parse_moves(sections.get("moves", []), len(plates), file),
    )


def _split_sections(text: str) -> dict[str, list[Token]]:
    """Return the rows below each header. Rows without a header are at ""."""
    sections, header = dict[str, list[Token]](), ""
    for number, row in enumerate(text.splitlines(), 1):
        match = _HEADER.match(row)
        start = match.end() if match else 0
        header = match[1].lower() if match else header
        has_moves = header == "moves" and any(known.text.strip() for known in sections.get(header, ()))
        if has_moves and not match and row.strip(" ,[]") and not re.search("[0-9]", row):
            header = ""  # in a table, the board is drawn below its moves
        sections.setdefault(header, []).append(Token(row[start:], (number, start + 1)))
    return sections


def _parse_marks(rows: list[Token], problems: Problems) -> Iterator[list[Token]]:
    """Yield the marks of each row that has any. Report the first invalid mark of a row."""
    for row, (line, first) in rows:
        marks: list[Token] = []
        for column, each in enumerate(row, first):
            if each in _HOLE_MARKS:
                marks.append(Token(HOLE, (line, column)))
            elif each.isascii() and each.isalpha():
                marks.append(Token(each.upper(), (line, column)))
            elif not each.isspace() and each not in _SEPARATORS:
                hint = "a colour is a letter from A to Z, the hole is -"
                problems.add(line, column, f"{each!r} is not a colour", hint)
                break
        if marks:
            yield marks


def _split_triangles(sections: dict[str, list[list[Token]]], file: str) -> tuple[list[Token], list[Token]]:
    rows = sections.get("", [])
    if "plates" in sections or "pebbles" in sections:
        halves = [[mark for row in sections.get(name, []) for mark in row] for name in ("plates", "pebbles")]
        if rows:
            hint = "write it after plates: or pebbles:"
            raise parse_error(file, *rows[0][0].place, "this precedes the first header", hint)
    else:
        halves = _split_rows(rows, file)
    for name, half, other in zip(("plates", "pebbles"), halves, halves[::-1], strict=True):
        if not half and len(other) in TRIANGLE_SIZES:
            raise _missing_half(name, other[-1], f"write {name}: and {len(other)} letters below", file)
        if len(half) not in TRIANGLE_SIZES:
            place = half[-1].place if half else (1, 1)
            hint = "a triangle of 2 to 5 rows has 3, 6, 10 or 15"
            raise parse_error(file, *place, f"{len(half)} places for {name}", hint)
    plates, pebbles = halves
    if len(plates) != len(pebbles):
        message = f"{len(plates)} plates, but {len(pebbles)} places for pebbles"
        raise parse_error(file, *pebbles[-1].place, message, "each plate has a pebble, one has the hole -")
    return plates, pebbles


def _split_rows(rows: list[list[Token]], file: str) -> list[list[Token]]:
    if not rows:
        raise parse_error(file, 1, 1, "there is no board here", _BOARD_HELP)
    lengths = [len(row) for row in rows]
    gaps = [at for at in range(1, lengths[0]) if rows[0][at].place[1] > rows[0][at - 1].place[1] + 1]
    if len(rows) == len(gaps) == 1:  # both halves are in one row
        return [rows[0][: gaps[0]], rows[0][gaps[0] :]]
    count, steps = sum(lengths), list(range(1, len(rows) + 1))
    is_one_row = len(rows) == 1 and (count % 2 == 1 or count // 2 not in TRIANGLE_SIZES)
    if count in TRIANGLE_SIZES and (is_one_row or (len(rows) > 1 and lengths == steps)):
        name = "plates" if any(mark.text == HOLE for row in rows for mark in row) else "pebbles"
        hint = _BOARD_HELP if len(rows) > 1 else f"write a space and {count} letters"
        raise _missing_half(name, rows[-1][-1], hint, file)
    if lengths == [2 * number for number in range(1, len(rows) + 1)] or len(rows) == 1:  # both halves are side by side
        return [[m for row in rows for m in row[: len(row) // 2]], [m for row in rows for m in row[len(row) // 2 :]]]
    half = len(rows) // 2
    steps = list(range(1, half + 1))
    if lengths in ([*steps, *steps], [lengths[0]] * 2):  # one half is below the other
        return [[mark for row in part for mark in row] for part in (rows[:half], rows[half:])]
    expected = zip(rows, [2, 4, 6, 8, 10], strict=False)
    first = next((row for row, hint in expected if len(row) != hint), rows[-1])
    message = f"the rows have {', '.join(map(str, lengths[:12]))} places"
    raise parse_error(file, *first[0].place, message, _BOARD_HELP)


def _missing_half(name: str, last: Token, hint: str, file: str) -> ConfigError:
    """Return an error: after the mark `last`, one half of the board is missing."""
    line, column = last.place
    return parse_error(file, line, column + 1, f"the {name} are missing", hint)


def _check_colours(plates: list[Token], pebbles: list[Token], file: str) -> None:
    problems = Problems(file)
    homes = [mark for mark in plates if mark.text in {HOME, HOLE}]
    if len(homes) != 1:
        hint = "exactly one plate is W, where the hole must end"
        problems.add(*(homes or plates)[-1].place, pluralize(len(homes), "plate") + " W", hint)
    holes = [mark for mark in pebbles if mark.text == HOLE]
    if len(holes) != 1:
        hint = "one place has the hole - instead of a pebble"
        problems.add(*(holes or pebbles)[-1].place, pluralize(len(holes), "hole"), hint)
    for mark in (mark for mark in pebbles if mark.text == HOME):
        hint = "W is the plate where the hole must end; no pebble has that colour"
        problems.add(*mark.place, "a pebble is called W", hint)
    for colour in sorted({mark.text for mark in plates + pebbles} - {HOME, HOLE}):
        on, off = ([mark for mark in half if mark.text == colour] for half in (pebbles, plates))
        if len(on) != len(off):
            message = f"colour {colour} has {pluralize(len(off), 'plate')} and {pluralize(len(on), 'pebble')}"
            problems.add(*(on or off)[-1].place, message, "each colour has as many pebbles as plates")
    problems.raise_any()


def _parse_moves(rows: list[Token], places: int, file: str) -> MoveLines:
    words = [
        Token(match[0], (line, first + match.start()))
        for row, (line, first) in rows
        for match in re.finditer(r"[^\s,;]+", row)
    ]
    # parsed one by one, so that an error has its place
    parts = words if words and not words[0].text.startswith("[") else []
    whole = Token(" ".join(row.text for row in rows), words[0].place if words else (1, 1))
    lines: MoveLines = ()
    for part in [*parts, whole]:
        try:
            lines = parse_lines(part.text, places)
        except ValueError as error:
            message, _, hint = str(error).partition("; ")
            raise parse_error(file, *part.place, message, hint) from None
    return lines


def parse_solution(board: Board | str, text: str, file: str = "solution") -> Solution:
    """Read a solution of `board`: the path of the hole, such as 0-3-5. Raises ConfigError."""
    board = load_board(board, Board)
    words = list(find_tokens(text, r"[^-\s]+|-"))
    reachable = reachable_places(board)
    example = f"{board.hole}-{(reachable[board.hole] or (0,))[0]}"
    hint = f"write the path of the hole, which starts at {board.hole}, such as {example}"
    path: list[int] = []
    before = "-"
    for word, place in words:
        if word == before == "-":
            raise parse_error(file, *place, "a place is missing before this -", hint)
        before = word
        if word == "-":
            continue
        if not re.fullmatch("[0-9]{1,3}", word) or int(word) >= len(reachable):
            raise parse_error(file, *place, f"{word!r} is not a place of this board", hint)
        path.append(int(word))
        if path[0] != board.hole:
            raise parse_error(file, *place, f"the hole does not start at {path[0]}", hint)
    if not path:
        raise parse_error(file, 1, 1, "there is no solution here", hint)
    if before == "-":
        raise parse_error(file, *words[-1].place, "a place is missing after this -", hint)
    return tuple(path[1:])


COLUMN_DISTANCE, ROW_DISTANCE = 76, 70  # SVG units
PLATE_RADIUS, PEBBLE_RADIUS = 33, 20
# Colours with their first letters, then other colours. All are light enough for black letters.
COLOURS = {
    "W": "#ffffff", "R": "#f4837d", "G": "#7fd08a", "B": "#86b6f6", "Y": "#f7dd5c", "O": "#f9ab55", "P": "#c99cf2",
    "C": "#66d9d9", "A": "#b8c4ce", "D": "#d8b48a", "E": "#ff9ecb", "F": "#c3e36b", "H": "#9ff0c8", "I": "#aeb0ff",
    "J": "#e0d0a0", "K": "#a9a9a9", "L": "#d6f5a3", "M": "#f08fe0", "N": "#8fd3f4", "Q": "#ffd0b0", "S": "#c8c8ff",
    "T": "#a0dcb4", "U": "#f0b0b0", "V": "#dfb0ff", "X": "#d9d9d9", "Z": "#fff0a0",
}  # fmt: skip
STYLE = """\
.pan-wood{fill:#e9dcc6;stroke:#e9dcc6}.pan-way{stroke:#c9b48f}.pan-edge{stroke:#5b4a33}.pan-dark{fill:#1b1b1b}
.pan-number{fill:#6b5a41}.pan-move{stroke:#c62828;fill:none}.pan-hole{fill:#4a3b28}
.pan-words{font-family:system-ui,-apple-system,'Segoe UI',Roboto,sans-serif;text-anchor:middle;font-weight:700}
@media (prefers-color-scheme:dark){.pan-wood{fill:#3a3026;stroke:#3a3026}.pan-way{stroke:#5d4d39}
.pan-edge{stroke:#0d0a06}.pan-number{fill:#cbb691}.pan-move{stroke:#ff7b72}.pan-hole{fill:#15110b}}"""


def render(board: Board | str) -> str:
    """Draw `board` in the format that `parse` reads, with custom moves below."""
    board = load_board(board, Board)
    moves = ", ".join("-".join(map(str, line)) for line in board.custom_lines)
    return draw_triangles(board.plates, board.pebbles) + (f"moves: {moves}\n" if moves else "")


def notate(board: Board | str, solution: Solution) -> str:
    """Write `solution` as the path of the hole, such as 0-3-5."""
    board = load_board(board, Board)
    return "-".join(str(place) for place in (board.hole, *solution))


def render_solution(board: Board | str, solution: Solution) -> str:
    """Draw `solution` in one row."""
    return notate(board, solution) + "\n"


def render_svg(board: Board | str) -> str:
    """Draw `board` as a self-contained SVG picture."""
    board = load_board(board, Board)
    return _draw_board(board, board.pebbles)


def steps(board: Board | str, solution: Solution) -> Iterator[Step]:
    """Yield a picture of the board before and after each move of `solution`."""
    board = load_board(board, Board)
    yield Step(f"The board; the hole is at {board.hole}", _draw_board(board, board.pebbles))
    pebbles, hole = list(board.pebbles), board.hole
    for number, start in enumerate(solution, 1):
        pebbles[hole], pebbles[start] = pebbles[start], HOLE
        caption = f"{number}. {pebbles[hole]} from {start} to {hole}"
        yield Step(caption, _draw_board(board, "".join(pebbles), (start, hole)))
        hole = start


def _draw_board(board: Board, pebbles: str, move: tuple[int, int] | None = None) -> str:
    rows = triangle_rows(len(pebbles))
    width, height = len(rows) * COLUMN_DISTANCE + 20, len(rows) * ROW_DISTANCE + 24
    centers = [
        (width // 2 + (2 * at - len(row) + 1) * COLUMN_DISTANCE // 2, 16 + ROW_DISTANCE // 2 + number * ROW_DISTANCE)
        for number, row in enumerate(rows)
        for at in range(len(row))
    ]
    matching = sum(plate == pebble for plate, pebble in zip(board.plates, pebbles, strict=True))
    title = f"Panguru: {matching} of {len(pebbles) - 1} pebbles on plates of their colour"
    corners = f"{width // 2},42 44,{height - 40} {width - 44},{height - 40}"
    # The wooden board is a small triangle with a wide round stroke.
    parts = [f'<polygon class="pan-wood" points="{corners}" stroke-width="82" stroke-linejoin="round"/>']
    for one, other in (pair for line in board.move_lines for pair in pairwise(line)):
        (x, y), (u, v) = centers[one], centers[other]
        parts.append(f'<line class="pan-way" x1="{x}" y1="{y}" x2="{u}" y2="{v}" stroke-width="3"/>')
    for place, (x, y) in enumerate(centers):
        parts += _draw_place(x, y, board.plates[place], pebbles[place], place)
    if move:
        parts += _draw_arrow(centers[move[0]], centers[move[1]])
    return svg_document(width, height, title, STYLE, parts)


def _draw_place(x: int, y: int, plate: str, pebble: str, number: int) -> Iterator[str]:
    colour = COLOURS.get(plate, COLOURS[HOME])
    yield f'<circle class="pan-edge" cx="{x}" cy="{y}" r="{PLATE_RADIUS}" fill="{colour}" stroke-width="1.5"/>'
    if pebble == HOLE:
        yield f'<circle class="pan-hole" cx="{x}" cy="{y - 6}" r="8"/>'
    else:
        colour = COLOURS.get(pebble, COLOURS[HOME])
        yield (
            f'<circle class="pan-edge" cx="{x}" cy="{y - 6}" r="{PEBBLE_RADIUS}" fill="{colour}" stroke-width="3"/>'
            f'<text class="pan-words pan-dark" x="{x}" y="{y + 1}" font-size="21">{pebble}</text>'
        )
    yield f'<text class="pan-words pan-dark" x="{x}" y="{y + 28}" font-size="13">{plate}</text>'
    yield f'<text class="pan-words pan-number" x="{x - 32}" y="{y - 22}" font-size="11">{number}</text>'


def _draw_arrow(start: tuple[int, int], end: tuple[int, int]) -> Iterator[str]:
    """Yield a ring around the pebble that moved, and a dashed line from its old place."""
    (x, y), (u, v) = start, end
    part = (PEBBLE_RADIUS + 6) / math.dist(start, end)  # where the line ends, because the ring covers the rest
    dashes = 'stroke-width="4" stroke-dasharray="7 6" stroke-linecap="round"'
    right, down = u + (x - u) * part, v - 6 + (y - v) * part
    yield f'<line class="pan-move" x1="{x}" y1="{y - 6}" x2="{right:.0f}" y2="{down:.0f}" {dashes}/>'
    yield f'<circle class="pan-move" cx="{u}" cy="{v - 6}" r="{PEBBLE_RADIUS + 4}" stroke-width="4"/>'
