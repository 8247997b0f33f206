"""The perfect player: the score of every column, and how the game goes on if both play as well as can be."""

from array import array
from collections.abc import Mapping

from pi_appliance.puzzles import SolveMode, SolveResult, Table, kernel_mode
from pi_appliance.puzzles.connect_four import kernel
from pi_appliance.puzzles.connect_four.board import LETTERS, SQUARES, Board, End, Solution, ended, fours, winning
from pi_appliance.puzzles.connect_four.book import Book, load
from pi_appliance.puzzles.connect_four.position import (
    Position,
    highest,
    in_words,
    lowest,
    position_of,
    square_of,
)
from pi_appliance.puzzles.connect_four.render import render_scores, render_svg
from pi_appliance.puzzles.connect_four.search import Search
from pi_appliance.puzzles.runtime.interface import Interrupted, SearchRuntime, save_checkpoint

KEPT = "connect-four/bounds-2-"  # what is proven of a position, whose key follows
_MAGIC = 0x626F756E64733031
_EARLY = 14  # discs up to which it takes so long that all cores are used, and what is proven is kept
_SLOW = 10.0  # seconds; what takes less is kept only if it is cut off: a card does not last forever


def solve(board: Board, mode: SolveMode, runtime: SearchRuntime) -> SolveResult:
    """Return who wins, when, by which columns, and a line to the end. Raises Interrupted, with the bounds proven.

    Every column is scored. FIRST gives one perfect line, ALL one for each of the best columns. A game that is over has
    one line, without a move.
    """
    end = ended(board)
    if end:
        return _over(board, end)
    player = Solver(board, runtime)
    scores = player.scores()
    best = [column for column, score in scores.items() if score == player.score]
    columns = best if mode is SolveMode.ALL else best[:1]
    return SolveResult(
        solutions=(player.line(column) for column in columns),
        nodes_searched=lambda: player.tried,
        count=len(best),
        details={
            "ply": board.discs,
            "to_move": board.turn.value,
            "result": in_words(player.score, board.discs, board.turn),
            "score": player.score,
            "best_columns": " ".join(f"{column} ({LETTERS[column - 1]})" for column in sorted(best)),
            "kernel": kernel_mode(kernel),
            "opening_book": str(player.book),
        },
        tables=(_table(board, scores),),
        pictures={"scores": render_scores(board, scores)},
    )


def _over(board: Board, end: End) -> SolveResult:
    facts: dict[str, int | str] = {
        "ply": board.discs,
        "result": end.value,
        "winner": "nobody",
        "kernel": kernel_mode(kernel),
    }
    if end is not End.DRAW:
        facts |= {"winner": board.turn.other.value, "fours": sum(1 for _ in fours(board.rows)), "four": winning(board)}
    return SolveResult(solutions=iter([(end,)]), count=1, details=facts, pictures={"end": render_svg(board)})


def _table(board: Board, scores: Mapping[int, int]) -> Table:
    headers = ("Column", "Score", "Played perfectly from there")
    rows: list[tuple[str | int, ...]] = []
    for column, letter in enumerate(LETTERS, 1):
        name = f"{column} ({letter})"
        if column in scores:
            rows.append((name, scores[column], in_words(scores[column], board.discs, board.turn)))
        else:
            rows.append((name, "-", "full"))
    return Table("The columns", headers, rows)


class Solver:
    """What is found out of one position that is not decided."""

    def __init__(self, board: Board, runtime: SearchRuntime) -> None:
        self.board, self.runtime = board, runtime
        self.position = position_of(board)
        self.book: Book = load(runtime.cache)
        self.search = Search(runtime, board.discs, f"{board.discs} discs", self.book.score, self.book.plies)
        self.low, self.high = lowest(board.discs), highest(board.discs)
        self._elsewhere = 0  # positions that other cores looked at
        self._name, self._began = f"{KEPT}{self.position.key:013x}", runtime.monotonic()

    @property
    def score(self) -> int:
        """The score of the position, once it is known."""
        return self.low

    @property
    def tried(self) -> int:
        """How many positions were looked at."""
        return self.search.tried + self._elsewhere

    def scores(self) -> dict[int, int]:
        """Return the score of each column with room, for who is to move. Raises Interrupted."""
        try:
            self._settle()
            moves = list(self.position.moves())
            if self.board.discs > _EARLY or self.runtime.cores == 1:
                found = [self._worth(square) for _, square in moves]
            else:
                found = []
                for worth, tried in self.runtime.executor.map(self._elsewhere_worth, [square for _, square in moves]):
                    found.append(worth)
                    self._elsewhere += tried
        except Interrupted as end:
            end.partial_result = self._proven() + self._keep()
            raise
        if self.board.discs <= _EARLY:
            self.runtime.cache.remove(self._name)
        return {column: score for (column, _), score in zip(moves, found, strict=True)}

    def line(self, column: int) -> Solution:
        """Return a perfect line that begins with COLUMN, one of the best. Raises Interrupted."""
        columns: list[int | End] = []
        position, score, turn = self.position, self.score, self.board.turn
        while True:
            square = position.square(column)
            columns.append(column)
            if position.wins(square):
                return (*columns, End(f"{turn} wins"))
            position, score, turn = position.played(square), -score, turn.other
            if position.discs == SQUARES:
                return (*columns, End.DRAW)
            column = self._best(position, score)

    def _best(self, position: Position, score: int) -> int:
        """Return a column that keeps the SCORE of POSITION."""
        moves = list(position.moves())
        for column, square in moves:
            if position.wins(square):
                return column
        for column, square in moves[:-1]:
            after = position.played(square)
            if after.discs == SQUARES or not self.search.reaches(after, 1 - score):
                return column
        return moves[-1][0]  # one of them does, so that the last one need not be looked at

    def _settle(self) -> None:
        """Find the score, going on from what was proven before."""
        if self.board.discs <= _EARLY:
            self.low, self.high = self._kept()
        self.search.exact(self.position, self.low, self.high, self._narrowed)

    def _narrowed(self, low: int, high: int) -> None:
        self.low, self.high = low, high
        if self.runtime.monotonic() - self._began > _SLOW:
            self._keep()

    def _keep(self) -> str:
        """Keep what is proven for the next time; return what to say of it: nothing, or why it could not be saved."""
        if self.board.discs > _EARLY:
            return ""
        numbers = array("Q", (_MAGIC, self.position.key, self.low + 32, self.high + 32))
        return save_checkpoint(self.runtime.cache.save, self._name, [numbers.tobytes()])

    def _kept(self) -> tuple[int, int]:
        kept = self.runtime.cache.load(self._name)
        if kept is not None and kept.nbytes == 32:
            magic, key, low, high = kept.cast("B").cast("Q")
            if (magic, key) == (_MAGIC, self.position.key) and self.low <= low - 32 <= high - 32 <= self.high:
                return low - 32, high - 32
        return self.low, self.high

    def _worth(self, square: int) -> int:
        """Return the score of a move to SQUARE: the position's own score at most."""
        position = self.position
        if position.wins(square):
            return highest(position.discs)
        after = position.played(square)
        return -self.search.exact(after, -self.score) if after.discs < SQUARES else 0

    def _elsewhere_worth(self, square: int) -> tuple[int, int]:
        """Return the score of a move to SQUARE, and how many positions were looked at: in a copy of this process."""
        before = self.search.tried
        return self._worth(square), self.search.tried - before

    def _proven(self) -> str:
        board = self.board
        if self.low == self.high:
            return f"{in_words(self.score, board.discs, board.turn)}; which columns do that is not yet known"
        return f"the score of {board.turn}, who is to move, is from {self.low} to {self.high}"


def hint(board: Board, runtime: SearchRuntime) -> str:
    """Return the best move in words. Raises Interrupted."""
    end = ended(board)
    if end:
        return f"the game is over: {end}"
    player = Solver(board, runtime)
    scores = player.scores()
    column = next(column for column, score in scores.items() if score == player.score)
    square = square_of(player.position.square(column))
    what = in_words(player.score, board.discs, board.turn)
    return f"{board.turn} plays column {column}, to {square}: {what}"
