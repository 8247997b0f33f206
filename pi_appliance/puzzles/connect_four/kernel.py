"""Alpha-beta search of Connect Four: plain Python over integers, with Cython types in kernel.pxd.

A position is two bitboards: `own` (the side to move) and `mask` (all discs). Bit 7 * column + row, from the
bottom left; the seventh bit of a column stays 0, so that fours do not wrap. Left shifts are masked to 64
bits. A score is from the view of the side to move: 0 is a draw, a win half the discs the winner has left,
counting the last one. Only positive numbers are halved: Python and C round negative halves differently.
"""

from collections.abc import Callable

FULL = 0xFDFBF7EFDFBF  # the 42 squares
BOTTOM = 0x40810204081  # the lowest square of each column
EVEN = 0xA952A54A952A  # the squares of the second, fourth and sixth row
COLUMN = 0x3F  # the squares of the first column
KEY_MASK = 0x1FFFFFFFFFFFF  # 49 bits
HASH_FACTOR = 0x9E3779B97F4B  # odd, so that multiplication is a bijection of 49-bit numbers
MOVE_ORDER = 0x6051423  # columns from the centre, one hexadecimal digit each, lowest first
TICK_MASK = 0x1FFF  # mask: positions between two ticks, which take up to 50 ms in plain Python
SYMMETRY_DISCS = 12  # up to this many discs, mirror images share an entry
TABLE_DISCS = 31  # up to this many discs, the table has bounds; later a search is shorter than a wait for the memory
SMALL_SCORE = 4  # games that end with a greater score are fast to search
ROOT = 42 << 3  # frame of the position that is asked for; those of its moves begin at 8 times its discs
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


def count_squares(squares: int) -> int:
    """Return the number of squares of a bitboard."""
    count = 0
    while squares:
        squares &= squares - 1
        count += 1
    return count


def has_four(discs: int) -> bool:
    """Return whether there is a four in a row."""
    two = discs & (discs >> 1)
    found = two & (two >> 2)
    two = discs & (discs >> 6)
    found |= two & (two >> 12)
    two = discs & (discs >> 7)
    found |= two & (two >> 14)
    two = discs & (discs >> 8)
    return (found | (two & (two >> 16))) != 0


def upper_bound(own: int, mask: int, discs: int) -> int:
    """Return 0 or -1 if the opponent can hold that by an easy strategy, else UNKNOWN.

    With an even number of discs, the opponent answers each disc in an odd row by one above it, and
    so gets all even squares but those that are playable now (claimeven, L. V. Allis, 1988).
    """
    theirs = own ^ mask
    claimed = 0 if discs & 1 else EVEN & (FULL ^ (mask | ((mask + BOTTOM) & FULL)))
    if has_four(FULL ^ (theirs | claimed)):
        return UNKNOWN
    return -1 if claimed and has_four(theirs | claimed) else 0


class Search:
    """A null-window search with a transposition table that processes can share.

    `table` has 2**bits numbers, initially 0. `lookup` returns the score of a position with up to `plies`
    discs, or `UNKNOWN`. `on_tick` is called regularly.
    """

    def __init__(
        self, table: memoryview, bits: int, on_tick: Callable[[int], None], lookup: Callable[[int], int], plies: int
    ) -> None:
        self.table, self.bits = table, bits
        self.on_tick, self.lookup, self.plies = on_tick, lookup, plies
        self.mirrored = max(SYMMETRY_DISCS, plies)
        # A frame is a position to search; up to seven for the moves of each number of discs, and the root.
        self.frames = memoryview(bytearray((ROOT + 1) * 4 * 8)).cast("Q")
        self.keys = memoryview(bytearray((ROOT + 1) * 8)).cast("Q")  # of the frames, multiplied for the table
        self.order = memoryview(bytearray(ROOT * 8)).cast("Q")  # frames of the moves, the most promising first
        self.nodes = 0

    def bound(self, own: int, mask: int, discs: int, goal: int) -> int:
        """Return a lower bound of the score of an undecided position if it is at least `goal`, else an upper bound."""
        if find_threats(own, mask) & (mask + BOTTOM):
            return (43 - discs) >> 1
        score = self._look_ahead(own, mask, discs, goal, ROOT)
        return self._search_frame(ROOT, goal) if score == UNKNOWN else score

    def exact_score(
        self, own: int, mask: int, discs: int, low: int, high: int, on_bounds: Callable[[int, int], object] | None
    ) -> int:
        """Return the score of an undecided position, from `low` to `high`.

        `on_bounds` receives each improved pair of bounds. Short games are fast, so their goals come first.
        Then comes the sign, and from there one score after the other: most are near 0.
        """
        while low < high:
            if high > SMALL_SCORE:
                goal = max(low + 1, high >> 1)
            elif low < -SMALL_SCORE:
                goal = min(-(-low >> 1), high)
            else:
                goal = min(max(low + 1, 0), high)
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
            discs = count_squares(mask)
            scores[number] = self.exact_score(own, mask, discs, -((42 - discs) >> 1), (43 - discs) >> 1, None)

    def _look_ahead(  # noqa: C901 - calls are expensive
        self, own: int, mask: int, discs: int, goal: int, frame: int
    ) -> int:
        """Return the bound that a position without an immediate win has without a search, or `UNKNOWN`.

        Forced moves are played. The position after them is written to `frame`, to be searched.
        """
        flipped, weight = 0, UNKNOWN
        while True:
            self.nodes += 1
            if self.nodes & TICK_MASK == 0:
                self.on_tick(self.nodes)
            danger = find_threats(own ^ mask, mask)
            if weight == UNKNOWN:
                weight = 2 * count_squares(danger) + 3 * count_squares(danger & ((mask + BOTTOM) << 1))
            possible = (mask + BOTTOM) & FULL
            forced = possible & danger
            if forced:
                possible = forced
            possible &= FULL ^ (danger >> 1)  # a disc there lets the opponent win above it
            score = UNKNOWN
            if possible == 0 or forced & (forced - 1):
                score = 0 if discs == 42 else -((42 - discs) >> 1)
            elif discs >= 40:
                score = 0
            elif (41 - discs) >> 1 < goal:
                score = (41 - discs) >> 1
            elif -((40 - discs) >> 1) >= goal:
                score = -((40 - discs) >> 1)
            elif possible & (possible - 1) == 0:
                own, mask, discs, goal, flipped = own ^ mask, mask | possible, discs + 1, 1 - goal, 1 - flipped
                continue
            elif goal >= 0:
                score = upper_bound(own, mask, discs)
                if score >= goal:
                    score = UNKNOWN
            break
        if score != UNKNOWN:
            return -score if flipped else score
        at = frame << 2
        self.frames[at] = own
        self.frames[at + 1] = mask
        self.frames[at + 2] = possible
        self.frames[at + 3] = (weight << 8) | (discs << 1) | flipped
        self._address(frame, own + mask, discs)
        return UNKNOWN

    def _address(self, frame: int, key: int, discs: int) -> None:
        """Note the key of the position in `frame`, which says where the table has it."""
        if discs > TABLE_DISCS:
            return
        if discs <= self.mirrored:
            key = min(key, mirror(key))
        key = (key * HASH_FACTOR) & KEY_MASK
        self.keys[frame] = key
        id(self.table[key >> (49 - self.bits)])  # compiled, this lets the memory bring the entry meanwhile

    def _search_frame(self, frame: int, goal: int) -> int:
        """Return the bound of the position in `frame`, from the view of who moved before the forced moves."""
        if self.frames[(frame << 2) + 3] & 1:
            return -self._negamax(frame, 1 - goal)
        return self._negamax(frame, goal)

    def _negamax(self, frame: int, goal: int) -> int:  # noqa: C901 - calls are expensive
        """Like `bound`, for the position in `frame`."""
        best = self._probe(frame, goal)
        if best != UNKNOWN:
            return best
        at = frame << 2
        own = self.frames[at]
        mask = self.frames[at + 1]
        possible = self.frames[at + 2]
        discs = (self.frames[at + 3] >> 1) & 127
        theirs = own ^ mask
        first = last = discs << 3
        columns = MOVE_ORDER
        for _ in range(7):
            move = possible & (COLUMN << (7 * (columns & 15)))
            columns >>= 4
            if move:
                score = self._look_ahead(theirs, mask | move, discs + 1, 1 - goal, last)
                if score == UNKNOWN:
                    self._insert(first, last)
                    last += 1
                elif -score > best:
                    best = -score
                    if best >= goal:
                        return best
        score = self._known_cut(first, last, goal)
        if score != UNKNOWN:
            return score
        for at in range(first, last):
            score = -self._search_frame(self.order[at] & 511, 1 - goal)
            if score > best:
                best = score
                if best >= goal:
                    break
        if discs <= TABLE_DISCS:
            self._store(self.keys[frame], discs, goal, best)
        return best

    def _insert(self, first: int, frame: int) -> None:
        """Insert a frame into the order of its moves, from index `first`, by its weight: threats of who moved.

        Those above a square that can be played count more than twice, as it is barred for the opponent.
        """
        weight = self.frames[(frame << 2) + 3] >> 8
        at = frame
        while at > first and self.order[at - 1] >> 9 < weight:
            self.order[at] = self.order[at - 1]
            at -= 1
        self.order[at] = (weight << 9) | frame

    def _known_cut(self, first: int, last: int, goal: int) -> int:
        """Return a bound of at least `goal` that a move has by the table or the book, or `UNKNOWN`.

        So no move is searched while another one is known to suffice.
        """
        for at in range(first, last):
            frame = self.order[at] & 511
            flipped = self.frames[(frame << 2) + 3] & 1
            score = self._probe(frame, goal) if flipped else -self._probe(frame, 1 - goal)
            if goal <= score != -UNKNOWN:
                return score
        return UNKNOWN

    def _probe(self, frame: int, goal: int) -> int:
        """Return the bound of the position in `frame` from the table or the book, or `UNKNOWN`."""
        at = frame << 2
        discs = (self.frames[at + 3] >> 1) & 127
        if discs > TABLE_DISCS:
            return UNKNOWN
        if discs <= self.plies:
            key = self.frames[at] + self.frames[at + 1]
            best = self.lookup(min(key, mirror(key)))
            if best != UNKNOWN:
                return best
        key = self.keys[frame]
        slot = (key >> (49 - self.bits)) | 1
        tag = key & (KEY_MASK >> (self.bits - 1))
        entry = self.table[slot]
        if entry >> 18 != tag:
            entry = self.table[slot - 1]
            if entry >> 18 != tag:
                return UNKNOWN
        if entry:
            low = (entry & 63) - 32
            if low >= goal:
                return low
            high = ((entry >> 6) & 63) - 32
            if high < goal:
                return high
        return UNKNOWN

    def _store(self, key: int, discs: int, goal: int, best: int) -> None:
        """Store a bound. Of the two slots of its place, the second keeps what is more valuable: fewer discs."""
        slot = (key >> (49 - self.bits)) | 1
        # The part of the key that the slot does not imply. A place has two slots, so it includes the lowest bit.
        tag = key & (KEY_MASK >> (self.bits - 1))
        low = -((40 - discs) >> 1)
        high = (41 - discs) >> 1
        there = self.table[slot]
        if there >> 18 != tag:
            if there and ((there >> 12) & 63) < discs:
                slot -= 1
                there = self.table[slot]
            elif self.table[slot - 1] >> 18 == tag:
                there = self.table[slot - 1]
        if there and there >> 18 == tag:
            low = (there & 63) - 32
            high = ((there >> 6) & 63) - 32
        if best >= goal:
            low = best
        else:
            high = best
        self.table[slot] = (tag << 18) | (discs << 12) | ((high + 32) << 6) | (low + 32)
