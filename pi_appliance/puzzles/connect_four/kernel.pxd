# Types for kernel.py, where Cython compiles it.

cimport cython

cdef extern from *:
    """
    #define prefetch(entry) __builtin_prefetch(&(entry))
    """
    void id "prefetch"(unsigned long long entry) noexcept  # for Python, a function without effect

cdef unsigned long long FULL
cdef unsigned long long BOTTOM
cdef unsigned long long EVEN
cdef unsigned long long COLUMN
cdef unsigned long long KEY_MASK
cdef unsigned long long HASH_FACTOR
cdef unsigned long long MOVE_ORDER
cdef unsigned long long TICK_MASK
cdef int SYMMETRY_DISCS
cdef int TABLE_DISCS
cdef int SMALL_SCORE
cdef int ROOT
cdef int UNKNOWN

@cython.locals(found="unsigned long long", two="unsigned long long")
cpdef inline unsigned long long find_threats(unsigned long long own, unsigned long long mask) noexcept

cpdef inline unsigned long long mirror(unsigned long long squares) noexcept

@cython.locals(count=int)
cdef inline int count_squares(unsigned long long squares) noexcept

@cython.locals(found="unsigned long long", two="unsigned long long")
cpdef inline bint has_four(unsigned long long discs) noexcept

@cython.locals(theirs="unsigned long long", claimed="unsigned long long")
cpdef inline int upper_bound(unsigned long long own, unsigned long long mask, int discs) noexcept

@cython.final
cdef class Search:
    cdef unsigned long long[::1] table
    cdef unsigned long long[::1] frames
    cdef unsigned long long[::1] keys
    cdef unsigned long long[::1] order
    cdef int bits
    cdef int plies
    cdef int mirrored
    cdef object on_tick
    cdef object lookup
    cdef readonly unsigned long long nodes

    cpdef int bound(self, unsigned long long own, unsigned long long mask, int discs, int goal) except? -98

    @cython.locals(goal=int, bound=int)
    cpdef int exact_score(
        self, unsigned long long own, unsigned long long mask, int discs, int low, int high, object on_bounds
    ) except? -98

    @cython.locals(
        own="unsigned long long", mask="unsigned long long", number=int, discs=int,
    )
    cpdef object score_many(self, const unsigned long long[::1] positions, signed char[::1] scores)

    @cython.locals(
        danger="unsigned long long", possible="unsigned long long", forced="unsigned long long",
        weight=int, flipped=int, score=int, at=int,
    )
    cdef int _look_ahead(
        self, unsigned long long own, unsigned long long mask, int discs, int goal, int frame
    ) except? -98

    cdef void _address(self, int frame, unsigned long long key, int discs) noexcept

    cdef int _search_frame(self, int frame, int goal) except? -98

    @cython.locals(
        own="unsigned long long", mask="unsigned long long", possible="unsigned long long",
        theirs="unsigned long long", columns="unsigned long long", move="unsigned long long",
        discs=int, best=int, score=int, first=int, last=int, at=int,
    )
    cdef int _negamax(self, int frame, int goal) except? -98

    @cython.locals(weight="unsigned long long", at=int)
    cdef void _insert(self, int first, int frame) noexcept

    @cython.locals(frame=int, flipped=int, score=int, at=int)
    cdef int _known_cut(self, int first, int last, int goal) except? -98

    @cython.locals(
        key="unsigned long long", slot="unsigned long long", tag="unsigned long long", entry="unsigned long long",
        at=int, discs=int, best=int, low=int, high=int,
    )
    cdef int _probe(self, int frame, int goal) except? -98

    @cython.locals(
        slot="unsigned long long", tag="unsigned long long", there="unsigned long long", low=int, high=int,
    )
    cdef void _store(self, unsigned long long key, int discs, int goal, int best) noexcept
