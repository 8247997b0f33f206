"""Move tables and pruning tables of the 3x3x3, built once and cached with a checksum.

The large table of phase 1 (35 MB) takes seconds to build compiled, and minutes in plain Python.
"""

from array import array
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain, permutations
from weakref import WeakKeyDictionary

from pi_appliance.puzzles import kernel_mode
from pi_appliance.puzzles.rubiks_cube import coordinates as c
from pi_appliance.puzzles.rubiks_cube import kernel
from pi_appliance.puzzles.rubiks_cube.kernel import SearchTables
from pi_appliance.puzzles.runtime import Buffer, Cache, Checkpoint, SearchRuntime, load_entry, save_entry, try_to_save

MOVES_NAME, SMALL_NAME, LARGE_NAME, LARGE_STATE_NAME = (
    f"rubiks-cube/{name}-2" for name in ("turns", "near", "wide", "wide-begun")
)
CLASS_COUNT = 64_430
LARGE_SIZE = CLASS_COUNT * c.ROW  # bytes
SEARCH_MOVES = ("twist", "flip", "slice", "slice_sorted", "corners", "ud_edges")
"""The move tables that a search reads, in the order of `SearchTables`."""
_CHUNK = 4096  # entries between progress reports: hundredths of a second in plain Python
_MAX_DISTANCE = 12  # the longest phase 1
_BACKWARD_DEPTH = 9  # from here on few entries are unknown: search backward from those
_ROWS_PER_TASK = 512 if kernel_mode(kernel) == "compiled" else 32
_UNKNOWN_COUNT = bytes(sum(byte >> shift & 3 == 3 for shift in (0, 2, 4, 6)) for byte in range(256))

Tables = dict[str, memoryview]
_BUILT: dict[str, Tables] = {}  # by this process; they are the same for every cache
_LOADED: WeakKeyDictionary[Cache, dict[str, Tables]] = WeakKeyDictionary()  # read and verified once


def load_tables(runtime: SearchRuntime, *, use_large: bool = True) -> SearchTables:
    """Return the tables for a search, with the large one if it is cached. Raises `Interrupted`."""
    moves, small = load_small_tables(runtime)
    large = load_entry(runtime.cache, LARGE_NAME) if use_large else None
    twists, classes, ranks = (moves[name] for name in ("twist_symmetry", "class_of", "ud_ranks"))
    search_moves, phase2_turns = [moves[name] for name in SEARCH_MOVES], array("H", c.PHASE2_TURNS)
    large_table = large.buffers[0] if large else memoryview(b"")
    return SearchTables(search_moves, twists, classes, ranks, small, large_table, phase2_turns)


def has_loaded_tables(runtime: SearchRuntime) -> bool:
    """Return whether this process has read the small tables already, so that they cost nothing."""
    return SMALL_NAME in _LOADED.get(runtime.cache, {})


def load_small_tables(runtime: SearchRuntime) -> tuple[Tables, list[memoryview]]:
    """Return the move tables and the small pruning tables. Raises `Interrupted`."""
    moves = cached_tables(runtime, MOVES_NAME, partial(_build_move_tables, runtime))
    small = cached_tables(runtime, SMALL_NAME, partial(_build_small_tables, moves, runtime))
    return moves, list(small.values())


def cached_tables(runtime: SearchRuntime, name: str, build: Callable[[], Mapping[str, Buffer]]) -> Tables:
    """Return tables by their names; build and cache them if they are missing."""
    loaded = _LOADED.setdefault(runtime.cache, {})
    if name in loaded:
        return loaded[name]
    if saved := load_entry(runtime.cache, name):
        loaded[name] = dict(zip(saved.values["tables"], saved.buffers, strict=True))
        return loaded[name]
    if name not in _BUILT:
        _BUILT[name] = {table: memoryview(buffer) for table, buffer in build().items()}
    tables = _BUILT[name]
    try_to_save(runtime.cache, name, {"tables": list(tables)}, list(tables.values()))
    return tables


def _build_move_tables(runtime: SearchRuntime) -> "dict[str, array[int]]":
    note = "move tables"
    runtime.report_progress(0, note)
    slice_sorted = c.placement_moves(c.slice_placements(), c.edge_places)
    firsts = range(0, c.SLICE_SORTED * c.TURNS, c.ORDERS * c.TURNS)
    slices = [slice_sorted[first + turn] // c.ORDERS for first in firsts for turn in range(c.TURNS)]
    built = {"slice_sorted": slice_sorted, "slice": array("H", slices)}
    runtime.report_progress(0.1, note)
    built |= {"twist": c.orientation_moves(3), "flip": c.orientation_moves(2)}
    runtime.report_progress(0.2, note)
    built["twist_symmetry"] = array("H", chain.from_iterable(c.orientation_symmetries(3)))
    built["corners"] = c.placement_moves(list(permutations(range(8))), c.corner_places)
    runtime.report_progress(0.3, note)
    built["ud_edges"], built["ud_ranks"] = c.ud_edge_moves(slice_sorted)
    classes = c.flip_slice_classes(lambda part: runtime.report_progress(0.4 + 0.6 * part, note))
    return built | {"class_of": classes.class_of, "class_first": classes.first, "class_symmetries": classes.symmetries}


def _build_small_tables(moves: Tables, runtime: SearchRuntime) -> dict[str, Buffer]:
    def phase2_moves(table: Sequence[int], count: int) -> "array[int]":
        return array("H", [table[number * c.TURNS + turn] for number in range(count) for turn in c.PHASE2_TURNS])

    orders, corners = phase2_moves(moves["slice_sorted"], c.ORDERS), phase2_moves(moves["corners"], c.FACTORIAL)
    tables = {
        "corners": (corners, orders, c.FACTORIAL, c.ORDERS, len(c.PHASE2_TURNS)),
        "edges": (moves["ud_edges"], orders, c.FACTORIAL, c.ORDERS, len(c.PHASE2_TURNS)),
        "twists": (moves["twist"], moves["slice"], c.TWISTS, c.SLICES, c.TURNS),
        "flips": (moves["flip"], moves["slice"], c.FLIPS, c.SLICES, c.TURNS),
    }
    return {name: build_distance_table(*table, runtime, f"table of {name}") for name, table in tables.items()}


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

    def state(self) -> tuple[dict[str, object], list[Buffer]]:
        """Return the values and a copy of the table: workers may be writing into it."""
        return {"counts": self.counts, "depth": self.depth, "row": self.row}, [bytes(self.large)]


def build_large_table(runtime: SearchRuntime) -> list[int]:
    """Build the large table unless it is cached; return its entries by distance."""
    checkpoint = Checkpoint(runtime, LARGE_STATE_NAME)
    if saved := load_entry(runtime.cache, LARGE_NAME):
        checkpoint.remove()  # a power cut may have left it
        return list(saved.values["counts"])
    moves, _ = load_small_tables(runtime)
    build = _start_build(runtime, checkpoint)

    def describe() -> str:
        return f"the large table is complete to a distance of {build.depth}"

    with checkpoint.guard(build.state, describe, "; the next run continues from there") as save_sometimes:
        _run_levels(build, moves, runtime, save_sometimes)
        save_entry(runtime.cache, LARGE_NAME, {"counts": build.counts}, [build.large])
    return build.counts


def _start_build(runtime: SearchRuntime, checkpoint: Checkpoint) -> LargeTableBuild:
    large = runtime.shared_buffer(LARGE_SIZE)
    if saved := checkpoint.load():
        large[:] = saved.buffers[0]
        depth = saved.values["depth"]
        # Workers were ahead of `row`; their entries are not in the counts yet.
        complete = saved.values["counts"][: depth + 1]
        return LargeTableBuild(large, [*complete, _count_known(large) - sum(complete)], depth, saved.values["row"])
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


def _run_levels(
    build: LargeTableBuild, moves: Tables, runtime: SearchRuntime, save_sometimes: Callable[[], None]
) -> None:
    combined = array("H", [*moves["flip"], *moves["slice"], *moves["twist"]])
    total = CLASS_COUNT * c.TWISTS
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
            save_sometimes()
        build.depth, build.row = build.depth + 1, 0


def _search_forward(build: LargeTableBuild, moves: Tables, combined: "array[int]") -> Iterator[tuple[int, int]]:
    """Apply turns to the entries at the current depth; yield rows done and entries found."""
    symmetry, classes, alike = (moves[name] for name in ("twist_symmetry", "class_of", "class_symmetries"))
    large, depth = build.large, build.depth
    twists = array("H", bytes(2 * c.TWISTS))
    for row, first in enumerate(moves["class_first"][build.row :], build.row):
        yield 1, kernel.forward_bfs(large, row, depth, first, combined, symmetry, classes, alike, twists)


def _search_backward(
    build: LargeTableBuild, moves: Tables, combined: "array[int]", runtime: SearchRuntime
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
