# C types for kernel.py.

cimport cython

cdef unsigned int KING
cdef unsigned int REMEMBERED

cdef class Seats:
    cdef unsigned int[::1] starts
    cdef unsigned char[::1] ends
    cdef unsigned long long[::1] between
    cdef unsigned int seats
    cdef unsigned int most
    cdef bint safe
    cdef bytearray cells
    cdef unsigned long long taken
    cdef unsigned int seat
    cdef unsigned int at

    @cython.locals(one=cython.ulonglong, seat=cython.uint)
    cpdef load(self, bytes position)

    @cython.locals(piece=cython.uint, row=cython.uint, last=cython.uint, end=cython.uint)
    cpdef bint seek(self, unsigned int seat, unsigned int at)

    @cython.locals(end=cython.uint, piece=cython.uint, captured=cython.uint)
    cpdef bytes child(self)

    @cython.locals(found=cython.uint, number=cython.uint, position=bytes, child=bytes, seat=cython.uint, at=cython.uint)
    cpdef unsigned int grow(self, list level, unsigned int first, unsigned int last, dict ways, dict after) except? 0

    @cython.locals(number=cython.uint, position=bytes, seat=cython.uint, at=cython.uint)
    cpdef weigh(self, list level, unsigned int first, unsigned int last, dict after, dict ways)


cdef class Walk:
    cdef Seats places
    cdef unsigned int goal
    cdef public unsigned long long tried
    cdef public unsigned long long dead
    cdef public unsigned int depth
    cdef list way
    cdef unsigned int[::1] seat
    cdef unsigned int[::1] at
    cdef unsigned char[::1] alive
    cdef set newer
    cdef set older

    @cython.locals(places=Seats, depth=cython.uint, spent=cython.uint, result=cython.int, child=bytes)
    cpdef int run(self, unsigned int budget) except -1

    cpdef bury(self, bytes position)
