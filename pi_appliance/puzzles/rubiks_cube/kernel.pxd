# C types for kernel.py; the results are the same without them.

cimport cython

cdef int TURNS, SLICES, TWISTS, ORDERS, PHASE2_TURN_COUNT, AXES, MIN_RETURN, SYMMETRIES, LIST, UNKNOWN

@cython.final
cdef class SearchTables:
    cdef const unsigned short[::1] twist, slice_sorted, corners, ud_edges, class_slice, twist_symmetry, ud_ranks
    cdef const unsigned short[::1] phase2_turns
    cdef const unsigned int[::1] classes, class_of
    cdef const unsigned char[::1] turn_symmetry, inverse_turns, products, turn_lists
    cdef const unsigned char[::1] corner_distance, edge_distance, twist_distance, class_distance, large
    cdef readonly bint is_large
    cdef object parts

    @cython.locals(entry=int, one=int, two=int)
    cdef int look_up(self, int group, int twist, int before) noexcept

    @cython.locals(walked=int, code="unsigned int", group=int, entry=int, less=int, at=int, after=int)
    cpdef int bound(self, int twist, int flip, int where) noexcept

@cython.final
cdef class PhaseSearch:
    cdef SearchTables tables
    cdef int[::1] twist, group, symmetry, dist, next, slice_sorted, corners, u_edges, d_edges
    cdef readonly int[::1] path
    cdef readonly long long nodes
    cdef readonly int solution_length, phase2_length
    cdef int length, max_length, max_phase2, last, depth, known_corners, known_edges

    @cython.locals(tables=SearchTables, code="unsigned int")
    cpdef begin(self, start, int phase1_length, int max_length, int max_phase2, int last_face)

    cpdef limit_length(self, int max_length)

    @cython.locals(
        tables=SearchTables, depth=int, length=int, end="long long", turn=int, symmetry=int, actual=int, face=int,
        last=int, code="unsigned int", group=int, twist=int, left=int, seen=int, dist=int,
    )
    cpdef int run(self, int budget) except -1

    @cython.locals(
        tables=SearchTables, depth=int, turn=int, length=int, limit=int, corner=int, order=int, edge=int, least=int,
        other=int, last=int, left=int,
    )
    cdef int try_phase2(self) except -1

    @cython.locals(
        tables=SearchTables, number=int, turn=int, face=int, order_after=int, corner_after=int, edge_after=int
    )
    cdef int search_phase2(self, int corner, int edge, int order, int at, int left, int last) except -1

@cython.final
cdef class DepthSearch:
    cdef SearchTables tables
    cdef const int[::1] axis_turns
    cdef int[::1] twist, group, symmetry, dist, lists, next, guide
    cdef readonly int[::1] path
    cdef readonly long long nodes
    cdef int depth, length, last, corners, slice_sorted, u_edges, d_edges, solved_u_edges, solved_d_edges

    @cython.locals(tables=SearchTables, code="unsigned int", axis=int)
    cpdef begin(self, starts, solved, int length, int last_face)

    @cython.locals(one=int, two=int, three=int)
    cdef int is_too_far(self, int at, int left) noexcept

    @cython.locals(axis=int)
    cdef void enter(self, int depth, int left) noexcept

    @cython.locals(
        tables=SearchTables, depth=int, length=int, end="long long", seen=int, here=int, there=int, axis=int, turn=int,
        face=int, last=int, left=int, far=int, symmetry=int, code="unsigned int", group=int, twist=int,
    )
    cpdef int run(self, int budget) except -1

    @cython.locals(
        tables=SearchTables, slices=int, corners=int, u_edges=int, d_edges=int, depth=int, turn=int, at=int
    )
    cdef int is_solved(self) noexcept

@cython.locals(found=int, entry=int, one=int, two=int, turn=int, other=int)
cpdef int bfs_fill(
    unsigned char[::1] distances, const unsigned short[::1] left, const unsigned short[::1] right, int across,
    int width, int depth, int begin, int end
) except -1

@cython.locals(
    count=int, found=int, twist=int, turn=int, code="unsigned int", base=int, view=int, alike=int, number=int,
    symmetry=int, other=int,
)
cpdef int forward_bfs(
    unsigned char[::1] large, int row, int depth, const unsigned int[::1] classes,
    const unsigned short[::1] twist_moves, const unsigned short[::1] twist_symmetry,
    const unsigned short[::1] symmetries, unsigned short[::1] twists
) except -1

@cython.locals(
    count=int, found=int, twist=int, turn=int, code="unsigned int", base=int, view=int, left=int, number=int
)
cpdef int backward_bfs(
    unsigned char[::1] large, int row, int depth, const unsigned int[::1] classes,
    const unsigned short[::1] twist_moves, const unsigned short[::1] twist_symmetry, unsigned short[::1] twists
) except -1

@cython.locals(turn=int, code="unsigned int", base=int, view=int, twist=int, other=int)
cpdef int add_turn_lists(
    unsigned char[::1] large, int row, const unsigned int[::1] classes, const unsigned short[::1] twist_moves,
    const unsigned short[::1] twist_symmetry, const unsigned char[::1] list_of, unsigned int[::1] masks
) except -1
