"""The search behind Connect Four's perfect player: plain Python over integers, typed for Cython by kernel.pxd.

A position is two sets of squares, a bit each: `own`, the discs of whoever is to move, and `mask`, all discs. The bit of
a square is 7 * column + row, columns from the left and rows from the bottom, both from 0; the seventh bit of a column
is never set, so that lines do not run on into the next column. Every shift to the left is masked after it: the answers
are the same in 64 bits and in integers without end.

A score is that of the side to move: 0 a draw; winning, half of the discs it would still hold, the winning one counted,
rounded so that a win with one's last disc is 1; losing, the other side's score with a minus. It is halved while it is
positive: half of a negative number would be rounded down in Python and towards zero in C.
"""

from collections.abc import Callable

FULL = 0xFDFBF7EFDFBF  # the 42 squares
BOTTOM = 0x40810204081  # the lowest square of each column
COLUMN = 0x3F  # the squares of the first column
HASHED = 0x1FFFFFFFFFFFF  # 49 bits
SPREAD = 0x9E3779B97F4B  # odd, so that times it is one to one in 49 bits
INWARDS = 0x6051423  # the columns from the middle outwards, a hexadecimal digit each, the lowest first
OFTEN = 0x3FF  # positions between two ticks, as a mask: a few ticks a second even on a small Pi in plain Python
MIRRORED = 12  # discs up to which a position and its mirror image are looked up as one, at least
UNKNOWN = -99


def threats(own: int, mask: int) -> int:
    """Return the empty squares where one more disc makes four in a row of OWN, whether it can be played now or not."""
    found = (own << 1) & (own << 2) & (own << 3)
    two = own & (own >> 6)
    found |= ((two << 12) & ((own << 18) | (own >> 6))) | ((two >> 6) & ((own << 6) | (own >> 18)))
    two = own & (own >> 7)
    found |= ((two << 14) & ((own << 21) | (own >> 7))) | ((two >> 7) & ((own << 7) | (own >> 21)))
    two = own & (own >> 8)
    found |= ((two << 16) & ((own << 24) | (own >> 8))) | ((two >> 8) & ((own << 8) | (own >> 24)))
    return found & (FULL ^ mask)


def mirror(squares: int) -> int:
    """Return SQUARES (or a key) with the columns from right to left."""
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
    """Says of positions whether they score at least so much.

    TABLE remembers what is known of positions: 2 ** BITS unsigned 64-bit numbers, zeros at first. Each is whole by
    itself, so that several processes may share a table. TICK is called with the number of positions now and then; what
    it raises ends the search, and leaves the table of use. KNOWN says the exact score of a position with up to PLIES
    discs, or UNKNOWN.
    """

    def __init__(
        self, table: memoryview, bits: int, tick: Callable[[int], None], known: Callable[[int], int], plies: int
    ) -> None:
        self.table, self.bits = table, bits
        self.tick, self.known, self.plies = tick, known, plies
        self.mirrored = max(MIRRORED, plies)
        self.order = memoryview(bytearray(43 * 8 * 8)).cast("Q")  # up to seven moves, for each number of discs
        self.nodes = 0

    def bound(self, own: int, mask: int, discs: int, goal: int) -> int:
        """Return a bound of the score of a position: a lower one if it is GOAL or more, an upper one otherwise.

        There are DISCS discs, no four in a row, and a square to play.
        """
        if threats(own, mask) & (mask + BOTTOM):
            return (43 - discs) >> 1
        return self._bound(own, mask, discs, goal)

    def _bound(self, own: int, mask: int, discs: int, goal: int) -> int:
        """Do as `bound`, where whoever is to move cannot win at once."""
        self.nodes += 1
        if self.nodes & OFTEN == 0:
            self.tick(self.nodes)
        theirs = own ^ mask
        danger = threats(theirs, mask)
        possible = (mask + BOTTOM) & FULL
        forced = possible & danger
        if forced:
            possible = forced
        possible &= FULL ^ (danger >> 1)  # a disc there would let them win on top of it
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
        return self._searched(own, mask, discs, goal, possible)

    def _searched(  # noqa: C901 - calls would cost more than they tell
        self, own: int, mask: int, discs: int, goal: int, possible: int
    ) -> int:
        """Return a bound as `bound` does, of a position where only POSSIBLE moves do not lose at once."""
        key = own + mask
        if discs <= self.mirrored:
            key = min(key, mirror(key))
            if discs <= self.plies:
                best = self.known(key)
                if best != UNKNOWN:
                    return best
        key = (key * SPREAD) & HASHED
        slot = (key >> (49 - self.bits)) | 1
        # All of the key that the slot does not say: also its lowest bit, as two slots are one place.
        tag = key & (HASHED >> (self.bits - 1))
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
        last = self._ordered(own, mask, possible, at)
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
        self._remember(slot | 1, tag, discs, low, high)
        return best

    def _ordered(self, own: int, mask: int, possible: int, first: int) -> int:
        """Put the POSSIBLE moves from FIRST on, those with most threats first, else from the middle; return the end."""
        last = first
        columns = INWARDS
        for _ in range(7):
            column = columns & 15
            columns >>= 4
            move = possible & (COLUMN << (7 * column))
            if move:
                made = threats(own | move, mask)
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

    def _remember(self, slot: int, tag: int, discs: int, low: int, high: int) -> None:
        """Write down what is known, in SLOT if nothing of more worth is there, else beside it.

        What took longer to find is of more worth, and so are fewer discs.
        """
        entry = (tag << 18) | (discs << 12) | ((high + 32) << 6) | (low + 32)
        there = self.table[slot]
        if there and there >> 18 != tag and ((there >> 12) & 63) < discs:
            slot -= 1
        self.table[slot] = entry
