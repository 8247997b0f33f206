"""Reads listings of Connect Four lines back."""

from collections.abc import Sequence

from pi_appliance.puzzles import Progress, rendering
from pi_appliance.puzzles.connect_four.board import Board, Solution
from pi_appliance.puzzles.connect_four.notation import parse, parse_solution


def parse_listing(text: str, file: str, progress: Progress) -> Sequence[tuple[Board, Sequence[Solution]]]:
    """Return each position of a listing with its lines. Raises ConfigError."""
    return rendering.parse_listing(text, file, progress, board_of=parse, line_of=parse_solution)
