"""Depth-first and breadth-first search of solitaire chess, and its positions for the kernel.

Depth first finds the first solution early. Breadth first merges equal positions level by level,
counts hundreds of millions of solutions, and resumes at the level where it was interrupted.
"""

import hashlib
import json
from array import array
from collections.abc import Iterator
from dataclasses import dataclass

from pi_appliance.puzzles import pluralize
from pi_appliance.puzzles.runtime import Interrupted, SearchRuntime, save_checkpoint
from pi_appliance.puzzles.solitaire_chess import kernel
from pi_appliance.puzzles.solitaire_chess.board import PIECES, Board, Capture, KingRule, PawnDirection, Solution, Square

_STRAIGHT = ((0, 1), (1, 0), (0, -1), (-1, 0))
_DIAGONAL = ((1, 1), (1, -1), (-1, -1), (-1, 1))
_KNIGHT = tuple((file, rank) for file in (-2, -1, 1, 2) for rank in (-2, -1, 1, 2) if abs(file) != abs(rank))
_SLIDING = {"Q": _STRAIGHT + _DIAGONAL, "R": _STRAIGHT, "B": _DIAGONAL}
_PAWN_RANKS = {PawnDirection.DOWN: (-1,), PawnDirection.UP: (1,), PawnDirection.BOTH: (-1, 1)}


@dataclass(frozen=True, slots=True)
class PackedPosition:
    """A board for the kernel."""

    tables: kernel.CaptureTables
    table_arguments: tuple["array[int]", "array[int]", "array[int]", int, int, bool]
    """The arguments of `kernel.CaptureTables`."""
    start: bytes
    squares: tuple[Square, ...]  # the squares by their index in `start`

    def make_capture(self, start: int, end: int) -> Capture:
        """Return the capture between two square indices."""
        return Capture(self.squares[start], self.squares[end])


def pack_position(board: Board, *, all_squares: bool = False) -> PackedPosition:
    """Convert `board` for the kernel; squares that are empty at the start if `all_squares`."""
    pieces = board.pieces
    height, width = len(board.rows), len(board.rows[0])
    every = tuple(Square(file, rank) for rank in reversed(range(height)) for file in range(width))
    squares = every if all_squares else tuple(pieces)
    index = {square: number for number, square in enumerate(squares)}
    starts, ends, between = array("I", [0] * len(squares)), array("B"), array("Q")
    for piece in PIECES:
        for square in squares:
            starts.append(len(ends))
            for end, path in sorted(_list_targets(piece, square, index, board.pawns)):
                ends.append(end)
                between.append(path)
    starts.append(len(ends))
    capture_limit, protect_king = min(board.capture_limit, len(pieces)), board.king is KingRule.LAST
    arguments = starts, ends, between, len(squares), capture_limit, protect_king
    return PackedPosition(
        kernel.CaptureTables(*arguments),
        arguments,
        bytes(PIECES.index(pieces[square]) + 1 if square in pieces else 0 for square in squares),
        squares,
    )


def legal_captures(board: Board) -> tuple[Capture, ...]:
    """List every legal capture in the first position."""
    position = pack_position(board)
    return tuple(position.make_capture(start, end) for start, end, _ in position.tables.children(position.start))


def _list_targets(
    piece: str, start: Square, index: dict[Square, int], pawns: PawnDirection
) -> Iterator[tuple[int, int]]:
    if piece in _SLIDING:
        for file, rank in _SLIDING[piece]:
            yield from _slide(start, file, rank, index)
        return
    steps = {
        "K": _STRAIGHT + _DIAGONAL,
        "N": _KNIGHT,
        "P": [(file, rank) for file in (-1, 1) for rank in _PAWN_RANKS[pawns]],
    }
    for file, rank in steps[piece]:
        end = Square(start.file + file, start.rank + rank)
        if end in index:
            yield index[end], 0


def _slide(start: Square, file: int, rank: int, index: dict[Square, int]) -> Iterator[tuple[int, int]]:
    path = 0
    for distance in range(1, 8):
        end = Square(start.file + distance * file, start.rank + distance * rank)
        if end in index:
            yield index[end], path
            path |= 1 << index[end]


CAPTURES_PER_CALL = 5_000  # per kernel call: 0.1 s on a slow Pi in plain Python
PIECES_PER_CALL = 8_000  # of all positions in a kernel call: tenths of a second on a slow Pi in plain Python
POSITION_BYTES = 250  # of a position and its count in a dictionary
CHECKED_POSITIONS = 200_000  # above this, memory is checked

PathCounts = dict[bytes, int]


class SolutionSearch:
    """The solutions of one board, depth first, each found on demand."""

    def __init__(self, position: PackedPosition, runtime: SearchRuntime) -> None:
        self.position, self.runtime = position, runtime
        goal = len(position.start) - 1
        self.search = kernel.DepthFirstSearch(position.tables, position.start, goal)
        self.solutions = self._find_solutions() if goal else iter([()])

    def _find_solutions(self) -> Iterator[Solution]:
        while outcome := self.search.run(CAPTURES_PER_CALL):
            if outcome == kernel.FOUND:
                yield tuple(self.position.make_capture(*squares) for squares in self.search.captures())
            else:
                self._report()

    def _report(self) -> None:
        try:
            self.runtime.report_progress(None, f"{pluralize(self.search.nodes, 'capture')} tried")
        except Interrupted as error:
            error.partial_result = f"{pluralize(self.search.dead, 'position')} without a solution"
            raise


class LevelSearch:
    """The levels of one board; memory is checked before each level after `checked_positions`."""

    def __init__(
        self,
        board: Board,
        position: PackedPosition,
        runtime: SearchRuntime,
        *,
        checked_positions: int = CHECKED_POSITIONS,
    ) -> None:
        self.position, self.runtime, self.checked_positions = position, runtime, checked_positions
        self.captures = len(position.start) - 1
        self.positions_per_call = PIECES_PER_CALL // len(position.start)
        self.nodes_searched = 0
        self.sizes = [1]
        rules = f"{board.rows} {board.pawns} {board.king} {board.capture_limit}"
        self.checkpoint = f"solitaire-chess/level-2-{hashlib.sha256(rules.encode()).hexdigest()[:16]}"

    @property
    def positions(self) -> int:
        """The number of positions in all levels so far."""
        return sum(self.sizes)

    def find_last_level(self, max_positions: int | None = None) -> PathCounts | None:
        """Return the last non-empty level with its paths; None above `max_positions`."""
        level = self._load_level()
        try:
            while len(self.sizes) <= self.captures:
                next_level = self._expand_level(level, max_positions)
                if next_level is None:
                    return None
                if not next_level:
                    break
                level = next_level
                self.sizes.append(len(level))
        except Interrupted as error:
            error.partial_result = self._describe_progress() + self._save_level(level)
            raise
        self.runtime.cache.remove(self.checkpoint)
        return level

    def count_levels(self) -> list[PathCounts]:
        """Return the positions on solutions by level, with their paths to the end."""
        try:
            return self._count_levels()
        except Interrupted as error:
            error.partial_result = self._describe_progress()
            raise

    def _describe_progress(self) -> str:
        done = len(self.sizes) - 1
        verb = "leads" if done == 1 else "lead"
        return f"{pluralize(done, 'capture')} of {self.captures} {verb} to {pluralize(self.sizes[-1], 'position')}"

    def _count_levels(self) -> list[PathCounts]:
        levels: list[PathCounts] = [{self.position.start: 1}]
        while len(levels) <= self.captures and levels[-1]:
            levels.append(self._expand_level(levels[-1], None) or {})
            self.sizes.append(len(levels[-1]))
        if len(levels) <= self.captures:
            return [{} for _ in range(self.captures + 1)]
        counts: list[PathCounts] = [dict.fromkeys(levels.pop(), 1)]
        while levels:
            counts.append(self._count_level(list(levels.pop()), counts[-1]))
        return counts[::-1]

    def _expand_level(self, level: PathCounts, max_positions: int | None) -> PathCounts | None:
        number = len(self.sizes)
        if self.positions > self.checked_positions:
            # Earlier levels may be in memory too. Large levels are of similar size.
            self.runtime.require_memory(3 * POSITION_BYTES * len(level), f"the positions after {number} captures")
        next_level: PathCounts = {}
        keys = list(level)
        for at in range(0, len(keys), self.positions_per_call):
            last = min(at + self.positions_per_call, len(keys))
            self.nodes_searched += self.position.tables.expand(keys, at, last, level, next_level)
            self._report(number, len(next_level))
            if max_positions is not None and self.positions + len(next_level) > max_positions:
                return None
        return next_level

    def _count_level(self, keys: list[bytes], next_counts: PathCounts) -> PathCounts:
        counts: PathCounts = {}
        for at in range(0, len(keys), self.positions_per_call):
            last = min(at + self.positions_per_call, len(keys))
            self.position.tables.count_paths(keys, at, last, next_counts, counts)
            self._report(self.captures, len(counts))
        return counts

    def _report(self, number: int, positions: int) -> None:
        note = f"capture {number} of {self.captures}: {pluralize(positions, 'position')}"
        self.runtime.report_progress(None, note)

    def _save_level(self, level: PathCounts) -> str:
        """Save `level`: a JSON line, then each position and its count, all of one length."""
        count_bytes = max(number.bit_length() for number in level.values()) // 8 + 1
        header = {"sizes": self.sizes, "nodes_searched": self.nodes_searched, "count_bytes": count_bytes}
        body = b"".join(key + number.to_bytes(count_bytes, "big") for key, number in level.items())
        return save_checkpoint(self.runtime.cache.save, self.checkpoint, [json.dumps(header).encode() + b"\n", body])

    def _load_level(self) -> PathCounts:
        saved = self.runtime.cache.load(self.checkpoint)
        header, _, body = bytes(saved or b"").partition(b"\n")
        try:
            values = json.loads(header)
            sizes, nodes, count_bytes = (
                list(values["sizes"]),
                int(values["nodes_searched"]),
                int(values["count_bytes"]),
            )
        except (ValueError, KeyError, TypeError):
            return {self.position.start: 1}
        record_bytes = len(self.position.start) + count_bytes
        if not 1 <= len(sizes) <= self.captures + 1 or len(body) != sizes[-1] * record_bytes:
            return {self.position.start: 1}
        if sizes[-1] > self.checked_positions:
            self.runtime.require_memory(POSITION_BYTES * sizes[-1], "the positions of the checkpoint")
        self.sizes, self.nodes_searched = sizes, nodes
        records = (body[at : at + record_bytes] for at in range(0, len(body), record_bytes))
        return {record[:-count_bytes]: int.from_bytes(record[-count_bytes:], "big") for record in records}
