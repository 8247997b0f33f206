"""Makes random Panguru boards: the same for the same seed."""

from dataclasses import replace
from random import Random

from pi_appliance.puzzles import GeneratedBoard
from pi_appliance.puzzles.panguru.board import HOLE, HOME, Board, reach
from pi_appliance.puzzles.panguru.solvable import why_not
from pi_appliance.puzzles.runtime.interface import SearchRuntime

STEPS = 1_000  # of a walk at random: far more than any board needs


def generate(seed: int, board: Board, runtime: SearchRuntime) -> GeneratedBoard:  # noqa: ARG001
    """Return a random board with the colours and the moves of BOARD; it can be solved."""
    return GeneratedBoard(replace(shuffled(seed, board), random=board.random))


def shuffled(seed: int, board: Board) -> Board:
    """Return the colours of BOARD as SEED shuffles them, plates and pebbles.

    Every board is equally likely. Where the moves cannot solve it, the hole is walked about from the end instead.
    """
    dice = Random(seed)  # noqa: S311 - a game, and the same again for the same seed
    colours = sorted(board.plates.replace(HOME, ""))
    plates, pebbles = [HOME, *colours], [HOLE, *colours]
    dice.shuffle(plates)
    dice.shuffle(pebbles)
    made = Board("".join(plates), "".join(pebbles), board.own)
    if not why_not(made):
        return made
    pebbles = [plate.replace(HOME, HOLE) for plate in plates]
    far, hole = reach(made), plates.index(HOME)
    for _ in range(STEPS):
        if far[hole]:
            start = dice.choice(far[hole])
            pebbles[hole], pebbles[start] = pebbles[start], HOLE
            hole = start
    return replace(made, pebbles="".join(pebbles))
