"""Move tables and pruning tables of the 3x3x3, built once and cached with a checksum.

The large table of phase 1 (141 MB) takes seconds to build compiled, an hour in plain Python.
"""

from array import array
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import cache, partial
from itertools import chain, combinations, permutations
from weakref import WeakKeyDictionary

from pi_appliance.puzzles import kernel_mode
from pi_appliance.puzzles.rubiks_cube import coordinates as c
from pi_appliance.puzzles.rubiks_cube import kernel
from pi_appliance.puzzles.rubiks_cube.kernel import SearchTables
from pi_appliance.puzzles.runtime import Buffer, Cache, Checkpoint, SearchRuntime, load_entry, save_entry, try_to_save

MOVES_NAME, SMALL_NAME, LARGE_NAME, LARGE_STATE_NAME = (
    f"rubiks-cube/{name}-3" for name in ("turns", "near", "wide", "wide-begun")
)
CLASS_COUNT = 64_430
LARGE_SIZE = CLASS_COUNT * c.TWISTS  # bytes of the large table
_PIECE_SIZE = 1024 * c.TWISTS  # bytes that are copied at a time
SEARCH_MOVES = ("twist", "slice_sorted", "corners", "ud_edges")
"""The move tables that a search reads, in the order of `SearchTables`."""
_ROW_TABLES = ("classes", "twist", "twist_symmetry", "class_symmetries")
_CHUNK = 4096  # entries between two progress reports: hundredths of a second in plain Python
_MAX_DISTANCE = 12  # the longest phase 1
_BACKWARD_DEPTH = 9  # from this depth on, few entries are unknown, so the search goes backward from them
_ROWS_PER_TASK = 512 if kernel_mode(kernel) == "compiled" else 32
_ROWS_PER_SAVE = 32 * _ROWS_PER_TASK  # rows; a checkpoint waits until no worker writes
# sets of turns of one face that have a list of their own, as bits; other sets have longer lists
_SINGLE_FACE = (1, 2, 4, 5, 7)

Tables = dict[str, memoryview]
_BUILT: dict[str, Tables] = {}  # tables that this process has built; they do not depend on the cache
_LOADED: WeakKeyDictionary[Cache, dict[str, Tables]] = WeakKeyDictionary()  # each entry is read and verified once


def load_tables(runtime: SearchRuntime, *, use_large: bool = True) -> SearchTables:
    """Return the tables for a search, with the large one if it is cached. Raises `Interrupted`."""
    moves, small = load_small_tables(runtime)
    large = _load_saved(runtime.cache, LARGE_NAME) if use_large else None
    return search_tables(SearchTables, moves, small, large[LARGE_NAME] if large else memoryview(b""))


def search_tables(
    kind: Callable[..., SearchTables], moves: Tables, small: Sequence[memoryview], large: Buffer
) -> SearchTables:
    """Return the tables in the class `kind` of the kernel."""
    return kind(
        [moves[name] for name in SEARCH_MOVES],
        [moves[name] for name in ("classes", "class_of", "class_slice")],
        [moves[name] for name in ("twist_symmetry", "turn_symmetry", "inverse_turns", "products")],
        [moves["ud_ranks"], array("H", c.PHASE2_TURNS)],
        small,
        large,
        turn_lists(),
    )


@cache
def turn_lists() -> bytes:
    """Return the turns of each list of the large table.

    All lists take equal space; `TURNS` ends one.
    """
    lists = [[*(turn for turn in range(c.TURNS) if mask >> turn & 1), c.TURNS] for mask in turn_masks()]
    return b"".join(bytes(turns).ljust(c.TURNS + 1, b"\0") for turns in lists)


def _load_saved(cache: Cache, name: str) -> Tables | None:
    """Return the tables in a cache entry by their names.

    An entry is read and verified only once.
    """
    loaded = _LOADED.setdefault(cache, {})
    if name not in loaded and (saved := load_entry(cache, name)):
        loaded[name] = dict(zip(saved.values.get("tables", [name]), saved.buffers, strict=True))
    return loaded.get(name)


def turn_masks() -> list[int]:
    """Return the turns of each list of the large table as bits; the first list has all turns.

    Nearly always, only one turn shortens the way, and in most other cases two turns of different
    faces do. A byte has room for 85 lists: those of one face, and all turns of two, three, four and
    six faces.
    """
    whole = [sum(7 << 3 * face for face in faces) for size in (6, 2, 3, 4) for faces in combinations(range(6), size)]
    return whole + [bits << 3 * face for face in range(6) for bits in _SINGLE_FACE]


def shortest_lists() -> bytes:
    """Return the number of the shortest list that contains each set of turns (as bits)."""
    masks = turn_masks()
    exact = {mask: number for number, mask in enumerate(masks)}
    whole = [sum(7 << 3 * face for face in range(6) if faces >> face & 1) for faces in range(64)]
    touched = [sum(((bits >> 3 * face & 7) > 0) << face for face in range(3)) for bits in range(512)]
    result = bytearray()
    for high in range(512):
        for low in range(512):
            mask = high << 9 | low
            faces = touched[high] << 3 | touched[low]
            result.append(exact.get(mask, exact.get(whole[faces], 0)))
    return bytes(result)


def has_loaded_tables(runtime: SearchRuntime) -> bool:
    """Return whether this process has already read the small tables."""
    return SMALL_NAME in _LOADED.get(runtime.cache, {})


def load_small_tables(runtime: SearchRuntime) -> tuple[Tables, list[memoryview]]:
    """Return the move tables and the small pruning tables. Raises `Interrupted`."""
    moves = cached_tables(runtime, MOVES_NAME, partial(_build_move_tables, runtime))
    small = cached_tables(runtime, SMALL_NAME, partial(_build_small_tables, moves, runtime))
    return moves, list(small.values())


def cached_tables(runtime: SearchRuntime, name: str, build: Callable[[], Mapping[str, Buffer]]) -> Tables:
    """Return tables by their names. If they are not in the cache, build and store them."""
    if saved := _load_saved(runtime.cache, name):
        return saved
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
    built |= {"twist": c.orientation_moves(3, c.corner_places), "flip": c.orientation_moves(2, c.edge_places)}
    runtime.report_progress(0.2, note)
    built["twist_symmetry"] = array("H", chain.from_iterable(c.orientation_symmetries(3, c.corner_places)))
    built["corners"] = c.placement_moves(list(permutations(range(8))), c.corner_places)
    runtime.report_progress(0.3, note)
    built["ud_edges"], built["ud_ranks"] = c.ud_edge_moves(slice_sorted)
    built |= c.flip_slice_classes(lambda part: runtime.report_progress(0.4 + 0.6 * part, note))
    products, turns = c.symmetry_products(), c.turn_symmetries()
    inverse_turns = chain.from_iterable(turns[at * c.TURNS : (at + 1) * c.TURNS] for at in c.inverse_symmetries())
    built |= {"products": array("B", products), "turn_symmetry": array("B", turns)}
    built["inverse_turns"] = array("B", inverse_turns)
    return built | class_moves(built)


def class_moves(moves: Mapping[str, Sequence[int]]) -> "dict[str, array[int]]":
    """Return, for the first position of each class, the class after each turn, and the slice."""
    flip, slices, class_of = moves["flip"], moves["slice"], moves["class_of"]
    table, where = array("I"), array("H")
    for first in moves["class_first"]:
        one, two = first // c.SLICES * c.TURNS, first % c.SLICES * c.TURNS
        after = zip(flip[one : one + c.TURNS], slices[two : two + c.TURNS], strict=True)
        table.extend([class_of[other * c.SLICES + there] for other, there in after])
        where.append(first % c.SLICES)
    return {"classes": table, "class_slice": where}


def _build_small_tables(moves: Tables, runtime: SearchRuntime) -> dict[str, Buffer]:
    def phase2_moves(table: Sequence[int], count: int) -> "array[int]":
        return array("H", [table[number * c.TURNS + turn] for number in range(count) for turn in c.PHASE2_TURNS])

    orders, corners = phase2_moves(moves["slice_sorted"], c.ORDERS), phase2_moves(moves["corners"], c.FACTORIAL)
    classes = array("H", [code >> 4 for code in moves["classes"]])
    tables = {
        "corners": (corners, orders, c.FACTORIAL, c.ORDERS, len(c.PHASE2_TURNS)),
        "edges": (moves["ud_edges"], orders, c.FACTORIAL, c.ORDERS, len(c.PHASE2_TURNS)),
        "twists": (moves["twist"], moves["slice"], c.TWISTS, c.SLICES, c.TURNS),
        "classes": (classes, array("H", bytes(2 * c.TURNS)), CLASS_COUNT, 1, c.TURNS),
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
    """The large table while it is built: entries per distance, current depth and next row."""

    large: "memoryview[int]"
    counts: list[int]
    depth: int = 0
    row: int = 0

    def state(self) -> tuple[dict[str, object], list[Buffer]]:
        """Return the values and the table, into which no worker writes now."""
        return {"counts": self.counts, "depth": self.depth, "row": self.row}, [self.large]


def build_large_table(runtime: SearchRuntime) -> list[int]:
    """Build the large table unless it is cached; return its entries by distance."""
    checkpoint = Checkpoint(runtime, LARGE_STATE_NAME)
    if saved := load_entry(runtime.cache, LARGE_NAME):
        checkpoint.remove()  # a power cut may have left a checkpoint
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
        if depth == _MAX_DISTANCE:
            return LargeTableBuild(large, saved.values["counts"], depth, saved.values["row"])
        # Workers were ahead of `row`, and their entries are not counted yet.
        complete, pieces = saved.values["counts"][: depth + 1], range(0, LARGE_SIZE, _PIECE_SIZE)
        known = LARGE_SIZE - sum(bytes(large[at : at + _PIECE_SIZE]).count(0xFF) for at in pieces)
        return LargeTableBuild(large, [*complete, known - sum(complete)], depth, saved.values["row"])
    for begin in range(0, LARGE_SIZE, _PIECE_SIZE):
        end = min(begin + _PIECE_SIZE, LARGE_SIZE)
        large[begin:end] = b"\xff" * (end - begin)
    large[0] = 0
    return LargeTableBuild(large, [1])


def _run_levels(
    build: LargeTableBuild, moves: Tables, runtime: SearchRuntime, save_sometimes: Callable[[], None]
) -> None:
    """Find all distances, then the lists of turns."""
    while build.depth <= _MAX_DISTANCE:
        if len(build.counts) == build.depth + 1 <= _MAX_DISTANCE:
            build.counts.append(0)
        note = f"large table, distance {build.depth + 1} of {_MAX_DISTANCE}"
        if build.depth == _MAX_DISTANCE:
            note = "large table, lists of turns"
        change = _row_change(build, moves)
        while build.row < CLASS_COUNT:
            rows = range(build.row, min(build.row + _ROWS_PER_SAVE, CLASS_COUNT))
            with closing(_change_rows(build, change, rows, runtime)) as results:  # closing it ends its workers
                for done, entries in results:
                    build.row += done
                    build.counts[-1] += entries
                    runtime.report_progress((build.depth + build.row / CLASS_COUNT) / (_MAX_DISTANCE + 1), note)
            save_sometimes()
        build.depth, build.row = build.depth + 1, 0


def _row_change(build: LargeTableBuild, moves: Tables) -> Callable[[int], int]:
    """Return a function that changes a row at the current depth and returns the entries found."""
    large, depth, twists = build.large, build.depth, array("H", bytes(2 * c.TWISTS))
    classes, turns, symmetry, alike = (moves[name] for name in _ROW_TABLES)
    if depth < _BACKWARD_DEPTH:  # forward: turns are applied to the entries at this depth
        return lambda row: kernel.forward_bfs(large, row, depth, classes, turns, symmetry, alike, twists)
    if depth < _MAX_DISTANCE:  # backward: turns are applied to the unknown entries
        return lambda row: kernel.backward_bfs(large, row, depth, classes, turns, symmetry, twists)
    list_of, masks = shortest_lists(), array("I", bytes(4 * c.TWISTS))
    return lambda row: kernel.add_turn_lists(large, row, classes, turns, symmetry, list_of, masks)


def _change_rows(
    build: LargeTableBuild, change: Callable[[int], int], rows: range, runtime: SearchRuntime
) -> Generator[tuple[int, int], None, None]:
    """Yield the number of rows done and of entries found.

    If each row is changed alone, all cores work.
    """
    if build.depth < _BACKWARD_DEPTH:
        yield from ((1, change(row)) for row in rows)
        return

    def change_part(begin: int) -> tuple[int, int]:
        entries, part = 0, range(begin, min(begin + _ROWS_PER_TASK, rows.stop))
        for row in part:
            runtime.report_progress(None, "")
            entries += change(row)
        return len(part), entries

    yield from runtime.executor.map(change_part, rows[::_ROWS_PER_TASK])
