"""Generate random Panguru boards, the same for the same seed."""

from dataclasses import replace
from random import Random

from pi_appliance.puzzles import GeneratedBoard
from pi_appliance.puzzles.panguru.board import HOLE, HOME, Board, reachable_places
from pi_appliance.puzzles.panguru.solvable import explain_unsolvable
from pi_appliance.puzzles.runtime.interface import SearchRuntime

RANDOM_MOVES = 1_000  # far more than any board needs


def generate(seed: int, board: Board, runtime: SearchRuntime) -> GeneratedBoard:  # noqa: ARG001
    """Generate a random solvable board with the colours and the moves of `board`."""
    return GeneratedBoard(replace(shuffle_board(seed, board), random_boards=board.random_boards))


def shuffle_board(seed: int, board: Board) -> Board:
    """Shuffle plates and pebbles of `board`. Every board is equally likely.

    If the result is unsolvable, the pebbles are moved at random from the goal position instead.
    """
    random = Random(seed)  # noqa: S311 - a game that must be the same for the same seed
    colours = sorted(board.plates.replace(HOME, ""))
    plates, pebbles = [HOME, *colours], [HOLE, *colours]
    random.shuffle(plates)
    random.shuffle(pebbles)
    shuffled = Board("".join(plates), "".join(pebbles), board.custom_lines)
    if not explain_unsolvable(shuffled):
        return shuffled
    pebbles = [plate.replace(HOME, HOLE) for plate in plates]
    reachable, hole = reachable_places(shuffled), plates.index(HOME)
    for _ in range(RANDOM_MOVES):
        if reachable[hole]:
            start = random.choice(reachable[hole])
            pebbles[hole], pebbles[start] = pebbles[start], HOLE
            hole = start
    return replace(shuffled, pebbles="".join(pebbles))
