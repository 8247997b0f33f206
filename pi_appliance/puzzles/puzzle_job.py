"""Job kind `puzzle`: solve, count and generate boards, and write reports as text, JSON and HTML."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated

from pi_appliance.errors import ApplianceError, InvalidOption, UnknownName
from pi_appliance.puzzles import Puzzle, SolveMode
from pi_appliance.puzzles.batch import DEFAULT_MAX_SOLUTIONS, BatchPlan, PuzzleBatch, PuzzleContext
from pi_appliance.puzzles.boards import board_name, is_large, load_puzzle, read_board
from pi_appliance.storage.model import Picture, Result

Context = PuzzleContext
_MAX_GENERATED = 1_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """The keys that a job of this kind has under `with:`."""

    puzzle: Annotated[str, "name of the puzzle, such as sudoku; `pi-appliance puzzle list` shows all"]
    boards: Annotated[
        list[Path],
        "known boards by name, your own by file; default: all known ones, or none with `generate` or `precompute`",
    ] = field(default_factory=list)
    solutions: Annotated[
        SolveMode | None,
        "which solutions to find on each board; default: depends on the puzzle, mostly the first solution",
    ] = None
    max_solutions: Annotated[int, "list at most this many solutions of each board"] = DEFAULT_MAX_SOLUTIONS
    rules: Annotated[dict[str, str], 'rules that differ from the default, such as {goal: "3,3"}'] = field(
        default_factory=dict
    )
    precompute: Annotated[bool, "first build the tables that make the puzzle fast; continues where it stopped"] = False
    generate: Annotated[int, "number of new boards, like the first one named; the seed is the date"] = 0
    keep_reports: Annotated[int, "number of dated report folders to keep"] = 14

    def check(self) -> list[tuple[tuple[str | int, ...], str, str]]:
        """Return problems between the keys: path, problem, remedy."""
        problems: list[tuple[tuple[str | int, ...], str, str]] = []
        if self.max_solutions < 1:
            problems.append(
                (("max-solutions",), f"{self.max_solutions} is not a valid number of solutions", "use 1 or more")
            )
        if self.keep_reports < 1:
            problems.append(
                (("keep-reports",), f"{self.keep_reports} is not a valid number of reports", "use 1 or more")
            )
        if not 0 <= self.generate <= _MAX_GENERATED:
            problems.append(
                (("generate",), f"{self.generate} is not a valid number of boards", f"use 0 to {_MAX_GENERATED:,}")
            )
        try:
            puzzle = load_puzzle(self.puzzle)
        except UnknownName as error:
            return [*problems, *_to_problems(("puzzle",), error)]
        return [*problems, *self._find_unsupported(puzzle), *self._find_wrong_boards(puzzle)]

    def _find_unsupported(self, puzzle: Puzzle) -> list[tuple[tuple[str | int, ...], str, str]]:
        """Return the options that the puzzle does not support."""
        problems: list[tuple[tuple[str | int, ...], str, str]] = []
        if self.solutions is not None and self.solutions not in puzzle.MODES:
            known = ", ".join(puzzle.MODES)
            problems.append((("solutions",), f"{self.puzzle} does not support {self.solutions}", f"supported: {known}"))
        for key, value in (("generate", self.generate), ("precompute", self.precompute)):
            if value and not hasattr(puzzle, key):
                problem = (
                    f"{self.puzzle} has no tables to build"
                    if key == "precompute"
                    else f"{self.puzzle} does not generate boards"
                )
                problems.append(((key,), problem, "leave it out"))
        return problems

    def _find_wrong_boards(self, puzzle: Puzzle) -> list[tuple[tuple[str | int, ...], str, str]]:
        problems: list[tuple[tuple[str | int, ...], str, str]] = []
        for number, where in enumerate(self.boards):
            if is_large(where):
                continue
            try:
                read_board(puzzle, where, {})
            except ApplianceError as error:
                problems += _to_problems(("boards", number), error)
                continue
            problems += self._find_wrong_rules(puzzle, where)
        if not self.boards:
            problems += self._find_wrong_rules(puzzle, Path(next(iter(puzzle.BOARDS))))
        twice = [name for name, times in Counter(map(board_name, self.boards)).items() if times > 1]
        return problems + [(("boards",), f"two boards are called {name!r}", "give each its own name") for name in twice]

    def _find_wrong_rules(self, puzzle: Puzzle, where: Path) -> list[tuple[tuple[str | int, ...], str, str]]:
        """Return the rules that the board does not accept: each alone, then all together."""
        problems: list[tuple[tuple[str | int, ...], str, str]] = []
        for name, value in self.rules.items():
            try:
                read_board(puzzle, where, {name: value})
            except (UnknownName, InvalidOption) as error:
                problems += _to_problems(("rules", name), error)
        if self.rules and not problems:
            try:
                read_board(puzzle, where, self.rules)
            except (UnknownName, InvalidOption) as error:
                problems += _to_problems(("rules",), error)
        return problems


def report_picture(lines: Iterable[str]) -> Picture | None:
    """Draw a solution of the `lines` of a report, for a post; None if it has none."""
    from pi_appliance.puzzles.picture import draw_listing  # noqa: PLC0415 - only posts with a picture need it

    return draw_listing(lines)


def run(options: Options, context: PuzzleContext) -> Result:
    """Answer each board. Raises DeadlineExceeded after an interruption, once the partial report is written; Refused."""
    puzzle = load_puzzle(options.puzzle)
    all_known = not (options.boards or options.generate or options.precompute)
    paths = options.boards or ([Path(name) for name in puzzle.BOARDS] if all_known else [])
    boards = {board_name(where): read_board(puzzle, where, options.rules) for where in paths}
    model = next(iter(boards.values()), None) or _default_board(puzzle, options.rules)
    plan = BatchPlan(
        puzzle=puzzle,
        name=options.puzzle,
        boards=boards,
        mode=options.solutions or puzzle.MODES[0],
        max_solutions=options.max_solutions,
        precompute=options.precompute,
        generate=options.generate,
        keep_reports=options.keep_reports,
        model=model,
    )
    batch = PuzzleBatch(plan, context)
    result = batch.run_batch()
    if batch.failure is not None:
        raise batch.failure
    return result


def _default_board(puzzle: Puzzle, rules: Mapping[str, str]) -> object:
    return read_board(puzzle, Path(next(iter(puzzle.BOARDS))), rules)


def _to_problems(path: tuple[str | int, ...], error: ApplianceError) -> list[tuple[tuple[str | int, ...], str, str]]:
    """Convert an error to problems of the key at `path`."""
    parts = (line.partition("; ") for line in str(error).splitlines())
    return [(path, problem, right) for problem, _, right in parts]
