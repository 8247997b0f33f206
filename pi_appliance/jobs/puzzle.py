"""Job kind 'puzzle': solve boards of a puzzle and list the solutions in result.txt, with a picture of each board."""

from collections import Counter
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any, cast

from pi_appliance import registry
from pi_appliance.config.load import shown
from pi_appliance.errors import ApplianceError, ConfigError, Problem, UnknownName
from pi_appliance.model.run import Result
from pi_appliance.ports import Context
from pi_appliance.puzzles import Progress, Puzzle, counted, list_solutions

RESULT = "result.txt"
LIMIT = 10_000  # solutions; ten thousand of the longest fill some 20 MB


class Solutions(StrEnum):
    """How many solutions are listed."""

    FIRST = "first"  # one is enough
    ALL = "all"  # every one, up to the limit


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """The keys a job of this kind takes under `with:`."""

    puzzle: Annotated[str, "which puzzle: the name of a file in pi_appliance/puzzles"]
    boards: Annotated[list[Path], "known boards by name, own ones by file; without it, all that are known"] = field(
        default_factory=list
    )
    solutions: Annotated[Solutions, "how many are listed"] = Solutions.FIRST
    limit: Annotated[int, "with `solutions: all`, at most so many of each board"] = LIMIT
    goal: Annotated[str | None, "a narrower goal; in peg solitaire the hole of the last peg, such as 3,3"] = None

    def check(self) -> list[tuple[tuple[str | int, ...], str, str]]:
        """Return what is wrong between the keys: where, what, and what would be right."""
        problems: list[tuple[tuple[str | int, ...], str, str]] = []
        if self.limit < 1:
            problems.append((("limit",), f"{self.limit} solutions cannot be listed", "use 1 or more"))
        try:
            puzzle = load_puzzle(self.puzzle)
        except UnknownName as error:
            return [*problems, *_told(("puzzle",), error)]
        for number, where in enumerate(self.boards):
            try:
                board = read_board(puzzle, where)
            except ApplianceError as error:
                problems += _told(("boards", number), error)
                continue
            try:
                aimed(puzzle, board, self.goal)
            except UnknownName as error:
                problems += _told(("goal",), error)
        twice = [name for name, times in Counter(where.stem for where in self.boards).items() if times > 1]
        return problems + [(("boards",), f"two boards are called {name!r}", "give each its own name") for name in twice]


def load_puzzle(name: str) -> Puzzle:
    """Return the puzzle NAME. Raises UnknownName."""
    return cast(Puzzle, registry.load("puzzles", name))


def read_board(puzzle: Puzzle, where: Path) -> Any:
    """Return the board that WHERE names, else the one drawn in that file. Raises UnknownName or ConfigError.

    The configuration makes a path of every entry, so a name is one without a suffix, whatever its folder.
    """
    if not where.suffix and where.name in puzzle.BOARDS:
        return puzzle.parse(puzzle.BOARDS[where.name], where.name)
    if not where.suffix and not where.is_file():
        raise UnknownName("board", where.name, tuple(puzzle.BOARDS))
    return puzzle.parse(read_text(where), shown(where))


def aimed(puzzle: Puzzle, board: Any, goal: str | None) -> Any:
    """Return BOARD with the goal asked for, if one is. Raises UnknownName."""
    return board if goal is None else puzzle.aim(board, goal)


def read_text(path: Path) -> str:
    """Return what stands in the file PATH. Raises ConfigError if it cannot be read or is no text."""
    try:
        return path.read_text("utf-8-sig")
    except OSError as error:
        raise ConfigError(
            [Problem(shown(path), 1, 1, f"cannot be read: {error.strerror}", "check its name and rights")]
        ) from None
    except UnicodeDecodeError:
        raise ConfigError([Problem(shown(path), 1, 1, "this is not a text file", "save it as UTF-8")]) from None


def run(options: Options, context: Context) -> Result:
    """Solve each board; result.txt gets the solutions, in the order of the boards. Raises what its Context raises."""
    puzzle = load_puzzle(options.puzzle)
    places = options.boards or [Path(name) for name in puzzle.BOARDS]
    boards = {where.stem: aimed(puzzle, read_board(puzzle, where), options.goal) for where in places}
    limit = 1 if options.solutions is Solutions.FIRST else options.limit
    none = listed = tried = 0
    with context.report(RESULT) as file:
        for number, (name, board) in enumerate(boards.items()):
            if len(boards) > 1:
                file.write(f"{name}\n{'=' * len(name)}\n")
            answer = puzzle.solve(board, _share(context, number, len(boards), name))
            listed += list_solutions(puzzle, board, answer, limit, file.write)
            tried += answer.tried()
            none += answer.proof is not None
            file.write("\n")
        solved = len(boards) - none
        summary = f"{counted(solved, 'board')} solved, {none} proven to have no solution"
        file.write(f"{summary}\nStart time: {_instant(context.now)}\nEnd time: {_instant(context.clock())}\n")
    for name, board in boards.items():
        with context.report(f"{name}.svg") as file:
            file.write(puzzle.render_svg(board))
    facts = {"solved": solved, "no-solution": none, "listed": listed, "tried": tried}
    return Result(summary, facts)


def _share(context: Context, number: int, boards: int, name: str) -> Progress:
    """Return what tells CONTEXT how far board NUMBER of so many is."""
    return lambda part, note: context.progress((number + (part or 0)) / boards, f"{name}: {note}")


def _instant(moment: datetime) -> str:
    return moment.isoformat(" ", "seconds")


def _told(path: tuple[str | int, ...], error: ApplianceError) -> list[tuple[tuple[str | int, ...], str, str]]:
    """Return an error that has its own words as problems of the key at PATH."""
    told = (line.partition("; ") for line in str(error).splitlines())
    return [(path, wrong, right) for wrong, _, right in told]
