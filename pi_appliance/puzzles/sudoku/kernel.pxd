# C types for kernel.py; the results are the same without them.
import cython

cdef unsigned int ALL_CELLS
cdef int FRAME_SIZE, PIECE_GUESSES, MANY_PERMUTATIONS
cdef unsigned int[::1] PIECE_SET, PERMUTATIONS_LEFT, FITTING_PIECES, PERMUTATION_MASK, OPEN_PIECE, LOCK_MASK, SINGLE
cdef unsigned int[::1] FIRST_OF_TWO, COLUMN


cdef class GridSearch:
    cdef unsigned int[::1] words
    cdef public int top
    cdef int solved
    cdef public long long guesses
    cdef unsigned int guess

    @cython.locals(
        i=cython.int, at=cython.int, b=cython.int, r=cython.int, c=cython.int,
        digit=cython.uint, bit=cython.uint, w=cython.uint)
    cpdef begin(self, const unsigned char[::1] clues, int start)

    @cython.locals(i=cython.int)
    cpdef save_frame(self, int frame, unsigned int[::1] state)

    @cython.locals(i=cython.int)
    cpdef load_frame(self, unsigned int[::1] state)

    @cython.locals(at=cython.int)
    cpdef int find_next(self, long long budget) except -1

    @cython.locals(found=cython.longlong)
    cpdef long long count_next(self, long long limit, long long budget) except -1

    @cython.locals(number=cython.int, found=cython.int)
    cpdef solve_batch(
        self, const unsigned char[::1] clues, unsigned char[::1] solutions, unsigned char[::1] counts,
        unsigned int[::1] guesses, long long budget)

    @cython.locals(
        changed=cython.int, b=cython.int, i=cython.int, j=cython.int, first=cython.int, w=cython.uint, high=cython.uint,
        middle=cython.uint, low=cython.uint, lock=cython.uint,
        placed=cython.uint, others=cython.uint)
    cdef int propagate(self, int at) noexcept

    @cython.locals(
        solved=cython.int, b=cython.int, i=cython.int, r=cython.int, ones=cython.uint, twos=cython.uint,
        w=cython.uint, single=cython.uint, placed=cython.uint, row=cython.uint)
    cdef int naked_singles(self, int at) noexcept

    @cython.locals(
        i=cython.int, c=cython.int, changed=cython.int, top=cython.uint, middle=cython.uint, bottom=cython.uint,
        top_kept=cython.uint, middle_kept=cython.uint, bottom_kept=cython.uint, kept=cython.uint)
    cdef int lock_stacks(self, int at) noexcept

    @cython.locals(word=cython.int, i=cython.int, row=cython.int, up=cython.int, guess=cython.uint)
    cdef void branch(self, int at) noexcept

    @cython.locals(
        fewest=cython.int, word=cython.int, band=cython.int, b=cython.int, total=cython.int, few=cython.int,
        first=cython.int, i=cython.int, left=cython.int, w=cython.uint)
    cdef int choose_piece(self, int at) noexcept

    @cython.locals(
        k=cython.int, b=cython.int, i=cython.int, word=cython.int, ones=cython.uint, twos=cython.uint, threes=cython.uint,
        w=cython.uint, pairs=cython.uint)
    cdef int choose_cell(self, int at, int band) noexcept

    @cython.locals(
        i=cython.int, c=cython.int, w=cython.uint, high=cython.uint, middle=cython.uint, low=cython.uint,
        two=cython.uint)
    cdef int strong_link(self, int at) noexcept

    @cython.locals(
        fewest=cython.int, word=cython.int, b=cython.int, cell=cython.int, i=cython.int, count=cython.int,
        first=cython.int, bit=cython.uint)
    cdef int min_remaining_values(self, int at) noexcept

    @cython.locals(at=cython.int, d=cython.int, b=cython.int, w=cython.uint, begin=cython.int)
    cpdef write_solution(self, unsigned char[::1] cells, int start)
