"""Cubes for tests, and an independent model that moves strips of stickers."""

import random

from pi_appliance.puzzles.rubiks_cube.board import FACES, TURN_NAMES, Board
from pi_appliance.puzzles.runtime import SearchRuntime

SOLVED = "".join(face * 9 for face in FACES)
SUPERFLIP = "U R2 F B R B2 R U2 L B2 R U' D' R2 F R' L B2 U2 F2"
# The four strips around each face: each moves to the next when the face turns clockwise.
_STRIPS = {
    "U": ((18, 19, 20), (36, 37, 38), (45, 46, 47), (9, 10, 11)),
    "R": ((20, 23, 26), (2, 5, 8), (51, 48, 45), (29, 32, 35)),
    "F": ((6, 7, 8), (9, 12, 15), (29, 28, 27), (44, 41, 38)),
    "D": ((24, 25, 26), (15, 16, 17), (51, 52, 53), (42, 43, 44)),
    "L": ((18, 21, 24), (27, 30, 33), (53, 50, 47), (0, 3, 6)),
    "B": ((0, 1, 2), (42, 39, 36), (35, 34, 33), (11, 14, 17)),
}
_ROUND = ((0, 2, 8, 6), (1, 5, 7, 3))


def apply_moves(facelets: str, moves: tuple[str, ...]) -> str:
    """Return the stickers of a 3x3x3 after `moves`."""
    stickers = list(facelets)
    for move in moves:
        for _ in range({"": 1, "2": 2, "'": 3}[move[1:]]):
            stickers = _quarter(stickers, move[0])
    return "".join(stickers)


def _quarter(stickers: list[str], face: str) -> list[str]:
    first = 9 * FACES.index(face)
    turned = list(stickers)
    rings = [tuple(first + at for at in ring) for ring in _ROUND]
    strips = _STRIPS[face]
    rings += [tuple(strip[at] for strip in strips) for at in range(3)]
    for ring in rings:
        for here, there in zip(ring, (*ring[1:], ring[0]), strict=True):
            turned[there] = stickers[here]
    return turned


def is_solved(facelets: str) -> bool:
    """Return whether each face of a 3x3x3 has one colour."""
    return all(len(set(facelets[at : at + 9])) == 1 for at in range(0, 54, 9))


def random_moves(rng: random.Random, length: int) -> tuple[str, ...]:
    """Return random moves, no face twice in a row."""
    moves: list[str] = []
    while len(moves) < length:
        move = rng.choice(TURN_NAMES)
        if not moves or moves[-1][0] != move[0]:
            moves.append(move)
    return tuple(moves)


def invert_moves(moves: tuple[str, ...]) -> tuple[str, ...]:
    """Return the inverse of `moves`."""
    return tuple(move[0] + {"": "'", "2": "2", "'": ""}[move[1:]] for move in reversed(moves))


def scrambled_board(moves: tuple[str, ...]) -> Board:
    """Return a solved 3x3x3 after `moves`."""
    return Board(3, apply_moves(SOLVED, moves))


def runtime() -> SearchRuntime:
    """Return a runtime without a clock, for reproducible answers; all share one cache."""
    alone = SearchRuntime()
    alone.cache = _CACHE
    return alone


_CACHE = SearchRuntime().cache
