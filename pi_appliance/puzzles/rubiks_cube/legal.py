"""Which piece sits where on a cube, by its stickers; and why no turning leads to a cube, if none does."""

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from pi_appliance.puzzles import pluralize
from pi_appliance.puzzles.rubiks_cube.board import FACES
from pi_appliance.puzzles.rubiks_cube.cubies import CORNERS, EDGES, OPPOSITE, SOLVED, STICKERS, State, net_names

AREA_OF_CENTRE = 4  # the middle of nine
_THIRDS = {1: ("clockwise", "anticlockwise"), 2: ("anticlockwise", "clockwise")}


class Fault(NamedTuple):
    """What is wrong about a cube: at which of its facelets it shows, and what would be right."""

    at: int
    wrong: str
    right: str


class _Piece(NamedTuple):
    place: str
    at: tuple[int, ...]  # its facelets, in the order of the place's name
    colours: str  # the faces where they belong


def faults(facelets: str, side: int, shown: Mapping[str, str]) -> list[Fault]:
    """Return why the stickers FACELETS are no cube of SIDE that turning solves; none if it does.

    SHOWN are the names of the colours.
    """
    found = list(_miscounted(facelets, side, shown))
    if not found and side == 3:
        found = list(_repeated_centres(facelets, shown))
    if not found:
        found = list(_strange_pieces(facelets, side, shown))
        # By a corner that is none, every other one of a 2x2x2 seems wrong.
        found = (found and side == 2 and list(_strange_holder(facelets, shown))) or found
    return found or list(_impossible(facelets, side))


def state_of(facelets: str, side: int) -> State:
    """Return the state of a cube that has no faults. The edges of a cube of side 2 are at home."""
    number = {sticker: at for at, sticker in enumerate(STICKERS)}
    state = list(SOLVED)
    for piece in _pieces(facelets, side):
        home = next(name for name in CORNERS + EDGES if set(name) == set(piece.colours))
        for face, colour in zip(piece.place, piece.colours, strict=True):
            state[number[home, colour]] = number[piece.place, face]
    return tuple(state)


def turns_of_colours(facelets: str, side: int) -> dict[str, str]:
    """Return the face where each colour belongs: where its centre is, or where the corner DBL, left as it is, says."""
    if side == 3:
        return {facelets[9 * number + AREA_OF_CENTRE]: face for number, face in enumerate(FACES)}
    names = net_names(2)
    homes: dict[str, str] = {}
    for face in "DLB":
        colour = facelets[names.index((frozenset("DLB"), face))]
        homes |= {colour: face, OPPOSITE[colour]: OPPOSITE[face]}
    return homes


def _miscounted(facelets: str, side: int, shown: Mapping[str, str]) -> Iterator[Fault]:
    area = side * side
    counts = Counter(facelets)
    few = " and ".join(f"{counts[face]} {shown[face]}" for face in FACES if counts[face] < area)
    for face in FACES:
        if counts[face] > area:
            at = [number for number, colour in enumerate(facelets) if colour == face][area]
            wrong = f"there are {counts[face]} {shown[face]}" + (f", but {few}" if few else "")
            yield Fault(at, wrong, f"each of the six colours comes {area} times")


def _repeated_centres(facelets: str, shown: Mapping[str, str]) -> Iterator[Fault]:
    seen: dict[str, str] = {}
    for number, face in enumerate(FACES):
        at = 9 * number + AREA_OF_CENTRE
        colour = facelets[at]
        if colour in seen:
            wrong = f"the centre of {face} is {shown[colour]}, as that of {seen[colour]} is"
            yield Fault(at, wrong, "six centres have six colours: fill in the cube as you hold it")
        seen.setdefault(colour, face)


def _pieces(facelets: str, side: int) -> Iterator[_Piece]:
    homes = turns_of_colours(facelets, side)
    at = {name: number for number, name in enumerate(net_names(side))}
    for place in CORNERS + (EDGES if side == 3 else ()):
        numbers = tuple(at[frozenset(place), face] for face in place)
        yield _Piece(place, numbers, "".join(homes.get(facelets[number], "?") for number in numbers))


def _strange_pieces(facelets: str, side: int, shown: Mapping[str, str]) -> Iterator[Fault]:
    """Yield each place whose colours no piece has, and each piece that is there again."""
    homes = {face: colour for colour, face in turns_of_colours(facelets, side).items()}
    seen: dict[tuple[str, ...], str] = {}
    for place, at, colours in _pieces(facelets, side):
        kind = "corner" if len(place) == 3 else "edge"
        spoken = "-".join(shown[facelets[number]] for number in at)
        piece = tuple(sorted(colours))
        if strange := _strange(place, at[0], colours, spoken):
            yield strange
        elif piece in seen:
            missing = _missing(facelets, side, len(place), homes, shown)
            wrong = f"the {kind} {spoken} is twice: at {seen[piece]} and at {place}"
            yield Fault(at[0], wrong, f"{missing} is missing")
        seen.setdefault(piece, place)


def _strange(place: str, at: int, colours: str, spoken: str) -> Fault | None:
    """Return what is wrong if no piece has COLOURS; they are at PLACE, which begins AT, and SPOKEN so."""
    kind = "corner" if len(place) == 3 else "edge"
    name = next((name for name in CORNERS + EDGES if sorted(name) == sorted(colours)), "")
    if not name:
        return Fault(at, f"the {kind} {place} is {spoken}: there is no such {kind}", f"look at the {kind} again")
    if kind == "corner" and colours not in name + name:
        wrong = f"the corner {place} is {spoken}: its colours go round the wrong way"
        return Fault(at, wrong, "two of its stickers are exchanged")
    return None


def _strange_holder(facelets: str, shown: Mapping[str, str]) -> Iterator[Fault]:
    """Yield what is wrong about the corner of a 2x2x2 that says where its colours belong."""
    at = [net_names(2).index((frozenset("DBL"), face)) for face in "DBL"]
    colours = "".join(facelets[number] for number in at)
    if strange := _strange("DBL", at[0], colours, "-".join(shown[colour] for colour in colours)):
        yield strange


def _missing(facelets: str, side: int, size: int, homes: Mapping[str, str], shown: Mapping[str, str]) -> str:
    """Return the first piece with SIZE stickers that is nowhere, by its colours."""
    there = {frozenset(piece.colours) for piece in _pieces(facelets, side) if len(piece.place) == size}
    absent = [name for name in CORNERS + EDGES if len(name) == size and frozenset(name) not in there]
    return " or ".join("-".join(shown[homes[face]] for face in name) for name in absent)


def _impossible(facelets: str, side: int) -> Iterator[Fault]:
    """Yield what no turn can change: the twist of the corners, the flips of the edges, the order of all pieces."""
    pieces = list(_pieces(facelets, side))
    corners = [piece for piece in pieces if len(piece.place) == 3]
    edges = [piece for piece in pieces if len(piece.place) == 2]
    first = {piece.place: piece.at[0] for piece in pieces}
    twist = sum(_twist(piece) for piece in corners) % 3
    if twist:
        way, other = _THIRDS[twist]
        wrong = f"impossible: the corners together are twisted by a third {way}"
        yield Fault(first["URF"], wrong, f"twist one corner {other} by hand, or look at their stickers again")
    flipped = sum(piece.colours not in EDGES for piece in edges)
    if flipped % 2:
        wrong = f"impossible: {pluralize(flipped, 'edge')} flipped, and turning flips an even number"
        yield Fault(first["UF"], wrong, "flip one edge by hand, or look at their stickers again")
    if side == 3 and _odd(corners) != _odd(edges):
        wrong = "impossible: two pieces are exchanged (parity), and turning never exchanges just two"
        yield Fault(first["UF"], wrong, "exchange two edges or two corners by hand, or look at their stickers again")


def _twist(piece: _Piece) -> int:
    """Return by how many thirds clockwise PIECE is twisted."""
    return next(third for third, colour in enumerate(piece.colours) if colour in "UD")


def _odd(pieces: list[_Piece]) -> bool:
    """Say whether an odd number of exchanges brings PIECES home."""
    places = [frozenset(piece.place) for piece in pieces]
    order = [places.index(frozenset(piece.colours)) for piece in pieces]
    return sum(one > other for number, one in enumerate(order) for other in order[number:]) % 2 == 1
