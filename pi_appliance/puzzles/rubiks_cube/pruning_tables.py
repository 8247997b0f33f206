"""The tables of the 3x3x3: what turns do, and how far things are. Built once, kept on the shelf, and looked at again.

The small ones take a second compiled and some ten plain; whoever solves builds them. The wide one (35 MB) takes
seconds compiled and minutes plain; `prepare` builds it, and goes on where it was cut off.
"""

import struct
import zlib
from array import array
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from pi_appliance.puzzles import kernel_mode
from pi_appliance.puzzles.rubiks_cube import coordinates as c
from pi_appliance.puzzles.rubiks_cube import table_kernel
from pi_appliance.puzzles.rubiks_cube.kernel import SearchTables
from pi_appliance.puzzles.runtime.interface import Cache, Interrupted, SearchRuntime, save_checkpoint

_TRAILER = struct.Struct("<8sIQ")
_MAGIC = b"pi-cube1"


def save_checksummed(cache: Cache, name: str, parts: Iterable[bytes | bytearray | memoryview]) -> None:
    """Keep PARTS as NAME."""
    views = [memoryview(part).cast("B") for part in parts]
    checksum = 0
    for view in views:
        checksum = zlib.crc32(view, checksum)
    cache.save(name, [*views, _TRAILER.pack(_MAGIC, checksum, sum(map(len, views)))])


def load_checksummed(cache: Cache, name: str, size: int | None = None) -> memoryview | None:
    """Return what was kept as NAME, to be read only; None if there is nothing whole, or it has not SIZE bytes."""
    kept = cache.load(name)
    if kept is None or len(kept) < _TRAILER.size:
        return None
    content = kept[: -_TRAILER.size]
    magic, checksum, length = _TRAILER.unpack(kept[-_TRAILER.size :])
    whole = magic == _MAGIC and length == len(content) and checksum == zlib.crc32(content)
    return content if whole and size in {None, length} else None


MOVES_NAME, SMALL_NAME, LARGE_NAME, LARGE_STATE_NAME = (
    f"rubiks-cube/{name}-1" for name in ("turns", "near", "wide", "wide-begun")
)
CLASS_COUNT = 64_430
LARGE_SIZE = CLASS_COUNT * c.ROW
_MOVE_TABLES: dict[str, tuple[Literal["H", "I"], int]] = {
    "twist": ("H", c.TWISTS * c.TURNS),
    "flip": ("H", c.FLIPS * c.TURNS),
    "slice": ("H", c.SLICES * c.TURNS),
    "four": ("H", c.SLICE_SORTED * c.TURNS),
    "corner": ("H", c.FACTORIAL * c.TURNS),
    "edge": ("H", c.FACTORIAL * len(c.PHASE2_TURNS)),
    "ranks": ("H", c.SLICE_SORTED),
    "views": ("H", 16 * c.TWISTS),
    "same": ("H", CLASS_COUNT),
    "first": ("I", CLASS_COUNT),
    "of": ("I", c.FLIPS * c.SLICES),
}
_ITEM_SIZES = {"H": 2, "I": 4}
_CHUNK = 4096  # entries at a time: some hundredths of a second in plain Python
_SMALL_SIZES = (c.FACTORIAL * c.ORDERS, c.FACTORIAL * c.ORDERS, c.TWISTS * c.SLICES, c.FLIPS * c.SLICES)
_MAX_DISTANCE = 12  # the longest first phase
_BACKWARD_DEPTH = 9  # from this depth on few entries are unknown: they look where they lead
_ROWS_PER_TASK = 512 if kernel_mode(table_kernel) == "compiled" else 32  # classes that one hand looks through at a time
_UNKNOWN_COUNT = bytes(sum(byte >> shift & 3 == 3 for shift in (0, 2, 4, 6)) for byte in range(256))
_SAVE_INTERVAL = 60  # seconds between two checkpoints: 35 MB to the card each
_COUNTS = struct.Struct(f"<{_MAX_DISTANCE + 1}I")
_HEADER = struct.Struct("<2I")

MoveTables = dict[str, memoryview]
_BUILT: dict[str, memoryview] = {}
"""What this process has built already: it is the same for every shelf."""


def load_small_tables(runtime: SearchRuntime) -> tuple[MoveTables, list[memoryview]]:
    """Return what turns do, by name, and the small tables of distances. Raises Interrupted."""
    parts = load_move_tables(runtime)
    size = sum(_SMALL_SIZES)
    near = load_checksummed(runtime.cache, SMALL_NAME, size)
    if near is None:
        near = _BUILT.get(SMALL_NAME) or memoryview(b"".join(_build_small_tables(parts, runtime)))
        _BUILT[SMALL_NAME] = near
        save_checkpoint(save_checksummed, runtime.cache, SMALL_NAME, [near])
    ends = [sum(_SMALL_SIZES[: number + 1]) for number in range(len(_SMALL_SIZES))]
    return parts, [near[end - size : end] for end, size in zip(ends, _SMALL_SIZES, strict=True)]


def load_tables(runtime: SearchRuntime, *, wide: bool = True) -> SearchTables:
    """Return what a search reads: with the WIDE table, if it is on the shelf. Raises Interrupted."""
    parts, near = load_small_tables(runtime)
    widest = _load_large_table(runtime.cache) if wide else None
    turns = [parts[name] for name in ("twist", "flip", "slice", "four", "corner", "edge")]
    return SearchTables(
        turns, parts["views"], parts["of"], parts["ranks"], near, widest or memoryview(b""), array("H", c.PHASE2_TURNS)
    )


def _load_large_table(cache: Cache) -> memoryview | None:
    kept_wide = load_checksummed(cache, LARGE_NAME, LARGE_SIZE + _COUNTS.size)
    return kept_wide and kept_wide[:LARGE_SIZE]


def load_move_tables(runtime: SearchRuntime) -> MoveTables:
    """Return the move tables, from the cache or built. Raises `Interrupted`."""
    size = sum(_ITEM_SIZES[kind] * count for kind, count in _MOVE_TABLES.values())
    blob = load_checksummed(runtime.cache, MOVES_NAME, size)
    if blob is None:
        blob = _BUILT.get(MOVES_NAME)
        if blob is None:
            built = _build_move_tables(runtime)
            blob = _BUILT[MOVES_NAME] = memoryview(b"".join(memoryview(built[name]).cast("B") for name in _MOVE_TABLES))
        save_checkpoint(save_checksummed, runtime.cache, MOVES_NAME, [blob])
    parts: MoveTables = {}
    for name, (kind, count) in _MOVE_TABLES.items():
        length = _ITEM_SIZES[kind] * count
        parts[name], blob = blob[:length].cast(kind), blob[length:]
    return parts


def _build_move_tables(runtime: SearchRuntime) -> "dict[str, array[int]]":
    note = "tables of turns"
    runtime.report_progress(0, note)
    four = c.slice_sorted_moves()
    built = {"four": four, "slice": array("H", [four[number] // c.ORDERS for number in _slice_rows()])}
    makers = {"twist": c.twist_moves, "flip": c.flip_moves, "views": c.twist_symmetries, "corner": c.corner_moves}
    for name, maker in makers.items():
        runtime.report_progress(0.2, note)
        built[name] = maker()
    runtime.report_progress(0.3, note)
    built["edge"], built["ranks"] = c.ud_edge_moves(four)
    found = c.flip_slice_classes(lambda part: runtime.report_progress(0.4 + 0.6 * part, note))
    return built | {"of": found.of, "first": found.first, "same": found.same}


def _slice_rows() -> Iterator[int]:
    """Yield where the turns of the first order of each choice of places stand among those of `four`."""
    for choice in range(c.SLICES):
        yield from range(choice * c.ORDERS * c.TURNS, choice * c.ORDERS * c.TURNS + c.TURNS)


def _build_small_tables(parts: MoveTables, runtime: SearchRuntime) -> Iterator[bytearray]:
    def second(turns: Sequence[int], count: int) -> "array[int]":
        return array("H", [turns[number * c.TURNS + turn] for number in range(count) for turn in c.PHASE2_TURNS])

    orders = second(parts["four"], c.ORDERS)
    corners = second(parts["corner"], c.FACTORIAL)
    yield build_distance_table(corners, orders, c.FACTORIAL, c.ORDERS, len(c.PHASE2_TURNS), runtime, "table of corners")
    yield build_distance_table(
        parts["edge"], orders, c.FACTORIAL, c.ORDERS, len(c.PHASE2_TURNS), runtime, "table of edges"
    )
    yield build_distance_table(parts["twist"], parts["slice"], c.TWISTS, c.SLICES, c.TURNS, runtime, "table of twists")
    yield build_distance_table(parts["flip"], parts["slice"], c.FLIPS, c.SLICES, c.TURNS, runtime, "table of flips")


def build_distance_table(
    left: Sequence[int], right: Sequence[int], rows: int, across: int, width: int, runtime: SearchRuntime, note: str
) -> bytearray:
    """Return how far each pair of LEFT and RIGHT is from (0, 0), a byte each, by WIDTH turns. Raises Interrupted."""
    size = rows * across
    near = bytearray(b"\xff") * size
    near[0] = 0
    found, depth = 1, 0
    while found < size:
        for begin in range(0, size, _CHUNK):
            runtime.report_progress(found / size, note)
            end = min(begin + _CHUNK, size)
            found += table_kernel.bfs_fill(near, left, right, across, width, depth, begin, end)
        depth += 1
    return near


@dataclass(slots=True)
class LargeTableBuild:
    """The wide table while it grows: COUNTS are the entries of each depth that are known, ROW the next to be done."""

    wide: "memoryview[int]"
    counts: list[int]
    depth: int = 0
    row: int = 0

    def parts(self) -> list[bytes | memoryview]:
        """Return it as it is kept on the shelf, without how far it is."""
        return [self.wide, _COUNTS.pack(*self.counts, *[0] * (_MAX_DISTANCE + 1 - len(self.counts)))]

    def begun(self) -> list[bytes | memoryview]:
        """Return it as a checkpoint keeps it."""
        return [*self.parts(), _HEADER.pack(self.depth, self.row)]


def build_large_table(runtime: SearchRuntime) -> list[int]:
    """See that the wide table is on the shelf; return how many entries have each distance. Raises Interrupted."""
    ready = load_checksummed(runtime.cache, LARGE_NAME, LARGE_SIZE + _COUNTS.size)
    if ready is not None:
        runtime.cache.remove(LARGE_STATE_NAME)  # a power cut may have left it
        return list(_COUNTS.unpack(ready[LARGE_SIZE:]))
    parts, _ = load_small_tables(runtime)
    growing = _resume_build(runtime)
    try:
        for _ in _run_levels(growing, parts, runtime):
            pass
    except Interrupted as end:
        lost = save_checkpoint(save_checksummed, runtime.cache, LARGE_STATE_NAME, growing.begun())
        end.partial_result = f"the wide table is known to a distance of {growing.depth}"
        end.partial_result += lost or "; the next run goes on from there"
        raise
    save_checksummed(runtime.cache, LARGE_NAME, growing.parts())
    runtime.cache.remove(LARGE_STATE_NAME)
    return growing.counts


def _resume_build(runtime: SearchRuntime) -> LargeTableBuild:
    """Return the table as far as it was."""
    wide = runtime.shared_buffer(LARGE_SIZE)
    size = LARGE_SIZE + _COUNTS.size
    begun = load_checksummed(runtime.cache, LARGE_STATE_NAME, size + _HEADER.size)
    if begun is not None:
        depth, row = _HEADER.unpack(begun[size:])
        wide[:] = begun[:LARGE_SIZE]
        # Hands had been ahead of ROW, and what they had found was not counted yet.
        through = list(_COUNTS.unpack(begun[LARGE_SIZE:size])[: depth + 1])
        return LargeTableBuild(wide, [*through, _count_known(wide) - sum(through)], depth, row)
    for begin in range(0, LARGE_SIZE, c.ROW * 1024):
        end = min(begin + c.ROW * 1024, LARGE_SIZE)
        wide[begin:end] = b"\xff" * (end - begin)
    wide[0] ^= 3
    return LargeTableBuild(wide, [1])


def _count_known(wide: "memoryview[int]") -> int:
    """Return how many entries of WIDE are known. What fills up the rows is not, and never will be."""
    unknown = 0
    for begin in range(0, LARGE_SIZE, c.ROW * 1024):
        some = bytes(wide[begin : begin + c.ROW * 1024]).translate(_UNKNOWN_COUNT)
        unknown += sum(number * some.count(number) for number in range(1, 5))
    return 4 * LARGE_SIZE - unknown


def _run_levels(growing: LargeTableBuild, parts: MoveTables, runtime: SearchRuntime) -> Iterator[None]:
    """Fill GROWING to the end; it may be left whenever Interrupted comes out."""
    turns = array("H", [*parts["flip"], *parts["slice"], *parts["twist"]])
    total = CLASS_COUNT * c.TWISTS
    saved = runtime.monotonic()
    while growing.depth < _MAX_DISTANCE:
        if len(growing.counts) == growing.depth + 1:
            growing.counts.append(0)
        step = _search_backward if growing.depth >= _BACKWARD_DEPTH else _search_forward
        note = f"wide table, distance {growing.depth + 1} of {_MAX_DISTANCE}"
        for rows, found in step(growing, parts, turns, runtime):
            growing.row += rows
            growing.counts[-1] += found
            runtime.report_progress(sum(growing.counts) / total, note)
            if runtime.monotonic() - saved > _SAVE_INTERVAL:
                save_checksummed(runtime.cache, LARGE_STATE_NAME, growing.begun())
                saved = runtime.monotonic()
        growing.depth, growing.row = growing.depth + 1, 0
        yield


def _search_forward(
    growing: LargeTableBuild,
    parts: MoveTables,
    turns: "array[int]",
    runtime: SearchRuntime,  # noqa: ARG001
) -> Iterator[tuple[int, int]]:
    """Take the turns of what is as far as the depth; yield rows done, and what was found."""
    at = array("H", bytes(2 * c.TWISTS))
    of, same, views = parts["of"], parts["same"], parts["views"]
    for row in range(growing.row, CLASS_COUNT):
        first = parts["first"][row]
        yield 1, table_kernel.forward_bfs(growing.wide, row, growing.depth, first, turns, views, of, same, at)


def _search_backward(
    growing: LargeTableBuild, parts: MoveTables, turns: "array[int]", runtime: SearchRuntime
) -> Iterator[tuple[int, int]]:
    """Take the turns of what is not known yet, on all cores: each writes into rows of its own."""
    wide, depth = growing.wide, growing.depth

    def look(begin: int) -> tuple[int, int]:
        at = array("H", bytes(2 * c.TWISTS))
        found = 0
        rows = range(begin, min(begin + _ROWS_PER_TASK, CLASS_COUNT))
        for row in rows:
            runtime.report_progress(None, "")
            first = parts["first"][row]
            found += table_kernel.backward_bfs(wide, row, depth, first, turns, parts["views"], parts["of"], at)
        return len(rows), found

    yield from runtime.executor.map(look, range(growing.row, CLASS_COUNT, _ROWS_PER_TASK))
