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

from pi_appliance.cli.options import Command, Number, optional_config_option
from pi_appliance.cli.progress import ProgressLine
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


def _parse_rules(_: click.Context, __: click.Parameter, given: Sequence[str]) -> dict[str, str]:
    rules = {}
    for words in given:
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

    def load(self) -> tuple[Puzzle, Any]:
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

    def title(self, puzzle: Puzzle) -> str:
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
    """Add the parameter `asked` (a PuzzleRequest) to a command."""

    @wraps(command)
    def collected(*, name: str, board: str | None, rules: dict[str, str], **given: Any) -> Any:
        return command(asked=PuzzleRequest(name, board, rules), **given)

    words = "A known board, a file, - for stdin, or a drawing. Default: the first known board."
    with_rules = click.option(
        "--rule", "rules", metavar="NAME=VALUE", multiple=True, callback=_parse_rules, help="A rule; can be repeated."
    )(collected)
    with_board = click.option("--board", metavar="BOARD", help=words)(with_rules)
    return click.argument("name", metavar="PUZZLE")(with_board)


def compute_options(command: Command) -> Command:
    """Add the parameter `means` (ComputeOptions) to a command."""

    @wraps(command)
    def collected(*, cores: int | None, length: timedelta | None, config: Path | ConfigNotFound, **given: Any) -> Any:
        return command(means=ComputeOptions(cores, length, config), **given)

    with_config = optional_config_option(collected)
    limit = click.option("--for", "length", metavar="LENGTH", callback=_parse_length, help="Time limit, such as 30s.")
    cores = click.option("--cores", type=Number(min=1), help="Number of cores. Default: all.")
    return cores(limit(with_config))


class _LazyCache:
    """A file cache that reads the configuration on first use: most puzzles need no cache.

    If it cannot be used, nothing is saved and `without` receives the reason once; if that is None, it is an error.
    """

    def __init__(self, config: Path | ConfigNotFound, without: Callable[[str], None] | None) -> None:
        self._config, self._without = config, without
        self._closed = False

    @cached_property
    def _shelf(self) -> Cache:
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
            if self._without is None:
                raise
            self._closed = True
            self._without(str(error))

    def load(self, name: str) -> memoryview | None:
        if not self._closed:
            with self._may_fail():
                return self._shelf.load(name)
        return None

    def save(self, name: str, parts: Iterable[bytes | bytearray | memoryview]) -> None:
        if not self._closed:
            with self._may_fail():
                self._shelf.save(name, parts)

    def remove(self, name: str) -> None:
        if not self._closed:
            with self._may_fail():
                self._shelf.remove(name)

    def names(self) -> Iterable[str]:
        return () if self._closed else self._shelf.names()


@contextmanager
def progress_context(line: ProgressLine, means: ComputeOptions, *, keeps: bool = False) -> Iterator[SearchRuntime]:
    """Open the search runtime, with progress on `line`. With `keeps`, a cache that cannot be written is an error."""
    seconds = None if means.length is None else means.length.total_seconds()
    estimates: list[Estimate] = []

    def tell(part: float | None, note: str) -> None:
        left = estimates[0].remaining(part)
        line.show(part, f"{left}: {note}" if left else note)

    def go_on_without(why: str) -> None:
        line.clear()
        click.echo(f"pi-appliance: nothing is saved for the next run: {why}", err=True)

    with local.open_runtime(Path(), tell, seconds=seconds, cores=means.cores) as runtime:
        estimates.append(Estimate(runtime.monotonic))
        runtime.cache = _LazyCache(means.config, None if keeps else go_on_without)
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
        told = partial_result(interrupted)
        if length is not None and "time" in interrupted.reason:
            raise DeadlineExceeded(f"out of time after {units.format_duration(length)}; so far: {told}") from None
        _report_stopped(told)
    except KeyboardInterrupt:
        line.clear()
        _report_stopped(line.note or "nothing is known yet")
    finally:
        line.clear()


def _report_stopped(told: str) -> None:
    click.echo(f"pi-appliance: stopped; so far: {told}", err=True)
    click.get_current_context().exit(130)
