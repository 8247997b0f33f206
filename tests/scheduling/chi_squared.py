"""Pearson's chi-squared test."""

import math
from collections.abc import Sequence


def p_value(observed: Sequence[float], expected: Sequence[float], *, free: int | None = None) -> float:
    """Return the probability of such a deviation from `expected`; `free`: degrees of freedom."""
    assert min(expected) >= 5, "too few of a kind for this test"
    distance = sum(
        (count - expected_count) ** 2 / expected_count for count, expected_count in zip(observed, expected, strict=True)
    )
    return upper_tail((len(observed) - 1 if free is None else free) / 2, distance / 2)


def of_table(table: Sequence[Sequence[float]]) -> float:
    """Return the probability of such a `table` of counts if rows and columns are independent."""
    rows, columns, whole = [sum(row) for row in table], [sum(column) for column in zip(*table, strict=True)], 0.0
    whole = sum(rows)
    expected = [row * column / whole for row in rows for column in columns]
    return p_value([count for row in table for count in row], expected, free=(len(rows) - 1) * (len(columns) - 1))


def upper_tail(shape: float, x: float) -> float:
    """Return the regularised upper incomplete gamma function, by series or continued fraction."""
    if x == 0:
        return 1.0
    scale = math.exp(shape * math.log(x) - x - math.lgamma(shape))
    if x < shape + 1:
        term = total = 1 / shape
        for step in range(1, 10_000):
            term *= x / (shape + step)
            total += term
            if term < total * 1e-16:
                break
        return 1 - total * scale
    below = x + 1 - shape
    c, d = 1e300, 1 / below
    fraction = d
    for step in range(1, 10_000):
        factor = step * (shape - step)
        below += 2
        d = 1 / (factor * d + below)
        c = below + factor / c
        fraction *= c * d
        if abs(c * d - 1) < 1e-15:
            break
    return fraction * scale
