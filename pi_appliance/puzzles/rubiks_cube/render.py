"""Draws a cube: as an unfolded net in letters, and as a picture with the net and a view of three of its faces."""

from collections.abc import Iterator

from pi_appliance.puzzles import Step, pluralize
from pi_appliance.puzzles.rendering import svg_document
from pi_appliance.puzzles.rubiks_cube.board import FACES, Board, Solution, apply_turn, parse_turn

FACE = 84  # the side of a face in the net, in the picture's own units
GAP = 4
EDGE = 78  # the edge of the cube in the view of three faces
LEAN, RISE = 0.866, 0.5  # of an edge that leads to the back
FACE_NAMES = {"U": "upper", "R": "right", "F": "front", "D": "lower", "L": "left", "B": "back"}
_POWERS = {"": "a quarter clockwise", "2": "by a half", "'": "a quarter anticlockwise"}
# Where each face stands in the net, in faces, and in the view: its corner and where right and down lead, in edges.
_NET = {"U": (1, 0), "L": (0, 1), "F": (1, 1), "R": (2, 1), "B": (3, 1), "D": (1, 2)}
_VIEW = {
    "U": ((0, -RISE), (LEAN, RISE), (-LEAN, RISE)),
    "F": ((-LEAN, 0), (LEAN, RISE), (0, 1)),
    "R": ((0, RISE), (LEAN, -RISE), (0, 1)),
}
_TOP = 72  # of the net: the view beside it is higher than a face
_WIDTH, _HEIGHT = 4 * FACE + 5 * GAP, _TOP + 3 * FACE + 4 * GAP
_VIEW_X, _VIEW_Y = 2 * FACE + 3 * GAP + FACE * 0.95, EDGE * RISE + GAP  # the corner of the view that is nearest, above
# Stickers keep their colours at night, as on the table; each has its letter, for who cannot tell them apart.
STYLE = """\
.cube-u{fill:#f7f7f2}.cube-r{fill:#c62828}.cube-f{fill:#1f8a3b}.cube-d{fill:#f6cf1d}.cube-l{fill:#ef7d1a}
.cube-b{fill:#1e56c9}.cube-body{fill:#1d1d1f;stroke:#1d1d1f;stroke-width:3;stroke-linejoin:round}
.cube-ink{fill:#111;text-anchor:middle;dominant-baseline:central;font:700 15px sans-serif}.cube-pale{fill:#fff}
.cube-turns{fill:none;stroke:#d81b90;stroke-width:5;stroke-linejoin:round}
.cube-way{fill:#d81b90;text-anchor:middle;dominant-baseline:central;font:700 22px sans-serif}
@media (prefers-color-scheme:dark){.cube-body{fill:#000;stroke:#6b6b73}.cube-turns{stroke:#ff7ac6}
.cube-way{fill:#ff7ac6}.cube-u{fill:#e6e6df}}"""


def render(board: Board) -> str:
    """Draw BOARD as an unfolded net: U above, L F R B beside each other, D below."""
    side, area = board.side, board.side * board.side
    rows = {
        face: [board.facelets[at + row : at + row + side] for row in range(0, area, side)]
        for at, face in zip(range(0, 6 * area, area), FACES, strict=True)
    }
    indent = " " * (side + 1)
    middle = (" ".join(rows[face][row] for face in "LFRB") for row in range(side))
    drawn = [*(indent + row for row in rows["U"]), *middle, *(indent + row for row in rows["D"])]
    return "".join(row + "\n" for row in drawn)


def notate(board: Board, line: Solution) -> str:  # noqa: ARG001
    """Return LINE in one row, such as R U2 F'."""
    return " ".join(line)


def render_solution(board: Board, line: Solution) -> str:
    """Return LINE in rows of five moves, below all of it in one row."""
    groups = [" ".join(f"{move:<2}" for move in line[at : at + 5]).rstrip() for at in range(0, len(line), 5)]
    rows = [f"{at * 5 + 1:>4}  {group}" for at, group in enumerate(groups)]
    return "\n".join([notate(board, line), f"({pluralize(len(line), 'move')})", *rows]) + "\n"


def render_svg(board: Board) -> str:
    """Draw BOARD as a picture that needs nothing else."""
    return _draw_cube(board.side, board.facelets, "")


def steps(board: Board, line: Solution) -> Iterator[Step]:
    """Yield BOARD, and BOARD after each move of LINE, with the face that turned marked."""
    facelets = board.facelets
    yield Step("The cube as it begins", _draw_cube(board.side, facelets, ""))
    for number, word in enumerate(line, 1):
        turn = parse_turn(word, board.side)
        assert turn is not None
        facelets = apply_turn(facelets, board.side, turn)
        yield Step(f"{number} of {len(line)}: {word}: {describe_turn(word)}", _draw_cube(board.side, facelets, word))


def describe_turn(word: str) -> str:
    """Return what WORD turns: "the right face a quarter clockwise"."""
    return f"the {FACE_NAMES[word[0]]} face {_POWERS[word[1:]]}"


def _draw_cube(side: int, facelets: str, word: str) -> str:
    size = "x".join([str(side)] * 3)
    title = f"Rubik's cube {size}: " + (
        f"after {word}, {describe_turn(word)}" if word else " ".join(_faces(facelets, side))
    )
    parts = [part for face in FACES for part in _net_face(face, side, facelets)]
    parts += [part for face in _VIEW for part in _view_face(face, side, facelets)]
    if word:
        parts += _turn_marks(word)
    return svg_document(_WIDTH, _HEIGHT, title, STYLE, parts)


def _faces(facelets: str, side: int) -> list[str]:
    area = side * side
    return [facelets[at : at + area] for at in range(0, 6 * area, area)]


def _face_stickers(face: str, side: int, facelets: str) -> str:
    return _faces(facelets, side)[FACES.index(face)]


def _net_position(face: str) -> tuple[float, float]:
    column, row = _NET[face]
    return GAP + column * (FACE + GAP), _TOP + GAP + row * (FACE + GAP)


def _net_face(face: str, side: int, facelets: str) -> Iterator[str]:
    """Yield FACE as it lies in the net."""
    left, top = _net_position(face)
    unit = FACE / side
    yield f'<rect class="cube-body" x="{left:g}" y="{top:g}" width="{FACE}" height="{FACE}" rx="4"/>'
    for number, colour in enumerate(_face_stickers(face, side, facelets)):
        x, y = left + number % side * unit, top + number // side * unit
        yield (
            f'<rect class="cube-{colour.lower()}" x="{x + 1.5:g}" y="{y + 1.5:g}" width="{unit - 3:g}"'
            f' height="{unit - 3:g}" rx="3"/>'
        )
        yield _sticker_letter(colour, x + unit / 2, y + unit / 2)


def _sticker_letter(colour: str, x: float, y: float) -> str:
    pale = " cube-pale" if colour in "RFB" else ""
    return f'<text class="cube-ink{pale}" x="{x:.1f}" y="{y:.1f}">{colour}</text>'


def _view_face(face: str, side: int, facelets: str) -> Iterator[str]:
    """Yield FACE as the view of three faces shows it."""
    yield f'<polygon class="cube-body" points="{_outline(face)}"/>'
    for number, colour in enumerate(_face_stickers(face, side, facelets)):
        row, column = divmod(number, side)
        corners = ((0.05, 0.05), (0.95, 0.05), (0.95, 0.95), (0.05, 0.95))
        points = " ".join(_point_text(face, (column + x) / side, (row + y) / side) for x, y in corners)
        yield f'<polygon class="cube-{colour.lower()}" points="{points}"/>'
        x, y = _view_point(face, (column + 0.5) / side, (row + 0.5) / side)
        yield _sticker_letter(colour, x, y)


def _view_point(face: str, right: float, down: float) -> tuple[float, float]:
    """Return where a point of FACE, so far to its right and down, stands in the picture."""
    origin, across, below = _VIEW[face]
    x, y = (origin[at] + right * across[at] + down * below[at] for at in (0, 1))
    return _VIEW_X + x * EDGE, _VIEW_Y + y * EDGE


def _point_text(face: str, right: float, down: float) -> str:
    x, y = _view_point(face, right, down)
    return f"{x:.1f},{y:.1f}"


def _outline(face: str) -> str:
    return " ".join(_point_text(face, right, down) for right, down in ((0, 0), (1, 0), (1, 1), (0, 1)))


def _turn_marks(word: str) -> Iterator[str]:
    """Yield a frame around the face that WORD turned, and the move itself beside the net."""
    left, top = _net_position(word[0])
    yield f'<rect class="cube-turns" x="{left:g}" y="{top:g}" width="{FACE}" height="{FACE}" rx="4"/>'
    if word[0] in _VIEW:
        yield f'<polygon class="cube-turns" points="{_outline(word[0])}"/>'
    arrow = {"": "↻", "2": "↻↻", "'": "↺"}[word[1:]]
    x, y = _net_position("D")
    yield f'<text class="cube-way" x="{x + FACE * 1.6:g}" y="{y + FACE / 2:g}">{word} {arrow}</text>'
