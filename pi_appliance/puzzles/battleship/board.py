"""The battleship board: its marks and rules, and the built-in boards."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from math import factorial, prod

from pi_appliance.puzzles import Rule, Rules, Validation, check_rules, load_board
from pi_appliance.puzzles.battleship import fleet as fleets
from pi_appliance.puzzles.battleship.fleet import MAX_SHIPS, MAX_SIDE, MarkedGrid, Ship, Solution, Square, format_fleet

UNKNOWN, MISS, HIT, SUNK = "?", ".", "X", "#"
DEFAULT_FLEET = (4, 3, 3, 2, 2, 2, 1, 1, 1, 1)
FLEETS = {"ten": DEFAULT_FLEET, "classic": (5, 4, 3, 3, 2)}
RULES: Mapping[str, Rule] = {
    "fleet": Rule(
        f"the lengths of the ships, such as 5,4,3,3,2 ('classic'); 1 to {MAX_SIDE} squares, at most {MAX_SHIPS} ships",
        format_fleet(DEFAULT_FLEET),
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

    @property
    def relabelings(self) -> int:
        """The number of permutations of equal ships."""
        return prod(factorial(self.fleet.count(length)) for length in set(self.fleet))

    @property
    def label_factor(self) -> int:
        """The number of solutions that one placement stands for: 1 if equal ships are identical."""
        return 1 if self.ships == "identical" else self.relabelings


def with_rules(board: Board | str, rules: Rules) -> Board:
    """Apply `rules` to `board`. Raises UnknownName or InvalidOption."""
    board = load_board(board, Board)
    values = check_rules("battleship", RULES, rules, empty_is_default=False)
    return replace(
        board,
        fleet=fleets.parse_fleet(values["fleet"], FLEETS) if "fleet" in values else board.fleet,
        touching=values.get("touching", board.touching),
        ships=values.get("ships", board.ships),
        sinking=values.get("sinking", board.sinking),
    )


def describe(board: Board | str) -> str:
    """Describe the size of `board` and its non-default rules."""
    board = load_board(board, Board)
    unknown = len(board.find_marks(UNKNOWN))
    size = f"{board.width}×{board.height} squares, {f'{unknown} of them unknown' if unknown else 'all known'}"  # noqa: RUF001
    if board.fleet != DEFAULT_FLEET:
        size += f", fleet {format_fleet(board.fleet)}"
    touching = {"corners": ", ships touch at corners only", "never": ", ships never touch"}
    size += touching.get(board.touching, "")
    size += ", equal ships are distinct" if board.ships == "distinct" else ""
    return size + (", sinking announced" if board.sinking == "announced" else "")


def notate(board: Board | str, solution: Solution) -> str:  # noqa: ARG001 - ships have the same names on every board
    """Write `solution` in one row: each ship by its first and last square, shortest first."""
    return " ".join(map(str, reversed(solution)))


_DRAWINGS = {
    # The classic fleet after 29 shots: one ship is sunk, another one is hit.
    "midgame": "fleet: 5,4,3,3,2/touching: never/sinking: announced/whole: H7-H9/??.??.??.?/?.??.???.?/.??.?.??.?/"
    "???XX???.?/?.??.??.??/.??.??.???/??.??.?#??/?.??.??#??/.??.???#??/?????.????",
    # The example of the original program: its ten ships can be placed in 106 ways.
    "crowded": "#........./###.....#./##......#./##......../##......#./##..###.../#.......#./........../........../"
    "..........",
    # The same fleet with more space: one solution, and no ships touch.
    "tidy": "####....../.......###/#.#......./#.#....##./#........./......#.../#.#...#.../........../#.#......./"
    "..........",
    # The marks are contradictory: this fleet has no ship of length 2.
    "quarrel": "fleet: 5,4,3,3/touching: never/?????.????/??????????/??.???????/?.XX.?????/??..??????/??????.???/"
    "?????X?X??/??????????/.????.?.??/??????????",
    # Nothing is known: 15,046,987,768 placements. Its probability map takes long on a small Pi.
    "open-sea": "fleet: 5,4,3,3,2" + "/??????????" * 10,
}
BOARDS: Mapping[str, str] = {name: f"{rows}\n".replace("/", "\n") for name, rows in _DRAWINGS.items()}


def check(board: Board | str, solution: Sequence[Ship]) -> Validation:
    """Check that `solution` is the fleet of `board` and agrees with its marks and rules.

    >>> from pi_appliance.puzzles import battleship
    >>> bool(battleship.check("tidy", next(battleship.solve("tidy").solutions)))
    True
    >>> battleship.check("tidy", ()).error
    'the fleet has another ship of 1'
    """
    board = load_board(board, Board)
    errors = chain(fleets.check_fleet(board, solution, board.fleet, board.touching), _check_marks(board, solution))
    return Validation(next(errors, ""))


def _check_marks(board: Board, line: Sequence[Ship]) -> Iterator[str]:
    for ship in line:
        marks = {board.rows[y][x]: Square(x, y) for x, y in reversed(ship.squares)}
        if MISS in marks:
            yield f"{ship}: {marks[MISS]} is a miss"
        if SUNK in marks and len(marks) > 1:
            yield f"{ship}: only some of its squares are sunk"
        if board.sinking == "announced" and {*marks} == {HIT}:
            yield f"{ship}: all its squares are hit, but it is not marked as sunk"
    occupied = {square for ship in line for square in ship.squares}
    yield from (f"{hit} is hit, but no ship lies there" for hit in board.find_marks(HIT + SUNK) if hit not in occupied)
    yield from (f"the sunk ship {ship} is missing" for ship in board.sunk_ships if ship not in line)
