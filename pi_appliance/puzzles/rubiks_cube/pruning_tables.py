"""Move tables and pruning tables of the 3x3x3, built once and cached with a checksum.

The large table of phase 1 (35 MB) takes seconds to build compiled, and minutes in plain Python.
"""

import struct
import zlib
from array import array
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from pi_appliance.puzzles import kernel_mode
from pi_appliance.puzzles.rubiks_cube import coordinates as c
from pi_appliance.puzzles.rubiks_cube import kernel
from pi_appliance.puzzles.rubiks_cube.kernel import SearchTables
from pi_appliance.puzzles.runtime import Cache, Interrupted, SearchRuntime, save_checkpoint

MOVES_NAME, SMALL_NAME, LARGE_NAME, LARGE_STATE_NAME = (
    f"rubiks-cube/{name}-1" for name in ("turns", "near", "wide", "wide-begun")
)
CLASS_COUNT = 64_430
LARGE_SIZE = CLASS_COUNT * c.ROW  # bytes
_MOVE_TABLES: dict[str, tuple[Literal["H", "I"], int]] = {
    "twist": ("H", c.TWISTS * c.TURNS),
    "flip": ("H", c.FLIPS * c.TURNS),
    "slice": ("H", c.SLICES * c.TURNS),
    "slice_sorted": ("H", c.SLICE_SORTED * c.TURNS),
    "corners": ("H", c.FACTORIAL * c.TURNS),
    "ud_edges": ("H", c.FACTORIAL * len(c.PHASE2_TURNS)),
    "ud_ranks": ("H", c.SLICE_SORTED),
    "twist_symmetry": ("H", 16 * c.TWISTS),
    "class_symmetries": ("H", CLASS_COUNT),
    "class_first": ("I", CLASS_COUNT),
    "class_of": ("I", c.FLIPS * c.SLICES),
}
SEARCH_MOVES = ("twist", "flip", "slice", "slice_sorted", "corners", "ud_edges")
"""The move tables that a search reads, in the order of `SearchTables`."""
_ITEM_SIZES = {"H": 2, "I": 4}
_CHUNK = 4096  # entries between progress reports: hundredths of a second in plain Python
_SMALL_SIZES = (c.FACTORIAL * c.ORDERS, c.FACTORIAL * c.ORDERS, c.TWISTS * c.SLICES, c.FLIPS * c.SLICES)
_MAX_DISTANCE = 12  # the longest phase 1
_BACKWARD_DEPTH = 9  # from here on few entries are unknown: search backward from those
_ROWS_PER_TASK = 512 if kernel_mode(kernel) == "compiled" else 32
_UNKNOWN_COUNT = bytes(sum(byte >> shift & 3 == 3 for shift in (0, 2, 4, 6)) for byte in range(256))
_SAVE_INTERVAL = 60  # seconds between checkpoints of 35 MB
_COUNTS = struct.Struct(f"<{_MAX_DISTANCE + 1}I")
_HEADER = struct.Struct("<2I")
_TRAILER = struct.Struct("<8sIQ")
_MAGIC = b"pi-cube1"

MoveTables = dict[str, memoryview]
_BUILT: dict[str, memoryview] = {}  # tables built by this process; they are the same for every cache


def save_checksummed(cache: Cache, name: str, parts: Iterable[bytes | bytearray | memoryview]) -> None:
    """Save `parts` under `name`, with a checksum after them."""
    views = [memoryview(part).cast("B") for part in parts]
    checksum = 0
    for view in views:
        checksum = zlib.crc32(view, checksum)
    cache.save(name, [*views, _TRAILER.pack(_MAGIC, checksum, sum(map(len, views)))])


def load_checksummed(cache: Cache, name: str, size: int | None = None) -> memoryview | None:
    """Return the read-only content of `name`; None if missing, damaged, or not of `size` bytes."""
    stored = cache.load(name)
    if stored is None or len(stored) < _TRAILER.size:
        return None
    content = stored[: -_TRAILER.size]
    magic, checksum, length = _TRAILER.unpack(stored[-_TRAILER.size :])
    is_valid = magic == _MAGIC and length == len(content) and checksum == zlib.crc32(content)
    return content if is_valid and size in {None, length} else None


def load_tables(runtime: SearchRuntime, *, use_large: bool = True) -> SearchTables:
    """Return the tables for a search, with the large one if it is cached. Raises `Interrupted`."""
    moves, small = load_small_tables(runtime)
    large = _load_large_table(runtime.cache) if use_large else None
    twists, classes, ranks = (moves[name] for name in ("twist_symmetry", "class_of", "ud_ranks"))
    search_moves, phase2_turns = [moves[name] for name in SEARCH_MOVES], array("H", c.PHASE2_TURNS)
    return SearchTables(search_moves, twists, classes, ranks, small, large or memoryview(b""), phase2_turns)


def load_small_tables(runtime: SearchRuntime) -> tuple[MoveTables, list[memoryview]]:
    """Return the move tables and the small pruning tables. Raises `Interrupted`."""
    moves = _load_move_tables(runtime)
    total = sum(_SMALL_SIZES)
    content = load_checksummed(runtime.cache, SMALL_NAME, total)
    if content is None:
        content = _BUILT.get(SMALL_NAME) or memoryview(b"".join(_build_small_tables(moves, runtime)))
        _BUILT[SMALL_NAME] = content
        save_checkpoint(save_checksummed, runtime.cache, SMALL_NAME, [content])
    ends = [sum(_SMALL_SIZES[: number + 1]) for number in range(len(_SMALL_SIZES))]
    return moves, [content[end - size : end] for end, size in zip(ends, _SMALL_SIZES, strict=True)]


def _load_large_table(cache: Cache) -> memoryview | None:
    content = load_checksummed(cache, LARGE_NAME, LARGE_SIZE + _COUNTS.size)
    return content and content[:LARGE_SIZE]


def _load_move_tables(runtime: SearchRuntime) -> MoveTables:
    total = sum(_ITEM_SIZES[kind] * count for kind, count in _MOVE_TABLES.values())
    content = load_checksummed(runtime.cache, MOVES_NAME, total)
    if content is None:
        content = _BUILT.get(MOVES_NAME)
        if content is None:
            built = _build_move_tables(runtime)
            content = memoryview(b"".join(memoryview(built[name]).cast("B") for name in _MOVE_TABLES))
            _BUILT[MOVES_NAME] = content
        save_checkpoint(save_checksummed, runtime.cache, MOVES_NAME, [content])
    tables: MoveTables = {}
    for name, (kind, count) in _MOVE_TABLES.items():
        size = _ITEM_SIZES[kind] * count
        tables[name], content = content[:size].cast(kind), content[size:]
    return tables


def _build_move_tables(runtime: SearchRuntime) -> "dict[str, array[int]]":
    note = "move tables"
    runtime.report_progress(0, note)
    slice_sorted = c.slice_sorted_moves()
    slices = array("H", [slice_sorted[entry] // c.ORDERS for entry in _first_order_entries()])
    built = {"slice_sorted": slice_sorted, "slice": slices}
    builders = {
        "twist": c.twist_moves,
        "flip": c.flip_moves,
        "twist_symmetry": c.twist_symmetries,
        "corners": c.corner_moves,
    }
    for name, build in builders.items():
        runtime.report_progress(0.2, note)
        built[name] = build()
    runtime.report_progress(0.3, note)
    built["ud_edges"], built["ud_ranks"] = c.ud_edge_moves(slice_sorted)
    classes = c.flip_slice_classes(lambda part: runtime.report_progress(0.4 + 0.6 * part, note))
    return built | {"class_of": classes.class_of, "class_first": classes.first, "class_symmetries": classes.symmetries}


def _first_order_entries() -> Iterator[int]:
    for number in range(c.SLICES):
        yield from range(number * c.ORDERS * c.TURNS, number * c.ORDERS * c.TURNS + c.TURNS)


def _build_small_tables(moves: MoveTables, runtime: SearchRuntime) -> Iterator[bytearray]:
    def phase2_moves(table: Sequence[int], count: int) -> "array[int]":
        return array("H", [table[number * c.TURNS + turn] for number in range(count) for turn in c.PHASE2_TURNS])

    orders = phase2_moves(moves["slice_sorted"], c.ORDERS)
    corners = phase2_moves(moves["corners"], c.FACTORIAL)
    width = len(c.PHASE2_TURNS)
    yield build_distance_table(corners, orders, c.FACTORIAL, c.ORDERS, width, runtime, "table of corners")
    yield build_distance_table(moves["ud_edges"], orders, c.FACTORIAL, c.ORDERS, width, runtime, "table of edges")
    yield build_distance_table(moves["twist"], moves["slice"], c.TWISTS, c.SLICES, c.TURNS, runtime, "table of twists")
    yield build_distance_table(moves["flip"], moves["slice"], c.FLIPS, c.SLICES, c.TURNS, runtime, "table of flips")


def build_distance_table(
    left: Sequence[int], right: Sequence[int], rows: int, across: int, width: int, runtime: SearchRuntime, note: str
) -> bytearray:
    """Return the distance of each pair of coordinates from (0, 0), a byte each.

    `left` and `right` are their move tables, of `rows` and `across` numbers and `width` turns.
    """
    size = rows * across
    distances = bytearray(b"\xff") * size
    distances[0] = 0
    entries, depth = 1, 0
    while entries < size:
        for begin in range(0, size, _CHUNK):
            runtime.report_progress(entries / size, note)
            end = min(begin + _CHUNK, size)
            entries += kernel.bfs_fill(distances, left, right, across, width, depth, begin, end)
        depth += 1
    return distances


@dataclass(slots=True)
class LargeTableBuild:
    """The large table while it is built: entries by distance, current depth and next row."""

    large: "memoryview[int]"
    counts: list[int]
    depth: int = 0
    row: int = 0

    def table_parts(self) -> list[bytes | memoryview]:
        """Return the table as cached when complete."""
        return [self.large, _COUNTS.pack(*self.counts, *[0] * (_MAX_DISTANCE + 1 - len(self.counts)))]

    def checkpoint_parts(self) -> list[bytes | memoryview]:
        """Return the table as cached in a checkpoint."""
        return [*self.table_parts(), _HEADER.pack(self.depth, self.row)]


def build_large_table(runtime: SearchRuntime) -> list[int]:
    """Build the large table unless it is cached; return its entries by distance."""
    content = load_checksummed(runtime.cache, LARGE_NAME, LARGE_SIZE + _COUNTS.size)
    if content is not None:
        runtime.cache.remove(LARGE_STATE_NAME)  # a power cut may have left it
        return list(_COUNTS.unpack(content[LARGE_SIZE:]))
    moves, _ = load_small_tables(runtime)
    build = _resume_build(runtime)
    try:
        _run_levels(build, moves, runtime)
    except Interrupted as interrupted:
        failure = save_checkpoint(save_checksummed, runtime.cache, LARGE_STATE_NAME, build.checkpoint_parts())
        interrupted.partial_result = f"the large table is complete to a distance of {build.depth}"
        interrupted.partial_result += failure or "; the next run continues from there"
        raise
    save_checksummed(runtime.cache, LARGE_NAME, build.table_parts())
    runtime.cache.remove(LARGE_STATE_NAME)
    return build.counts


def _resume_build(runtime: SearchRuntime) -> LargeTableBuild:
    large = runtime.shared_buffer(LARGE_SIZE)
    size = LARGE_SIZE + _COUNTS.size
    content = load_checksummed(runtime.cache, LARGE_STATE_NAME, size + _HEADER.size)
    if content is not None:
        depth, row = _HEADER.unpack(content[size:])
        large[:] = content[:LARGE_SIZE]
        # Workers were ahead of `row`; their entries are not in the counts yet.
        complete = list(_COUNTS.unpack(content[LARGE_SIZE:size])[: depth + 1])
        return LargeTableBuild(large, [*complete, _count_known(large) - sum(complete)], depth, row)
    for begin in range(0, LARGE_SIZE, c.ROW * 1024):
        end = min(begin + c.ROW * 1024, LARGE_SIZE)
        large[begin:end] = b"\xff" * (end - begin)
    large[0] ^= 3
    return LargeTableBuild(large, [1])


def _count_known(large: "memoryview[int]") -> int:
    """Return the number of known entries. Padding at the end of rows stays unknown."""
    unknown = 0
    for begin in range(0, LARGE_SIZE, c.ROW * 1024):
        counts = bytes(large[begin : begin + c.ROW * 1024]).translate(_UNKNOWN_COUNT)
        unknown += sum(number * counts.count(number) for number in range(1, 5))
    return 4 * LARGE_SIZE - unknown


def _run_levels(build: LargeTableBuild, moves: MoveTables, runtime: SearchRuntime) -> None:
    combined = array("H", [*moves["flip"], *moves["slice"], *moves["twist"]])
    total = CLASS_COUNT * c.TWISTS
    saved_at = runtime.monotonic()
    while build.depth < _MAX_DISTANCE:
        if len(build.counts) == build.depth + 1:
            build.counts.append(0)
        if build.depth >= _BACKWARD_DEPTH:
            results = _search_backward(build, moves, combined, runtime)
        else:
            results = _search_forward(build, moves, combined)
        note = f"large table, distance {build.depth + 1} of {_MAX_DISTANCE}"
        for rows, entries in results:
            build.row += rows
            build.counts[-1] += entries
            runtime.report_progress(sum(build.counts) / total, note)
            if runtime.monotonic() - saved_at > _SAVE_INTERVAL:
                save_checksummed(runtime.cache, LARGE_STATE_NAME, build.checkpoint_parts())
                saved_at = runtime.monotonic()
        build.depth, build.row = build.depth + 1, 0


def _search_forward(build: LargeTableBuild, moves: MoveTables, combined: "array[int]") -> Iterator[tuple[int, int]]:
    """Apply turns to the entries at the current depth; yield rows done and entries found."""
    symmetry, classes, alike = (moves[name] for name in ("twist_symmetry", "class_of", "class_symmetries"))
    large, depth = build.large, build.depth
    twists = array("H", bytes(2 * c.TWISTS))
    for row, first in enumerate(moves["class_first"][build.row :], build.row):
        yield 1, kernel.forward_bfs(large, row, depth, first, combined, symmetry, classes, alike, twists)


def _search_backward(
    build: LargeTableBuild, moves: MoveTables, combined: "array[int]", runtime: SearchRuntime
) -> Iterator[tuple[int, int]]:
    """Apply turns to the unknown entries, on all cores: each writes only into its own rows."""
    large, depth = build.large, build.depth
    twist_symmetry, class_of = moves["twist_symmetry"], moves["class_of"]

    def search_rows(begin: int) -> tuple[int, int]:
        twists = array("H", bytes(2 * c.TWISTS))
        entries = 0
        rows = range(begin, min(begin + _ROWS_PER_TASK, CLASS_COUNT))
        for row in rows:
            runtime.report_progress(None, "")
            first = moves["class_first"][row]
            entries += kernel.backward_bfs(large, row, depth, first, combined, twist_symmetry, class_of, twists)
        return len(rows), entries

    yield from runtime.executor.map(search_rows, range(build.row, CLASS_COUNT, _ROWS_PER_TASK))
