"""pi-appliance puzzle: solve, count, check, show and make boards by hand."""

import json
from typing import Any

import click

from pi_appliance import plugins
from pi_appliance.cli.options import json_option
from pi_appliance.puzzles import Puzzle
from pi_appliance.puzzles.boards import load_puzzle
from pi_appliance.puzzles.cli import check, solve
from pi_appliance.puzzles.cli.request import PuzzleRequest, board_options

_HELP = f"""Solve, count, check, show and make puzzles. PUZZLE is one of {", ".join(plugins.names("puzzles"))}.

\b
To begin with:
  pi-appliance puzzle list
  pi-appliance puzzle solve peg-solitaire --board cross
  pi-appliance puzzle generate sudoku > mine.txt
  pi-appliance puzzle hint sudoku --board mine.txt
  pi-appliance puzzle solve sudoku --board mine.txt --output mine.html
"""


@click.group("puzzle", help=_HELP, short_help="Solve, show and check puzzles.")
def command() -> None:
    """Hold the commands of puzzles."""


for _each in (
    solve.solve,
    solve.count,
    check.check,
    solve.hint,
    solve.generate,
    solve.precompute,
):
    command.add_command(_each)


@command.command("list", short_help="List the puzzles.")
@json_option
def list_puzzles(as_json: bool) -> None:
    """List the puzzles there are, and what each is about.

    \b
    Exit status:
      0  they are listed
    """
    puzzles = {name: load_puzzle(name) for name in plugins.names("puzzles")}
    if as_json:
        click.echo(json.dumps([_values(name, puzzle) for name, puzzle in puzzles.items()]))
        return
    for name, puzzle in puzzles.items():
        subject = (getattr(puzzle, "__doc__", "") or puzzle.TITLE).splitlines()[0]
        click.echo(f"{name:<16}{subject}")


def _values(name: str, puzzle: Puzzle) -> dict[str, Any]:
    able = [what for what in ("hint", "generate", "precompute") if hasattr(puzzle, what)]
    known = {"puzzle": name, "title": puzzle.TITLE, "solutions": list(puzzle.MODES), "also": able}
    return known | {"boards": list(puzzle.BOARDS), "rules": list(puzzle.RULES)}


@command.command("show", short_help="Draw one board.")
@board_options
@click.option("--svg", is_flag=True, help="As an SVG picture.")
def show(asked: PuzzleRequest, svg: bool) -> None:
    """Draw one board as text, or as an SVG picture.

    \b
    Exit status:
      0  it is drawn
      2  no such puzzle, board or rule, or a board that cannot be read
    """
    puzzle, question = asked.load()
    click.echo(puzzle.render_svg(question) if svg else puzzle.render(question), nl=False)


@command.command("boards", short_help="List the known boards.")
@click.argument("name", metavar="PUZZLE")
@json_option
def boards(name: str, as_json: bool) -> None:
    """List the boards that PUZZLE knows by name.

    \b
    Exit status:
      0  they are listed
      2  no such puzzle
    """
    puzzle = load_puzzle(name)
    sizes = {known: puzzle.describe(puzzle.parse(drawing, known)) for known, drawing in puzzle.BOARDS.items()}
    if as_json:
        told = [{"name": known, "size": size, "board": puzzle.BOARDS[known]} for known, size in sizes.items()]
        click.echo(json.dumps(told, ensure_ascii=False))
        return
    wide = max(map(len, sizes)) + 2
    for known, size in sizes.items():
        click.echo(f"{known:<{wide}}{size}")


@command.command("rules", short_help="List the rules that may be chosen.")
@click.argument("name", metavar="PUZZLE")
@json_option
def rules(name: str, as_json: bool) -> None:
    """List the rules of PUZZLE that may be chosen: with `--rule`, or under `rules:` of a job.

    \b
    Exit status:
      0  they are listed, or that there are none
      2  no such puzzle
    """
    puzzle = load_puzzle(name)
    if as_json:
        known = [
            {"rule": rule, "what": told.description, "default": told.default, "choices": list(told.choices)}
            for rule, told in puzzle.RULES.items()
        ]
        click.echo(json.dumps(known, ensure_ascii=False))
        return
    for rule, told in puzzle.RULES.items():
        click.echo(f"{rule}: {told.description}")
        if told.choices:
            click.echo(f"  one of: {', '.join(told.choices)}")
        if told.default:
            click.echo(f"  usually: {told.default}")
    if not puzzle.RULES:
        click.echo(f"{puzzle.TITLE} has no rules that may be chosen")
