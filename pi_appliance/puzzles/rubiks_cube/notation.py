"""Read and draw cubes and solutions.

A cube is a scramble, or stickers (by face or colour) in one row or as a net.
"""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import NamedTuple

from pi_appliance.errors import ConfigError
from pi_appliance.puzzles import Step, load_board, pluralize
from pi_appliance.puzzles.rubiks_cube.board import (
    FACES,
    TURN_NAMES,
    TURN_PATTERN,
    Board,
    Solution,
    apply_turn,
    draw_net,
    facelet_names,
    parse_turn,
)
from pi_appliance.puzzles.rubiks_cube.coordinates import CENTRE, CORNERS, EDGES, home_faces, is_odd, iter_pieces
from pi_appliance.puzzles.text_format import (
    Problems,
    Token,
    find_tokens,
    listing_parser,
    move_problems,
    parse_error,
    svg_document,
)

COLOURS = "WRGYOB"  # colours of the faces URFDLB on most cubes
_BY_FACE: Mapping[str, str] = {face: face for face in FACES}
_BY_COLOUR: Mapping[str, str] = dict(zip(COLOURS, FACES, strict=True))
_SIDE_BY_STICKERS = {54: 3, 24: 2}
_SIZE_PREFIX = re.compile(r"\s*([23])x\1(?:x\1)?\s*:?(?=\s|$)|\s*([23])x\2(?:x\2)?\s*:", re.IGNORECASE)
_SIZE_LABEL = re.compile(r"\s*([23])x\1(?:x\1)?\s*:\s*\S", re.IGNORECASE)  # a size, followed by a cube
_PRIMES = "'`\u00b4\u02b9\u02bc\u2018\u2019\u2032"  # primes as keyboards, phones and books write them
_MOVE_SIGNS = re.compile(rf"[{_PRIMES}0-9()]|\b(?:[URFDLB]w|[xzMES])\b")  # signs that only occur in moves
# Moves without spaces, such as RUF: too few letters for stickers.
_JOINED_MOVES = re.compile(r"(?:([URFDLBurfdlbxyz])(?!\1)){1,12}")
_STICKER_LETTERS = frozenset(FACES + COLOURS)
_MOVE_HELP = "a move is one of U R F D L B, with 2 for a half turn and ' for a quarter back, such as U R2 F'"
_STICKER_HELP = "a cube has 54 stickers, a 2x2x2 24: the faces U R F D L B in turn, or an unfolded net"
_MAX_MOVES = 2_000
_MAX_MOVE_LETTERS = 12  # letters; half a 2x2x2 has more stickers
_TWIST_NAMES = {1: ("clockwise", "anticlockwise"), 2: ("anticlockwise", "clockwise")}


class Fault(NamedTuple):
    """A fault of a cube: the facelet that shows it, the problem, and the remedy."""

    facelet: int
    message: str
    hint: str


def parse(text: str, file: str = "board") -> Board:
    """Return the cube in `text`; a scramble is applied to a solved one. Raises ConfigError.

    If each line is a cube, return all of them. A line has its stickers, or `3x3:` and its moves.

    >>> from pi_appliance.puzzles import rubiks_cube
    >>> rubiks_cube.parse("R U").facelets[:9]
    'UUUUUUFFF'
    """
    rows = [(line, row) for line, row in enumerate(text.split("\n"), 1) if row.strip()]
    wholes = sum(_is_whole_cube(row) for _, row in rows)
    if wholes > 1:  # each line is a cube, so any other line has an error
        return _read_cubes(rows, file)
    prefix = _SIZE_PREFIX.match(text)
    side = int(prefix[1] or prefix[2]) if prefix else None
    body = text
    if prefix:  # replaced by blanks, so that lines and columns of problems stay right
        body = "".join(mark if mark.isspace() else " " for mark in prefix[0]) + text[prefix.end() :]
    if not body.strip():
        raise parse_error(file, 1, 1, "there is no cube here", f"{_MOVE_HELP}; or {_STICKER_HELP}")
    if _is_sticker_text(body):
        return _read_stickers(body, side, file)
    return _read_scramble(body, side or 3, file)


def parse_solution(board: Board | str, text: str, file: str = "solution") -> Solution:
    """Return the moves in `text`, turns of faces only. Raises `ConfigError`."""
    board = load_board(board, Board)
    moves, mark, number = text.rpartition("#") if board.others else (text, "", "")
    end = (mark + number.strip(),) if mark else ()
    found = board.find_cube(end)
    if found is None:
        raise parse_error(file, 1, len(text), "this solution has no number of a cube", "write # and it, such as #2")
    return (*_read_moves(moves, found[0].side, file, faces_only=True), *end)


parse_listing = listing_parser(parse, parse_solution)


_LINE_HELP = "of many cubes, each line has the stickers of one, or 3x3: or 2x2: and a scramble"


def _is_whole_cube(row: str) -> bool:
    words = row.split()
    is_row = sum(map(len, words)) in _SIDE_BY_STICKERS and min(map(len, words)) > 1  # single letters may be moves
    return _SIZE_LABEL.match(row) is not None or (is_row and _is_sticker_text(row))


def _read_cubes(rows: Sequence[tuple[int, str]], file: str) -> Board:
    """Return the cubes of numbered lines. Raises ConfigError with the problems of all."""
    cubes, problems = list[Board](), Problems(file)
    for line, row in rows:
        if not _is_whole_cube(row) and not _is_sticker_text(row):
            problems.add(line, 1, "this line is not a cube", _LINE_HELP)
            continue
        try:
            cubes.append(move_problems(partial(parse, row, file), line - 1))
        except ConfigError as error:
            problems += error.problems
    problems.raise_any()
    return replace(cubes[0], others=tuple(cubes[1:]))


def _is_sticker_text(text: str) -> bool:
    """Tell stickers from moves: no move signs, and letters in words or filling a net."""
    words = text.split()
    if _MOVE_SIGNS.search(text) or ("y" in words and not text.islower()) or _JOINED_MOVES.fullmatch(text.strip()):
        return False
    if any(
        len(word) > 1 and sum(mark in _STICKER_LETTERS for mark in word.upper()) >= 0.8 * len(word) for word in words
    ):
        return True
    letters = [word.upper() for word in words if len(word) == 1]
    rows = [row for row in text.splitlines() if row.strip()]
    has_equal_counts = len({letters.count(letter) for letter in set(letters)}) == 1
    if len(letters) in _SIDE_BY_STICKERS and (has_equal_counts or len(rows) in {6, 9}):
        return True
    # A small y may also be a rotation of the whole cube, but a scramble has few of those.
    colours = "WYGO" if "Y" in words or len(letters) > _MAX_MOVE_LETTERS else "WGO"
    return bool(set(colours) & set(letters))


def _read_stickers(text: str, side: int | None, file: str) -> Board:
    letters = list(find_tokens(text, r"\S"))
    marks = {letter.text.upper() for letter in letters}
    face_of = _BY_COLOUR if marks & set("WYGO") and not marks & set("UFDL") else _BY_FACE
    kind = "colour" if face_of is _BY_COLOUR else "face"
    hint = f"stickers are {' '.join(face_of)}; check that all are of one kind"
    problems = Problems(file)
    for mark, place in letters:
        if mark.upper() not in face_of:
            problems.add(*place, f"{mark!r} is not a {kind}", hint)
    problems.raise_any()
    found_side = _SIDE_BY_STICKERS.get(len(letters))
    if found_side is None or side not in {None, found_side}:
        message = f"there are {pluralize(len(letters), 'sticker')}"
        hint = f"a {side}x{side}x{side} has {6 * side * side}" if side else _STICKER_HELP
        raise parse_error(file, *letters[-1].place, message, hint)
    ordered = _order_net(letters, found_side) or letters
    facelets = "".join(face_of[letter.text.upper()] for letter in ordered)
    names = {face: mark for mark, face in face_of.items()}
    for at, message, hint in find_faults(facelets, found_side, names):
        problems.add(*ordered[at].place, message, hint)
    problems.raise_any()
    return Board(found_side, facelets)


def _order_net(letters: Sequence[Token], side: int) -> list[Token] | None:
    by_line: dict[int, list[Token]] = {}
    for letter in letters:
        by_line.setdefault(letter.place[0], []).append(letter)
    rows = list(by_line.values())
    if [len(row) for row in rows] != [side] * side + [4 * side] * side + [side] * side:
        return None
    middle, faces = rows[side : 2 * side], {"U": rows[:side], "D": rows[2 * side :]}
    faces |= {face: [row[at * side : at * side + side] for row in middle] for at, face in enumerate("LFRB")}
    return [letter for face in FACES for row in faces[face] for letter in row]


def _read_scramble(text: str, side: int, file: str) -> Board:
    facelets = "".join(face * (side * side) for face in FACES)
    for move in _read_moves(text, side, file, faces_only=False):
        facelets = _apply_move(facelets, side, move)
    return Board(side, facelets)


def _apply_move(facelets: str, side: int, move: str) -> str:
    turn = parse_turn(move, side)
    assert turn is not None
    return apply_turn(facelets, side, turn)


def _read_moves(text: str, side: int, file: str, *, faces_only: bool) -> list[str]:
    problems, moves = Problems(file), list[str]()
    plain = re.sub(f"[{_PRIMES}]", "'", text)
    if not faces_only:
        for line, row in enumerate(text.splitlines(), 1):
            _check_brackets(row, line, problems)
        plain = re.sub(r"[(),]", " ", plain)
    for word, place in find_tokens(plain):
        parts = [part[0] for part in TURN_PATTERN.finditer(word)]
        if "".join(parts) != word:
            parts = [word]
        moves += parts
        if not all(parse_turn(part, side) for part in parts) or (faces_only and not set(parts) <= set(TURN_NAMES)):
            is_of_3x3x3 = side == 2 and re.match(r"[URFDLB]w|[urfdlbMES]", word)
            message = f"{word!r} is not a move" + " of a 2x2x2" * bool(is_of_3x3x3)
            problems.add(*place, message, "it has no middle layer" if is_of_3x3x3 else _MOVE_HELP)
    if len(moves) > _MAX_MOVES:
        problems.add(1, 1, f"there are {len(moves):,} moves", f"at most {_MAX_MOVES:,} are read")
    problems.raise_any()
    return moves


def _check_brackets(row: str, line: int, problems: Problems) -> None:
    opened: list[int] = []
    for column, sign in enumerate(row, 1):
        if sign == "(":
            opened.append(column)
        elif sign == ")" and not opened:
            hint = "write ( before the first move of the group, or leave it out"
            problems.add(line, column, "')' closes no bracket", hint)
        elif sign == ")":
            opened.pop()
    for column in opened:
        problems.add(line, column, "'(' is not closed", "write ) after the last move of the group, or leave it out")


def find_faults(facelets: str, side: int, names: Mapping[str, str]) -> list[Fault]:
    """Return why a cube cannot be solved by turning. `names` has the colour of each face."""
    faults = list(_colour_count_faults(facelets, side, names))
    if not faults and side == 3:
        faults = list(_centre_faults(facelets, names))
    if not faults:
        faults = list(_piece_faults(facelets, side, names))
        # If the fixed corner of a 2x2x2 is wrong, all its other corners seem wrong.
        if faults and side == 2:
            faults = list(_fixed_corner_faults(facelets, names)) or faults
    return faults or list(_parity_faults(facelets, side))


def _colour_count_faults(facelets: str, side: int, names: Mapping[str, str]) -> Iterator[Fault]:
    area = side * side
    counts = Counter(facelets)
    too_few = " and ".join(f"{counts[face]} {names[face]}" for face in FACES if counts[face] < area)
    for face in FACES:
        if counts[face] > area:
            at = [number for number, colour in enumerate(facelets) if colour == face][area]
            message = f"there are {counts[face]} {names[face]}"
            message = f"{message}, but {too_few}" if too_few else message
            yield Fault(at, message, f"each of the six colours comes {area} times")


def _centre_faults(facelets: str, names: Mapping[str, str]) -> Iterator[Fault]:
    face_by_colour: dict[str, str] = {}
    for number, face in enumerate(FACES):
        at = 9 * number + CENTRE
        colour = facelets[at]
        if colour in face_by_colour:
            message = f"the centre of {face} is {names[colour]}, as that of {face_by_colour[colour]} is"
            yield Fault(at, message, "six centres have six colours: fill in the cube as you hold it")
        face_by_colour.setdefault(colour, face)


def _piece_faults(facelets: str, side: int, names: Mapping[str, str]) -> Iterator[Fault]:
    homes = {face: colour for colour, face in home_faces(facelets, side).items()}
    places: dict[tuple[str, ...], str] = {}
    for place, at, colours in iter_pieces(facelets, side):
        kind = "corner" if len(place) == 3 else "edge"
        colour_names = "-".join(names[facelets[number]] for number in at)
        piece = tuple(sorted(colours))
        if fault := _check_piece(place, at[0], colours, colour_names):
            yield fault
        elif piece in places:
            missing = _name_missing_piece(facelets, side, len(place), homes, names)
            message = f"the {kind} {colour_names} is twice: at {places[piece]} and at {place}"
            yield Fault(at[0], message, f"{missing} is missing")
        places.setdefault(piece, place)


def _check_piece(place: str, at: int, colours: str, colour_names: str) -> Fault | None:
    """Return the fault if the piece at `place` has impossible colours. It says `colour_names`."""
    kind = "corner" if len(place) == 3 else "edge"
    name = next((name for name in CORNERS + EDGES if sorted(name) == sorted(colours)), "")
    if not name:
        return Fault(at, f"the {kind} {place} is {colour_names}: there is no such {kind}", f"look at the {kind} again")
    if kind == "corner" and colours not in name + name:
        message = f"the corner {place} is {colour_names}: its colours go round the wrong way"
        return Fault(at, message, "two of its stickers are exchanged")
    return None


def _fixed_corner_faults(facelets: str, names: Mapping[str, str]) -> Iterator[Fault]:
    """Yield the fault of the corner DBL, which defines the home of all colours of a 2x2x2."""
    at = [facelet_names(2).index((frozenset("DBL"), face)) for face in "DBL"]
    colours = "".join(facelets[number] for number in at)
    if fault := _check_piece("DBL", at[0], colours, "-".join(names[colour] for colour in colours)):
        yield fault


def _name_missing_piece(facelets: str, side: int, size: int, homes: Mapping[str, str], names: Mapping[str, str]) -> str:
    present = {frozenset(piece.colours) for piece in iter_pieces(facelets, side) if len(piece.place) == size}
    missing = [name for name in CORNERS + EDGES if len(name) == size and frozenset(name) not in present]
    return " or ".join("-".join(names[homes[face]] for face in name) for name in missing)


def _parity_faults(facelets: str, side: int) -> Iterator[Fault]:
    """Yield violated invariants of turning: sum of twists, sum of flips, parity."""
    pieces = list(iter_pieces(facelets, side))
    corners = [piece for piece in pieces if len(piece.place) == 3]
    edges = [piece for piece in pieces if len(piece.place) == 2]
    first_facelet = {piece.place: piece.facelets[0] for piece in pieces}
    twist = sum(third for piece in corners for third, colour in enumerate(piece.colours) if colour in "UD") % 3
    if twist:
        direction, opposite = _TWIST_NAMES[twist]
        message = f"impossible: the corners together are twisted by a third {direction}"
        hint = f"twist one corner {opposite} by hand, or look at their stickers again"
        yield Fault(first_facelet["URF"], message, hint)
    flipped = sum(piece.colours not in EDGES for piece in edges)
    if flipped % 2:
        message = f"impossible: {pluralize(flipped, 'edge')} flipped, and turning flips an even number"
        yield Fault(first_facelet["UF"], message, "flip one edge by hand, or look at their stickers again")
    orders = []
    for group in (corners, edges):
        places = [frozenset(piece.place) for piece in group]
        orders.append([places.index(frozenset(piece.colours)) for piece in group])
    if side == 3 and is_odd(orders[0]) != is_odd(orders[1]):
        message = "impossible: two pieces are exchanged (parity), and turning never exchanges just two"
        hint = "exchange two edges or two corners by hand, or look at their stickers again"
        yield Fault(first_facelet["UF"], message, hint)


FACE_SIDE = 84  # side of a face in the net, in units of the picture
GAP = 4
EDGE = 78  # edge of the cube in the 3D view
LEAN, RISE = 0.866, 0.5  # direction of the edges that lead to the back
FACE_NAMES = {"U": "upper", "R": "right", "F": "front", "D": "lower", "L": "left", "B": "back"}
_POWER_NAMES = {"": "a quarter clockwise", "2": "by a half", "'": "a quarter anticlockwise"}
_ARROWS = {"": "↻", "2": "↻↻", "'": "↺"}
# Position of each face in the net, counted in faces.
_NET = {"U": (1, 0), "L": (0, 1), "F": (1, 1), "R": (2, 1), "B": (3, 1), "D": (1, 2)}
# In the 3D view: a corner of each face, and its directions right and down, counted in edges.
_VIEW = {
    "U": ((0, -RISE), (LEAN, RISE), (-LEAN, RISE)),
    "F": ((-LEAN, 0), (LEAN, RISE), (0, 1)),
    "R": ((0, RISE), (LEAN, -RISE), (0, 1)),
}
_TOP = 72  # top of the net, because the 3D view beside it is higher than a face
_WIDTH, _HEIGHT = 4 * FACE_SIDE + 5 * GAP, _TOP + 3 * FACE_SIDE + 4 * GAP
_VIEW_X, _VIEW_Y = 2 * FACE_SIDE + 3 * GAP + FACE_SIDE * 0.95, EDGE * RISE + GAP  # middle of the 3D view
# Stickers keep their colours in dark mode. Letters help people who cannot distinguish the colours.
STYLE = """\
.cube-u{fill:#f7f7f2}.cube-r{fill:#c62828}.cube-f{fill:#1f8a3b}.cube-d{fill:#f6cf1d}.cube-l{fill:#ef7d1a}
.cube-b{fill:#1e56c9}.cube-body{fill:#1d1d1f;stroke:#1d1d1f;stroke-width:3;stroke-linejoin:round}
.cube-ink{fill:#111;text-anchor:middle;dominant-baseline:central;font:700 15px sans-serif}.cube-pale{fill:#fff}
.cube-turns{fill:none;stroke:#d81b90;stroke-width:5;stroke-linejoin:round}
.cube-way{fill:#d81b90;text-anchor:middle;dominant-baseline:central;font:700 22px sans-serif}
@media (prefers-color-scheme:dark){.cube-body{fill:#000;stroke:#6b6b73}.cube-turns{stroke:#ff7ac6}
.cube-way{fill:#ff7ac6}.cube-u{fill:#e6e6df}}"""


def render(board: Board | str) -> str:
    """Draw the board as an unfolded net; several cubes as one row of stickers each."""
    board = load_board(board, Board)
    return "".join(f"{cube.facelets}\n" for cube in board.cubes) if board.others else draw_net(board.facelets)


def notate(board: Board | str, solution: Solution) -> str:  # noqa: ARG001 - as in the other puzzles
    """Return the solution in one row, such as R U2 F'."""
    return " ".join(solution)


def render_solution(board: Board | str, solution: Solution) -> str:
    """Return the solution in one row, and again in rows of five moves.

    For several cubes, it is only the row.
    """
    board = load_board(board, Board)
    if board.others:
        return f"{notate(board, solution)}\n"
    groups = [" ".join(f"{move:<2}" for move in solution[at : at + 5]).rstrip() for at in range(0, len(solution), 5)]
    rows = [f"{at * 5 + 1:>4}  {group}" for at, group in enumerate(groups)]
    return "\n".join([notate(board, solution), f"({pluralize(len(solution), 'move')})", *rows]) + "\n"


def render_svg(board: Board | str) -> str:
    """Draw the board as SVG; of several cubes, the first one."""
    board = load_board(board, Board)
    return _draw_cube(board.side, board.facelets, "")


def steps(board: Board | str, solution: Sequence[str]) -> Iterator[Step]:
    """Yield pictures of the board before and after each move, with the turned face marked."""
    board = load_board(board, Board)
    board, solution = board.find_cube(solution) or (board, ())
    facelets = board.facelets
    yield Step("The cube as it begins", _draw_cube(board.side, facelets, ""))
    for number, move in enumerate(solution, 1):
        facelets = _apply_move(facelets, board.side, move)
        caption = f"{number} of {len(solution)}: {move}: {describe_turn(move)}"
        yield Step(caption, _draw_cube(board.side, facelets, move))


def describe_turn(move: str) -> str:
    """Return a move as text: "the right face a quarter clockwise"."""
    return f"the {FACE_NAMES[move[0]]} face {_POWER_NAMES[move[1:]]}"


def _draw_cube(side: int, facelets: str, move: str) -> str:
    area = side * side
    faces = {face: facelets[at * area : (at + 1) * area] for at, face in enumerate(FACES)}
    state = f"after {move}, {describe_turn(move)}" if move else " ".join(faces.values())
    parts = [part for face, stickers in faces.items() for part in _net_face(face, side, stickers)]
    parts += [part for face in _VIEW for part in _view_face(face, side, faces[face])]
    if move:
        parts += _turn_marks(move)
    return svg_document(_WIDTH, _HEIGHT, f"Rubik's cube {'x'.join([str(side)] * 3)}: {state}", STYLE, parts)


def _net_position(face: str) -> tuple[float, float]:
    column, row = _NET[face]
    return GAP + column * (FACE_SIDE + GAP), _TOP + GAP + row * (FACE_SIDE + GAP)


def _net_face(face: str, side: int, stickers: str) -> Iterator[str]:
    left, top = _net_position(face)
    unit = FACE_SIDE / side
    yield f'<rect class="cube-body" x="{left:g}" y="{top:g}" width="{FACE_SIDE}" height="{FACE_SIDE}" rx="4"/>'
    for number, colour in enumerate(stickers):
        x, y = left + number % side * unit, top + number // side * unit
        place = f'x="{x + 1.5:g}" y="{y + 1.5:g}" width="{unit - 3:g}" height="{unit - 3:g}"'
        yield f'<rect class="cube-{colour.lower()}" {place} rx="3"/>'
        yield _sticker_letter(colour, x + unit / 2, y + unit / 2)


def _sticker_letter(colour: str, x: float, y: float) -> str:
    pale = " cube-pale" if colour in "RFB" else ""
    return f'<text class="cube-ink{pale}" x="{x:.1f}" y="{y:.1f}">{colour}</text>'


def _view_face(face: str, side: int, stickers: str) -> Iterator[str]:
    yield f'<polygon class="cube-body" points="{_view_outline(face)}"/>'
    for number, colour in enumerate(stickers):
        row, column = divmod(number, side)
        sides = ((place + edge) / side for edge in (0.05, 0.95) for place in (column, row))
        yield f'<polygon class="cube-{colour.lower()}" points="{_view_outline(face, *sides)}"/>'
        yield _sticker_letter(colour, *_view_point(face, (column + 0.5) / side, (row + 0.5) / side))


def _view_point(face: str, right: float, down: float) -> tuple[float, float]:
    """Return a point of a face of the 3D view; `right` and `down` are from 0 to 1."""
    origin, across, below = _VIEW[face]
    x, y = (origin[at] + right * across[at] + down * below[at] for at in (0, 1))
    return _VIEW_X + x * EDGE, _VIEW_Y + y * EDGE


def _view_outline(face: str, left: float = 0, top: float = 0, right: float = 1, bottom: float = 1) -> str:
    """Return the corners of a part of a face of the 3D view; the sides are from 0 to 1."""
    corners = ((left, top), (right, top), (right, bottom), (left, bottom))
    return " ".join("{:.1f},{:.1f}".format(*_view_point(face, x, y)) for x, y in corners)


def _turn_marks(move: str) -> Iterator[str]:
    left, top = _net_position(move[0])
    yield f'<rect class="cube-turns" x="{left:g}" y="{top:g}" width="{FACE_SIDE}" height="{FACE_SIDE}" rx="4"/>'
    if move[0] in _VIEW:
        yield f'<polygon class="cube-turns" points="{_view_outline(move[0])}"/>'
    x, y = _net_position("D")
    x, y = x + FACE_SIDE * 1.6, y + FACE_SIDE / 2
    yield f'<text class="cube-way" x="{x:g}" y="{y:g}">{move} {_ARROWS[move[1:]]}</text>'
