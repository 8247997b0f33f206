# C types for kernel.py; the results are the same without them.

cimport cython

cdef int TURNS, SLICES, TWISTS, ROW, ORDERS, PHASE2_TURN_COUNT, AXES, MIN_RETURN, UNKNOWN, SLICE_OFFSET, TWIST_OFFSET

cdef class SearchTables:
    cdef const unsigned short[::1] twist, flip, slice, slice_sorted, corners, ud_edges, twist_symmetry, ud_ranks
    cdef const unsigned short[::1] phase2_turns
    cdef const unsigned int[::1] class_of
    cdef const unsigned char[::1] corner_distance, edge_distance, twist_distance, flip_distance, large
    cdef readonly bint is_large

    @cython.locals(code="unsigned int", other=int, rest=int, one=int, two=int)
    cpdef int bound_after_turn(self, int twist, int flip, int where, int before) noexcept

    @cython.locals(
        walked=int, code="unsigned int", other=int, less=int, turn=int, twist_after=int, flip_after=int, where_after=int
    )
    cpdef int bound(self, int twist, int flip, int where) noexcept

cdef class PhaseSearch:
    cdef SearchTables tables
    cdef int[::1] twist, flip, slice, dist, next, slice_sorted, corners, u_edges, d_edges
    cdef readonly int[::1] path
    cdef readonly long long nodes
    cdef readonly int solution_length, phase2_length
    cdef int length, max_length, max_phase2, last, depth, known

    cpdef begin(self, start, int phase1_length, int max_length, int max_phase2, int last_face)

    cpdef limit_length(self, int max_length)

    @cython.locals(
        tables=SearchTables, depth=int, length=int, end="long long", turn=int, face=int, last=int, twist=int, flip=int,
        where=int, dist=int, left=int,
    )
    cpdef int run(self, int budget) except -1

    @cython.locals(
        tables=SearchTables, depth=int, turn=int, length=int, limit=int, corner=int, order=int, edge=int, least=int,
        other=int, last=int, left=int,
    )
    cpdef int try_phase2(self) except -1

    @cython.locals(
        tables=SearchTables, number=int, turn=int, face=int, order_after=int, corner_after=int, edge_after=int
    )
    cpdef int search_phase2(self, int corner, int edge, int order, int at, int left, int last) except -1

cdef class DepthSearch:
    cdef SearchTables tables
    cdef const int[::1] axis_turns
    cdef int[::1] twist, flip, slice, dist, next
    cdef readonly int[::1] path
    cdef readonly long long nodes
    cdef int depth, length, last, corners, slice_sorted, u_edges, d_edges, solved_u_edges, solved_d_edges

    @cython.locals(axis=int)
    cpdef begin(self, starts, solved, int length, int last_face)

    @cython.locals(one=int, two=int, three=int)
    cpdef int is_too_far(self, int at, int left) noexcept

    @cython.locals(
        tables=SearchTables, depth=int, length=int, end="long long", turn=int, face=int, last=int, left=int, here=int,
        there=int, far=int, axis=int, seen=int,
    )
    cpdef int run(self, int budget) except -1

    @cython.locals(
        tables=SearchTables, slices=int, corners=int, u_edges=int, d_edges=int, depth=int, turn=int, at=int
    )
    cpdef int is_solved(self) noexcept

@cython.locals(found=int, entry=int, one=int, two=int, turn=int, other=int)
cpdef int bfs_fill(
    unsigned char[::1] distances, const unsigned short[::1] left, const unsigned short[::1] right, int across,
    int width, int depth, int begin, int end
) except -1

@cython.locals(
    flip=int, where=int, level=int, after=int, count=int, found=int, twist=int, turn=int, code="unsigned int", base=int,
    view=int, alike=int, number=int, place=int, shift=int,
)
cpdef int forward_bfs(
    unsigned char[::1] large, int row, int depth, int raw, const unsigned short[::1] moves,
    const unsigned short[::1] twist_symmetry, const unsigned int[::1] class_of,
    const unsigned short[::1] symmetries, unsigned short[::1] twists
) except -1

@cython.locals(found=int, symmetry=int, other=int, place=int, shift=int)
cpdef int mark_symmetric(
    unsigned char[::1] large, int base, int twist, int after, const unsigned short[::1] twist_symmetry, int alike
) except -1

@cython.locals(
    flip=int, where=int, level=int, change=int, count=int, found=int, twist=int, turn=int, code="unsigned int", base=int,
    view=int, left=int, number=int, other=int, place=int,
)
cpdef int backward_bfs(
    unsigned char[::1] large, int row, int depth, int raw, const unsigned short[::1] moves,
    const unsigned short[::1] twist_symmetry, const unsigned int[::1] class_of, unsigned short[::1] twists
) except -1
