"""Benchmark of Connect Four against the original method and a public solver: `pip install bitbully`.

The original method is rewritten from its description: after each move, it checks every window of a board with a margin.
"""

import importlib
import random
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from pi_appliance.puzzles import connect_four, kernel_mode
from pi_appliance.puzzles.connect_four import kernel
from pi_appliance.puzzles.connect_four.board import game_end
from pi_appliance.puzzles.connect_four.search import EMPTY_POSITION, Position, Search, last_move_number
from pi_appliance.puzzles.runtime import SearchRuntime

GAMES = 300
POSITIONS = {22: 200, 18: 100, 14: 40, 12: 20}  # number of positions by number of discs
SLOW = {22: 100, 18: 30, 14: 4}  # the same, in plain Python


def rows() -> Iterator[tuple[str, str, str, str]]:
    """Yield the measure, our time, the time of the peer, and the ratio."""
    yield _compare_winners()
    compiled = kernel_mode(kernel) == "compiled"
    peer = _peer()
    for discs, number in (POSITIONS if compiled else SLOW).items():
        yield _compare_scores(discs, number, peer)
    if peer is None:
        yield "bitbully", "-", "not installed: pip install bitbully", "-"


def _compare_winners() -> tuple[str, str, str, str]:
    """Measure the winner of a list of moves, reading included."""
    chance = random.Random(1)
    games = [_random_game(chance, 42)[1] for _ in range(GAMES)]
    lists = [[f"{'ABCDEFG'[at]}_{('Red', 'Yellow')[turn % 2]}" for turn, at in enumerate(game)] for game in games]
    texts = [" ".join(moves) for moves in lists]
    ours, ends = _timed(lambda: [game_end(connect_four.parse(text, "game")) for text in texts])
    theirs, winners = _timed(lambda: [_find_winner_by_original(moves) for moves in lists])
    assert [str(end).split()[0].casefold() for end in ends] == [winner.casefold() for winner in winners]
    return (
        f"the winner of {GAMES} lists of moves",
        f"{GAMES / ours:,.0f}/s",
        f"{GAMES / theirs:,.0f}/s",
        _ratio(theirs, ours),
    )


def _compare_scores(
    discs: int, number: int, peer: Callable[[Sequence[int]], tuple[float, int]] | None
) -> tuple[str, str, str, str]:
    """Measure the exact score of random positions, each with an empty table."""
    chance = random.Random(discs)
    positions = [_undecided_position(chance, discs) for _ in range(number)]
    seconds, node_count, scores = 0.0, 0, []
    for position, _ in positions:
        search = Search(SearchRuntime(), discs, "benchmark")
        spent, score = _timed(lambda search=search, position=position: search.exact_score(position))
        seconds += spent
        node_count += search.nodes
        scores.append(score)
    ours = f"{1000 * seconds / number:,.2f} ms, {node_count / seconds:,.0f} positions/s"
    what = f"the score with {discs} discs, mean of {number}"
    if peer is None:
        return what, ours, "-", "-"
    peer_results = [peer(moves) for _, moves in positions]
    theirs = sum(spent for spent, _ in peer_results)
    for mine, (_, other) in zip(scores, peer_results, strict=True):
        assert (mine > 0) - (mine < 0) == (other > 0) - (other < 0), "the winner is the same"
        assert mine == 0 or last_move_number(mine, discs) == last_move_number(other, discs)
    return what, ours, f"bitbully {1000 * theirs / number:,.2f} ms", _ratio(theirs, seconds)


def _peer() -> Callable[[Sequence[int]], tuple[float, int]] | None:
    """Return a function that times the public solver without a book, or None if it is not installed."""
    try:
        core: Any = importlib.import_module("bitbully.bitbully_core")
    except ImportError:
        return None
    solver = core.BitBullyCore()

    def score(moves: Sequence[int]) -> tuple[float, int]:
        board = core.BoardCore()
        board.setBoard(list(moves))
        solver.resetTranspositionTable()  # which takes longer than most searches, and is not counted
        return _timed(lambda: int(solver.mtdf(board, 0)))

    return score


def _random_game(chance: random.Random, discs: int) -> tuple[Position, list[int]]:
    """Return a random game of at most `discs` discs, and its columns from 0."""
    position, columns = EMPTY_POSITION, list[int]()
    while len(columns) < discs:
        column, square = chance.choice(list(position.moves()))
        won = position.wins(square)
        position = position.play(square)
        columns.append(column - 1)
        if won:
            break
    return position, columns


def _undecided_position(chance: random.Random, discs: int) -> tuple[Position, list[int]]:
    """Return an undecided position with `discs` discs and no immediate win."""
    while True:
        position, columns = _random_game(chance, discs + 1)
        if len(columns) == discs + 1:
            position = EMPTY_POSITION
            for column in columns[:discs]:
                position = position.play(position.square(column + 1))
            if not any(position.wins(square) for _, square in position.moves()):
                return position, columns[:discs]


def _find_winner_by_original(moves: Sequence[str]) -> str:  # noqa: C901 - like the original
    """Return the winner by the original method."""
    board = [[0] * 10 for _ in range(9)]
    for move in moves:
        piece = 1 if move[2:] == "Red" else 2
        for i, message in enumerate("ABCDEFG"):
            if move[0] == message:
                for k in range(6):
                    if board[k][i] == 0:
                        board[k][i] = piece
                        break
        for i in range(6):
            for j in range(7):
                for down, right, top in ((0, 1, i), (1, 0, i), (1, 1, i), (-1, 1, i + 3)):
                    count = 0
                    for step in range(4):
                        if board[top + down * step][j + right * step] != piece:
                            break
                        count += 1
                    if count == 4:
                        return "Red" if piece == 1 else "Yellow"
    return "draw"


def _timed(call: Callable[[], Any]) -> tuple[float, Any]:
    before = time.process_time()
    result = call()
    return time.process_time() - before, result


def _ratio(theirs: float, ours: float) -> str:
    return f"{theirs / ours:,.2f}x"
