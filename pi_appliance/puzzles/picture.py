"""Draw a solution of peg solitaire as PNG, for networks that do not accept SVG."""

import io
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING

from pi_appliance.errors import ConfigError, Refused
from pi_appliance.puzzles import pluralize
from pi_appliance.puzzles.peg_solitaire import TITLE, Board
from pi_appliance.puzzles.peg_solitaire.board import BOARDS
from pi_appliance.puzzles.peg_solitaire.notation import parse
from pi_appliance.puzzles.rendering import BOARD_HEADER, SOLUTION_END, SOLUTION_START
from pi_appliance.storage.model import Picture

if TYPE_CHECKING:
    from PIL.ImageDraw import ImageDraw

WIDTH, HEIGHT = 1200, 675  # 16:9, shown uncropped on phones
_SCALE = 2  # drawn larger and reduced, for smooth edges
_SIDE_MARGIN, _TOP_MARGIN, _BOTTOM_MARGIN = 44, 150, 28  # margins at the sides, above (with the title) and below
_RIM_WIDTH, _HOLE_RADIUS, _PEG_RADIUS = 0.3, 0.17, 0.37  # in units of the distance of two holes
_BOARD_MARGIN = 2 * _RIM_WIDTH + 0.55  # space around the holes of a board
_MAX_NAME_LENGTH = 26  # characters of a name
_PAPER, _INK, _PALE_INK = "#fbf6ec", "#2b2118", "#7a6a58"
_WOOD, _DARK, _RED, _SHINE, _AMBER = "#c8a06a", "#8b6538", "#b3261e", "#d9817c", "#ffc53d"


@dataclass(slots=True)
class SolvedBoard:
    """A board and its first listed solution."""

    name: str  # may be empty
    boards: list[Board] = field(default_factory=list)  # the start, then one for each jump
    count: str = ""  # the number of solutions, as written in the report

    @property
    def jumps(self) -> int:
        """The number of jumps."""
        return len(self.boards) - 1


def draw_listing(lines: Iterable[str]) -> Picture | None:
    """Draw the longest solution of a listing; None without one. Raises Refused without Pillow."""
    try:
        solved = [each for each in _read_boards(lines) if each.jumps and _is_solution(each.boards)]
    except ConfigError:  # its drawings are not boards of peg solitaire
        return None
    return draw_solution(max(solved, key=lambda each: each.jumps)) if solved else None


def draw_solution(solved: SolvedBoard) -> Picture:
    """Draw a solution as a PNG of 1200 x 675 pixels. Raises Refused if Pillow is missing."""
    try:
        from PIL import Image, ImageDraw, ImageFont  # noqa: PLC0415 - 50 ms and 6 MB for a post with a picture alone
    except ModuleNotFoundError:
        install = f"{sys.executable} -m pip install 'pillow>=10.1'"
        raise Refused(f"a picture needs Pillow, which is not installed; install it: {install}") from None
    image = Image.new("RGB", (WIDTH * _SCALE, HEIGHT * _SCALE), _PAPER)
    pen = ImageDraw.Draw(image)
    large, small = (ImageFont.load_default(size * _SCALE) for size in (50, 30))
    words = [pluralize(len(solved.boards[0].pegs), "peg"), pluralize(solved.jumps, "jump"), "one peg left"]
    pen.text((_SIDE_MARGIN * _SCALE, 30 * _SCALE), _format_title(solved), _INK, large)
    pen.text((_SIDE_MARGIN * _SCALE, 94 * _SCALE), "  ·  ".join([*words, *_format_count(solved)]), _PALE_INK, small)
    _draw_boards(pen, solved.boards)
    file = io.BytesIO()
    image.reduce(_SCALE).save(file, "PNG", optimize=True)
    return Picture(file.getvalue(), "image/png", _describe_picture(solved))


def _read_boards(lines: Iterable[str]) -> list[SolvedBoard]:
    boards: list[SolvedBoard] = []
    rows = (line.rstrip("\r\n") for line in lines)
    name = above = ""
    for row in rows:
        if row == BOARD_HEADER:
            start = parse(_read_drawing(rows), BOARD_HEADER)
            known = (known for known, drawn in BOARDS.items() if parse(drawn, known) == start)
            boards.append(SolvedBoard(name or next(known, ""), [start]))
            name = ""
        elif row == SOLUTION_START and boards:
            drawings = _read_solution(rows, boards[-1].jumps)
            boards[-1].boards += [parse(each, SOLUTION_START) for each in drawings]
        elif row.startswith("Solutions: ") and boards:
            boards[-1].count = row.removeprefix("Solutions: ")
        elif row and row == "=" * len(above):
            name = above
        above = row
    return boards


def _read_drawing(rows: Iterator[str]) -> str:
    return "\n".join(iter(lambda: next(rows, ""), ""))


def _read_solution(rows: Iterator[str], jumps: int) -> list[str]:
    """Consume the drawings of a solution; return none if incomplete or if `jumps` are read."""
    drawings: list[str] = []
    for row in rows:
        if row == SOLUTION_END:
            return drawings
        if row and not jumps:
            drawings.append(f"{row}\n{_read_drawing(rows)}")
    return []


def _is_solution(boards: Sequence[Board]) -> bool:
    steps = all(
        one.holes == other.holes and len(one.pegs - other.pegs) == 2 and len(other.pegs - one.pegs) == 1
        for one, other in pairwise(boards)
    )
    return steps and len(boards[-1].pegs) == 1


def _format_title(solved: SolvedBoard) -> str:
    name = solved.name if len(solved.name) <= _MAX_NAME_LENGTH else f"{solved.name[:_MAX_NAME_LENGTH]}…"
    return f"{TITLE}: {name}" if name else TITLE


def _format_count(solved: SolvedBoard) -> list[str]:
    number = solved.count.replace(",", "")
    return [pluralize(int(number), "solution")] if number.isdecimal() else []


def _describe_picture(solved: SolvedBoard) -> str:
    start, end = solved.boards[0], solved.boards[-1]
    return ". ".join(
        (
            f"{_format_title(solved)}, {pluralize(len(start.pegs), 'peg')} in {pluralize(len(start.holes), 'hole')}",
            f"A solution of {pluralize(solved.jumps, 'jump')}, drawn board after board",
            f"The last peg ends in column {min(end.pegs).x + 1} of row {min(end.pegs).y + 1}",
            *(words.capitalize() for words in _format_count(solved)),
        )
    )


def _draw_boards(pen: "ImageDraw", boards: Sequence[Board]) -> None:
    wide, high = (max(axis) + 1 for axis in zip(*boards[0].holes, strict=True))
    room = ((WIDTH - 2 * _SIDE_MARGIN) * _SCALE, (HEIGHT - _TOP_MARGIN - _BOTTOM_MARGIN) * _SCALE)
    cell = wide + _BOARD_MARGIN, high + _BOARD_MARGIN
    layouts = ((columns, -(-len(boards) // columns)) for columns in range(1, len(boards) + 1))
    unit, columns = max((min(room[0] / across / cell[0], room[1] / down / cell[1]), across) for across, down in layouts)
    step_x, step_y = room[0] / columns, room[1] / -(-len(boards) // columns)
    for number, (before, board) in enumerate(zip([boards[0], *boards], boards, strict=False)):
        row, column = divmod(number, columns)
        # Centre the board in its cell.
        x = _SIDE_MARGIN * _SCALE + step_x * column + (step_x - unit * (wide - 1)) / 2
        y = _TOP_MARGIN * _SCALE + step_y * row + (step_y - unit * (high - 1)) / 2
        _draw_board(pen, before, board, (x, y), unit)


def _draw_board(pen: "ImageDraw", before: Board, board: Board, at: tuple[float, float], unit: float) -> None:
    places = {hole: (at[0] + hole.x * unit, at[1] + hole.y * unit) for hole in board.holes}
    for x, y in places.values():
        side = unit * (0.5 + _RIM_WIDTH)
        pen.rounded_rectangle((x - side, y - side, x + side, y + side), unit * _RIM_WIDTH, _WOOD)
    for x, y in places.values():
        _draw_disc(pen, x, y, unit * _HOLE_RADIUS, _DARK)
    removed, added = before.pegs - board.pegs, board.pegs - before.pegs
    for end in added:
        path = sorted(removed, key=lambda hole: abs(hole.x - end.x) + abs(hole.y - end.y))
        pen.line((places[path[-1]], places[end]), _AMBER, round(unit * 0.16))
        _draw_disc(pen, *places[path[0]], unit * _HOLE_RADIUS * 1.5, _RED)
        _draw_disc(pen, *places[path[0]], unit * _HOLE_RADIUS, _WOOD)
    for hole in board.pegs:
        (x, y), body, shine = places[hole], *((_AMBER, _PAPER) if hole in added else (_RED, _SHINE))
        _draw_disc(pen, x, y, unit * _PEG_RADIUS, body)
        _draw_disc(pen, x - unit * 0.12, y - unit * 0.12, unit * 0.1, shine)


def _draw_disc(pen: "ImageDraw", x: float, y: float, radius: float, colour: str) -> None:
    pen.ellipse((x - radius, y - radius, x + radius, y + radius), colour)
