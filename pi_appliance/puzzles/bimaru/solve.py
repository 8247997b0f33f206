"""Solve Bimaru puzzles, rate their difficulty, and generate them.

To generate a puzzle, a random fleet is placed, its totals are counted, and squares are given until
there is only one solution.
"""

from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from functools import partial
from itertools import chain, islice
from random import Random

from pi_appliance.errors import Refused
from pi_appliance.puzzles import (
    Answer,
    Details,
    Footprint,
    GeneratedBoard,
    SolveMode,
    check_mode,
    deductions,
    load_board,
    pluralize,
    solutions_of,
)
from pi_appliance.puzzles.battleship.fleet import Solution, Square, format_fleet, place_at_random
from pi_appliance.puzzles.bimaru import techniques
from pi_appliance.puzzles.bimaru.board import Board, Mark, draw_pieces, new_shape, notate, order_fleet, set_mark
from pi_appliance.puzzles.bimaru.render import draw_contradiction
from pi_appliance.puzzles.bimaru.search import FleetSearch, Layout, find_two
from pi_appliance.puzzles.runtime import SERIAL, SearchRuntime, partial_result

SEARCH_MEMORY = 10_000_000  # bytes at most, measured with 15x15 squares
AUTO_COUNT_LIMIT = 1_000  # solutions counted if no count was requested: half a second
MODES = (SolveMode.ALL, SolveMode.FIRST, SolveMode.COUNT)


def solve(board: Board | str, mode: SolveMode = SolveMode.ALL, runtime: SearchRuntime = SERIAL) -> Answer[Solution]:
    r"""Solve the board, and search for a second solution in any case. Raises Interrupted.

    >>> from pi_appliance.puzzles import bimaru
    >>> board = bimaru.parse("fleet: 2,1\n  2 0 1\n1 ? ? ?\n1 v ? ?\n1 ? ? ?")
    >>> answer = bimaru.solve(board)
    >>> answer.count, bimaru.notate(board, next(answer.solutions))
    (1, 'A1-A2 C3')
    """
    mode = check_mode("bimaru", MODES, mode)
    board = load_board(board, Board)
    search = FleetSearch(
        board, lambda: runtime.report_progress(None, f"{pluralize(search.nodes_searched, 'ship')} tried")
    )
    solutions = search.find_solutions()
    found = deductions.find_first_two(solutions)
    details: Details = {"givens": len(board.givens), "verdict": deductions.VERDICTS[len(found)]}
    answer: Answer[Solution] = Answer(nodes_searched=lambda: search.nodes_searched, details=details)
    if not found:
        grid = techniques.SolvingGrid(board)
        draw, tried = partial(draw_contradiction, grid), pluralize(search.nodes_searched, "ship")
        return deductions.prove_unsolvable(answer, techniques.iter_deductions(grid), draw, tried, runtime)
    if len(found) == 1:
        redundant = map(str, techniques.redundant_givens(board, runtime))
        rate = partial(techniques.rate_difficulty, board, runtime, found[0])
        answer = deductions.rate_unique(answer, "givens", redundant, rate)
    elif mode is not SolveMode.FIRST:
        answer = _count(answer, board, mode, runtime)
    return replace(answer, solutions=solutions_of(mode, chain(found, solutions)))


def _count(answer: Answer[Solution], board: Board, mode: SolveMode, runtime: SearchRuntime) -> Answer[Solution]:
    """Count the solutions with a search of its own, because another search lists them later."""
    limit = deductions.count_limit(mode, board.count_to, AUTO_COUNT_LIMIT)
    count, first = 0, answer.nodes_searched

    def describe() -> str:
        return f"{pluralize(count, 'solution')} counted, and there may be more"

    def tick() -> None:
        runtime.report_progress(None, f"{pluralize(search.nodes_searched, 'ship')} tried, {describe()}")

    search = FleetSearch(board, tick)
    with partial_result(describe):
        for _ in islice(search.find_solutions(), None if limit is None else limit + 1):
            count += 1
    answer = replace(answer, nodes_searched=lambda: max(first(), search.nodes_searched))
    if limit is None or count <= limit:
        return replace(answer, count=count)
    return replace(answer, details={**answer.details, "solutions_at_least": limit})


def foretell(_board: Board, _mode: SolveMode, _runtime: SearchRuntime = SERIAL) -> Footprint:
    """Predict the memory of a search: the memory of one path."""
    return Footprint(memory=SEARCH_MEMORY, saves=False)


MAX_TRIES = 100  # puzzles generated at most; one in a few has the requested level
SEARCH_LIMIT = 3_000  # ships tried before a square is given: 0.2 s; a 10x10 puzzle needs less than 100


def generate(
    seed: int | str, board: Board | str = "magazine", runtime: SearchRuntime = SERIAL
) -> GeneratedBoard[Board]:
    """Generate a puzzle with one solution. Raises Interrupted, Refused.

    Its size and fleet are those of `board`, or of its rules for new puzzles. No given square is
    redundant: without it, the puzzle would have another solution, or be harder than its level. In
    large grids, where that takes too long to prove, some may be.

    >>> from pi_appliance.puzzles import bimaru
    >>> bimaru.generate(7, "small").details["difficulty"]
    'hard'
    """
    board = load_board(board, Board)
    rng = Random(seed)  # noqa: S311 - a game
    (width, height), fleet = new_shape(board)
    places = Layout(_draw_open_board((), width, height, fleet)).places
    for attempt in range(1, MAX_TRIES + 1):

        def report(note: str, attempt: int = attempt) -> None:
            runtime.report_progress(None, f"puzzle {attempt}: {note}")

        solution = order_fleet(place.ship for place in place_at_random(fleet, places, rng, report))
        marks = {square: piece for ship in solution for square, piece in draw_pieces(ship)}
        puzzle = _hide_totals(_draw_open_board(marks, width, height, fleet), board.new_unknown_totals, rng)
        puzzle = _add_givens(puzzle, marks, rng, report)
        puzzle = _make_easier(puzzle, marks, board.difficulty, runtime)
        puzzle = _remove_givens(puzzle, board.difficulty, rng, runtime, report)
        rating = techniques.rate_difficulty(puzzle, runtime, solution)
        if board.difficulty in ("", rating.level):
            details: Details = {
                "givens": len(puzzle.givens),
                "difficulty": rating.level,
                "hardest_step": rating.technique,
                "tries": attempt,
                "solution": notate(puzzle, solution),
            }
            return GeneratedBoard(replace(puzzle, count_to=board.count_to), details)
    wanted = f"{board.difficulty} puzzle of {width}x{height} with {format_fleet(fleet)}"
    raise Refused(f"no {wanted} was found in {MAX_TRIES} tries; ask for another level, size, fleet or seed")


def _draw_open_board(squares: Collection[Square], width: int, height: int, fleet: tuple[int, ...]) -> Board:
    """Return a board without given squares whose totals count `squares`."""
    return Board(
        rows=(Mark.UNKNOWN * width,) * height,
        row_totals=tuple(sum(square.y == y for square in squares) for y in range(height)),
        column_totals=tuple(sum(square.x == x for square in squares) for x in range(width)),
        fleet=fleet,
    )


def _hide_totals(puzzle: Board, number: int, rng: Random) -> Board:
    hidden = set(rng.sample(range(puzzle.height + puzzle.width), number))
    rows = tuple(None if at in hidden else total for at, total in enumerate(puzzle.row_totals))
    columns = tuple(None if at in hidden else total for at, total in enumerate(puzzle.column_totals, puzzle.height))
    return replace(puzzle, row_totals=rows, column_totals=columns)


def _add_givens(puzzle: Board, marks: Mapping[Square, str], rng: Random, report: Callable[[str], None]) -> Board:
    """Give random squares in which two solutions differ, until there is only one solution."""
    while True:
        try:
            found = find_two(puzzle, partial(report, "looking for another solution"), SEARCH_LIMIT)
        except deductions.SearchLimitReached:  # giving a ship square makes the search easier
            choices = {square for square in puzzle.find_marks(Mark.UNKNOWN) if square in marks}
        else:
            if len(found) < 2:
                return puzzle
            one, other = ({square for ship in solution for square in ship.squares} for solution in found)
            choices = one ^ other
        square = rng.choice(sorted(choices))
        puzzle = set_mark(puzzle, square, marks.get(square, Mark.WATER))
        report(f"{len(puzzle.givens)} squares given")


def _make_easier(puzzle: Board, marks: Mapping[Square, str], level: str, runtime: SearchRuntime) -> Board:
    """Show a square wherever a person would need a technique above `level`."""
    if level not in deductions.LEVELS[:-1]:
        return puzzle
    while open_square := techniques.find_hard_square(puzzle, level, runtime):
        puzzle = set_mark(puzzle, open_square, marks.get(open_square, Mark.WATER))
    return puzzle


def _remove_givens(
    puzzle: Board, level: str, rng: Random, runtime: SearchRuntime, report: Callable[[str], None]
) -> Board:
    """Remove the given squares that the puzzle does not need for its one solution and its level."""
    givens = list(puzzle.givens)
    rng.shuffle(givens)
    for number, square in enumerate(givens, 1):
        report(f"{number} of {len(givens)} given squares examined")
        fewer = set_mark(puzzle, square, Mark.UNKNOWN)
        # A puzzle that needs no guess has only one solution.
        if level in deductions.LEVELS[:-1]:
            is_accepted = techniques.find_hard_square(fewer, level, runtime) is None
        else:
            is_accepted = _is_surely_unique(fewer, report)
        puzzle = fewer if is_accepted else puzzle
    return puzzle


def _is_surely_unique(puzzle: Board, report: Callable[[str], None]) -> bool:
    try:
        return len(find_two(puzzle, partial(report, "looking for another solution"), SEARCH_LIMIT)) == 1
    except deductions.SearchLimitReached:
        return False
