"""Makes Connect Four positions to think about: chance plays up to a position with a single best move."""

from random import Random

from pi_appliance.puzzles import GeneratedBoard
from pi_appliance.puzzles.connect_four.board import LETTERS, NOTHING, Board, ended, with_rules
from pi_appliance.puzzles.connect_four.position import Position, in_words, position_of
from pi_appliance.puzzles.connect_four.solve import Solver
from pi_appliance.puzzles.runtime.interface import SearchRuntime

FEWEST, MOST = 12, 34  # discs: with fewer it takes too long, with more there is too little to think about


def generate(seed: int, board: Board, runtime: SearchRuntime) -> GeneratedBoard:
    """Make a position with as many discs as BOARD (from 12 to 34) and one best move, the same for the same SEED.

    Neither colour can win with its next disc. Raises Interrupted.
    """
    discs = min(max(board.discs, FEWEST), MOST)
    random = Random(seed)  # noqa: S311 - nothing here is secret
    tried = 0
    while True:
        tried += 1
        runtime.report_progress(None, f"game {tried} played by chance")
        made = _played(random, discs, board)
        if made is None:
            continue
        if _wins_at_once(position_of(made)):
            continue
        player = Solver(made, runtime)
        scores = player.scores()
        best = [column for column, score in scores.items() if score == player.score]
        if len(best) == 1 < len(scores):
            result = in_words(player.score, discs, made.turn)
            name = f"{best[0]} ({LETTERS[best[0] - 1]})"
            return GeneratedBoard(made, {"ply": discs, "score": player.score, "best_column": name, "result": result})


def _wins_at_once(position: Position) -> bool:
    other = Position(position.own ^ position.mask, position.mask)
    return any(side.wins(square) for side in (position, other) for _, square in position.moves())


def _played(random: Random, discs: int, like: Board) -> Board | None:
    """Return a position with DISCS discs, or None if the game ends before that."""
    board, columns = with_rules(NOTHING, {"first": like.first}), list[int]()
    for _ in range(discs):
        column = random.choice([each for each in range(1, 8) if board.height(each) < 6])
        board = board.played(column)
        columns.append(column)
        if ended(board):
            return None
    return Board(board.rows, board.turn, tuple(columns))
