# C types for table_kernel.py; the results are the same without them.

cimport cython

cdef int UNKNOWN, TURNS, SLICES, TWISTS, ROW, SLICE_OFFSET, TWIST_OFFSET

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
