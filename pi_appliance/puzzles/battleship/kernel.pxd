# C types for kernel.py where it is compiled: keys are machine words, ways stay Python integers.
cimport cython

@cython.locals(
    shift=cython.uint, end=cython.ulonglong, corner=cython.ulonglong, may_be_water=cython.uint, unit=cython.ulonglong,
    done=cython.uint, key=cython.ulonglong, value=cython.uint, base=cython.ulonglong, next_layer=dict,
    clear=cython.ulonglong, sets=cython.ulonglong, cells=cython.uint, layer=dict, moves=tuple, new_key=cython.ulonglong,
)
cpdef unsigned int step_forward(object items, object ahead, object cell) except? 0

@cython.locals(
    shift=cython.uint, end=cython.ulonglong, corner=cython.ulonglong, may_be_water=cython.uint, unit=cython.ulonglong,
    key=cython.ulonglong, value=cython.uint, base=cython.ulonglong, next_layer=dict, clear=cython.ulonglong,
    sets=cython.ulonglong, cells=cython.uint, moves=tuple,
)
cpdef object step_backward(object items, object ahead, object cell, object size, dict completions)
