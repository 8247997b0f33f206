"""Generate positions with a single best move by random play."""

from random import Random

from pi_appliance.puzzles import GeneratedBoard
from pi_appliance.puzzles.connect_four.board import EMPTY_BOARD, LETTERS, Board, game_end, with_rules
from pi_appliance.puzzles.connect_four.search import Position, describe_score, position_of
from pi_appliance.puzzles.connect_four.solve import Solver
from pi_appliance.puzzles.runtime.interface import SearchRuntime

MIN_DISCS, MAX_DISCS = 12, 34  # discs: fewer take too long to solve, more are too easy


def generate(seed: int, board: Board, runtime: SearchRuntime) -> GeneratedBoard:
    """Generate a position with as many discs as `board` (12 to 34) and one best move. The same seed gives the same one.

    Neither side can win with its next disc. Raises Interrupted.
    """
    discs = min(max(board.discs, MIN_DISCS), MAX_DISCS)
    random = Random(seed)  # noqa: S311 - nothing here is secret
    tried = 0
    while True:
        tried += 1
        runtime.report_progress(None, f"random game {tried}")
        generated = _play_random_game(random, discs, board)
        if generated is None:
            continue
        if _wins_at_once(position_of(generated)):
            continue
        solver = Solver(generated, runtime)
        scores = solver.score_columns()
        best = [column for column, score in scores.items() if score == solver.score]
        if len(best) == 1 < len(scores):
            result = describe_score(solver.score, discs, generated.turn)
            name = f"{best[0]} ({LETTERS[best[0] - 1]})"
            return GeneratedBoard(
                generated, {"ply": discs, "score": solver.score, "best_column": name, "result": result}
            )


def _wins_at_once(position: Position) -> bool:
    other = Position(position.own ^ position.mask, position.mask)
    return any(side.wins(square) for side in (position, other) for _, square in position.moves())


def _play_random_game(random: Random, discs: int, like: Board) -> Board | None:
    """Return a position with `discs` discs, or None if the game ends earlier."""
    board, columns = with_rules(EMPTY_BOARD, {"first": like.first}), list[int]()
    for _ in range(discs):
        column = random.choice([each for each in range(1, 8) if board.height(each) < 6])
        board = board.play(column)
        columns.append(column)
        if game_end(board):
            return None
    return Board(board.rows, board.turn, tuple(columns))
