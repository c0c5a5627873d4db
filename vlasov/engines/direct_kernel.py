# pyright: basic, reportCallIssue=false
# ruff: noqa: ANN001, ANN201, ANN202 - numba reads types off the arguments
r"""The compiled loops of the engine `direct`: one pass over all pairs, exponentials written out.

.. math:: 2^t = 2^n\, 2^r, \qquad n = \mathrm{round}(t), \quad |r| \le \tfrac12

with a polynomial for :math:`2^r`; :math:`2^n` is added to the bits of its exponent. Arrays hold
one coordinate each, so that LLVM turns the loop over keys into vectors; a tuple of arrays has its
length in its type, so that loops over coordinates are unrolled.

Compiled for a width and a number format at their first call and kept in a cache on disk.
"""

__all__ = ["exponential", "sums"]

from typing import no_type_check

import llvmlite.ir as ir
import numpy as np
from numba import njit, types
from numba.extending import intrinsic, overload

_FAST = {"arcp", "contract", "ninf", "nnan", "nsz", "reassoc"}

# 2^r on [-1/2, 1/2] interpolated at Chebyshev nodes: relative errors 3.2e-16 and 2e-8.
_DOUBLE = (
    7.072585949269223e-09, 1.0208690299958306e-07, 1.321544258792169e-06, 1.5252657260200837e-05,
    1.540353044173605e-04, 1.3333558230164974e-03, 9.618129107606888e-03, 5.550410866444772e-02,
    2.4022650695910097e-01, 6.9314718055995e-01, 1.0,
)  # fmt: skip
_SINGLE = tuple(
    np.float32(c)
    for c in (
        1.5461444854736328e-04, 1.3400427997112274e-03, 9.618056938052177e-03,
        5.550327152013779e-02, 2.4022650718688965e-01, 6.931471824645996e-01, 1.0,
    )
)  # fmt: skip

# Smaller powers count as this one; far below the largest of a row, see `direct`.
_LOWEST_DOUBLE, _LOWEST_SINGLE = -1021.0, np.float32(-125.0)


@intrinsic
@no_type_check
def _whole(typingctx, t):
    """The nearest integer."""

    def build(context, builder, signature, arguments):
        (x,) = arguments
        return builder.call(builder.module.declare_intrinsic("llvm.rint", [x.type]), [x])

    return t(t), build


@intrinsic
@no_type_check
def _times_power(typingctx, p, n):
    """The product p 2^n for an integer n held as a floating number."""
    mantissa = 52 if p is types.float64 else 23

    def build(context, builder, signature, arguments):
        value, power = arguments
        bits = ir.IntType(64 if mantissa == 52 else 32)
        # adding 1.5 * 2^mantissa leaves the integer in the last bits
        shifted = builder.fadd(power, ir.Constant(power.type, 1.5 * 2.0**mantissa))
        exponent = builder.shl(builder.bitcast(shifted, bits), ir.Constant(bits, mantissa))
        return builder.bitcast(builder.add(builder.bitcast(value, bits), exponent), value.type)

    return p(p, n), build


@no_type_check
def _horner(c, r, p):
    """Evaluate a polynomial; the coefficients are a tuple, taken one by one."""
    raise NotImplementedError


@overload(_horner, jit_options={"fastmath": _FAST})
@no_type_check
def _horner_of(c, r, p):
    if len(c) == 1:
        return lambda c, r, p: p * r + c[0]
    return lambda c, r, p: _horner(c[1:], r, p * r + c[0])


@no_type_check
def exponential(t):
    """2^t."""
    raise NotImplementedError


@overload(exponential, jit_options={"fastmath": _FAST})
@no_type_check
def _exponential_of(t):
    if t is types.float32:
        lowest, first, rest = _LOWEST_SINGLE, _SINGLE[0], _SINGLE[1:]
    else:
        lowest, first, rest = _LOWEST_DOUBLE, _DOUBLE[0], _DOUBLE[1:]

    def power(t):
        kept = max(t, lowest)
        whole = _whole(kept)
        return _times_power(_horner(rest, kept - whole, first), whole)

    return power


@no_type_check
def _row(xs, i):
    """Entry i of every array."""
    raise NotImplementedError


@overload(_row)
@no_type_check
def _row_of(xs, i):
    if len(xs) == 1:
        return lambda xs, i: (xs[0][i],)
    return lambda xs, i: (xs[0][i], *_row(xs[1:], i))


@no_type_check
def _span(xs, low, high):
    """A range of every array."""
    raise NotImplementedError


@overload(_span)
@no_type_check
def _span_of(xs, low, high):
    if len(xs) == 1:
        return lambda xs, low, high: (xs[0][low:high],)
    return lambda xs, low, high: (xs[0][low:high], *_span(xs[1:], low, high))


@no_type_check
def _dot(a, b, start):
    raise NotImplementedError


@overload(_dot, jit_options={"fastmath": _FAST})
@no_type_check
def _dot_of(a, b, start):
    if len(a) == 1:
        return lambda a, b, start: start + a[0] * b[0]
    return lambda a, b, start: _dot(a[1:], b[1:], start + a[0] * b[0])


@no_type_check
def _plus(total, weight, values):
    raise NotImplementedError


@overload(_plus, jit_options={"fastmath": _FAST})
@no_type_check
def _plus_of(total, weight, values):
    if len(total) == 1:
        return lambda total, weight, values: (total[0] + weight * values[0],)
    return lambda total, weight, values: (
        total[0] + weight * values[0],
        *_plus(total[1:], weight, values[1:]),
    )


@njit(fastmath=_FAST, nogil=True)
@no_type_check
def _largest(query, keys, logits, so_far):
    top = so_far
    for index in range(logits.shape[0]):
        j = np.uintp(index)  # no wrap-around of negative indices, which would stop the vectors
        top = max(top, _dot(query, _row(keys, j), logits[j]))
    return top


@njit(fastmath=_FAST, nogil=True)
@no_type_check
def _tile(query, keys, logits, values, shift, nothing):
    mass, total = logits.dtype.type(0), nothing
    for index in range(logits.shape[0]):
        j = np.uintp(index)
        weight = exponential(_dot(query, _row(keys, j), logits[j] - shift))
        mass += weight
        total = _plus(total, weight, _row(values, j))
    return mass, total


@no_type_check
def _nothing(values):
    """Zeros, as many as there are values."""
    raise NotImplementedError


@overload(_nothing)
@no_type_check
def _nothing_of(values):
    zero = np.float32(0) if values[0] is types.float32 else 0.0
    if len(values) == 1:
        return lambda values: (zero,)
    return lambda values: (zero, *_nothing(values[1:]))


@njit(nogil=True)
@no_type_check
def _seen(sizes, row, low):
    """How many keys of the tile at `low` a query sees."""
    _, keys, _, width, triangular = sizes
    end = row + 1 if triangular else keys
    return max(min(end - low, width, keys - low), 0)


@njit(nogil=True)
@no_type_check
def _tops(operands, sizes, member, rows):
    """The largest exponent of each row."""
    q, k, logits, _ = operands
    queries, keys, _, width, _ = sizes
    top = np.full(rows[1] - rows[0], -np.inf, logits.dtype)
    for low in range(0, keys, width):
        base = member * keys + low
        for i in range(rows[0], rows[1]):
            end = base + _seen(sizes, i, low)
            if end > base:
                query = _row(q, member * queries + i)
                near = _span(k, base, end)
                top[i - rows[0]] = _largest(query, near, logits[base:end], top[i - rows[0]])
    return top


@njit(nogil=True)
@no_type_check
def _totals(operands, sizes, member, rows, shifts):
    """Weighted sums of the values and, as the last column, of the weights alone."""
    q, k, logits, v = operands
    queries, keys, _, width, _ = sizes
    total = np.zeros((rows[1] - rows[0], len(v) + 1), np.float64)
    for low in range(0, keys, width):
        base = member * keys + low
        for i in range(rows[0], rows[1]):
            end = base + _seen(sizes, i, low)
            if end > base:
                query = _row(q, member * queries + i)
                near, far = _span(k, base, end), _span(v, base, end)
                shift, zeros = shifts[i - rows[0]], _nothing(query)
                mass, part = _tile(query, near, logits[base:end], far, shift, zeros)
                total[i - rows[0], -1] += mass
                for c in range(len(v)):
                    total[i - rows[0], c] += part[c]
    return total


@njit(nogil=True, cache=True)
@no_type_check
def sums(operands, sizes, searched, found, blocks):
    """Averages and base-2 log-sums of a range of query blocks.

    The operands q, k, logits, v are tuples of one array per coordinate (logits: one array), member
    after member. `sizes` are the numbers of queries, keys, queries in a block, keys in a tile, and
    1 if query i sees keys 0 to i only. A member is `searched` for the largest exponent of each row
    where a shift is needed. The results go to the two arrays `found`.
    """
    queries, block_rows = sizes[0], sizes[2]
    per_member = (queries + block_rows - 1) // block_rows
    for block in range(blocks[0], blocks[1]):
        member = block // per_member
        first = (block - member * per_member) * block_rows
        rows = (first, min(first + block_rows, queries))
        shifts = np.zeros(rows[1] - rows[0], operands[2].dtype)
        if searched[member]:
            shifts = _tops(operands, sizes, member, rows)
        total = _totals(operands, sizes, member, rows, shifts)
        here = member * queries + first
        found[1][here : here + len(shifts)] = np.log2(total[:, -1]) + shifts
        found[0][here : here + len(shifts)] = total[:, :-1] / total[:, -1:]
