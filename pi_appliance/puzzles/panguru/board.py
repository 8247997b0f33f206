"""The Panguru board: plates in a triangle, pebbles, a hole and moves; known boards, and parsing."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import NamedTuple

from pi_appliance.errors import ConfigError, InvalidOption, Problem
from pi_appliance.puzzles import Rule, Validation, check_rules, parse_number, pluralize
from pi_appliance.puzzles.rendering import parse_error

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
    custom_lines: MoveLines = ()  # the lines of a custom table of moves; empty: the original ones
    random_boards: int = 0  # how many random boards to solve as well, for a table of their difficulty

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
        """The place without a pebble."""
        return self.pebbles.index(HOLE)

    @property
    def home(self) -> int:
        """The place where the hole must end."""
        return self.plates.index(HOME)


def triangle_rows(places: int) -> list[range]:
    """Return the places of each row of a triangle."""
    rows: list[range] = []
    while not rows or rows[-1].stop < places:
        first = rows[-1].stop if rows else 0
        rows.append(range(first, first + len(rows) + 1))
    return rows


def triangle_lines(places: int) -> MoveLines:
    """Return the lines of a triangle with `places` places, in all three directions."""
    rows = triangle_rows(places)
    left = [[row[at] for row in rows[at:]] for at in range(len(rows))]
    right = [[row[-1 - at] for row in rows[at:]] for at in range(len(rows))]
    return tuple(tuple(line) for line in (*rows, *left, *right) if len(line) > 1)


def original_lines(places: int) -> MoveLines:
    """Return the lines of the original game: those of the triangle, and the one down the middle."""
    middle = tuple(row[len(row) // 2] for row in triangle_rows(places)[::2])  # 0, 4, 12
    return (*triangle_lines(places), middle) if len(middle) > 1 else triangle_lines(places)


def reachable_places(board: Board) -> tuple[tuple[int, ...], ...]:
    """Return for each place the places one move away. Moves are symmetric."""
    lines = board.move_lines
    return tuple(
        tuple(sorted({end for line in lines if start in line for end in line} - {start}))
        for start in range(len(board.plates))
    )


def _parse_lines(text: str, places: int) -> MoveLines:
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
    """Read a list of lists: for each place the places that can be reached from it."""
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


def with_rules(board: Board, rules: Mapping[str, str]) -> Board:
    """Apply `rules` to `board`. Raises UnknownName or InvalidOption."""
    rules = check_rules("Panguru", RULES, rules, empty_is_default=False)
    if "moves" in rules:
        try:
            board = replace(board, custom_lines=_parse_lines(rules["moves"], len(board.plates)))
        except ValueError as error:
            raise InvalidOption(f"moves: {error}") from None
    number = rules.get("random", str(board.random_boards))
    return replace(board, random_boards=parse_number("random", number, 0, MAX_RANDOM_BOARDS))


def describe(board: Board) -> str:
    """Describe the size of `board` and its non-default rules."""
    size = f"{pluralize(len(board.plates) - 1, 'pebble')} in {pluralize(len(set(board.plates)) - 1, 'colour')}"
    if board.custom_lines:
        no_centre = _list_pairs(board.custom_lines) == _list_pairs(triangle_lines(len(board.plates)))
        size += ", no move down the middle" if no_centre else ", custom table of moves"
    return size + (f", and {pluralize(board.random_boards, 'random board')}" if board.random_boards else "")


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
BOARDS: Mapping[str, str] = MappingProxyType({name: draw_triangles(*halves) for name, halves in _KNOWN_BOARDS.items()})


def check(board: Board, line: Sequence[int]) -> Validation:
    """Check that `line` brings each pebble of `board` onto a plate of its colour."""
    pebbles = list(board.pebbles)
    for number, start in enumerate(line, 1):
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


_HEADER = re.compile(r"\s*(plates|pebbles|moves)\s*[:=]", re.IGNORECASE)
_SEPARATORS = "/|,;\"'"  # allowed between or around plates and pebbles
_HOLE_MARKS = "-._"
_BOARD_HELP = (
    "draw two triangles side by side, plates and pebbles, or write 15 plates, a space and 15 pebbles, - for the hole"
)


class _Mark(NamedTuple):
    text: str
    line: int
    column: int


def parse(text: str, file: str = "board") -> Board:
    """Read two triangles, drawn or in rows, and `moves:`. Raises ConfigError."""
    sections = _split_sections(text)
    problems: list[Problem] = []
    marks = {name: list(_parse_marks(rows, file, problems)) for name, rows in sections.items() if name != "moves"}
    if problems:
        raise ConfigError(problems)
    plates, pebbles = _split_triangles(marks, file)
    _check_colours(plates, pebbles, file)
    return Board(
        "".join(mark.text.replace(HOLE, HOME) for mark in plates),
        "".join(mark.text for mark in pebbles),
        _parse_moves(sections.get("moves", []), len(plates), file),
    )


def _split_sections(text: str) -> dict[str, list[tuple[int, int, str]]]:
    """Return rows as (line, column, text) by their header; "" stands for none."""
    sections: dict[str, list[tuple[int, int, str]]] = {}
    header = ""
    for number, row in enumerate(text.splitlines(), 1):
        match = _HEADER.match(row)
        start = match.end() if match else 0
        header = match[1].lower() if match else header
        has_moves = header == "moves" and any(text.strip() for _, _, text in sections.get(header, ()))
        if has_moves and not match and row.strip(" ,[]") and not re.search("[0-9]", row):
            header = ""  # the board is drawn below its moves
        sections.setdefault(header, []).append((number, start + 1, row[start:]))
    return sections


def _parse_marks(rows: list[tuple[int, int, str]], file: str, problems: list[Problem]) -> Iterator[list[_Mark]]:
    """Yield the marks of each row that has any; report the first invalid one of each row."""
    for number, first, row in rows:
        marks: list[_Mark] = []
        for column, each in enumerate(row, first):
            if each in _HOLE_MARKS:
                marks.append(_Mark(HOLE, number, column))
            elif each.isascii() and each.isalpha():
                marks.append(_Mark(each.upper(), number, column))
            elif not each.isspace() and each not in _SEPARATORS:
                hint = "a colour is a letter from A to Z, the hole is -"
                problems.append(Problem(file, number, column, f"{each!r} is not a colour", hint))
                break
        if marks:
            yield marks


def _split_triangles(sections: dict[str, list[list[_Mark]]], file: str) -> tuple[list[_Mark], list[_Mark]]:
    rows = sections.get("", [])
    if "plates" in sections or "pebbles" in sections:
        halves = [[mark for row in sections.get(name, []) for mark in row] for name in ("plates", "pebbles")]
        if rows:
            first = rows[0][0]
            hint = "write it after plates: or pebbles:"
            raise parse_error(file, first.line, first.column, "this precedes the first header", hint)
    else:
        halves = _split_rows(rows, file)
    for name, half, other in zip(("plates", "pebbles"), halves, halves[::-1], strict=True):
        if not half and len(other) in TRIANGLE_SIZES:
            raise _missing_half(name, other[-1], f"write {name}: and {len(other)} letters below", file)
        if len(half) not in TRIANGLE_SIZES:
            at = half[-1] if half else _Mark("", 1, 1)
            hint = "a triangle of 2 to 5 rows has 3, 6, 10 or 15"
            raise parse_error(file, at.line, at.column, f"{len(half)} places for {name}", hint)
    if len(halves[0]) != len(halves[1]):
        at, message = halves[1][-1], f"{len(halves[0])} plates, but {len(halves[1])} places for pebbles"
        raise parse_error(file, at.line, at.column, message, "each plate has a pebble, one has the hole -")
    return halves[0], halves[1]


def _split_rows(rows: list[list[_Mark]], file: str) -> list[list[_Mark]]:
    if not rows:
        raise parse_error(file, 1, 1, "there is no board here", _BOARD_HELP)
    lengths = [len(row) for row in rows]
    gaps = [at for at in range(1, lengths[0]) if rows[0][at].column > rows[0][at - 1].column + 1]
    if len(rows) == len(gaps) == 1:  # in one row
        return [rows[0][: gaps[0]], rows[0][gaps[0] :]]
    steps = list(range(1, len(rows) + 1))
    count = sum(lengths)
    is_one_row = len(rows) == 1 and (count % 2 == 1 or count // 2 not in TRIANGLE_SIZES)
    if count in TRIANGLE_SIZES and (is_one_row or (len(rows) > 1 and lengths == steps)):
        name = "plates" if any(mark.text == HOLE for row in rows for mark in row) else "pebbles"
        hint = _BOARD_HELP if len(rows) > 1 else f"write a space and {count} letters"
        raise _missing_half(name, rows[-1][-1], hint, file)
    if lengths == [2 * number for number in range(1, len(rows) + 1)] or len(rows) == 1:  # side by side
        return [[m for row in rows for m in row[: len(row) // 2]], [m for row in rows for m in row[len(row) // 2 :]]]
    half = len(rows) // 2
    steps = list(range(1, half + 1))
    if lengths in ([*steps, *steps], [lengths[0]] * 2):  # one below the other
        return [[mark for row in part for mark in row] for part in (rows[:half], rows[half:])]
    expected = zip(rows, [2, 4, 6, 8, 10], strict=False)
    first = next((row for row, hint in expected if len(row) != hint), rows[-1])
    message = f"the rows have {', '.join(map(str, lengths[:12]))} places"
    raise parse_error(file, first[0].line, first[0].column, message, _BOARD_HELP)


def _missing_half(name: str, last: _Mark, hint: str, file: str) -> ConfigError:
    """Return the error about a board that ends with the mark `last`, without one half."""
    return parse_error(file, last.line, last.column + 1, f"the {name} are missing", hint)


def _check_colours(plates: list[_Mark], pebbles: list[_Mark], file: str) -> None:
    problems: list[Problem] = []

    def add_problem(mark: _Mark, message: str, hint: str) -> None:
        problems.append(Problem(file, mark.line, mark.column, message, hint))

    homes = [mark for mark in plates if mark.text in {HOME, HOLE}]
    holes = [mark for mark in pebbles if mark.text == HOLE]
    if len(homes) != 1:
        hint = "exactly one plate is W, where the hole must end"
        add_problem((homes or plates)[-1], pluralize(len(homes), "plate") + " W", hint)
    if len(holes) != 1:
        hint = "one place has the hole - instead of a pebble"
        add_problem((holes or pebbles)[-1], pluralize(len(holes), "hole"), hint)
    for mark in pebbles:
        if mark.text == HOME:
            hint = "W is the plate where the hole must end; no pebble has that colour"
            add_problem(mark, "a pebble is called W", hint)
    for colour in sorted({mark.text for mark in plates + pebbles} - {HOME, HOLE}):
        on, off = ([mark for mark in half if mark.text == colour] for half in (pebbles, plates))
        if len(on) != len(off):
            message = f"colour {colour} has {pluralize(len(off), 'plate')} and {pluralize(len(on), 'pebble')}"
            add_problem((on or off)[-1], message, "each colour has as many pebbles as plates")
    if problems:
        raise ConfigError(problems)


def _parse_moves(rows: list[tuple[int, int, str]], places: int, file: str) -> MoveLines:
    words = [
        _Mark(match[0], number, first + match.start())
        for number, first, row in rows
        for match in re.finditer(r"[^\s,;]+", row)
    ]
    parts = words if words and not words[0].text.startswith("[") else []  # one by one, so that an error has its place
    whole = _Mark(" ".join(row for _, _, row in rows), *(words[0][1:] if words else (1, 1)))
    lines: MoveLines = ()
    for part in [*parts, whole]:
        try:
            lines = _parse_lines(part.text, places)
        except ValueError as error:
            message, _, hint = str(error).partition("; ")
            raise parse_error(file, part.line, part.column, message, hint) from None
    return lines


def parse_solution(board: Board, text: str, file: str = "solution") -> Solution:
    """Read a solution of `board`: the path of the hole, such as 0-3-5. Raises ConfigError."""
    words = [
        (match[0], number, match.start() + 1)
        for number, row in enumerate(text.splitlines(), 1)
        for match in re.finditer(r"[^-\s]+|-", row)
    ]
    reachable = reachable_places(board)
    example = f"{board.hole}-{(reachable[board.hole] or (0,))[0]}"
    hint = f"write the path of the hole, which starts at {board.hole}, such as {example}"
    path: list[int] = []
    before = "-"
    for word, line, column in words:
        if word == before == "-":
            raise parse_error(file, line, column, "a place is missing before this -", hint)
        before = word
        if word == "-":
            continue
        if not re.fullmatch("[0-9]{1,3}", word) or int(word) >= len(reachable):
            raise parse_error(file, line, column, f"{word!r} is not a place of this board", hint)
        path.append(int(word))
        if path[0] != board.hole:
            raise parse_error(file, line, column, f"the hole does not start at {path[0]}", hint)
    if not path:
        raise parse_error(file, 1, 1, "there is no solution here", hint)
    if before == "-":
        raise parse_error(file, *words[-1][1:], "a place is missing after this -", hint)
    return tuple(path[1:])
