"""Makes new sudokus: a full grid by chance, from which clues are taken away as long as there is one solution."""

import random
from collections.abc import Callable
from dataclasses import replace

from pi_appliance.errors import Refused
from pi_appliance.puzzles import GeneratedBoard, pluralize
from pi_appliance.puzzles.runtime.interface import SearchRuntime
from pi_appliance.puzzles.runtime.serial import SerialRuntime
from pi_appliance.puzzles.sudoku import judge
from pi_appliance.puzzles.sudoku.bands import Bands
from pi_appliance.puzzles.sudoku.board import BOXES, EMPTY, LEVELS, SYMBOLS, Board
from pi_appliance.puzzles.sudoku.sat import Sat, TooHard

TRIES = 300  # full grids: one in twenty of 9x9 comes down to 22 clues, one in four needs a guess
LARGE, TRIES_OF_LARGE = 20, 10  # of such a size and more, a full grid takes seconds
FEWEST = 17  # clues: no 9x9 grid with fewer has only one solution (McGuire and others, 2012)

_Keeps = Callable[[str], bool]
"""Whether a grid is still as it should be, after a clue was taken away."""


def generate(seed: int | str, board: Board, runtime: SearchRuntime) -> GeneratedBoard:
    """Return a new grid of the size of BOARD with one solution, as difficult and with as many clues as its rules say.

    Without rules no clue is left that is not needed, except of the largest sizes, where nobody can know that soon. The
    same SEED makes the same. Raises Interrupted, and Refused if there is none such, or if it is too rare.
    """
    if board.size == 9 and board.clues is not None and board.clues < FEWEST:
        raise Refused(f"no sudoku of {board.clues} clues has only one solution; ask for {FEWEST} or more")
    chance = random.Random(seed)  # noqa: S311 - a game
    tries = TRIES if board.size < LARGE else TRIES_OF_LARGE
    for tried in range(1, tries + 1):
        solution = _full(board.size, chance)
        grid = _dug(board, solution, chance, runtime, tried)
        many = len(grid) - grid.count(EMPTY)
        if board.clues is not None and many != board.clues:
            continue
        hard = judge.difficulty(grid, board.size, runtime, solution)
        if board.difficulty in ("", hard.level):
            facts: dict[str, int | float | str] = {
                "clues": many,
                "difficulty": hard.level,
                "hardest_step": hard.technique,
                "minimal": _minimal(grid, board.size, solution, runtime),
                "tries": tried,
                "solution": solution,
            }
            return GeneratedBoard(replace(board, grids=(grid,), known=()), facts)
    raise Refused(f"{_wished(board)} did not come in {tries} tries; ask for another level, more clues or another seed")


def _minimal(grid: str, size: int, solution: str, runtime: SearchRuntime) -> str:
    try:
        return "no" if any(True for _ in judge.redundant_clues(grid, size, solution, runtime)) else "yes"
    except TooHard:
        return "not known"


def _wished(board: Board) -> str:
    level = f"{board.difficulty} " if board.difficulty else ""
    return f"a {level}grid" + (f" of {pluralize(board.clues, 'clue')}" if board.clues is not None else "")


def _full(size: int, chance: random.Random) -> str:
    """Return a full grid: three boxes of 9x9 by chance and the rest solved; else a pattern, shuffled."""
    if size != 9:
        return _shuffled(size, chance)
    marks = [EMPTY] * 81
    for corner in (0, 30, 60):
        digits = chance.sample(SYMBOLS[:9], 9)
        for number, digit in enumerate(digits):
            marks[corner + number // 3 * 9 + number % 3] = digit
    # One more, so that the next square is not always what the search tries first.
    marks[3] = chance.choice(sorted({*marks[9:12], *marks[18:21]} - {marks[30], marks[39], marks[48]} or {marks[9]}))
    return next(Bands("".join(marks), SerialRuntime()).solutions(), "") or _full(size, chance)


def _shuffled(size: int, chance: random.Random) -> str:
    """Return the grid in which each row is the one above it moved on, with rows, columns and symbols shuffled."""
    wide, high = BOXES[size]
    rows, columns = _order(size, high, chance), _order(size, wide, chance)
    symbols = chance.sample(SYMBOLS[:size], size)
    return "".join(symbols[(row % high * wide + row // high + column) % size] for row in rows for column in columns)


def _order(size: int, step: int, chance: random.Random) -> list[int]:
    """Return the numbers below SIZE, shuffled such that each STEP of them stay together."""
    groups = chance.sample(range(size // step), size // step)
    return [group * step + at for group in groups for at in chance.sample(range(step), step)]


def _dug(board: Board, solution: str, chance: random.Random, runtime: SearchRuntime, tried: int) -> str:
    """Return SOLUTION with clues taken away, one after the other in an order by chance, as long as it may be."""
    keeps = _keeps(board, solution, runtime)
    grid = solution
    order = list(range(len(solution)))
    chance.shuffle(order)
    for done, at in enumerate(order):
        if board.clues is not None and len(grid) - grid.count(EMPTY) <= board.clues:
            break
        runtime.report_progress(None, f"grid {tried}: {done} of {len(order)} clues looked at")
        without = grid[:at] + EMPTY + grid[at + 1 :]
        if keeps(without):
            grid = without
    return grid


def _keeps(board: Board, solution: str, runtime: SearchRuntime) -> _Keeps:
    """Return what says whether a grid is still unique, and not harder than wished."""
    if board.difficulty in LEVELS[:-1]:
        # What needs no guess is unique by that.
        allowed = LEVELS[: LEVELS.index(board.difficulty) + 1]
        return lambda grid: judge.difficulty(grid, board.size, runtime).level in allowed
    if board.size == 9:
        return lambda grid: judge.unique(grid, runtime)
    sat = Sat(EMPTY * len(solution), board.size, runtime)
    sat.forbid(solution)

    def unique(grid: str) -> bool:
        try:
            return sat.solve(((at, mark) for at, mark in enumerate(grid) if mark != EMPTY), judge.EFFORT) is None
        except TooHard:  # so the clue stays
            return False

    return unique
