# Types for exact_kernel.py, where Cython compiles it.

cimport cython
from pi_appliance.puzzles.rubiks_cube.kernel cimport Tables

cdef int TURNS, ORDERS, AXES

cdef class Exact:
    cdef Tables tables
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
        tables=Tables, depth=int, length=int, end="long long", turn=int, face=int, last=int, left=int, here=int,
        there=int, far=int, axis=int, named=int,
    )
    cpdef int run(self, int budget) except -1

    @cython.locals(tables=Tables, four=int, corner=int, up=int, down=int, depth=int, turn=int, home="bint", at=int)
    cpdef int is_home(self) noexcept
