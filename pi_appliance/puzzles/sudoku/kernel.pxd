# The C types of kernel.py. It is the same program without them, only slower.
import cython

cdef unsigned int ALL
cdef int FLOOR
cdef unsigned int[::1] PIECES, FIT, LOCK, ONE, TWO, COLUMN


cdef class Search:
    cdef unsigned int[::1] words
    cdef public int top
    cdef int found
    cdef public long long guesses
    cdef unsigned int bit

    @cython.locals(
        i=cython.int, at=cython.int, b=cython.int, r=cython.int, c=cython.int,
        digit=cython.uint, bit=cython.uint, w=cython.uint)
    cpdef begin(self, const unsigned char[::1] clues, int start)

    @cython.locals(i=cython.int)
    cpdef save(self, int floor, unsigned int[::1] state)

    @cython.locals(i=cython.int)
    cpdef load(self, unsigned int[::1] state)

    @cython.locals(at=cython.int)
    cpdef int next(self, long long budget) except -1

    @cython.locals(found=cython.longlong)
    cpdef long long count(self, long long most, long long budget) except -1

    @cython.locals(number=cython.int, found=cython.int)
    cpdef batch(
        self, const unsigned char[::1] clues, unsigned char[::1] solutions, unsigned char[::1] counts,
        unsigned int[::1] guesses, long long budget)

    @cython.locals(
        again=cython.int, b=cython.int, i=cython.int, j=cython.int, first=cython.int, w=cython.uint, top=cython.uint,
        middle=cython.uint, low=cython.uint, lock=cython.uint,
        got=cython.uint, keep=cython.uint)
    cdef int follow(self, int at) noexcept

    @cython.locals(
        some=cython.int, b=cython.int, i=cython.int, r=cython.int, ones=cython.uint, twos=cython.uint,
        w=cython.uint, left=cython.uint, got=cython.uint, row=cython.uint)
    cdef int single(self, int at) noexcept

    @cython.locals(
        word=cython.int, bit=cython.uint, b=cython.int, i=cython.int, ones=cython.uint, twos=cython.uint,
        threes=cython.uint, w=cython.uint, pairs=cython.uint, row=cython.int, up=cython.int)
    cdef void guess(self, int at) noexcept

    @cython.locals(
        i=cython.int, c=cython.int, w=cython.uint, top=cython.uint, middle=cython.uint, low=cython.uint,
        two=cython.uint)
    cdef int place(self, int at) noexcept

    @cython.locals(
        fewest=cython.int, word=cython.int, b=cython.int, cell=cython.int, i=cython.int, count=cython.int,
        first=cython.int, bit=cython.uint)
    cdef int smallest(self, int at) noexcept

    @cython.locals(at=cython.int, d=cython.int, b=cython.int, w=cython.uint, begin=cython.int)
    cpdef write(self, unsigned char[::1] cells, int start)
