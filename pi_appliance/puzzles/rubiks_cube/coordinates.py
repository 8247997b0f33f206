"""A state of the cube as a few small numbers, and tables of what turns and symmetries do to each of them.

twist: how the corners are turned, three possibilities a place. flip: how the edges are, two a place. four: where four
certain edges are, in order; 24 orders of each of 495 choices of places, the choice 0 being the middle layer. corner:
where each corner is. edge: where the eight edges of the upper and lower layer are, once they are all in these layers.
"""

from array import array
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from itertools import combinations, permutations
from typing import NamedTuple

from pi_appliance.puzzles.rubiks_cube.cubies import (
    CORNERS,
    EDGES,
    SLICE,
    State,
    compose_maps,
    move_pieces,
    symmetries,
    turn_states,
)

TURNS = 18
TWISTS, FLIPS, SLICES, SLICE_SORTED, ORDERS, FACTORIAL = 3**7, 2**11, 495, 11_880, 24, 40_320
ROW = (TWISTS + 3) // 4  # bytes of a class in the wide table
PHASE2_TURNS = (0, 1, 2, 9, 10, 11, 4, 7, 13, 16)
"""The turns of the second phase: U and D as they like, the other faces by halves."""
MIRRORED = 8  # the symmetries from here on are mirrored
_EDGE_STICKERS = 3 * len(CORNERS)

Places = tuple[int, ...]


class Coordinates(NamedTuple):
    """A state in numbers; `four` is that of the middle layer's edges, `up` and `down` of the other eight."""

    twist: int
    flip: int
    four: int
    corner: int
    up: int
    down: int


def slice_placements() -> list[Places]:
    """Return the places of four edges of each number: those of the middle layer first."""
    choices = list(combinations(range(len(EDGES)), 4))
    return [order for choice in reversed(choices) for order in permutations(choice)]


@lru_cache(maxsize=1)
def _slice_numbers() -> dict[frozenset[int], int]:
    """Return the number of each choice of four places."""
    return {frozenset(places): number for number, places in enumerate(reversed(list(combinations(range(12), 4))))}


def permutation_rank(places: Sequence[int]) -> int:
    """Return which of all orders of PLACES theirs is, in the order of a dictionary."""
    number = 0
    for at, place in enumerate(places):
        number = number * (len(places) - at) + sum(later < place for later in places[at + 1 :])
    return number


def to_coordinates(states: Iterable[State]) -> list[Coordinates]:
    """Return STATES in numbers."""
    choice = _slice_numbers()
    found = []
    for state in states:
        corners, edges = _corner_places(state), _edge_places(state)
        where = [place for place, _ in edges]
        four, up, down = (
            choice[frozenset(some)] * ORDERS + permutation_rank(some)
            for some in (where[SLICE:], where[:4], where[4:SLICE])
        )
        found.append(
            Coordinates(
                twist=_encode_orientation(corners, 3),
                flip=_encode_orientation(edges, 2),
                four=four,
                corner=permutation_rank([place for place, _ in corners]),
                up=up,
                down=down,
            )
        )
    return found


def _corner_places(state: State) -> list[tuple[int, int]]:
    """Return where each corner, or what was at each place, is in STATE, and how it is twisted."""
    return [divmod(state[3 * corner], 3) for corner in range(len(CORNERS))]


def _edge_places(state: State) -> list[tuple[int, int]]:
    return [divmod(state[_EDGE_STICKERS + 2 * edge] - _EDGE_STICKERS, 2) for edge in range(len(EDGES))]


def _encode_orientation(pieces: Sequence[tuple[int, int]], base: int) -> int:
    """Return how PIECES are turned as one number; the last place follows from the others."""
    by_place = dict(pieces)
    return sum(by_place[place] * base**place for place in range(len(pieces) - 1))


def _decode_orientation(number: int, base: int, places: int) -> list[int]:
    """Return the digits of NUMBER, place by place, with the last place's."""
    digits = [number // base**place % base for place in range(places - 1)]
    return [*digits, -sum(digits) % base]


def _turn_orientation(base: int, pieces: Sequence[tuple[int, int]], digits: Sequence[int], sign: int = 1) -> int:
    """Return the number of DIGITS after what moves each place of PIECES, and turns what is there."""
    return sum(
        (turn + sign * digit) % base * base**place
        for (place, turn), digit in zip(pieces, digits, strict=True)
        if place < len(pieces) - 1
    )


def twist_moves() -> "array[int]":
    """Return twist after each turn of each twist."""
    actions = [_corner_places(state) for state in turn_states()]
    spelled = (_decode_orientation(number, 3, 8) for number in range(TWISTS))
    return array("H", [_turn_orientation(3, action, digits) for digits in spelled for action in actions])


def flip_moves() -> "array[int]":
    """Return flip after each turn of each flip."""
    actions = [_edge_places(state) for state in turn_states()]
    spelled = (_decode_orientation(number, 2, 12) for number in range(FLIPS))
    return array("H", [_turn_orientation(2, action, digits) for digits in spelled for action in actions])


def slice_sorted_moves() -> "array[int]":
    """Return four after each turn of each four."""
    return _placement_moves(slice_placements(), _edge_places)


def corner_moves() -> "array[int]":
    """Return corner after each turn of each corner."""
    return _placement_moves(list(permutations(range(8))), _corner_places)


def _placement_moves(all_places: list[Places], pieces: Callable[[State], list[tuple[int, int]]]) -> "array[int]":
    """Return the turns of ALL_PLACES; a turn by a half or back is a quarter done again."""
    number = {places: at for at, places in enumerate(all_places)}
    table = array("H", bytes(2 * TURNS * len(all_places)))
    for first in range(0, TURNS, 3):
        to = [place for place, _ in pieces(turn_states()[first])]
        once = [number[tuple([to[place] for place in places])] for places in all_places]
        twice = [once[at] for at in once]
        table[first::TURNS] = array("H", once)
        table[first + 1 :: TURNS] = array("H", twice)
        table[first + 2 :: TURNS] = array("H", [once[at] for at in twice])
    return table


def ud_edge_moves(four: Sequence[int]) -> "tuple[array[int], array[int]]":
    """Return edge after the turns of the second phase, from the turns of FOUR; and the rank of each `up` in an edge.

    Edge is the rank of `up` among those in the upper and lower layer, times 24, and the order of `down`.
    """
    everywhere = slice_placements()
    ranks = array("H", bytes(2 * SLICE_SORTED))
    inside = sorted((n for n, places in enumerate(everywhere) if max(places) < SLICE), key=everywhere.__getitem__)
    choice = {frozenset(everywhere[number]): number for number in range(0, SLICE_SORTED, ORDERS)}
    for rank, number in enumerate(inside):
        ranks[number] = rank
    table = array("H")
    for up in inside:
        rest = choice[frozenset(range(SLICE)) - frozenset(everywhere[up])]
        for order in range(ORDERS):
            for turn in PHASE2_TURNS:
                down = four[(rest + order) * TURNS + turn]
                table.append(ranks[four[up * TURNS + turn]] * ORDERS + down % ORDERS)
    return table, ranks


def twist_symmetries() -> "array[int]":
    """Return each twist as it is called after each of the symmetries: symmetry by symmetry."""
    spelled = [_decode_orientation(number, 3, 8) for number in range(TWISTS)]
    table = array("H")
    for number, faces in enumerate(symmetries()):
        action = _corner_places(move_pieces(faces))
        sign = -1 if number >= MIRRORED else 1
        table.extend(_turn_orientation(3, [(place, 0) for place, _ in action], digits, sign) for digits in spelled)
    return table


def inverse_symmetries() -> list[int]:
    """Return the number of the symmetry that undoes each."""
    every = symmetries()
    identity = {face: face for face in every[0]}
    return [next(n for n, other in enumerate(every) if compose_maps(faces, other) == identity) for faces in every]


class FlipSliceClasses(NamedTuple):
    """Flip and slice together (flip * 495 + slice), those that a symmetry makes alike in one class."""

    of: "array[int]"  # class * 16 + the symmetry that makes it the first of its class
    first: "array[int]"
    same: "array[int]"  # of the first: a bit for each symmetry that leaves it as it is


def flip_slice_classes(tick: Callable[[float], None]) -> FlipSliceClasses:
    """Return the 64,430 classes; TICK is told how far it is."""
    unknown = 0xFFFF_FFFF
    of, first, same = array("I", [unknown]) * (FLIPS * SLICES), array("I"), array("H")
    undo = inverse_symmetries()
    flips, slices, masks = _flip_symmetries(), _slice_symmetries(), _flip_masks()
    for raw in range(FLIPS * SLICES):
        if not raw & 0x3FFF:
            tick(raw / (FLIPS * SLICES))
        if of[raw] != unknown:
            continue
        flip, where = divmod(raw, SLICES)
        stays = 0
        for number in range(16):
            there = slices[number][where]
            image = (flips[number][flip] ^ (masks[there] if number & 1 else 0)) * SLICES + there
            if of[image] == unknown:
                of[image] = len(first) * 16 + undo[number]
            stays |= (image == raw) << number
        first.append(raw)
        same.append(stays)
    return FlipSliceClasses(of, first, same)


def _flip_symmetries() -> list[list[int]]:
    """Return each flip after each symmetry as if no edge were between the layers."""
    spelled = [_decode_orientation(number, 2, 12) for number in range(FLIPS)]
    views = []
    for faces in symmetries():
        action = [(place, 0) for place, _ in _edge_places(move_pieces(faces))]
        views.append([_turn_orientation(2, action, digits) for digits in spelled])
    return views


def _slice_symmetries() -> list[list[int]]:
    """Return each choice of places after each symmetry."""
    everywhere = [frozenset(places) for places in slice_placements()[::ORDERS]]
    number = {places: at for at, places in enumerate(everywhere)}
    views = []
    for faces in symmetries():
        to = [place for place, _ in _edge_places(move_pieces(faces))]
        views.append([number[frozenset(to[place] for place in places)] for places in everywhere])
    return views


def _flip_masks() -> list[int]:
    """Return of each choice of places the flips that a quarter turn of the whole cube calls otherwise.

    An edge of the middle layer has its first sticker on F or B, which becomes R or L: it counts as flipped in the
    other layers and not in its own, and the others the other way round. So those that crossed over change.
    """
    middle = frozenset(range(SLICE, len(EDGES)))
    return [
        sum(1 << place for place in frozenset(places) ^ middle if place < len(EDGES) - 1)
        for places in slice_placements()[::ORDERS]
    ]
