"""The puzzle of the day: a board of the newest report, and hints from the steps of its solution.

A run writes it into `result.json` as `today`. The page reads it there, so that the daemon never
imports a solver.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import date, datetime
from itertools import islice, takewhile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pi_appliance.errors import Refused
from pi_appliance.puzzles import Grid, pluralize

if TYPE_CHECKING:  # the daemon only reads the puzzle of the day
    from pi_appliance.puzzles.board_report import BoardReport

MAX_HINTS = 400
EMPTY = "."
SOLVED = "Solved. Well done!"


@dataclass(frozen=True, slots=True)
class Hint:
    """A step of the solution in words.

    If it writes a symbol, `cell` and `symbol` say where and which.
    """

    text: str
    cell: int | None = None
    symbol: str = ""
    also: Sequence[int] = ()  # further cells that get the same symbol


@dataclass(frozen=True, slots=True, kw_only=True)
class DailyPuzzle:
    """A board to solve, with its hints."""

    job: str
    puzzle: str  # name of the puzzle in the configuration
    title: str  # name of the puzzle for people
    name: str  # name of the board
    day: datetime  # when the run began
    size: str
    board: str  # drawing of the board
    picture: Path  # SVG file with the board
    hints: Sequence[Hint]
    grid: Grid | None  # None if the board is only shown as a picture
    notation: str = ""  # explains the names in the hints

    @property
    def id(self) -> str:
        """A text that differs for the boards of different runs."""
        return f"{self.job}/{self.day.isoformat()}"


@dataclass(frozen=True, slots=True)
class Progress:
    """How much of a board a person has solved, and the answer to a question.

    `seen` counts the hints that were shown, so that the next question gets the next hint.
    """

    wrong: Sequence[int]  # cells with another symbol than in the solution
    left: int  # empty cells
    seen: int
    text: str = ""
    cell: int | None = None

    @property
    def solved(self) -> bool:
        """Whether every cell has its symbol."""
        return not self.wrong and not self.left


def choose_board(reports: "Sequence[BoardReport]", day: date) -> "BoardReport | None":
    """Return the first solved board that was generated, or else one that changes each day."""
    solved = [report for report in reports if report.solved]
    generated = [report for report in solved if report.generator_details]
    listed = [report for report in solved if report.solutions] or solved
    return next(iter(generated), None) or (listed[day.toordinal() % len(listed)] if listed else None)


def daily_to_json(reports: "Sequence[BoardReport]", day: date, *, with_hints: bool) -> dict[str, object] | None:
    """Return the object `today` of result.json; None if no board was solved.

    Hints take up to a second on a small machine, so a run at its deadline leaves them out.
    """
    report = choose_board(reports, day)
    if report is None:
        return None
    puzzle, hints, grid = report.puzzle, list[Hint](), None
    if report.solutions:
        line = report.solutions[0]
        steps = islice(puzzle.steps(report.board, line), 1, MAX_HINTS + 1)  # the first step is the start
        placed = ((step, *(step.placed or (None, ""))) for step in steps)
        hints = [Hint(step.caption, cell, symbol, step.also) for step, cell, symbol in placed] if with_hints else []
        grid = puzzle.as_grid(report.board, line) if hasattr(puzzle, "as_grid") else None
    return {
        "name": report.name,
        "hints": [asdict(hint) for hint in hints],
        "notation": getattr(puzzle, "NOTATION", ""),
        "grid": asdict(grid) if grid else None,
    }


def read_daily(result: Path) -> DailyPuzzle | None:
    """Return the puzzle of the day of a `result.json`; None if it has none or cannot be read."""
    try:
        result = result.resolve()  # one resolved path, so that all files are of the same set
        content = json.loads(result.read_text("utf-8"))
        return _read(content, content["today"], result.parent)
    except (OSError, ValueError, LookupError, TypeError, AttributeError):  # the file is damaged, or was changed
        return None


def _read(content: Mapping[str, Any], today: Mapping[str, Any], folder: Path) -> DailyPuzzle:
    name = str(today["name"])
    entry = {each["name"]: each for each in content["boards"]}[name]
    level = (entry.get("generator") or {}).get("difficulty")
    return DailyPuzzle(
        job=content["job"],
        puzzle=content["puzzle"],
        title=content["title"],
        name=name,
        day=datetime.fromisoformat(content["started"]),
        size=f"{entry['size']}, {level}" if level else entry["size"],
        board=entry["board"],
        picture=folder / f"{Path(name).name}.svg",
        hints=[Hint(**hint) for hint in today["hints"]],
        grid=Grid(**today["grid"]) if today["grid"] else None,
        notation=today.get("notation", ""),
    )


def check_progress(grid: Grid, filled: str) -> Progress:
    """Compare `filled`, a symbol or a dot for each cell in reading order, with the solution.

    The text says how many symbols are wrong, and how many are missing.

    Raises:
        Refused: It has not as many cells as the grid.
    """
    if len(filled) != len(grid.clues):
        raise Refused(f"this board has {len(grid.clues)} cells; these are {len(filled)}")
    own = {cell: symbol.upper() for cell, symbol in enumerate(filled) if grid.clues[cell] == EMPTY}
    wrong = [cell for cell, symbol in own.items() if symbol not in (EMPTY, grid.solution[cell])]
    left = sum(symbol == EMPTY and grid.solution[cell] != grid.optional for cell, symbol in own.items())
    if not wrong and not left:
        return Progress(wrong, left, 0, SOLVED)
    mistakes = f"{_count_with_verb(len(wrong), 'symbol')} wrong" if wrong else "No mistake so far"
    noun, state = ("ship square", "missing") if grid.optional else ("cell", "empty")
    return Progress(wrong, left, 0, f"{mistakes}; {_count_with_verb(left, noun)} {state}.", next(iter(wrong), None))


def _count_with_verb(number: int, noun: str) -> str:
    return f"{pluralize(number, noun)} {'is' if number == 1 else 'are'}"


def give_hint(daily: DailyPuzzle, filled: str, seen: int) -> Progress:
    """Return the next hint after `seen` hints, for the symbols in `filled`. A mistake comes first.

    Raises:
        Refused: `filled` does not fit the board.
    """
    grid = daily.grid
    state = replace(check_progress(grid, filled) if grid else Progress((), 1, 0), seen=seen)
    if grid and state.cell is not None:
        symbol = filled[state.cell].upper()
        return replace(state, text=f"The {symbol} in {grid.cell_name(state.cell)} is wrong.")
    if state.solved:
        return state
    number = max(seen, _first_open_step(daily.hints, filled) if grid else 0)
    while grid and number < len(daily.hints) and _is_filled(daily.hints[number], filled):
        number += 1
    if number >= len(daily.hints):
        return replace(state, text=f"There are no {'more hints' if daily.hints else 'hints for this board'}.")
    hint = daily.hints[number]
    open_cells = (cell for cell in (hint.cell, *hint.also) if grid and cell is not None and filled[cell] == EMPTY)
    return replace(state, seen=number + 1, text=hint.text, cell=next(open_cells, None))


def _is_filled(hint: Hint, filled: str) -> bool:
    return hint.cell is not None and EMPTY not in (filled[hint.cell], *(filled[cell] for cell in hint.also))


def _first_open_step(hints: Sequence[Hint], filled: str) -> int:
    """Return the number of the first step after all steps that are filled in without a gap."""
    written = ((number, hint) for number, hint in enumerate(hints) if hint.cell is not None)
    filled_ones = takewhile(lambda each: _is_filled(each[1], filled), written)
    return max((number + 1 for number, _ in filled_ones), default=0)
