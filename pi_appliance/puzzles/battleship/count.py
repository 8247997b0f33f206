"""Count the placements of a fleet, and for each square those that leave it empty (marginals).

The method sweeps over the squares forward and backward with a broken profile: see
docs/puzzles/battleship.md and ADR 0050.
"""

from array import array
from collections import Counter
from collections.abc import Sequence
from itertools import accumulate, islice, pairwise
from math import comb, prod
from types import ModuleType
from typing import NamedTuple

from pi_appliance.errors import Refused
from pi_appliance.puzzles.battleship import kernel
from pi_appliance.puzzles.battleship.board import HIT, MISS, SUNK, Board
from pi_appliance.puzzles.battleship.fleet import Placement, list_placements, to_mask, union_masks
from pi_appliance.puzzles.battleship.kernel import CORNER_BIT, Cell, Layer, Move, PolynomialSize
from pi_appliance.puzzles.runtime import Buffer, Checkpoint, SearchRuntime, partial_result

KEYS_PER_CALL = 1_024  # keys in one kernel call: about 0.01 s, or 0.3 s on a small Pi with ten ships
CHECKED_MEMORY = 50_000_000  # bytes; memory is not checked for less

CHECKPOINT_DELAY = 10  # seconds; a shorter count is not worth writing to the card

KEY_BYTES, PACKED_KEY_BYTES = 200, 12  # bytes of a key without its ways: in a dict of CPython 3.11, and packed
PEAK_LAYERS = 5  # layers in memory at the peak, measured
MAX_LENGTH_LIMITS = 3  # ship lengths whose number of ships bounds the estimate; more would make it slow
_WATER, _ENDED, _CONTINUES = range(3)

CellRows = tuple[tuple[Cell, ...], ...]  # the cells of a sweep. A row runs along the shorter side of the board.


def find_placements(board: Board) -> list[Placement]:
    """List the placements that the marks allow, longest ships first, then in reading order."""
    miss, sunk, hit = (board.mask_marks(mark) for mark in (MISS, SUNK, HIT))
    occupied, sunk_squares = hit | sunk, union_masks(to_mask(ship.squares, board.width) for ship in board.sunk_ships)
    return [
        place
        for place in list_placements(board.width, board.height, board.fleet, board.touching)
        if not place.mask & miss
        and place.mask & sunk in (0, place.mask)
        and not occupied & place.halo
        and not (place.mask & sunk_squares and place.ship not in board.sunk_ships)
        and not (board.sinking == "announced" and place.mask & hit == place.mask)
    ]


class Marginals(NamedTuple):
    """The number of placements, and for each square how many of them leave it empty."""

    total: int
    water: tuple[tuple[int, ...], ...]  # placements that leave the square empty, by row and column


class CountCheckpoint:
    """Progress of a count, row by row: in memory, and in the cache once it takes long."""

    def __init__(self, board: Board, rows: int, runtime: SearchRuntime) -> None:
        self.board, self.rows, self.runtime = board, rows, runtime
        self.start_time = runtime.monotonic()
        self.completions: Layer = {}
        self.water: list[list[int]] = []  # by row and column of the sweep, from the last row up
        self._layers: list[list[Buffer] | None] = [pack_layer({0: 1})]  # None: the layer is in the cache
        if saved := self._entry("back").load():
            self.completions, self.water = unpack_layer(saved.buffers), saved.values["water"]
        if self.rows_mapped < rows:
            while self.rows_counted < rows and self._entry(f"row-{self.rows_counted + 1}").load():
                self._layers.append(None)
        if self.rows_counted < rows and self.rows_mapped < rows:
            self.completions, self.water = {}, []

    @property
    def rows_counted(self) -> int:
        """The number of rows the forward sweep has finished."""
        return len(self._layers) - 1

    @property
    def rows_mapped(self) -> int:
        """The number of rows, from the last one up, that the backward sweep has finished."""
        return len(self.water)

    def load_layer(self, row: int) -> Layer:
        """Return the forward layer before `row`. Raises Refused if the cache lost it."""
        if packed := self._layers[row]:
            return unpack_layer(packed)
        if saved := self._entry(f"row-{row}").load():
            return unpack_layer(saved.buffers)
        raise Refused("rows of this count were removed from the cache while it ran; start it again")

    def save_counted_row(self, layer: Layer) -> None:
        """Save the forward layer after the next row."""
        packed = pack_layer(layer)
        self._layers.append(None if self._save(f"row-{self.rows_counted + 1}", {}, packed) else packed)

    def save_mapped_row(self, completions: Layer, water: list[int]) -> None:
        """Save the completions before the last mapped row, and the water counts of its cells."""
        self.completions = completions
        self.water.append(water)
        self._save("back", {"water": self.water}, pack_layer(completions))

    def finish(self) -> list[list[int]]:
        """Return the water counts by row and column, and remove the layers from the cache."""
        for row in range(1, self.rows + 1):
            self._entry(f"row-{row}").remove()
        return self.water[::-1]

    def _entry(self, part: str) -> Checkpoint:
        return Checkpoint(self.runtime, f"battleship/{part}", self.board)

    def _save(self, part: str, values: dict[str, object], packed: list[Buffer]) -> bool:
        """Save a part if the count takes long.

        Errors, such as a full card, do not stop the count.
        """
        is_long = self.runtime.monotonic() - self.start_time > CHECKPOINT_DELAY
        return is_long and not self._entry(part).save(values, packed)


def pack_layer(layer: Layer) -> list[Buffer]:
    """Return buffers: the keys of `layer`, the length of each key's ways in bytes, and the ways."""
    ways = [number.to_bytes(-(-number.bit_length() // 8), "little") for number in layer.values()]
    return [array("Q", layer), array("I", map(len, ways)), b"".join(ways)]


def unpack_layer(packed: Sequence[Buffer]) -> Layer:
    """Return the layer that `pack_layer` packed."""
    keys, lengths, ways = (memoryview(part) for part in packed)
    ends = pairwise(accumulate(lengths, initial=0))
    return {key: int.from_bytes(ways[start:end], "little") for key, (start, end) in zip(keys, ends, strict=True)}


class ProfileCount:
    """Count the ways to place the fleet of `board` with the kernel module `backend`."""

    def __init__(self, board: Board, runtime: SearchRuntime, backend: ModuleType = kernel) -> None:
        self.board, self.runtime, self.backend = board, runtime, backend
        self.places = find_placements(board)
        self.size = polynomial_size(board, self.places)
        self.total_memory, self.marginals_memory = estimate_memory(board, self.places, self.size)
        self.states = 0

    def count_total(self) -> int:
        """Return the number of placements.

        Raises Interrupted, or Refused if memory is too small.
        """
        rows = self._plan_rows(self.total_memory, "counting the placements")
        layer: Layer = {0: 1}
        number = 0
        with partial_result(lambda: f"{number} of {len(rows)} rows are counted"):
            for number, row in enumerate(rows):
                layer = self._sweep_forward(layer, row, number / len(rows))
        return self._complete_fleets(layer) * self.board.label_factor

    def count_marginals(self) -> Marginals:
        """Count the placements, in all and by empty square. Raises Interrupted or Refused."""
        rows = self._plan_rows(self.marginals_memory, "a map of all squares")
        checkpoint = CountCheckpoint(self.board, len(rows), self.runtime)

        def describe() -> str:
            mapped = f", and {checkpoint.rows_mapped} rows are mapped" if checkpoint.rows_mapped else ""
            return f"the placements are counted up to row {checkpoint.rows_counted} of {len(rows)}{mapped}"

        with partial_result(describe):
            if checkpoint.rows_mapped < len(rows):
                self._map_rows(rows, checkpoint)
        factor = self.board.label_factor
        total = kernel.combine_ways(1, checkpoint.completions.get(0, 0), self.size)
        water = checkpoint.finish()
        by_row = zip(*water, strict=True) if is_transposed(self.board) else water
        return Marginals(total * factor, tuple(tuple(factor * number for number in row) for row in by_row))

    def _map_rows(self, rows: CellRows, checkpoint: CountCheckpoint) -> None:
        layer = checkpoint.load_layer(checkpoint.rows_counted)
        while checkpoint.rows_counted < len(rows):
            part = checkpoint.rows_counted / len(rows) / 4
            layer = self._sweep_forward(layer, rows[checkpoint.rows_counted], part)
            checkpoint.save_counted_row(layer)
        total = self._complete_fleets(layer)
        completions = checkpoint.completions or dict.fromkeys(layer, 1)
        while checkpoint.rows_mapped < len(rows):
            number = len(rows) - 1 - checkpoint.rows_mapped
            part = (1 + 3 * checkpoint.rows_mapped / len(rows)) / 4
            completions, water = self._sweep_backward(checkpoint.load_layer(number), completions, rows[number], part)
            checkpoint.save_mapped_row(completions, water)
        assert kernel.combine_ways(1, completions.get(0, 0), self.size) == total, "both sweeps count the same"

    def _sweep_forward(
        self, layer: Layer, row: Sequence[Cell], part: float, cell_layers: list[list[Buffer]] | None = None
    ) -> Layer:
        """Return the layer after `row`; append the packed layer at each cell to `cell_layers`."""
        layers: list[Layer] = [layer, *({} for _ in row)]
        for number, cell in enumerate(row):
            items = iter(layers[number].items())
            while done := self.backend.step_forward(islice(items, KEYS_PER_CALL), layers[number:], cell):
                self._report(done, part)
            if cell_layers is not None:
                cell_layers.append(pack_layer(layers[number]))
            layers[number] = {}
        return layers[-1]

    def _sweep_backward(
        self, layer: Layer, completions: Layer, row: Sequence[Cell], part: float
    ) -> tuple[Layer, list[int]]:
        """Return the completions before `row`, and the water counts of its cells.

        `layer` is before `row`; `completions` are the ways to complete from each key after it.
        """
        cell_layers: list[list[Buffer]] = []
        self._sweep_forward(layer, row, part, cell_layers)
        backward: list[Layer] = [*({} for _ in row), completions]
        water = [0] * len(row)
        longest = max(self.board.fleet)
        for number in reversed(range(len(row))):
            current = unpack_layer(cell_layers.pop())
            items = iter(current.items())
            for _ in range(0, len(current), KEYS_PER_CALL):
                water[number] += self.backend.step_backward(
                    islice(items, KEYS_PER_CALL), backward[number:], row[number], self.size, backward[number]
                )
                self._report(KEYS_PER_CALL, part)
            # No ship that begins further left reaches these cells.
            backward[number + longest :] = [{}] * (len(row) + 1 - number - longest)
        return backward[0], water

    def _complete_fleets(self, layer: Layer) -> int:
        return sum(kernel.combine_ways(ways, 1, self.size) for ways in layer.values())

    def _report(self, states: int, part: float) -> None:
        self.states += states
        self.runtime.report_progress(part, f"{self.states:,} states of the sweep")

    def _plan_rows(self, size: int, purpose: str) -> CellRows:
        if size > CHECKED_MEMORY:
            self.runtime.require_memory(size, purpose)
        return plan_rows(self.board, self.places, self.size)


def plan_rows(board: Board, places: Sequence[Placement], size: PolynomialSize) -> CellRows:
    """Build the cells of the sweep that counts the fleets of `board` on `places`."""
    transposed = is_transposed(board)
    width, height = (board.height, board.width) if transposed else (board.width, board.height)
    available, shifts = _coefficient_masks(board.fleet, size)
    moves: dict[tuple[int, int], list[Move]] = {}
    for place in places:
        (x, y), (end_x, _) = place.ship if not transposed else (each[::-1] for each in place.ship)
        across = end_x > x or place.length == 1
        bits = _key_bits(board.touching, x, width, place.length, across)
        moves.setdefault((x, y), []).append((*bits, available[place.length], shifts[place.length]))
    occupied = {(y, x) if transposed else (x, y) for x, y in board.find_marks(HIT + SUNK)}

    def make_cell(x: int, y: int) -> Cell:
        end = (2 if board.touching == "allowed" else 1) << 4 * x
        corner = CORNER_BIT if board.touching == "never" and x + 1 < width else 0
        return Cell(4 * x, 1 << 4 * x, end, corner, int((x, y) not in occupied), tuple(moves.get((x, y), ())))

    return tuple(tuple(make_cell(x, y) for x in range(width)) for y in range(height))


def is_transposed(board: Board) -> bool:
    """Return whether a sweep treats the columns of `board` as rows, because they are shorter."""
    return board.width > board.height


def polynomial_size(board: Board, places: Sequence[Placement]) -> PolynomialSize:
    """Return a layout that has room for the numbers of ways to choose places for each length."""
    numbers = Counter(place.length for place in places)
    ships = Counter(board.fleet)
    ways = prod(max(comb(numbers[length], placed) for placed in range(most + 1)) for length, most in ships.items())
    return PolynomialSize(prod(most + 1 for most in ships.values()), -(-ways.bit_length() // 64))


def _coefficient_masks(fleet: Sequence[int], size: PolynomialSize) -> tuple[dict[int, int], dict[int, int]]:
    """Return two numbers for each ship length: a mask and a shift.

    The mask selects the coefficients of subsets that still have a ship of this length.
    """
    available, shifts, stride = {}, {}, 1
    for length in sorted(set(fleet)):
        ships = fleet.count(length)
        bytes_each = 8 * size.words * stride
        mask = b"\xff" * (bytes_each * ships) + bytes(bytes_each)
        available[length] = int.from_bytes(mask * (size.slots // (stride * (ships + 1))), "little")
        shifts[length] = 8 * bytes_each
        stride *= ships + 1
    return available, shifts


def _key_bits(touching: str, x: int, width: int, length: int, across: bool) -> tuple[int, int, int]:
    """Return three masks of key bits for a ship.

    They are the bits that must be clear, the bits that it sets, and the cells that it has in this
    row.
    """
    cells = length if across else 1
    columns = range(x, x + cells)
    clear = sum(15 << 4 * each for each in columns)
    sets = sum(1 << 4 * each for each in columns) if across else length << 4 * x
    if touching == "allowed":
        return clear, 0 if across else sets, cells
    if x:
        clear |= 15 << 4 * (x - 1)
    if x + cells < width:
        # If ships must not touch: a ship to the right that continues downwards is in this row, one
        # that has ended touches at a corner.
        clear |= (14 if touching == "corners" else 15) << 4 * (x + cells)
    return (clear | CORNER_BIT if touching == "never" else clear), sets, cells


def estimate_memory(board: Board, places: Sequence[Placement], size: PolynomialSize) -> tuple[int, int]:
    """Return upper bounds of the peak memory of a count and of marginals, in bytes."""
    keys, ways = _max_row_keys(board, places), 8 * size.slots * size.words
    # Marginals need a packed layer for each row and for each cell of one row. Layers within reach
    # of a ship are unpacked.
    packed, unpacked = board.width + board.height, max(board.fleet) + 2
    marginals = keys * (packed * (PACKED_KEY_BYTES + ways) + unpacked * (KEY_BYTES + ways))
    return PEAK_LAYERS * keys * (KEY_BYTES + ways), marginals


def _max_row_keys(board: Board, places: Sequence[Placement]) -> int:
    values: dict[int, list[set[int]]] = {}
    transposed = is_transposed(board)
    width = board.height if transposed else board.width
    for place in places:
        squares = [(y, x) if transposed else (x, y) for x, y in place.ship.squares]
        across = squares[0][1] == squares[-1][1]
        for number, (x, y) in enumerate(squares):
            value = 1 if across else len(squares) - number
            values.setdefault(y, [set() for _ in range(width)])[x].add(value)
    rows = {tuple(map(frozenset, columns)) for columns in values.values()}
    return max((_count_row_keys(board, columns) for columns in rows), default=1)


def _count_row_keys(board: Board, columns: Sequence[frozenset[int]]) -> int:
    """Return an upper bound for the number of keys after a row.

    `columns` has the possible values of each column other than 0 (water).
    """
    all_lengths = sorted({length for length in board.fleet if length > 1})
    lengths = sorted(
        {all_lengths[number * len(all_lengths) // MAX_LENGTH_LIMITS] for number in range(MAX_LENGTH_LIMITS)}
        if all_lengths
        else ()
    )
    ships = [sum(other >= length for other in board.fleet) for length in lengths]
    apart = board.touching != "allowed"
    states: Counter[tuple[int, tuple[int, ...]]] = Counter({(_WATER, (0,) * len(lengths)): 1})
    for values in columns:
        next_states: Counter[tuple[int, tuple[int, ...]]] = Counter()
        # Values on the same side of all limits are equivalent.
        steps = Counter(tuple(value >= length for length in lengths) for value in values - {1})
        for (before, used), number in states.items():
            next_states[_WATER, used] += number
            if apart and 1 in values and before != _CONTINUES:
                next_states[_ENDED, used] += number
            if apart and before != _WATER:
                continue
            for step, ways in steps.items():
                now = tuple(count + more for count, more in zip(used, step, strict=True))
                if all(count <= most for count, most in zip(now, ships, strict=True)):
                    next_states[_CONTINUES, now] += number * ways
        states = next_states
    return states.total()
