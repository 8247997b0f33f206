"""The pieces of a cube, and Kociemba's coordinates with their move and symmetry tables.

A state has the current place of each sticker in `STICKERS`. twist, flip: orientation of corners,
edges. slice_sorted: ordered places of four edges (24 orders of 495 choices; choice 0 is the
UD-slice); the same for u_edges, d_edges. slice: the choice alone. corners, ud_edges: permutations.
"""

from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache, lru_cache
from itertools import combinations, permutations, product
from typing import NamedTuple

from pi_appliance.puzzles.rubiks_cube.board import FACES, OPPOSITE, FaceMap, facelet_names, quarter_turn

# Names of pieces. The first sticker defines the orientation; the others follow clockwise.
CORNERS = ("URF", "UFL", "ULB", "UBR", "DFR", "DLF", "DBL", "DRB")
EDGES = ("UR", "UF", "UL", "UB", "DR", "DF", "DL", "DB", "FR", "FL", "BL", "BR")
SLICE = 8  # the edges from this index on are those of the UD-slice, between upper and lower layer
CENTRE = 4  # the middle of nine stickers

State = tuple[int, ...]

STICKERS = tuple((name, face) for name in CORNERS + EDGES for face in tuple(name))
SOLVED: State = tuple(range(len(STICKERS)))
_STICKER_NUMBER = {(frozenset(name), face): number for number, (name, face) in enumerate(STICKERS)}
_STICKER_NAME = {number: name for name, number in _STICKER_NUMBER.items()}


class PlacedPiece(NamedTuple):
    """A piece at a place: its facelets, and the home faces of their colours ("?" if unknown)."""

    place: str
    facelets: tuple[int, ...]  # indices of the facelets, in the order of the letters of `place`
    colours: str


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
    """Return the state that undoes `state`."""
    result = [0] * len(state)
    for home, place in enumerate(state):
        result[place] = home
    return tuple(result)


def conjugate(state: State, faces: FaceMap) -> State:
    """Return `state` with the names that its pieces have after `faces` turn or mirror the cube."""
    rotation, back = _whole_rotation(tuple(faces.items()))
    return compose(compose(back, state), rotation)


@cache
def _whole_rotation(faces: tuple[tuple[str, str], ...]) -> tuple[State, State]:
    """Return the state after rotating or mirroring the whole cube, and its inverse state."""
    rotation = move_pieces(dict(faces))
    return rotation, inverse(rotation)


@lru_cache(maxsize=1)
def turn_states() -> tuple[State, ...]:
    """Return the effect of each of the 18 turns, in the order of `board.TURN_NAMES`."""
    states = []
    for face in FACES:
        once = move_pieces(quarter_turn(face), face)
        states += [once, compose(once, once), compose(compose(once, once), once)]
    return tuple(states)


@lru_cache(maxsize=1)
def symmetries() -> tuple[FaceMap, ...]:
    """Return the 16 symmetries that keep the axis from U to D; the last eight are mirrored."""
    identity = {face: face for face in FACES}
    mirror, half_turn = identity | {"R": "L", "L": "R"}, compose_maps(quarter_turn("F"), quarter_turn("F"))
    face_maps: list[FaceMap] = []
    for mirrored, tipped in product((identity, mirror), (identity, half_turn)):
        faces = compose_maps(mirrored, tipped)
        for _ in range(4):
            face_maps.append(faces)
            faces = compose_maps(faces, quarter_turn("U"))
    return tuple(face_maps)


def facelets_of(state: State, side: int) -> str:
    """Return the stickers of a state in the order of `Board.facelets`."""
    colours = {_STICKER_NAME[place]: STICKERS[home][1] for home, place in enumerate(state)}
    return "".join(colours.get(name, name[1]) for name in facelet_names(side))


def cube_state(facelets: str, side: int) -> State:
    """Return the state of a valid cube. The edges of a 2x2x2 are solved."""
    state = list(SOLVED)
    for piece in iter_pieces(facelets, side):
        home, place = frozenset(piece.colours), frozenset(piece.place)
        for face, colour in zip(piece.place, piece.colours, strict=True):
            state[_STICKER_NUMBER[home, colour]] = _STICKER_NUMBER[place, face]
    return tuple(state)


def iter_pieces(facelets: str, side: int) -> Iterator[PlacedPiece]:
    """Yield the piece at each place."""
    homes = home_faces(facelets, side)
    number = {name: at for at, name in enumerate(facelet_names(side))}
    for place in CORNERS + (EDGES if side == 3 else ()):
        at = tuple(number[frozenset(place), face] for face in place)
        yield PlacedPiece(place, at, "".join(homes.get(facelets[each], "?") for each in at))


def home_faces(facelets: str, side: int) -> dict[str, str]:
    """Return the home face of each colour: by the centres, or by the corner DBL of a 2x2x2."""
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


TURNS = 18
POCKET_TURNS = 9  # turns of U, R and F: a 2x2x2 whose corner DBL is fixed needs no others
POCKET_ORDERS, POCKET_TWISTS = 5040, 729
FIXED_CORNER = CORNERS.index("DBL")
_POCKET_CORNERS = tuple(corner for corner in range(len(CORNERS)) if corner != FIXED_CORNER)
TWISTS, FLIPS, SLICES, SLICE_SORTED, ORDERS, FACTORIAL = 3**7, 2**11, 495, 11_880, 24, 40_320
PHASE2_TURNS = (0, 1, 2, 9, 10, 11, 4, 7, 13, 16)
"""The turns of phase 2: all of U and D, half turns of the other faces."""
FIRST_MIRRORED = 8  # the symmetries from this index on are mirrored
_EDGE_STICKERS = 3 * len(CORNERS)

Places = tuple[int, ...]
PieceReader = Callable[[State], list[tuple[int, int]]]
"""Such as `corner_places`."""


class Coordinates(NamedTuple):
    """The coordinates of a state."""

    twist: int
    flip: int
    slice_sorted: int
    corners: int
    u_edges: int
    d_edges: int


def slice_placements() -> list[Places]:
    """Return the ordered places of four edges, indexed by `slice_sorted`."""
    return [order for choice in reversed(list(combinations(range(12), 4))) for order in permutations(choice)]


@lru_cache(maxsize=1)
def _slice_numbers() -> dict[frozenset[int], int]:
    return {frozenset(places): number for number, places in enumerate(reversed(list(combinations(range(12), 4))))}


def _permutation_rank(places: Sequence[int]) -> int:
    rank = 0
    for at, place in enumerate(places):
        rank = rank * (len(places) - at) + sum(later < place for later in places[at + 1 :])
    return rank


def to_coordinates(states: Iterable[State]) -> list[Coordinates]:
    """Return the coordinates of each state."""
    slice_number = _slice_numbers()
    result = []
    for state in states:
        corners, edges = corner_places(state), edge_places(state)
        places = [place for place, _ in edges]
        slice_sorted, u_edges, d_edges = (
            slice_number[frozenset(four)] * ORDERS + _permutation_rank(four)
            for four in (places[SLICE:], places[:4], places[4:SLICE])
        )
        twist, flip = _encode_orientation(corners, 3), _encode_orientation(edges, 2)
        corner_rank = _permutation_rank([place for place, _ in corners])
        result.append(Coordinates(twist, flip, slice_sorted, corner_rank, u_edges, d_edges))
    return result


def corner_places(state: State) -> list[tuple[int, int]]:
    """Return the place and the twist of each corner.

    For the state of a turn, these are the changes that the turn makes to each place.
    """
    return [divmod(state[3 * corner], 3) for corner in range(len(CORNERS))]


def edge_places(state: State) -> list[tuple[int, int]]:
    """Return the place and the flip of each edge, as `corner_places` does for corners."""
    return [divmod(state[_EDGE_STICKERS + 2 * edge] - _EDGE_STICKERS, 2) for edge in range(len(EDGES))]


def pocket_places(state: State) -> list[tuple[int, int]]:
    """Return the place and the twist of the corners that turn on a 2x2x2, numbered without DBL."""
    corners = corner_places(state)
    return [(_POCKET_CORNERS.index(corners[corner][0]), corners[corner][1]) for corner in _POCKET_CORNERS]


def pocket_position(state: State) -> int:
    """Return the number of a 2x2x2: the order of its seven corners * 729 + their twists."""
    pieces = pocket_places(state)
    return _permutation_rank([place for place, _ in pieces]) * POCKET_TWISTS + _encode_orientation(pieces, 3)


@cache
def pocket_moves() -> "tuple[array[int], array[int]]":
    """Return the move tables of the orders and of the twists of the 2x2x2."""
    orders = placement_moves(list(permutations(range(len(_POCKET_CORNERS)))), pocket_places, POCKET_TURNS)
    return orders, orientation_moves(3, pocket_places, POCKET_TURNS)


def _encode_orientation(pieces: Sequence[tuple[int, int]], base: int) -> int:
    """Return the orientations by place as one number.

    The last place is left out: the others determine it.
    """
    by_place = dict(pieces)
    return sum(by_place[place] * base**place for place in range(len(pieces) - 1))


def _orientations(base: int, places: int) -> list[list[int]]:
    """Return the orientations by place for each number of twist (`base` 3) or flip (2)."""
    digits = [[number // base**place % base for place in range(places - 1)] for number in range(base ** (places - 1))]
    return [[*each, -sum(each) % base] for each in digits]


def _turn_orientation(base: int, pieces: Sequence[tuple[int, int]], digits: Sequence[int], sign: int = 1) -> int:
    """Return the number of orientations `digits` after an action on the pieces."""
    return sum(
        (turn + sign * digit) % base * base**place
        for (place, turn), digit in zip(pieces, digits, strict=True)
        if place < len(pieces) - 1
    )


def orientation_moves(base: int, pieces: PieceReader, turns: int = TURNS) -> "array[int]":
    """Return the move table of twist (`base` 3) or flip (2): each number after each turn."""
    actions = [pieces(state) for state in turn_states()[:turns]]
    decoded = _orientations(base, len(actions[0]))
    return array("H", [_turn_orientation(base, action, digits) for digits in decoded for action in actions])


def orientation_symmetries(base: int, pieces: PieceReader) -> list[list[int]]:
    """Return a table for each symmetry: the twist (`base` 3) or flip (2) that each one becomes."""
    decoded = _orientations(base, len(pieces(SOLVED)))
    tables = []
    for number, faces in enumerate(symmetries()):
        places, sign = [(place, 0) for place, _ in pieces(move_pieces(faces))], -1 if number >= FIRST_MIRRORED else 1
        tables.append([_turn_orientation(base, places, digits, sign) for digits in decoded])
    return tables


def placement_moves(placements: list[Places], pieces: PieceReader, turns: int = TURNS) -> "array[int]":
    """Return the move table of placements.

    Half and reverse turns are computed as repeated quarters.
    """
    number = {places: at for at, places in enumerate(placements)}
    table = array("H", bytes(2 * turns * len(placements)))
    for first in range(0, turns, 3):
        to = [place for place, _ in pieces(turn_states()[first])]
        once = [number[tuple([to[place] for place in places])] for places in placements]
        twice = [once[at] for at in once]
        table[first::turns] = array("H", once)
        table[first + 1 :: turns] = array("H", twice)
        table[first + 2 :: turns] = array("H", [once[at] for at in twice])
    return table


def ud_edge_moves(slice_sorted: Sequence[int]) -> "tuple[array[int], array[int]]":
    """Return the move table of ud_edges for the turns of phase 2, and the rank of each u_edges.

    ud_edges is the rank of u_edges times 24, plus the order of d_edges.
    """
    placements = slice_placements()
    ranks = array("H", bytes(2 * SLICE_SORTED))
    inside = sorted((n for n, places in enumerate(placements) if max(places) < SLICE), key=placements.__getitem__)
    first_of = {frozenset(placements[number]): number for number in range(0, SLICE_SORTED, ORDERS)}
    for rank, number in enumerate(inside):
        ranks[number] = rank
    table = array("H")
    for u_edges in inside:
        rest = first_of[frozenset(range(SLICE)) - frozenset(placements[u_edges])]
        for order in range(ORDERS):
            for turn in PHASE2_TURNS:
                d_edges = slice_sorted[(rest + order) * TURNS + turn]
                table.append(ranks[slice_sorted[u_edges * TURNS + turn]] * ORDERS + d_edges % ORDERS)
    return table, ranks


def symmetry_products() -> list[int]:
    """Return the number of each symmetry followed by each other: 16 times 16."""
    number = {tuple(faces.items()): at for at, faces in enumerate(symmetries())}
    return [number[tuple(compose_maps(first, second).items())] for first in symmetries() for second in symmetries()]


def inverse_symmetries() -> list[int]:
    """Return the number of the inverse of each symmetry."""
    products = symmetry_products()
    return [products[number * 16 : number * 16 + 16].index(0) for number in range(16)]


def turn_symmetries() -> list[int]:
    """Return each turn as seen after each of the symmetries: 16 times 18."""
    number = {state: at for at, state in enumerate(turn_states())}
    return [number[conjugate(state, faces)] for faces in symmetries() for state in turn_states()]


def flip_slice_classes(report_progress: Callable[[float], None]) -> "dict[str, array[int]]":
    """Return the 64,430 classes of flip * 495 + slice under the symmetries.

    class_of is the class * 16 + the symmetry that maps it onto `class_first`, the first of its
    class. class_symmetries has a bit for each symmetry that leaves the first one unchanged.
    """
    unknown = 0xFFFF_FFFF
    class_of, first, unchanged = array("I", [unknown]) * (FLIPS * SLICES), array("I"), array("H")
    inverses = inverse_symmetries()
    flips, slices, masks = orientation_symmetries(2, edge_places), _slice_symmetries(), _flip_masks()
    for raw in range(FLIPS * SLICES):
        if not raw & 0x3FFF:
            report_progress(raw / (FLIPS * SLICES))
        if class_of[raw] != unknown:
            continue
        flip, where = divmod(raw, SLICES)
        stays = 0
        for number in range(16):
            there = slices[number][where]
            image = (flips[number][flip] ^ (masks[there] if number & 1 else 0)) * SLICES + there
            if class_of[image] == unknown:
                class_of[image] = len(first) * 16 + inverses[number]
            stays |= (image == raw) << number
        first.append(raw)
        unchanged.append(stays)
    return {"class_of": class_of, "class_first": first, "class_symmetries": unchanged}


def _slice_symmetries() -> list[list[int]]:
    number, tables = _slice_numbers(), []
    for faces in symmetries():
        to = [place for place, _ in edge_places(move_pieces(faces))]
        tables.append([number[frozenset(to[place] for place in places)] for places in number])
    return tables


def _flip_masks() -> list[int]:
    """Return, for each slice, the edges whose flip a quarter rotation of the whole cube inverts.

    An edge of the UD-slice has its first sticker on F or B, which becomes R or L. So the flip of
    an edge changes if it is not in its layer: a slice edge elsewhere, or another edge in the slice.
    """
    middle = frozenset(range(SLICE, len(EDGES)))
    return [sum(1 << place for place in places ^ middle if place < len(EDGES) - 1) for places in _slice_numbers()]
