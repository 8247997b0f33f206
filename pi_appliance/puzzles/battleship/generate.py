"""Generate battleship boards: a random fleet, and random shots at it."""

from dataclasses import replace
from random import Random

from pi_appliance.errors import Refused
from pi_appliance.puzzles import GeneratedBoard
from pi_appliance.puzzles.battleship.board import HIT, MISS, SUNK, UNKNOWN, Board, Square
from pi_appliance.puzzles.battleship.placements import Placement, find_placements
from pi_appliance.puzzles.runtime.interface import SearchRuntime

MAX_ATTEMPTS = 2_000  # fleets; with enough room, one in a few succeeds
SHOT_SHARE = 0.35  # of all squares


def generate(seed: int, board: Board, runtime: SearchRuntime) -> GeneratedBoard:
    """Generate a game under way with the size, fleet and rules of `board`.

    Raises:
        Refused: No fleet could be placed.
        Interrupted: The runtime stopped the search.

    """
    random = Random(seed)  # noqa: S311 - a game that must be the same for the same seed
    empty = replace(board, rows=(UNKNOWN * board.width,) * board.height, sunk_ships=())
    fleet = _place_fleet(empty, random, runtime)
    squares = list(empty.find_marks(UNKNOWN))
    random.shuffle(squares)
    shots = dict.fromkeys(squares[: max(1, round(SHOT_SHARE * len(squares)))], MISS)
    sunk_ships = tuple(sorted(place.ship for place in fleet if shots.keys() >= set(place.ship.squares)))
    for place in fleet:
        mark = SUNK if place.ship in sunk_ships else HIT
        shots.update(dict.fromkeys(shots.keys() & set(place.ship.squares), mark))
    rows = tuple("".join(shots.get(Square(x, y), UNKNOWN) for x in range(board.width)) for y in range(board.height))
    hits = sum(mark != MISS for mark in shots.values())
    return GeneratedBoard(
        replace(empty, rows=rows, sunk_ships=sunk_ships),
        {"shots": len(shots), "hits": hits, "sunk_ships": len(sunk_ships)},
    )


def _place_fleet(board: Board, random: Random, runtime: SearchRuntime) -> list[Placement]:
    """Place the fleet at random, longest ships first. Start again if a ship has no room."""
    places = find_placements(board)
    for attempt in range(MAX_ATTEMPTS):
        runtime.report_progress(None, f"attempt {attempt + 1} to place a random fleet")
        fleet: list[Placement] = []
        blocked = 0
        for length in board.fleet:
            candidates = [place for place in places if place.length == length and not place.mask & blocked]
            if not candidates:
                break
            fleet.append(random.choice(candidates))
            blocked |= fleet[-1].blocked
        if len(fleet) == len(board.fleet):
            return fleet
    raise Refused(
        f"no fleet could be placed at random in {MAX_ATTEMPTS:,} attempts; use a larger sea, or fewer or shorter ships"
    )
