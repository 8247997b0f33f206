"""Solve and generate solitaire chess boards.

A depth-first search finds the first solution early. A breadth-first search merges equal positions
level by level, counts hundreds of millions of solutions, and resumes at the level where it was
interrupted.
"""

from array import array
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import chain
from random import Random

from pi_appliance.errors import Refused
from pi_appliance.puzzles import (
    Answer,
    Footprint,
    GeneratedBoard,
    Proof,
    SolveMode,
    Table,
    check_mode,
    kernel_mode,
    load_board,
    pluralize,
)
from pi_appliance.puzzles.runtime import (
    SERIAL,
    Buffer,
    Checkpoint,
    SearchRuntime,
    find_solutions,
    partial_result,
    spans,
    walk_levels,
)
from pi_appliance.puzzles.solitaire_chess import kernel
from pi_appliance.puzzles.solitaire_chess.board import (
    EMPTY,
    PIECE_NAMES,
    PIECES,
    Board,
    Capture,
    Solution,
    Square,
)

_STRAIGHT = ((0, 1), (1, 0), (0, -1), (-1, 0))
_DIAGONAL = ((1, 1), (1, -1), (-1, -1), (-1, 1))
_KNIGHT = tuple((file, rank) for file in (-2, -1, 1, 2) for rank in (-2, -1, 1, 2) if abs(file) != abs(rank))
_DIRECTIONS = {"K": _STRAIGHT + _DIAGONAL, "Q": _STRAIGHT + _DIAGONAL, "R": _STRAIGHT, "B": _DIAGONAL, "N": _KNIGHT}
_PAWN_RANKS = {"down": (-1,), "up": (1,), "both": (-1, 1)}


@dataclass(frozen=True, slots=True)
class PackedPosition:
    """A board in the form that the kernel uses."""

    tables: kernel.CaptureTables
    table_arguments: tuple["array[int]", "array[int]", "array[int]", int, int, bool]
    """The arguments of `kernel.CaptureTables`."""
    start: bytes
    squares: tuple[Square, ...]  # the squares by their index in `start`

    def make_capture(self, start: int, end: int) -> Capture:
        """Return the capture between two square indices."""
        return Capture(self.squares[start], self.squares[end])

    def list_captures(self, position: bytes) -> Iterator[tuple[Capture, bytes]]:
        """Yield each legal capture, and the position after it."""
        for start, end, child in self.tables.children(position):
            yield self.make_capture(start, end), child


def pack_position(board: Board, *, all_squares: bool = False) -> PackedPosition:
    """Convert `board` for the kernel.

    `all_squares` includes squares that are empty at the start.
    """
    pieces = board.pieces
    squares = tuple(board.squares if all_squares else pieces)
    index = {square: number for number, square in enumerate(squares)}
    starts, ends, between = array("I", [0] * len(squares)), array("B"), array("Q")
    for piece in PIECES:
        for square in squares:
            starts.append(len(ends))
            for end, path in sorted(_list_targets(piece, square, index, board.pawns)):
                ends.append(end)
                between.append(path)
    starts.append(len(ends))
    arguments = starts, ends, between, len(squares), min(board.capture_limit, len(pieces)), board.king == "last"
    start = bytes(PIECES.index(pieces[square]) + 1 if square in pieces else 0 for square in squares)
    return PackedPosition(kernel.CaptureTables(*arguments), arguments, start, squares)


def legal_captures(board: Board | str) -> tuple[Capture, ...]:
    """List every legal capture in the first position."""
    board = load_board(board, Board)
    position = pack_position(board)
    return tuple(capture for capture, _ in position.list_captures(position.start))


def _list_targets(piece: str, start: Square, index: dict[Square, int], pawns: str) -> Iterator[tuple[int, int]]:
    """Yield the squares that `piece` reaches, with the mask of the squares between."""
    pawn_steps = [(file, rank) for file in (-1, 1) for rank in _PAWN_RANKS[pawns]]
    for file, rank in _DIRECTIONS.get(piece, pawn_steps):
        path = 0
        for distance in range(1, 8 if piece in "QRB" else 2):
            end = index.get(Square(start.file + distance * file, start.rank + distance * rank))
            if end is not None:
                yield end, path
                path |= 1 << end


CAPTURES_PER_CALL = 5_000  # captures per kernel call: 0.1 s on a slow Pi in plain Python
PIECES_PER_CALL = 8_000  # pieces of all positions in a kernel call: tenths of a second on a slow Pi in plain Python
POSITION_BYTES = 250  # bytes of a position and its count in a dictionary
CHECKED_POSITIONS = 200_000  # positions above which memory is checked
MAX_COUNTED_POSITIONS = 400_000  # positions counted while solutions are listed depth first: at most 100 MB

PathCounts = dict[bytes, int]


def _search_depth_first(
    position: PackedPosition, search: kernel.DepthFirstSearch, runtime: SearchRuntime
) -> Iterator[Solution]:
    """Yield every solution. Raises Interrupted."""

    def report() -> None:
        with partial_result(lambda: f"{pluralize(search.dead, 'position')} without a solution"):
            runtime.report_progress(None, f"{pluralize(search.nodes, 'capture')} tried")

    if len(position.start) == 1:
        yield ()
        return
    for _ in find_solutions(lambda: search.run(CAPTURES_PER_CALL), report):
        yield tuple(position.make_capture(*squares) for squares in search.captures())


class TooManyPositions(Exception):
    """There are more positions than allowed."""


class LevelSearch:
    """The levels of one board. From `checked_positions` on, memory is checked before each level."""

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
        self.level: PathCounts = {position.start: 1}  # the last level, with its paths from the start
        identity = board.rows, board.pawns, board.king, board.capture_limit
        self.checkpoint = Checkpoint(runtime, "solitaire-chess/level", identity)

    @property
    def positions(self) -> int:
        """The number of positions in all levels so far."""
        return sum(self.sizes)

    @property
    def is_solved(self) -> bool:
        """Whether the last level is reached, with a single piece in each position."""
        return len(self.sizes) > self.captures and bool(self.level)

    def find_last_level(self, max_positions: int | None = None) -> None:
        """Find the last non-empty level. Raises TooManyPositions above `max_positions`."""
        self._load_level()
        with self.checkpoint.guard(self._state, self._describe_progress):
            while not self.is_solved and (next_level := self._expand_level(max_positions)):
                self.level = next_level
                self.sizes.append(len(next_level))

    def count_levels(self) -> list[PathCounts]:
        """Return the positions on solutions by level, with their number of paths to the end."""
        levels = [self.level]
        with partial_result(self._describe_progress):
            while not self.is_solved and self.level:
                self.level = self._expand_level(None)
                self.sizes.append(len(self.level))
                levels.append(self.level)
            counts = [dict.fromkeys(levels.pop(), 1)]
            while levels and self.is_solved:
                counts.append(self._count_level(list(levels.pop()), counts[-1]))
        return counts[::-1]

    def _describe_progress(self) -> str:
        done = len(self.sizes) - 1
        verb = "leads" if done == 1 else "lead"
        return f"{pluralize(done, 'capture')} of {self.captures} {verb} to {pluralize(self.sizes[-1], 'position')}"

    def _expand_level(self, max_positions: int | None) -> PathCounts:
        number = len(self.sizes)
        if self.positions > self.checked_positions:
            # Earlier levels may be in memory, too. Large levels have a similar size.
            self.runtime.require_memory(3 * POSITION_BYTES * len(self.level), f"the positions after {number} captures")
        next_level: PathCounts = {}
        keys = list(self.level)
        for first, last in spans(len(keys), self.positions_per_call):
            self.nodes_searched += self.position.tables.expand(keys, first, last, self.level, next_level)
            self._report(number, len(next_level))
            if max_positions is not None and self.positions + len(next_level) > max_positions:
                raise TooManyPositions
        return next_level

    def _count_level(self, keys: list[bytes], next_counts: PathCounts) -> PathCounts:
        counts: PathCounts = {}
        for first, last in spans(len(keys), self.positions_per_call):
            self.position.tables.count_paths(keys, first, last, next_counts, counts)
            self._report(self.captures, len(counts))
        return counts

    def _report(self, number: int, positions: int) -> None:
        note = f"capture {number} of {self.captures}: {pluralize(positions, 'position')}"
        self.runtime.report_progress(None, note)

    def _state(self) -> tuple[dict[str, object], list[Buffer]]:
        """Return the state: the positions one after the other, and the bytes of their counts."""
        count_bytes = max(number.bit_length() for number in self.level.values()) // 8 + 1
        counts = b"".join(number.to_bytes(count_bytes, "big") for number in self.level.values())
        return {"sizes": self.sizes, "nodes_searched": self.nodes_searched}, [b"".join(self.level), counts]

    def _load_level(self) -> None:
        saved = self.checkpoint.load()
        if saved is None:
            return
        self.sizes, self.nodes_searched = saved.values["sizes"], saved.values["nodes_searched"]
        size = self.sizes[-1]
        if size > self.checked_positions:
            self.runtime.require_memory(POSITION_BYTES * size, "the positions of the checkpoint")
        keys, counts = (
            [bytes(view[at : at + len(view) // size]) for at in range(0, len(view), len(view) // size)]
            for view in saved.buffers
        )
        self.level = {key: int.from_bytes(count, "big") for key, count in zip(keys, counts, strict=True)}


MODES = (SolveMode.ALL, SolveMode.FIRST, SolveMode.COUNT)


def solve(board: Board | str, mode: SolveMode = SolveMode.ALL, runtime: SearchRuntime = SERIAL) -> Answer[Solution]:
    r"""Solve `board`; whether it has a solution is known on return. Raises Interrupted, Refused.

    Depth-first search, counts by level (see docs/puzzles/solitaire-chess.md).

    >>> from pi_appliance.puzzles import solitaire_chess
    >>> board = solitaire_chess.parse("R..N\n....\n....\n....")
    >>> captures = next(solitaire_chess.solve(board).solutions)
    >>> solitaire_chess.notate(board, captures)
    'Ra4xd4'
    """
    mode = check_mode("solitaire chess", MODES, mode)
    board = load_board(board, Board)
    answer: Answer[Solution] = Answer(details={"pieces": len(board.pieces), "kernel": kernel_mode(kernel)})
    kings = list(board.pieces.values()).count("K")
    if board.king == "last" and kings > 1:
        reason = f"there are {kings} kings, and none of them may be captured"
        return replace(answer, count=0, proof=Proof.CONTRADICTION, reason=reason)
    position = pack_position(board)
    levels = LevelSearch(board, position, runtime)
    if mode is SolveMode.COUNT or board.search == "breadth":
        return _solve_by_levels(levels, mode, answer)
    search = kernel.DepthFirstSearch(position.tables, position.start, levels.captures)
    answer = replace(answer, nodes_searched=lambda: search.nodes)
    solutions = _search_depth_first(position, search, runtime)
    first = next(solutions, None)
    if first is None:
        searched = f"every position was searched, {pluralize(search.dead, 'position')}, depth first"
        return replace(answer, count=0, proof=Proof.EXHAUSTION, reason=f"{searched}: none has a single piece")
    answer = replace(answer, solutions=chain([first], solutions))
    if mode is SolveMode.FIRST:
        return replace(answer, solutions=iter([first]))
    try:
        levels.find_last_level(MAX_COUNTED_POSITIONS)
    except TooManyPositions:
        return answer
    return replace(answer, count=sum(levels.level.values()), tables=[_size_table(levels), _end_table(levels)])


def foretell(_board: Board, mode: SolveMode, _runtime: SearchRuntime = SERIAL) -> Footprint:
    """Foretell the positions up to the first check of the memory."""
    return Footprint(memory=POSITION_BYTES * CHECKED_POSITIONS // 4, is_open=mode is not SolveMode.FIRST)


def hint(board: Board | str, runtime: SearchRuntime = SERIAL) -> str:
    """Describe the next capture of a solution.

    >>> from pi_appliance.puzzles import solitaire_chess
    >>> solitaire_chess.hint("seven")
    'capture the pawn on a2 with the bishop from c4; then 5 captures more'
    """
    board = load_board(board, Board)
    if len(board.pieces) == 1:
        return "it is solved"
    answer = solve(board, SolveMode.FIRST, runtime)
    solution = next(answer.solutions, None)
    if solution is None:
        return f"it cannot be solved: {answer.reason}"
    start, end = solution[0]
    piece, captured = PIECE_NAMES[board.pieces[start]], PIECE_NAMES[board.pieces[end]]
    left = pluralize(len(solution) - 1, "capture")
    return f"capture the {captured} on {end} with the {piece} from {start}; then {left} more"


def _solve_by_levels(levels: LevelSearch, mode: SolveMode, answer: Answer[Solution]) -> Answer[Solution]:
    """Count the solutions level by level.

    If they are to be listed, keep the levels and list them.
    """
    counts = [] if mode is SolveMode.COUNT else levels.count_levels()
    if mode is SolveMode.COUNT:
        levels.find_last_level()
    answer = replace(answer, nodes_searched=lambda: levels.nodes_searched, tables=[_size_table(levels)])
    if not levels.is_solved:
        fewest = levels.captures + 1 - sum(size > 0 for size in levels.sizes[1:])
        searched = f"every position was searched, {pluralize(levels.positions, 'position')}"
        reason = f"{searched}: at best {fewest} pieces are left"
        return replace(answer, count=0, proof=Proof.EXHAUSTION, reason=reason)
    if mode is SolveMode.COUNT:
        return replace(answer, count=sum(levels.level.values()), tables=[*answer.tables, _end_table(levels)])
    solutions = walk_levels(levels.position.start, counts[1:], levels.position.list_captures)
    if mode is SolveMode.FIRST:
        return replace(answer, solutions=iter([next(solutions)]), tables=())
    return replace(answer, solutions=solutions, count=counts[0][levels.position.start])


def _end_table(levels: LevelSearch) -> Table:
    counts: Counter[tuple[str, str]] = Counter()
    for key, paths in levels.level.items():
        index = next(number for number, piece in enumerate(key) if piece)
        counts[PIECE_NAMES[PIECES[(key[index] & 7) - 1]], str(levels.position.squares[index])] += paths
    rows = [(*end, paths) for end, paths in counts.most_common()]
    return Table("Solutions by the piece that is left", ("piece", "square", "solutions"), rows)


def _size_table(levels: LevelSearch) -> Table:
    return Table("Positions by number of captures", ("captures", "positions"), list(enumerate(levels.sizes)))


PIECE_SET = "KQRRBBNNPP"  # one boxed game for every ten pieces
MAX_UNDONE_CAPTURES = 40  # captures that are undone per position
MAX_STARTS, MAX_BOARDS_PER_START = 3_000, 250
MAX_CAPTURES = 2_000  # captures that are tried per board; a harder board is dropped


def generate(seed: int, board: Board | str = "first-steps", runtime: SearchRuntime = SERIAL) -> GeneratedBoard[Board]:
    """Generate a board like `board` with exactly one solution. Raises Refused.

    >>> from pi_appliance.puzzles import solitaire_chess
    >>> solitaire_chess.describe(solitaire_chess.generate(7).board)
    '4 pieces on 4x4'
    """
    board = load_board(board, Board)
    files, ranks = board.generated_size or (len(board.rows[0]), len(board.rows))
    pieces = board.generated_pieces or len(board.pieces)
    if pieces > files * ranks:
        raise Refused(f"{pieces} pieces do not fit on {files}x{ranks} squares; use fewer pieces or more squares")
    template = replace(board, rows=("K" * files,) * ranks, generated_pieces=0, generated_size=None)
    generated = _BoardGenerator(seed, template, pieces, runtime).find_board()
    if generated is None:
        size = f"{pluralize(pieces, 'piece')} on {files}x{ranks} squares"
        advice = "use fewer pieces, more squares, or another seed"
        raise Refused(f"no board with {size} and one solution was found; {advice}")
    return GeneratedBoard(generated, {"pieces": pieces, "solutions": 1})


class _BoardGenerator:
    """Searches a board with the rules and the size of `template`. Its tables cover all squares."""

    def __init__(self, seed: int, template: Board, pieces: int, runtime: SearchRuntime) -> None:
        self.random = Random(seed)  # noqa: S311 - a game that must be the same for the same seed
        self.template, self.pieces, self.runtime = template, pieces, runtime
        packed = pack_position(template, all_squares=True)
        self.tables, self.size = packed.tables, len(packed.squares)
        self.starts, self.ends, self.between = packed.table_arguments[:3]
        self.boards_left = 0

    def find_board(self) -> Board | None:
        for _ in range(MAX_STARTS):
            self.boards_left = MAX_BOARDS_PER_START
            available = list(PIECE_SET * (1 + self.pieces // len(PIECE_SET)))
            last = "K" if self.template.king == "last" else self.random.choice(PIECE_SET)
            available.remove(last)
            start = bytearray(self.size)
            start[self.random.randrange(self.size)] = PIECES.index(last) + 1
            if position := self._add_pieces(bytes(start), 1, available):
                marks = "".join(PIECES[piece - 1] if piece else EMPTY for piece in position)
                width = len(self.template.rows[0])
                return replace(self.template, rows=tuple(marks[at : at + width] for at in range(0, self.size, width)))
        return None

    def _add_pieces(self, position: bytes, pieces: int, available: list[str]) -> bytes | None:
        """Undo captures until the board is complete; None if that fails."""
        if pieces == self.pieces:
            return position
        for before, captured in self._undo_captures(position, available):
            if self.boards_left <= 0:
                return None
            self.boards_left -= 1
            if self._has_one_solution(before, pieces):
                rest = available.copy()
                rest.remove(captured)
                if complete := self._add_pieces(before, pieces + 1, rest):
                    return complete
        return None

    def _has_one_solution(self, position: bytes, captures: int) -> bool:
        search = kernel.DepthFirstSearch(self.tables, position, captures)
        unique = search.run(MAX_CAPTURES) == kernel.FOUND and search.run(MAX_CAPTURES) == kernel.EXHAUSTED
        self.runtime.report_progress(None, "searching a board with one solution")
        return unique

    def _undo_captures(self, position: bytes, available: list[str]) -> Iterator[tuple[bytes, str]]:
        captured = sorted({piece for piece in available if piece != "K" or self.template.king == "free"})
        options = [(start, end, piece) for start, end in self._list_origins(position) for piece in captured]
        for start, end, piece in self.random.sample(options, min(MAX_UNDONE_CAPTURES, len(options))):
            before = bytearray(position)
            before[start], before[end] = position[end], PIECES.index(piece) + 1
            yield bytes(before), piece

    def _list_origins(self, position: bytes) -> Iterator[tuple[int, int]]:
        empty = [square for square, piece in enumerate(position) if not piece]
        occupied = sum(1 << square for square, piece in enumerate(position) if piece)
        for kind in sorted(set(position) - {0}):
            for start in empty:
                row = kind * self.size + start
                for at in range(self.starts[row], self.starts[row + 1]):
                    if position[self.ends[at]] == kind and not occupied & self.between[at]:
                        yield start, self.ends[at]
