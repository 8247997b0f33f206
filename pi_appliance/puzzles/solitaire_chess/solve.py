"""Solve solitaire chess: list the solutions depth first or breadth first, and count them."""

from collections.abc import Iterator
from dataclasses import replace
from itertools import chain

from pi_appliance.puzzles import Answer, Proof, SolveMode, Table, kernel_mode, pluralize
from pi_appliance.puzzles.runtime import SearchRuntime
from pi_appliance.puzzles.solitaire_chess import kernel
from pi_appliance.puzzles.solitaire_chess.board import PIECE_NAMES, PIECES, Board, KingRule, SearchOrder, Solution
from pi_appliance.puzzles.solitaire_chess.search import LevelSearch, PathCounts, SolutionSearch, pack_position

MAX_COUNTED_POSITIONS = 400_000  # counted while solutions are listed depth first: at most 100 MB


def solve(board: Board, mode: SolveMode, runtime: SearchRuntime) -> Answer[Solution]:
    """Solve `board`; whether it has a solution is known on return. Raises Interrupted, Refused."""
    kings = list(board.pieces.values()).count("K")
    if board.king is KingRule.LAST and kings > 1:
        reason = f"there are {kings} kings, and none of them may be captured"
        return Answer(count=0, proof=Proof.CONTRADICTION, reason=reason, details=_make_details(board))
    position = pack_position(board)
    levels = LevelSearch(board, position, runtime)
    if mode is SolveMode.COUNT:
        return _count_solutions(board, levels)
    if board.search is SearchOrder.BREADTH:
        return _solve_breadth_first(board, levels, mode)
    depth_first = SolutionSearch(position, runtime)
    search = depth_first.search
    first = next(depth_first.solutions, None)
    if first is None:
        return _make_unsolvable(board, f"{pluralize(search.dead, 'position')}, depth first", search.nodes)
    result = Answer(
        solutions=chain([first], depth_first.solutions),
        nodes_searched=lambda: search.nodes,
        details=_make_details(board),
    )
    if mode is SolveMode.FIRST:
        return replace(result, solutions=iter([first]))
    last_level = levels.find_last_level(MAX_COUNTED_POSITIONS)
    if last_level is None:
        return result
    return replace(result, count=sum(last_level.values()), tables=_make_tables(levels, last_level))


def hint(board: Board, runtime: SearchRuntime) -> str:
    """Describe the next capture of a solution."""
    if len(board.pieces) == 1:
        return "it is solved"
    result = solve(board, SolveMode.FIRST, runtime)
    solution: Solution | None = next(result.solutions, None)
    if solution is None:
        return f"it cannot be solved: {result.reason}"
    start, end = solution[0]
    piece, captured = PIECE_NAMES[board.pieces[start]], PIECE_NAMES[board.pieces[end]]
    left = pluralize(len(solution) - 1, "capture")
    return f"capture the {captured} on {end} with the {piece} from {start}; then {left} more"


def _count_solutions(board: Board, levels: LevelSearch) -> Answer[Solution]:
    last_level = levels.find_last_level()
    assert last_level is not None, "there is no limit"
    if len(levels.sizes) <= levels.captures:
        return _make_unsolvable(board, pluralize(levels.positions, "position"), levels.nodes_searched, levels)
    return Answer(
        nodes_searched=lambda: levels.nodes_searched,
        count=sum(last_level.values()),
        details=_make_details(board),
        tables=_make_tables(levels, last_level),
    )


def _solve_breadth_first(board: Board, levels: LevelSearch, mode: SolveMode) -> Answer[Solution]:
    counts = levels.count_levels()
    if not counts[0]:
        return _make_unsolvable(board, pluralize(levels.positions, "position"), levels.nodes_searched, levels)
    solutions = _list_solutions(levels, counts)
    result = Answer(solutions=solutions, nodes_searched=lambda: levels.nodes_searched, details=_make_details(board))
    if mode is SolveMode.FIRST:
        return replace(result, solutions=iter([next(solutions)]))
    return replace(result, count=counts[0][levels.position.start], tables=[_make_size_table(levels)])


def _list_solutions(levels: LevelSearch, counts: list[PathCounts]) -> Iterator[Solution]:
    position = levels.position

    def list_from(key: bytes, number: int) -> Iterator[Solution]:
        if number == levels.captures:
            yield ()
            return
        for start, end, child in position.tables.children(key):
            if child in counts[number + 1]:
                for rest in list_from(child, number + 1):
                    yield (position.make_capture(start, end), *rest)

    return list_from(position.start, 0)


def _make_unsolvable(board: Board, searched: str, nodes: int, levels: LevelSearch | None = None) -> Answer[Solution]:
    reason = f"every position was searched, {searched}: none has a single piece"
    if levels:
        fewest = len(board.pieces) - len([size for size in levels.sizes[1:] if size])
        reason = f"every position was searched, {searched}: at best {fewest} pieces are left"
    return Answer(
        count=0,
        proof=Proof.EXHAUSTION,
        reason=reason,
        nodes_searched=lambda: nodes,
        details=_make_details(board),
        tables=[_make_size_table(levels)] if levels else [],
    )


def _make_tables(levels: LevelSearch, last_level: PathCounts) -> list[Table]:
    counts: dict[tuple[str, str], int] = {}
    for key, paths in last_level.items():
        index = next(number for number, piece in enumerate(key) if piece)
        end = PIECE_NAMES[PIECES[(key[index] & 7) - 1]], str(levels.position.squares[index])
        counts[end] = counts.get(end, 0) + paths
    rows = [(piece, square, paths) for (piece, square), paths in sorted(counts.items(), key=lambda item: -item[1])]
    return [
        _make_size_table(levels),
        Table("Solutions by the piece that is left", ("piece", "square", "solutions"), rows),
    ]


def _make_size_table(levels: LevelSearch) -> Table:
    return Table("Positions by number of captures", ("captures", "positions"), list(enumerate(levels.sizes)))


def _make_details(board: Board) -> dict[str, int | float | str]:
    return {"pieces": len(board.pieces), "kernel": kernel_mode(kernel)}
