"""The tables of the 3x3x3: what turns do, and how far things are. Built once, kept on the shelf, and looked at again.

The small ones take a second compiled and some ten plain; whoever solves builds them. The wide one (35 MB) takes
seconds compiled and minutes plain; `prepare` builds it, and goes on where it was cut off.
"""

import struct
from array import array
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from pi_appliance.puzzles import kernel_mode
from pi_appliance.puzzles.rubiks_cube import coordinates as c
from pi_appliance.puzzles.rubiks_cube import kept, table_kernel
from pi_appliance.puzzles.rubiks_cube.kernel import Tables
from pi_appliance.puzzles.runtime.interface import Cache, Interrupted, SearchRuntime
from pi_appliance.puzzles.runtime.serial import save_checkpoint

TURNS, NEAR, WIDE, BEGUN = (f"rubiks-cube/{name}-1" for name in ("turns", "near", "wide", "wide-begun"))
CLASSES = 64_430
WIDE_SIZE = CLASSES * c.ROW
_PARTS: dict[str, tuple[Literal["H", "I"], int]] = {
    "twist": ("H", c.TWISTS * c.TURNS),
    "flip": ("H", c.FLIPS * c.TURNS),
    "slice": ("H", c.SLICES * c.TURNS),
    "four": ("H", c.FOURS * c.TURNS),
    "corner": ("H", c.FACTORIAL * c.TURNS),
    "edge": ("H", c.FACTORIAL * len(c.SECOND)),
    "ranks": ("H", c.FOURS),
    "views": ("H", 16 * c.TWISTS),
    "same": ("H", CLASSES),
    "first": ("I", CLASSES),
    "of": ("I", c.FLIPS * c.SLICES),
}
_ITEMS = {"H": 2, "I": 4}
_CHUNK = 4096  # entries at a time: some hundredths of a second in plain Python
_NEAR_SIZES = (c.FACTORIAL * c.ORDERS, c.FACTORIAL * c.ORDERS, c.TWISTS * c.SLICES, c.FLIPS * c.SLICES)
_LEVELS = 12  # the longest first phase
_FROM_BEHIND = 9  # from this depth on few entries are unknown: they look where they lead
_SLICE_OF_ROWS = 512 if kernel_mode(table_kernel) == "compiled" else 32  # classes that one hand looks through at a time
_UNKNOWN_IN = bytes(sum(byte >> shift & 3 == 3 for shift in (0, 2, 4, 6)) for byte in range(256))
_DUE = 60  # seconds between two checkpoints: 35 MB to the card each
_COUNTS = struct.Struct(f"<{_LEVELS + 1}I")
_HEADER = struct.Struct("<2I")

Parts = dict[str, memoryview]
_BUILT: dict[str, memoryview] = {}
"""What this process has built already: it is the same for every shelf."""


def small(runtime: SearchRuntime) -> tuple[Parts, list[memoryview]]:
    """Return what turns do, by name, and the small tables of distances. Raises Interrupted."""
    parts = _turns(runtime)
    size = sum(_NEAR_SIZES)
    near = kept.load(runtime.cache, NEAR, size)
    if near is None:
        near = _BUILT.get(NEAR) or memoryview(b"".join(_build_near(parts, runtime)))
        _BUILT[NEAR] = near
        save_checkpoint(kept.save, runtime.cache, NEAR, [near])
    ends = [sum(_NEAR_SIZES[: number + 1]) for number in range(len(_NEAR_SIZES))]
    return parts, [near[end - size : end] for end, size in zip(ends, _NEAR_SIZES, strict=True)]


def tables(runtime: SearchRuntime, *, wide: bool = True) -> Tables:
    """Return what a search reads: with the WIDE table, if it is on the shelf. Raises Interrupted."""
    parts, near = small(runtime)
    widest = _wide(runtime.cache) if wide else None
    turns = [parts[name] for name in ("twist", "flip", "slice", "four", "corner", "edge")]
    return Tables(
        turns, parts["views"], parts["of"], parts["ranks"], near, widest or memoryview(b""), array("H", c.SECOND)
    )


def _wide(cache: Cache) -> memoryview | None:
    kept_wide = kept.load(cache, WIDE, WIDE_SIZE + _COUNTS.size)
    return kept_wide and kept_wide[:WIDE_SIZE]


def _turns(runtime: SearchRuntime) -> Parts:
    size = sum(_ITEMS[kind] * count for kind, count in _PARTS.values())
    blob = kept.load(runtime.cache, TURNS, size)
    if blob is None:
        blob = _BUILT.get(TURNS)
        if blob is None:
            built = _build_turns(runtime)
            blob = _BUILT[TURNS] = memoryview(b"".join(memoryview(built[name]).cast("B") for name in _PARTS))
        save_checkpoint(kept.save, runtime.cache, TURNS, [blob])
    parts: Parts = {}
    for name, (kind, count) in _PARTS.items():
        length = _ITEMS[kind] * count
        parts[name], blob = blob[:length].cast(kind), blob[length:]
    return parts


def _build_turns(runtime: SearchRuntime) -> "dict[str, array[int]]":
    note = "tables of turns"
    runtime.report_progress(0, note)
    four = c.four_turns()
    built = {"four": four, "slice": array("H", [four[number] // c.ORDERS for number in _of_choices()])}
    makers = {"twist": c.twist_turns, "flip": c.flip_turns, "views": c.twist_views, "corner": c.corner_turns}
    for name, maker in makers.items():
        runtime.report_progress(0.2, note)
        built[name] = maker()
    runtime.report_progress(0.3, note)
    built["edge"], built["ranks"] = c.edge_turns(four)
    found = c.classes(lambda part: runtime.report_progress(0.4 + 0.6 * part, note))
    return built | {"of": found.of, "first": found.first, "same": found.same}


def _of_choices() -> Iterator[int]:
    """Yield where the turns of the first order of each choice of places stand among those of `four`."""
    for choice in range(c.SLICES):
        yield from range(choice * c.ORDERS * c.TURNS, choice * c.ORDERS * c.TURNS + c.TURNS)


def _build_near(parts: Parts, runtime: SearchRuntime) -> Iterator[bytearray]:
    def second(turns: Sequence[int], count: int) -> "array[int]":
        return array("H", [turns[number * c.TURNS + turn] for number in range(count) for turn in c.SECOND])

    orders = second(parts["four"], c.ORDERS)
    corners = second(parts["corner"], c.FACTORIAL)
    yield fill(corners, orders, c.FACTORIAL, c.ORDERS, len(c.SECOND), runtime, "table of corners")
    yield fill(parts["edge"], orders, c.FACTORIAL, c.ORDERS, len(c.SECOND), runtime, "table of edges")
    yield fill(parts["twist"], parts["slice"], c.TWISTS, c.SLICES, c.TURNS, runtime, "table of twists")
    yield fill(parts["flip"], parts["slice"], c.FLIPS, c.SLICES, c.TURNS, runtime, "table of flips")


def fill(
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
            found += table_kernel.fill(near, left, right, across, width, depth, begin, end)
        depth += 1
    return near


@dataclass(slots=True)
class Widening:
    """The wide table while it grows: COUNTS are the entries of each depth that are known, ROW the next to be done."""

    wide: "memoryview[int]"
    counts: list[int]
    depth: int = 0
    row: int = 0

    def parts(self) -> list[bytes | memoryview]:
        """Return it as it is kept on the shelf, without how far it is."""
        return [self.wide, _COUNTS.pack(*self.counts, *[0] * (_LEVELS + 1 - len(self.counts)))]

    def begun(self) -> list[bytes | memoryview]:
        """Return it as a checkpoint keeps it."""
        return [*self.parts(), _HEADER.pack(self.depth, self.row)]


def widen(runtime: SearchRuntime) -> list[int]:
    """See that the wide table is on the shelf; return how many entries have each distance. Raises Interrupted."""
    ready = kept.load(runtime.cache, WIDE, WIDE_SIZE + _COUNTS.size)
    if ready is not None:
        runtime.cache.remove(BEGUN)  # a power cut may have left it
        return list(_COUNTS.unpack(ready[WIDE_SIZE:]))
    parts, _ = small(runtime)
    growing = _go_on(runtime)
    try:
        for _ in _levels(growing, parts, runtime):
            pass
    except Interrupted as end:
        lost = save_checkpoint(kept.save, runtime.cache, BEGUN, growing.begun())
        end.partial_result = f"the wide table is known to a distance of {growing.depth}"
        end.partial_result += lost or "; the next run goes on from there"
        raise
    kept.save(runtime.cache, WIDE, growing.parts())
    runtime.cache.remove(BEGUN)
    return growing.counts


def _go_on(runtime: SearchRuntime) -> Widening:
    """Return the table as far as it was."""
    wide = runtime.shared_buffer(WIDE_SIZE)
    size = WIDE_SIZE + _COUNTS.size
    begun = kept.load(runtime.cache, BEGUN, size + _HEADER.size)
    if begun is not None:
        depth, row = _HEADER.unpack(begun[size:])
        wide[:] = begun[:WIDE_SIZE]
        # Hands had been ahead of ROW, and what they had found was not counted yet.
        through = list(_COUNTS.unpack(begun[WIDE_SIZE:size])[: depth + 1])
        return Widening(wide, [*through, _known(wide) - sum(through)], depth, row)
    for begin in range(0, WIDE_SIZE, c.ROW * 1024):
        end = min(begin + c.ROW * 1024, WIDE_SIZE)
        wide[begin:end] = b"\xff" * (end - begin)
    wide[0] ^= 3
    return Widening(wide, [1])


def _known(wide: "memoryview[int]") -> int:
    """Return how many entries of WIDE are known. What fills up the rows is not, and never will be."""
    unknown = 0
    for begin in range(0, WIDE_SIZE, c.ROW * 1024):
        some = bytes(wide[begin : begin + c.ROW * 1024]).translate(_UNKNOWN_IN)
        unknown += sum(number * some.count(number) for number in range(1, 5))
    return 4 * WIDE_SIZE - unknown


def _levels(growing: Widening, parts: Parts, runtime: SearchRuntime) -> Iterator[None]:
    """Fill GROWING to the end; it may be left whenever Interrupted comes out."""
    turns = array("H", [*parts["flip"], *parts["slice"], *parts["twist"]])
    total = CLASSES * c.TWISTS
    saved = runtime.monotonic()
    while growing.depth < _LEVELS:
        if len(growing.counts) == growing.depth + 1:
            growing.counts.append(0)
        step = _from_behind if growing.depth >= _FROM_BEHIND else _onwards
        note = f"wide table, distance {growing.depth + 1} of {_LEVELS}"
        for rows, found in step(growing, parts, turns, runtime):
            growing.row += rows
            growing.counts[-1] += found
            runtime.report_progress(sum(growing.counts) / total, note)
            if runtime.monotonic() - saved > _DUE:
                kept.save(runtime.cache, BEGUN, growing.begun())
                saved = runtime.monotonic()
        growing.depth, growing.row = growing.depth + 1, 0
        yield


def _onwards(growing: Widening, parts: Parts, turns: "array[int]", runtime: SearchRuntime) -> Iterator[tuple[int, int]]:  # noqa: ARG001
    """Take the turns of what is as far as the depth; yield rows done, and what was found."""
    at = array("H", bytes(2 * c.TWISTS))
    of, same, views = parts["of"], parts["same"], parts["views"]
    for row in range(growing.row, CLASSES):
        first = parts["first"][row]
        yield 1, table_kernel.widen(growing.wide, row, growing.depth, first, turns, views, of, same, at)


def _from_behind(
    growing: Widening, parts: Parts, turns: "array[int]", runtime: SearchRuntime
) -> Iterator[tuple[int, int]]:
    """Take the turns of what is not known yet, on all cores: each writes into rows of its own."""
    wide, depth = growing.wide, growing.depth

    def look(begin: int) -> tuple[int, int]:
        at = array("H", bytes(2 * c.TWISTS))
        found = 0
        rows = range(begin, min(begin + _SLICE_OF_ROWS, CLASSES))
        for row in rows:
            runtime.report_progress(None, "")
            first = parts["first"][row]
            found += table_kernel.look_back(wide, row, depth, first, turns, parts["views"], parts["of"], at)
        return len(rows), found

    yield from runtime.map(look, range(growing.row, CLASSES, _SLICE_OF_ROWS))
