# C types for kernel.py.

cimport cython

cdef unsigned int KING
cdef unsigned int MAX_DEAD_POSITIONS

cdef class CaptureTables:
    cdef unsigned int[::1] starts
    cdef unsigned char[::1] ends
    cdef unsigned long long[::1] between
    cdef unsigned int squares
    cdef unsigned int capture_limit
    cdef bint protect_king
    cdef bytearray content
    cdef unsigned long long occupied
    cdef unsigned int square
    cdef unsigned int entry

    @cython.locals(one=cython.ulonglong, square=cython.uint)
    cpdef load_position(self, bytes position)

    @cython.locals(piece=cython.uint, row=cython.uint, last=cython.uint, end=cython.uint)
    cpdef bint find_capture(self, unsigned int square, unsigned int entry)

    @cython.locals(end=cython.uint, piece=cython.uint, captured=cython.uint)
    cpdef bytes child(self)

    @cython.locals(captures=cython.uint, number=cython.uint, position=bytes, child=bytes, square=cython.uint,
                   entry=cython.uint)
    cpdef unsigned int expand(self, list level, unsigned int first, unsigned int last, dict counts,
                              dict next_counts) except? 0

    @cython.locals(number=cython.uint, position=bytes, square=cython.uint, entry=cython.uint)
    cpdef count_paths(self, list level, unsigned int first, unsigned int last, dict next_counts, dict counts)


cdef class DepthFirstSearch:
    cdef CaptureTables tables
    cdef unsigned int goal
    cdef public unsigned long long nodes
    cdef public unsigned long long dead
    cdef public unsigned int depth
    cdef list path
    cdef unsigned int[::1] square
    cdef unsigned int[::1] entry
    cdef unsigned char[::1] alive
    cdef set newer
    cdef set older

    @cython.locals(tables=CaptureTables, depth=cython.uint, spent=cython.uint, result=cython.int, child=bytes)
    cpdef int run(self, unsigned int budget) except -1

    cpdef mark_dead(self, bytes position)
