"""A battleship board: what is known of a sea, the fleet in it, and the rules; how its squares and ships are called."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import NamedTuple

from pi_appliance.errors import UnknownName, WrongArgument
from pi_appliance.puzzles import Rule, pluralize

UNKNOWN, MISS, HIT, SUNK = "?", ".", "X", "#"
SIDE = 15
MOST_SHIPS = 40
FLEET = (4, 3, 3, 2, 2, 2, 1, 1, 1, 1)
FLEETS = {"ten": FLEET, "classic": (5, 4, 3, 3, 2)}
RULES: Mapping[str, Rule] = {
    "fleet": Rule(
        f"the lengths of the ships, such as 5,4,3,3,2 ('classic'), 1 to {SIDE} squares, at most {MOST_SHIPS} ships",
        ",".join(map(str, FLEET)),
    ),
    "touching": Rule(
        "whether ships may lie side by side, touch at corners only, or not even that",
        "allowed",
        ("allowed", "corners", "never"),
    ),
    "ships": Rule(
        "whether ships of one length count as the same, or each has its name, so that to swap two is another way",
        "alike",
        ("alike", "told-apart"),
    ),
    "sinking": Rule(
        "told: a ship is marked sunk (#) when its last square is hit, so one of hits (X) alone is not there; silent: a"
        " hit may be on any ship",
        "silent",
        ("silent", "told"),
    ),
}


class Square(NamedTuple):
    """A square of the sea; x counts to the right and y downwards, both from 0. Column B, row 5 is called B5."""

    x: int
    y: int

    def __str__(self) -> str:
        return f"{chr(ord('A') + self.x)}{self.y + 1}"


class Ship(NamedTuple):
    """A ship from its first square to its last: the left or the upper one is the first, and may be the last too."""

    start: Square
    end: Square

    def __str__(self) -> str:
        return str(self.start) if self.start == self.end else f"{self.start}-{self.end}"

    @property
    def squares(self) -> tuple[Square, ...]:
        """The squares it lies on, from its start to its end."""
        right, down = self.end.x - self.start.x, self.end.y - self.start.y
        length = max(right, down) + 1
        return tuple(Square(self.start.x + bool(right) * n, self.start.y + bool(down) * n) for n in range(length))


Solution = tuple[Ship, ...]
"""A solution: the whole fleet, ship after ship in the order of `Board.fleet`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Board:
    """What is known of a sea: finished where no square is unknown."""

    rows: tuple[str, ...]
    """A character a square: UNKNOWN, MISS, HIT, or SUNK (a square of a ship that is hit on all its squares)."""
    known: tuple[Ship, ...] = ()
    """Sunk ships that are known as a whole; their squares are SUNK."""
    fleet: tuple[int, ...] = FLEET
    """The lengths of the ships, the longest first."""
    touching: str = "allowed"
    ships: str = "alike"
    sinking: str = "silent"

    @property
    def width(self) -> int:
        """The number of columns."""
        return len(self.rows[0])

    @property
    def height(self) -> int:
        """The number of rows."""
        return len(self.rows)

    def marked(self, marks: str) -> tuple[Square, ...]:
        """Return the squares that bear one of MARKS, in reading order."""
        return tuple(Square(x, y) for y, row in enumerate(self.rows) for x, mark in enumerate(row) if mark in marks)


def with_rules(board: Board, rules: Mapping[str, str]) -> Board:
    """Return BOARD with RULES in place of its own. Raises UnknownName (no such rule or value), WrongArgument."""
    for name, value in rules.items():
        if name not in RULES:
            raise UnknownName("rule of battleship", name, list(RULES))
        choices = RULES[name].choices
        if choices and value not in choices:
            raise UnknownName(f"value of {name}", value, choices)
    return replace(
        board,
        fleet=fleet_of(rules["fleet"]) if "fleet" in rules else board.fleet,
        touching=rules.get("touching", board.touching),
        ships=rules.get("ships", board.ships),
        sinking=rules.get("sinking", board.sinking),
    )


def fleet_of(text: str) -> tuple[int, ...]:
    """Return the fleet called or listed in TEXT, the longest ship first. Raises WrongArgument."""
    if text.strip() in FLEETS:
        return FLEETS[text.strip()]
    words = text.replace(",", " ").split()
    right = "name the lengths of all ships, such as 5,4,3,3,2"
    for word in words:
        if not (word.isascii() and word.isdecimal() and len(word) < 3 and 1 <= int(word) <= SIDE):
            raise WrongArgument(
                f"the fleet cannot have a ship of length {word!r}, only of 1 to {SIDE} squares; {right}"
            )
    if not 1 <= len(words) <= MOST_SHIPS:
        raise WrongArgument(f"the fleet has {pluralize(len(words), 'ship')}, and may have 1 to {MOST_SHIPS}; {right}")
    return tuple(sorted(map(int, words), reverse=True))


def square_of(text: str) -> Square | None:
    """Return the square called TEXT, such as B5; None if none can be."""
    letter, number = text[:1].upper(), text[1:]
    if not ("A" <= letter <= chr(ord("A") + SIDE - 1) and number.isascii() and number.isdecimal() and len(number) < 3):
        return None
    return Square(ord(letter) - ord("A"), int(number) - 1) if 1 <= int(number) <= SIDE else None


def ship_of(text: str) -> Ship | None:
    """Return the ship called TEXT, such as B5-B8 or B5, from its first square to its last; None if none can be."""
    first, dash, last = text.partition("-")
    ends = square_of(first), square_of(last if dash else first)
    if ends[0] is None or ends[1] is None or (ends[0].x != ends[1].x and ends[0].y != ends[1].y):
        return None
    return Ship(min(ends[0], ends[1]), max(ends[0], ends[1]))


def describe(board: Board) -> str:
    """Return the size of BOARD, and rules other than the default ones, in words."""
    unknown = len(board.marked(UNKNOWN))
    size = f"{board.width}×{board.height} squares, {f'{unknown} of them unknown' if unknown else 'all known'}"  # noqa: RUF001
    if board.fleet != FLEET:
        size += f", fleet {','.join(map(str, board.fleet))}"
    touching = {"corners": ", ships touch at corners only", "never": ", ships never touch"}
    size += touching.get(board.touching, "")
    size += ", equal ships told apart" if board.ships == "told-apart" else ""
    return size + (", sinking told" if board.sinking == "told" else "")
