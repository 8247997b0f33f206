"""Turns a cube by turning its stickers in space. The solvers do not use it: what they find is replayed with it.

Space: x to the right, y up, z towards who looks. A sticker is a place, in steps of two from the middle of the cube, and
the direction it looks in.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from types import MappingProxyType
from typing import NamedTuple

from pi_appliance.errors import UnknownName, WrongArgument
from pi_appliance.puzzles import Rule

Vector = tuple[int, int, int]

# Of each face in the order URFDLB: where it looks, and where right and down lead on the unfolded net.
_FACE_VECTORS: dict[str, tuple[Vector, Vector, Vector]] = {
    "U": ((0, 1, 0), (1, 0, 0), (0, 0, 1)),
    "R": ((1, 0, 0), (0, 0, -1), (0, -1, 0)),
    "F": ((0, 0, 1), (1, 0, 0), (0, -1, 0)),
    "D": ((0, -1, 0), (1, 0, 0), (0, 0, -1)),
    "L": ((-1, 0, 0), (0, 0, 1), (0, -1, 0)),
    "B": ((0, 0, -1), (-1, 0, 0), (0, -1, 0)),
}
# Slices and whole cubes turn as the face beside them does; the layers are counted from that face.
_LAYER_FACES = {"M": "L", "E": "D", "S": "F", "x": "R", "y": "U", "z": "F"}
TURN_PATTERN = re.compile(r"([URFDLB]w?|[urfdlbMESxyz])('2|2'?|'|3)?")


class Turn(NamedTuple):
    """Some layers turned clockwise by quarters, seen from a face; layer 0 is that face."""

    face: str
    layers: tuple[int, ...]
    quarters: int


def parse_turn(word: str, side: int) -> Turn | None:
    """Return what WORD, such as R2, Rw', M or x, turns on a cube of SIDE; None if there is no such turn."""
    match = TURN_PATTERN.fullmatch(word)
    if not match:
        return None
    name, power = match[1], match[2] or ""
    quarters = {"": 1, "2": 2, "2'": 2, "'2": 2}.get(power, 3)
    if name in "xyz":
        return Turn(_LAYER_FACES[name], tuple(range(side)), quarters)
    if name in "MES":
        return Turn(_LAYER_FACES[name], (1,), quarters) if side == 3 else None
    if len(name) == 2 or name.islower():
        return Turn(name[0].upper(), (0, 1), quarters) if side == 3 else None
    return Turn(name, (0,), quarters)


def apply_turn(facelets: str, side: int, turn: Turn) -> str:
    """Return the stickers FACELETS of a cube of SIDE after TURN."""
    comes_from = _sticker_origins(side, turn)
    return "".join([facelets[at] for at in comes_from])


@lru_cache(maxsize=256)
def _sticker_origins(side: int, turn: Turn) -> tuple[int, ...]:
    """Return of each sticker's place where the sticker that TURN brings there was."""
    places = _sticker_positions(side)
    at = {sticker: number for number, sticker in enumerate(places)}
    axis = _FACE_VECTORS[turn.face][0]
    depths = {side - 1 - 2 * layer for layer in turn.layers}
    origins = list(range(len(places)))
    for number, (place, looks) in enumerate(places):
        if _dot(place, axis) in depths:
            moved = place, looks
            for _ in range(turn.quarters):
                moved = _rotate_quarter(moved[0], axis), _rotate_quarter(moved[1], axis)
            origins[at[moved]] = number
    return tuple(origins)


@lru_cache(maxsize=2)
def _sticker_positions(side: int) -> tuple[tuple[Vector, Vector], ...]:
    steps = range(1 - side, side, 2)
    return tuple(
        (_add(_scale(looks, side - 1), _scale(right, across), _scale(down, below)), looks)
        for looks, right, down in _FACE_VECTORS.values()
        for below in steps
        for across in steps
    )


def _rotate_quarter(vector: Vector, axis: Vector) -> Vector:
    """Return VECTOR after a quarter turn around AXIS, clockwise for who looks against it."""
    (a, b, c), (x, y, z) = vector, axis
    across = (b * z - c * y, c * x - a * z, a * y - b * x)
    return _add(across, _scale(axis, _dot(vector, axis)))


def _dot(one: Vector, other: Vector) -> int:
    return one[0] * other[0] + one[1] * other[1] + one[2] * other[2]


def _scale(vector: Vector, number: int) -> Vector:
    return vector[0] * number, vector[1] * number, vector[2] * number


def _add(*vectors: Vector) -> Vector:
    return sum(v[0] for v in vectors), sum(v[1] for v in vectors), sum(v[2] for v in vectors)


FACES = "URFDLB"
TURNS = tuple(face + power for face in FACES for power in ("", "2", "'"))
"""The 18 turns of the half-turn metric: each face by a quarter clockwise, by a half, by a quarter back."""
NO_TIME_LIMIT = "all"
RULES: Mapping[str, Rule] = {
    "seconds": Rule("how long shorter solutions are looked for; all: until shortly before the deadline", "1"),
    "target": Rule("so many moves are few enough: nothing shorter is looked for; 0: nothing is", "0"),
}

Solution = tuple[str, ...]
"""A solution: turns of the cube as it is held, each one of TURNS."""


@dataclass(frozen=True, slots=True)
class Board:
    """A cube of SIDE 2 or 3.

    U is the colour white wherever it sits, and so on: R red, F green, D yellow, L orange, B blue. `facelets` are its
    stickers by colour, face by face in the order of FACES as the cube is held, each face in reading order of the
    unfolded net. `seconds` and `target` are the rules; None stands for all the time there is.
    """

    side: int
    facelets: str
    seconds: float | None = 1
    target: int = 0


def with_rules(board: Board, rules: Mapping[str, str]) -> Board:
    """Return BOARD with RULES in place of its own. Raises UnknownName, WrongArgument."""
    for name, value in rules.items():
        if name not in RULES:
            raise UnknownName("rule of the cube", name, list(RULES))
        board = (
            replace(board, target=_parse_target(value))
            if name == "target"
            else replace(board, seconds=_parse_seconds(value))
        )
    return board


def _parse_target(value: str) -> int:
    if value.isascii() and value.isdigit() and len(value) < 3 and int(value) <= 30:
        return int(value)
    raise WrongArgument(f"target: {value!r} is no number of moves; write one from 0 to 30, such as 20")


def _parse_seconds(value: str) -> float | None:
    if value == NO_TIME_LIMIT:
        return None
    try:
        seconds = float(value)
    except ValueError:
        seconds = -1
    if 0 <= seconds <= 1_000_000:
        return seconds
    raise WrongArgument(f"seconds: {value!r} is no time; write seconds, such as 10, or {NO_TIME_LIMIT}")


def describe(board: Board) -> str:
    """Return the size of BOARD, and rules other than the default ones, in words."""
    words = f"a cube of {'x'.join([str(board.side)] * 3)}"
    if board.seconds is None:
        words += ", all the time until the deadline"
    elif board.seconds != 1:
        words += f", {board.seconds:g} seconds"
    return words + (f", {board.target} moves are few enough" if board.target else "")


def is_solved(board: Board) -> bool:
    """Say whether every face of BOARD has one colour."""
    area = board.side * board.side
    return all(len(set(board.facelets[at : at + area])) == 1 for at in range(0, 6 * area, area))


_NET_BELT = "LFRB"


def _draw_net(**faces: str) -> str:
    """Return the drawing of a cube whose FACES are given in reading order."""
    side = 3 if len(faces["U"]) == 9 else 2
    rows = {face: [stickers[at : at + side] for at in range(0, side * side, side)] for face, stickers in faces.items()}
    above, below = ([" " * (side + 1) + row for row in rows[face]] for face in "UD")
    belt = [" ".join(rows[face][row] for face in _NET_BELT) for row in range(side)]
    return "".join(row + "\n" for row in (*above, *belt, *below))


BOARDS: Mapping[str, str] = MappingProxyType(
    {
        "checkers": _draw_net(
            U="UDUDUDUDU",
            R="RLRLRLRLR",
            F="FBFBFBFBF",
            D="DUDUDUDUD",
            L="LRLRLRLRL",
            B="BFBFBFBFB",
        ),
        "pocket-near": _draw_net(
            U="BULU",
            R="BLLD",
            F="BRRD",
            D="FFDR",
            L="DULU",
            B="FRFB",
        ),
        "superflip": _draw_net(
            U="UBULURUFU",
            R="RURFRBRDR",
            F="FUFLFRFDF",
            D="DFDLDRDBD",
            L="LULBLFLDL",
            B="BUBRBLBDB",
        ),
        "cube-in-cube": _draw_net(
            U="FFFFUUFUU",
            R="RRURRUUUU",
            F="RFFRFFRRR",
            D="BBBDDBDDB",
            L="DDDLLDLLD",
            B="LLLLBBLBB",
        ),
        "scrambled": _draw_net(
            U="RRBLUBUFD",
            R="RUDFRURFB",
            F="FRBLFDBRU",
            D="RDFBDULDL",
            L="DULFLDDLU",
            B="LBFRBLUBF",
        ),
        "pocket-far": _draw_net(
            U="DDLR",
            R="UBFL",
            F="FBUU",
            D="RLDU",
            L="FDLF",
            B="RRBB",
        ),
    }
)
