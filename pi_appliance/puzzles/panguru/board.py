"""The Panguru board: plates in a triangle, pebbles, a hole and moves; known boards, and parsing."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from pi_appliance.errors import InvalidOption
from pi_appliance.puzzles import Rule, Rules, Validation, check_rules, load_board, parse_number, pluralize

HOME, HOLE = "W", "-"  # the plate where the hole must end, and the hole
TRIANGLE_SIZES = (3, 6, 10, 15)  # the number of places in a triangle of 2, 3, 4 or 5 rows
MAX_RANDOM_BOARDS = 100_000  # for one table: some minutes on a small Pi
RULES = {
    "moves": Rule(
        "where pebbles may move: original, no-centre (not down the middle), or custom lines of places such as 0-1-3,"
        " 2-4",
        "original",
    ),
    "random": Rule("the number of random boards to solve as well, for a table of their difficulty", "0"),
}

MoveLines = tuple[tuple[int, ...], ...]
"""Straight lines of places. A pebble may move between any two places of a line."""
Solution = tuple[int, ...]  # the places of the pebbles that move, one after the other, each into the current hole


@dataclass(frozen=True, slots=True)
class Board:
    """The colours of plates and pebbles, row by row. Places count from 0. Raises ValueError."""

    plates: str
    pebbles: str
    custom_lines: MoveLines = ()  # lines of a custom table of moves; empty: the original ones
    random_boards: int = 0  # random boards to solve as well, for a table of their difficulty

    def __post_init__(self) -> None:
        if len(self.plates) not in TRIANGLE_SIZES or len(self.pebbles) != len(self.plates):
            raise ValueError("a triangle has 3, 6, 10 or 15 plates, and as many pebbles and holes")
        if self.plates.count(HOME) != 1 or sorted(self.pebbles.replace(HOLE, HOME)) != sorted(self.plates):
            raise ValueError("there must be one plate W, one hole, and a pebble of its colour for each other plate")

    @property
    def move_lines(self) -> MoveLines:
        """The straight lines that pebbles move along."""
        return self.custom_lines or original_lines(len(self.plates))

    @property
    def hole(self) -> int:
        """The place that has no pebble."""
        return self.pebbles.index(HOLE)

    @property
    def home(self) -> int:
        """The place where the hole must be at the end."""
        return self.plates.index(HOME)


def triangle_rows(places: int) -> list[range]:
    """Return the places of each row of a triangle."""
    rows = [range(1)]
    while rows[-1].stop < places:
        rows.append(range(rows[-1].stop, rows[-1].stop + len(rows) + 1))
    return rows


def triangle_lines(places: int) -> MoveLines:
    """Return the lines along which pebbles move in a triangle, in all three directions."""
    rows = triangle_rows(places)
    left = [[row[at] for row in rows[at:]] for at in range(len(rows))]
    right = [[row[-1 - at] for row in rows[at:]] for at in range(len(rows))]
    return tuple(tuple(line) for line in (*rows, *left, *right) if len(line) > 1)


def original_lines(places: int) -> MoveLines:
    """Return the lines of the original game: those of the triangle, and one down the middle."""
    middle = tuple(row[len(row) // 2] for row in triangle_rows(places)[::2])  # the places 0, 4 and 12
    return (*triangle_lines(places), middle) if len(middle) > 1 else triangle_lines(places)


def reachable_places(board: Board | str) -> tuple[tuple[int, ...], ...]:
    """Return, for each place, the places that are one move away."""
    board = load_board(board, Board)
    lines = board.move_lines
    return tuple(
        tuple(sorted({end for line in lines if start in line for end in line} - {start}))
        for start in range(len(board.plates))
    )


def parse_lines(text: str, places: int) -> MoveLines:
    """Read `original`, `no-centre`, lines such as 0-1-3, or a list of lists. Raises ValueError."""
    word = text.strip()
    if word in {"", "original"}:
        return ()
    if word == "no-centre":
        lines = triangle_lines(places)
    elif word.startswith("["):
        lines = _parse_table(word, places)
    else:
        lines = tuple(_parse_line(part, places) for part in re.split(r"[,;\s]+", word) if part)
    return () if _list_pairs(lines) == _list_pairs(original_lines(places)) else lines


def _parse_line(text: str, places: int) -> tuple[int, ...]:
    if not re.fullmatch(r"[0-9]{1,3}(-[0-9]{1,3})+", text):
        raise ValueError(
            f"{text!r} is not a line of moves; write places joined by -, such as 0-1-3, or original, or no-centre"
        )
    line = tuple(map(int, text.split("-")))
    _check_places(line, places)
    if len(set(line)) != len(line):
        raise ValueError(f"the line {text} contains a place twice")
    return line


def _parse_table(text: str, places: int) -> MoveLines:
    """Read a list of lists: for each place, the places that a pebble can move to."""
    if not re.fullmatch(r"\[\s*(\[[0-9,\s]*\]\s*(,\s*)?)*\]", text):
        raise ValueError("a table of moves must be a list of lists of numbers, such as [[1, 2], [0, 2], [0, 1]]")
    rows = [[int(number) for number in re.findall("[0-9]+", row)] for row in re.findall(r"\[([0-9,\s]*)\]", text)]
    if len(rows) != places:
        raise ValueError(f"the table of moves has {pluralize(len(rows), 'row')}, but the board {places} places")
    for start, row in enumerate(rows):
        _check_places(row, places)
        for end in row:
            if start not in rows[end] or start == end:
                raise ValueError(f"the table of moves leads from {start} to {end} but not back")
    return tuple((start, end) for start, row in enumerate(rows) for end in sorted(set(row)) if start < end)


def _check_places(numbers: Iterable[int], places: int) -> None:
    if wrong := [number for number in numbers if number >= places]:
        raise ValueError(f"there is no place {wrong[0]}; places count from 0 to {places - 1}")


def _list_pairs(lines: MoveLines) -> set[frozenset[int]]:
    return {frozenset((start, end)) for line in lines for start in line for end in line if start != end}


def with_rules(board: Board | str, rules: Rules) -> Board:
    """Apply `rules` to `board`. Raises UnknownName or InvalidOption."""
    board = load_board(board, Board)
    values = check_rules("Panguru", RULES, rules, empty_is_default=False)
    if "moves" in values:
        try:
            board = replace(board, custom_lines=parse_lines(values["moves"], len(board.plates)))
        except ValueError as error:
            raise InvalidOption(f"moves: {error}") from None
    number = values.get("random", str(board.random_boards))
    return replace(board, random_boards=parse_number("random", number, 0, MAX_RANDOM_BOARDS))


def describe(board: Board | str) -> str:
    """Describe the size of `board` and its non-default rules."""
    board = load_board(board, Board)
    size = f"{pluralize(len(board.plates) - 1, 'pebble')} in {pluralize(len(set(board.plates)) - 1, 'colour')}"
    if board.custom_lines:
        no_centre = _list_pairs(board.custom_lines) == _list_pairs(triangle_lines(len(board.plates)))
        size += ", no move down the middle" if no_centre else ", custom table of moves"
    return f"{size}, and {pluralize(board.random_boards, 'random board')}" if board.random_boards else size


def draw_triangles(plates: str, pebbles: str) -> str:
    """Draw two triangles side by side."""
    rows = triangle_rows(len(plates))
    width = 2 * len(rows) - 1
    halves = ((" ".join(half[row.start : row.stop]) for half in (plates, pebbles)) for row in rows)
    return "".join(f"{left:^{width}}    {right:^{width}}".rstrip() + "\n" for left, right in halves)


_KNOWN_BOARDS = {
    # The example of the original program: 16 moves, 12 solutions.
    "original": ("WCBRBOGYGPCORPY", "-PCBRYOGYGBCORP"),
    # As hard as random boards get (three in a thousand): 21 moves, 1,694 solutions.
    "twenty-one": ("OBGRRGOYYCBWCPP", "YGOPC-PRBBCRYGO"),
    # Every pebble is one place too far along: 8 moves, one solution.
    "slide": ("RRRRWBBBBYYYYGG", "GGRRRR-BBBBYYYY"),
    # Fourteen colours: 19 moves, 26 solutions.
    "rainbow": ("AJIEKBCGHDWNLFM", "CNJFE-GKLIAMDBH"),
    # Four rows: 11 moves, 2 solutions.
    "small": ("RYBPGGBWYR", "YGYR-BRBGP"),
}
BOARDS: Mapping[str, str] = {name: draw_triangles(*halves) for name, halves in _KNOWN_BOARDS.items()}


def check(board: Board | str, solution: Sequence[int]) -> Validation:
    """Check that `solution` brings each pebble of `board` onto a plate of its colour.

    >>> from pi_appliance.puzzles import panguru
    >>> bool(panguru.check("small", next(panguru.solve("small").solutions)))
    True
    >>> panguru.check("small", (9,)).error
    'move 1: no pebble can move from 9 to 4'
    """
    board = load_board(board, Board)
    pebbles = list(board.pebbles)
    for number, start in enumerate(solution, 1):
        hole = pebbles.index(HOLE)
        if not 0 <= start < len(pebbles):
            return Validation(f"move {number}: there is no place {start}")
        if not any(start in row and hole in row for row in board.move_lines) or start == hole:
            return Validation(f"move {number}: no pebble can move from {start} to {hole}")
        pebbles[hole], pebbles[start] = pebbles[start], HOLE
    if board.plates[pebbles.index(HOLE)] != HOME:
        return Validation(f"the hole ends at {pebbles.index(HOLE)}, not on the plate W")
    for place, (pebble, plate) in enumerate(zip(pebbles, board.plates, strict=True)):
        if pebble not in (plate, HOLE):
            return Validation(f"pebble {pebble} ends at {place}, on a plate {plate}")
    return Validation()
