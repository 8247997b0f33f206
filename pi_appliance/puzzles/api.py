"""Handlers of the operations on the puzzle of the day, and the schemas of their results."""

import asyncio
from collections.abc import Mapping
from pathlib import Path

from pi_appliance.errors import Refused, UnknownName
from pi_appliance.json_schema import (
    FLAG,
    INSTANT,
    TEXT,
    WHOLE,
    Schema,
    describe,
    list_of,
    nullable,
    object_of,
    reference,
)
from pi_appliance.operations import Values
from pi_appliance.puzzles import daily
from pi_appliance.puzzles.daily import DailyPuzzle, Progress
from pi_appliance.scheduling.appliance import Appliance
from pi_appliance.scheduling.interface import Services

SCHEMAS: Mapping[str, Schema] = {
    "PuzzleGrid": object_of(
        {
            **dict.fromkeys(("width", "height", "block_width", "block_height"), WHOLE),
            **dict.fromkeys(("symbols", "clues", "optional", "note"), TEXT),
            **dict.fromkeys(("row_totals", "column_totals"), list_of(TEXT)),
        },
        description="a board of cells into which one writes; the clues are in reading order, with dots",
    ),
    "DailyPuzzle": object_of(
        {
            **dict.fromkeys(("id", "job", "puzzle", "title", "name", "size", "board"), TEXT),
            "day": INSTANT,
            "hints": WHOLE,
            "grid": nullable(reference("PuzzleGrid")),
        }
    ),
    "PuzzleHint": object_of(
        {
            "id": describe(TEXT, "the board that the answer is about, as in DailyPuzzle"),
            "text": TEXT,
            "cell": nullable(WHOLE, "the cell that the text is about, in reading order from 0"),
            "seen": WHOLE,
            "wrong": list_of(WHOLE),
            "left": WHOLE,
            "solved": FLAG,
        }
    ),
}
KIND = "puzzle"
RESULT = "result.json"

_CACHE: dict[Path, tuple[int, DailyPuzzle | None]] = {}
"""The puzzle of the newest report of each job, with the time of its file."""


async def show_today(services: Services, values: Values) -> dict[str, object]:
    """Return the puzzle of the day without its solution."""
    return today_json(await find_daily(services.appliance, values["puzzle"]))


async def give_hint(services: Services, values: Values) -> dict[str, object]:
    """Return the next hint."""
    found = await find_daily(services.appliance, values["puzzle"])
    return progress_json(found, daily.give_hint(found, values["filled"], values["seen"]))


async def check(services: Services, values: Values) -> dict[str, object]:
    """Return how far the person has come."""
    found = await find_daily(services.appliance, values["puzzle"])
    return progress_json(found, check_board(found, values["filled"]))


def check_board(found: DailyPuzzle, filled: str) -> Progress:
    """Return how far a person has come, in words. Raises Refused."""
    if found.grid is None:
        raise Refused(f"{found.title} is not solved on the page; it has hints")
    return daily.describe_progress(found.grid, daily.check_progress(found.grid, filled))


def today_json(found: DailyPuzzle) -> dict[str, object]:
    """Return a puzzle without its solution and without the texts of its hints."""
    grid = found.grid
    names = [name for name in grid.__slots__ if name != "solution"] if grid else []
    texts = {name: getattr(found, name) for name in ("id", "job", "puzzle", "title", "name", "size", "board")}
    return {
        **texts,
        "day": found.day.isoformat(),
        "hints": len(found.hints),
        "grid": {name: getattr(grid, name) for name in names} if grid else None,
    }


def progress_json(found: DailyPuzzle, progress: Progress) -> dict[str, object]:
    """Return an answer for JSON."""
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
