"""Solves Panguru: the fewest moves, every line that takes no more, and how hard many boards are.

Whether there is a line at all is known before any search. Then IDA* with the pairing distance finds the fewest moves;
then the positions that lie on lines of that length are gathered level by level, and counted from the end, so that there
is no listing where only a number is asked for, and no dead end where lines are listed.
"""

import hashlib
import re
from array import array
from collections.abc import Iterator, Sequence
from dataclasses import replace
from statistics import median

from pi_appliance.puzzles import Proof, SolveMode, SolveResult, Table, kernel_mode, pluralize
from pi_appliance.puzzles.panguru import kernel
from pi_appliance.puzzles.panguru.board import Board, Solution
from pi_appliance.puzzles.panguru.generate import shuffled
from pi_appliance.puzzles.panguru.ground import Position, position_of
from pi_appliance.puzzles.panguru.solvable import why_not
from pi_appliance.puzzles.runtime.interface import Interrupted, SearchRuntime, SerialRuntime, save_checkpoint

MOVES_A_RUN = 20_000  # in one call of the kernel: 0.1 s of a slow Pi in plain Python
POSITIONS_A_RUN = 500  # the same time
LEAST_ROOM, MOST_ROOM = 1 << 12, 1 << 20  # positions a walk remembers; twelve bytes each
BOARDS_A_CALL = 20  # of a table: 0.01 s compiled, 0.2 s plain
MANY_BOARDS, EACH = 300_000, 110  # positions that may need much memory, in all levels, and bytes for each

_Ways = dict[int, int]


def solve(board: Board, mode: SolveMode, runtime: SearchRuntime) -> SolveResult:
    """Return the answer for BOARD: by then the fewest moves are known. Raises Interrupted; Refused (memory)."""
    answer = _solved(board, mode, runtime)
    if not board.random:
        return answer
    try:
        table = difficulty(range(board.random), runtime, board)
    except Interrupted as stop:
        known = f"it takes {pluralize(int(answer.details['moves']), 'move')}" if not answer.proof else answer.reason
        stop.partial_result = f"{known}; {stop.partial_result}"
        raise
    return replace(answer, tables=[*answer.tables, table])


def _solved(board: Board, mode: SolveMode, runtime: SearchRuntime) -> SolveResult:
    if why := why_not(board):
        return SolveResult(count=0, proof=Proof.PARITY, reason=why, details={"kernel": kernel_mode(kernel)})
    search = Search(board, runtime)
    first = search.first()
    if mode is SolveMode.FIRST:
        return SolveResult(solutions=iter([first]), nodes_searched=lambda: search.tried, details=search.facts())
    levels = search.levels()
    count = levels[0][search.position.start]
    tables = [search.beginnings(levels)]
    lines = iter(()) if mode is SolveMode.COUNT else search.lines(levels)
    return SolveResult(
        solutions=lines, nodes_searched=lambda: search.tried, count=count, details=search.facts(), tables=tables
    )


def hint(board: Board, runtime: SearchRuntime) -> str:
    """Return the next move of a shortest line of BOARD in words."""
    if why := why_not(board):
        return f"no moves solve this board: {why}"
    first = Search(board, runtime).first()
    if not first:
        return "it is solved"
    left = f"{pluralize(len(first) - 1, 'move')} {'is' if len(first) == 2 else 'are'} left"
    return f"move the pebble {board.pebbles[first[0]]} from {first[0]} to {board.hole}; then {left}"


def difficulty(seeds: Sequence[int], runtime: SearchRuntime, board: Board) -> Table:
    """Return how many of the boards that SEEDS make, with the colours and moves of BOARD, take how many moves."""
    batches = [seeds[at : at + BOARDS_A_CALL] for at in range(0, len(seeds), BOARDS_A_CALL)]
    met: dict[int, list[tuple[int, int]]] = {}
    done = 0
    try:
        for came in runtime.executor.map(lambda batch: [_hard(seed, board, runtime) for seed in batch], batches):
            for seed, moves, count in came:
                met.setdefault(moves, []).append((count, seed))
            done += len(came)
            runtime.report_progress(done / len(seeds), f"{pluralize(done, 'random board')} solved")
    except Interrupted as stop:
        most = f", none of which takes more than {pluralize(max(met), 'move')}" if met else ""
        stop.partial_result = f"{done:,} of {pluralize(len(seeds), 'random board')} solved{most}"
        raise
    rows = [
        (moves, len(found), median(sorted(count for count, _ in found)), max(found)[0], min(seed for _, seed in found))
        for moves, found in sorted(met.items())
    ]
    headers = ("fewest moves", "boards", "optimal lists, median", "optimal lists, most", "first seed")
    return Table(f"How hard {pluralize(len(seeds), 'random board')} are", headers, rows)


class _Within(SerialRuntime):
    """Work on one of many boards: it ends when all of it does, and keeps nothing."""

    def __init__(self, runtime: SearchRuntime) -> None:
        super().__init__()
        self._runtime = runtime

    def report_progress(self, part: float | None, note: str) -> None:
        """Tell it to whoever waits for all of the work. Raises Interrupted."""
        self._runtime.report_progress(part, note)

    def require_memory(self, size: int, purpose: str) -> None:
        """Ask there whether it fits. Raises Refused."""
        self._runtime.require_memory(size, purpose)


def _hard(seed: int, board: Board, runtime: SearchRuntime) -> tuple[int, int, int]:
    search = Search(shuffled(seed, board), _Within(runtime))
    moves = len(search.first())
    return seed, moves, search.levels()[0][search.position.start]


class Search:
    """One search for the shortest lines of one board that can be solved."""

    def __init__(self, board: Board, runtime: SearchRuntime, *, many: int = MANY_BOARDS) -> None:
        """Search BOARD; where there are more than MANY positions on its shortest lines, memory is asked for."""
        self.position: Position = position_of(board)
        self.runtime, self.tried, self.length, self.many = runtime, 0, 0, many
        self.ground = self.position.ground
        told = f"{board.plates} {board.pebbles} {board.lines}"
        self.cache = f"panguru/bound-1-{hashlib.sha256(told.encode()).hexdigest()[:16]}"

    def first(self) -> Solution:
        """Return one shortest line. Raises Interrupted, with what is proven by then."""
        self.ground.unpack(self.position.start)
        known = self._known()
        bound, room = max(self.ground.estimate(), known), MOST_ROOM if known else LEAST_ROOM
        while True:
            walk = kernel.Walk(self.ground, self.position.start, bound, room)
            try:
                said = self._walked(walk)
                if said == kernel.OVER:  # of a hundred short rounds, none is heard of by itself
                    self._tell(self.tried, bound)
            except Interrupted as stop:
                stop.partial_result = f"it takes {pluralize(bound, 'move')} or more{self._keep(bound)}"
                raise
            if said == kernel.FOUND:
                break
            while room < min(walk.nodes, MOST_ROOM):
                room *= 2
            bound = walk.beyond
        self.runtime.cache.remove(self.cache)
        self.length = bound
        return tuple(walk.line()[1:])

    def _keep(self, bound: int) -> str:
        return save_checkpoint(self.runtime.cache.save, self.cache, [str(bound).encode()])

    def _known(self) -> int:
        """Return the bound that an earlier search left on the shelf."""
        kept = bytes(self.runtime.cache.load(self.cache) or b"")
        return int(kept) if re.fullmatch(rb"[0-9]{1,3}", kept) else 0

    def _walked(self, walk: kernel.Walk) -> int:
        before = self.tried
        while (said := walk.run(MOVES_A_RUN)) == kernel.MORE:
            self._tell(before + walk.nodes, walk.bound)
        self.tried = before + walk.nodes
        return said

    def _tell(self, tried: int, bound: int) -> None:
        self.runtime.report_progress(None, f"{pluralize(tried, 'move')} tried; it takes {bound} or more")

    def levels(self) -> list[_Ways]:
        """Return the positions on shortest lines after 0, 1, … moves, and how many of those lines go on from each.

        Raises Interrupted; Refused, if memory is too small.
        """
        try:
            return self._levels()
        except Interrupted as stop:
            stop.partial_result = (
                f"it takes {pluralize(self.length, 'move')}; the lines are not counted{self._keep(self.length)}"
            )
            raise

    def _levels(self) -> list[_Ways]:
        reached = [array("Q", [self.position.start])]
        for left in range(self.length - 1, -1, -1):
            reached.append(self._grown(reached[-1], left))
            self._require(sum(map(len, reached)) + 2 * len(reached[-1]))
        ways: list[_Ways] = [{self.position.goal: 1}]
        for level in reached[-2::-1]:
            ways.append(self._weighed(level, ways[-1]))
        return ways[::-1]

    def _grown(self, level: "array[int]", left: int) -> "array[int]":
        after: set[int] = set()
        for at in range(0, len(level), POSITIONS_A_RUN):
            last = min(at + POSITIONS_A_RUN, len(level))
            self.ground.grow(level, at, last, left, after)
            self.runtime.report_progress(None, f"{pluralize(len(after), 'position')} on lines of {self.length} moves")
        return array("Q", after)

    def _require(self, positions: int) -> None:
        """See whether so many positions fit, with the next level: levels that are large no longer grow much."""
        if positions > self.many:
            self.runtime.require_memory(EACH * positions, f"the positions on lines of {self.length} moves")

    def _weighed(self, level: "array[int]", after: _Ways) -> _Ways:
        ways: _Ways = {}
        for at in range(0, len(level), POSITIONS_A_RUN):
            self.ground.weigh(level, at, min(at + POSITIONS_A_RUN, len(level)), after, ways)
            self.runtime.report_progress(None, f"counting the lines of {self.length} moves")
        return ways

    def lines(self, levels: Sequence[_Ways]) -> Iterator[Solution]:
        """Yield every line through LEVELS, in the order of their places."""
        line: list[int] = []
        walks = [self._onwards(self.position.start)] if self.length else []
        if not walks:
            yield ()
        while walks:
            step = next(walks[-1], None)
            del line[len(walks) - 1 :]
            if step is None:
                walks.pop()
            elif step[1] in levels[len(walks)]:
                line.append(step[0])
                if len(line) == self.length:
                    yield tuple(line)
                else:
                    walks.append(self._onwards(step[1]))

    def _onwards(self, key: int) -> Iterator[tuple[int, int]]:
        """Yield each place that a pebble of the position KEY can move from, and the position after that."""
        hole = next(place for place in range(len(self.position.far)) if not key >> 4 * place & 15)
        for start in self.position.far[hole]:
            colour = key >> 4 * start & 15
            yield start, key ^ (colour << 4 * start | colour << 4 * hole)

    def beginnings(self, levels: Sequence[_Ways]) -> Table:
        """Return how many shortest lines begin with each move."""
        rows = [
            (start, levels[1][after])
            for start, after in (self._onwards(self.position.start) if self.length else ())
            if after in levels[1]
        ]
        return Table("Optimal lists by the place of the pebble that moves first", ("from", "lists"), rows)

    def facts(self) -> dict[str, int | float | str]:
        """Return what is known of the board."""
        return {"moves": self.length, "kernel": kernel_mode(kernel)}
