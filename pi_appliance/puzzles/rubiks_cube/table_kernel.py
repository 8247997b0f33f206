"""Fills tables of distances, level by level: plain Python over buffers. Beside it lie its types for Cython.

A table of pairs has a byte for each of left * across + right: its distance, or UNKNOWN. The wide table has two bits for
each twist in a row of ROW bytes for each class: its distance divided by three leaves these, or 3: not known yet.
"""

from collections.abc import MutableSequence, Sequence

UNKNOWN = 255
TURNS = 18
SLICES = 495
TWISTS = 2187
ROW = 547  # bytes: four twists each
SLICE_TURNS = 2048 * TURNS  # where the turns of a slice begin, behind those of the flips
TWIST_TURNS = SLICE_TURNS + SLICES * TURNS


def bfs_fill(  # noqa: PLR0913, PLR0917 - a kernel is given its buffers
    near: MutableSequence[int],
    left: Sequence[int],
    right: Sequence[int],
    across: int,
    width: int,
    depth: int,
    begin: int,
    end: int,
) -> int:
    """Give depth + 1 to what one turn reaches from entries at DEPTH, those from BEGIN to END; return how many.

    LEFT and RIGHT say what each of WIDTH turns makes of each half of an entry's number.
    """
    found = 0
    for entry in range(begin, end):
        if near[entry] != depth:
            continue
        one = entry // across * width
        two = entry % across * width
        for turn in range(width):
            other = left[one + turn] * across + right[two + turn]
            if near[other] == UNKNOWN:
                near[other] = depth + 1
                found += 1
    return found


def forward_bfs(  # noqa: PLR0913, PLR0917
    wide: "memoryview[int]",
    row: int,
    depth: int,
    raw: int,
    turns: Sequence[int],
    views: Sequence[int],
    of: Sequence[int],
    same: Sequence[int],
    at: MutableSequence[int],
) -> int:
    """Give depth + 1 to what one turn reaches from the entries of class ROW at DEPTH; return how many.

    RAW is the flip and slice of that class; AT has room for a row. TURNS are those of flip, slice and twist, one
    behind the other. What a symmetry makes of an entry is marked with it.
    """
    flip = raw // SLICES
    where = raw % SLICES
    level = depth % 3
    after = (depth + 1) % 3
    count = 0
    for twist in range(TWISTS):
        if wide[row * ROW + (twist >> 2)] >> ((twist & 3) * 2) & 3 == level:
            at[count] = twist
            count += 1
    found = 0
    if not count:
        return found
    for turn in range(TURNS):
        code = of[turns[flip * TURNS + turn] * SLICES + turns[SLICE_TURNS + where * TURNS + turn]]
        base = (code >> 4) * ROW
        view = (code & 15) * TWISTS
        alike = same[code >> 4]
        for number in range(count):
            twist = views[view + turns[TWIST_TURNS + at[number] * TURNS + turn]]
            place = base + (twist >> 2)
            shift = (twist & 3) * 2
            if wide[place] >> shift & 3 == 3:
                wide[place] = wide[place] ^ (3 ^ after) << shift
                found += 1
                if alike != 1:
                    found += mark_symmetric(wide, base, twist, after, views, alike)
    return found


def mark_symmetric(wide: "memoryview[int]", base: int, twist: int, after: int, views: Sequence[int], alike: int) -> int:
    """Give AFTER to what the symmetries ALIKE make of TWIST in the row that begins at BASE; return how many."""
    found = 0
    for symmetry in range(1, 16):
        if alike >> symmetry & 1:
            other = views[symmetry * TWISTS + twist]
            place = base + (other >> 2)
            shift = (other & 3) * 2
            if wide[place] >> shift & 3 == 3:
                wide[place] = wide[place] ^ (3 ^ after) << shift
                found += 1
    return found


def backward_bfs(  # noqa: PLR0913, PLR0917
    wide: "memoryview[int]",
    row: int,
    depth: int,
    raw: int,
    turns: Sequence[int],
    views: Sequence[int],
    of: Sequence[int],
    at: MutableSequence[int],
) -> int:
    """Give depth + 1 to the unknown entries of class ROW from which one turn leads to DEPTH; return how many.

    It writes into its own row only, so rows may be done at the same time.
    """
    flip = raw // SLICES
    where = raw % SLICES
    level = depth % 3
    change = 3 ^ (depth + 1) % 3
    count = 0
    for twist in range(TWISTS):
        if wide[row * ROW + (twist >> 2)] >> ((twist & 3) * 2) & 3 == 3:
            at[count] = twist
            count += 1
    found = 0
    for turn in range(TURNS):
        if not count:
            break
        code = of[turns[flip * TURNS + turn] * SLICES + turns[SLICE_TURNS + where * TURNS + turn]]
        base = (code >> 4) * ROW
        view = (code & 15) * TWISTS
        left = 0
        for number in range(count):
            twist = at[number]
            other = views[view + turns[TWIST_TURNS + twist * TURNS + turn]]
            if wide[base + (other >> 2)] >> ((other & 3) * 2) & 3 == level:
                place = row * ROW + (twist >> 2)
                wide[place] = wide[place] ^ change << ((twist & 3) * 2)
                found += 1
            else:
                at[left] = twist
                left += 1
        count = left
    return found
