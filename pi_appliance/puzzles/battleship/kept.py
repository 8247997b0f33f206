"""What a long count of battleship has done already: row by row, in memory, and on the shelf once it takes long."""

from array import array
from collections.abc import Sequence
from hashlib import sha256
from itertools import accumulate, pairwise

from pi_appliance.errors import Refused, Unavailable
from pi_appliance.puzzles.battleship.board import Board
from pi_appliance.puzzles.battleship.kernel import Layer
from pi_appliance.puzzles.runtime.interface import SearchRuntime

SLOW = 10  # seconds; what takes less is not worth the card's wear
MAGIC = b"battles1"  # names the format of what lies on the shelf


class CountCheckpoint:
    """The layers of a count after each row, forth and back, and the water of the squares that are through."""

    def __init__(self, board: Board, rows: int, runtime: SearchRuntime) -> None:
        self.rows, self.runtime = rows, runtime
        self.began = runtime.monotonic()
        self.name = f"battleship/{sha256(repr(board).encode()).hexdigest()[:16]}"
        self.behind: Layer = {}
        self.water: Layer = {}
        """By row and column of the sweep, the column in the lowest four bits."""
        self._layers: list[list[bytes] | None] = [pack([{0: 1}])]  # None: it is on the shelf
        if found := self._load("back", 2):
            self.behind, self.water = found
        while self.back < rows and self.forth < rows and self._there(f"row-{self.forth + 1}"):
            self._layers.append(None)
        if self.forth < rows and self.back < rows:
            self.behind, self.water = {}, {}

    @property
    def forth(self) -> int:
        """How many rows are counted."""
        return len(self._layers) - 1

    @property
    def back(self) -> int:
        """How many rows, from the last on, are mapped."""
        return len({place >> 4 for place in self.water})

    def layer(self, row: int) -> Layer:
        """Return the layer before ROW. Raises Refused if somebody has taken it from the shelf."""
        kept = self._layers[row]
        found = unpacked(kept, 1) if kept else self._load(f"row-{row}", 1)
        if not found:
            raise Refused("rows of this count were taken from the shelf while it went on; start it again")
        return found[0]

    def went_forth(self, layer: Layer) -> None:
        """Keep LAYER, the one behind the next row."""
        packed = pack([layer])
        self._layers.append(None if self._save(f"row-{self.forth + 1}", packed) else packed)

    def went_back(self, behind: Layer, water: Sequence[int]) -> None:
        """Keep what is BEHIND the row just mapped, and the WATER of its cells."""
        row = self.rows - 1 - self.back
        self.behind = behind
        self.water.update({row << 4 | column: number for column, number in enumerate(water)})
        self._save("back", pack([behind, self.water]))

    def finish(self) -> list[list[int]]:
        """Return the water by rows and columns, and take from the shelf what was needed on the way to it."""
        for name in [*self.runtime.cache.names()]:
            if name.startswith(f"{self.name}-row-"):
                self.runtime.cache.remove(name)
        places = sorted(self.water)
        return [[self.water[place] for place in places if place >> 4 == row] for row in range(self.rows)]

    def _save(self, name: str, packed: list[bytes]) -> bool:
        if self.runtime.monotonic() - self.began <= SLOW:
            return False
        try:
            self.runtime.cache.save(f"{self.name}-{name}", packed)
        except Unavailable:  # a full card ends no count: it only cannot go on from here another night
            return False
        return True

    def _there(self, name: str) -> bool:
        view = self.runtime.cache.load(f"{self.name}-{name}")
        return view is not None and _spans(view, 1) is not None

    def _load(self, name: str, layers: int) -> list[Layer] | None:
        view = self.runtime.cache.load(f"{self.name}-{name}")
        return unpack(view, layers) if view is not None else None


def pack(layers: Sequence[Layer]) -> list[bytes]:
    """Return LAYERS as bytes: for each their number, their keys, the lengths of their ways, and the ways."""
    parts = [MAGIC]
    for layer in layers:
        ways = [number.to_bytes(-(-number.bit_length() // 8), "little") for number in layer.values()]
        blob = b"".join(ways)
        padding = bytes(-(4 * len(ways) + len(blob)) % 8)
        parts += [array("Q", [len(ways), len(blob)]).tobytes(), array("Q", layer).tobytes()]
        parts += [array("I", map(len, ways)).tobytes(), blob, padding]
    return parts


def unpacked(parts: Sequence[bytes], layers: int) -> list[Layer]:
    """Return the LAYERS that `pack` made PARTS of."""
    return unpack(memoryview(b"".join(parts)), layers) or []


def unpack(view: memoryview, layers: int) -> list[Layer] | None:
    """Return the LAYERS packed in VIEW; None if it holds anything else."""
    spans = _spans(view, layers)
    return None if spans is None else [_unpacked(view[start:], *sizes) for start, *sizes in spans]


def _spans(view: memoryview, layers: int) -> list[tuple[int, int, int]] | None:
    """Return where each of LAYERS begins, its keys and the bytes of its ways; None if VIEW holds anything else."""
    at = len(MAGIC)
    if view[:at] != MAGIC:
        return None
    found: list[tuple[int, int, int]] = []
    for _ in range(layers):
        if len(view) < at + 16:
            return None
        count, length = view[at : at + 16].cast("Q")
        found.append((at + 16, count, length))
        at += 16 + 12 * count + length + -(4 * count + length) % 8
    return found if at == len(view) else None


def _unpacked(view: memoryview, count: int, length: int) -> Layer:
    keys = view[: 8 * count].cast("Q")
    lengths = view[8 * count : 12 * count].cast("I")
    ways = view[12 * count : 12 * count + length]
    ends = pairwise(accumulate(lengths, initial=0))
    return {key: int.from_bytes(ways[start:end], "little") for key, (start, end) in zip(keys, ends, strict=True)}
