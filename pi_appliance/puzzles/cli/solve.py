"""pi-appliance puzzle solve, count, hint, make and prepare: what takes work."""

import json
import secrets
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click

from pi_appliance.cli.options import Number, json_option
from pi_appliance.cli.progress import ProgressLine
from pi_appliance.errors import InvalidOption
from pi_appliance.puzzles import Puzzle, SolveMode
from pi_appliance.puzzles.batch import DEFAULT_MAX_SOLUTIONS
from pi_appliance.puzzles.boards import load_puzzle
from pi_appliance.puzzles.cli.request import (
    ComputeOptions,
    PuzzleRequest,
    board_options,
    progress_context,
    stopped_cleanly,
    work_options,
)
from pi_appliance.puzzles.page import Page
from pi_appliance.puzzles.rendering import format_details, render_rows
from pi_appliance.puzzles.report import (
    BoardReport,
    answer_board,
    answer_to_json,
    format_partial_result,
    render_precomputed,
    report_to_json,
    summarize,
)
from pi_appliance.system import files

_SEEDS = 1_000_000_000


@click.command("solve", short_help="Solve one board.")
@board_options
@click.option(
    "--solutions",
    type=click.Choice([each.value for each in SolveMode]),
    help="What is asked. Else: what the puzzle is for.",
)
@click.option(
    "--max-solutions", type=Number(min=1), show_default=str(DEFAULT_MAX_SOLUTIONS), help="List no more solutions."
)
@click.option(
    "--output",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Write into this file, whole or not, and say so; .html is a page that plays the solution.",
)
@json_option
@work_options
def solve(
    asked: PuzzleRequest,
    solutions: str | None,
    max_solutions: int | None,
    output: Path | None,
    as_json: bool,
    means: ComputeOptions,
) -> None:
    """Solve one board and list its solutions, or say that it is proven to have none.

    \b
    Exit status:
      0    solved, or proven to have no solution
      1    the time of --for is over, or it does not fit into memory; what is proven so far is said
      2    no such puzzle, board or rule, a board that cannot be read, or something that is not asked of this puzzle
      75   the file cannot be written
      130  stopped by Ctrl-C; what is proven so far is said
    """
    if output is not None and not output.name:
        raise click.UsageError("--output names no file")
    puzzle, question = asked.load()
    mode = asked_wish(puzzle, asked.name, solutions)
    if max_solutions and mode in (SolveMode.FIRST, SolveMode.COUNT):
        raise click.UsageError(f"--max-solutions goes with what lists many; {mode} does not")
    told = BoardReport(name=asked.title(puzzle), board=question, mode=mode)
    line = ProgressLine()
    with (
        stopped_cleanly(line, lambda interrupted: told.cut_off or format_partial_result(interrupted), means.length),
        progress_context(line, means) as runtime,
        _writing(output, line) as write,
    ):
        page = output is not None and output.suffix.lower() in (".html", ".htm")
        answer_board(
            puzzle, told, max_solutions or DEFAULT_MAX_SOLUTIONS, runtime, _nowhere if as_json or page else write
        )
        if told.refused:
            raise told.refused
        if as_json:
            write(_json(puzzle, asked, told) + "\n")
        elif page:
            write(_page(puzzle, told))
    if output is not None:
        found = "proven to have no solution" if told.proven else "solved"
        click.echo(f"{found}; wrote {output}")


def asked_wish(puzzle: Puzzle, name: str, solutions: str | None) -> SolveMode:
    """Return what is asked of PUZZLE, called NAME. Raises WrongArgument if it is nothing that it can tell."""
    if solutions is None:
        return puzzle.MODES[0]
    if solutions not in puzzle.MODES:
        raise InvalidOption(f"{name} is not asked for {SolveMode(solutions)}; known: {', '.join(puzzle.MODES)}")
    return SolveMode(solutions)


def _json(puzzle: Puzzle, asked: PuzzleRequest, told: BoardReport) -> str:
    return json.dumps({"puzzle": asked.name, **report_to_json(puzzle, told)}, ensure_ascii=False)


def _page(puzzle: Puzzle, told: BoardReport) -> str:
    page = Page(puzzle, "by hand")
    page.add(told)
    return page.render(summarize(told).rstrip("."), "")


@click.command("count", short_help="Count the solutions of one board.")
@board_options
@json_option
@work_options
def count(
    asked: PuzzleRequest,
    as_json: bool,
    means: ComputeOptions,
) -> None:
    """Say how many solutions one board has, exactly, and list none of them.

    \b
    Exit status:
      0    they are counted, or proven to be none
      1    the time of --for is over, or it does not fit into memory; what is proven so far is said
      2    no such puzzle, board or rule, a board that cannot be read, or a puzzle whose solutions are not counted
      130  stopped by Ctrl-C; what is proven so far is said
    """
    puzzle, question = asked.load()
    mode = asked_wish(puzzle, asked.name, SolveMode.COUNT)
    told = BoardReport(name=asked.title(puzzle), board=question, mode=mode)
    line = ProgressLine()
    with (
        stopped_cleanly(line, lambda interrupted: told.cut_off or format_partial_result(interrupted), means.length),
        progress_context(line, means) as runtime,
    ):
        answer_board(puzzle, told, 1, runtime, _nowhere)
    if told.refused:
        raise told.refused
    click.echo(
        json.dumps({"puzzle": asked.name, **report_to_json(puzzle, told)}, ensure_ascii=False)
        if as_json
        else summarize(told)
    )


@click.command("hint", short_help="Say the next move.")
@board_options
@work_options
def hint(
    asked: PuzzleRequest,
    means: ComputeOptions,
) -> None:
    """Say the next move on one board, and no more.

    \b
    Exit status:
      0    it is said, or that there is none
      1    the time of --for is over; nothing is known
      2    no such puzzle, board or rule, a board that cannot be read, or a puzzle without hints
      130  stopped by Ctrl-C
    """
    puzzle, question = asked.load()
    telling = _able(puzzle, asked.name, "hint")
    line = ProgressLine()
    with stopped_cleanly(line, format_partial_result, means.length), progress_context(line, means) as runtime:
        words = telling(question, runtime)
    click.echo(words)


@click.command("generate", short_help="Make a new board.")
@board_options
@click.option("--seed", type=Number(min=0), help="The same seed makes the same board. Else: another one each time.")
@click.option("--svg", is_flag=True, help="As an SVG picture.")
@work_options
def generate(
    asked: PuzzleRequest,
    seed: int | None,
    svg: bool,
    means: ComputeOptions,
) -> None:
    """Make a new board like BOARD, with its size and rules, and draw it; what is known of it goes to stderr.

    \b
    Exit status:
      0    it is made
      1    the time of --for is over; nothing is made
      2    no such puzzle, board or rule, a board that cannot be read, or a puzzle that makes none
      130  stopped by Ctrl-C
    """
    puzzle, model = asked.load()
    maker = _able(puzzle, asked.name, "generate")
    seed = secrets.randbelow(_SEEDS) if seed is None else seed
    line = ProgressLine()
    with stopped_cleanly(line, format_partial_result, means.length), progress_context(line, means) as runtime:
        made = maker(seed, model, runtime)
    click.echo(puzzle.render_svg(made.board) if svg else puzzle.render(made.board), nl=False)
    known = {"Board": puzzle.describe(made.board), "Seed": str(seed)}
    known |= format_details(made.details)
    click.echo(render_rows(known), err=True, nl=False)


@click.command("precompute", short_help="Build what makes a puzzle fast.")
@click.argument("name", metavar="PUZZLE")
@json_option
@work_options
def precompute(name: str, as_json: bool, means: ComputeOptions) -> None:
    """Build what makes a puzzle fast, such as tables and books, or go on with it; it is kept in the state folder.

    \b
    Exit status:
      0    all is there
      1    the time of --for is over; the next time goes on from there
      2    no such puzzle, or one with nothing to prepare
      75   it cannot be written
      130  stopped by Ctrl-C; the next time goes on from there
    """
    puzzle = load_puzzle(name)
    preparing = _able(puzzle, name, "precompute")
    line = ProgressLine()
    with (
        stopped_cleanly(line, format_partial_result, means.length),
        progress_context(line, means, keeps=True) as runtime,
    ):
        begun = runtime.monotonic()
        answer = preparing(runtime)
        took = runtime.monotonic() - begun
    if as_json:
        click.echo(
            json.dumps({"puzzle": name, "seconds": round(took, 3), **answer_to_json(answer)}, ensure_ascii=False)
        )
    else:
        click.echo(render_precomputed(answer, took), nl=False)


def _able(puzzle: Puzzle, name: str, what: str) -> Callable[..., Any]:
    """Return the function WHAT of PUZZLE. Raises UsageError if it has none."""
    able: Callable[..., Any] | None = getattr(puzzle, what, None)
    if able is None:
        lacks = {"hint": "gives no hints", "generate": "makes no boards", "precompute": "has nothing to prepare"}
        raise click.UsageError(f"{name} {lacks[what]}")
    return able


def _nowhere(_: str) -> None:
    """Write nothing."""


@contextmanager
def _writing(output: Path | None, line: ProgressLine) -> Iterator[Callable[[str], object]]:
    """Give what writes text: into the file OUTPUT, or to stdout where no progress line stands in its way."""
    if output is None:

        def write(text: str) -> None:
            line.clear()
            click.echo(text, nl=False)

        yield write
    else:
        # A link stays, and what it leads to is written; what is no file is refused by its own name.
        place = output if output.exists() and not output.is_file() else output.resolve()
        with files.atomic_write_text(place) as file:
            yield file.write
