"""Counts the ways to lay a fleet, and on how many of them each square is water: forth over the board, and back.

A count that takes long can go on where it was cut off: every row that is done is on the shelf by then.
"""

from collections.abc import Sequence
from itertools import islice
from math import factorial, prod
from types import ModuleType
from typing import NamedTuple

from pi_appliance.puzzles.battleship import kernel
from pi_appliance.puzzles.battleship.board import Board
from pi_appliance.puzzles.battleship.fit import Placement
from pi_appliance.puzzles.battleship.kept import CountCheckpoint, pack, unpacked
from pi_appliance.puzzles.battleship.kernel import Cell, Layer
from pi_appliance.puzzles.battleship.memory import needs
from pi_appliance.puzzles.battleship.plan import Rows, is_turned, plan, size_of
from pi_appliance.puzzles.runtime.interface import Interrupted, SearchRuntime

STEP = 1_024  # keys in one call of the kernel: hundredths of a second, a few tenths on a small Pi with a fleet of ten
NOTICED = 50_000_000  # bytes; what takes less fits everywhere


class Survey(NamedTuple):
    """How many placements there are, and on how many of them each square is water, by rows and columns."""

    total: int
    water: tuple[tuple[int, ...], ...]


def names(board: Board) -> int:
    """Return how many ways one placement counts for: more than one only where equal ships are told apart."""
    return 1 if board.ships == "alike" else orders(board)


def orders(board: Board) -> int:
    """Return in how many ways equal ships of BOARD can change places."""
    return prod(factorial(board.fleet.count(length)) for length in set(board.fleet))


class Sweep:
    """One count of the ways to lay the fleet of a board on some places; WAY is the kernel, plain or compiled."""

    def __init__(
        self, board: Board, there: Sequence[Placement], runtime: SearchRuntime, way: ModuleType = kernel
    ) -> None:
        self.board, self.runtime, self.way = board, runtime, way
        self.there, self.size = there, size_of(board, there)
        self.needs = needs(board, there, self.size)
        self.tried = 0

    def total(self) -> int:
        """Return the number of placements. Raises Interrupted; Refused (memory)."""
        rows = self._rows(self.needs.total, "counting the placements")
        layer: Layer = {0: 1}
        try:
            for number, row in enumerate(rows):
                layer = self._forth(layer, row, number / len(rows))
        except Interrupted as error:
            error.partial_result = error.partial_result or f"{number} of {len(rows)} rows are counted"
            raise
        return self._whole(layer) * names(self.board)

    def survey(self) -> Survey:
        """Return the number of placements, and where they leave water. Raises Interrupted; Refused (memory)."""
        rows = self._rows(self.needs.survey, "a map of all squares")
        kept = CountCheckpoint(self.board, len(rows), self.runtime)
        try:
            return self._survey(rows, kept)
        except Interrupted as error:
            where = f"the placements are counted up to row {kept.forth} of {len(rows)}"
            error.partial_result = where + (f", and {kept.back} rows are mapped" if kept.back else "")
            raise

    def _survey(self, rows: Rows, kept: CountCheckpoint) -> Survey:
        multiple, turned = names(self.board), is_turned(self.board)
        if kept.back < len(rows):
            self._map(rows, kept)
        total = kernel.joined(1, kept.behind.get(0, 0), self.size)
        lines = kept.finish()
        return Survey(
            total * multiple,
            tuple(
                tuple(multiple * (lines[x][y] if turned else lines[y][x]) for x in range(self.board.width))
                for y in range(self.board.height)
            ),
        )

    def _map(self, rows: Rows, kept: CountCheckpoint) -> None:
        """Go forth over those of ROWS of which nothing is KEPT, and back."""
        layer = kept.layer(kept.forth)
        while kept.forth < len(rows):
            layer = self._forth(layer, rows[kept.forth], kept.forth / len(rows) / 4)
            kept.went_forth(layer)
        total = self._whole(layer)
        back = kept.behind or dict.fromkeys(layer, 1)
        while kept.back < len(rows):
            number = len(rows) - 1 - kept.back
            part = (1 + 3 * kept.back / len(rows)) / 4
            back, water = self._back(kept.layer(number), back, rows[number], part)
            kept.went_back(back, water)
        assert kernel.joined(1, back.get(0, 0), self.size) == total, "forth and back count the same"

    def _forth(self, layer: Layer, row: Sequence[Cell], part: float, passed: list[list[bytes]] | None = None) -> Layer:
        """Return the layer behind ROW, given the one at its first cell; PASSED takes those of its cells, packed."""
        layers: list[Layer] = [layer, *({} for _ in row)]
        for number, cell in enumerate(row):
            items = iter(layers[number].items())
            while done := self.way.push(islice(items, STEP), layers[number:], cell):
                self._tell(done, part)
            if passed is not None:
                passed.append(pack([layers[number]]))
            layers[number] = {}
        return layers[-1]

    def _back(self, layer: Layer, behind: Layer, row: Sequence[Cell], part: float) -> tuple[Layer, list[int]]:
        """Return the ways to go on from LAYER, before ROW, given those BEHIND it, and the water of its cells."""
        passed: list[list[bytes]] = []
        self._forth(layer, row, part, passed)
        backs: list[Layer] = [*({} for _ in row), behind]
        water = [0] * len(row)
        longest = max(self.board.fleet)
        for number in reversed(range(len(row))):
            here = unpacked(passed.pop(), 1)[0]
            items = iter(here.items())
            for _ in range(0, len(here), STEP):
                water[number] += self.way.pull(
                    islice(items, STEP), backs[number:], row[number], self.size, backs[number]
                )
                self._tell(STEP, part)
            backs[number + longest :] = [{}] * (len(row) + 1 - number - longest)  # no ship reaches as far from the left
        return backs[0], water

    def _whole(self, layer: Layer) -> int:
        """Return how many ways of LAYER, at the end of the board, lay the whole fleet."""
        return sum(kernel.joined(ways, 1, self.size) for ways in layer.values())

    def _tell(self, done: int, part: float) -> None:
        self.tried += done
        self.runtime.report_progress(part, f"{self.tried:,} states of the sweep")

    def _rows(self, size: int, what: str) -> Rows:
        """Return the sweep, if SIZE bytes, which WHAT needs, fit into memory. Raises Refused."""
        if size > NOTICED:
            self.runtime.require_memory(size, what)
        return plan(self.board, self.there, self.size)
