"""pi-appliance puzzle: solve, show and check boards by hand."""

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import Any

import click

from pi_appliance.cli._options import Command, Number, json_option
from pi_appliance.cli._progress import ProgressLine
from pi_appliance.errors import Refused
from pi_appliance.jobs.puzzle import LIMIT, Solutions, aimed, load_puzzle, read_board, read_text
from pi_appliance.puzzles import Answer, Puzzle, counted, list_solutions
from pi_appliance.system import files

OFTEN = 100  # solutions checked between two signs of progress


@click.group("puzzle", short_help="Solve, show and check puzzles.")
def command() -> None:
    """Solve, show and check puzzles. PUZZLE is a name such as peg-solitaire."""


def _board_options(command: Command) -> Command:
    """Give COMMAND the parameters `name`, `board` and `goal`."""
    for decorate in (
        click.option("--goal", metavar="GOAL", help="A narrower goal; in peg solitaire the last peg's hole, as 3,3."),
        click.option("--board", metavar="BOARD", help="A known board by name, or a file. Else: the first known."),
        click.argument("name", metavar="PUZZLE"),
    ):
        command = decorate(command)
    return command


def _board(puzzle: Puzzle, board: str | None, goal: str | None) -> Any:
    return aimed(puzzle, read_board(puzzle, Path(board or next(iter(puzzle.BOARDS)))), goal)


@command.command("solve", short_help="Solve one board.")
@_board_options
@click.option(
    "--solutions", type=click.Choice([each.value for each in Solutions]), default="first", help="How many to list."
)
@click.option("--limit", type=Number(min=1), show_default=str(LIMIT), help="With --solutions all, no more.")
@click.option(
    "--output", type=click.Path(path_type=Path, dir_okay=False), help="Write into this file, whole or not, and say so."
)
@json_option
def solve(
    name: str,
    board: str | None,
    goal: str | None,
    solutions: str,
    limit: int | None,
    output: Path | None,
    as_json: bool,
) -> None:
    """Solve one board and list its solutions, or say that it is proven to have none.

    \b
    Exit status:
      0    solved, or proven to have no solution
      2    no such puzzle or board, a board that cannot be read, or --limit without --solutions all
      75   the file cannot be written
      130  stopped by Ctrl-C; nothing is known then
    """
    if limit and solutions == Solutions.FIRST:
        raise click.UsageError("--limit goes with --solutions all; without that, only the first is listed")
    puzzle = load_puzzle(name)
    question = _board(puzzle, board, goal)
    most = 1 if solutions == Solutions.FIRST else limit or LIMIT
    line = ProgressLine()
    with _stopped_cleanly(line, "before the answer was known"), _writing(output, line) as write:
        answer = puzzle.solve(question, line.show)
        if as_json:
            write(json.dumps(_facts(name, answer, most)) + "\n")
        else:
            list_solutions(puzzle, question, answer, most, write)
    if output is not None:
        found = "solved" if answer.proof is None else "proven to have no solution"
        click.echo(f"{found}; wrote {output}")


@command.command("show", short_help="Draw one board.")
@_board_options
@click.option("--svg", is_flag=True, help="As an SVG picture.")
def show(name: str, board: str | None, goal: str | None, svg: bool) -> None:
    """Draw one board as text, or as an SVG picture.

    \b
    Exit status:
      0  it is drawn
      2  no such puzzle or board, or a board that cannot be read
    """
    puzzle = load_puzzle(name)
    question = _board(puzzle, board, goal)
    click.echo(puzzle.render_svg(question) if svg else puzzle.render(question), nl=False)


@command.command("boards", short_help="List the known boards.")
@click.argument("name", metavar="PUZZLE")
def boards(name: str) -> None:
    """List the boards that PUZZLE knows by name.

    \b
    Exit status:
      0  they are listed
      2  no such puzzle
    """
    puzzle = load_puzzle(name)
    for known, drawing in puzzle.BOARDS.items():
        click.echo(f"{known:<12}{puzzle.describe(puzzle.parse(drawing, known))}")


@command.command("check", short_help="Check the solutions listed in a file.")
@click.argument("name", metavar="PUZZLE")
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--goal", metavar="GOAL", help="The goal they must reach, where it is narrower than the puzzle's own.")
def check(name: str, file: Path, goal: str | None) -> None:
    """Replay every solution in FILE by the rules alone, as `solve` and the job list them.

    \b
    Exit status:
      0    every one is right
      1    one is wrong, or none is listed
      2    no such puzzle, or a file that cannot be read as a listing, as one with a line missing
      130  stopped by Ctrl-C
    """
    puzzle = load_puzzle(name)
    progress = ProgressLine()
    right = 0
    with _stopped_cleanly(progress, "before everything was checked"):
        for question, lines in puzzle.parse_listing(read_text(file), str(file), progress.show):
            board = aimed(puzzle, question, goal)
            for number, line in enumerate(lines, 1):
                checked = puzzle.check(board, line)
                if not checked:
                    size = puzzle.describe(question)
                    raise Refused(f"{file}: solution {number} of the board with {size} is wrong: {checked.wrong}")
                right += 1
                if not right % OFTEN:
                    progress.show(number / len(lines), f"{right:,} solutions checked")
    if not right:
        raise Refused(f"{file} lists no solution; nothing was checked")
    click.echo(f"{file}: {counted(right, 'solution')}, all right")


def _facts(name: str, answer: Answer, limit: int) -> dict[str, Any]:
    lines = list(islice(answer.lines, limit))
    return {
        "puzzle": name,
        "solved": answer.proof is None,
        "proof": answer.proof,
        "why": answer.why,
        "count": answer.count,
        "tried": answer.tried(),
        "solutions": lines,
    }


@contextmanager
def _stopped_cleanly(line: ProgressLine, before: str) -> Iterator[None]:
    """End with status 130 and one line on Ctrl-C; BEFORE says what is not known then. The progress LINE goes away."""
    try:
        yield
    except KeyboardInterrupt:
        line.clear()
        click.echo(f"pi-appliance: stopped {before}", err=True)
        click.get_current_context().exit(130)
    finally:
        line.clear()


@contextmanager
def _writing(output: Path | None, line: ProgressLine) -> Iterator[Callable[[str], object]]:
    """Give what writes text: into the file OUTPUT, or to stdout where no progress line stands in its way."""
    if output is None:

        def write(text: str) -> None:
            line.clear()
            click.echo(text, nl=False)

        yield write
    else:
        with files.replacing_text(output) as file:
            yield file.write
