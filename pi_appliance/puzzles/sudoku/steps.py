"""The steps by which a person solves a sudoku, as pictures, and the next one in words."""

from collections.abc import Iterator

from pi_appliance.puzzles import Step
from pi_appliance.puzzles.runtime.interface import SearchRuntime
from pi_appliance.puzzles.sudoku import judge
from pi_appliance.puzzles.sudoku.board import EMPTY, SYMBOLS, Board, Solution, shape
from pi_appliance.puzzles.sudoku.human import CONTRADICTION, CandidateGrid, Move, walk
from pi_appliance.puzzles.sudoku.svg import CellStyle, picture


def steps(board: Board, line: Solution) -> Iterator[Step]:
    """Yield the pictures that lead from the clues to LINE; where no simple technique helps, a step is named a guess."""
    grid, size = board.grids[line.grid - 1], board.size
    yield Step("The clues", picture(grid, size, "The clues"))
    paper = CandidateGrid(grid, size)
    found = list(grid)
    moves = walk(paper, line.digits)
    while True:
        # A move is done on the paper when the next one is asked for, so this is the paper before it.
        move = next(moves, None)
        if move is None or move.technique == CONTRADICTION:
            return
        caption = _caption(move)
        if move.settled is not None:
            found[move.settled] = SYMBOLS[move.digits.bit_length() - 1]
        yield Step(caption, picture(grid, size, caption, _look(paper, move, "".join(found))))


def hint(board: Board, runtime: SearchRuntime) -> str:
    """Return the next step in words: of the first grid, if there are many."""
    grid, size = board.grids[0], board.size
    runtime.report_progress(None, "looking for the next step")
    if wrong := judge.clash(grid, size):
        return f"there is no solution: {wrong.words}"
    move = next(walk(CandidateGrid(grid, size)), None)
    if move is None:
        return "the grid is full"
    return f"there is no solution: {move.words}" if move.technique == CONTRADICTION else _caption(move)


def contradiction(grid: str, move: Move, paper: CandidateGrid) -> str:
    """Draw what contradicts itself in GRID: MOVE says what, and PAPER how far it came until then."""
    found = "".join(
        EMPTY if at in paper.open or not candidates else SYMBOLS[candidates.bit_length() - 1]
        for at, candidates in enumerate(paper.candidates)
    )
    return picture(grid, paper.shape.size, move.words, _look(paper, move, found))


def _caption(move: Move) -> str:
    """Return MOVE in words; a guess says by itself that it is one."""
    return move.words if move.technique == "guess" else f"{move.technique}: {move.words}"


def _look(paper: CandidateGrid, move: Move, found: str) -> CellStyle:
    units = shape(paper.shape.size).units
    return CellStyle(
        found=found,
        candidates=paper.candidates,
        new=move.settled,
        guess=move.technique == "guess",
        units=frozenset(at for number in move.units for at in units[number].squares),
        why=frozenset(move.squares),
        crossed={at: lost for at in move.crossed if (lost := paper.lost(move, at))},
    )
