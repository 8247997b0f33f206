# Types for kernel.py, where Cython compiles it.

cimport cython

cdef unsigned long long FULL
cdef unsigned long long BOTTOM
cdef unsigned long long COLUMN
cdef unsigned long long KEY_MASK
cdef unsigned long long HASH_FACTOR
cdef unsigned long long MOVE_ORDER
cdef unsigned long long TICK_MASK
cdef int SYMMETRY_DISCS
cdef int UNKNOWN

@cython.locals(found="unsigned long long", two="unsigned long long")
cpdef unsigned long long find_threats(unsigned long long own, unsigned long long mask) noexcept

cpdef unsigned long long mirror(unsigned long long squares) noexcept

cdef class Search:
    cdef unsigned long long[::1] table
    cdef unsigned long long[::1] order
    cdef int bits
    cdef int plies
    cdef int mirrored
    cdef object on_tick
    cdef object lookup
    cdef readonly unsigned long long nodes

    cpdef int bound(self, unsigned long long own, unsigned long long mask, int discs, int goal) except? -99

    @cython.locals(middle=int, goal=int, bound=int)
    cpdef int exact_score(
        self, unsigned long long own, unsigned long long mask, int discs, int low, int high, object on_bounds
    ) except? -99

    @cython.locals(
        own="unsigned long long", mask="unsigned long long", left="unsigned long long", number=int, discs=int,
    )
    cpdef object score_many(self, const unsigned long long[::1] positions, signed char[::1] scores)

    @cython.locals(
        theirs="unsigned long long", danger="unsigned long long", possible="unsigned long long",
        forced="unsigned long long", high=int, low=int,
    )
    cdef int _bound(self, unsigned long long own, unsigned long long mask, int discs, int goal) except? -99

    @cython.locals(
        key="unsigned long long", slot="unsigned long long", tag="unsigned long long",
        entry="unsigned long long", move="unsigned long long", theirs="unsigned long long",
        low=int, high=int, best=int, score=int, last=int, at=int,
    )
    cdef int _negamax(
        self, unsigned long long own, unsigned long long mask, int discs, int goal, unsigned long long possible
    ) except? -99

    @cython.locals(
        columns="unsigned long long", move="unsigned long long", made="unsigned long long",
        weight="unsigned long long", entry="unsigned long long", column=int, at=int, last=int,
    )
    cdef int _sort_moves(
        self, unsigned long long own, unsigned long long mask, unsigned long long possible, int first
    ) noexcept

    @cython.locals(entry="unsigned long long", there="unsigned long long")
    cdef void _store(self, unsigned long long slot, unsigned long long tag, unsigned int discs, int low, int high) noexcept
