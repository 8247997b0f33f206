"""Solve Panguru: the fewest moves, all shortest solutions, difficulty of random boards.

IDA* finds the fewest moves; shortest solutions are counted from the end by level: see ADR 0051.
"""

from array import array
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from statistics import median

from pi_appliance.puzzles import (
    Answer,
    Footprint,
    Proof,
    SolveMode,
    Table,
    check_mode,
    kernel_mode,
    load_board,
    pluralize,
    solutions_of,
)
from pi_appliance.puzzles.panguru import kernel
from pi_appliance.puzzles.panguru.board import HOME, Board, Solution, reachable_places
from pi_appliance.puzzles.panguru.solvable import explain_unsolvable, find_paths, shuffle_board
from pi_appliance.puzzles.runtime import SERIAL, Checkpoint, Interrupted, SearchRuntime, spans, walk_levels

UNREACHABLE = 255  # a cost that is greater than any solution


@dataclass(frozen=True, slots=True)
class PackedBoard:
    """A board in the form that the kernel uses."""

    table_arguments: tuple["array[int]", "array[int]", "array[int]", int]  # the arguments of `kernel.MoveTables`
    start: int
    goal: int
    reachable: tuple[tuple[int, ...], ...]  # for each place, the places one move away


def pack_board(board: Board) -> PackedBoard:
    """Convert `board` to the form that the kernel uses."""
    reachable = reachable_places(board)
    starts, ends = array("I", [0]), array("B")
    for neighbours in reachable:
        ends.extend(neighbours)
        starts.append(len(ends))
    colours = {colour: number for number, colour in enumerate(sorted(set(board.plates) - {HOME}), 1)}
    places, size = range(len(board.plates)), 1 << len(board.plates)
    paths = [find_paths(reachable, start) for start in places]
    distances = [[len(path[end]) - 1 if end in path else UNREACHABLE for end in places] for path in paths]
    costs = array("B", bytes(size * (len(colours) + 2)))
    for colour, number in colours.items():
        plates = [place for place, plate in enumerate(board.plates) if plate == colour]
        for mask, cost in _pairing_costs(plates, distances).items():
            costs[number * size + mask] = min(cost, UNREACHABLE)
    return PackedBoard(
        (starts, ends, costs, len(colours)),
        _pack_position(board.pebbles, colours),
        _pack_position(board.plates, colours),
        reachable,
    )


def _pack_position(row: str, colours: dict[str, int]) -> int:
    return sum(colours.get(colour, 0) << 4 * place for place, colour in enumerate(row))


def _pairing_costs(plates: Sequence[int], distances: Sequence[Sequence[int]]) -> dict[int, int]:
    """Return the cost of the cheapest pairing with `plates`, for each mask of as many pebbles."""
    cheapest = {0: 0}
    for plate in plates:
        extended: dict[int, int] = {}
        for mask, cost in cheapest.items():
            for pebble, row in enumerate(distances):
                new_mask = mask | 1 << pebble
                if new_mask != mask and cost + row[plate] < extended.get(new_mask, UNREACHABLE * UNREACHABLE):
                    extended[new_mask] = cost + row[plate]
        cheapest = extended
    return cheapest


MOVES_PER_CALL = 20_000  # moves per kernel call: 0.1 s on a slow Pi in plain Python
POSITIONS_PER_CALL = 500  # positions per kernel call: as long
MIN_TABLE_SIZE, MAX_TABLE_SIZE = 1 << 12, 1 << 20  # entries of the transposition table
ENTRY_BYTES = 12
BOARDS_PER_CALL = 20  # boards per kernel call of a difficulty table: 0.01 s compiled, 0.2 s plain
CHECKED_POSITIONS = 300_000  # positions in all levels above which memory is checked
POSITION_BYTES = 110

_PathCounts = dict[int, int]


MODES = (SolveMode.FEWEST, SolveMode.FIRST, SolveMode.COUNT)


def solve(board: Board | str, mode: SolveMode = SolveMode.FEWEST, runtime: SearchRuntime = SERIAL) -> Answer[Solution]:
    """Solve `board`. The fewest moves are known when this returns. Raises Interrupted, Refused.

    Iterative deepening (IDA*) with pairing distances (see docs/puzzles/panguru.md).

    >>> from pi_appliance.puzzles import panguru
    >>> answer = panguru.solve(panguru.BOARDS["original"])
    >>> answer.count, answer.details["moves"]
    (12, 16)
    """
    mode = check_mode("Panguru", MODES, mode)
    board = load_board(board, Board)
    result = _solve_board(board, mode, runtime)
    if not board.random_boards:
        return result
    try:
        table = difficulty(board, range(board.random_boards), runtime)
    except Interrupted as error:
        proven = result.reason or f"it takes {pluralize(int(result.details['moves']), 'move')}"
        error.partial_result = f"{proven}; {error.partial_result}"
        raise
    return replace(result, tables=[*result.tables, table])


def _solve_board(board: Board, mode: SolveMode, runtime: SearchRuntime) -> Answer[Solution]:
    if reason := explain_unsolvable(board):
        return Answer(count=0, proof=Proof.PARITY, reason=reason, details={"kernel": kernel_mode(kernel)})
    search = ShortestPathSearch(board, runtime)
    first = search.find_first()
    answer: Answer[Solution] = Answer(
        solutions=iter([first]),
        nodes_searched=lambda: search.nodes_searched,
        details={"moves": search.length, "kernel": kernel_mode(kernel)},
    )
    if mode is SolveMode.FIRST:
        return answer
    levels = search.count_levels()
    solutions = solutions_of(mode, search.list_solutions(levels))
    table = search.count_first_moves(levels)
    return replace(answer, solutions=solutions, count=levels[0][search.packed.start], tables=[table])


def foretell(board: Board, mode: SolveMode, runtime: SearchRuntime = SERIAL) -> Footprint:
    """Foretell the transposition table, and the positions on solutions up to the first check."""
    positions = 0 if mode is SolveMode.FIRST else POSITION_BYTES * CHECKED_POSITIONS // 10
    searches = runtime.cores if board.random_boards else 1
    memory = searches * (ENTRY_BYTES * MAX_TABLE_SIZE + positions)
    return Footprint(memory=memory, is_open=mode is not SolveMode.FIRST, is_parallel=searches > 1)


def hint(board: Board | str, runtime: SearchRuntime = SERIAL) -> str:
    """Describe the next move of a shortest solution.

    >>> from pi_appliance.puzzles import panguru
    >>> panguru.hint("small")
    'move the pebble G from 1 to 4; then 10 moves are left'
    """
    board = load_board(board, Board)
    if reason := explain_unsolvable(board):
        return f"no moves solve this board: {reason}"
    solution = ShortestPathSearch(board, runtime).find_first()
    if not solution:
        return "it is solved"
    rest = f"{pluralize(len(solution) - 1, 'move')} {'is' if len(solution) == 2 else 'are'} left"
    return f"move the pebble {board.pebbles[solution[0]]} from {solution[0]} to {board.hole}; then {rest}"


def difficulty(board: Board | str, seeds: Sequence[int], runtime: SearchRuntime = SERIAL) -> Table:
    """Solve a random board like `board` for each of `seeds`.

    The table says how many boards need how many moves.
    """
    board = load_board(board, Board)

    def solve_batch(batch: Sequence[int]) -> list[tuple[int, int, int]]:
        return [_solve_random(seed, board, runtime) for seed in batch]

    batches = [seeds[at : at + BOARDS_PER_CALL] for at in range(0, len(seeds), BOARDS_PER_CALL)]
    by_moves: dict[int, list[tuple[int, int]]] = {}
    done = 0
    try:
        for results in runtime.executor.map(solve_batch, batches):
            for seed, moves, count in results:
                by_moves.setdefault(moves, []).append((count, seed))
            done += len(results)
            runtime.report_progress(done / len(seeds), f"{pluralize(done, 'random board')} solved")
    except Interrupted as error:  # its partial result is about one board only
        most = f", none of which takes more than {pluralize(max(by_moves), 'move')}" if by_moves else ""
        error.partial_result = f"{done:,} of {pluralize(len(seeds), 'random board')} solved{most}"
        raise
    rows = [
        (moves, len(boards), median(count for count, _ in boards), max(boards)[0], min(seed for _, seed in boards))
        for moves, boards in sorted(by_moves.items())
    ]
    headers = ("fewest moves", "boards", "optimal lists, median", "optimal lists, most", "first seed")
    return Table(f"Difficulty of {pluralize(len(seeds), 'random board')}", headers, rows)


def _solve_random(seed: int, board: Board, runtime: SearchRuntime) -> tuple[int, int, int]:
    search = ShortestPathSearch(shuffle_board(seed, board), runtime.detach())
    moves = len(search.find_first())
    return seed, moves, search.count_levels()[0][search.packed.start]


class ShortestPathSearch:
    """A search for the shortest solutions of a solvable board."""

    def __init__(self, board: Board, runtime: SearchRuntime, *, checked_positions: int = CHECKED_POSITIONS) -> None:
        self.packed: PackedBoard = pack_board(board)
        self.runtime, self.checked_positions = runtime, checked_positions
        self.nodes_searched = self.length = 0
        self.tables = kernel.MoveTables(*self.packed.table_arguments)
        self.checkpoint = Checkpoint(runtime, "panguru/bound", (board.plates, board.pebbles, board.move_lines))

    def find_first(self) -> Solution:
        """Find one shortest solution. Raises Interrupted with the proven lower bound."""
        self.tables.unpack(self.packed.start)
        saved = self.checkpoint.load()
        saved_bound = saved.values["bound"] if saved else 0
        bound = max(self.tables.heuristic(), saved_bound)
        table_size = MAX_TABLE_SIZE if saved_bound else MIN_TABLE_SIZE
        with self.checkpoint.guard(
            lambda: ({"bound": bound}, ()), lambda: f"it takes {pluralize(bound, 'move')} or more"
        ):
            while True:
                ida_round = kernel.IdaRound(self.tables, self.packed.start, bound, table_size)
                if self._run_round(ida_round) == kernel.FOUND:
                    break
                self._report(self.nodes_searched, bound)  # a short round does not report progress itself
                while table_size < min(ida_round.nodes, MAX_TABLE_SIZE):
                    table_size *= 2
                bound = ida_round.next_bound
        self.length = bound
        return tuple(ida_round.hole_path()[1:])

    def _run_round(self, ida_round: kernel.IdaRound) -> int:
        before = self.nodes_searched
        while (outcome := ida_round.run(MOVES_PER_CALL)) == kernel.BUDGET_SPENT:
            self._report(before + ida_round.nodes, ida_round.bound)
        self.nodes_searched = before + ida_round.nodes
        return outcome

    def _report(self, nodes: int, bound: int) -> None:
        self.runtime.report_progress(None, f"{pluralize(nodes, 'move')} tried; it takes {bound} or more")

    def count_levels(self) -> list[_PathCounts]:
        """Return the positions on shortest solutions for each depth, with their number of paths."""
        levels, counts = [array("Q", [self.packed.start])], [{self.packed.goal: 1}]
        known = f"it takes {pluralize(self.length, 'move')}; the solutions are not counted"
        with self.checkpoint.guard(lambda: ({"bound": self.length}, ()), lambda: known):
            for moves_left in range(self.length - 1, -1, -1):
                levels.append(self._expand_level(levels[-1], moves_left))
                # The next level may be twice as large as the last; large levels hardly grow.
                positions = sum(map(len, levels)) + 2 * len(levels[-1])
                if positions > self.checked_positions:
                    purpose = f"the positions on solutions of {self.length} moves"
                    self.runtime.require_memory(POSITION_BYTES * positions, purpose)
            for level in levels[-2::-1]:
                counts.append(self._count_level(level, counts[-1]))
        return counts[::-1]

    def _expand_level(self, level: "array[int]", moves_left: int) -> "array[int]":
        next_level: set[int] = set()
        for first, last in spans(len(level), POSITIONS_PER_CALL):
            self.tables.expand(level, first, last, moves_left, next_level)
            note = f"{pluralize(len(next_level), 'position')} on solutions of {self.length} moves"
            self.runtime.report_progress(None, note)
        return array("Q", next_level)

    def _count_level(self, level: "array[int]", next_counts: _PathCounts) -> _PathCounts:
        counts: _PathCounts = {}
        for first, last in spans(len(level), POSITIONS_PER_CALL):
            self.tables.count_paths(level, first, last, next_counts, counts)
            self.runtime.report_progress(None, f"counting the solutions of {self.length} moves")
        return counts

    def list_solutions(self, levels: Sequence[_PathCounts]) -> Iterator[Solution]:
        """Yield every shortest solution that passes through `levels`, sorted by its moves."""
        return walk_levels(self.packed.start, levels[1:], self._list_moves)

    def _list_moves(self, key: int) -> Iterator[tuple[int, int]]:
        hole = next(place for place in range(len(self.packed.reachable)) if not key >> 4 * place & 15)
        for start in self.packed.reachable[hole]:
            colour = key >> 4 * start & 15
            yield start, key ^ (colour << 4 * start | colour << 4 * hole)

    def count_first_moves(self, levels: Sequence[_PathCounts]) -> Table:
        """Tabulate the number of shortest solutions by their first move."""
        moves = self._list_moves(self.packed.start) if self.length else ()
        rows = [(start, levels[1][key]) for start, key in moves if key in levels[1]]
        return Table("Optimal lists by the place of the pebble that moves first", ("from", "lists"), rows)
