"""Reads a listing of solutions back: the net of each cube, and each line in its notation."""

from collections.abc import Sequence

from pi_appliance.puzzles import Progress, _listing
from pi_appliance.puzzles.rubiks_cube.board import Board, Solution
from pi_appliance.puzzles.rubiks_cube.notation import parse, parse_solution


def parse_listing(text: str, file: str, progress: Progress) -> Sequence[tuple[Board, Sequence[Solution]]]:
    """Return each cube of a listing with its lines. Raises ConfigError."""
    return _listing.parse_listing(text, file, progress, board_of=parse, line_of=parse_solution)
