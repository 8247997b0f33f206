"""Breadth-first search kernels that fill distance tables; table_kernel.pxd gives Cython the types.

A table of pairs has one byte per entry left * across + right: its distance, or `UNKNOWN`. The large
pruning table has a row of `ROW` bytes per class, with two bits per twist: the distance modulo 3, or
3 for unknown.
"""

from collections.abc import MutableSequence, Sequence

UNKNOWN = 255
TURNS = 18
SLICES = 495
TWISTS = 2187
ROW = 547  # bytes, of four twists each
SLICE_OFFSET = 2048 * TURNS  # the moves of slices follow those of flips
TWIST_OFFSET = SLICE_OFFSET + SLICES * TURNS


def bfs_fill(  # noqa: PLR0913, PLR0917 - a kernel gets its buffers as arguments
    distances: MutableSequence[int],
    left: Sequence[int],
    right: Sequence[int],
    across: int,
    width: int,
    depth: int,
    begin: int,
    end: int,
) -> int:
    """Mark the entries one turn away from entries at `depth`; return their number.

    Args:
        left: the first half of an entry's number after each of `width` turns.
        right: the same for the second half.
        begin: first entry to expand.
        end: entry after the last to expand.

    """
    found = 0
    for entry in range(begin, end):
        if distances[entry] != depth:
            continue
        one = entry // across * width
        two = entry % across * width
        for turn in range(width):
            other = left[one + turn] * across + right[two + turn]
            if distances[other] == UNKNOWN:
                distances[other] = depth + 1
                found += 1
    return found


def forward_bfs(  # noqa: PLR0913, PLR0917
    large: "memoryview[int]",
    row: int,
    depth: int,
    raw: int,
    moves: Sequence[int],
    twist_symmetry: Sequence[int],
    class_of: Sequence[int],
    symmetries: Sequence[int],
    twists: MutableSequence[int],
) -> int:
    """Mark the entries one turn away from entries of class `row` at `depth`; return their number.

    Entries that a symmetry maps onto each other are marked together.

    Args:
        raw: flip and slice of the first member of the class.
        moves: move tables of flip, slice and twist, one after the other.
        symmetries: bits of the symmetries that leave each class unchanged.
        twists: work space for a row.

    """
    flip = raw // SLICES
    where = raw % SLICES
    level = depth % 3
    after = (depth + 1) % 3
    count = 0
    for twist in range(TWISTS):
        if large[row * ROW + (twist >> 2)] >> ((twist & 3) * 2) & 3 == level:
            twists[count] = twist
            count += 1
    found = 0
    if not count:
        return found
    for turn in range(TURNS):
        code = class_of[moves[flip * TURNS + turn] * SLICES + moves[SLICE_OFFSET + where * TURNS + turn]]
        base = (code >> 4) * ROW
        view = (code & 15) * TWISTS
        alike = symmetries[code >> 4]
        for number in range(count):
            twist = twist_symmetry[view + moves[TWIST_OFFSET + twists[number] * TURNS + turn]]
            place = base + (twist >> 2)
            shift = (twist & 3) * 2
            if large[place] >> shift & 3 == 3:
                large[place] = large[place] ^ (3 ^ after) << shift
                found += 1
                if alike != 1:
                    found += mark_symmetric(large, base, twist, after, twist_symmetry, alike)
    return found


def mark_symmetric(
    large: "memoryview[int]", base: int, twist: int, after: int, twist_symmetry: Sequence[int], alike: int
) -> int:
    """Mark the images of an entry under the symmetries `alike`; return their number."""
    found = 0
    for symmetry in range(1, 16):
        if alike >> symmetry & 1:
            other = twist_symmetry[symmetry * TWISTS + twist]
            place = base + (other >> 2)
            shift = (other & 3) * 2
            if large[place] >> shift & 3 == 3:
                large[place] = large[place] ^ (3 ^ after) << shift
                found += 1
    return found


def backward_bfs(  # noqa: PLR0913, PLR0917
    large: "memoryview[int]",
    row: int,
    depth: int,
    raw: int,
    moves: Sequence[int],
    twist_symmetry: Sequence[int],
    class_of: Sequence[int],
    twists: MutableSequence[int],
) -> int:
    """Mark the unknown entries of class `row` one turn away from `depth`; return their number.

    It writes only into its own row, so rows can be searched in parallel. The arguments are those of
    `forward_bfs`.
    """
    flip = raw // SLICES
    where = raw % SLICES
    level = depth % 3
    change = 3 ^ (depth + 1) % 3
    count = 0
    for twist in range(TWISTS):
        if large[row * ROW + (twist >> 2)] >> ((twist & 3) * 2) & 3 == 3:
            twists[count] = twist
            count += 1
    found = 0
    for turn in range(TURNS):
        if not count:
            break
        code = class_of[moves[flip * TURNS + turn] * SLICES + moves[SLICE_OFFSET + where * TURNS + turn]]
        base = (code >> 4) * ROW
        view = (code & 15) * TWISTS
        left = 0
        for number in range(count):
            twist = twists[number]
            other = twist_symmetry[view + moves[TWIST_OFFSET + twist * TURNS + turn]]
            if large[base + (other >> 2)] >> ((other & 3) * 2) & 3 == level:
                place = row * ROW + (twist >> 2)
                large[place] = large[place] ^ change << ((twist & 3) * 2)
                found += 1
            else:
                twists[left] = twist
                left += 1
        count = left
    return found
