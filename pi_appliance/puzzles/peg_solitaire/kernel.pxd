cimport cython

cdef unsigned long long WORD_MASK, HASH_FACTOR, GUARDS


@cython.final
cdef class Game:
    cdef public unsigned int moves, holes, width, parts, count, words
    cdef public unsigned int stabilizer
    cdef public unsigned long long low, unjumpable, goals
    cdef public unsigned long long[::1] triples, pairs, images, weight_sums, losses, fields, stack
    cdef public unsigned int[::1] end_holes, starts, pegs
    cdef object definition

    @cython.locals(best=cython.ulonglong, stabilizer=cython.uint, images=cython.ulonglong[::1],
                   width=cython.uint, low=cython.ulonglong, parts=cython.uint, chunk=cython.ulonglong,
                   one=cython.ulonglong, two=cython.ulonglong, three=cython.ulonglong,
                   at=cython.ulonglong, image=cython.ulonglong, part=cython.uint, _=cython.uint)
    cpdef unsigned long long canonical(self, unsigned long long position) noexcept

    @cython.locals(weight_sums=cython.ulonglong[::1], width=cython.uint, low=cython.ulonglong,
                   at=cython.ulonglong, word=cython.uint, part=cython.uint, field=cython.ulonglong)
    cpdef bint alive(self, unsigned long long position) noexcept

    @cython.locals(at=cython.uint, word=cython.uint, left=cython.ulonglong)
    cdef bint stays_alive(self, unsigned int move) noexcept


@cython.final
cdef class Table:
    cdef public unsigned int bits, shift
    cdef public unsigned long long mask, size, most, positions, tried, stuck_high, stuck_low
    cdef public unsigned long long[::1] cells

    @cython.locals(place=cython.ulonglong, at=cython.ulonglong)
    cpdef unsigned long long find(self, unsigned long long key) noexcept

    @cython.locals(at=cython.ulonglong, total=cython.ulonglong)
    cpdef void add(self, unsigned long long key, unsigned long long high, unsigned long long low) noexcept

    @cython.locals(total=cython.ulonglong)
    cdef void add_stuck(self, unsigned long long high, unsigned long long low) noexcept


@cython.final
cdef class KeySet:
    cdef public unsigned int bits, shift
    cdef public unsigned long long mask, size, most
    cdef public unsigned long long[::1] cells

    @cython.locals(place=cython.ulonglong)
    cdef unsigned long long find(self, unsigned long long key) noexcept

    cpdef bint has(self, unsigned long long key) noexcept

    @cython.locals(place=cython.ulonglong)
    cdef void add(self, unsigned long long key) noexcept


@cython.locals(index=cython.ulonglong, position=cython.ulonglong, high=cython.ulonglong, low=cython.ulonglong,
               opened=cython.bint, move=cython.uint)
cpdef bint expand(Game game, unsigned long long[::1] cells, unsigned long long first, unsigned long long last, Table table) noexcept

@cython.locals(index=cython.ulonglong, position=cython.ulonglong, high=cython.ulonglong, low=cython.ulonglong,
               after=cython.ulonglong, hole=cython.uint, peg=cython.uint, depth=cython.uint, move=cython.uint,
               stack=cython.ulonglong[::1], pegs=cython.uint[::1], triples=cython.ulonglong[::1])
cpdef bint expand_chains(Game game, unsigned long long[::1] cells, unsigned long long first, unsigned long long last, Table table,
                  unsigned int most) noexcept

@cython.locals(index=cython.ulonglong, position=cython.ulonglong, high=cython.ulonglong, low=cython.ulonglong,
               move=cython.uint, at=cython.ulonglong, _=cython.uint)
cpdef void count_meetings(Game game, unsigned long long[::1] cells, unsigned long long first, unsigned long long last, Table table,
                unsigned long long flip, unsigned long long[::1] sums) noexcept

cdef bint has_at_most(unsigned long long bits, unsigned int most) noexcept

@cython.locals(index=cython.ulonglong)
cpdef void merge(unsigned long long[::1] cells, unsigned long long first, unsigned long long last, Table table) noexcept

@cython.locals(index=cython.ulonglong)
cpdef void project(Game game, unsigned long long[::1] cells, unsigned long long first, unsigned long long last, Table table) noexcept

@cython.locals(index=cython.ulonglong)
cpdef unsigned long long compact(unsigned long long[::1] cells, unsigned long long first, unsigned long long last, unsigned long long[::1] level, unsigned long long at) noexcept

@cython.locals(index=cython.ulonglong)
cpdef void merge_new(unsigned long long[::1] cells, unsigned long long first, unsigned long long last, KeySet seen,
                      Table table) noexcept

@cython.locals(index=cython.ulonglong)
cpdef void add_keys(unsigned long long[::1] keys, unsigned long long first, unsigned long long last, unsigned int step,
                    KeySet seen) noexcept
