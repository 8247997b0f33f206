"""The pieces of a cube by their names, such as UF or URF, and what turns do to them. All of it follows from six rows.

A state is a tuple that says of each sticker's home where that sticker is now; stickers are numbered as in STICKERS.
The solved cube is SOLVED, and `then` does one thing after another.
"""

from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import NamedTuple

from pi_appliance.puzzles.rubiks_cube.board import FACES

# Of each face, its neighbours above, left, right and below on the unfolded net.
NEIGHBOURS = {"U": "BLRF", "R": "UFBD", "F": "ULRD", "D": "FLRB", "L": "UBFD", "B": "URLD"}
# The sticker that tells how a piece is turned comes first; the others of a corner follow clockwise.
CORNERS = ("URF", "UFL", "ULB", "UBR", "DFR", "DLF", "DBL", "DRB")
EDGES = ("UR", "UF", "UL", "UB", "DR", "DF", "DL", "DB", "FR", "FL", "BL", "BR")
SLICE = 8  # the edges from here on belong between the upper and the lower layer
OPPOSITE = {"U": "D", "D": "U", "R": "L", "L": "R", "F": "B", "B": "F"}

State = tuple[int, ...]
Map = Mapping[str, str]
"""Where each face goes when the whole cube is turned or mirrored."""

STICKERS = tuple((name, face) for name in CORNERS + EDGES for face in tuple(name))
SOLVED: State = tuple(range(len(STICKERS)))
_STICKER_NUMBER = {(frozenset(name), face): number for number, (name, face) in enumerate(STICKERS)}


def quarter_turn(face: str) -> Map:
    """Return where a quarter turn clockwise around FACE takes the faces of the whole cube."""
    above, left, right, below = tuple(NEIGHBOURS[face])
    return {each: each for each in FACES} | {above: right, right: below, below: left, left: above}


def compose_maps(first: Map, second: Map) -> Map:
    """Return where FIRST and then SECOND takes the faces."""
    return {face: second[first[face]] for face in FACES}


def move_pieces(faces: Map, layer: str = "") -> State:
    """Return where the pieces of LAYER (none: all pieces) go when they are moved as FACES says."""
    return tuple(
        _STICKER_NUMBER[frozenset(faces[each] for each in name), faces[face]] if layer in name else number
        for number, (name, face) in enumerate(STICKERS)
    )


def compose(state: State, action: State) -> State:
    """Return STATE after ACTION."""
    return tuple([action[place] for place in state])


def inverse(state: State) -> State:
    """Return what undoes STATE."""
    undone = [0] * len(state)
    for home, place in enumerate(state):
        undone[place] = home
    return tuple(undone)


def conjugate(state: State, faces: Map) -> State:
    """Return STATE as it is called after the whole cube, with its names, was turned or mirrored as FACES says."""
    whole = move_pieces(faces)
    return compose(compose(inverse(whole), state), whole)


@lru_cache(maxsize=1)
def turn_states() -> tuple[State, ...]:
    """Return what each of the 18 turns does, in the order of TURNS."""
    states = []
    for face in FACES:
        once = move_pieces(quarter_turn(face), face)
        states += [once, compose(once, once), compose(compose(once, once), once)]
    return tuple(states)


@lru_cache(maxsize=1)
def symmetries() -> tuple[Map, ...]:
    """Return the 16 ways to turn or mirror the cube that keep the axis from U to D."""
    identity = {face: face for face in FACES}
    mirror = identity | {"R": "L", "L": "R"}
    upside = compose_maps(quarter_turn("F"), quarter_turn("F"))
    found: list[Map] = []
    for mirrored in (identity, mirror):
        for tipped in (identity, upside):
            faces = compose_maps(mirrored, tipped)
            for _ in range(4):
                found.append(faces)
                faces = compose_maps(faces, quarter_turn("U"))
    return tuple(found)


@lru_cache(maxsize=2)
def facelet_names(side: int) -> tuple[tuple[frozenset[str], str], ...]:
    """Return of each sticker in the order of a board's facelets the faces of its piece, and its own."""
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
    """Return the stickers of STATE as a board of SIDE has them."""
    shown = {_STICKER_NAME[place]: STICKERS[home][1] for home, place in enumerate(state)}
    return "".join(shown.get(name, name[1]) for name in facelet_names(side))


_STICKER_NAME = {number: key for key, number in _STICKER_NUMBER.items()}


CENTRE = 4  # the middle of nine


class PlacedPiece(NamedTuple):
    """A piece at a place of the cube."""

    place: str
    at: tuple[int, ...]  # its facelets, in the order of the place's name
    colours: str  # the faces where they belong


def cube_state(facelets: str, side: int) -> State:
    """Return the state of a cube that has no faults. The edges of a cube of side 2 are at home."""
    number = {sticker: at for at, sticker in enumerate(STICKERS)}
    state = list(SOLVED)
    for piece in iter_pieces(facelets, side):
        home = next(name for name in CORNERS + EDGES if set(name) == set(piece.colours))
        for face, colour in zip(piece.place, piece.colours, strict=True):
            state[number[home, colour]] = number[piece.place, face]
    return tuple(state)


def home_faces(facelets: str, side: int) -> dict[str, str]:
    """Return the face where each colour belongs: where its centre is, or where the corner DBL, left as it is, says."""
    if side == 3:
        return {facelets[9 * number + CENTRE]: face for number, face in enumerate(FACES)}
    names = facelet_names(2)
    homes: dict[str, str] = {}
    for face in "DLB":
        colour = facelets[names.index((frozenset("DLB"), face))]
        homes |= {colour: face, OPPOSITE[colour]: OPPOSITE[face]}
    return homes


def iter_pieces(facelets: str, side: int) -> Iterator[PlacedPiece]:
    """Yield the piece at each place."""
    homes = home_faces(facelets, side)
    at = {name: number for number, name in enumerate(facelet_names(side))}
    for place in CORNERS + (EDGES if side == 3 else ()):
        numbers = tuple(at[frozenset(place), face] for face in place)
        yield PlacedPiece(place, numbers, "".join(homes.get(facelets[number], "?") for number in numbers))
