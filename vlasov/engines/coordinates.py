# pyright: basic, reportCallIssue=false, reportArgumentType=false
# ruff: noqa: ANN001, ANN201, ANN202 - numba reads types off the arguments
r"""One pass over a tile of keys, whose coordinates stand each in a row of its own.

The rows follow each other in one array: a tuple ``(numbers, first, stride, nothing)``, where
`nothing` is a tuple with a zero for each row. Their number is in its type, so that loops over
coordinates are unrolled and LLVM turns the loop over keys into vectors.
"""

__all__ = ["dot", "largest", "pair_tile", "row", "tile"]

from typing import no_type_check

import numpy as np
from numba import njit
from numba.extending import overload

from vlasov.engines.compiling import REORDERED, VECTORS
from vlasov.engines.intrinsics import larger
from vlasov.engines.power_of_two import exponential, logistic


@no_type_check
def row(xs, i):
    """Entry i of every row."""
    raise NotImplementedError


@overload(row)
@no_type_check
def _row_of(xs, i):
    if len(xs[-1]) == 1:
        return lambda xs, i: (xs[0][xs[1] + i],)
    return lambda xs, i: (
        xs[0][xs[1] + i],
        *row((xs[0], xs[1] + xs[2], xs[2], xs[3][1:]), i),
    )


@no_type_check
def dot(a, b, start):
    """The scalar product of two tuples, added to `start`."""
    raise NotImplementedError


@overload(dot, jit_options=REORDERED)
@no_type_check
def _dot_of(a, b, start):
    if len(a) == 1:
        return lambda a, b, start: start + a[0] * b[0]
    return lambda a, b, start: dot(a[1:], b[1:], start + a[0] * b[0])


@no_type_check
def _plus(total, weight, values):
    raise NotImplementedError


@overload(_plus, jit_options=REORDERED)
@no_type_check
def _plus_of(total, weight, values):
    if len(total) == 1:
        return lambda total, weight, values: (total[0] + weight * values[0],)
    return lambda total, weight, values: (
        total[0] + weight * values[0],
        *_plus(total[1:], weight, values[1:]),
    )


@njit(**VECTORS)
@no_type_check
def largest(query, keys, logits, so_far):
    """The largest exponent of a query over a tile, or what it was `so_far`."""
    top = so_far
    for index in range(logits.shape[0]):
        j = np.uintp(index)  # no wrap-around of negative indices, which would stop the vectors
        top = larger(top, dot(query, row(keys, j), logits[j]))
    return top


@njit(**VECTORS)
@no_type_check
def tile(query, keys, logits, values, shift, nothing):
    """The sum of the weights of a tile of keys, and of the weighted values."""
    mass, total = logits.dtype.type(0), nothing
    for index in range(logits.shape[0]):
        j = np.uintp(index)
        weight = exponential(dot(query, row(keys, j), logits[j] - shift))
        mass += weight
        total = _plus(total, weight, row(values, j))
    return mass, total


@njit(**VECTORS)
@no_type_check
def pair_tile(query, keys, logits, values, nothing, bounded):
    """The values of a tile, weighted by the score itself or, if `bounded`, by `logistic` of it."""
    total = nothing
    if bounded:
        for index in range(logits.shape[0]):
            j = np.uintp(index)
            weight = logistic(dot(query, row(keys, j), logits[j]))
            total = _plus(total, weight, row(values, j))
    else:
        for index in range(logits.shape[0]):
            j = np.uintp(index)
            weight = dot(query, row(keys, j), logits[j])
            total = _plus(total, weight, row(values, j))
    return total
