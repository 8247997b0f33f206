"""The operations on the puzzle of the day. The commands are in `puzzles/cli.py`."""

from collections.abc import Sequence

from pi_appliance.operations import Operation, integer, text
from pi_appliance.roles import Role

_API = "pi_appliance.puzzles.api"
_PUZZLE = text(
    "puzzle", "the puzzle, such as sudoku; by default the newest board of all", 40, default="", example="sudoku"
)
_FILLED = ("filled", "the symbols in the cells, in reading order, a dot for an empty one", 700)

OPERATIONS: Sequence[Operation] = (
    Operation(
        method="GET",
        path="/puzzles/today",
        summary="Return the puzzle of the day: the newest board, without its solution.",
        handler=f"{_API}:show_today",
        arguments=(_PUZZLE,),
        role=Role.LISTEN,
    ),
    Operation(
        method="GET",
        path="/puzzles/hint",
        summary="Return the next hint for the puzzle of the day, or the first mistake.",
        handler=f"{_API}:give_hint",
        arguments=(
            _PUZZLE,
            text(*_FILLED, default="", example="." * 81),
            integer("seen", "how many hints were given before", 0, 1000, default=0),
        ),
        role=Role.LISTEN,
    ),
    Operation(
        method="GET",
        path="/puzzles/check",
        summary="Return which symbols are wrong, and how many cells are empty.",
        handler=f"{_API}:check",
        arguments=(_PUZZLE, text(*_FILLED, required=True, example="." * 81)),
        role=Role.LISTEN,
    ),
)
