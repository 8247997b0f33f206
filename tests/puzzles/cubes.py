"""Cubes for the tests, and a cube of the tests' own: strips of stickers that a hand pushes around."""

import random

from pi_appliance.puzzles.rubiks_cube.board import FACES, TURNS, Board
from pi_appliance.puzzles.runtime.interface import SerialRuntime

SOLVED = "".join(face * 9 for face in FACES)
SUPERFLIP = "U R2 F B R B2 R U2 L B2 R U' D' R2 F R' L B2 U2 F2"
# Of each face, the four strips beside it: each goes to the next one when the face turns clockwise.
_STRIPS = {
    "U": ((18, 19, 20), (36, 37, 38), (45, 46, 47), (9, 10, 11)),
    "R": ((20, 23, 26), (2, 5, 8), (51, 48, 45), (29, 32, 35)),
    "F": ((6, 7, 8), (9, 12, 15), (29, 28, 27), (44, 41, 38)),
    "D": ((24, 25, 26), (15, 16, 17), (51, 52, 53), (42, 43, 44)),
    "L": ((18, 21, 24), (27, 30, 33), (53, 50, 47), (0, 3, 6)),
    "B": ((0, 1, 2), (42, 39, 36), (35, 34, 33), (11, 14, 17)),
}
_ROUND = ((0, 2, 8, 6), (1, 5, 7, 3))


def replayed(facelets: str, line: tuple[str, ...]) -> str:
    """Return the stickers of a 3x3x3 after LINE."""
    stickers = list(facelets)
    for move in line:
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
    """Say whether a 3x3x3 has one colour a face."""
    return all(len(set(facelets[at : at + 9])) == 1 for at in range(0, 54, 9))


def scramble(chance: random.Random, length: int) -> tuple[str, ...]:
    """Return LENGTH moves at random, none of the face before."""
    moves: list[str] = []
    while len(moves) < length:
        move = chance.choice(TURNS)
        if not moves or moves[-1][0] != move[0]:
            moves.append(move)
    return tuple(moves)


def undone(line: tuple[str, ...]) -> tuple[str, ...]:
    """Return what undoes LINE."""
    return tuple(move[0] + {"": "'", "2": "2", "'": ""}[move[1:]] for move in reversed(line))


def after(line: tuple[str, ...]) -> Board:
    """Return a solved 3x3x3 after LINE."""
    return Board(3, replayed(SOLVED, line))


def runtime() -> SerialRuntime:
    """Return work whose clock stands still, so that answers are the same again; all share one shelf."""
    alone = SerialRuntime()
    alone.cache = _SHELF
    return alone


_SHELF = SerialRuntime().cache
