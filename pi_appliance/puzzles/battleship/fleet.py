"""Squares, ships and their places, which battleship and Bimaru share.

Masks have bit y * width + x for each square.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache, reduce
from itertools import product
from operator import or_
from random import Random
from typing import NamedTuple

from pi_appliance.errors import InvalidOption, Refused
from pi_appliance.puzzles import pluralize
from pi_appliance.puzzles.text_format import Problems, find_tokens

MAX_SIDE = 15  # squares
MAX_SHIPS = 40
MAX_ATTEMPTS = 2_000  # attempts to place a random fleet; with enough room, one in a few succeeds
SIDES = ((1, 0), (-1, 0), (0, 1), (0, -1))
CORNERS = ((1, 1), (1, -1), (-1, 1), (-1, -1))
FORBIDDEN_NEIGHBOURS = {"allowed": (), "corners": SIDES, "never": SIDES + CORNERS}
SHIP_NAME = re.compile(r"[^\s,]+")
_SHIP = re.compile(r"[A-O](0?[1-9]|1[0-5])(-[A-O](0?[1-9]|1[0-5]))?", re.IGNORECASE | re.ASCII)
_SHIP_HELP = "name its first and last square, such as B5-B8, or B5 alone"
_TIMES = re.compile(r"(\d{1,2})\s*[xX×]\s*(\d{1,2})", re.ASCII)  # noqa: RUF001 - the multiplication sign


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
        """The squares of the ship, from start to end.

        A ship has no squares unless it is straight, and goes to the right or down.
        """
        (left, top), (right, bottom) = self
        if left != right and top != bottom:
            return ()
        return tuple(Square(x, y) for y in range(top, bottom + 1) for x in range(left, right + 1))


Solution = tuple[Ship, ...]  # the whole fleet, longest ships first


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

    def mask_marks(self, marks: str) -> int:
        """Return the mask of the squares that carry any mark in `marks`."""
        return to_mask(self.find_marks(marks), self.width)


def draw_rows(marks: Mapping[Square, str], width: int, height: int, other: str) -> tuple[str, ...]:
    """Return the rows of a grid with `marks`, and with `other` on all other squares."""
    return tuple("".join(marks.get(Square(x, y), other) for x in range(width)) for y in range(height))


class Placement(NamedTuple):
    """A possible position of one ship."""

    ship: Ship
    length: int
    mask: int  # the squares of the ship
    halo: int  # the neighbours of the ship, where no other ship may be
    line: int  # row in which the ship lies; for a column, its number plus the number of rows


def union_masks(masks: Iterable[int]) -> int:
    """Return the union of `masks`."""
    return reduce(or_, masks, 0)


def to_mask(squares: Iterable[Square], width: int) -> int:
    """Return the mask of `squares`."""
    return union_masks(1 << (y * width + x) for x, y in squares)


def mask_places(places: Iterable[Placement]) -> int:
    """Return the squares of all places."""
    union = 0
    for place in places:
        union |= place.mask
    return union


@lru_cache(maxsize=16)
def list_placements(width: int, height: int, fleet: tuple[int, ...], touching: str) -> tuple[Placement, ...]:
    """List the placements on a sea without marks, longest ships first, then in reading order."""
    offsets = FORBIDDEN_NEIGHBOURS[touching]
    placements = []
    for length, y, x, right in product(sorted(set(fleet), reverse=True), range(height), range(width), (1, 0)):
        end = Square(x + right * (length - 1), y + (1 - right) * (length - 1))
        if end.x >= width or end.y >= height or (length == 1 and not right):
            continue
        ship = Ship(Square(x, y), end)
        mask = to_mask(ship.squares, width)
        around = (Square(square.x + across, square.y + down) for square in ship.squares for across, down in offsets)
        halo = to_mask((each for each in around if 0 <= each.x < width and 0 <= each.y < height), width) & ~mask
        placements.append(Placement(ship, length, mask, halo, y if y == end.y else height + x))
    return tuple(placements)


def place_at_random(
    fleet: Sequence[int], places: Sequence[Placement], random: Random, report: Callable[[str], object]
) -> list[Placement]:
    """Place a fleet at random, all ships on `places`. Raises Refused."""
    for attempt in range(1, MAX_ATTEMPTS + 1):
        report(f"attempt {attempt} to place a random fleet")
        placed: list[Placement] = []
        blocked = 0
        for length in fleet:
            choices = [place for place in places if place.length == length and not place.mask & blocked]
            if not choices:
                break
            placed.append(random.choice(choices))
            blocked |= placed[-1].mask | placed[-1].halo
        else:
            return placed
    ships = f"the fleet {format_fleet(fleet)} could not be placed at random"
    raise Refused(f"{ships} in {MAX_ATTEMPTS:,} attempts; use a larger sea, or fewer or shorter ships")


def check_fleet(grid: MarkedGrid, line: Sequence[Ship], fleet: Sequence[int], touching: str) -> Iterator[str]:
    """Yield each rule that the ships of `line` break without regard to the marks."""
    owners: dict[Square, Ship] = {}
    lengths = Counter[int]()
    for ship in line:
        if not ship.squares:
            yield f"{ship} is not a valid ship: name its left or upper end first, then its other end"
        for square in ship.squares:
            if not (0 <= square.x < grid.width and 0 <= square.y < grid.height):
                yield f"{ship}: {square} is outside the sea"
            if square in owners:
                yield f"{ship}: {owners[square]} already lies on {square}"
            owners[square] = ship
        lengths[len(ship.squares)] += 1
    missing, extra = Counter(fleet) - lengths, lengths - Counter(fleet)
    if missing or extra:
        yield f"the fleet has {'no more ships' if extra else 'another ship'} of {min(extra or missing)}"
    for (x, y), ship in owners.items():
        for right, down in FORBIDDEN_NEIGHBOURS[touching]:
            # The directions up and left are compared from the other square.
            if (down, right) > (0, 0) and (other := owners.get(Square(x + right, y + down), ship)) != ship:
                yield f"{ship} touches {other}"


def format_fleet(fleet: Iterable[int]) -> str:
    """Return a fleet as text that `parse_fleet` can read."""
    return ",".join(map(str, fleet))


def parse_fleet(text: str, fleets: Mapping[str, tuple[int, ...]]) -> tuple[int, ...]:
    """Read a fleet by name, by lengths (4,3,3) or by groups (1x4,2x3). Raises InvalidOption."""
    if text.strip() in fleets:
        return fleets[text.strip()]
    # No fleet has more than 40 ships, so a group of 99 is rejected, like any larger group.
    lengths = _TIMES.sub(lambda group: ",".join([group[2]] * int(group[1])) or "0", text)
    words = lengths.replace(",", " ").split()
    right = "name the lengths of all ships, such as 5,4,3,3,2"
    for word in words:
        if not (word.isascii() and word.isdecimal() and len(word) < 3 and 1 <= int(word) <= MAX_SIDE):
            raise InvalidOption(
                f"the fleet cannot have a ship of length {word!r}, only of 1 to {MAX_SIDE} squares; {right}"
            )
    if not 1 <= len(words) <= MAX_SHIPS:
        raise InvalidOption(f"the fleet has {pluralize(len(words), 'ship')}, and may have 1 to {MAX_SHIPS}; {right}")
    return tuple(sorted(map(int, words), reverse=True))


def parse_size(text: str) -> tuple[int, int]:
    """Read columns x rows, such as 8x8. Raises InvalidOption."""
    match = _TIMES.fullmatch(text.strip())
    width, height = (int(match[1]), int(match[2])) if match else (0, 0)
    if not (1 <= width <= MAX_SIDE and 1 <= height <= MAX_SIDE):
        raise InvalidOption(f"the size cannot be {text!r}; write columns x rows, 1 to {MAX_SIDE}, such as 10x10")
    return width, height


def parse_ship(text: str) -> Ship | None:
    """Read a ship such as B5-B8 or B5; None if `text` is not one."""
    if not _SHIP.fullmatch(text):
        return None
    ends = [Square(ord(name[0].upper()) - ord("A"), int(name[1:]) - 1) for name in text.split("-")]
    ship = Ship(min(ends), max(ends))
    return ship if ship.squares else None


def parse_ships(text: str, width: int, height: int, file: str) -> Solution:
    """Read ships such as "J10 C3-E3 A1-A4" in a sea of this size. Raises ConfigError."""
    problems, ships = Problems(file), list[Ship]()
    for word, place in find_tokens(text, SHIP_NAME):
        ship = parse_ship(word)
        if ship is None or str(ship) != word.upper():
            problems.add(*place, f"{word!r} is not a valid ship", _SHIP_HELP)
        elif ship.end.x >= width or ship.end.y >= height:
            problems.add(*place, f"{ship} is outside the sea", f"the sea has {width} columns and {height} rows")
        else:
            ships.append(ship)
    if not (ships or problems):
        problems.add(1, 1, "no ship is named here", f"for each ship, {_SHIP_HELP}")
    problems.raise_any()
    return tuple(ships)
