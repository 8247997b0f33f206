"""Reads a drawn Connect Four grid: six rows from the top, and what may stand below them."""

import re
from collections.abc import Iterator
from typing import NamedTuple

from pi_appliance.errors import ConfigError, Problem
from pi_appliance.puzzles import pluralize
from pi_appliance.puzzles.connect_four.board import (
    EMPTY,
    HEIGHT,
    LETTERS,
    WIDTH,
    Colour,
    Rows,
    Square,
    fours,
    turn_told,
)

_MARKS = {
    **dict.fromkeys("RrXx\N{LARGE RED CIRCLE}", Colour.RED.mark),
    **dict.fromkeys("YyOo\N{LARGE YELLOW CIRCLE}", Colour.YELLOW.mark),
    **dict.fromkeys(".*_\N{MEDIUM WHITE CIRCLE}", EMPTY),
}
_BETWEEN = " \t|\ufeff\ufe0f"  # blank space, frames, and what makes an emoji of a sign
_FRAME = re.compile(r"[\s|]*(\+[-=+\s]*|[-=\s]{3,}|[1-7](\W*[1-7]){6}|[A-Ga-g](\W*[A-Ga-g]){6})[\s|]*")
_TURN = re.compile(r"\s*(red|yellow) to move\.?\s*", re.IGNORECASE)
_MOVES = re.compile(r"\s*moves:?\s+(\S.*)", re.IGNORECASE)
_CELL = "R or X is a red disc, Y or O a yellow one, a dot an empty square"

_Row = tuple[int, str]
_Cells = list[tuple[int, str]]  # of a row: where each square stands in the file, and its mark


class Grid(NamedTuple):
    """What a drawing says: the discs, whose turn it is if that is told, and where which moves are written."""

    rows: Rows
    turn: Colour | None
    moves: tuple[int, int, str] | None


def parse_grid(rows: list[_Row], file: str, shape: str) -> Grid:
    """Return the grid drawn in ROWS, numbered and without empty ones. Raises ConfigError; SHAPE says what to write."""
    drawn = [row for row in rows if not any(kind.fullmatch(row[1]) for kind in (_FRAME, _TURN, _MOVES))]
    if not drawn:
        raise ConfigError([Problem(file, rows[0][0], 1, "there is no position here", shape)])
    cells: list[_Cells] = []
    problems = [problem for row in drawn for problem in _read(row, file, cells, shape)]
    line = drawn[0][0]
    if not problems and len(drawn) != HEIGHT:
        problems.append(Problem(file, line, 1, f"the grid has {pluralize(len(drawn), 'row')}", f"draw {HEIGHT} rows"))
    if not problems:
        problems += _floating(drawn, cells, file)
    if problems:
        raise ConfigError(problems)
    discs = tuple("".join(mark for _, mark in row) for row in cells)
    if wrong := _impossible(discs):
        raise ConfigError([Problem(file, line, cells[0][0][0], *wrong)])
    return Grid(discs, _turn(rows, discs, file), _moves(rows, file))


def _read(row: _Row, file: str, cells: list[_Cells], shape: str) -> Iterator[Problem]:
    """Add the squares of ROW to CELLS; yield what is wrong with it first."""
    line, text = row
    found: _Cells = []
    for at, mark in enumerate(text, 1):
        if mark in _MARKS:
            found.append((at, _MARKS[mark]))
        elif mark not in _BETWEEN:
            yield Problem(file, line, at, f"{mark!r} is no part of a grid", _CELL if found else shape)
            return
    if len(found) != WIDTH:
        at = found[WIDTH][0] if len(found) > WIDTH else len(text.rstrip())
        yield Problem(file, line, at, f"this row has {pluralize(len(found), 'square')}", f"a row has {WIDTH}")
    cells.append(found)


def _floating(drawn: list[_Row], cells: list[_Cells], file: str) -> Iterator[Problem]:
    """Yield the discs with nothing below them."""
    for (line, _), upper, lower in zip(drawn, cells, cells[1:], strict=False):
        for column, ((at, disc), (_, below)) in enumerate(zip(upper, lower, strict=True)):
            if disc != EMPTY and below == EMPTY:
                right = "a disc falls down to the lowest empty square of its column"
                yield Problem(file, line, at, f"this disc of column {LETTERS[column]} stands on nothing", right)


def _impossible(rows: Rows) -> tuple[str, str] | None:
    """Return what no game can come to, and what would be right."""
    red, yellow = ("".join(rows).count(colour.mark) for colour in Colour)
    if abs(red - yellow) > 1:
        right = "the colours take turns, so their numbers differ by one at most"
        return f"there are {red} red and {yellow} yellow discs", right
    winners = {colour for colour, _ in fours(rows)}
    if len(winners) > 1:
        return "both colours have four in a row", "the game ends with the first four"
    for winner in winners:
        if turn_told(rows) is winner:
            return (
                f"{winner} has four in a row, and {winner.other} moved after that",
                "the game ends with the first four",
            )
        if not _last(rows):
            return f"{winner} has more fours than one last disc makes", "the game ends with the first four"
    return None


def _last(rows: Rows) -> set[Square]:
    """Return the discs that may have been the last: on top of their columns, and in each four in a row."""
    heights = [sum(row[column] != EMPTY for row in rows) for column in range(WIDTH)]
    tops = {Square(column, height) for column, height in enumerate(heights, 1)}
    return tops.intersection(*(four for _, four in fours(rows)))


def _turn(rows: list[_Row], discs: Rows, file: str) -> Colour | None:
    told = turn_told(discs)
    for line, text in rows:
        if said := _TURN.fullmatch(text):
            colour = Colour(said[1].capitalize())
            if told is colour.other:
                wrong, at = f"it is not {colour} who moves next", said.start(1) + 1
                raise ConfigError([Problem(file, line, at, wrong, f"by the discs it is {told}")])
            told = colour
    return told


def _moves(rows: list[_Row], file: str) -> tuple[int, int, str] | None:
    said = [(line, found) for line, text in rows if (found := _MOVES.fullmatch(text))]
    if len(said) > 1:
        right = "write the whole game in one row"
        raise ConfigError([Problem(file, said[1][0], 1, f"moves stand in row {said[0][0]} already", right)])
    return next(((line, found.start(1) + 1, found[1]) for line, found in said), None)
