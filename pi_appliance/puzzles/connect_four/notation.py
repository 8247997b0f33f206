"""How a Connect Four position is written: moves with colours, the digits of the columns, or a drawn grid."""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

from pi_appliance.errors import ConfigError, Problem
from pi_appliance.puzzles import pluralize
from pi_appliance.puzzles.connect_four.board import (
    HEIGHT,
    LETTERS,
    WIDTH,
    Board,
    Colour,
    End,
    Solution,
    turn_told,
    winning,
)
from pi_appliance.puzzles.connect_four.grid import parse_grid
from pi_appliance.puzzles.connect_four.position import NOTHING, board_of

_WORD = re.compile(r"""[^\s,;\[\]()"']+""")
_COLOURED = re.compile(r"(?![RYXO_]+$)[^\W_]+_[^\W_]{2,}", re.IGNORECASE)  # and no row of a grid with _ for empty
_COLOURS = {colour.value.casefold(): colour for colour in Colour}
_COLUMNS = f"the columns are 1 to {WIDTH}"
_MOVE = "a move is a column and a colour, such as F_Yellow"
_SHAPE = (
    "write moves as F_Yellow, G_Red, … or as the digits of their columns, such as 4453, or draw six rows of R, Y and ."
)
_LINE = "write the digits of the columns and how the game ends, such as 4453 Red wins"


class _Move(NamedTuple):
    """A move as it is written in a file; no colour: whoever's turn it is."""

    column: int
    colour: Colour | None
    line: int
    at: int


class _Reader:
    """Collects moves, and what is wrong with them."""

    def __init__(self, file: str) -> None:
        self.file = file
        self.problems: list[Problem] = []

    def wrong(self, line: int, at: int, wrong: str, right: str) -> None:
        """Note what is WRONG."""
        self.problems.append(Problem(self.file, line, at, wrong, right))

    def coloured(self, rows: Iterable[tuple[int, str]]) -> Iterator[_Move]:
        """Yield the moves of a list such as F_Yellow, G_Red."""
        for line, row in rows:
            for word in _WORD.finditer(row):
                letter, bar, name = word[0].partition("_")
                at = word.start() + 1
                colour = _COLOURS.get(name.casefold())
                if not bar:
                    self.wrong(line, at, f"{word[0]!r} is no move", _MOVE)
                elif len(letter) != 1 or letter.upper() not in LETTERS:
                    self.wrong(line, at, f"there is no column {letter!r}", f"the columns are A to {LETTERS[-1]}")
                elif colour is None:
                    self.wrong(line, at + 2, f"{name!r} is no colour of this game", "the colours are Red and Yellow")
                else:
                    yield _Move(LETTERS.index(letter.upper()) + 1, colour, line, at)

    def digits(self, rows: Iterable[tuple[int, str]]) -> Iterator[_Move]:
        """Yield the moves of columns such as 4453."""
        for line, row in rows:
            for word in _WORD.finditer(row):
                for at, mark in enumerate(word[0], word.start() + 1):
                    if mark in "1234567":
                        yield _Move(int(mark), None, line, at)
                    else:
                        self.wrong(line, at, f"there is no column {mark!r}", _COLUMNS)

    def played(self, moves: Iterable[_Move], first: Colour | None = None) -> Board:
        """Return the board after MOVES, where FIRST begins unless they say who. What the rules forbid is noted."""
        position, columns, over = NOTHING, list[int](), False
        before: _Move | None = None
        for move in moves:
            first = first or move.colour or Colour.RED
            if before and move.colour and move.colour is before.colour:
                self.wrong(move.line, move.at, f"{move.colour} moves twice", f"it is the turn of {move.colour.other}")
            before = move
            if over:
                self._after_the_end(move, board_of(position, _turn(first, columns)), columns)
                break
            square = position.square(move.column)
            if not square:
                name = f"column {LETTERS[move.column - 1]} ({move.column})"
                self.wrong(move.line, move.at, f"{name} is full", f"a column has room for {HEIGHT} discs")
                continue
            over = position.wins(square) and not self.problems
            position = position.played(square)
            columns.append(move.column)
        return replace(board_of(position, _turn(first or Colour.RED, columns)), moves=tuple(columns))

    def _after_the_end(self, move: _Move, board: Board, columns: Sequence[int]) -> None:
        was = f"{board.turn.other} had won with move {len(columns)}: {winning(board)}"
        self.wrong(move.line, move.at, f"this is played after the end, as {was}", "end the list there")


def _turn(first: Colour, columns: Sequence[int]) -> Colour:
    return first.other if len(columns) % 2 else first


def parse(text: str, file: str) -> Board:
    """Return the position that TEXT notates. Raises ConfigError with every problem; FILE is the name it goes by.

    A list of moves with colours (F_Yellow, …), one a line or several, whoever begins; the digits of the columns, where
    Red begins; or a drawn grid, where Red is to move if the discs leave that open.
    """
    rows = [(line, row) for line, row in enumerate(text.splitlines(), 1) if row.strip()]
    words = [word for _, row in rows for word in _WORD.findall(row)]
    if not words:
        raise ConfigError([Problem(file, 1, 1, "there is no position here", _SHAPE)])
    reader = _Reader(file)
    if any(_COLOURED.fullmatch(word) for word in words):
        board = reader.played(list(reader.coloured(rows)))
    elif all(word.isdecimal() for word in words):
        board = replace(reader.played(list(reader.digits(rows))), settled=False)
    else:
        board = _drawn(rows, reader)
    if reader.problems:
        raise ConfigError(reader.problems)
    return board


def _drawn(rows: list[tuple[int, str]], reader: _Reader) -> Board:
    grid = parse_grid(rows, reader.file, _SHAPE)
    board = Board(grid.rows, grid.turn or Colour.RED, settled=grid.turn is not None)
    if grid.moves is None:
        return board
    line, at, digits = grid.moves
    game = reader.played(list(reader.digits([(line, " " * (at - 1) + digits)])), board.first)
    if not reader.problems and (game.rows, game.turn) != (board.rows, board.turn):
        lone = turn_told(board.rows) is None
        right = "leave the moves away, or draw where they lead" + (" and who is to move then" if lone else "")
        reader.wrong(line, at, f"the {pluralize(len(game.moves), 'move')} do not lead to this grid", right)
    return game


def notate(board: Board, line: Solution) -> str:  # noqa: ARG001
    """Return LINE in one row: the digits of the columns, and how the game ends."""
    *columns, end = line
    return "".join(map(str, columns)) + (" " if columns else "") + str(end)


def parse_solution(board: Board, text: str, file: str) -> Solution:  # noqa: ARG001
    """Return the line that TEXT notates, as `notate` writes it. Raises ConfigError."""
    end = re.sub(r"^[1-7\s]*", "", text)
    moves = text.removesuffix(end)
    known = {end.value.casefold(): end for end in End}
    ended = known.get(" ".join(end.split()).casefold())
    if ended is None:
        raise ConfigError([Problem(file, 1, len(moves) + 1, "this is no line of Connect Four", _LINE)])
    return (*(int(mark) for mark in moves if not mark.isspace()), ended)
