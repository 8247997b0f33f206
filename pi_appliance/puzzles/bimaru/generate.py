"""Generate Bimaru puzzles: a random fleet, its totals, and given squares until it is unique."""

import random
from collections.abc import Callable
from dataclasses import replace
from functools import partial

from pi_appliance.errors import Refused
from pi_appliance.puzzles import Details, GeneratedBoard
from pi_appliance.puzzles.battleship.board import Square
from pi_appliance.puzzles.bimaru import techniques
from pi_appliance.puzzles.bimaru.board import (
    BOARDS,
    UNKNOWN,
    WATER,
    Board,
    Solution,
    draw_pieces,
    format_fleet,
    new_shape,
    notate,
    order_fleet,
    set_mark,
)
from pi_appliance.puzzles.bimaru.parse import parse
from pi_appliance.puzzles.bimaru.position import Layout, Place
from pi_appliance.puzzles.bimaru.search import SearchLimitReached, find_two
from pi_appliance.puzzles.deductions import LEVELS
from pi_appliance.puzzles.runtime import SERIAL, SearchRuntime

MAX_TRIES = 100  # puzzles; one in a few has the level that is asked for
SEARCH_LIMIT = 3_000  # ships tried until another square is given: 0.2 s; a puzzle of 10x10 needs less than 100
MAX_FLEETS = 2_000  # random fleets; with enough room, one in a few succeeds


def generate(
    seed: int | str, board: Board | str = BOARDS["magazine"], runtime: SearchRuntime = SERIAL
) -> GeneratedBoard[Board]:
    """Generate a puzzle with one solution. Raises Interrupted, Refused.

    Its size and fleet are those of `board`, or of its rules for new puzzles. No given square is
    redundant: without it, the puzzle would have another solution, or be harder than its level. In
    large grids, where that takes too long to prove, some may be.
    """
    board = parse(board) if isinstance(board, str) else board
    rng = random.Random(seed)  # noqa: S311 - a game
    (width, height), fleet = new_shape(board)
    for attempt in range(1, MAX_TRIES + 1):

        def report(note: str, attempt: int = attempt) -> None:
            runtime.report_progress(None, f"puzzle {attempt}: {note}")

        solution = _place_fleet(width, height, fleet, rng, report)
        marks = _draw_solution(solution, width, height)
        puzzle = _hide_totals(_empty_board(solution, width, height), board.new_unknown_totals, rng)
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


def _place_fleet(
    width: int, height: int, fleet: tuple[int, ...], rng: random.Random, report: Callable[[str], None]
) -> Solution:
    empty = Board(
        rows=(UNKNOWN * width,) * height, row_totals=(None,) * height, column_totals=(None,) * width, fleet=fleet
    )
    places = Layout(empty).places
    for number in range(MAX_FLEETS):
        report(f"random fleet {number + 1}")
        placed: list[Place] = []
        occupied = blocked = 0
        for length in fleet:
            choices = [
                place
                for place in places
                if place.length == length and not place.mask & blocked and not place.halo & occupied
            ]
            if not choices:
                break
            placed.append(rng.choice(choices))
            occupied |= placed[-1].mask
            blocked |= placed[-1].mask | placed[-1].halo
        if len(placed) == len(fleet):
            return order_fleet(place.ship for place in placed)
    fleet_words = f"the fleet {format_fleet(fleet)} could not be placed in {width}x{height}"
    raise Refused(f"{fleet_words} in {MAX_FLEETS:,} tries; use a larger grid, or fewer or shorter ships")


def _draw_solution(solution: Solution, width: int, height: int) -> dict[Square, str]:
    marks = {Square(x, y): WATER for y in range(height) for x in range(width)}
    for ship in solution:
        marks.update(draw_pieces(ship))
    return marks


def _empty_board(solution: Solution, width: int, height: int) -> Board:
    squares = [square for ship in solution for square in ship.squares]
    return Board(
        rows=(UNKNOWN * width,) * height,
        row_totals=tuple(sum(square.y == y for square in squares) for y in range(height)),
        column_totals=tuple(sum(square.x == x for square in squares) for x in range(width)),
        fleet=tuple(len(ship.squares) for ship in solution),
    )


def _hide_totals(puzzle: Board, number: int, rng: random.Random) -> Board:
    hidden = set(rng.sample(range(puzzle.height + puzzle.width), number))
    rows = tuple(None if at in hidden else total for at, total in enumerate(puzzle.row_totals))
    columns = tuple(None if at in hidden else total for at, total in enumerate(puzzle.column_totals, puzzle.height))
    return replace(puzzle, row_totals=rows, column_totals=columns)


def _add_givens(puzzle: Board, marks: dict[Square, str], rng: random.Random, report: Callable[[str], None]) -> Board:
    """Show random squares in which two solutions differ, until there is one solution."""
    while True:
        try:
            found = find_two(puzzle, partial(report, "looking for another solution"), SEARCH_LIMIT)
        except SearchLimitReached:  # a ship square makes the search easier
            choices = {square for square in puzzle.find_marks(UNKNOWN) if marks[square] != WATER}
        else:
            if len(found) < 2:
                return puzzle
            one, other = ({square for ship in solution for square in ship.squares} for solution in found)
            choices = one ^ other
        square = rng.choice(sorted(choices))
        puzzle = set_mark(puzzle, square, marks[square])
        report(f"{len(puzzle.givens)} squares given")


def _make_easier(puzzle: Board, marks: dict[Square, str], level: str, runtime: SearchRuntime) -> Board:
    """Show a square wherever a person would need a technique above `level`."""
    if level not in LEVELS[:-1]:
        return puzzle
    while open_square := techniques.find_hard_square(puzzle, level, runtime):
        puzzle = set_mark(puzzle, open_square, marks[open_square])
    return puzzle


def _remove_givens(
    puzzle: Board, level: str, rng: random.Random, runtime: SearchRuntime, report: Callable[[str], None]
) -> Board:
    """Remove the given squares without which the puzzle keeps its one solution and its level."""
    givens = list(puzzle.givens)
    rng.shuffle(givens)
    for number, square in enumerate(givens, 1):
        report(f"{number} of {len(givens)} given squares examined")
        fewer = set_mark(puzzle, square, UNKNOWN)
        # A puzzle that needs no guess has one solution.
        if level in LEVELS[:-1]:
            is_accepted = techniques.find_hard_square(fewer, level, runtime) is None
        else:
            is_accepted = _is_surely_unique(fewer, report)
        puzzle = fewer if is_accepted else puzzle
    return puzzle


def _is_surely_unique(puzzle: Board, report: Callable[[str], None]) -> bool:
    try:
        return len(find_two(puzzle, partial(report, "looking for another solution"), SEARCH_LIMIT)) == 1
    except SearchLimitReached:
        return False
