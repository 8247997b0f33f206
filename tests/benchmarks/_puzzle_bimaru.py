"""Benchmark of Bimaru against a SAT solver: finding the solution of a puzzle, and that there is no other.

No solver of Bimaru was found in a package index. The peer has a variable for each place of a ship and each square.
Times are CPU times.
"""

import time
from collections.abc import Callable, Iterator, Sequence
from itertools import combinations

from pi_appliance.puzzles import battleship, bimaru
from pi_appliance.puzzles.battleship.count import find_placements
from pi_appliance.puzzles.battleship.fleet import Placement, Square
from pi_appliance.puzzles.bimaru.board import Board, Mark, draw_pieces

BOARDS = ("magazine", "eight", "stubborn", "hidden-totals", "several")
SEEDS = range(1, 11)


def rows() -> Iterator[tuple[str, str, str, str]]:
    """Yield the measure, our time, the time of the peer, and the ratio."""
    groups = {f"{name}, unique or not": [bimaru.parse(bimaru.BOARDS[name], name)] for name in BOARDS}
    groups[f"{len(SEEDS)} generated puzzles of 10x10"] = [bimaru.generate(seed).board for seed in SEEDS]
    for what, boards in groups.items():
        ours, verdicts = _measure(lambda boards=boards: [bimaru.is_unique(board) for board in boards])
        try:
            theirs, peer_verdicts = _measure(lambda boards=boards: [is_unique_by_sat(board) for board in boards])
        except ImportError:
            yield what, f"{1000 * ours / len(boards):.1f} ms each", "-", "-"
            continue
        assert verdicts == peer_verdicts, "both are right"
        yield (
            what,
            f"{1000 * ours / len(boards):.1f} ms each",
            f"python-sat {1000 * theirs / len(boards):.1f} ms",
            f"{theirs / ours:.1f}x",
        )
    start = time.process_time()
    for seed in SEEDS:
        bimaru.generate(seed)
    yield "a new puzzle of 10x10", f"{(time.process_time() - start) / len(SEEDS):.2f} s", "-", "-"


def is_unique_by_sat(board: Board) -> bool:
    """Return whether exactly one fleet fits the totals and the given squares."""
    from pysat.solvers import Cadical153  # noqa: PLC0415 - the peer may be missing

    places = _list_places(board)
    with Cadical153(bootstrap_with=_encode(board, places)) as solver:
        if not solver.solve():
            return False
        solver.add_clause([-ship for ship in range(1, len(places) + 1) if solver.get_model()[ship - 1] > 0])
        return not solver.solve()


def _encode(board: Board, places: Sequence[Placement]) -> list[list[int]]:
    """Return the clauses of a puzzle: variable n is the ship on place n, from 1; then come the squares."""
    from pysat.card import CardEnc  # noqa: PLC0415 - the peer may be missing

    ships = dict(enumerate(places, 1))
    squares = {
        Square(x, y): len(ships) + 1 + y * board.width + x for x in range(board.width) for y in range(board.height)
    }
    sums = [
        ([ship for ship, place in ships.items() if place.length == length], board.fleet.count(length))
        for length in set(board.fleet)
    ]
    sums += [([squares[Square(x, y)] for x in range(board.width)], total) for y, total in enumerate(board.row_totals)]
    sums += [
        ([squares[Square(x, y)] for y in range(board.height)], total) for x, total in enumerate(board.column_totals)
    ]
    clauses = [
        [-one, -two] for one, two in combinations(ships, 2) if ships[one].mask & (ships[two].mask | ships[two].halo)
    ]
    for square, occupied in squares.items():
        covering = [ship for ship, place in ships.items() if square in place.ship.squares]
        clauses += [[-occupied, *covering], *([-ship, occupied] for ship in covering)]
    top = len(ships) + len(squares)
    for literals, total in sums:
        if total is not None:
            encoded = CardEnc.equals(lits=literals, bound=total, top_id=top)
            top = max(top, encoded.nv)
            clauses += encoded.clauses
    for x, y in board.givens:
        clauses.append([-squares[Square(x, y)] if board.rows[y][x] == Mark.WATER else squares[Square(x, y)]])
    return clauses


def _list_places(board: Board) -> list[Placement]:
    """List the places of ships whose ends agree with the given pieces."""
    sea = battleship.parse("\n".join(["?" * board.width] * board.height), "sea")
    rules = {"fleet": ",".join(map(str, board.fleet)), "touching": "never"}
    return [
        place
        for place in find_placements(battleship.with_rules(sea, rules))
        if all(board.rows[y][x] in ("?", "X", piece) for (x, y), piece in draw_pieces(place.ship))
    ]


def _measure(work: Callable[[], object]) -> tuple[float, object]:
    start = time.process_time()
    result = work()
    return time.process_time() - start, result
