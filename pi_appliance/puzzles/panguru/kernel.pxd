# C types for kernel.py.

cimport cython

ctypedef unsigned long long Key

cdef unsigned int[::1] SALTS

cdef class Ground:
    cdef unsigned int[::1] starts
    cdef unsigned char[::1] ends
    cdef unsigned char[::1] costs
    cdef unsigned int[::1] masks
    cdef public unsigned int places
    cdef public unsigned int colours

    @cython.locals(colour=cython.uint, place=cython.uint, hole=cython.uint)
    cpdef unsigned int unpack(self, Key key)

    @cython.locals(colour=cython.uint, total=cython.uint)
    cpdef unsigned int estimate(self)

    @cython.locals(number=cython.uint, hole=cython.uint, estimate=cython.uint, at=cython.uint, start=cython.uint,
                   mask=cython.uint, moved=cython.uint, row=cython.uint, key=Key, colour=Key)
    cpdef grow(self, unsigned long long[::1] level, unsigned int first, unsigned int last, unsigned int left, set after)

    @cython.locals(number=cython.uint, hole=cython.uint, at=cython.uint, start=cython.uint, key=Key, colour=Key)
    cpdef weigh(self, unsigned long long[::1] level, unsigned int first, unsigned int last, dict after, dict ways)


cdef class Walk:
    cdef Ground ground
    cdef Key key
    cdef public unsigned int bound
    cdef public unsigned int depth
    cdef public unsigned int beyond
    cdef public unsigned long long nodes
    cdef unsigned int salt
    cdef unsigned int room
    cdef unsigned char[::1] content
    cdef unsigned int[::1] masks
    cdef unsigned char[::1] way
    cdef unsigned int[::1] turns
    cdef unsigned int[::1] left
    cdef unsigned long long[::1] met
    cdef unsigned int[::1] when

    @cython.locals(place=cython.uint, colour=cython.uint)
    cpdef begin(self, unsigned int hole)

    @cython.locals(ground=Ground, depth=cython.uint, spent=cython.uint, result=cython.int, hole=cython.uint,
                   at=cython.uint, start=cython.uint, colour=cython.uint, row=cython.uint, mask=cython.uint,
                   left=cython.uint, seat=cython.uint)
    cpdef int run(self, unsigned int budget)

    @cython.locals(colour=Key)
    cdef inline void swap(self, unsigned int start, unsigned int hole)
