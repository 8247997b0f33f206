# C types for kernel.py.

cimport cython

ctypedef unsigned long long Key

cdef unsigned int[::1] ZOBRIST

cdef class MoveTables:
    cdef unsigned int[::1] starts
    cdef unsigned char[::1] ends
    cdef unsigned char[::1] costs
    cdef unsigned int[::1] masks
    cdef public unsigned int places
    cdef public unsigned int colours

    @cython.locals(colour=cython.uint, place=cython.uint, hole=cython.uint)
    cpdef unsigned int unpack(self, Key key)

    @cython.locals(colour=cython.uint, total=cython.uint)
    cpdef unsigned int heuristic(self)

    @cython.locals(number=cython.uint, hole=cython.uint, estimate=cython.uint, at=cython.uint, start=cython.uint,
                   mask=cython.uint, new_mask=cython.uint, row=cython.uint, key=Key, colour=Key)
    cpdef expand(self, unsigned long long[::1] level, unsigned int first, unsigned int last, unsigned int moves_left,
                 set next_level)

    @cython.locals(number=cython.uint, hole=cython.uint, at=cython.uint, start=cython.uint, key=Key, colour=Key)
    cpdef count_paths(self, unsigned long long[::1] level, unsigned int first, unsigned int last, dict next_counts,
                      dict counts)


cdef class IdaRound:
    cdef MoveTables tables
    cdef Key key
    cdef public unsigned int bound
    cdef public unsigned int depth
    cdef public unsigned int next_bound
    cdef public unsigned long long nodes
    cdef unsigned int position_hash
    cdef unsigned int table_size
    cdef unsigned char[::1] content
    cdef unsigned int[::1] masks
    cdef unsigned char[::1] path
    cdef unsigned int[::1] next_moves
    cdef unsigned int[::1] estimates
    cdef unsigned long long[::1] table_keys
    cdef unsigned int[::1] table_depths

    @cython.locals(place=cython.uint, colour=cython.uint)
    cpdef start_search(self, unsigned int hole)

    @cython.locals(tables=MoveTables, depth=cython.uint, spent=cython.uint, result=cython.int, hole=cython.uint,
                   at=cython.uint, start=cython.uint, colour=cython.uint, row=cython.uint, mask=cython.uint,
                   estimate=cython.uint, slot=cython.uint)
    cpdef int run(self, unsigned int budget)

    @cython.locals(colour=Key)
    cdef inline void swap(self, unsigned int start, unsigned int hole)
