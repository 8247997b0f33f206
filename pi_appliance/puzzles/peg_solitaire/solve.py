"""Solve peg solitaire: find, enumerate or count solutions, or find the shortest.

The parity rule is checked first. `search.py` then finds solutions, `count.py` counts them, and
`fewest.py` finds the shortest.
"""

from collections.abc import Iterator
from dataclasses import replace

from pi_appliance.errors import Refused
from pi_appliance.puzzles import (
    Answer,
    Details,
    Footprint,
    Proof,
    SolveMode,
    Table,
    check_mode,
    kernel_mode,
    load_board,
)
from pi_appliance.puzzles.peg_solitaire import kernel
from pi_appliance.puzzles.peg_solitaire.bitboard import Bitboard, find_parity_obstacle, to_bitboard
from pi_appliance.puzzles.peg_solitaire.board import Board, Solution
from pi_appliance.puzzles.peg_solitaire.count import (
    CLASS_MEMORY,
    CountResult,
    SolutionCounter,
    count_placements,
    foretell_memory,
)
from pi_appliance.puzzles.peg_solitaire.fewest import POSITION_SHARE, MinMoveSearch
from pi_appliance.puzzles.peg_solitaire.search import DEAD_POSITION_BYTES, DETAILS, MAX_REMEMBERED, SolutionSearch
from pi_appliance.puzzles.runtime import SERIAL, SearchRuntime

BUDGET = 20_000_000 if kernel_mode(kernel) == "compiled" else 200_000
"""Positions to count at most where solutions are listed, and the count is optional."""
MODES = (SolveMode.FIRST, SolveMode.ALL, SolveMode.COUNT, SolveMode.FEWEST)


def solve(board: Board | str, mode: SolveMode = SolveMode.FIRST, runtime: SearchRuntime = SERIAL) -> Answer[Solution]:
    """Solve the board. Raises Interrupted, and Refused if memory is too small.

    Parity, depth-first search and counts by level (see docs/puzzles/peg-solitaire.md).

    >>> from pi_appliance.puzzles import SolveMode, peg_solitaire
    >>> next(peg_solitaire.solve("XXO").solutions)
    (Jump(start=Hole(x=0, y=0), end=Hole(x=2, y=0)),)
    >>> peg_solitaire.solve(peg_solitaire.BOARDS["plus"], SolveMode.COUNT).count
    32
    """
    mode = check_mode("peg solitaire", MODES, mode)
    board = load_board(board, Board)
    if reason := find_parity_obstacle(board):
        return Answer(count=0, proof=Proof.PARITY, reason=reason, details=DETAILS)
    search = SolutionSearch(board, runtime)
    match mode:
        case SolveMode.COUNT:
            return _count_solutions(search.field, runtime, float("inf"))
        case SolveMode.ALL:
            return _solve_all(search, runtime)
    first = search.first()
    if len(board.pegs) == 1 and not first.proof:
        first = replace(first, count=1)  # it is solved already: no jump is possible
    return first if mode is SolveMode.FIRST or first.proof else _solve_fewest_moves(search.field, runtime)


def foretell(board: Board, mode: SolveMode, runtime: SearchRuntime = SERIAL) -> Footprint:
    """Predict the memory. A count of its first levels takes seconds. Raises Interrupted."""
    field = to_bitboard(board)
    dead = DEAD_POSITION_BYTES * min(2 * MAX_REMEMBERED, count_placements(field))
    if mode is SolveMode.FIRST or find_parity_obstacle(board):
        return Footprint(memory=dead, saves=False)
    if mode is SolveMode.FEWEST:
        return Footprint(memory=round(POSITION_SHARE * count_placements(field)), is_open=True, is_parallel=True)
    memory = foretell_memory(field, runtime)
    if mode is SolveMode.ALL:
        try:
            runtime.require_memory(memory, "this count")
        except Refused:  # the solutions are listed without their number
            memory = 0
        # A count stops after `BUDGET` positions, and its last level has less than half of them.
        memory = max(min(memory, CLASS_MEMORY * BUDGET // 2), dead)
    return Footprint(memory=memory, is_open=board.all_positions, is_parallel=True)


def hint(board: Board | str, runtime: SearchRuntime = SERIAL) -> str:
    """Return the next jump of a solution in words, or why there is none. Raises Interrupted.

    >>> from pi_appliance.puzzles import peg_solitaire
    >>> peg_solitaire.hint("cross")
    'the peg at 3,2 jumps to 5,2'
    """
    answer = solve(board, SolveMode.FIRST, runtime)
    line = next(answer.solutions, None)
    if line is None:
        return answer.reason
    return f"the peg at {line[0].start} jumps to {line[0].end}" if line else "only one peg is left: it is solved"


def _solve_all(search: SolutionSearch, runtime: SearchRuntime) -> Answer[Solution]:
    try:
        counted = _count_solutions(search.field, runtime, BUDGET)
    except Refused as error:
        answer = search.first()
        reason = f"not counted along with the solutions: {error}; count them separately"
        return answer if answer.proof else replace(answer, details={**answer.details, "count": reason})
    if counted.proof:
        return counted
    search.spent += counted.nodes_searched()
    return replace(search.first(), count=counted.count, details=counted.details, tables=counted.tables)


def _solve_fewest_moves(field: Bitboard, runtime: SearchRuntime) -> Answer[Solution]:
    search = MinMoveSearch(field, runtime)
    moves = search.run()
    return Answer(
        solutions=search.solutions(),
        nodes_searched=lambda: search.tried,
        count=search.count(),
        details={**DETAILS, "moves": moves, "positions": search.classes_seen},
    )


def _count_solutions(field: Bitboard, runtime: SearchRuntime, most: float) -> Answer[Solution]:
    counted = SolutionCounter(field, runtime, most=most).run()
    details: Details = {**DETAILS, "positions": counted.classes}
    if counted.all_positions:
        details |= {
            "positions": sum(row[1] for row in counted.rows),
            "positions_up_to_symmetry": counted.classes,
            "jumps_of_all_games": sum(row[2] for row in counted.rows[1:]),
            "games": counted.games,
            "fewest_pegs": counted.fewest,
        }
    reason = f"all positions were searched ({details['positions']:,}): "
    if not counted.all_positions:
        reason += f"none leads to a single peg{f' at {field.board.goal}' if field.board.goal else ''}"
    elif counted.fewest > 1:
        reason += f"at best {counted.fewest} pegs are left"
    else:
        reason += f"the last peg never stands at {field.board.goal}"
    return Answer(
        nodes_searched=lambda: counted.tried,
        count=counted.count,
        proof=None if counted.count else Proof.EXHAUSTION,
        reason="" if counted.count else reason,
        details=details,
        tables=list(_count_tables(counted)),
    )


def _count_tables(counted: CountResult) -> Iterator[Table]:
    if counted.all_positions:
        headers = ("jumps", "up to symmetry", "without symmetry", "ways")
        yield Table("Reachable positions", headers, [(level, *row) for level, row in enumerate(counted.rows)])
    visited = {"Positions visited": counted.rows, "Positions visited backwards from the end": counted.back}
    for title, rows in visited.items():
        if rows and not counted.all_positions:
            needed = [(level, row[0], row[2]) for level, row in enumerate(rows)]
            yield Table(title, ("jumps", "up to symmetry", "ways"), needed)
    if counted.ends:
        ends = [(" or ".join(map(str, holes)), number) for holes, number in counted.ends.items()]
        yield Table("Final hole", ("hole", "solutions"), ends)
