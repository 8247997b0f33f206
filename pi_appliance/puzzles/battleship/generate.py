"""Makes battleship boards: a fleet at random, and random shots at it."""

from dataclasses import replace
from random import Random

from pi_appliance.errors import Refused
from pi_appliance.puzzles import GeneratedBoard
from pi_appliance.puzzles.battleship.board import HIT, MISS, SUNK, UNKNOWN, Board, Square
from pi_appliance.puzzles.battleship.fit import Placement, places
from pi_appliance.puzzles.runtime.interface import SearchRuntime

STARTS = 2_000  # fleets begun before it is given up; one in a few is laid to the end where there is room to spare
SHOT = 0.35  # of all squares


def generate(seed: int, board: Board, runtime: SearchRuntime) -> GeneratedBoard:
    """Return a board of the size, fleet and rules of BOARD, as somebody knows it who has shot at a third of it.

    Raises Refused if no fleet could be laid; Interrupted.
    """
    random = Random(seed)  # noqa: S311 - a game, and the same again for the same seed
    empty = replace(board, rows=(UNKNOWN * board.width,) * board.height, known=())
    fleet = _laid(empty, random, runtime)
    squares = list(empty.marked(UNKNOWN))
    random.shuffle(squares)
    shot = dict.fromkeys(squares[: max(1, round(SHOT * len(squares)))], MISS)
    known = tuple(sorted(place.ship for place in fleet if shot.keys() >= set(place.ship.squares)))
    for place in fleet:
        shot.update(dict.fromkeys(shot.keys() & set(place.ship.squares), SUNK if place.ship in known else HIT))
    rows = tuple("".join(shot.get(Square(x, y), UNKNOWN) for x in range(board.width)) for y in range(board.height))
    hits = sum(mark != MISS for mark in shot.values())
    return GeneratedBoard(
        replace(empty, rows=rows, known=known), {"shots": len(shot), "hits": hits, "sunk_ships": len(known)}
    )


def _laid(board: Board, random: Random, runtime: SearchRuntime) -> list[Placement]:
    """Return a legal fleet: ship after ship where there is room, the longest first, begun anew where there is none."""
    there = places(board)
    for start in range(STARTS):
        runtime.report_progress(None, f"fleet {start + 1} laid at random")
        fleet: list[Placement] = []
        taken = 0
        for length in board.fleet:
            room = [place for place in there if place.length == length and not place.body & taken]
            if not room:
                break
            fleet.append(random.choice(room))
            taken |= fleet[-1].zone
        if len(fleet) == len(board.fleet):
            return fleet
    raise Refused(f"no fleet could be laid at random in {STARTS:,} tries; take a larger sea, or fewer or shorter ships")
