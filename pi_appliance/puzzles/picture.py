"""Pictures of a result for posts: a still PNG, or an animated GIF of the solution.

The SVG pictures of the report page are converted, so every puzzle has them. The pictures are drawn
from the `result.json` of the run, and only for a post that uses them.
"""

import io
import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

from pi_appliance.errors import ApplianceError, Refused
from pi_appliance.puzzles import Puzzle, Step, pluralize
from pi_appliance.puzzles.board_report import JSON_FILE
from pi_appliance.puzzles.boards import load_puzzle
from pi_appliance.storage.model import Picture

if TYPE_CHECKING:
    from PIL.Image import Image

    from pi_appliance.puzzles.raster import Canvas

WIDTH, HEIGHT = 1200, 675  # 16:9, shown uncropped on phones
MAX_BOARDS = 64  # boards in a still picture; a longer solution is shown by evenly spaced ones
ANIMATION_WIDTH, ANIMATION_HEIGHT = 640, 720
MAX_FRAMES = 100
MAX_ANIMATION_BYTES = 2_000_000  # bytes; a post waits in the database on the SD card
_MAX_STEPS = 10_000  # steps of a solution that are drawn
_COLOURS = 64  # colours of an animation
_SIDE_MARGIN, _TOP_MARGIN, _BOTTOM_MARGIN = 44, 150, 28  # margins at the sides, above (with the title) and below
_BOARD_MARGIN = 0.08  # space around a board, as a share of its larger side
_MAX_NAME_LENGTH = 26  # characters of a name
_MAX_ALT_NOTATION = 500  # characters of a solution in the description
_PAPER, _INK, _PALE_INK = "#fbf6ec", "#2b2118", "#7a6a58"


@dataclass(frozen=True, slots=True)
class SolvedBoard:
    """A board of a result, with its first listed solution."""

    puzzle: Puzzle
    name: str  # name of the board; may be empty
    board: object
    line: object | None = None  # the solution; None if there is none or if it was not listed
    count: str = ""  # the number of solutions in words, or the proof that there is none
    pictures: Sequence[str] = ()
    """Further SVG pictures of a result without a listed solution, such as a probability map."""

    def steps(self) -> list[Step]:
        """Return the pictures from the start to the end."""
        if self.line is None:
            start = Step("The board", self.puzzle.render_svg(self.board))
            return [start, *(Step("", svg) for svg in self.pictures[:1])]
        return list(islice(self.puzzle.steps(self.board, self.line), _MAX_STEPS))

    @property
    def title(self) -> str:
        """The titles of the puzzle and of the board."""
        name = self.name if len(self.name) <= _MAX_NAME_LENGTH else f"{self.name[:_MAX_NAME_LENGTH]}…"
        return f"{self.puzzle.TITLE}: {name}" if name else self.puzzle.TITLE


def read_result(result: Path) -> SolvedBoard | None:
    """Return the board with the longest solution, or else the first answered one, or None."""
    try:
        content = json.loads(result.read_text("utf-8"))
        boards = [each for each in content["boards"] if each["answered"]]
        chosen = max(boards, key=lambda each: len(next(iter(each["solutions"]), "")), default=None)
        return _read_board(load_puzzle(content["puzzle"]), chosen, result.parent) if chosen else None
    except (OSError, ValueError, LookupError, TypeError, ApplianceError):  # the report is damaged, or was changed
        return None


def _read_board(puzzle: Puzzle, entry: Mapping[str, Any], folder: Path) -> SolvedBoard | None:
    name, board = entry["name"], puzzle.parse(entry["board"], entry["name"])
    if not entry["solutions"]:
        files = (folder / f"{name}-{picture}.svg" for picture in entry.get("pictures", ()))
        pictures = [file.read_text("utf-8") for file in files if file.is_file()]
        return SolvedBoard(puzzle, name, board, count=_format_count(entry), pictures=pictures)
    line = puzzle.parse_solution(board, entry["solutions"][0], name)
    return SolvedBoard(puzzle, name, board, line, _format_count(entry)) if puzzle.check(board, line) else None


def _format_count(entry: Mapping[str, Any]) -> str:
    if entry["proof"]:
        return f"no solution, proven by {entry['proof']}"
    if entry["count"] is None:
        return ""
    return pluralize(entry["count"], "shortest solution" if entry["mode"] == "fewest-moves" else "solution")


def draw_result(result: Path) -> Picture | None:
    """Draw the longest solution of the report with the file `result`, or else its first board.

    The PNG has 1200 x 675 pixels. Returns None if there is no answered board.

    Raises:
        Refused: Pillow is not installed.
    """
    solved = read_result(result.with_name(JSON_FILE))
    if solved is None:
        return None
    canvas, steps = _load_raster().Canvas(WIDTH, HEIGHT, _PAPER), solved.steps()
    if getattr(solved.puzzle, "SOLVED_AT_ONCE", False):
        shown = [steps[0], steps[-1]] if len(steps) > 1 else steps
    else:
        shown = choose_evenly(steps, MAX_BOARDS)
    _draw_heading(canvas, solved, steps)
    _draw_boards(canvas, [step.svg for step in shown])
    return Picture(_save(canvas.finish(), "PNG", optimize=True), "image/png", _describe(solved, steps, len(shown)))


def animate_result(result: Path) -> Picture | None:
    """Draw the longest solution as a GIF, or return None if there is none.

    The GIF keeps the limits of frames and bytes; None also means that it cannot.

    Raises:
        Refused: Pillow is not installed.
    """
    solved = read_result(result.with_name(JSON_FILE))
    if solved is None or solved.line is None:
        return None
    raster, steps = _load_raster(), solved.steps()
    shown = choose_evenly(steps, MAX_FRAMES)
    while len(shown) > 1:
        # With one palette for all frames, only the changed squares are stored.
        palette = _draw_frame(raster, solved, shown[-1]).quantize(_COLOURS)
        # a generator, so that only one frame is in memory
        frames = (_reduce_colours(_draw_frame(raster, solved, step), palette) for step in shown)
        milliseconds = 1_000 if len(shown) <= 40 else 500
        times = [milliseconds] * (len(shown) - 1) + [4_000]
        data = _save(next(frames), "GIF", save_all=True, append_images=frames, duration=times, loop=0)
        if len(data) <= MAX_ANIMATION_BYTES:
            return Picture(data, "image/gif", _describe(solved, steps, len(shown)))
        shown = choose_evenly(steps, len(shown) // 2)
    return None


def choose_evenly(steps: Sequence[Step], most: int) -> list[Step]:
    """Return at most `most` of the steps, at even distances, with the first and the last."""
    if len(steps) <= most:
        return list(steps)
    return [steps[round(number * (len(steps) - 1) / max(1, most - 1))] for number in range(most)]


def _load_raster() -> ModuleType:
    try:
        from pi_appliance.puzzles import raster  # noqa: PLC0415 - 50 ms and 6 MB for a post with a picture alone
    except ModuleNotFoundError:
        install = f"{sys.executable} -m pip install 'pillow>=10.1'"
        raise Refused(f"a picture needs Pillow, which is not installed; install it: {install}") from None
    return raster


def _save(image: "Image", kind: str, **options: object) -> bytes:
    file = io.BytesIO()
    image.save(file, kind, **options)
    return file.getvalue()


def _draw_heading(canvas: "Canvas", solved: SolvedBoard, steps: Sequence[Step]) -> None:
    length = pluralize(len(steps) - 1, "step") if solved.line is not None and len(steps) > 1 else ""
    words = filter(None, (solved.puzzle.describe(solved.board), length, solved.count))
    canvas.draw_words((_SIDE_MARGIN, 30), solved.title, 50, _INK)
    _draw_row(canvas, (_SIDE_MARGIN, 94), "  ·  ".join(words), 30, WIDTH - 2 * _SIDE_MARGIN)


def _draw_row(canvas: "Canvas", at: tuple[float, float], text: str, size: int, width: float) -> None:
    """Write a row as large as possible, at most with font size `size`."""
    fitting = max(12, min(size, int(size * width / max(1.0, canvas.measure_words(text, size)))))
    canvas.draw_words(at, text, fitting, _PALE_INK)


def _draw_boards(canvas: "Canvas", pictures: Sequence[str]) -> None:
    """Draw the pictures in reading order, as large as fit."""
    from pi_appliance.puzzles.raster import picture_size  # noqa: PLC0415 - after _load_raster

    wide, high = (max(sides) for sides in zip(*map(picture_size, pictures), strict=True))
    room = (WIDTH - 2 * _SIDE_MARGIN, HEIGHT - _TOP_MARGIN - _BOTTOM_MARGIN)
    layouts = ((columns, -(-len(pictures) // columns)) for columns in range(1, len(pictures) + 1))
    _, columns = max((min(room[0] / across / wide, room[1] / down / high), across) for across, down in layouts)
    step_x, step_y = room[0] / columns, room[1] / -(-len(pictures) // columns)
    margin = _BOARD_MARGIN * min(step_x, step_y) / 2
    for number, picture in enumerate(pictures):
        row, column = divmod(number, columns)
        left, top = _SIDE_MARGIN + step_x * column, _TOP_MARGIN + step_y * row
        canvas.draw_svg(picture, (left + margin, top + margin, step_x - 2 * margin, step_y - 2 * margin))


def _draw_frame(raster: ModuleType, solved: SolvedBoard, step: Step) -> "Image":
    canvas: Canvas = raster.Canvas(ANIMATION_WIDTH, ANIMATION_HEIGHT, _PAPER)
    canvas.draw_words((24, 16), solved.title, 30, _INK)
    canvas.draw_svg(step.svg, (24, 64, ANIMATION_WIDTH - 48, ANIMATION_HEIGHT - 128))
    _draw_row(canvas, (24, ANIMATION_HEIGHT - 48), step.caption, 24, ANIMATION_WIDTH - 48)
    return canvas.finish()


def _reduce_colours(frame: "Image", palette: "Image") -> "Image":
    from PIL.Image import Dither  # noqa: PLC0415 - after _load_raster

    return frame.quantize(palette=palette, dither=Dither.NONE)


def _describe(solved: SolvedBoard, steps: Sequence[Step], shown: int) -> str:
    """Return the description of a picture of `shown` boards, for people who cannot see it."""
    puzzle = solved.puzzle
    words = [f"{solved.title}, {puzzle.describe(solved.board)}"]
    if solved.line is not None:
        drawn = "board after board" if shown == len(steps) else f"in {pluralize(shown, 'board')}"
        words.append(f"A solution of {pluralize(len(steps) - 1, 'step')}, drawn {drawn}")
        notation = puzzle.notate(solved.board, solved.line)
        words += [notation] if len(notation) <= _MAX_ALT_NOTATION else [f"{notation[:_MAX_ALT_NOTATION]}…"]
    elif shown > 1:
        words.append("Beside it the result of the search")
    return ". ".join([*words, solved.count[:1].upper() + solved.count[1:]] if solved.count else words)
