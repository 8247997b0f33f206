"""Write and draw a cube: the unfolded net as text, and a picture with the net and a 3D view."""

from collections.abc import Iterator

from pi_appliance.puzzles import Step, pluralize
from pi_appliance.puzzles.rendering import svg_document
from pi_appliance.puzzles.rubiks_cube.board import FACES, Board, Solution, apply_turn, parse_turn

FACE_SIDE = 84  # of the net, in units of the picture
GAP = 4
EDGE = 78  # of the cube in the 3D view
LEAN, RISE = 0.866, 0.5  # direction of an edge that leads to the back
FACE_NAMES = {"U": "upper", "R": "right", "F": "front", "D": "lower", "L": "left", "B": "back"}
_POWER_NAMES = {"": "a quarter clockwise", "2": "by a half", "'": "a quarter anticlockwise"}
_ARROWS = {"": "↻", "2": "↻↻", "'": "↺"}
# Position of each face in the net, in faces.
_NET = {"U": (1, 0), "L": (0, 1), "F": (1, 1), "R": (2, 1), "B": (3, 1), "D": (1, 2)}
# In the 3D view: corner of a face, and the directions right and down, in edges.
_VIEW = {
    "U": ((0, -RISE), (LEAN, RISE), (-LEAN, RISE)),
    "F": ((-LEAN, 0), (LEAN, RISE), (0, 1)),
    "R": ((0, RISE), (LEAN, -RISE), (0, 1)),
}
_TOP = 72  # of the net: the 3D view beside it is higher than a face
_WIDTH, _HEIGHT = 4 * FACE_SIDE + 5 * GAP, _TOP + 3 * FACE_SIDE + 4 * GAP
_VIEW_X, _VIEW_Y = 2 * FACE_SIDE + 3 * GAP + FACE_SIDE * 0.95, EDGE * RISE + GAP  # its middle
# Stickers keep their colours in dark mode; letters help people who cannot tell them apart.
STYLE = """\
.cube-u{fill:#f7f7f2}.cube-r{fill:#c62828}.cube-f{fill:#1f8a3b}.cube-d{fill:#f6cf1d}.cube-l{fill:#ef7d1a}
.cube-b{fill:#1e56c9}.cube-body{fill:#1d1d1f;stroke:#1d1d1f;stroke-width:3;stroke-linejoin:round}
.cube-ink{fill:#111;text-anchor:middle;dominant-baseline:central;font:700 15px sans-serif}.cube-pale{fill:#fff}
.cube-turns{fill:none;stroke:#d81b90;stroke-width:5;stroke-linejoin:round}
.cube-way{fill:#d81b90;text-anchor:middle;dominant-baseline:central;font:700 22px sans-serif}
@media (prefers-color-scheme:dark){.cube-body{fill:#000;stroke:#6b6b73}.cube-turns{stroke:#ff7ac6}
.cube-way{fill:#ff7ac6}.cube-u{fill:#e6e6df}}"""


def render(board: Board) -> str:
    """Draw the board as an unfolded net: U above, L F R B beside each other, D below."""
    side, area = board.side, board.side * board.side
    rows = {
        face: [board.facelets[at + row : at + row + side] for row in range(0, area, side)]
        for at, face in zip(range(0, 6 * area, area), FACES, strict=True)
    }
    indent = " " * (side + 1)
    middle = (" ".join(rows[face][row] for face in "LFRB") for row in range(side))
    lines = [*(indent + row for row in rows["U"]), *middle, *(indent + row for row in rows["D"])]
    return "".join(line + "\n" for line in lines)


def notate(board: Board, solution: Solution) -> str:  # noqa: ARG001
    """Return the solution in one row, such as R U2 F'."""
    return " ".join(solution)


def render_solution(board: Board, solution: Solution) -> str:
    """Return the solution in one row, and below in rows of five moves."""
    groups = [" ".join(f"{move:<2}" for move in solution[at : at + 5]).rstrip() for at in range(0, len(solution), 5)]
    rows = [f"{at * 5 + 1:>4}  {group}" for at, group in enumerate(groups)]
    return "\n".join([notate(board, solution), f"({pluralize(len(solution), 'move')})", *rows]) + "\n"


def render_svg(board: Board) -> str:
    """Draw the board as SVG."""
    return _draw_cube(board.side, board.facelets, "")


def steps(board: Board, solution: Solution) -> Iterator[Step]:
    """Yield pictures of the board before and after each move, with the turned face marked."""
    facelets = board.facelets
    yield Step("The cube as it begins", _draw_cube(board.side, facelets, ""))
    for number, move in enumerate(solution, 1):
        turn = parse_turn(move, board.side)
        assert turn is not None
        facelets = apply_turn(facelets, board.side, turn)
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
        yield (
            f'<rect class="cube-{colour.lower()}" x="{x + 1.5:g}" y="{y + 1.5:g}" width="{unit - 3:g}"'
            f' height="{unit - 3:g}" rx="3"/>'
        )
        yield _sticker_letter(colour, x + unit / 2, y + unit / 2)


def _sticker_letter(colour: str, x: float, y: float) -> str:
    pale = " cube-pale" if colour in "RFB" else ""
    return f'<text class="cube-ink{pale}" x="{x:.1f}" y="{y:.1f}">{colour}</text>'


def _view_face(face: str, side: int, stickers: str) -> Iterator[str]:
    yield f'<polygon class="cube-body" points="{_view_outline(face)}"/>'
    for number, colour in enumerate(stickers):
        row, column = divmod(number, side)
        corners = ((0.05, 0.05), (0.95, 0.05), (0.95, 0.95), (0.05, 0.95))
        points = " ".join(_point_text(face, (column + x) / side, (row + y) / side) for x, y in corners)
        yield f'<polygon class="cube-{colour.lower()}" points="{points}"/>'
        x, y = _view_point(face, (column + 0.5) / side, (row + 0.5) / side)
        yield _sticker_letter(colour, x, y)


def _view_point(face: str, right: float, down: float) -> tuple[float, float]:
    """Return a point of a face of the 3D view; `right` and `down` are from 0 to 1."""
    origin, across, below = _VIEW[face]
    x, y = (origin[at] + right * across[at] + down * below[at] for at in (0, 1))
    return _VIEW_X + x * EDGE, _VIEW_Y + y * EDGE


def _point_text(face: str, right: float, down: float) -> str:
    x, y = _view_point(face, right, down)
    return f"{x:.1f},{y:.1f}"


def _view_outline(face: str) -> str:
    return " ".join(_point_text(face, right, down) for right, down in ((0, 0), (1, 0), (1, 1), (0, 1)))


def _turn_marks(move: str) -> Iterator[str]:
    left, top = _net_position(move[0])
    yield f'<rect class="cube-turns" x="{left:g}" y="{top:g}" width="{FACE_SIDE}" height="{FACE_SIDE}" rx="4"/>'
    if move[0] in _VIEW:
        yield f'<polygon class="cube-turns" points="{_view_outline(move[0])}"/>'
    x, y = _net_position("D")
    x, y = x + FACE_SIDE * 1.6, y + FACE_SIDE / 2
    yield f'<text class="cube-way" x="{x:g}" y="{y:g}">{move} {_ARROWS[move[1:]]}</text>'
