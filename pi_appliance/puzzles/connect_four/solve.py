"""The perfect player: the score of every column of a position, and a perfect game to its end."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from random import Random

from pi_appliance.puzzles import (
    Answer,
    Details,
    Footprint,
    GeneratedBoard,
    PositionScore,
    SolveMode,
    Table,
    check_mode,
    kernel_mode,
    load_board,
    load_boards,
    pluralize,
)
from pi_appliance.puzzles.connect_four import kernel
from pi_appliance.puzzles.connect_four.board import (
    EMPTY_BOARD,
    LETTERS,
    SQUARES,
    Board,
    End,
    Positions,
    Solution,
    describe_fours,
    find_fours,
    game_end,
    with_rules,
)
from pi_appliance.puzzles.connect_four.book import BOOK_BYTES, BOOK_MEMORY, CACHE_NAME, Book, load_book
from pi_appliance.puzzles.connect_four.notation import render_scores, render_svg
from pi_appliance.puzzles.connect_four.search import (
    Position,
    Search,
    describe_score,
    max_score,
    min_score,
    position_of,
    square_of,
    table_bytes,
)
from pi_appliance.puzzles.runtime import SERIAL, Checkpoint, SearchRuntime, partial_result

BOUNDS_NAME = "connect-four/bounds"
_EARLY_DISCS = 14  # up to this many discs, all cores are used
_CHUNK_SIZE = 50 if kernel_mode(kernel) == "compiled" else 2  # positions per task, if there are many
MODES = (SolveMode.FIRST, SolveMode.ALL)


def solve(board: Board | str, mode: SolveMode = SolveMode.FIRST, runtime: SearchRuntime = SERIAL) -> Answer[Solution]:
    """Return the result, the best columns and perfect games. Raises Interrupted with the bounds.

    FIRST yields one perfect game, ALL one for each best column. Alpha-beta search over bitboards
    (see docs/puzzles/connect-four.md).

    >>> from pi_appliance.puzzles import connect_four
    >>> answer = connect_four.solve("32662532166161164471")
    >>> answer.details["result"]
    'Red wins with move 41'
    """
    mode = check_mode("Connect Four", MODES, mode)
    board = load_board(board, Board)
    end = game_end(board)
    if end:
        return _ended_result(board, end)
    solver = Solver(board, runtime)
    scores, best = solver.score_columns()
    columns = best if mode is SolveMode.ALL else best[:1]
    return Answer(
        solutions=(solver.perfect_line(column) for column in columns),
        nodes_searched=lambda: solver.nodes,
        count=len(best),
        details={
            "ply": board.discs,
            "to_move": board.turn.value,
            "result": solver.result,
            "score": solver.score,
            "best_columns": " ".join(f"{column} ({LETTERS[column - 1]})" for column in sorted(best)),
            "kernel": kernel_mode(kernel),
            "opening_book": str(solver.book),
        },
        tables=(_columns_table(board, scores),),
        pictures={"scores": render_scores(board, scores)},
    )


def score_many(positions: Iterable[Board | str], runtime: SearchRuntime = SERIAL) -> Iterator[int]:
    """Yield the score of each position, and nothing else. Raises Interrupted.

    All cores share one table. A score n is a win of the side to move with its n-th last disc, -n a
    loss, 0 a draw (P. Pons, see docs/puzzles/connect-four.md). After
    a win of the opponent, it is that of the last move, negated.

    >>> from pi_appliance.puzzles import connect_four
    >>> list(connect_four.score_many(["32662532166161164471", "461134515661427544"]))
    [1, -2]
    """
    boards = load_boards(positions, Board)
    return _score_boards(boards, runtime)


def _score_boards(boards: Sequence[Board], runtime: SearchRuntime) -> Iterator[int]:
    ends = {number: end for number, board in enumerate(boards) if (end := game_end(board))}
    known = {number: 0 if end is End.DRAW else -max_score(boards[number].discs - 1) for number, end in ends.items()}
    open_positions = [position_of(board) for number, board in enumerate(boards) if number not in known]
    discs = min((position.discs for position in open_positions), default=SQUARES)
    chunks = (open_positions[start : start + _CHUNK_SIZE] for start in range(0, len(open_positions), _CHUNK_SIZE))
    scores = (score for chunk in runtime.map(_chunk_scorer, discs, chunks) for score in chunk)
    done, whole = 0, pluralize(len(boards), "position")
    with partial_result(lambda: f"{done:,} of {whole} are scored"):
        for number in range(len(boards)):
            yield known[number] if number in known else next(scores)
            done += 1
            runtime.report_progress(done / len(boards), f"{done:,} of {whole}")


def _chunk_scorer(discs: int, runtime: SearchRuntime) -> Callable[[Sequence[Position]], Sequence[int]]:
    book = load_book(runtime.cache)
    return Search(runtime, discs, "scores", book.score, book.plies).score_many


def score_rows(positions: Positions, runtime: SearchRuntime = SERIAL) -> Iterator[PositionScore]:
    """Yield the score of each position, with a remark if the file has another one."""
    scores = score_many(positions.boards, runtime)
    for board, score, known in zip(positions.boards, scores, positions.known_scores, strict=True):
        remark = "" if known in (None, score) else f"the file says {known}"
        yield PositionScore("".join(map(str, board.moves)), score, remark)


def foretell(board: Board | Positions | None, _mode: SolveMode, _runtime: SearchRuntime = SERIAL) -> Footprint:
    """Foretell the table of positions, and the opening book if `board` is None."""
    if board is None:
        return Footprint(memory=table_bytes(0) + BOOK_MEMORY, tables={CACHE_NAME: BOOK_BYTES}, is_parallel=True)
    if isinstance(board, Positions):
        discs = min(each.discs for each in board.boards)
        return Footprint(memory=table_bytes(discs), saves=False, is_parallel=True)
    memory = 0 if game_end(board) else table_bytes(board.discs)
    return Footprint(memory=memory, is_parallel=board.discs <= _EARLY_DISCS)


def _ended_result(board: Board, end: End) -> Answer[Solution]:
    winner = "none" if end is End.DRAW else board.turn.other.value
    facts: Details = {"ply": board.discs, "result": end.value, "winner": winner, "kernel": kernel_mode(kernel)}
    if end is not End.DRAW:
        facts |= {"fours": len(list(find_fours(board.rows))), "four": describe_fours(board)}
    return Answer(solutions=iter([(end,)]), count=1, details=facts, pictures={"end": render_svg(board)})


def _columns_table(board: Board, scores: Mapping[int, int]) -> Table:
    rows: list[tuple[str | int, ...]] = []
    for column, letter in enumerate(LETTERS, 1):
        score = scores.get(column)
        result = ("-", "full") if score is None else (score, describe_score(score, board.discs, board.turn))
        rows.append((f"{column} ({letter})", *result))
    return Table("The columns", ("Column", "Score", "Played perfectly from there"), rows)


class Solver:
    """Scores the columns of one undecided position."""

    def __init__(self, board: Board, runtime: SearchRuntime) -> None:
        self.board, self.runtime = board, runtime
        self.position = position_of(board)
        self.book: Book = load_book(runtime.cache)
        self.search = Search(runtime, board.discs, f"{board.discs} discs", self.book.score, self.book.plies)
        self.low, self.high = min_score(board.discs), max_score(board.discs)
        self._worker_nodes = 0  # positions searched by workers
        self._checkpoint = Checkpoint(runtime, BOUNDS_NAME, self.position.key, interval=10.0)

    @property
    def score(self) -> int:
        """The score of the position, after `score_columns`."""
        return self.low

    @property
    def result(self) -> str:
        """The score of the position in words."""
        return describe_score(self.score, self.board.discs, self.board.turn)

    @property
    def nodes(self) -> int:
        """The number of positions searched."""
        return self.search.nodes + self._worker_nodes

    def score_columns(self) -> tuple[dict[int, int], list[int]]:
        """Return the scores of the columns that are not full, and the best ones."""
        if saved := self._checkpoint.load():
            self.low, self.high = saved.values["bounds"]
        with self._checkpoint.guard(self._state, self._describe_bounds) as save_sometimes:

            def on_bounds(low: int, high: int) -> None:
                self.low, self.high = low, high
                save_sometimes()

            self.search.exact_score(self.position, self.low, self.high, on_bounds)
            columns, squares = zip(*self.position.moves(), strict=True)
            if self.board.discs > _EARLY_DISCS or self.runtime.cores == 1:
                scores = [self._score_move(square) for square in squares]
            else:
                scores = []
                for score, nodes in self.runtime.executor.map(self._score_move_in_worker, squares):
                    scores.append(score)
                    self._worker_nodes += nodes
        best = [column for column, score in zip(columns, scores, strict=True) if score == self.score]
        return dict(zip(columns, scores, strict=True)), best

    def _state(self) -> tuple[dict[str, object], tuple[()]]:
        return {"bounds": (self.low, self.high)}, ()

    def perfect_line(self, column: int) -> Solution:
        """Return a perfect game that begins with `column`, one of the best. Raises Interrupted."""
        columns: list[int | End] = []
        position, score, turn = self.position, self.score, self.board.turn
        while True:
            square = position.square(column)
            columns.append(column)
            if position.wins(square):
                return (*columns, End(f"{turn} wins"))
            position, score, turn = position.play(square), -score, turn.other
            if position.discs == SQUARES:
                return (*columns, End.DRAW)
            column = self._best_column(position, score)

    def _best_column(self, position: Position, score: int) -> int:
        moves = list(position.moves())
        for column, square in moves:
            if position.wins(square):
                return column
        for column, square in moves[:-1]:
            after = position.play(square)
            if after.discs == SQUARES or not self.search.is_at_least(after, 1 - score):
                return column
        return moves[-1][0]  # one of the columns has this score, so the last one needs no search

    def _score_move(self, square: int) -> int:
        """Return the score of a move: at most the score of the position."""
        position = self.position
        if position.wins(square):
            return max_score(position.discs)
        after = position.play(square)
        return -self.search.exact_score(after, -self.score) if after.discs < SQUARES else 0

    def _score_move_in_worker(self, square: int) -> tuple[int, int]:
        """Return the score of a move and the number of positions searched."""
        before = self.search.nodes
        return self._score_move(square), self.search.nodes - before

    def _describe_bounds(self) -> str:
        if self.low == self.high:
            return f"{self.result}; the best columns are not known yet"
        return f"the score of {self.board.turn}, to move, is from {self.low} to {self.high}"


def hint(board: Board | str, runtime: SearchRuntime = SERIAL) -> str:
    """Return the best move in words. Raises Interrupted.

    >>> from pi_appliance.puzzles import connect_four
    >>> connect_four.hint("squeeze")
    'Red plays column 3, to C3: Red wins with move 41'
    """
    board = load_board(board, Board)
    end = game_end(board)
    if end:
        return f"the game is over: {end}"
    solver = Solver(board, runtime)
    _, (column, *_) = solver.score_columns()
    square = square_of(solver.position.square(column))
    return f"{board.turn} plays column {column}, to {square}: {solver.result}"


MIN_DISCS, MAX_DISCS = 12, 34  # discs: fewer take too long to solve, more are too easy


def generate(seed: int, board: Board | str = "squeeze", runtime: SearchRuntime = SERIAL) -> GeneratedBoard[Board]:
    """Generate a position like `board` with 12 to 34 discs and one best move.

    >>> from pi_appliance.puzzles import connect_four
    >>> connect_four.generate(7).details["best_column"]
    '4 (D)'
    """
    board = load_board(board, Board)
    discs = min(max(board.discs, MIN_DISCS), MAX_DISCS)
    random = Random(seed)  # noqa: S311 - nothing here is secret
    tried = 0
    while True:
        tried += 1
        runtime.report_progress(None, f"random game {tried}")
        if (generated := _play_random_game(random, discs, board)) is None:
            continue
        position = position_of(generated)
        sides = position, Position(position.own ^ position.mask, position.mask)
        if any(side.wins(square) for side in sides for _, square in position.moves()):
            continue
        solver = Solver(generated, runtime)
        scores, best = solver.score_columns()
        if len(best) == 1 < len(scores):
            name = f"{best[0]} ({LETTERS[best[0] - 1]})"
            details: Details = {"ply": discs, "score": solver.score, "best_column": name, "result": solver.result}
            return GeneratedBoard(generated, details)


def _play_random_game(random: Random, discs: int, like: Board) -> Board | None:
    board, columns = with_rules(EMPTY_BOARD, {"first": like.first}), list[int]()
    for _ in range(discs):
        columns.append(random.choice([each for each in range(1, 8) if board.height(each) < 6]))
        board = board.play(columns[-1])
        if game_end(board):
            return None
    return Board(board.rows, board.turn, tuple(columns))
