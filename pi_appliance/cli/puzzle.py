"""pi-appliance puzzle: solve, count, check, show and make boards by hand."""

import json

import click

from pi_appliance import registry
from pi_appliance.cli import _puzzle_check, _puzzle_solve
from pi_appliance.cli._options import json_option
from pi_appliance.cli._puzzle_work import Asked, board_options
from pi_appliance.jobs._puzzle_boards import load_puzzle


@click.group("puzzle", short_help="Solve, show and check puzzles.")
def command() -> None:
    """Solve, count, check, show and make puzzles. PUZZLE is a name such as peg-solitaire."""


for _each in (
    _puzzle_solve.solve,
    _puzzle_solve.count,
    _puzzle_check.check,
    _puzzle_solve.hint,
    _puzzle_solve.make,
    _puzzle_solve.prepare,
):
    command.add_command(_each)


@command.command("list", short_help="List the puzzles.")
@json_option
def list_puzzles(as_json: bool) -> None:
    """List the puzzles there are, and what is asked of each.

    \b
    Exit status:
      0  they are listed
    """
    for name in registry.names("puzzles"):
        puzzle = load_puzzle(name)
        if as_json:
            able = [what for what in ("hint", "make", "prepare") if hasattr(puzzle, what)]
            known = {"puzzle": name, "title": puzzle.TITLE, "solutions": list(puzzle.WISHES), "also": able}
            click.echo(json.dumps(known | {"boards": list(puzzle.BOARDS), "rules": list(puzzle.RULES)}))
        else:
            subject = (getattr(puzzle, "__doc__", "") or puzzle.TITLE).splitlines()[0]
            click.echo(f"{name:<16}{subject}")


@command.command("show", short_help="Draw one board.")
@board_options
@click.option("--svg", is_flag=True, help="As an SVG picture.")
def show(asked: Asked, svg: bool) -> None:
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
    wide = max(map(len, puzzle.BOARDS)) + 2
    for known, drawing in puzzle.BOARDS.items():
        size = puzzle.describe(puzzle.parse(drawing, known))
        told = json.dumps({"name": known, "size": size, "board": drawing}, ensure_ascii=False)
        click.echo(told if as_json else f"{known:<{wide}}{size}")


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
        for rule, told in puzzle.RULES.items():
            known = {"rule": rule, "what": told.what, "default": told.default, "choices": list(told.choices)}
            click.echo(json.dumps(known, ensure_ascii=False))
        return
    for rule, told in puzzle.RULES.items():
        click.echo(f"{rule}: {told.what}")
        if told.choices:
            click.echo(f"  one of: {', '.join(told.choices)}")
        if told.default:
            click.echo(f"  usually: {told.default}")
    if not puzzle.RULES:
        click.echo(f"{puzzle.TITLE} has no rules that may be chosen")
