"""Draws a battleship board: as text, and as an SVG picture; the fleet laid on it, and what a line is called."""

import re
from collections.abc import Iterable, Iterator

from pi_appliance.errors import ConfigError, Problem
from pi_appliance.puzzles import Step, pluralize
from pi_appliance.puzzles._svg import picture
from pi_appliance.puzzles.battleship.board import (
    HIT,
    MISS,
    RULES,
    SUNK,
    UNKNOWN,
    Board,
    Ship,
    Solution,
    Square,
    ship_of,
)

UNIT = 36  # the side of a square, in the picture's own units
EDGE = 28  # the room for letters and numbers
_NAMES = re.compile(r"[^\s,]+")
# Sea by day and by night; hits are told by their shape as well as by their colour.
STYLE = """\
.bs-sea{fill:#cfe6f5}.bs-fog{fill:#9fb8c9}.bs-grid{stroke:#fff;stroke-width:1.5}.bs-name{fill:#33475b}
.bs-miss{fill:#fff;stroke:#5b7f99;stroke-width:2}.bs-ship{fill:#4a5560;stroke:#20272e;stroke-width:2}
.bs-hit{stroke:#d55e00;stroke-width:5;stroke-linecap:round}.bs-sunk{fill:#20272e}
.bs-name,.bs-chance{font-family:system-ui,sans-serif;text-anchor:middle}
@media (prefers-color-scheme:dark){.bs-sea{fill:#16364d}.bs-fog{fill:#33495a}.bs-grid{stroke:#0b1c29}
.bs-name{fill:#c3d3e0}.bs-miss{fill:#16364d;stroke:#9cc3de}.bs-ship{fill:#5d6a76;stroke:#e8edf2}
.bs-hit{stroke:#ffab66}.bs-sunk{fill:#5d6a76}}"""


def render(board: Board) -> str:
    """Draw BOARD as `parse` reads it: its rules where they are not the default ones, then a row a line."""
    rules = {
        "fleet": ",".join(map(str, board.fleet)),
        "touching": board.touching,
        "ships": board.ships,
        "sinking": board.sinking,
    }
    headers = [f"{name}: {value}\n" for name, value in rules.items() if value != RULES[name].default]
    headers += [f"whole: {', '.join(map(str, board.known))}\n"] if board.known else []
    return "".join(headers) + "".join(f"{row}\n" for row in board.rows)


def render_solution(board: Board, line: Solution) -> str:
    """Draw LINE: its notation, then the sea with a letter a ship, the first A; misses and other water as a dot."""
    letters = {square: _letter(number) for number, ship in enumerate(line) for square in ship.squares}
    rows = ("".join(letters.get(Square(x, y), MISS) for x in range(board.width)) for y in range(board.height))
    return notate(board, line) + "\n\n" + "".join(f"{row}\n" for row in rows)


def _letter(number: int) -> str:
    return "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"[number]


def notate(board: Board, line: Solution) -> str:  # noqa: ARG001 - a ship is called the same on every board
    """Return LINE in one row: each ship by its first square and its last, the shortest ships first."""
    return " ".join(map(str, reversed(line)))


def parse_solution(board: Board, text: str, file: str) -> Solution:
    """Return the fleet that TEXT notates, such as "J10 C3-E3 A1-A4". Raises ConfigError."""
    problems: list[Problem] = []
    ships: list[Ship] = []
    for number, row in enumerate(text.splitlines(), 1):
        for found in _NAMES.finditer(row):
            word, at = found[0], found.start() + 1
            ship = ship_of(word)
            if ship is None or str(ship) != word.upper():
                right = "name its first and last square, such as B5-B8, or B5 alone"
                problems.append(Problem(file, number, at, f"{word!r} is no ship", right))
            elif ship.end.x >= board.width or ship.end.y >= board.height:
                right = f"the sea has {board.width} columns and {board.height} rows"
                problems.append(Problem(file, number, at, f"{ship} is outside the sea", right))
            else:
                ships.append(ship)
    if problems:
        raise ConfigError(problems)
    if not ships:
        right = "name each ship by its first and last square, such as B5-B8, or B5 alone"
        raise ConfigError([Problem(file, 1, 1, "no ship is named here", right)])
    return tuple(reversed(ships))


def render_svg(board: Board) -> str:
    """Draw BOARD as a picture that needs nothing else."""
    return drawn(board, (), _title(board))


def steps(board: Board, line: Solution) -> Iterator[Step]:
    """Yield BOARD as it is known, then the fleet of LINE, one ship more each time."""
    yield Step("What is known", render_svg(board))
    for number, ship in enumerate(line, 1):
        length = len(ship.squares)
        caption = f"{ship}, {pluralize(length, 'square')}"
        yield Step(caption, drawn(board, line[:number], f"Battleship: {pluralize(number, 'ship')} laid"))


def _title(board: Board) -> str:
    marks = {"hit": HIT, "missed": MISS, "sunk": SUNK, "unknown": UNKNOWN}
    numbers = {name: len(board.marked(mark)) for name, mark in marks.items()}
    return "Battleship: " + ", ".join(f"{number} {name}" for name, number in numbers.items() if number)


def drawn(board: Board, fleet: Iterable[Ship], title: str) -> str:
    """Draw BOARD with the ships of FLEET; TITLE is read out."""
    parts = [*sea(board), *map(_hull, dict.fromkeys([*fleet, *board.known]))]
    for y, row in enumerate(board.rows):
        for x, mark in enumerate(row):
            parts += _mark(mark, *middle(x, y))
    return picture(*extent(board), title, STYLE, parts)


def extent(board: Board) -> tuple[int, int]:
    """Return the width and height of a picture of BOARD."""
    return EDGE + UNIT * board.width + 4, EDGE + UNIT * board.height + 4


def middle(x: int, y: int) -> tuple[int, int]:
    """Return where the middle of a square is."""
    return EDGE + UNIT * x + UNIT // 2, EDGE + UNIT * y + UNIT // 2


def sea(board: Board) -> Iterator[str]:
    """Yield the squares of BOARD, those that are unknown in fog, and the names of columns and rows."""
    for y, row in enumerate(board.rows):
        for x, mark in enumerate(row):
            name = "fog" if mark == UNKNOWN else "sea"
            left, top = EDGE + UNIT * x, EDGE + UNIT * y
            yield f'<rect class="bs-{name} bs-grid" x="{left}" y="{top}" width="{UNIT}" height="{UNIT}"/>'
    yield from names(board)


def names(board: Board) -> Iterator[str]:
    """Yield the letters of the columns and the numbers of the rows."""
    for x in range(board.width):
        yield f'<text class="bs-name" font-size="15" x="{middle(x, 0)[0]}" y="{EDGE - 8}">{str(Square(x, 0))[0]}</text>'
    for y in range(board.height):
        yield f'<text class="bs-name" font-size="15" x="{EDGE // 2}" y="{middle(0, y)[1] + 5}">{y + 1}</text>'


def _hull(ship: Ship) -> str:
    (left, top), (right, bottom) = middle(*ship.start), middle(*ship.end)
    room = UNIT // 2 - 5
    width, height = right - left + 2 * room, bottom - top + 2 * room
    x, y = left - room, top - room
    return f'<rect class="bs-ship" x="{x}" y="{y}" width="{width}" height="{height}" rx="{room}"/>'


def _mark(mark: str, x: int, y: int) -> Iterator[str]:
    if mark == MISS:
        yield f'<circle class="bs-miss" cx="{x}" cy="{y}" r="4"/>'
    if mark == SUNK:
        yield f'<rect class="bs-sunk" x="{x - 11}" y="{y - 11}" width="22" height="22" rx="4"/>'
    if mark in (HIT, SUNK):
        yield f'<path class="bs-hit" d="M{x - 7} {y - 7}l14 14m0-14l-14 14"/>'
