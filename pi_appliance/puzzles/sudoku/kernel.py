"""Search kernel for 9x9 sudoku: plain Python over integers; kernel.pxd gives Cython the types.

A word of 27 bits holds the candidates of one digit in one band (three rows): bit 9r+c is column c of row r. A
grid is 27 words: word 3d+b is digit d in band b. A frame has 57 words: these, the unsolved cells of each
band, and the words as last propagated. A piece is the row of a box, three cells; each digit takes three pieces of
a band, a permutation. Table lookups propagate a word; then naked singles are found for all cells at once, and
the same permutations are looked for in stacks, three boxes above each other; then the search branches: the guess
goes on the next frame, its negation stays. Written from the description of https://github.com/t-dillon/tdoku; see
docs/puzzles/sudoku.md.
"""

from array import array
from collections.abc import MutableSequence
from functools import reduce
from itertools import permutations
from operator import and_, or_

COMPILED = not __file__.endswith(".py")
ALL_CELLS = 0x7FFFFFF  # 27 bits
FRAME_SIZE = 57  # words: 27 of candidates, 3 of unsolved cells, 27 as last propagated
MAX_DEPTH = 82  # frames: each guess solves at least one cell
DONE, FOUND, LIMIT_REACHED = 0, 1, 2  # results of `find_next`
PIECE_GUESSES = 1000  # the first guesses are at pieces, the others at cells
MANY_PERMUTATIONS = 27  # of the nine digits of a band: a guess at a piece says too little above it
UNKNOWN = 3  # a count in `solve_batch`: the grid needs more guesses than allowed


def _buffer(values: list[int]) -> MutableSequence[int]:
    """Return the values as Cython needs them (a buffer), or as plain Python is fastest (a list)."""
    return array("I", values) if COMPILED else values


def _spread(pieces: int) -> int:
    """Return the cells of a set of pieces."""
    return sum(7 << 3 * piece for piece in range(9) if pieces >> piece & 1)


def _fitting_permutations() -> list[list[int]]:
    """Return the permutations (one piece in each row and box) within each set of pieces (bit 3r+box)."""
    orders = [sum(1 << 3 * row + box for row, box in enumerate(order)) for order in permutations(range(3))]
    return [[order for order in orders if order & pieces == order] for pieces in range(512)]


def _lock_masks() -> list[int]:
    """Return the cells left to a digit in the other two bands, by its columns in one band."""
    masks = []
    for columns in range(512):
        boxes = [columns & 7 << shift for shift in (0, 3, 6)]
        masks.append(ALL_CELLS & ~(sum(box for box in boxes if box.bit_count() == 1) * 0x40201))
    return masks


PIECE_SET = _buffer([sum(1 << box for box in range(3) if row >> 3 * box & 7) for row in range(512)])
_FITTING = _fitting_permutations()
_IN_SOME = [reduce(or_, orders, 0) for orders in _FITTING]
_IN_ALL = [reduce(and_, orders, pieces) for pieces, orders in enumerate(_FITTING)]
PERMUTATIONS_LEFT = _buffer([len(orders) for orders in _FITTING])
FITTING_PIECES = _buffer(_IN_SOME)
PERMUTATION_MASK = _buffer([_spread(pieces) for pieces in _IN_SOME])
OPEN_PIECE = _buffer([_spread(some & ~each & -(some & ~each)) for some, each in zip(_IN_SOME, _IN_ALL, strict=True)])
LOCK_MASK = _buffer(_lock_masks())
SINGLE = _buffer([row if row.bit_count() == 1 else 0 for row in range(512)])
FIRST_OF_TWO = _buffer([row & -row if row.bit_count() == 2 else 0 for row in range(512)])
COLUMN = _buffer([row.bit_length() - 1 if row else 0 for row in range(512)])


class GridSearch:
    """Depth-first search for all solutions of one grid. It can stop anywhere and continue later."""

    def __init__(self) -> None:
        self.words = _buffer([0] * (FRAME_SIZE * MAX_DEPTH))
        self.top = -1  # frame to search next; -1: none is left
        self.solved = 0  # offset of the frame with the last solution
        self.guesses = 0
        self.guess = 0  # the candidates of one digit that the next guess keeps in their row

    def begin(self, clues: bytes, start: int) -> None:
        """Begin with the grid in 81 bytes of `clues` from `start` on; not 1 to 9 is empty."""
        words = self.words
        for i in range(27):
            words[i] = words[30 + i] = ALL_CELLS
        words[27] = words[28] = words[29] = ALL_CELLS
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
                        words[i] = w & (ALL_CELLS ^ (511 << r)) | bit

    def save_frame(self, frame: int, state: MutableSequence[int]) -> None:
        """Write the grid of `frame` into 30 words. Frames 0 to `top` are unsearched."""
        for i in range(30):
            state[i] = self.words[frame * FRAME_SIZE + i]

    def load_frame(self, state: MutableSequence[int]) -> None:
        """Begin with a grid written by `save_frame`."""
        for i in range(30):
            self.words[i] = state[i]
        for i in range(27):
            self.words[30 + i] = ALL_CELLS
        self.guesses = 0
        self.top = 0

    def find_next(self, budget: int) -> int:
        """Search for the next solution with `budget` guesses; return `FOUND`, `DONE` or `LIMIT_REACHED`."""
        words = self.words
        while self.top >= 0:
            at = self.top * FRAME_SIZE
            if not self.propagate(at):
                self.top -= 1
            elif not words[at + 27] | words[at + 28] | words[at + 29]:
                self.solved = at
                self.top -= 1
                return FOUND
            else:
                self.branch(at)
                budget -= 1
                if budget <= 0:
                    return LIMIT_REACHED
        return DONE

    def count_next(self, limit: int, budget: int) -> int:
        """Count further solutions, up to `limit`, within about `budget` guesses; `top` is -1 if there are no more."""
        found = 0
        budget += self.guesses
        while self.top >= 0 and found < limit and self.guesses < budget:
            if self.find_next(budget - self.guesses) == 1:
                found += 1
        return found

    def solve_batch(
        self, clues: bytes, solutions: bytearray, counts: bytearray, guesses: MutableSequence[int], budget: int
    ) -> None:
        """Search for two solutions of each grid in `clues`, with at most `budget` guesses each.

        `counts` receives 0, 1, 2 (several) or `UNKNOWN`; `solutions` the first solution.
        """
        for number in range(len(counts)):
            self.begin(clues, 81 * number)
            found = 0
            while found < 2 and self.top >= 0 and self.guesses < budget:
                if self.find_next(budget - self.guesses) == 1:
                    if not found:
                        self.write_solution(solutions, 81 * number)
                    found += 1
            counts[number] = found if found == 2 or self.top < 0 else 3
            guesses[number] = self.guesses

    def propagate(self, at: int) -> int:
        """Remove impossible candidates from the frame at offset `at`; return 0 at a contradiction."""
        words = self.words
        changed = 1
        while changed:
            changed = 0
            for b in range(3):
                for i in range(at + b, at + 27, 3):
                    w = words[i]
                    if w != words[i + 30]:
                        high = w >> 18
                        middle = w >> 9 & 511
                        low = w & 511
                        w &= PERMUTATION_MASK[PIECE_SET[low] | PIECE_SET[middle] << 3 | PIECE_SET[high] << 6]
                        if not w:
                            return 0
                        words[i + 30] = w
                        high = w >> 18
                        middle = w >> 9 & 511
                        low = w & 511
                        lock = LOCK_MASK[low | middle | high]
                        first = i - b
                        words[first] &= lock
                        words[first + 1] &= lock
                        words[first + 2] &= lock
                        words[i] = w
                        placed = (SINGLE[low] | SINGLE[middle] << 9 | SINGLE[high] << 18) & words[at + 27 + b]
                        if placed:
                            words[at + 27 + b] ^= placed
                            others = ALL_CELLS ^ placed
                            for j in range(at + b, at + 27, 3):
                                words[j] &= others
                            words[i] = w
                        changed = 1
            if not changed:
                changed = self.naked_singles(at) or self.lock_stacks(at)
                if changed == 2:
                    return 0
        return 1

    def naked_singles(self, at: int) -> int:
        """Solve the cells with one candidate left; return 0 if there are none, 2 at a contradiction, else 1."""
        words = self.words
        solved = 0
        for b in range(3):
            ones = twos = 0
            for i in range(at + b, at + 27, 3):
                w = words[i]
                twos |= ones & w
                ones |= w
            if ones != ALL_CELLS:
                return 2
            single = ones & ~twos & words[at + 27 + b]
            if single:
                solved = 1
                for i in range(at + b, at + 27, 3):
                    w = words[i]
                    placed = w & single
                    if placed:
                        for r in range(0, 27, 9):
                            row = placed >> r & 511
                            if row:
                                if row & (row - 1):
                                    return 2
                                w = w & (ALL_CELLS ^ (511 << r)) | row << r
                        words[i] = w
        return solved

    def lock_stacks(self, at: int) -> int:
        """Remove the candidates of each digit that fit no permutation in three boxes above each other."""
        words = self.words
        changed = 0
        for i in range(at, at + 27, 3):
            top = words[i]
            middle = words[i + 1]
            bottom = words[i + 2]
            top = (top | top >> 9 | top >> 18) & 511
            middle = (middle | middle >> 9 | middle >> 18) & 511
            bottom = (bottom | bottom >> 9 | bottom >> 18) & 511
            top_kept = middle_kept = bottom_kept = 0
            for c in range(0, 9, 3):
                kept = FITTING_PIECES[top >> c & 7 | (middle >> c & 7) << 3 | (bottom >> c & 7) << 6]
                top_kept |= (kept & 7) << c
                middle_kept |= (kept >> 3 & 7) << c
                bottom_kept |= (kept >> 6) << c
            if top_kept != top or middle_kept != middle or bottom_kept != bottom:
                changed = 1
                words[i] &= top_kept * 0x40201
                words[i + 1] &= middle_kept * 0x40201
                words[i + 2] &= bottom_kept * 0x40201
        return changed

    def branch(self, at: int) -> None:
        """Put a guess on the next frame and its negation on this one.

        Hard grids need half as many guesses at pieces as at cells, but some that are nearly empty or
        contradictory need far too many.
        """
        words = self.words
        word = self.choose_piece(at) if self.guesses < PIECE_GUESSES else -1
        if word < 0:
            word = self.choose_cell(at, -1 - word)
        guess = self.guess
        row = 0 if guess < 512 else 9 if guess < 262144 else 18
        up = at + FRAME_SIZE
        for i in range(FRAME_SIZE):
            words[up + i] = words[at + i]
        words[up + word - at] = words[word] & (ALL_CELLS ^ (511 << row)) | guess
        words[word] ^= guess
        self.top += 1
        self.guesses += 1

    def choose_piece(self, at: int) -> int:
        """Choose a piece of the digit with the fewest permutations, in the band with the fewest.

        Return the word and set `guess`; -1 - band if that band has more than `MANY_PERMUTATIONS`.
        """
        words = self.words
        fewest, word, band = 1000, -1, 0
        for b in range(3):
            total, few, first = 0, 10, -1
            for i in range(at + b, at + 27, 3):
                w = words[i]
                left = PERMUTATIONS_LEFT[PIECE_SET[w & 511] | PIECE_SET[w >> 9 & 511] << 3 | PIECE_SET[w >> 18] << 6]
                total += left
                if 1 < left < few:
                    few = left
                    first = i
            if first >= 0 and total < fewest:
                fewest = total
                word = first
                band = b
        if fewest > MANY_PERMUTATIONS:
            return -1 - band
        w = words[word]
        self.guess = w & OPEN_PIECE[PIECE_SET[w & 511] | PIECE_SET[w >> 9 & 511] << 3 | PIECE_SET[w >> 18] << 6]
        return word

    def choose_cell(self, at: int, band: int) -> int:
        """Choose a cell with two candidates, in `band` first, else a `strong_link`: return its word and set `guess`."""
        words = self.words
        for k in range(3):
            b = (band + k) % 3
            ones = twos = threes = 0
            for i in range(at + b, at + 27, 3):
                w = words[i]
                threes |= twos & w
                twos |= ones & w
                ones |= w
            pairs = twos & ~threes
            if pairs:
                self.guess = pairs & -pairs
                word = at + b
                while not words[word] & self.guess:
                    word += 3
                return word
        return self.strong_link(at)

    def strong_link(self, at: int) -> int:
        """Choose a digit with two places in a row or box, or `min_remaining_values`: return its word, set `guess`."""
        words = self.words
        for i in range(at, at + 27):
            w = words[i]
            high = w >> 18
            middle = w >> 9 & 511
            low = w & 511
            if FIRST_OF_TWO[low] | FIRST_OF_TWO[middle] | FIRST_OF_TWO[high]:
                self.guess = FIRST_OF_TWO[low] or FIRST_OF_TWO[middle] << 9 or FIRST_OF_TWO[high] << 18
                return i
            for c in range(0, 9, 3):
                two = FIRST_OF_TWO[low >> c & 7 | (middle >> c & 7) << 3 | (high >> c & 7) << 6]
                if two:
                    # Bit 3r+k of a box is bit 9r+c+k of its band.
                    self.guess = (two & 7 | (two & 56) << 6 | (two & 448) << 12) << c
                    return i
        return self.min_remaining_values(at)

    def min_remaining_values(self, at: int) -> int:
        """Choose a candidate of the smallest unsolved cell: return its word and set `guess`."""
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
                        self.guess = bit
        return word

    def write_solution(self, cells: bytearray, start: int) -> None:
        """Write the last solution into `cells`, as 81 digits from `start` on."""
        words = self.words
        at = self.solved
        for d in range(9):
            for b in range(3):
                w = words[at + 3 * d + b]
                begin = start + 27 * b
                cells[begin + COLUMN[w & 511]] = 49 + d
                cells[begin + 9 + COLUMN[w >> 9 & 511]] = 49 + d
                cells[begin + 18 + COLUMN[w >> 18]] = 49 + d
