"""Reads a cube: a scramble in turns, or its stickers in one row or as an unfolded net, by faces or by colours."""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from pi_appliance.errors import ConfigError, Problem
from pi_appliance.puzzles import Progress, pluralize, rendering
from pi_appliance.puzzles.rubiks_cube.board import FACES, TURN_PATTERN, TURNS, Board, Solution, apply_turn, parse_turn
from pi_appliance.puzzles.rubiks_cube.cubies import (
    CENTRE,
    CORNERS,
    EDGES,
    PlacedPiece,
    facelet_names,
    home_faces,
    iter_pieces,
)

_THIRDS = {1: ("clockwise", "anticlockwise"), 2: ("anticlockwise", "clockwise")}


class Fault(NamedTuple):
    """What is wrong about a cube: at which of its facelets it shows, and what would be right."""

    at: int
    wrong: str
    right: str


def find_faults(facelets: str, side: int, shown: Mapping[str, str]) -> list[Fault]:
    """Return why the stickers FACELETS are no cube of SIDE that turning solves; none if it does.

    SHOWN are the names of the colours.
    """
    found = list(_colour_count_faults(facelets, side, shown))
    if not found and side == 3:
        found = list(_centre_faults(facelets, shown))
    if not found:
        found = list(_piece_faults(facelets, side, shown))
        # By a corner that is none, every other one of a 2x2x2 seems wrong.
        found = (found and side == 2 and list(_fixed_corner_faults(facelets, shown))) or found
    return found or list(_parity_faults(facelets, side))


def _colour_count_faults(facelets: str, side: int, shown: Mapping[str, str]) -> Iterator[Fault]:
    area = side * side
    counts = Counter(facelets)
    few = " and ".join(f"{counts[face]} {shown[face]}" for face in FACES if counts[face] < area)
    for face in FACES:
        if counts[face] > area:
            at = [number for number, colour in enumerate(facelets) if colour == face][area]
            wrong = f"there are {counts[face]} {shown[face]}" + (f", but {few}" if few else "")
            yield Fault(at, wrong, f"each of the six colours comes {area} times")


def _centre_faults(facelets: str, shown: Mapping[str, str]) -> Iterator[Fault]:
    seen: dict[str, str] = {}
    for number, face in enumerate(FACES):
        at = 9 * number + CENTRE
        colour = facelets[at]
        if colour in seen:
            wrong = f"the centre of {face} is {shown[colour]}, as that of {seen[colour]} is"
            yield Fault(at, wrong, "six centres have six colours: fill in the cube as you hold it")
        seen.setdefault(colour, face)


def _piece_faults(facelets: str, side: int, shown: Mapping[str, str]) -> Iterator[Fault]:
    """Yield each place whose colours no piece has, and each piece that is there again."""
    homes = {face: colour for colour, face in home_faces(facelets, side).items()}
    seen: dict[tuple[str, ...], str] = {}
    for place, at, colours in iter_pieces(facelets, side):
        kind = "corner" if len(place) == 3 else "edge"
        spoken = "-".join(shown[facelets[number]] for number in at)
        piece = tuple(sorted(colours))
        if strange := _check_piece(place, at[0], colours, spoken):
            yield strange
        elif piece in seen:
            missing = _name_missing_piece(facelets, side, len(place), homes, shown)
            wrong = f"the {kind} {spoken} is twice: at {seen[piece]} and at {place}"
            yield Fault(at[0], wrong, f"{missing} is missing")
        seen.setdefault(piece, place)


def _check_piece(place: str, at: int, colours: str, spoken: str) -> Fault | None:
    """Return what is wrong if no piece has COLOURS; they are at PLACE, which begins AT, and SPOKEN so."""
    kind = "corner" if len(place) == 3 else "edge"
    name = next((name for name in CORNERS + EDGES if sorted(name) == sorted(colours)), "")
    if not name:
        return Fault(at, f"the {kind} {place} is {spoken}: there is no such {kind}", f"look at the {kind} again")
    if kind == "corner" and colours not in name + name:
        wrong = f"the corner {place} is {spoken}: its colours go round the wrong way"
        return Fault(at, wrong, "two of its stickers are exchanged")
    return None


def _fixed_corner_faults(facelets: str, shown: Mapping[str, str]) -> Iterator[Fault]:
    """Yield what is wrong about the corner of a 2x2x2 that says where its colours belong."""
    at = [facelet_names(2).index((frozenset("DBL"), face)) for face in "DBL"]
    colours = "".join(facelets[number] for number in at)
    if strange := _check_piece("DBL", at[0], colours, "-".join(shown[colour] for colour in colours)):
        yield strange


def _name_missing_piece(facelets: str, side: int, size: int, homes: Mapping[str, str], shown: Mapping[str, str]) -> str:
    """Return the first piece with SIZE stickers that is nowhere, by its colours."""
    there = {frozenset(piece.colours) for piece in iter_pieces(facelets, side) if len(piece.place) == size}
    absent = [name for name in CORNERS + EDGES if len(name) == size and frozenset(name) not in there]
    return " or ".join("-".join(shown[homes[face]] for face in name) for name in absent)


def _parity_faults(facelets: str, side: int) -> Iterator[Fault]:
    """Yield what no turn can change: the twist of the corners, the flips of the edges, the order of all pieces."""
    pieces = list(iter_pieces(facelets, side))
    corners = [piece for piece in pieces if len(piece.place) == 3]
    edges = [piece for piece in pieces if len(piece.place) == 2]
    first = {piece.place: piece.at[0] for piece in pieces}
    twist = sum(_corner_twist(piece) for piece in corners) % 3
    if twist:
        way, other = _THIRDS[twist]
        wrong = f"impossible: the corners together are twisted by a third {way}"
        yield Fault(first["URF"], wrong, f"twist one corner {other} by hand, or look at their stickers again")
    flipped = sum(piece.colours not in EDGES for piece in edges)
    if flipped % 2:
        wrong = f"impossible: {pluralize(flipped, 'edge')} flipped, and turning flips an even number"
        yield Fault(first["UF"], wrong, "flip one edge by hand, or look at their stickers again")
    if side == 3 and _is_odd(corners) != _is_odd(edges):
        wrong = "impossible: two pieces are exchanged (parity), and turning never exchanges just two"
        yield Fault(first["UF"], wrong, "exchange two edges or two corners by hand, or look at their stickers again")


def _corner_twist(piece: PlacedPiece) -> int:
    """Return by how many thirds clockwise PIECE is twisted."""
    return next(third for third, colour in enumerate(piece.colours) if colour in "UD")


def _is_odd(pieces: list[PlacedPiece]) -> bool:
    """Say whether an odd number of exchanges brings PIECES home."""
    places = [frozenset(piece.place) for piece in pieces]
    order = [places.index(frozenset(piece.colours)) for piece in pieces]
    return sum(one > other for number, one in enumerate(order) for other in order[number:]) % 2 == 1


COLOURS = "WRGYOB"  # of the faces URFDLB, as most cubes have them
_BY_FACE: Mapping[str, str] = {face: face for face in FACES}
_BY_COLOUR: Mapping[str, str] = dict(zip(COLOURS, FACES, strict=True))
_SIDE_BY_STICKERS = {54: 3, 24: 2}
_SIZE_PREFIX = re.compile(r"\s*([23])x\1(?:x\1)?\s*:?(?=\s|$)|\s*([23])x\2(?:x\2)?\s*:", re.IGNORECASE)
_PRIMES = "'`\u00b4\u02b9\u02bc\u2018\u2019\u2032"  # as keyboards, telephones and books have them
_MOVE_SIGNS = re.compile(rf"[{_PRIMES}0-9()]|\b(?:[URFDLB]w|[xzMES])\b")  # what only moves are written with
_JOINED_MOVES = re.compile(r"(?:([URFDLBurfdlbxyz])(?!\1)){1,12}")  # RUF: too few for a drawing, and none twice on end
_STICKER_LETTERS = frozenset(FACES + COLOURS)
_MOVE_HELP = "a move is one of U R F D L B, with 2 for a half turn and ' for a quarter back, such as U R2 F'"
_STICKER_HELP = "a cube has 54 stickers, a 2x2x2 24: the faces U R F D L B in turn, or an unfolded net"
_MAX_MOVES = 2_000
_MAX_MOVE_LETTERS = 12  # too few for a drawing, even of half a 2x2x2


class _Letter(NamedTuple):
    mark: str
    line: int
    column: int


def parse(text: str, file: str) -> Board:
    """Return the cube that TEXT tells, with the default rules. Raises ConfigError.

    A scramble is applied to a solved cube; "2x2x2" before it makes that one of side 2. Stickers are told apart from
    moves by standing together in rows.
    """
    head = _SIZE_PREFIX.match(text)
    side = int(head[1] or head[2]) if head else None
    body = " " * head.end() + text[head.end() :] if head and "\n" not in head[0] else text
    if head and "\n" in head[0]:
        body = "".join(mark if mark.isspace() else " " for mark in head[0]) + text[head.end() :]
    if not body.strip():
        raise ConfigError([Problem(file, 1, 1, "no cube is told here", f"{_MOVE_HELP}; or {_STICKER_HELP}")])
    if _is_sticker_text(body):
        return _read_stickers(body, side, file)
    return _read_scramble(body, side or 3, file)


def parse_solution(board: Board, text: str, file: str) -> Solution:
    """Return the moves that TEXT notates, turns of faces only. Raises ConfigError."""
    return tuple(_read_moves(text, board.side, file, faces_only=True))


def _is_sticker_text(text: str) -> bool:
    """Tell a drawing from moves: no sign that only moves have, and letters that stand together or fill a net."""
    words = text.split()
    if _MOVE_SIGNS.search(text) or ("y" in words and not text.islower()) or (_JOINED_MOVES.fullmatch(text.strip())):
        return False
    if any(
        len(word) > 1 and sum(mark in _STICKER_LETTERS for mark in word.upper()) >= 0.8 * len(word) for word in words
    ):
        return True
    letters = [word.upper() for word in words if len(word) == 1]
    rows = [row for row in text.splitlines() if row.strip()]
    alike = len(letters) in _SIDE_BY_STICKERS and len({letters.count(letter) for letter in set(letters)}) == 1
    # A small y is a turn of the whole cube, too; of those there are few.
    colours = "WYGO" if "Y" in words or len(letters) > _MAX_MOVE_LETTERS else "WGO"
    return alike or bool(set(colours) & set(letters)) or (len(rows) in {6, 9} and len(letters) in _SIDE_BY_STICKERS)


def _read_stickers(text: str, side: int | None, file: str) -> Board:
    letters = [
        _Letter(mark, line, column)
        for line, row in enumerate(text.splitlines(), 1)
        for column, mark in enumerate(row, 1)
        if not mark.isspace()
    ]
    marks = {letter.mark.upper() for letter in letters}
    by = _BY_COLOUR if marks & set("WYGO") and not marks & set("UFDL") else _BY_FACE
    problems = [_letter_problem(letter, by, file) for letter in letters if letter.mark.upper() not in by]
    if problems:
        raise ConfigError(problems)
    if _SIDE_BY_STICKERS.get(len(letters)) is None or side not in {None, _SIDE_BY_STICKERS[len(letters)]}:
        last = letters[-1]
        wrong = f"there are {pluralize(len(letters), 'sticker')}"
        right = f"a {side}x{side}x{side} has {6 * side * side}" if side else _STICKER_HELP
        raise ConfigError([Problem(file, last.line, last.column, wrong, right)])
    side = _SIDE_BY_STICKERS[len(letters)]
    ordered = _order_net(letters, side) or letters
    facelets = "".join(by[letter.mark.upper()] for letter in ordered)
    shown = {face: mark for mark, face in by.items()}
    if found := find_faults(facelets, side, shown):
        raise ConfigError(
            Problem(file, ordered[at].line, ordered[at].column, wrong, right) for at, wrong, right in found
        )
    return Board(side, facelets)


def _letter_problem(letter: _Letter, by: Mapping[str, str], file: str) -> Problem:
    wrong = f"{letter.mark!r} is no {'colour' if by is _BY_COLOUR else 'face'}"
    return Problem(
        file, letter.line, letter.column, wrong, f"stickers are {' '.join(by)}; see that all are of one kind"
    )


def _order_net(letters: Sequence[_Letter], side: int) -> list[_Letter] | None:
    """Return LETTERS face by face if they are drawn as a net: U above, then L F R B beside each other, D below."""
    rows: dict[int, list[_Letter]] = {}
    for letter in letters:
        rows.setdefault(letter.line, []).append(letter)
    drawn = list(rows.values())
    if [len(row) for row in drawn] != [side] * side + [4 * side] * side + [side] * side:
        return None
    middle = drawn[side : 2 * side]
    belt = {face: [x for row in middle for x in row[at * side : at * side + side]] for at, face in enumerate("LFRB")}
    belt["U"] = [letter for row in drawn[:side] for letter in row]
    belt["D"] = [letter for row in drawn[2 * side :] for letter in row]
    return [letter for face in FACES for letter in belt[face]]


def _read_scramble(text: str, side: int, file: str) -> Board:
    facelets = "".join(face * (side * side) for face in FACES)
    for word in _read_moves(text, side, file, faces_only=False):
        turn = parse_turn(word, side)
        assert turn is not None
        facelets = apply_turn(facelets, side, turn)
    return Board(side, facelets)


def _read_moves(text: str, side: int, file: str, *, faces_only: bool) -> Iterator[str]:
    """Yield the moves in TEXT. Raises ConfigError with every word that is none, before the first."""
    problems: list[Problem] = []
    words: list[str] = []
    for line, row in enumerate(text.splitlines(), 1):
        plain = re.sub(f"[{_PRIMES}]", "'", row)
        plain = re.sub(r"[(),]", " ", plain) if not faces_only else plain
        for match in re.finditer(r"\S+", plain):
            parts = list(_split_moves(match[0]))
            words += parts
            known = [parse_turn(part, side) is not None and (part in TURNS or not faces_only) for part in parts]
            if not all(known):
                problems.append(_move_problem(match[0], side, Problem(file, line, match.start() + 1, "")))
    if len(words) > _MAX_MOVES:
        problems.append(Problem(file, 1, 1, f"there are {len(words):,} moves", f"at most {_MAX_MOVES:,} are read"))
    if problems:
        raise ConfigError(problems)
    yield from words


def _split_moves(word: str) -> Iterator[str]:
    """Yield the moves of a WORD that is many, written together, such as RUR'U'; else WORD."""
    parts = [match[0] for match in TURN_PATTERN.finditer(word)]
    if "".join(parts) == word:
        yield from parts
    else:
        yield word


def _move_problem(word: str, side: int, where: Problem) -> Problem:
    if side == 2 and re.fullmatch(r"([URFDLB]w|[urfdlbMES]).*", word):
        return Problem(
            where.file, where.line, where.column, f"{word!r} is no move of a 2x2x2", "it has no middle layer"
        )
    return Problem(where.file, where.line, where.column, f"{word!r} is no move", _MOVE_HELP)


def parse_listing(text: str, file: str, progress: Progress) -> Sequence[tuple[Board, Sequence[Solution]]]:
    """Return each cube of a listing with its lines. Raises ConfigError."""
    return rendering.parse_listing(text, file, progress, board_of=parse, line_of=parse_solution)
