"""Rubik's cube boards: stickers, rules, known cubes, and turns, which check solutions."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import product
from typing import NamedTuple

from pi_appliance.errors import InvalidOption
from pi_appliance.puzzles import Rule, Rules, Validation, check_rules, load_board, parse_number, pluralize

FACES = "URFDLB"
TURN_NAMES = tuple(face + power for face in FACES for power in ("", "2", "'"))
"""The 18 turns of the half-turn metric: a quarter clockwise, a half, a quarter anticlockwise."""
NO_TIME_LIMIT = "all"
MAX_TARGET = 30
RULES: Mapping[str, Rule] = {
    "seconds": Rule("time to search for shorter solutions; all: until shortly before the deadline", "1"),
    "target": Rule("stop at a solution of this many moves or fewer; 0: never", "0"),
}

Solution = tuple[str, ...]
"""Turns of the cube as it is held, each in `TURN_NAMES`; of many cubes, then its number: `#2`."""
FaceMap = Mapping[str, str]  # the new face of each face when the whole cube is rotated or mirrored


@dataclass(frozen=True, slots=True)
class Board:
    """A cube with 2 or 3 pieces per side; `seconds` is None for no time limit.

    `facelets` are colours (by their usual face), in the order of `FACES` and of reading the net.
    """

    side: int
    facelets: str
    seconds: float | None = 1
    target: int = 0
    others: tuple["Board", ...] = ()  # the other cubes, if a text has a cube in each line

    @property
    def cubes(self) -> "tuple[Board, ...]":
        """All cubes, one by one."""
        return replace(self, others=()), *self.others

    def find_cube(self, solution: Sequence[str]) -> "tuple[Board, Sequence[str]] | None":
        """Return the cube that a solution is for, and its turns, or None if its number is wrong.

        None if its number does not exist.
        """
        if not self.others:
            return self, solution
        number = solution[-1][1:] if solution and solution[-1][:1] == "#" else ""
        cubes = self.cubes
        if not (number.isascii() and number.isdigit() and len(number) < 10 and 1 <= int(number) <= len(cubes)):
            return None
        return cubes[int(number) - 1], solution[:-1]


def with_rules(board: Board | str, rules: Rules) -> Board:
    """Return the board with these rules. Raises `UnknownName`, `InvalidOption`.

    >>> from pi_appliance.puzzles import rubiks_cube
    >>> rubiks_cube.with_rules("R U", {"seconds": 0.1}).seconds
    0.1
    """
    board = load_board(board, Board)
    values = check_rules("the cube", RULES, rules)
    target = parse_number("target", values["target"], 0, MAX_TARGET) if "target" in values else board.target
    seconds = _parse_seconds(values["seconds"]) if "seconds" in values else board.seconds
    others = tuple(replace(other, target=target, seconds=seconds) for other in board.others)
    return replace(board, target=target, seconds=seconds, others=others)


def _parse_seconds(value: str) -> float | None:
    if value == NO_TIME_LIMIT:
        return None
    try:
        seconds = float(value)
    except ValueError:
        seconds = -1
    if 0 <= seconds <= 1_000_000:
        return seconds
    raise InvalidOption(f"seconds: {value!r} is not a valid time; write seconds, such as 10, or {NO_TIME_LIMIT}")


def describe(board: Board | str) -> str:
    """Return the size of the board, and the rules that differ from the default."""
    board = load_board(board, Board)
    text = f"{len(board.cubes):,} cubes" if board.others else f"a cube of {'x'.join([str(board.side)] * 3)}"
    if board.seconds is None:
        text += ", no time limit"
    elif board.seconds != 1:
        text += f", {board.seconds:g} seconds"
    return f"{text}, stops at {board.target} moves" if board.target else text


def is_solved(board: Board) -> bool:
    """Return whether each face has one colour."""
    return not _mixed_faces(board.facelets)


def _mixed_faces(facelets: str) -> list[str]:
    area = len(facelets) // 6
    return [face for at, face in enumerate(FACES) if len(set(facelets[at * area : (at + 1) * area])) > 1]


# The neighbours of each face above, left, right and below on the unfolded net.
_NEIGHBOURS = {"U": "BLRF", "R": "UFBD", "F": "ULRD", "D": "FLRB", "L": "UBFD", "B": "URLD"}
OPPOSITE = {"U": "D", "D": "U", "R": "L", "L": "R", "F": "B", "B": "F"}
# A slice or a rotation turns in the direction of this face; layers are counted from it.
_LAYER_FACES = {"M": "L", "E": "D", "S": "F", "x": "R", "y": "U", "z": "F"}
TURN_PATTERN = re.compile(r"([URFDLB]w?|[urfdlbMESxyz])('2|2'?|'|3)?")


class Turn(NamedTuple):
    """A clockwise turn of layers by quarters, seen from a face; layer 0 is that face."""

    face: str
    layers: tuple[int, ...]
    quarters: int


def parse_turn(text: str, side: int) -> Turn | None:
    """Return the turn written as R2, Rw', M or x; None if a cube of `side` has no such turn."""
    match = TURN_PATTERN.fullmatch(text)
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
    """Return the stickers after a turn."""
    return "".join([facelets[at] for at in _sticker_origins(side, turn)])


def quarter_turn(face: str) -> FaceMap:
    """Return the rotation of the whole cube by a quarter clockwise around `face`."""
    above, left, right, below = tuple(_NEIGHBOURS[face])
    return {each: each for each in FACES} | {above: right, right: below, below: left, left: above}


@lru_cache(maxsize=2)
def facelet_names(side: int) -> tuple[tuple[frozenset[str], str], ...]:
    """Return, for each facelet, the faces of its piece, and the face that it is on."""
    names = []
    for face, row, column in product(FACES, range(side), range(side)):
        above, left, right, below = tuple(_NEIGHBOURS[face])
        beside = {0: above, side - 1: below}.get(row, face), {0: left, side - 1: right}.get(column, face)
        names.append((frozenset((face, *beside)), face))
    return tuple(names)


@lru_cache(maxsize=256)
def _sticker_origins(side: int, turn: Turn) -> tuple[int, ...]:
    """Return, for each facelet, the facelet from which a turn moves a sticker to it."""
    names, rotation = facelet_names(side), quarter_turn(turn.face)
    number = {name: at for at, name in enumerate(names)}
    origins = list(range(len(names)))
    for at, (piece, face) in enumerate(names):
        layer = 0 if turn.face in piece else side - 1 if OPPOSITE[turn.face] in piece else 1
        if layer in turn.layers:
            moved = piece, face
            for _ in range(turn.quarters):
                moved = frozenset(rotation[each] for each in moved[0]), rotation[moved[1]]
            origins[number[moved]] = at
    return tuple(origins)


def draw_net(facelets: str) -> str:
    """Draw stickers as an unfolded net: U above, L F R B beside each other, D below."""
    side = 3 if len(facelets) == 54 else 2
    rows = {
        face: [facelets[at + row : at + row + side] for row in range(0, side * side, side)]
        for at, face in zip(range(0, len(facelets), side * side), FACES, strict=True)
    }
    top, bottom = ([" " * (side + 1) + row for row in rows[face]] for face in "UD")
    middle = (" ".join(rows[face][row] for face in "LFRB") for row in range(side))
    return "".join(row + "\n" for row in (*top, *middle, *bottom))


# Two cubes a few moves from solved, two patterns, and two cubes that are far from solved.
BOARDS: Mapping[str, str] = {
    "checkers": draw_net("UDUDUDUDURLRLRLRLRFBFBFBFBFDUDUDUDUDLRLRLRLRLBFBFBFBFB"),
    "pocket-near": draw_net("BULUBLLDBRRDFFDRDULUFRFB"),
    "superflip": draw_net("UBULURUFURURFRBRDRFUFLFRFDFDFDLDRDBDLULBLFLDLBUBRBLBDB"),
    "cube-in-cube": draw_net("FFFFUUFUURRURRUUUURFFRFFRRRBBBDDBDDBDDDLLDLLDLLLLBBLBB"),
    "scrambled": draw_net("RRBLUBUFDRUDFRURFBFRBLFDBRURDFBDULDLDULFLDDLULBFRBLUBF"),
    "pocket-far": draw_net("DDLRUBFLFBUURLDUFDLFRRBB"),
}


def check(board: Board | str, solution: Sequence[str]) -> Validation:
    """Check whether `solution` leads to one colour per face.

    >>> from pi_appliance.puzzles import rubiks_cube
    >>> bool(rubiks_cube.check("R U", ("U'", "R'")))
    True
    >>> rubiks_cube.check("R U", ("U'",)).error
    'the faces U, F, D, B have more than one colour after 1 move'
    """
    board = load_board(board, Board)
    found = board.find_cube(solution)
    if found is None:
        return Validation(f"it does not say for which cube it is, from #1 to #{len(board.cubes)}")
    board, solution = found
    facelets = board.facelets
    for number, move in enumerate(solution, 1):
        turn = parse_turn(move, board.side) if move in TURN_NAMES else None
        if turn is None:
            example = f"write {FACES[0]}, {FACES[0]}2 or {FACES[0]}'"
            return Validation(f"move {number}, {move}: it is not a turn of a face; {example}")
        facelets = apply_turn(facelets, board.side, turn)
    if mixed := _mixed_faces(facelets):
        faces = f"the face {mixed[0]} has" if len(mixed) == 1 else f"the faces {', '.join(mixed)} have"
        return Validation(f"{faces} more than one colour after {pluralize(len(solution), 'move')}")
    return Validation()
