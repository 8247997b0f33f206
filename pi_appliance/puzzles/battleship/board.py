"""The battleship board: marks, ships, rules, and the built-in boards."""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from types import MappingProxyType
from typing import NamedTuple

from pi_appliance.errors import ConfigError, InvalidOption, Problem
from pi_appliance.puzzles import Rule, Validation, check_rules, pluralize
from pi_appliance.puzzles.rendering import parse_error

UNKNOWN, MISS, HIT, SUNK = "?", ".", "X", "#"
MAX_SIDE = 15  # squares
MAX_SHIPS = 40
_SHIP_NAMES = re.compile(r"[^\s,]+")
DEFAULT_FLEET = (4, 3, 3, 2, 2, 2, 1, 1, 1, 1)
FLEETS = {"ten": DEFAULT_FLEET, "classic": (5, 4, 3, 3, 2)}
RULES: Mapping[str, Rule] = {
    "fleet": Rule(
        f"the lengths of the ships, such as 5,4,3,3,2 ('classic'); 1 to {MAX_SIDE} squares, at most {MAX_SHIPS} ships",
        ",".join(map(str, DEFAULT_FLEET)),
    ),
    "touching": Rule(
        "whether ships may lie side by side (allowed), touch only at corners, or never touch",
        "allowed",
        ("allowed", "corners", "never"),
    ),
    "ships": Rule(
        "identical: two ships of one length are interchangeable; distinct: swapping them gives another solution",
        "identical",
        ("identical", "distinct"),
    ),
    "sinking": Rule(
        "announced: a sunk ship is always marked with #, so no ship lies on hits (X) only; silent: a hit may be on any"
        " ship",
        "silent",
        ("silent", "announced"),
    ),
}


class Square(NamedTuple):
    """A square: `x` counts to the right, `y` downwards, both from 0. B5 is (1, 4)."""

    x: int
    y: int

    def __str__(self) -> str:
        return f"{chr(ord('A') + self.x)}{self.y + 1}"


class Ship(NamedTuple):
    """A ship from its left or upper end to its other end, which may be the same square."""

    start: Square
    end: Square

    def __str__(self) -> str:
        return str(self.start) if self.start == self.end else f"{self.start}-{self.end}"

    @property
    def squares(self) -> tuple[Square, ...]:
        """The squares it covers, from start to end; none unless it runs straight right or down."""
        (left, top), (right, bottom) = self
        if left != right and top != bottom:
            return ()
        return tuple(Square(x, y) for y in range(top, bottom + 1) for x in range(left, right + 1))


Solution = tuple[Ship, ...]  # the whole fleet, in the order of `Board.fleet`


@dataclass(frozen=True, slots=True, kw_only=True)
class MarkedGrid:
    """A grid of squares with marks."""

    rows: tuple[str, ...]  # one mark per square

    @property
    def width(self) -> int:
        """The number of columns."""
        return len(self.rows[0])

    @property
    def height(self) -> int:
        """The number of rows."""
        return len(self.rows)

    def find_marks(self, marks: str) -> tuple[Square, ...]:
        """Find the squares that carry any mark in `marks`, in reading order."""
        return tuple(Square(x, y) for y, row in enumerate(self.rows) for x, mark in enumerate(row) if mark in marks)


@dataclass(frozen=True, slots=True, kw_only=True)
class Board(MarkedGrid):
    """A sea with marks: `UNKNOWN`, `MISS`, `HIT`, or `SUNK` (part of a sunk ship).

    A board without unknown squares is finished.
    """

    sunk_ships: tuple[Ship, ...] = ()  # sunk ships whose ends are known; their squares are marked SUNK
    fleet: tuple[int, ...] = DEFAULT_FLEET  # the lengths of the ships, longest first
    touching: str = "allowed"
    ships: str = "identical"
    sinking: str = "silent"


def with_rules(board: Board, rules: Mapping[str, str]) -> Board:
    """Apply `rules` to `board`. Raises UnknownName or InvalidOption."""
    rules = check_rules("battleship", RULES, rules, empty_is_default=False)
    return replace(
        board,
        fleet=parse_fleet(rules["fleet"]) if "fleet" in rules else board.fleet,
        touching=rules.get("touching", board.touching),
        ships=rules.get("ships", board.ships),
        sinking=rules.get("sinking", board.sinking),
    )


def parse_fleet(text: str) -> tuple[int, ...]:
    """Read a fleet by its name or its ship lengths, longest first. Raises InvalidOption."""
    if text.strip() in FLEETS:
        return FLEETS[text.strip()]
    words = text.replace(",", " ").split()
    right = "name the lengths of all ships, such as 5,4,3,3,2"
    for word in words:
        if not (word.isascii() and word.isdecimal() and len(word) < 3 and 1 <= int(word) <= MAX_SIDE):
            raise InvalidOption(
                f"the fleet cannot have a ship of length {word!r}, only of 1 to {MAX_SIDE} squares; {right}"
            )
    if not 1 <= len(words) <= MAX_SHIPS:
        raise InvalidOption(f"the fleet has {pluralize(len(words), 'ship')}, and may have 1 to {MAX_SHIPS}; {right}")
    return tuple(sorted(map(int, words), reverse=True))


def parse_square(text: str) -> Square | None:
    """Read a square such as B5; None if `text` is not one."""
    match = re.fullmatch(r"([A-O])(0?[1-9]|1[0-5])", text, re.IGNORECASE | re.ASCII)
    return Square(ord(match[1].upper()) - ord("A"), int(match[2]) - 1) if match else None


def parse_ship(text: str) -> Ship | None:
    """Read a ship such as B5-B8 or B5; None if `text` is not one."""
    first, dash, last = text.partition("-")
    start, end = parse_square(first), parse_square(last if dash else first)
    if start is None or end is None or (start.x != end.x and start.y != end.y):
        return None
    return Ship(min(start, end), max(start, end))


def parse_ships(text: str, width: int, height: int, file: str) -> tuple[Ship, ...]:
    """Read ships such as "J10 C3-E3 A1-A4" in a sea of this size. Raises ConfigError."""
    problems: list[Problem] = []
    ships: list[Ship] = []
    for number, row in enumerate(text.splitlines(), 1):
        for match in _SHIP_NAMES.finditer(row):
            word, column = match[0], match.start() + 1
            ship = parse_ship(word)
            if ship is None or str(ship) != word.upper():
                right = "name its first and last square, such as B5-B8, or B5 alone"
                problems.append(Problem(file, number, column, f"{word!r} is not a valid ship", right))
            elif ship.end.x >= width or ship.end.y >= height:
                right = f"the sea has {width} columns and {height} rows"
                problems.append(Problem(file, number, column, f"{ship} is outside the sea", right))
            else:
                ships.append(ship)
    if problems:
        raise ConfigError(problems)
    if not ships:
        right = "name each ship by its first and last square, such as B5-B8, or B5 alone"
        raise parse_error(file, 1, 1, "no ship is named here", right)
    return tuple(ships)


def describe(board: Board) -> str:
    """Describe the size of `board` and its non-default rules."""
    unknown = len(board.find_marks(UNKNOWN))
    size = f"{board.width}×{board.height} squares, {f'{unknown} of them unknown' if unknown else 'all known'}"  # noqa: RUF001
    if board.fleet != DEFAULT_FLEET:
        size += f", fleet {','.join(map(str, board.fleet))}"
    touching = {"corners": ", ships touch at corners only", "never": ", ships never touch"}
    size += touching.get(board.touching, "")
    size += ", equal ships are distinct" if board.ships == "distinct" else ""
    return size + (", sinking announced" if board.sinking == "announced" else "")


def _draw_rows(rows: str, headers: str = "") -> str:
    return headers + rows.replace("/", "\n") + "\n"


BOARDS: Mapping[str, str] = MappingProxyType(
    {
        # The classic fleet after 29 shots: one ship is sunk, another one is hit.
        "midgame": _draw_rows(
            "??.??.??.?/?.??.???.?/.??.?.??.?/???XX???.?/?.??.??.??/.??.??.???/??.??.?#??/?.??.??#??/.??.???#??/?????.????",
            "fleet: 5,4,3,3,2\ntouching: never\nsinking: announced\nwhole: H7-H9\n",
        ),
        # The example of the original program: its ten ships fit in 106 ways.
        "crowded": _draw_rows(
            "#........./###.....#./##......#./##......../##......#./##..###.../#.......#./........../........../.........."
        ),
        # The same fleet with more space: one solution, and no ships touch.
        "tidy": _draw_rows(
            "####....../.......###/#.#......./#.#....##./#........./......#.../#.#...#.../........../#.#......./.........."
        ),
        # Contradictory marks: this fleet has no ship of length 2.
        "quarrel": _draw_rows(
            "?????.????/??????????/??.???????/?.XX.?????/??..??????/??????.???/?????X?X??/??????????/.????.?.??/??????????",
            "fleet: 5,4,3,3\ntouching: never\n",
        ),
        # Nothing is known: 15,046,987,768 placements. Its probability map takes long on a small Pi.
        "open-sea": _draw_rows("/".join(["??????????"] * 10), "fleet: 5,4,3,3,2\n"),
    }
)


def check(board: Board, line: Sequence[Ship]) -> Validation:
    """Check that `line` is the fleet of `board` and agrees with its marks and rules."""
    owners: dict[Square, Ship] = {}
    lengths: list[int] = []
    for ship in line:
        covered = ship.squares
        if not covered:
            return Validation(f"{ship} is not a valid ship: name its left or upper end first, then its other end")
        if error := _check_marks(board, covered):
            return Validation(f"{ship}: {error}")
        for square in covered:
            if square in owners:
                return Validation(f"{ship}: {owners[square]} already lies on {square}")
        owners.update(dict.fromkeys(covered, ship))
        lengths.append(len(covered))
    missing, extra = Counter(board.fleet) - Counter(lengths), Counter(lengths) - Counter(board.fleet)
    if missing or extra:
        amount = "no more ships" if extra else "another ship"
        return Validation(f"the fleet has {amount} of {min(extra or missing)}")
    if error := _check_contact(board, owners):
        return Validation(error)
    open_hits = (f"{hit} is hit, but no ship lies there" for hit in board.find_marks(HIT + SUNK) if hit not in owners)
    missing_ships = (f"the sunk ship {ship} is missing" for ship in board.sunk_ships if ship not in line)
    return Validation(next(chain(open_hits, missing_ships), ""))


def _check_marks(board: Board, covered: Sequence[Square]) -> str:
    for x, y in covered:
        if not (0 <= y < len(board.rows) and 0 <= x < len(board.rows[y])):
            return f"{Square(x, y)} is outside the sea"
        if board.rows[y][x] == MISS:
            return f"{Square(x, y)} is a miss"
    marks = {board.rows[y][x] for x, y in covered}
    if SUNK in marks and marks != {SUNK}:
        return "only some of its squares are sunk"
    if board.sinking == "announced" and marks == {HIT}:
        return "all its squares are hit, but it is not marked as sunk"
    return ""


def _check_contact(board: Board, owners: dict[Square, Ship]) -> str:
    if board.touching == "allowed":
        return ""
    # The directions up and left are covered from the neighbouring square.
    steps = [(1, 0), (0, 1)] if board.touching == "corners" else [(1, 0), (0, 1), (1, 1), (-1, 1)]
    for (x, y), ship in owners.items():
        for right, down in steps:
            other = owners.get(Square(x + right, y + down), ship)
            if other != ship:
                return f"{ship} touches {other}"
    return ""
