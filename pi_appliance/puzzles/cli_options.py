"""The options of the commands of `pi-appliance puzzle`, and the search within their limits."""

import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, fields
from datetime import timedelta
from functools import cached_property, wraps
from pathlib import Path
from typing import Any, TypedDict

import click

from pi_appliance.cli.client import Command, Number, ProgressLine, optional_config_option, show_result
from pi_appliance.config import units
from pi_appliance.errors import ConfigNotFound, DeadlineExceeded, Unavailable
from pi_appliance.puzzles import Puzzle, boards, text_format
from pi_appliance.puzzles.board_report import BoardReport, format_partial_result
from pi_appliance.puzzles.boards import load_puzzle
from pi_appliance.puzzles.dry_run import Task, plan_tasks
from pi_appliance.puzzles.runtime import Buffer, Cache, FileCache, Interrupted, SearchRuntime, local
from pi_appliance.puzzles.runtime.deadline import Estimate

STDIN = "stdin"
_DEFAULT_STATE = Path("~/.local/state/pi-appliance")  # default state folder of a new configuration


def _parsed_by(parse: Callable[[Any], object]) -> Callable[[click.Context, click.Parameter, Any], object]:
    """Return a callback that parses the value of an option, if it is given."""

    def callback(_: click.Context, __: click.Parameter, value: Any) -> object:
        try:
            return None if value is None else parse(value)
        except ValueError as error:
            raise click.BadParameter(str(error)) from None

    return callback


def _parse_rules(values: Sequence[str]) -> dict[str, str]:
    rules = {}
    for words in values:
        name, equals, value = words.partition("=")
        if not equals:
            raise ValueError(f"{words!r} is not a rule; write name=value, see `pi-appliance puzzle rules`")
        rules[name.strip()] = value.strip()
    return rules


def read_stdin(most: int = boards.MAX_BYTES) -> str:
    """Read at most `most` bytes of UTF-8 from stdin, '' if it is closed. Raises ConfigError."""
    content = b"" if sys.stdin is None else boards.read_limited(sys.stdin.buffer, most)
    return boards.decode_text(content, STDIN, most)


class BoardJson(TypedDict):
    """A board, as in `result.json`."""

    puzzle: str
    name: str
    board: str
    size: str


@dataclass(frozen=True, slots=True)
class PuzzleRequest:
    """The puzzle, the board and the rules that a command line names."""

    name: str
    board: str | None
    rules: dict[str, str]

    def load_board(self) -> tuple[Puzzle, object]:
        """Return the puzzle and the board. Raises UnknownName, InvalidOption or ConfigError."""
        line = ProgressLine()
        puzzle = load_puzzle(self.name)
        try:
            if self.board == "-":
                board = puzzle.parse(read_stdin(boards.size_limit(puzzle)), STDIN)
                return puzzle, puzzle.with_rules(board, self.rules)
            if self.board is not None and boards.is_large(Path(self.board)):
                line.show(None, f"reading {self.board}")
            words = next(iter(puzzle.BOARDS)) if self.board is None else self.board
            return puzzle, boards.find_board(puzzle, words, self.rules)
        finally:
            line.clear()

    def board_title(self, puzzle: Puzzle) -> str:
        """Return the name of the board in a report."""
        if self.board is None or self.board in puzzle.BOARDS:
            return self.board or next(iter(puzzle.BOARDS))
        return boards.board_name(Path(self.board)) if boards.is_file(Path(self.board)) else "board"

    def board_json(self, puzzle: Puzzle, board: object) -> BoardJson:
        """Return the JSON object of the board."""
        return {
            "puzzle": self.name,
            "name": self.board_title(puzzle),
            "board": puzzle.render(board),
            "size": puzzle.describe(board),
        }


@dataclass(frozen=True, slots=True)
class ComputeOptions:
    """The limits on a search that a command line sets."""

    cores: int | None
    length: timedelta | None
    checkpoint_writes: int
    config: Path | ConfigNotFound
    dry_run: bool


def board_options(command: Command) -> Command:
    """Add the parameter `request` (a PuzzleRequest) to a command."""

    @wraps(command)
    def wrapper(*, name: str, board: str | None, rules: dict[str, str], **options: Any) -> Any:
        return command(request=PuzzleRequest(name, board, rules), **options)

    words = "A known board, a file, - for stdin, or a drawing. Default: the first known board."
    parse, help_text = _parsed_by(_parse_rules), "A rule; can be repeated."
    with_rules = click.option("--rule", "rules", metavar="NAME=VALUE", multiple=True, callback=parse, help=help_text)
    with_board = click.option("--board", metavar="BOARD", help=words)
    return click.argument("name", metavar="PUZZLE")(with_board(with_rules(wrapper)))


def compute_options(command: Command) -> Command:
    """Add the parameter `limits` (ComputeOptions) to a command."""

    @wraps(command)
    def wrapper(**options: Any) -> Any:
        limits = ComputeOptions(**{each.name: options.pop(each.name) for each in fields(ComputeOptions)})
        return command(limits=limits, **options)

    parse_length, plan_help = _parsed_by(units.parse_duration), "Show the plan: cores, memory, writes and folders."
    limit = click.option("--for", "length", metavar="LENGTH", callback=parse_length, help="Time limit, such as 30s.")
    cores = click.option("--cores", type=Number(min=1), help="Number of cores. Default: all.")
    writes = click.option(
        "--checkpoint-writes",
        metavar="SIZE",
        default=units.format_size(local.CHECKPOINT_WRITES),
        show_default=True,
        callback=_parsed_by(units.parse_size),
        help="Write at most this much to save an unfinished search.",
    )
    dry_run = click.option("--dry-run", is_flag=True, help=f"{plan_help} Nothing is searched.")
    return cores(limit(writes(dry_run(optional_config_option(wrapper)))))


def _find_state_dir(config: Path | ConfigNotFound) -> Path:
    if isinstance(config, ConfigNotFound):
        return _DEFAULT_STATE.expanduser()
    from pi_appliance.config.loader import load_config, read_yaml  # noqa: PLC0415 - slow, and many have no file

    data = read_yaml(config.absolute()).data
    folder = data.get("state-dir") if isinstance(data, Mapping) else None
    if not isinstance(folder, str):
        return load_config(config).state_dir  # raises an error that says where the file is wrong
    return config.absolute().parent / Path(folder).expanduser()


class _LazyCache(Cache):
    """A file cache that reads the configuration on first use: most puzzles need no cache.

    If it cannot be used, `on_error` receives the reason once, and the entries stay in memory.
    """

    def __init__(self, config: Path | ConfigNotFound, on_error: Callable[[Unavailable], None]) -> None:
        self._config, self._on_error = config, on_error

    @cached_property
    def _cache(self) -> Cache:
        return FileCache(_find_state_dir(self._config) / local.FOLDER)

    def load(self, name: str) -> memoryview | None:
        return self._cache.load(name)

    def save(self, name: str, parts: Iterable[Buffer]) -> None:
        try:
            self._cache.save(name, parts)
        except Unavailable as error:
            self._on_error(error)
            self._cache = Cache()

    def remove(self, name: str) -> None:
        self._cache.remove(name)

    def names(self) -> Iterable[str]:
        return self._cache.names()


@contextmanager
def report_interruption(
    line: ProgressLine, partial_result: Callable[[Interrupted], str], length: timedelta | None
) -> Iterator[None]:
    """End with status 130 on Ctrl-C, or by DeadlineExceeded, with the partial result."""
    try:
        yield
    except (Interrupted, KeyboardInterrupt) as error:
        line.clear()
        result = partial_result(error) if isinstance(error, Interrupted) else line.note or "nothing is known yet"
        if isinstance(error, Interrupted) and length is not None and "time" in error.reason:
            message = f"The time limit of {units.format_duration(length)} is over. Result so far: {result}"
            raise DeadlineExceeded(message) from None
        click.echo(f"pi-appliance: stopped. Result so far: {result}", err=True)
        click.get_current_context().exit(130)
    finally:
        line.clear()


@contextmanager
def open_search(
    puzzle: Puzzle,
    task: Task | BoardReport,
    limits: ComputeOptions,
    *,
    output: Path | None = None,
    as_json: bool = False,
    cache_required: bool = False,
) -> Iterator[tuple[SearchRuntime, ProgressLine]]:
    """Yield the runtime of a search. With `--dry-run`, show its plan and end the command."""
    line = ProgressLine()
    seconds = None if limits.length is None else limits.length.total_seconds()
    estimate = Estimate(time.monotonic)

    def show_progress(part: float | None, note: str) -> None:
        remaining = estimate.format_remaining(part)
        line.show(part, f"{remaining}: {note}" if remaining else note)

    def describe_partial_result(error: Interrupted) -> str:
        known = task.partial_result if isinstance(task, BoardReport) else ""
        return known or format_partial_result(error)

    def report_cache_error(error: Unavailable) -> None:
        if cache_required:
            raise error
        line.clear()
        click.echo(f"pi-appliance: nothing is saved for the next run: {error}", err=True)

    with (
        report_interruption(line, describe_partial_result, limits.length),
        local.open_runtime(Path(), show_progress, seconds=seconds, cores=limits.cores) as runtime,
    ):
        runtime.cache = _LazyCache(limits.config, report_cache_error)
        runtime.checkpoint_writes = limits.checkpoint_writes
        if limits.dry_run:
            folders = {"Tables and checkpoints": str(_find_state_dir(limits.config) / local.FOLDER)}
            folders |= {"Output": str(output)} if output else {}
            plan = plan_tasks(puzzle, [Task(task.name, task.board, task.mode)], runtime, seconds, folders)
            line.clear()
            show_result(plan.to_json(), text_format.render_rows(plan.rows()), as_json=as_json)
            click.get_current_context().exit(1 if plan.refused else 0)
        yield runtime, line
