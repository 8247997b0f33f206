"""Alpha-beta search of Connect Four: plain Python over integers, with Cython types in kernel.pxd.

A position is two bitboards: `own` (the side to move) and `mask` (all discs). Bit 7 * column + row, from the
bottom left; the seventh bit of a column stays 0, so that fours do not wrap. Left shifts are masked to 64
bits. A score is from the view of the side to move: 0 is a draw, a win half the discs the winner has left,
counting the last one. Only positive numbers are halved: Python and C round negative halves differently.
"""

from collections.abc import Callable

FULL = 0xFDFBF7EFDFBF  # the 42 squares
BOTTOM = 0x40810204081  # the lowest square of each column
COLUMN = 0x3F  # the squares of the first column
KEY_MASK = 0x1FFFFFFFFFFFF  # 49 bits
HASH_FACTOR = 0x9E3779B97F4B  # odd, so that multiplication is a bijection of 49-bit numbers
MOVE_ORDER = 0x6051423  # columns from the centre, one hexadecimal digit each, lowest first
TICK_MASK = 0x3FF  # mask: positions between two ticks
SYMMETRY_DISCS = 12  # up to this many discs, mirror images share an entry
UNKNOWN = -99


def find_threats(own: int, mask: int) -> int:
    """Return the empty squares that would complete four in a row of `own`, playable or not."""
    found = (own << 1) & (own << 2) & (own << 3)
    two = own & (own >> 6)
    found |= ((two << 12) & ((own << 18) | (own >> 6))) | ((two >> 6) & ((own << 6) | (own >> 18)))
    two = own & (own >> 7)
    found |= ((two << 14) & ((own << 21) | (own >> 7))) | ((two >> 7) & ((own << 7) | (own >> 21)))
    two = own & (own >> 8)
    found |= ((two << 16) & ((own << 24) | (own >> 8))) | ((two >> 8) & ((own << 8) | (own >> 24)))
    return found & (FULL ^ mask)


def mirror(squares: int) -> int:
    """Return a bitboard (or key) with the columns reversed."""
    return (
        ((squares & 0x7F) << 42)
        | ((squares & 0x3F80) << 28)
        | ((squares & 0x1FC000) << 14)
        | (squares & 0xFE00000)
        | ((squares >> 14) & 0x1FC000)
        | ((squares >> 28) & 0x3F80)
        | (squares >> 42)
    )


class Search:
    """A null-window search with a transposition table that processes can share.

    `table` has 2**bits numbers, initially 0. `lookup` returns the score of a position with up to `plies`
    discs, or UNKNOWN. `on_tick` is called regularly.
    """

    def __init__(
        self, table: memoryview, bits: int, on_tick: Callable[[int], None], lookup: Callable[[int], int], plies: int
    ) -> None:
        self.table, self.bits = table, bits
        self.on_tick, self.lookup, self.plies = on_tick, lookup, plies
        self.mirrored = max(SYMMETRY_DISCS, plies)
        self.order = memoryview(bytearray(43 * 8 * 8)).cast("Q")  # up to seven moves per number of discs
        self.nodes = 0

    def bound(self, own: int, mask: int, discs: int, goal: int) -> int:
        """Return a lower bound of the score of an undecided position if it is at least `goal`, else an upper bound."""
        if find_threats(own, mask) & (mask + BOTTOM):
            return (43 - discs) >> 1
        return self._bound(own, mask, discs, goal)

    def exact_score(
        self, own: int, mask: int, discs: int, low: int, high: int, on_bounds: Callable[[int, int], object] | None
    ) -> int:
        """Return the score of an undecided position, from `low` to `high`.

        `on_bounds` receives each improved pair of bounds. Short games are fast, so their goals come first.
        """
        while low < high:
            middle = low + ((high - low + 1) >> 1)
            goal = max(middle, high >> 1) if middle > 0 else min(middle, max(low + 1, -(-low >> 1)))
            bound = self.bound(own, mask, discs, goal)
            if bound >= goal:
                low = bound
            else:
                high = bound
            if on_bounds is not None:
                on_bounds(low, high)
        return low

    def score_many(self, positions: memoryview, scores: memoryview) -> None:
        """Write the score of each undecided position, which is two numbers in `positions`: `own` and `mask`."""
        for number in range(len(scores)):
            own, mask = positions[2 * number], positions[2 * number + 1]
            discs, left = 0, mask
            while left:
                left &= left - 1
                discs += 1
            scores[number] = self.exact_score(own, mask, discs, -((42 - discs) >> 1), (43 - discs) >> 1, None)

    def _bound(self, own: int, mask: int, discs: int, goal: int) -> int:
        """Like `bound`, where the side to move has no immediate win."""
        self.nodes += 1
        if self.nodes & TICK_MASK == 0:
            self.on_tick(self.nodes)
        theirs = own ^ mask
        danger = find_threats(theirs, mask)
        possible = (mask + BOTTOM) & FULL
        forced = possible & danger
        if forced:
            possible = forced
        possible &= FULL ^ (danger >> 1)  # a disc there lets the opponent win above it
        if possible == 0 or forced & (forced - 1):
            return 0 if discs == 42 else -((42 - discs) >> 1)
        if discs >= 40:
            return 0
        high = (41 - discs) >> 1
        if high < goal:
            return high
        low = (40 - discs) >> 1
        if -low >= goal:
            return -low
        return self._negamax(own, mask, discs, goal, possible)

    def _negamax(  # noqa: C901 - calls are expensive
        self, own: int, mask: int, discs: int, goal: int, possible: int
    ) -> int:
        """Like `bound`, where only `possible` moves do not lose immediately."""
        key = own + mask
        if discs <= self.mirrored:
            key = min(key, mirror(key))
            if discs <= self.plies:
                best = self.lookup(key)
                if best != UNKNOWN:
                    return best
        key = (key * HASH_FACTOR) & KEY_MASK
        slot = (key >> (49 - self.bits)) | 1
        # The part of the key that the slot does not imply. A place has two slots, so it includes the lowest bit.
        tag = key & (KEY_MASK >> (self.bits - 1))
        entry = self.table[slot]
        if entry >> 18 != tag:
            slot -= 1
            entry = self.table[slot]
        low = -((40 - discs) >> 1)
        high = (41 - discs) >> 1
        if entry >> 18 == tag and entry:
            low = (entry & 63) - 32
            if low >= goal:
                return low
            high = ((entry >> 6) & 63) - 32
            if high < goal:
                return high

        at = discs << 3
        last = self._sort_moves(own, mask, possible, at)
        best = UNKNOWN
        theirs = own ^ mask
        while at < last:
            move = self.order[at] & FULL
            score = -self._bound(theirs, mask | move, discs + 1, 1 - goal)
            if score > best:
                best = score
                if best >= goal:
                    break
            at += 1
        if best >= goal:
            low = best
        else:
            high = best
        self._store(slot | 1, tag, discs, low, high)
        return best

    def _sort_moves(self, own: int, mask: int, possible: int, first: int) -> int:
        """Write the moves from index `first`, most threats first, then centre first; return the end index."""
        last = first
        columns = MOVE_ORDER
        for _ in range(7):
            column = columns & 15
            columns >>= 4
            move = possible & (COLUMN << (7 * column))
            if move:
                made = find_threats(own | move, mask)
                weight = 0
                while made:
                    made &= made - 1
                    weight += 1
                entry = (weight << 50) | move
                at = last
                while at > first and self.order[at - 1] >> 50 < weight:
                    self.order[at] = self.order[at - 1]
                    at -= 1
                self.order[at] = entry
                last += 1
        return last

    def _store(self, slot: int, tag: int, discs: int, low: int, high: int) -> None:
        """Store bounds in `slot`, or beside it if it holds a more valuable entry: one with fewer discs."""
        entry = (tag << 18) | (discs << 12) | ((high + 32) << 6) | (low + 32)
        there = self.table[slot]
        if there and there >> 18 != tag and ((there >> 12) & 63) < discs:
            slot -= 1
        self.table[slot] = entry
