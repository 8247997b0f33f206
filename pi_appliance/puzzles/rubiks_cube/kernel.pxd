# Types for kernel.py, where Cython compiles it.

cimport cython

cdef int TURNS, SLICES, TWISTS, ROW, ORDERS, SECOND_TURNS, AXES, MIN_RETURN

cdef class SearchTables:
    cdef const unsigned short[::1] twist, flip, slice, four, corner, edge, views, ranks, second
    cdef const unsigned int[::1] classes
    cdef const unsigned char[::1] near_corner, near_edge, near_twist, near_flip, wide
    cdef readonly bint is_wide

    @cython.locals(code="unsigned int", other=int, rest=int, one=int, two=int)
    cpdef int step(self, int twist, int flip, int where, int before) noexcept

    @cython.locals(
        walked=int, code="unsigned int", other=int, less=int, turn=int, twist_after=int, flip_after=int, where_after=int
    )
    cpdef int distance(self, int twist, int flip, int where) noexcept

cdef class PhaseSearch:
    cdef SearchTables tables
    cdef int[::1] twist, flip, slice, dist, next, four, corner, up, down
    cdef readonly int[::1] path
    cdef readonly long long nodes
    cdef readonly int found, second
    cdef int length, most, longest, last, depth, known

    cpdef begin(self, start, int length, int most, int longest, int last)

    cpdef tighten(self, int most)

    @cython.locals(
        tables=SearchTables, depth=int, length=int, end="long long", turn=int, face=int, last=int, twist=int, flip=int,
        where=int, dist=int, left=int,
    )
    cpdef int run(self, int budget) except -1

    @cython.locals(
        tables=SearchTables, depth=int, turn=int, length=int, room=int, corner=int, order=int, edge=int, least=int, other=int,
        last=int, left=int,
    )
    cpdef int finish(self) except -1

    @cython.locals(
        tables=SearchTables, number=int, turn=int, face=int, order_after=int, corner_after=int, edge_after=int
    )
    cpdef int go_home(self, int corner, int edge, int order, int at, int left, int last) except -1

cdef class DepthSearch:
    cdef SearchTables tables
    cdef const int[::1] renamed
    cdef int[::1] twist, flip, slice, dist, next
    cdef readonly int[::1] path
    cdef readonly long long nodes
    cdef int depth, length, last, corner, four, up, down, home_up, home_down

    @cython.locals(axis=int)
    cpdef begin(self, starts, home, int length, int last)

    @cython.locals(one=int, two=int, three=int)
    cpdef int too_far(self, int at, int left) noexcept

    @cython.locals(
        tables=SearchTables, depth=int, length=int, end="long long", turn=int, face=int, last=int, left=int, here=int,
        there=int, far=int, axis=int, named=int,
    )
    cpdef int run(self, int budget) except -1

    @cython.locals(tables=SearchTables, four=int, corner=int, up=int, down=int, depth=int, turn=int, home="bint", at=int)
    cpdef int is_home(self) noexcept
