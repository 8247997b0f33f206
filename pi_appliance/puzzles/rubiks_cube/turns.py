"""Turns a cube by turning its stickers in space. The solvers do not use it: what they find is replayed with it.

Space: x to the right, y up, z towards who looks. A sticker is a place, in steps of two from the middle of the cube, and
the direction it looks in.
"""

import re
from functools import lru_cache
from typing import NamedTuple

Vector = tuple[int, int, int]

# Of each face in the order URFDLB: where it looks, and where right and down lead on the unfolded net.
_FACES: dict[str, tuple[Vector, Vector, Vector]] = {
    "U": ((0, 1, 0), (1, 0, 0), (0, 0, 1)),
    "R": ((1, 0, 0), (0, 0, -1), (0, -1, 0)),
    "F": ((0, 0, 1), (1, 0, 0), (0, -1, 0)),
    "D": ((0, -1, 0), (1, 0, 0), (0, 0, -1)),
    "L": ((-1, 0, 0), (0, 0, 1), (0, -1, 0)),
    "B": ((0, 0, -1), (-1, 0, 0), (0, -1, 0)),
}
# Slices and whole cubes turn as the face beside them does; the layers are counted from that face.
_AS_FACE = {"M": "L", "E": "D", "S": "F", "x": "R", "y": "U", "z": "F"}
WORD = re.compile(r"([URFDLB]w?|[urfdlbMESxyz])('2|2'?|'|3)?")


class Turn(NamedTuple):
    """Some layers turned clockwise by quarters, seen from a face; layer 0 is that face."""

    face: str
    layers: tuple[int, ...]
    quarters: int


def read_turn(word: str, side: int) -> Turn | None:
    """Return what WORD, such as R2, Rw', M or x, turns on a cube of SIDE; None if there is no such turn."""
    match = WORD.fullmatch(word)
    if not match:
        return None
    name, power = match[1], match[2] or ""
    quarters = {"": 1, "2": 2, "2'": 2, "'2": 2}.get(power, 3)
    if name in "xyz":
        return Turn(_AS_FACE[name], tuple(range(side)), quarters)
    if name in "MES":
        return Turn(_AS_FACE[name], (1,), quarters) if side == 3 else None
    if len(name) == 2 or name.islower():
        return Turn(name[0].upper(), (0, 1), quarters) if side == 3 else None
    return Turn(name, (0,), quarters)


def turned(facelets: str, side: int, turn: Turn) -> str:
    """Return the stickers FACELETS of a cube of SIDE after TURN."""
    comes_from = _origins(side, turn)
    return "".join([facelets[at] for at in comes_from])


@lru_cache(maxsize=256)
def _origins(side: int, turn: Turn) -> tuple[int, ...]:
    """Return of each sticker's place where the sticker that TURN brings there was."""
    places = _stickers(side)
    at = {sticker: number for number, sticker in enumerate(places)}
    axis = _FACES[turn.face][0]
    depths = {side - 1 - 2 * layer for layer in turn.layers}
    origins = list(range(len(places)))
    for number, (place, looks) in enumerate(places):
        if _dot(place, axis) in depths:
            moved = place, looks
            for _ in range(turn.quarters):
                moved = _quarter(moved[0], axis), _quarter(moved[1], axis)
            origins[at[moved]] = number
    return tuple(origins)


@lru_cache(maxsize=2)
def _stickers(side: int) -> tuple[tuple[Vector, Vector], ...]:
    steps = range(1 - side, side, 2)
    return tuple(
        (_sum(_times(looks, side - 1), _times(right, across), _times(down, below)), looks)
        for looks, right, down in _FACES.values()
        for below in steps
        for across in steps
    )


def _quarter(vector: Vector, axis: Vector) -> Vector:
    """Return VECTOR after a quarter turn around AXIS, clockwise for who looks against it."""
    (a, b, c), (x, y, z) = vector, axis
    across = (b * z - c * y, c * x - a * z, a * y - b * x)
    return _sum(across, _times(axis, _dot(vector, axis)))


def _dot(one: Vector, other: Vector) -> int:
    return one[0] * other[0] + one[1] * other[1] + one[2] * other[2]


def _times(vector: Vector, number: int) -> Vector:
    return vector[0] * number, vector[1] * number, vector[2] * number


def _sum(*vectors: Vector) -> Vector:
    return sum(v[0] for v in vectors), sum(v[1] for v in vectors), sum(v[2] for v in vectors)
