"""Handlers of the operations on the puzzle of the day."""

import asyncio
from pathlib import Path
from typing import Annotated, TypedDict, cast

from pi_appliance.errors import Refused, UnknownName
from pi_appliance.json_schema import Instant
from pi_appliance.operations import Values
from pi_appliance.puzzles import Grid, daily
from pi_appliance.puzzles.daily import DailyPuzzle, Progress
from pi_appliance.scheduling.appliance import Appliance
from pi_appliance.scheduling.daemon_interface import Services

KIND = "puzzle"
RESULT = "result.json"

_CACHE: dict[Path, tuple[int, DailyPuzzle | None]] = {}
"""The puzzle of the newest report of each job, with the time of its file."""


class PuzzleGridJson(TypedDict):
    """A board on a page into whose cells a person writes symbols."""

    width: int
    height: int
    block_width: int
    block_height: int
    symbols: str
    clues: Annotated[str, "in reading order; a dot is an empty cell"]
    optional: str
    note: str
    row_totals: list[str]
    column_totals: list[str]


class DailyPuzzleJson(TypedDict):
    """The puzzle of the day without its solution."""

    id: str
    job: str
    puzzle: str
    title: str
    name: str
    size: str
    board: str
    day: Annotated[Instant, "when its run began"]
    hints: Annotated[int, "how many hints there are"]
    grid: PuzzleGridJson | None


class PuzzleHintJson(TypedDict):
    """How much of the board a person has solved, and the next hint."""

    id: Annotated[str, "the board that the answer is about, as in DailyPuzzle"]
    text: str
    cell: Annotated[int | None, "the cell that the text is about, in reading order from 0"]
    seen: Annotated[int, "how many hints were given"]
    wrong: Annotated[list[int], "the cells whose symbol is not that of the solution"]
    left: Annotated[int, "how many cells are empty"]
    solved: bool


async def show_today(services: Services, values: Values) -> DailyPuzzleJson:
    """Return the puzzle of the day without its solution."""
    return today_json(await find_daily(services.appliance, values["puzzle"]))


async def give_hint(services: Services, values: Values) -> PuzzleHintJson:
    """Return the next hint for the symbols that a person has filled in."""
    found = await find_daily(services.appliance, values["puzzle"])
    return progress_json(found, daily.give_hint(found, values["filled"], values["seen"]))


async def check(services: Services, values: Values) -> PuzzleHintJson:
    """Return how much of the board a person has solved."""
    found = await find_daily(services.appliance, values["puzzle"])
    return progress_json(found, check_board(found, values["filled"]))


def check_board(found: DailyPuzzle, filled: str) -> Progress:
    """Return how much of the board a person has solved, in words. Raises Refused."""
    if found.grid is None:
        raise Refused(f"{found.title} is not solved on the page; it has hints")
    return daily.check_progress(found.grid, filled)


def today_json(found: DailyPuzzle) -> DailyPuzzleJson:
    """Return a puzzle without its solution and without the texts of its hints."""
    return {
        "id": found.id,
        "job": found.job,
        "puzzle": found.puzzle,
        "title": found.title,
        "name": found.name,
        "size": found.size,
        "board": found.board,
        "day": found.day.isoformat(),
        "hints": len(found.hints),
        "grid": _grid_json(found.grid) if found.grid else None,
    }


def _grid_json(grid: Grid) -> PuzzleGridJson:
    return cast(PuzzleGridJson, {name: getattr(grid, name) for name in PuzzleGridJson.__annotations__})


def progress_json(found: DailyPuzzle, progress: Progress) -> PuzzleHintJson:
    """Convert `progress` for JSON."""
    return {
        "id": found.id,
        "text": progress.text,
        "cell": progress.cell,
        "seen": progress.seen,
        "wrong": list(progress.wrong),
        "left": progress.left,
        "solved": progress.solved,
    }


async def find_daily(appliance: Appliance, puzzle: str = "") -> DailyPuzzle:
    """Return the newest puzzle of the day, of all or of one puzzle.

    Raises:
        UnknownName: No job solves this puzzle.
        Refused: There is no report with a solved board yet.
    """
    known = await list_daily(appliance)
    configured = {job.options.puzzle for job in appliance.config.jobs.values() if job.kind == KIND}
    if puzzle and puzzle not in configured:
        raise UnknownName("puzzle of a job", puzzle, sorted(configured))
    found = next((each for each in known if puzzle in ("", each.puzzle)), None)
    if found is None:
        kind = f"{puzzle} job" if puzzle else "puzzle job"
        raise Refused(f"there is no puzzle of the day yet; it comes with the next run of a {kind}")
    return found


async def list_daily(appliance: Appliance) -> list[DailyPuzzle]:
    """Return the newest puzzle of the day of each puzzle, the newest first."""
    folders = [appliance.config.reports / job.name for job in appliance.config.jobs.values() if job.kind == KIND]
    found = [each for folder in folders if (each := await asyncio.to_thread(_read_cached, folder / RESULT))]
    found.sort(key=lambda each: each.day, reverse=True)
    return list({each.puzzle: each for each in reversed(found)}.values())[::-1]


def _read_cached(path: Path) -> DailyPuzzle | None:
    """Return the puzzle of a report, read once: the file may have megabytes of solutions."""
    try:
        written = path.stat().st_mtime_ns
    except OSError:
        return None
    if path not in _CACHE or _CACHE[path][0] != written:
        _CACHE[path] = written, daily.read_daily(path)
    return _CACHE[path][1]
