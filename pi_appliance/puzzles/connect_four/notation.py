"""Parse positions and solutions: moves with colours, digits of columns, or a drawn grid."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import reduce
from itertools import pairwise
from typing import NamedTuple

from pi_appliance.puzzles import Step, load_board, pluralize
from pi_appliance.puzzles.connect_four.board import (
    EMPTY,
    EMPTY_BOARD,
    HEIGHT,
    LETTERS,
    WIDTH,
    Board,
    Colour,
    End,
    Positions,
    Rows,
    Solution,
    Square,
    describe,
    describe_fours,
    find_fours,
    game_end,
    implied_turn,
)
from pi_appliance.puzzles.connect_four.search import EMPTY_POSITION, board_of
from pi_appliance.puzzles.text_format import Problems, listing_parser, parse_error, svg_document

_MARKS = {
    **dict.fromkeys("RrXx\N{LARGE RED CIRCLE}", Colour.RED.mark),
    **dict.fromkeys("YyOo\N{LARGE YELLOW CIRCLE}", Colour.YELLOW.mark),
    **dict.fromkeys(".*_\N{MEDIUM WHITE CIRCLE}", EMPTY),
}
_IGNORED = " \t|\ufeff\ufe0f"  # whitespace, frames, and variation selectors
_FRAME = re.compile(r"[\s|]*(\+[-=+\s]*|[-=\s]{3,}|[1-7](\W*[1-7]){6}|[A-Ga-g](\W*[A-Ga-g]){6})[\s|]*")
_TURN_ROW = re.compile(r"\s*(red|yellow) to move\.?\s*", re.IGNORECASE)
_MOVES_ROW = re.compile(r"\s*moves:?\s+(\S.*)", re.IGNORECASE)
_CELL = "R or X is a red disc, Y or O a yellow one, a dot an empty square"
_END_HELP = "the game ends with the first four"

_Row = tuple[int, str]  # line number in the file, and the line
_Cells = list[tuple[int, str]]  # the squares of a row: each with its column in the file, and its mark


def _read_row(row: _Row, problems: Problems) -> _Cells:
    """Return the squares of a row, up to its first problem."""
    line, text = row
    squares: _Cells = []
    for at, mark in enumerate(text, 1):
        if mark in _MARKS:
            squares.append((at, _MARKS[mark]))
        elif mark not in _IGNORED:
            problems.add(line, at, f"{mark!r} is not part of a grid", _CELL if squares else _POSITION_HELP)
            return squares
    if len(squares) != WIDTH:
        at = squares[WIDTH][0] if len(squares) > WIDTH else len(text.rstrip())
        problems.add(line, at, f"this row has {pluralize(len(squares), 'square')}", f"a row has {WIDTH}")
    return squares


def _find_floating_discs(drawn: list[_Row], cells: list[_Cells], problems: Problems) -> None:
    for (line, _), (upper, lower) in zip(drawn, pairwise(cells), strict=False):
        for letter, (at, disc), (_, below) in zip(LETTERS, upper, lower, strict=True):
            if disc != EMPTY and below == EMPTY:
                hint = "a disc falls down to the lowest empty square of its column"
                problems.add(line, at, f"this disc of column {letter} has no disc below it", hint)


def _find_impossible(rows: Rows) -> tuple[str, str] | None:
    """Return the problem and the remedy if no game can lead to these discs."""
    red, yellow = ("".join(rows).count(colour.mark) for colour in Colour)
    if abs(red - yellow) > 1:
        hint = "the colours take turns, so their numbers differ by one at most"
        return f"there are {red} red and {yellow} yellow discs", hint
    winners = {colour for colour, _ in find_fours(rows)}
    if len(winners) > 1:
        return "both colours have four in a row", _END_HELP
    for winner in winners:
        if implied_turn(rows) is winner:
            return f"{winner} has four in a row, and {winner.other} moved after that", _END_HELP
        if not _possible_last_discs(rows):
            return f"{winner} has more fours in a row than one last disc can make", _END_HELP
    return None


def _possible_last_discs(rows: Rows) -> set[Square]:
    """Return the discs that may have been played last: top discs in every four."""
    heights = [sum(row[column] != EMPTY for row in rows) for column in range(WIDTH)]
    tops = {Square(column, height) for column, height in enumerate(heights, 1)}
    return tops.intersection(*(four for _, four in find_fours(rows)))


def _read_turn(rows: list[_Row], discs: Rows, file: str) -> Colour | None:
    turn = implied_turn(discs)
    for line, text in rows:
        if match := _TURN_ROW.fullmatch(text):
            colour = Colour(match[1].capitalize())
            if turn is colour.other:
                message, at = f"{colour} does not move next", match.start(1) + 1
                raise parse_error(file, line, at, message, f"{turn} has fewer discs or has lost")
            turn = colour
    return turn


_WORD = re.compile(r"""[^\s,;\[\]()"']+""")
# The first part excludes a row of a grid that has _ for empty squares.
_COLOURED_MOVE = re.compile(r"(?![RYXO_]+$)[^\W_]+_[^\W_]{2,}", re.IGNORECASE)
_COLOURS = {colour.value.casefold(): colour for colour in Colour}
_COLUMNS_HELP = f"the columns are 1 to {WIDTH}"
_MOVE_HELP = "a move is a column and a colour, such as F_Yellow"
_POSITION_HELP = (
    "write moves as F_Yellow, G_Red, … or as the digits of their columns, such as 4453, or draw six rows of R, Y and ."
)
_POSITIONS_HELP = "write a position in each line: the digits of its columns, such as 4453"
_SCORE = re.compile(r"[-+]?\d{1,2}", re.ASCII)
_SOLUTION_HELP = "write the digits of the columns and how the game ends, such as 4453 Red wins"


class _Move(NamedTuple):
    """A move and its place in the file. Without a colour, the side to move plays it."""

    column: int
    colour: Colour | None
    line: int
    at: int


class _MoveReader(Problems):
    """Reads and plays moves, and collects their problems."""

    def read_coloured(self, rows: Iterable[_Row]) -> Iterator[_Move]:
        for line, row in rows:
            for word in _WORD.finditer(row):
                letter, bar, name = word[0].partition("_")
                at = word.start() + 1
                colour = _COLOURS.get(name.casefold())
                if not bar:
                    self.add(line, at, f"{word[0]!r} is not a move", _MOVE_HELP)
                elif len(letter) != 1 or letter.upper() not in LETTERS:
                    self.add(line, at, f"there is no column {letter!r}", f"the columns are A to {LETTERS[-1]}")
                elif colour is None:
                    self.add(line, at + 2, f"{name!r} is not a colour of this game", "the colours are Red and Yellow")
                else:
                    yield _Move(LETTERS.index(letter.upper()) + 1, colour, line, at)

    def _read_digits(self, rows: Iterable[_Row]) -> Iterator[_Move]:
        for line, row in rows:
            for word in _WORD.finditer(row):
                for at, mark in enumerate(word[0], word.start() + 1):
                    if mark in "1234567":
                        yield _Move(int(mark), None, line, at)
                    else:
                        self.add(line, at, f"there is no column {mark!r}", _COLUMNS_HELP)

    def play_digits(self, rows: Iterable[_Row], first: Colour | None = None) -> Board:
        """Return the board after the moves that are written as digits of columns."""
        return self.play_moves(list(self._read_digits(rows)), first)

    def play_moves(self, moves: Iterable[_Move], first: Colour | None = None) -> Board:
        """Return the board after `moves`; `first` begins unless they have colours."""
        position, columns, over = EMPTY_POSITION, list[int](), False
        before: _Move | None = None
        for move in moves:
            first = first or move.colour or Colour.RED
            if before and move.colour and move.colour is before.colour:
                self.add(move.line, move.at, f"{move.colour} moves twice", f"it is the turn of {move.colour.other}")
            before = move
            if over:
                board = board_of(position, _turn_after(first, columns))
                was = f"{board.turn.other} had won with move {len(columns)}: {describe_fours(board)}"
                self.add(move.line, move.at, f"this is played after the end, as {was}", "end the list there")
                break
            square = position.square(move.column)
            if not square:
                name = f"column {LETTERS[move.column - 1]} ({move.column})"
                self.add(move.line, move.at, f"{name} is full", f"a column has room for {HEIGHT} discs")
                continue
            over = position.wins(square) and not self
            position = position.play(square)
            columns.append(move.column)
        return replace(board_of(position, _turn_after(first or Colour.RED, columns)), moves=tuple(columns))


def _turn_after(first: Colour, columns: Sequence[int]) -> Colour:
    return first.other if len(columns) % 2 else first


def parse(text: str, file: str = "board") -> Board:
    """Parse a position. Raises ConfigError with every problem.

    Formats: moves with colours (F_Yellow, ...), column digits (Red begins), or a drawn grid.

    >>> from pi_appliance.puzzles import connect_four
    >>> board = connect_four.parse("4453")
    >>> board.turn.value, board.rows[-1]
    ('Red', '..YRR..')
    """
    rows = [(line, row) for line, row in enumerate(text.splitlines(), 1) if row.strip()]
    words = [word for _, row in rows for word in _WORD.findall(row)]
    if not words:
        raise parse_error(file, 1, 1, "there is no position here", _POSITION_HELP)
    reader = _MoveReader(file)
    if any(_COLOURED_MOVE.fullmatch(word) for word in words):
        board = reader.play_moves(list(reader.read_coloured(rows)))
    elif all(word.isdecimal() for word in words) or _looks_like_digits(rows):
        board = replace(reader.play_digits(rows), first_known=False)
    else:
        board = _parse_drawing(rows, reader)
    reader.raise_any()
    return board


def _looks_like_digits(rows: list[_Row]) -> bool:
    """Return whether the text seems to be the digits of columns, but contains a mistake."""
    if len(rows) >= HEIGHT or any(kind.fullmatch(row) for _, row in rows for kind in (_FRAME, _TURN_ROW, _MOVES_ROW)):
        return False
    marks = "".join(mark for _, row in rows for mark in row if not mark.isspace() and mark not in ",;-")
    return 2 * sum(mark.isdecimal() for mark in marks) > len(marks)


def _parse_drawing(rows: list[_Row], reader: _MoveReader) -> Board:
    """Parse the numbered rows of a drawn grid. Raises ConfigError."""
    file = reader.file
    drawn = [row for row in rows if not any(kind.fullmatch(row[1]) for kind in (_FRAME, _TURN_ROW, _MOVES_ROW))]
    if not drawn:
        raise parse_error(file, rows[0][0], 1, "there is no position here", _POSITION_HELP)
    cells = [_read_row(row, reader) for row in drawn]
    first = drawn[0][0]
    if not reader and len(drawn) != HEIGHT:
        reader.add(first, 1, f"the grid has {pluralize(len(drawn), 'row')}", f"draw {HEIGHT} rows")
    if not reader:
        _find_floating_discs(drawn, cells, reader)
    reader.raise_any()
    discs = tuple("".join(mark for _, mark in row) for row in cells)
    if message := _find_impossible(discs):
        raise parse_error(file, first, cells[0][0][0], *message)
    turn = _read_turn(rows, discs, file)
    board = Board(discs, turn or Colour.RED, first_known=turn is not None)
    moves = [(line, match) for line, text in rows if (match := _MOVES_ROW.fullmatch(text))]
    if len(moves) > 1:
        hint = "write the whole game in one row"
        raise parse_error(file, moves[1][0], 1, f"row {moves[0][0]} already has the moves", hint)
    return _read_game(board, *moves[0], reader) if moves else board


def _read_game(board: Board, line: int, row: re.Match[str], reader: _MoveReader) -> Board:
    """Return the board with its moves, read from a row. The moves must lead to the board."""
    at = row.start(1)
    game = reader.play_digits([(line, " " * at + row[1])], board.first)
    if not reader and (game.rows, game.turn) != (board.rows, board.turn):
        lone = implied_turn(board.rows) is None
        hint = "remove the moves, or draw the grid they lead to" + (" and who is to move then" if lone else "")
        reader.add(line, at + 1, f"the {pluralize(len(game.moves), 'move')} do not lead to this grid", hint)
    return game


def parse_positions(text: str, file: str = "positions") -> Positions:
    """Parse a position in each line: the digits of its columns, and its score if that is known.

    `#` begins a comment. Raises ConfigError with the first problem of each line.
    """
    boards, scores, problems = list[Board](), list[int | None](), Problems(file)
    for line, row in enumerate(text.splitlines(), 1):
        words = list(_WORD.finditer(row.partition("#")[0]))
        if not words:
            continue
        reader = _MoveReader(file)
        digits = " " * words[0].start() + words[0][0]
        boards.append(replace(reader.play_digits([(line, digits)]), first_known=False))
        score = words[1] if len(words) > 1 else None
        if score and not _SCORE.fullmatch(score[0]):
            hint = "after the digits of the columns comes its score, such as -3, or nothing"
            reader.add(line, score.start() + 1, f"{score[0]!r} is not a score", hint)
        elif len(words) > 2:
            reader.add(line, words[2].start() + 1, "this comes after the score", "write one position a line")
        else:
            scores.append(int(score[0]) if score else None)
        problems += reader[:1]
    if not boards:
        problems.add(1, 1, "there is no position here", _POSITIONS_HELP)
    problems.raise_any()
    return Positions(boards, scores)


def notate(board: Board | str, solution: Solution) -> str:  # noqa: ARG001 - as in the other puzzles
    """Return the column digits and the result, in one row."""
    *columns, end = solution
    return f"{''.join(map(str, columns))} {end}".lstrip()


def parse_solution(board: Board | str, text: str, file: str = "solution") -> Solution:  # noqa: ARG001 - as in the other puzzles
    """Parse a solution as `notate` writes it. Raises ConfigError."""
    end = re.sub(r"^[1-7\s]*", "", text)
    moves = text.removesuffix(end)
    known = {end.value.casefold(): end for end in End}
    ended = known.get(" ".join(end.split()).casefold())
    if ended is None:
        raise parse_error(file, 1, len(moves) + 1, "this is not a solution of Connect Four", _SOLUTION_HELP)
    return (*(int(mark) for mark in moves if not mark.isspace()), ended)


parse_listing = listing_parser(parse, parse_solution)


SQUARE_SIZE = 48  # SVG units
MARGIN = 10
HEADER_HEIGHT = 30  # for column labels above the grid
# A ring has two colours, so that it is visible on discs of both colours.
STYLE = """\
.four-name{font:bold 15px system-ui,sans-serif;text-anchor:middle;fill:#4a5568}.four-grid{fill:#1f5fbf}
.four-hole{fill:#fff}.four-red{fill:#d62839}.four-yellow{fill:#f5c518}.four-last{fill:none;stroke:#fff;stroke-width:3}
.four-ring{fill:none;stroke:#fff;stroke-width:5}.four-core{fill:none;stroke:#111;stroke-width:2}.four-best{fill:#0a7d38}
@media (prefers-color-scheme:dark){.four-name{fill:#a0aec0}.four-grid{fill:#1d3f78}.four-hole{fill:#0d1117}
.four-red{fill:#e5484d}.four-yellow{fill:#e8bd23}.four-best{fill:#56d364}}"""


def render(board: Board | str) -> str:
    """Draw the grid from the top; then the side to move, unless it is implied, and known moves."""
    board = load_board(board, Board)
    rows = list(board.rows)
    if board.turn is not (implied_turn(board.rows) or Colour.RED):
        rows.append(f"{board.turn} to move")
    if board.moves:
        rows.append(f"Moves {''.join(map(str, board.moves))}")
    return "".join(f"{row}\n" for row in rows)


def render_solution(board: Board | str, solution: Solution) -> str:
    """Return the notation, the moves with colours, and the final grid."""
    board = load_board(board, Board)
    *columns, _ = solution
    colours = (board.turn, board.turn.other)
    moves = [f"{LETTERS[int(column) - 1]}_{colours[number % 2]}" for number, column in enumerate(columns)]
    last = reduce(Board.play, map(int, columns), board)
    coloured = f"{', '.join(moves)}\n" if moves else ""
    return f"{notate(board, solution)}\n{coloured}\n" + "\n".join(last.rows) + "\n"


def render_svg(board: Board | str, last: Square | None = None, names: Mapping[int, str] | None = None) -> str:
    """Draw the position with rings around fours and a mark on `last`, below `names`."""
    board = load_board(board, Board)
    kinds = {EMPTY: "hole", "R": "red", "Y": "yellow"}
    width, height = WIDTH * SQUARE_SIZE + 2 * MARGIN, HEIGHT * SQUARE_SIZE + 2 * MARGIN
    parts = [
        *_draw_labels(names),
        f'<rect class="four-grid" x="0" y="{HEADER_HEIGHT}" width="{width}" height="{height}" rx="16"/>',
        *(
            _draw_circle(kinds[board.rows[HEIGHT - 1 - row][column]], Square(column + 1, row + 1), 20)
            for column in range(WIDTH)
            for row in range(HEIGHT)
        ),
    ]
    ringed = {square for _, four in find_fours(board.rows) for square in four}
    if last and last not in ringed:
        parts.append(_draw_circle("last", last, 8))
    for square in sorted(ringed):
        parts += [_draw_circle("ring", square, 15), _draw_circle("core", square, 15)]
    return svg_document(width, height + HEADER_HEIGHT, f"Connect Four: {describe(board)}", STYLE, parts)


def render_scores(board: Board, scores: Mapping[int, int]) -> str:
    """Draw the position with the score above each column. An asterisk marks the best ones."""
    best = max(scores.values())
    return render_svg(board, names={column: f"{score:+d}{'*' * (score == best)}" for column, score in scores.items()})


def steps(board: Board | str, solution: Solution) -> Iterator[Step]:
    """Yield a picture per move. For a finished game, these are the moves that led to its end."""
    board = load_board(board, Board)
    *columns, end = solution
    if not columns:
        board, columns = Board(EMPTY_BOARD.rows, board.first), list(board.moves)
    yield Step(describe(board), render_svg(board))
    for number, column in enumerate(map(int, columns), 1):
        turn, board = board.turn, board.play(column)
        square = Square(column, board.height(column))
        over = f": {end}" if number == len(columns) and game_end(board) else ""
        yield Step(f"{number}. {turn} {square}{over}", render_svg(board, square))


def _draw_labels(names: Mapping[int, str] | None) -> Iterator[str]:
    for column in range(1, WIDTH + 1):
        text = LETTERS[column - 1] if names is None else names.get(column, "")
        best = " four-best" if text.endswith("*") else ""
        x, y = MARGIN + (column - 0.5) * SQUARE_SIZE, HEADER_HEIGHT - 8
        yield f'<text class="four-name{best}" x="{x:g}" y="{y}">{text.removesuffix("*")}</text>'


def _draw_circle(kind: str, square: Square, radius: int) -> str:
    x = MARGIN + (square.column - 0.5) * SQUARE_SIZE
    y = HEADER_HEIGHT + MARGIN + (HEIGHT - square.row + 0.5) * SQUARE_SIZE
    return f'<circle class="four-{kind}" cx="{x:g}" cy="{y:g}" r="{radius}"/>'
