"""The search behind 9x9 sudoku, as plain Python over integers; kernel.pxd beside it gives Cython the types.

A band is three rows, and one word of 27 bits holds the cells of a band where a digit may still stand: bit 9r+c is
column c of row r in it. So 27 words are a grid: word 3d+b is digit d in band b. Three more hold the cells of each band
that are not settled, and 27 the words as they were when last looked at. What follows from a word, by small tables:

- a digit stands once in each row and box of a band, so its three-cell pieces form a permutation: all pieces that fit
  into none are crossed out (FIT);
- a digit that has one column left in a box leaves that column to it in the other two bands (LOCK);
- a digit that has one cell left in a row stands there (ONE), and no other digit does.

Where no word changes any more, the cells with one digit left are counted out over the nine digits; then a guess is
made. A guess is one digit in one cell; it stands on the next floor of the stack, and its contrary takes its place.
"""

from array import array
from collections.abc import MutableSequence
from itertools import permutations

COMPILED = not __file__.endswith(".py")
ALL = 0x7FFFFFF  # 27 bits
FLOOR = 57  # words of a floor: 27 for the grid, 3 for the cells that are open, 27 for what was looked at
DEEP = 82  # floors: a guess settles a cell at least
DONE, FOUND, TIRED = 0, 1, 2  # what `next` says: no more solutions, one, or that it spent what it was given
UNKNOWN = 3  # what `batch` says of a grid that takes more guesses than it may


def _words(values: list[int]) -> MutableSequence[int]:
    """Return VALUES to be read fast: Cython wants a buffer, plain Python reads a list faster than an array."""
    return array("I", values) if COMPILED else values


def _fit() -> list[int]:
    """Return, by the set of pieces (bit 3r+box) that hold candidates, the cells of all pieces in a permutation."""
    ways = [sum(1 << 3 * row + box for row, box in enumerate(order)) for order in permutations(range(3))]
    fits = [[way for way in ways if way & pieces == way] for pieces in range(512)]
    return [sum(7 << 3 * piece for piece in range(9) if any(way >> piece & 1 for way in some)) for some in fits]


def _lock() -> list[int]:
    """Return, by the columns that a digit has in one band, the cells it may have in the other two."""
    locks = []
    for columns in range(512):
        boxes = [columns & 7 << shift for shift in (0, 3, 6)]
        locks.append(ALL & ~(sum(box for box in boxes if box.bit_count() == 1) * 0x40201))
    return locks


PIECES = _words([sum(1 << box for box in range(3) if row >> 3 * box & 7) for row in range(512)])
FIT = _words(_fit())
LOCK = _words(_lock())
ONE = _words([row if row.bit_count() == 1 else 0 for row in range(512)])
TWO = _words([row & -row if row.bit_count() == 2 else 0 for row in range(512)])  # the first of two places in a row
COLUMN = _words([row.bit_length() - 1 if row else 0 for row in range(512)])


class Search:
    """All solutions of one grid, one after the other. It may stop anywhere and go on."""

    def __init__(self) -> None:
        self.words = _words([0] * (FLOOR * DEEP))
        self.top = -1  # the floor that is looked at next; -1: there is none
        self.found = 0  # the floor of the solution found last
        self.guesses = 0
        self.bit = 0  # of the guess that `place` chose

    def begin(self, clues: bytes, start: int) -> None:
        """Begin with the grid in the 81 bytes of CLUES from START on: 1 to 9 are digits, all others empty cells."""
        words = self.words
        for i in range(27):
            words[i] = words[30 + i] = ALL
        words[27] = words[28] = words[29] = ALL
        self.guesses = 0
        self.top = 0
        at = start
        for b in range(3):
            for r in range(0, 27, 9):
                for c in range(9):
                    digit = clues[at]
                    at += 1
                    if 49 <= digit <= 57:
                        i = 3 * (digit - 49) + b
                        bit = 1 << (r + c)
                        w = words[i]
                        if not w & bit:
                            self.top = -1
                            return
                        words[i] = w & (ALL ^ (511 << r)) | bit

    def save(self, floor: int, state: MutableSequence[int]) -> None:
        """Write the grid on FLOOR into the 30 words of STATE. Floors 0 to `top` are what is still to be looked at."""
        for i in range(30):
            state[i] = self.words[floor * FLOOR + i]

    def load(self, state: MutableSequence[int]) -> None:
        """Begin with a grid that was saved as STATE."""
        for i in range(30):
            self.words[i] = state[i]
        for i in range(27):
            self.words[30 + i] = ALL
        self.guesses = 0
        self.top = 0

    def next(self, budget: int) -> int:
        """Look for the next solution with at most BUDGET guesses: FOUND, DONE, or TIRED: then it goes on."""
        words = self.words
        while self.top >= 0:
            at = self.top * FLOOR
            if not self.follow(at):
                self.top -= 1
            elif not words[at + 27] | words[at + 28] | words[at + 29]:
                self.found = at
                self.top -= 1
                return FOUND
            else:
                self.guess(at)
                budget -= 1
                if budget <= 0:
                    return TIRED
        return DONE

    def count(self, most: int, budget: int) -> int:
        """Return how many of the next solutions there are, up to MOST, within about BUDGET guesses.

        If `top` is -1 then, these were the last ones.
        """
        found = 0
        budget += self.guesses
        while self.top >= 0 and found < most and self.guesses < budget:
            if self.next(budget - self.guesses) == 1:
                found += 1
        return found

    def batch(
        self, clues: bytes, solutions: bytearray, counts: bytearray, guesses: MutableSequence[int], budget: int
    ) -> None:
        """Look for two solutions of each grid in CLUES, with at most BUDGET guesses for each.

        The first solution goes into SOLUTIONS, in COUNTS stands 0, 1 or 2 (several), or UNKNOWN, and in GUESSES what it
        took.
        """
        for number in range(len(counts)):
            self.begin(clues, 81 * number)
            found = 0
            while found < 2 and self.top >= 0 and self.guesses < budget:
                if self.next(budget - self.guesses) == 1:
                    if not found:
                        self.write(solutions, 81 * number)
                    found += 1
            counts[number] = found if found == 2 or self.top < 0 else 3
            guesses[number] = self.guesses

    def follow(self, at: int) -> int:
        """Cross out all that cannot be on the floor that begins AT; 0 if nothing is left somewhere, else 1."""
        words = self.words
        again = 1
        while again:
            again = 0
            for b in range(3):
                for i in range(at + b, at + 27, 3):
                    w = words[i]
                    if w != words[i + 30]:
                        top = w >> 18
                        middle = w >> 9 & 511
                        low = w & 511
                        w &= FIT[PIECES[low] | PIECES[middle] << 3 | PIECES[top] << 6]
                        if not w:
                            return 0
                        words[i + 30] = w
                        top = w >> 18
                        middle = w >> 9 & 511
                        low = w & 511
                        lock = LOCK[low | middle | top]
                        first = i - b
                        words[first] &= lock
                        words[first + 1] &= lock
                        words[first + 2] &= lock
                        words[i] = w
                        got = (ONE[low] | ONE[middle] << 9 | ONE[top] << 18) & words[at + 27 + b]
                        if got:
                            words[at + 27 + b] ^= got
                            keep = ALL ^ got
                            for j in range(at + b, at + 27, 3):
                                words[j] &= keep
                            words[i] = w
                        again = 1
            if not again:
                again = self.single(at)
                if again == 2:
                    return 0
        return 1

    def single(self, at: int) -> int:
        """Settle the cells with one digit left: 1 if there are any, 2 if a cell has none or two want the same row."""
        words = self.words
        some = 0
        for b in range(3):
            ones = twos = 0
            for i in range(at + b, at + 27, 3):
                w = words[i]
                twos |= ones & w
                ones |= w
            if ones != ALL:
                return 2
            left = ones & ~twos & words[at + 27 + b]
            if left:
                some = 1
                for i in range(at + b, at + 27, 3):
                    w = words[i]
                    got = w & left
                    if got:
                        for r in range(0, 27, 9):
                            row = got >> r & 511
                            if row:
                                if row & (row - 1):
                                    return 2
                                w = w & (ALL ^ (511 << r)) | row << r
                        words[i] = w
        return some

    def guess(self, at: int) -> None:
        """Put a guess on the next floor, and its contrary on this one."""
        words = self.words
        word = bit = 0
        for b in range(3):
            ones = twos = threes = 0
            for i in range(at + b, at + 27, 3):
                w = words[i]
                threes |= twos & w
                twos |= ones & w
                ones |= w
            pairs = twos & ~threes
            if pairs:
                bit = pairs & -pairs
                word = at + b
                while not words[word] & bit:
                    word += 3
                break
        if not bit:
            word = self.place(at)
            bit = self.bit
        row = 0 if bit < 512 else 9 if bit < 262144 else 18
        up = at + FLOOR
        for i in range(FLOOR):
            words[up + i] = words[at + i]
        words[up + word - at] = words[word] & (ALL ^ (511 << row)) | bit
        words[word] ^= bit
        self.top += 1
        self.guesses += 1

    def place(self, at: int) -> int:
        """Return the word, and set the bit, of a digit with two places in a row or a box; else in the smallest cell."""
        words = self.words
        for i in range(at, at + 27):
            w = words[i]
            top = w >> 18
            middle = w >> 9 & 511
            low = w & 511
            if TWO[low] | TWO[middle] | TWO[top]:
                self.bit = TWO[low] or TWO[middle] << 9 or TWO[top] << 18
                return i
            for c in range(0, 9, 3):
                two = TWO[low >> c & 7 | (middle >> c & 7) << 3 | (top >> c & 7) << 6]
                if two:
                    # Bit 3r+k of a box is bit 9r+c+k of its band.
                    self.bit = (two & 7 | (two & 56) << 6 | (two & 448) << 12) << c
                    return i
        return self.smallest(at)

    def smallest(self, at: int) -> int:
        """Return the word, and set the bit, of a digit in a cell that has the fewest of those that are open."""
        words = self.words
        fewest, word = 10, 0
        for b in range(3):
            for cell in range(27):
                bit = 1 << cell
                if words[at + 27 + b] & bit:
                    count = 0
                    first = 0
                    for i in range(at + b, at + 27, 3):
                        if words[i] & bit:
                            count += 1
                            first = i
                    if count < fewest:
                        fewest = count
                        word = first
                        self.bit = bit
        return word

    def write(self, cells: bytearray, start: int) -> None:
        """Write the solution found last into CELLS, as 81 digits from START on."""
        words = self.words
        at = self.found
        for d in range(9):
            for b in range(3):
                w = words[at + 3 * d + b]
                begin = start + 27 * b
                cells[begin + COLUMN[w & 511]] = 49 + d
                cells[begin + 9 + COLUMN[w >> 9 & 511]] = 49 + d
                cells[begin + 18 + COLUMN[w >> 18]] = 49 + d
