"""pi-appliance puzzle check: replay solutions by the rules alone."""

from pathlib import Path
from typing import Any

import click

from pi_appliance.cli.progress import ProgressLine
from pi_appliance.errors import Refused
from pi_appliance.puzzles import Puzzle, pluralize
from pi_appliance.puzzles.boards import load_puzzle, read_text
from pi_appliance.puzzles.cli.request import STDIN, PuzzleRequest, board_options, read_stdin, stopped_cleanly

OFTEN = 100  # solutions checked between two signs of progress


@click.command("check", short_help="Check the solutions listed in a file, or one.")
@board_options
@click.argument("file", required=False)
@click.option("--line", "notation", metavar="LINE", help="One solution of --board in its notation, in place of a file.")
def check(asked: PuzzleRequest, file: str | None, notation: str | None) -> None:
    """Replay every solution in FILE (- for stdin) by the rules alone, as `solve` and the job list them; or one LINE.

    \b
    Exit status:
      0    every one is right
      1    one is wrong, or none is listed
      2    no such puzzle, board or rule, or a file that cannot be read as a listing, as one with a line missing
      130  stopped by Ctrl-C
    """
    if (file is None) == (notation is None) or (file is not None and asked.board is not None):
        raise click.UsageError("name a FILE, or a --board and a --line of it")
    if notation is not None:
        _check_line(*asked.load(), notation)
        return
    assert file is not None
    progress = ProgressLine()
    puzzle = load_puzzle(asked.name)
    where = STDIN if file == "-" else file
    with stopped_cleanly(progress, lambda _: "", None):
        text = read_stdin() if file == "-" else read_text(Path(file))
        right = _check_listing(puzzle, asked.rules, text, where, progress)
    if not right:
        raise Refused(f"{where} lists no solution; nothing was checked")
    click.echo(f"{where}: {pluralize(right, 'solution')}, all right")


def _check_line(puzzle: Puzzle, board: Any, notation: str) -> None:
    checked = puzzle.check(board, puzzle.parse_solution(board, notation, "line"))
    if not checked:
        raise Refused(f"this is no solution of the board ({puzzle.describe(board)}): {checked.error}")
    click.echo("right")


def _check_listing(puzzle: Puzzle, rules: dict[str, str], text: str, file: str, progress: ProgressLine) -> int:
    """Return how many solutions TEXT lists, all of them right. Raises Refused at the first that is wrong."""
    right = 0
    for question, lines in puzzle.parse_listing(text, file, progress.show):
        board = puzzle.with_rules(question, rules)
        for number, line in enumerate(lines, 1):
            checked = puzzle.check(board, line)
            if not checked:
                size = puzzle.describe(question)
                raise Refused(f"{file}: solution {number} of the board ({size}) is wrong: {checked.error}")
            right += 1
            if not right % OFTEN:
                progress.show(number / len(lines), f"{right:,} solutions checked")
    return right
