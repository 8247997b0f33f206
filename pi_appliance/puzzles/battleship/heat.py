"""Where the ships are likely to be: the probability of a ship on every square, as tables, a map and the best shot."""

from collections.abc import Iterator
from math import sqrt

from pi_appliance.puzzles import Table
from pi_appliance.puzzles._svg import picture
from pi_appliance.puzzles.battleship.board import HIT, MISS, SUNK, UNKNOWN, Board, Square
from pi_appliance.puzzles.battleship.count import Survey
from pi_appliance.puzzles.battleship.render import EDGE, STYLE, UNIT, extent, middle, names

# One hue from pale to dark, which every eye sees, and the number on it; at night from dark to bright.
SHADES = 8
LIGHT = 5  # from this shade on, its number turns to the other colour
_DAY = ("#f1f6fb", "#d6e6f4", "#b3d3ea", "#86bbdd", "#5a9fcc", "#347fb6", "#175e98", "#08407a")
_NIGHT = ("#0d1b27", "#12304a", "#15466d", "#1a5f92", "#2b7bb4", "#5299cd", "#86bbe2", "#bfdcf3")
_STYLE = (
    STYLE
    + "".join(f".bs-h{n}{{fill:{shade}}}" for n, shade in enumerate(_DAY))
    + ".bs-chance{fill:#0b1c29}.bs-on{fill:#fff}.bs-best{fill:none;stroke:#d55e00;stroke-width:4}"
    + "@media (prefers-color-scheme:dark){"
    + "".join(f".bs-h{n}{{fill:{shade}}}" for n, shade in enumerate(_NIGHT))
    + ".bs-chance{fill:#fff}.bs-on{fill:#0b1c29}.bs-best{stroke:#ff9a4d}}"
)


def best_shot(board: Board, survey: Survey) -> Square | None:
    """Return the unknown square that most placements have a ship on, the first of equal ones; None if all is known."""
    return min(board.marked(UNKNOWN), key=lambda square: survey.water[square.y][square.x], default=None)


def percent(survey: Survey, square: Square) -> float:
    """Return in how many of 100 placements SQUARE holds a ship."""
    return 100 * (survey.total - survey.water[square.y][square.x]) / survey.total


def tables(board: Board, survey: Survey) -> list[Table]:
    """Return the probabilities of all squares, and the exact numbers they come from."""
    headers = ("row", *(str(Square(x, 0))[0] for x in range(board.width)))
    lines = [(y, [Square(x, y) for x in range(board.width)]) for y in range(board.height)]
    chances = [(y + 1, *(round(percent(survey, square), 2) for square in row)) for y, row in lines]
    numbers = [(y + 1, *(survey.total - water for water in survey.water[y])) for y, _ in lines]
    return [
        Table("Probability of a ship on each square, in per cent", headers, chances),
        Table("Placements with a ship on each square", headers, numbers),
    ]


def heat_map(board: Board, survey: Survey) -> str:
    """Draw the probability of a ship on every square of BOARD, and the best shot."""
    parts = [part for y in range(board.height) for x in range(board.width) for part in _square(board, survey, x, y)]
    parts += names(board)
    best = best_shot(board, survey)
    title = "Battleship: the probability of a ship on each square, in per cent"
    if best:
        left, top = EDGE + UNIT * best.x + 2, EDGE + UNIT * best.y + 2
        parts.append(f'<rect class="bs-best" x="{left}" y="{top}" width="{UNIT - 4}" height="{UNIT - 4}"/>')
        title += f"; the best shot is {best}, {percent(survey, best):.1f}"
    return picture(*extent(board), title, _STYLE, parts)


def _square(board: Board, survey: Survey, x: int, y: int) -> Iterator[str]:
    mark, chance = board.rows[y][x], percent(survey, Square(x, y))
    # The root spreads what is unlikely over more shades: on an empty sea no square has more than a few per cent.
    shade = min(SHADES - 1, int(SHADES * sqrt(chance / 100))) if mark == UNKNOWN else 0
    left, top = EDGE + UNIT * x, EDGE + UNIT * y
    yield f'<rect class="bs-h{shade} bs-grid" x="{left}" y="{top}" width="{UNIT}" height="{UNIT}"/>'
    across, down = middle(x, y)
    if mark == MISS:
        yield f'<circle class="bs-miss" cx="{across}" cy="{down}" r="4"/>'
    elif mark in (HIT, SUNK):
        yield f'<path class="bs-hit" d="M{across - 7} {down - 7}l14 14m0-14l-14 14"/>'
    else:
        bright = " bs-on" if shade >= LIGHT else ""
        number = _number(chance)
        size = 17 if len(number) < 3 else 14
        yield f'<text class="bs-chance{bright}" font-size="{size}" x="{across}" y="{down + 6}">{number}</text>'


def _number(chance: float) -> str:
    """Return CHANCE as few digits: 0 and 100 only where they are exact."""
    if 0 < chance < 1:
        return "&lt;1"
    return "&gt;99" if 99 < chance < 100 else f"{chance:.0f}"
