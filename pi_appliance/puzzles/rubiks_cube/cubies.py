"""The pieces of a cube, by names such as UF or URF, and the effect of turns on them.

A state is a tuple with the current place of each sticker, by the number of its home in `STICKERS`.
The solved cube is `SOLVED`. Everything follows from the six rows of `NEIGHBOURS`.
"""

from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple

from pi_appliance.puzzles.rubiks_cube.board import FACES

# The neighbours of each face above, left, right and below on the unfolded net.
NEIGHBOURS = {"U": "BLRF", "R": "UFBD", "F": "ULRD", "D": "FLRB", "L": "UBFD", "B": "URLD"}
# The sticker that defines the orientation comes first; the others follow clockwise.
CORNERS = ("URF", "UFL", "ULB", "UBR", "DFR", "DLF", "DBL", "DRB")
EDGES = ("UR", "UF", "UL", "UB", "DR", "DF", "DL", "DB", "FR", "FL", "BL", "BR")
SLICE = 8  # the edges from here on belong into the UD-slice, between upper and lower layer
CENTRE = 4  # the middle of nine stickers
OPPOSITE = {"U": "D", "D": "U", "R": "L", "L": "R", "F": "B", "B": "F"}

State = tuple[int, ...]
FaceMap = Mapping[str, str]
"""The new face of each face when the whole cube is rotated or mirrored."""

STICKERS = tuple((name, face) for name in CORNERS + EDGES for face in tuple(name))
SOLVED: State = tuple(range(len(STICKERS)))
_STICKER_NUMBER = {(frozenset(name), face): number for number, (name, face) in enumerate(STICKERS)}
_STICKER_NAME = {number: name for name, number in _STICKER_NUMBER.items()}


class PlacedPiece(NamedTuple):
    """A piece at a place: its facelets, and the home faces of their colours ("?" if unknown)."""

    place: str
    facelets: tuple[int, ...]
    """Indexes in the order of the name of the place."""
    colours: str


def quarter_turn(face: str) -> FaceMap:
    """Return the rotation of the whole cube by a quarter clockwise around `face`."""
    above, left, right, below = tuple(NEIGHBOURS[face])
    return {each: each for each in FACES} | {above: right, right: below, below: left, left: above}


def compose_maps(first: FaceMap, second: FaceMap) -> FaceMap:
    """Return the effect of `first`, then `second`."""
    return {face: second[first[face]] for face in FACES}


def move_pieces(faces: FaceMap, layer: str = "") -> State:
    """Return the state after moving the pieces of `layer` (default: all) as `faces` says."""
    return tuple(
        _STICKER_NUMBER[frozenset(faces[each] for each in name), faces[face]] if layer in name else number
        for number, (name, face) in enumerate(STICKERS)
    )


def compose(state: State, action: State) -> State:
    """Return `state` after `action`."""
    return tuple([action[place] for place in state])


def inverse(state: State) -> State:
    """Return the inverse of a state."""
    result = [0] * len(state)
    for home, place in enumerate(state):
        result[place] = home
    return tuple(result)


def conjugate(state: State, faces: FaceMap) -> State:
    """Return `state` as named after the whole cube is rotated or mirrored."""
    rotation = move_pieces(faces)
    return compose(compose(inverse(rotation), state), rotation)


@lru_cache(maxsize=1)
def turn_states() -> tuple[State, ...]:
    """Return the effect of each of the 18 turns, in the order of `board.TURNS`."""
    states = []
    for face in FACES:
        once = move_pieces(quarter_turn(face), face)
        states += [once, compose(once, once), compose(compose(once, once), once)]
    return tuple(states)


@lru_cache(maxsize=1)
def symmetries() -> tuple[FaceMap, ...]:
    """Return the 16 symmetries that keep the axis from U to D; the last eight are mirrored."""
    identity = {face: face for face in FACES}
    mirror = identity | {"R": "L", "L": "R"}
    half_turn = compose_maps(quarter_turn("F"), quarter_turn("F"))
    found: list[FaceMap] = []
    for mirrored in (identity, mirror):
        for tipped in (identity, half_turn):
            faces = compose_maps(mirrored, tipped)
            for _ in range(4):
                found.append(faces)
                faces = compose_maps(faces, quarter_turn("U"))
    return tuple(found)


@lru_cache(maxsize=2)
def facelet_names(side: int) -> tuple[tuple[frozenset[str], str], ...]:
    """Return for each facelet the faces of its piece and its own face."""
    ends = {0: 0, side - 1: 1}
    names = []
    for face in FACES:
        above, left, right, below = tuple(NEIGHBOURS[face])
        for row in range(side):
            for column in range(side):
                beside = [(above, below)[ends[row]]] if row in ends else []
                beside += [(left, right)[ends[column]]] if column in ends else []
                names.append((frozenset((face, *beside)), face))
    return tuple(names)


def facelets_of(state: State, side: int) -> str:
    """Return the stickers of a state as a board has them."""
    colours = {_STICKER_NAME[place]: STICKERS[home][1] for home, place in enumerate(state)}
    return "".join(colours.get(name, name[1]) for name in facelet_names(side))


def cube_state(facelets: str, side: int) -> State:
    """Return the state of a valid cube. The edges of a 2x2x2 are solved."""
    number = {sticker: at for at, sticker in enumerate(STICKERS)}
    state = list(SOLVED)
    for piece in iter_pieces(facelets, side):
        home = next(name for name in CORNERS + EDGES if set(name) == set(piece.colours))
        for face, colour in zip(piece.place, piece.colours, strict=True):
            state[number[home, colour]] = number[piece.place, face]
    return tuple(state)


def iter_pieces(facelets: str, side: int) -> Iterator[PlacedPiece]:
    """Yield the piece at each place."""
    homes = home_faces(facelets, side)
    number = {name: at for at, name in enumerate(facelet_names(side))}
    for place in CORNERS + (EDGES if side == 3 else ()):
        at = tuple(number[frozenset(place), face] for face in place)
        yield PlacedPiece(place, at, "".join(homes.get(facelets[each], "?") for each in at))


def home_faces(facelets: str, side: int) -> dict[str, str]:
    """Return the home face of each colour: by its centre, or by the corner DBL of a 2x2x2."""
    if side == 3:
        return {facelets[9 * number + CENTRE]: face for number, face in enumerate(FACES)}
    names = facelet_names(2)
    homes: dict[str, str] = {}
    for face in "DLB":
        colour = facelets[names.index((frozenset("DBL"), face))]
        homes |= {colour: face, OPPOSITE[colour]: OPPOSITE[face]}
    return homes


def is_odd(order: Sequence[int]) -> bool:
    """Return whether a permutation is odd."""
    return sum(one > other for at, one in enumerate(order) for other in order[at:]) % 2 == 1
