# C types for kernel.py where it is compiled: the keys are machine words, the ways stay Python's integers.
cimport cython

@cython.locals(
    at=cython.uint, end=cython.ulonglong, corner=cython.ulonglong, water=cython.uint, one=cython.ulonglong,
    done=cython.uint, key=cython.ulonglong, value=cython.uint, base=cython.ulonglong, after=dict, clear=cython.ulonglong,
    sets=cython.ulonglong, cells=cython.uint, layer=dict, moves=tuple, new=cython.ulonglong,
)
cpdef unsigned int push(object items, object ahead, object cell) except? 0

@cython.locals(
    at=cython.uint, end=cython.ulonglong, corner=cython.ulonglong, water=cython.uint, one=cython.ulonglong,
    key=cython.ulonglong, value=cython.uint, base=cython.ulonglong, after=dict, clear=cython.ulonglong,
    sets=cython.ulonglong, cells=cython.uint, moves=tuple,
)
cpdef object pull(object items, object ahead, object cell, object size, dict back)

