"""The commands of `pi-appliance puzzle`."""

import json
import secrets
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any, TypedDict

import click

from pi_appliance import plugins
from pi_appliance.cli.client import Number, ProgressLine, json_option, print_json, show_result
from pi_appliance.errors import InvalidOption, Refused
from pi_appliance.puzzles import PositionScore, Puzzle, SolveMode, boards, pluralize, text_format
from pi_appliance.puzzles.board_report import DEFAULT_MAX_SOLUTIONS, BoardReport, answer_to_json, render_precomputed
from pi_appliance.puzzles.boards import load_puzzle
from pi_appliance.puzzles.cli_options import (
    STDIN,
    BoardJson,
    ComputeOptions,
    PuzzleRequest,
    board_options,
    compute_options,
    open_search,
    read_stdin,
    report_interruption,
)
from pi_appliance.puzzles.dry_run import Task
from pi_appliance.system import files

PROGRESS_INTERVAL = 100  # solutions checked between two progress reports
_MAX_SEED = 1_000_000_000
_OTHER_PICTURES = {".gif", ".jpeg", ".jpg", ".pdf", ".png", ".webp"}
_HELP = """Solve, count, check, show and generate boards. PUZZLE is one of {puzzles}.

\b
Examples:
  pi-appliance puzzle list
  pi-appliance puzzle solve peg-solitaire --board cross
  pi-appliance puzzle generate sudoku > mine.txt
  pi-appliance puzzle hint sudoku --board mine.txt
  pi-appliance puzzle solve sudoku --board mine.txt --output mine.html
"""


class _PuzzleGroup(click.Group):
    """Names the puzzles in its help only: to look for those of other distributions is slow."""

    def format_help_text(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the help."""
        self.help = _HELP.format(puzzles=", ".join(plugins.names("puzzles")))
        super().format_help_text(ctx, formatter)


@click.group("puzzle", cls=_PuzzleGroup, help=_HELP, short_help="Solve, show and check puzzles.")
def command() -> None:
    """Run the commands of puzzles."""


@command.command("solve", short_help="Solve one board.")
@board_options
@click.option(
    "--solutions",
    type=click.Choice([each.value for each in SolveMode]),
    help="Which solutions to find. Default: depends on the puzzle.",
)
@click.option(
    "--max-solutions",
    type=Number(min=1),
    show_default=str(DEFAULT_MAX_SOLUTIONS),
    help="List at most this many solutions.",
)
@click.option(
    "--output",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Write to this file; .html is a page that plays the solution, .svg a picture of it.",
)
@json_option
@compute_options
def solve(
    request: PuzzleRequest,
    solutions: str | None,
    max_solutions: int | None,
    output: Path | None,
    as_json: bool,
    limits: ComputeOptions,
) -> None:
    """Solve one board and list its solutions, or prove that it has none.

    \b
    Exit status:
      0    solved, or proven to have no solution
      1    the time of --for is over, or memory is too small; the partial result is printed
      2    unknown puzzle, board or rule, invalid board, or unsupported --solutions
      75   the output file cannot be written
      130  stopped by Ctrl-C; the partial result is printed
    """
    kind = _output_kind(output, as_json=as_json)
    report = _start_report(request, solutions)
    if max_solutions and report.mode in (SolveMode.FIRST, SolveMode.COUNT):
        raise click.UsageError(f"--max-solutions needs --solutions all or fewest-moves, not {report.mode}")
    search = open_search(report.puzzle, report, limits, output=output, as_json=as_json)
    with search as (runtime, line), _open_output(output, line) as write:
        counts = report.mode is SolveMode.COUNT  # only a count: then the boards, which may be thousands, are not listed
        listed = _discard if kind or counts else write
        report.search(max_solutions or DEFAULT_MAX_SOLUTIONS, runtime, listed)
        if report.refused:
            raise report.refused
        if kind == "json":
            write(json.dumps({"puzzle": request.name, **report.to_json()}, ensure_ascii=False) + "\n")
        elif kind == "page":
            from pi_appliance.puzzles.result_page import Page  # noqa: PLC0415 - few commands write a page

            page = Page(report.puzzle, "by hand")
            page.add_board(report)
            write(page.render(report.summarize().rstrip("."), ""))
        elif kind == "picture":
            write(report.draw())
        elif counts:
            write(report.render())
    if output is not None:
        click.echo(f"{'proven to have no solution' if report.proven else 'solved'}; wrote {output}")


def _output_kind(output: Path | None, *, as_json: bool) -> str:
    """Return "json", "page" or "picture"; "" is a listing. Raises UsageError."""
    if output is not None and not output.name:
        raise click.UsageError("--output needs a file name")
    suffix = output.suffix.lower() if output is not None else ""
    if suffix in _OTHER_PICTURES:
        raise click.UsageError(f"--output cannot write {suffix}; write .svg, a picture, or .html, a page")
    if as_json and suffix == ".svg":
        raise click.UsageError("--json does not go into a picture; name another --output")
    return "json" if as_json else {".html": "page", ".htm": "page", ".svg": "picture"}.get(suffix, "")


def _start_report(request: PuzzleRequest, solutions: str | None) -> BoardReport:
    puzzle, board = request.load_board()
    if solutions is not None and solutions not in puzzle.MODES:
        supported = ", ".join(puzzle.MODES)
        raise InvalidOption(f"{request.name} does not support {SolveMode(solutions)}; supported: {supported}")
    mode = puzzle.MODES[0] if solutions is None else SolveMode(solutions)
    return BoardReport(puzzle=puzzle, name=request.board_title(puzzle), board=board, mode=mode)


@command.command("count", short_help="Count the solutions of one board.")
@board_options
@json_option
@compute_options
def count(request: PuzzleRequest, as_json: bool, limits: ComputeOptions) -> None:
    """Count the solutions of one board exactly, without listing them.

    \b
    Exit status:
      0    counted, or proven to have no solution
      1    the time of --for is over, or memory is too small; the partial result is printed
      2    unknown puzzle, board or rule, invalid board, or the puzzle does not count
      130  stopped by Ctrl-C; the partial result is printed
    """
    report = _start_report(request, SolveMode.COUNT)
    with open_search(report.puzzle, report, limits, as_json=as_json) as (runtime, _):
        report.search(1, runtime, _discard)
    if report.refused:
        raise report.refused
    show_result({"puzzle": request.name, **report.to_json()}, f"{report.summarize()}\n", as_json=as_json)


@command.command("score", short_help="Score the positions of a file.")
@click.argument("name", metavar="PUZZLE")
@click.option("--board", required=True, metavar="FILE", help="A file with a position in each line, or - for stdin.")
@json_option
@compute_options
def score(name: str, board: str, as_json: bool, limits: ComputeOptions) -> None:
    """Print the score of each position of a file, in its order, and nothing else of it.

    \b
    Exit status:
      0    all positions are scored
      1    the time of --for is over; the scores so far are printed
      2    unknown puzzle, invalid position, or the puzzle has no scores
      130  stopped by Ctrl-C; the scores so far are printed
    """
    puzzle = load_puzzle(name)
    score_rows = _get_function(puzzle, name, "score_rows")
    text = read_stdin() if board == "-" else boards.read_text(Path(board))
    positions = _get_function(puzzle, name, "parse_positions")(text, STDIN if board == "-" else board)
    task = Task("scores", positions, SolveMode.FIRST)
    scores = list[PositionScore]()
    with open_search(puzzle, task, limits, as_json=as_json) as (runtime, line), _open_output(None, line) as write:
        try:
            for row in score_rows(positions, runtime):
                if as_json:
                    scores.append(row)
                else:
                    write(f"{row}\n")
        finally:  # after an interruption, the scores so far are printed
            if as_json:
                write(f"{json.dumps({'puzzle': name, 'scores': [asdict(each) for each in scores]})}\n")


class MoveJson(BoardJson):
    """A board and its next move."""

    text: str


@command.command("hint", short_help="Print the next move.")
@board_options
@json_option
@compute_options
def hint(request: PuzzleRequest, as_json: bool, limits: ComputeOptions) -> None:
    """Print the next move on one board.

    \b
    Exit status:
      0    the move is printed, or that there is none
      1    the time of --for is over
      2    unknown puzzle, board or rule, invalid board, or the puzzle has no hints
      130  stopped by Ctrl-C
    """
    puzzle, board = request.load_board()
    find_hint = _get_function(puzzle, request.name, "hint")
    with open_search(puzzle, Task("hint", board, puzzle.MODES[0]), limits, as_json=as_json) as (runtime, _):
        words = find_hint(board, runtime)
    result: MoveJson = {**request.board_json(puzzle, board), "text": words}
    show_result(result, f"{words}\n", as_json=as_json)


class NewBoardJson(TypedDict):
    """A generated board. `generator` has the seed and details of the generation."""

    puzzle: str
    board: str
    size: str
    generator: Mapping[str, int | float | str]


@command.command("generate", short_help="Generate a new board.")
@board_options
@click.option("--seed", type=Number(min=0), help="The same seed gives the same board. Default: random.")
@click.option("--svg", is_flag=True, help="As an SVG picture.")
@json_option
@compute_options
def generate(request: PuzzleRequest, seed: int | None, svg: bool, as_json: bool, limits: ComputeOptions) -> None:
    """Generate a new board with the size and rules of BOARD, and draw it; its details go to stderr.

    \b
    Exit status:
      0    the board is drawn
      1    the time of --for is over
      2    unknown puzzle, board or rule, invalid board, or the puzzle does not generate boards
      130  stopped by Ctrl-C
    """
    _refuse_json_picture(svg=svg, as_json=as_json)
    puzzle, model = request.load_board()
    generate_board = _get_function(puzzle, request.name, "generate")
    seed = secrets.randbelow(_MAX_SEED) if seed is None else seed
    with open_search(puzzle, Task("generate", model, SolveMode.FIRST), limits, as_json=as_json) as (runtime, _):
        generated = generate_board(seed, model, runtime)
    if as_json:
        result: NewBoardJson = {
            "puzzle": request.name,
            "board": puzzle.render(generated.board),
            "size": puzzle.describe(generated.board),
            "generator": {"seed": str(seed), **generated.details},
        }
        print_json(result)
        return
    click.echo(puzzle.render_svg(generated.board) if svg else puzzle.render(generated.board), nl=False)
    facts = {"Board": puzzle.describe(generated.board), "Seed": str(seed)}
    click.echo(text_format.render_rows(facts | text_format.format_details(generated.details)), err=True, nl=False)


@command.command("precompute", short_help="Build the tables that make a puzzle fast.")
@click.argument("name", metavar="PUZZLE")
@json_option
@compute_options
def precompute(name: str, as_json: bool, limits: ComputeOptions) -> None:
    """Build tables or an opening book in the state folder, or continue building them.

    \b
    Exit status:
      0    they are complete
      1    the time of --for is over; the next run continues
      2    unknown puzzle, or it has no tables
      75   they cannot be written
      130  stopped by Ctrl-C; the next run continues
    """
    puzzle = load_puzzle(name)
    build_tables = _get_function(puzzle, name, "precompute")
    task = Task("precompute", None, SolveMode.FIRST)
    with open_search(puzzle, task, limits, as_json=as_json, cache_required=True) as (runtime, _):
        started = runtime.monotonic()
        answer = build_tables(runtime)
        seconds = runtime.monotonic() - started
    result = {"puzzle": name, "seconds": round(seconds, 3), **answer_to_json(answer)}
    show_result(result, render_precomputed(answer, seconds), as_json=as_json)


def _get_function(puzzle: Puzzle, name: str, function_name: str) -> Callable[..., Any]:
    function: Callable[..., Any] | None = getattr(puzzle, function_name, None)
    if function is None:
        lacks = {"hint": "has no hints", "generate": "does not generate boards", "precompute": "has no tables to build"}
        lacks |= {"score_rows": "has no scores", "parse_positions": "has no scores"}
        raise click.UsageError(f"{name} {lacks[function_name]}")
    return function


def _refuse_json_picture(*, svg: bool, as_json: bool) -> None:
    if svg and as_json:
        raise click.UsageError("--json does not go into a picture; leave out --svg")


def _discard(_: str) -> None:
    pass


@contextmanager
def _open_output(output: Path | None, line: ProgressLine) -> Iterator[Callable[[str], object]]:
    """Yield a function that writes to the file, or to stdout without the progress line."""
    if output is None:

        def write(text: str) -> None:
            line.clear()
            click.echo(text, nl=False)

        yield write
    else:
        # A link is replaced at its target. A special file keeps its own name, and is rejected.
        target = output if output.exists() and not output.is_file() else output.resolve()
        with files.atomic_write_text(target) as file:
            yield file.write


class CheckedSolutionsJson(TypedDict):
    """The result of a check. `solutions` are right; `error` is about the first that is not."""

    puzzle: str
    file: str | None
    right: bool
    solutions: int
    error: str


@command.command("check", short_help="Check the solutions listed in a file, or one.")
@board_options
@click.argument("file", required=False)
@click.option(
    "--solution", "notation", metavar="SOLUTION", help="One solution of --board in notation, instead of a file."
)
@json_option
def check(request: PuzzleRequest, file: str | None, notation: str | None, as_json: bool) -> None:
    """Check every solution in FILE (- for stdin), as `solve` and jobs list them, or one SOLUTION.

    \b
    Exit status:
      0    all solutions are right
      1    a solution is wrong, or the file has none
      2    unknown puzzle, board or rule, or the file is not a listing
      130  stopped by Ctrl-C
    """
    if file is None and notation is not None:
        puzzle, board = request.load_board()
        checked = puzzle.check(board, puzzle.parse_solution(board, notation))
        error = "" if checked else f"this is not a solution of the board ({puzzle.describe(board)}): {checked.error}"
        _report_check(request.name, None, int(not error), error, "right\n", as_json=as_json)
        return
    if file is None or notation is not None or request.board is not None:
        raise click.UsageError("name a FILE, or a --board and a --solution of it")
    progress = ProgressLine()
    puzzle = load_puzzle(request.name)
    where = STDIN if file == "-" else file
    with report_interruption(progress, lambda _: "", None):
        text = read_stdin() if file == "-" else boards.read_text(Path(file))
        right, error = _check_listing(puzzle, request.rules, text, where, progress)
    if not right and not error:
        raise Refused(f"{where} has no solutions; nothing was checked")
    verdict = f"{where}: {pluralize(right, 'solution')}, all right\n"
    _report_check(request.name, where, right, error, verdict, as_json=as_json)


def _report_check(name: str, file: str | None, right: int, error: str, verdict: str, *, as_json: bool) -> None:
    """Print the result of a check. A wrong solution has the exit status 1."""
    if error and not as_json:
        raise Refused(error)
    result: CheckedSolutionsJson = {
        "puzzle": name,
        "file": file,
        "right": not error,
        "solutions": right,
        "error": error,
    }
    show_result(result, verdict, as_json=as_json)
    if error:
        raise SystemExit(1)


def _check_listing(
    puzzle: Puzzle, rules: dict[str, str], text: str, file: str, progress: ProgressLine
) -> tuple[int, str]:
    """Return the number of right solutions up to the first wrong one, and the problem of that."""
    right = 0
    for listed_board, lines in puzzle.parse_listing(text, file, progress.show):
        board = puzzle.with_rules(listed_board, rules)
        for number, line in enumerate(lines, 1):
            checked = puzzle.check(board, line)
            if not checked:
                size = puzzle.describe(listed_board)
                return right, f"{file}: solution {number} of the board ({size}) is wrong: {checked.error}"
            right += 1
            if not right % PROGRESS_INTERVAL:
                progress.show(number / len(lines), f"{right:,} solutions checked")
    return right, ""


@command.command("list", short_help="List the puzzles.")
@json_option
def list_puzzles(as_json: bool) -> None:
    """List all puzzles with a description.

    \b
    Exit status:
      0  listed
    """
    facts, text = list[Mapping[str, object]](), ""
    for name in plugins.names("puzzles"):
        puzzle = load_puzzle(name)
        text += f"{name:<16}{(getattr(puzzle, '__doc__', '') or puzzle.TITLE).splitlines()[0]}\n"
        functions = [each for each in ("hint", "generate", "precompute") if hasattr(puzzle, each)]
        fact = {"puzzle": name, "title": puzzle.TITLE, "solutions": list(puzzle.MODES), "functions": functions}
        facts.append(fact | {"boards": list(puzzle.BOARDS), "rules": list(puzzle.RULES)})
    show_result(facts, text, as_json=as_json)


@command.command("show", short_help="Draw one board.")
@board_options
@click.option("--svg", is_flag=True, help="As an SVG picture.")
@json_option
def show(request: PuzzleRequest, svg: bool, as_json: bool) -> None:
    """Draw one board as text, or as an SVG picture.

    \b
    Exit status:
      0  drawn
      2  unknown puzzle, board or rule, or invalid board
    """
    _refuse_json_picture(svg=svg, as_json=as_json)
    puzzle, board = request.load_board()
    if as_json:
        print_json(request.board_json(puzzle, board))
    else:
        click.echo(puzzle.render_svg(board) if svg else puzzle.render(board), nl=False)


@command.command("boards", short_help="List the known boards.")
@click.argument("name", metavar="PUZZLE")
@json_option
def list_boards(name: str, as_json: bool) -> None:
    """List the boards that PUZZLE knows by name.

    \b
    Exit status:
      0  listed
      2  unknown puzzle
    """
    puzzle = load_puzzle(name)
    sizes = {board: puzzle.describe(puzzle.parse(drawing, board)) for board, drawing in puzzle.BOARDS.items()}
    known = [{"name": board, "size": size, "board": puzzle.BOARDS[board]} for board, size in sizes.items()]
    wide = max(map(len, sizes)) + 2
    show_result(known, "".join(f"{board:<{wide}}{size}\n" for board, size in sizes.items()), as_json=as_json)


@command.command("rules", short_help="List the rules that can be changed.")
@click.argument("name", metavar="PUZZLE")
@json_option
def list_rules(name: str, as_json: bool) -> None:
    """List the rules of PUZZLE that can be changed with `--rule`, or with `rules:` of a job.

    \b
    Exit status:
      0  listed, or that there are none
      2  unknown puzzle
    """
    puzzle = load_puzzle(name)
    text = "" if puzzle.RULES else f"{puzzle.TITLE} has no rules that can be changed\n"
    for key, rule in puzzle.RULES.items():
        text += f"{key}: {rule.description}\n"
        text += f"  one of: {', '.join(rule.choices)}\n" if rule.choices else ""
        text += f"  default: {rule.default}\n" if rule.default else ""
    show_result([{"rule": key, **asdict(rule)} for key, rule in puzzle.RULES.items()], text, as_json=as_json)
