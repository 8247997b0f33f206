"""Possible placements of single ships as bit masks, and the squares that each one blocks."""

from collections.abc import Iterable
from dataclasses import replace
from functools import lru_cache, reduce
from operator import or_
from random import Random
from typing import NamedTuple

from pi_appliance.errors import Refused
from pi_appliance.puzzles import GeneratedBoard
from pi_appliance.puzzles.battleship.board import HIT, MISS, SUNK, UNKNOWN, Board, Ship, Square
from pi_appliance.puzzles.runtime import SERIAL, SearchRuntime

SIDES = ((1, 0), (-1, 0), (0, 1), (0, -1))
CORNERS = ((1, 1), (1, -1), (-1, 1), (-1, -1))
BLOCKED_NEIGHBOURS = {"allowed": (), "corners": SIDES, "never": SIDES + CORNERS}


class Placement(NamedTuple):
    """A possible position of one ship. Masks have bit y * width + x for each square."""

    ship: Ship
    length: int
    mask: int  # the squares of the ship
    blocked: int  # the squares of the ship and its neighbours where no other ship may lie


def find_placements(board: Board) -> list[Placement]:
    """List the placements that the marks allow, longest ships first, then in reading order."""
    miss, sunk, hit = (mark_mask(board, mark) for mark in (MISS, SUNK, HIT))
    occupied = hit | sunk
    sunk_squares = union_masks(_to_mask(ship.squares, board.width) for ship in board.sunk_ships)
    lengths = tuple(sorted(set(board.fleet), reverse=True))
    return [
        place
        for place in _open_sea_placements(board.width, board.height, lengths, board.touching)
        if not place.mask & miss
        and place.mask & sunk in (0, place.mask)
        and not occupied & place.blocked & ~place.mask
        and not (place.mask & sunk_squares and place.ship not in board.sunk_ships)
        and not (board.sinking == "announced" and place.mask & hit == place.mask)
    ]


def mark_mask(board: Board, marks: str) -> int:
    """Return the mask of the squares that carry any mark in `marks`."""
    return _to_mask(board.find_marks(marks), board.width)


def union_masks(masks: Iterable[int]) -> int:
    """Return the union of `masks`."""
    return reduce(or_, masks, 0)


@lru_cache(maxsize=8)
def _open_sea_placements(width: int, height: int, lengths: tuple[int, ...], touching: str) -> tuple[Placement, ...]:
    """List all placements on a sea without marks. Cached, because every query starts from it."""
    ships = [
        Ship(Square(x, y), Square(x + right * (length - 1), y + down * (length - 1)))
        for length in lengths
        for y in range(height)
        for x in range(width)
        for right, down in ((1, 0), (0, 1))
        if x + right * (length - 1) < width and y + down * (length - 1) < height and (right or length > 1)
    ]
    return tuple(_make_placement(ship, width, height, touching) for ship in ships)


def _make_placement(ship: Ship, width: int, height: int, touching: str) -> Placement:
    neighbours = {
        Square(square.x + right, square.y + down)
        for square in ship.squares
        for right, down in BLOCKED_NEIGHBOURS[touching]
        if 0 <= square.x + right < width and 0 <= square.y + down < height
    }
    mask = _to_mask(ship.squares, width)
    return Placement(ship, len(ship.squares), mask, mask | _to_mask(neighbours, width))


def _to_mask(squares: Iterable[Square], width: int) -> int:
    return union_masks(1 << (y * width + x) for x, y in squares)


MAX_ATTEMPTS = 2_000  # fleets; with enough room, one in a few succeeds
SHOT_SHARE = 0.35  # of all squares


def generate(seed: int, board: Board, runtime: SearchRuntime = SERIAL) -> GeneratedBoard[Board]:
    """Generate a game under way with the rules of `board`. Raises Refused, Interrupted."""
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
