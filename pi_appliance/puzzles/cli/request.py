"""Options that puzzle commands share, and the runtime they solve with."""

import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from functools import cached_property, wraps
from pathlib import Path
from typing import Any

import click

from pi_appliance.cli.terminal import Command, Number, ProgressLine, optional_config_option
from pi_appliance.config import units
from pi_appliance.config.loader import load_config
from pi_appliance.errors import ConfigNotFound, DeadlineExceeded, Unavailable
from pi_appliance.puzzles import Puzzle
from pi_appliance.puzzles.boards import (
    MAX_BYTES,
    MAX_BYTES_OF_ONE_BOARD,
    board_name,
    decode_text,
    find_board,
    is_file,
    load_puzzle,
    read_limited,
    size_limit,
)
from pi_appliance.puzzles.runtime import local
from pi_appliance.puzzles.runtime.cache import FileCache
from pi_appliance.puzzles.runtime.interface import Cache, Interrupted, SearchRuntime
from pi_appliance.puzzles.runtime.local import Estimate

STDIN = "stdin"
_DEFAULT_STATE = Path("~/.local/state/pi-appliance")  # the default state folder of a configuration


def _parse_rules(_: click.Context, __: click.Parameter, values: Sequence[str]) -> dict[str, str]:
    rules = {}
    for words in values:
        name, equals, value = words.partition("=")
        if not equals:
            raise click.BadParameter(f"{words!r} is not a rule; write name=value, see `pi-appliance puzzle rules`")
        rules[name.strip()] = value.strip()
    return rules


def _parse_length(_: click.Context, __: click.Parameter, value: str | None) -> timedelta | None:
    try:
        return None if value is None else units.parse_duration(value)
    except ValueError as error:
        raise click.BadParameter(str(error)) from None


def read_stdin(most: int = MAX_BYTES) -> str:
    """Read text from stdin, '' if it is closed. Raises ConfigError if it is not text, or has more than `most` bytes."""
    return decode_text(b"" if sys.stdin is None else read_limited(sys.stdin.buffer, most), STDIN, most)


@dataclass(frozen=True, slots=True)
class PuzzleRequest:
    """The puzzle, the board and the rules of a command line."""

    name: str
    board: str | None
    rules: dict[str, str]

    def load_board(self) -> tuple[Puzzle, Any]:
        """Return the puzzle and the board. Raises UnknownName, InvalidOption or ConfigError."""
        line = ProgressLine()
        try:
            if (
                self.board is not None
                and is_file(Path(self.board))
                and Path(self.board).stat().st_size > MAX_BYTES_OF_ONE_BOARD
            ):
                line.show(None, f"reading {self.board}")
            return self._load()
        finally:
            line.clear()

    def _load(self) -> tuple[Puzzle, Any]:
        puzzle = load_puzzle(self.name)
        if self.board == "-":
            return puzzle, puzzle.with_rules(puzzle.parse(read_stdin(size_limit(puzzle)), STDIN), self.rules)
        return puzzle, find_board(puzzle, next(iter(puzzle.BOARDS)) if self.board is None else self.board, self.rules)

    def board_title(self, puzzle: Puzzle) -> str:
        """Return the name of the board in a report."""
        if self.board is None:
            return next(iter(puzzle.BOARDS))
        if self.board in puzzle.BOARDS:
            return self.board
        return board_name(Path(self.board)) if is_file(Path(self.board)) else "board"


@dataclass(frozen=True, slots=True)
class ComputeOptions:
    """The limits of a command line."""

    cores: int | None
    length: timedelta | None
    config: Path | ConfigNotFound


def board_options(command: Command) -> Command:
    """Add the parameter `request` (a PuzzleRequest) to a command."""

    @wraps(command)
    def wrapper(*, name: str, board: str | None, rules: dict[str, str], **options: Any) -> Any:
        return command(request=PuzzleRequest(name, board, rules), **options)

    words = "A known board, a file, - for stdin, or a drawing. Default: the first known board."
    with_rules = click.option(
        "--rule", "rules", metavar="NAME=VALUE", multiple=True, callback=_parse_rules, help="A rule; can be repeated."
    )(wrapper)
    with_board = click.option("--board", metavar="BOARD", help=words)(with_rules)
    return click.argument("name", metavar="PUZZLE")(with_board)


def compute_options(command: Command) -> Command:
    """Add the parameter `limits` (ComputeOptions) to a command."""

    @wraps(command)
    def wrapper(*, cores: int | None, length: timedelta | None, config: Path | ConfigNotFound, **options: Any) -> Any:
        return command(limits=ComputeOptions(cores, length, config), **options)

    with_config = optional_config_option(wrapper)
    limit = click.option("--for", "length", metavar="LENGTH", callback=_parse_length, help="Time limit, such as 30s.")
    cores = click.option("--cores", type=Number(min=1), help="Number of cores. Default: all.")
    return cores(limit(with_config))


class _LazyCache:
    """A file cache that reads the configuration on first use: most puzzles need no cache.

    If it cannot be used, nothing is saved and `on_error` receives the reason once; if that is None, it is an error.
    """

    def __init__(self, config: Path | ConfigNotFound, on_error: Callable[[str], None] | None) -> None:
        self._config, self._on_error = config, on_error
        self._closed = False

    @cached_property
    def _file_cache(self) -> Cache:
        state = (
            _DEFAULT_STATE.expanduser()
            if isinstance(self._config, ConfigNotFound)
            else load_config(self._config).state_dir
        )
        return FileCache(state / local.FOLDER)

    @contextmanager
    def _may_fail(self) -> Iterator[None]:
        try:
            yield
        except Unavailable as error:
            if self._on_error is None:
                raise
            self._closed = True
            self._on_error(str(error))

    def load(self, name: str) -> memoryview | None:
        if not self._closed:
            with self._may_fail():
                return self._file_cache.load(name)
        return None

    def save(self, name: str, parts: Iterable[bytes | bytearray | memoryview]) -> None:
        if not self._closed:
            with self._may_fail():
                self._file_cache.save(name, parts)

    def remove(self, name: str) -> None:
        if not self._closed:
            with self._may_fail():
                self._file_cache.remove(name)

    def names(self) -> Iterable[str]:
        return () if self._closed else self._file_cache.names()


@contextmanager
def progress_context(
    line: ProgressLine, limits: ComputeOptions, *, cache_required: bool = False
) -> Iterator[SearchRuntime]:
    """Open the search runtime, with progress on `line`.

    With `cache_required`, it is an error if the cache cannot be written.
    """
    seconds = None if limits.length is None else limits.length.total_seconds()
    estimates: list[Estimate] = []

    def show_progress(part: float | None, note: str) -> None:
        left = estimates[0].format_remaining(part)
        line.show(part, f"{left}: {note}" if left else note)

    def report_cache_error(why: str) -> None:
        line.clear()
        click.echo(f"pi-appliance: nothing is saved for the next run: {why}", err=True)

    with local.open_runtime(Path(), show_progress, seconds=seconds, cores=limits.cores) as runtime:
        estimates.append(Estimate(runtime.monotonic))
        runtime.cache = _LazyCache(limits.config, None if cache_required else report_cache_error)
        yield runtime


@contextmanager
def report_interruption(
    line: ProgressLine, partial_result: Callable[[Interrupted], str], length: timedelta | None
) -> Iterator[None]:
    """End with status 130 and the partial result on Ctrl-C, or by DeadlineExceeded after `length`."""
    try:
        yield
    except Interrupted as interrupted:
        line.clear()
        result = partial_result(interrupted)
        if length is not None and "time" in interrupted.reason:
            raise DeadlineExceeded(
                f"The time limit of {units.format_duration(length)} is over. Result so far: {result}"
            ) from None
        _report_stopped(result)
    except KeyboardInterrupt:
        line.clear()
        _report_stopped(line.note or "nothing is known yet")
    finally:
        line.clear()


def _report_stopped(result: str) -> None:
    click.echo(f"pi-appliance: stopped. Result so far: {result}", err=True)
    click.get_current_context().exit(130)
