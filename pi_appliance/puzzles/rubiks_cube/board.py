"""A Rubik's cube as it is held: its stickers, the turns it knows, and the rules an owner may choose."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from pi_appliance.errors import UnknownName, WrongArgument
from pi_appliance.puzzles import Rule

FACES = "URFDLB"
TURNS = tuple(face + power for face in FACES for power in ("", "2", "'"))
"""The 18 turns of the half-turn metric: each face by a quarter clockwise, by a half, by a quarter back."""
ALL_THE_TIME = "all"
RULES: Mapping[str, Rule] = {
    "seconds": Rule("how long shorter solutions are looked for; all: until shortly before the deadline", "1"),
    "target": Rule("so many moves are few enough: nothing shorter is looked for; 0: nothing is", "0"),
}

Solution = tuple[str, ...]
"""A solution: turns of the cube as it is held, each one of TURNS."""


@dataclass(frozen=True, slots=True)
class Board:
    """A cube of SIDE 2 or 3.

    U is the colour white wherever it sits, and so on: R red, F green, D yellow, L orange, B blue. `facelets` are its
    stickers by colour, face by face in the order of FACES as the cube is held, each face in reading order of the
    unfolded net. `seconds` and `target` are the rules; None stands for all the time there is.
    """

    side: int
    facelets: str
    seconds: float | None = 1
    target: int = 0


def with_rules(board: Board, rules: Mapping[str, str]) -> Board:
    """Return BOARD with RULES in place of its own. Raises UnknownName, WrongArgument."""
    for name, value in rules.items():
        if name not in RULES:
            raise UnknownName("rule of the cube", name, list(RULES))
        board = replace(board, target=_target(value)) if name == "target" else replace(board, seconds=_seconds(value))
    return board


def _target(value: str) -> int:
    if value.isascii() and value.isdigit() and len(value) < 3 and int(value) <= 30:
        return int(value)
    raise WrongArgument(f"target: {value!r} is no number of moves; write one from 0 to 30, such as 20")


def _seconds(value: str) -> float | None:
    if value == ALL_THE_TIME:
        return None
    try:
        seconds = float(value)
    except ValueError:
        seconds = -1
    if 0 <= seconds <= 1_000_000:
        return seconds
    raise WrongArgument(f"seconds: {value!r} is no time; write seconds, such as 10, or {ALL_THE_TIME}")


def describe(board: Board) -> str:
    """Return the size of BOARD, and rules other than the default ones, in words."""
    words = f"a cube of {'x'.join([str(board.side)] * 3)}"
    if board.seconds is None:
        words += ", all the time until the deadline"
    elif board.seconds != 1:
        words += f", {board.seconds:g} seconds"
    return words + (f", {board.target} moves are few enough" if board.target else "")


def uniform(board: Board) -> bool:
    """Say whether every face of BOARD has one colour."""
    area = board.side * board.side
    return all(len(set(board.facelets[at : at + area])) == 1 for at in range(0, 6 * area, area))
