"""The sudokus that are known by name."""

from collections.abc import Mapping
from types import MappingProxyType

from pi_appliance.puzzles.sudoku.text import drawing

_GRIDS = {
    # Where the project set out from: half a minute by trying digit after digit, a moment here.
    "sample": "..4..17...8..2....2...7.......5.3.78..5...4..96.1.4.......5...9....1..6...17..2..",
    # No grid with fewer than 17 clues has only one solution.
    "seventeen": ".......1.4.........2...........5.4.7..8...3....1.9....3..4..2...5.1........8.6...",
    # Its first row is 987654321: who tries from 1 upwards, and row by row, tries almost everything.
    "uphill": "..............3.85..1.2.......5.7.....4...1...9.......5......73..2.1........4...9",
    # Four that were called the hardest of their year.
    "escargot": "1....7.9..3..2...8..96..5....53..9...1..8...26....4...3......1..4......7..7...3..",
    "everest": "8..........36......7..9.2...5...7.......457.....1...3...1....68..85...1..9....4..",
    "nugget": ".......39.....1..5..3.5.8....8.9...6.7...2...1..4.......9.8..5..2....6..4..7.....",
    "monster": "1.......2.9.4...5...6...7...5.9.3.......7.......85..4.7.....6...3...9.8...2.....1",
    # It has no solution, which takes some programs millions of guesses to find out.
    "impossible": ".....5.8....6.1.43..........1.5........1.6...3.......553.....61........4.........",
    # One clue too few of "seventeen".
    "sixteen": ".......1.4.........2...........5.4.7..8...3....1.9....3..4..2...5.1........8.....",
}
BOARDS: Mapping[str, str] = MappingProxyType({name: drawing(grid, 9) for name, grid in _GRIDS.items()})
