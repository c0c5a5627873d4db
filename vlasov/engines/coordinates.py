# pyright: basic, reportCallIssue=false
# ruff: noqa: ANN001, ANN201, ANN202 - numba reads types off the arguments
r"""One pass over a tile of keys, for tokens whose coordinates are arrays of their own.

A tuple of arrays has its length in its type, so that loops over coordinates are unrolled and LLVM
turns the loop over keys into vectors.
"""

__all__ = ["largest", "row", "span", "tile", "zeros_like"]

from typing import no_type_check

import numpy as np
from numba import njit, types
from numba.extending import overload

from vlasov.engines.power_of_two import FAST, exponential


@no_type_check
def row(xs, i):
    """Entry i of every array."""
    raise NotImplementedError


@overload(row)
@no_type_check
def _row_of(xs, i):
    if len(xs) == 1:
        return lambda xs, i: (xs[0][i],)
    return lambda xs, i: (xs[0][i], *row(xs[1:], i))


@no_type_check
def span(xs, low, high):
    """A range of every array."""
    raise NotImplementedError


@overload(span)
@no_type_check
def _span_of(xs, low, high):
    if len(xs) == 1:
        return lambda xs, low, high: (xs[0][low:high],)
    return lambda xs, low, high: (xs[0][low:high], *span(xs[1:], low, high))


@no_type_check
def _dot(a, b, start):
    raise NotImplementedError


@overload(_dot, jit_options={"fastmath": FAST})
@no_type_check
def _dot_of(a, b, start):
    if len(a) == 1:
        return lambda a, b, start: start + a[0] * b[0]
    return lambda a, b, start: _dot(a[1:], b[1:], start + a[0] * b[0])


@no_type_check
def _plus(total, weight, values):
    raise NotImplementedError


@overload(_plus, jit_options={"fastmath": FAST})
@no_type_check
def _plus_of(total, weight, values):
    if len(total) == 1:
        return lambda total, weight, values: (total[0] + weight * values[0],)
    return lambda total, weight, values: (
        total[0] + weight * values[0],
        *_plus(total[1:], weight, values[1:]),
    )


@no_type_check
def zeros_like(values):
    """Zeros, as many as there are values."""
    raise NotImplementedError


@overload(zeros_like)
@no_type_check
def _nothing_of(values):
    zero = np.float32(0) if values[0] is types.float32 else 0.0
    if len(values) == 1:
        return lambda values: (zero,)
    return lambda values: (zero, *zeros_like(values[1:]))


@njit(fastmath=FAST, nogil=True)
@no_type_check
def largest(query, keys, logits, so_far):
    """The largest exponent of a query over a tile, or what it was `so_far`."""
    top = so_far
    for index in range(logits.shape[0]):
        j = np.uintp(index)  # no wrap-around of negative indices, which would stop the vectors
        top = max(top, _dot(query, row(keys, j), logits[j]))
    return top


@njit(fastmath=FAST, nogil=True)
@no_type_check
def tile(query, keys, logits, values, shift, nothing):
    """The sum of the weights of a tile of keys, and of the weighted values."""
    mass, total = logits.dtype.type(0), nothing
    for index in range(logits.shape[0]):
        j = np.uintp(index)
        weight = exponential(_dot(query, row(keys, j), logits[j] - shift))
        mass += weight
        total = _plus(total, weight, row(values, j))
    return mass, total
