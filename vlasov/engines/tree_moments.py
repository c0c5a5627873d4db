# pyright: basic, reportCallIssue=false
# ruff: noqa: ANN001, ANN201, ANN202 - numba reads types off the arguments
"""The moments of keys and the polynomials at queries, over lanes of tokens, see `tree_rows`.

`stems` are levels, last factors, where their chains begin (one more than there are stems), and
their number, see `expansion`: powers of the last coordinate are taken four at a time. Channels
are values whose first row is ones.
"""

__all__ = ["evaluate", "gather"]

from typing import no_type_check

from numba import njit

from vlasov.engines.compiling import PASTED, VECTORS
from vlasov.engines.intrinsics import past
from vlasov.engines.tree_rows import LANES, step


@njit(**PASTED)
@no_type_check
def _one(row, u, powers, lanes, out):
    """Add the sums of a row times a channel times four powers."""
    p1, p2, p3 = past(powers, LANES), past(powers, 2 * LANES), past(powers, 3 * LANES)
    a0, a1, a2, a3 = 0.0, 0.0, 0.0, 0.0
    for lane in range(lanes):
        x = row[lane] * u[lane]
        a0 += x * powers[lane]
        a1 += x * p1[lane]
        a2 += x * p2[lane]
        a3 += x * p3[lane]
    _added(out, a0, a1, a2, a3)


@njit(**PASTED)
@no_type_check
def _added(out, a0, a1, a2, a3):
    out[0] += a0
    out[1] += a1
    out[2] += a2
    out[3] += a3


@njit(**PASTED)
@no_type_check
def _three(row, channels, powers, lanes, outs):
    """The same for three channels in one pass."""
    (u, stride), (out, terms) = channels, outs
    v, w = past(u, stride), past(u, 2 * stride)
    p1, p2, p3 = past(powers, LANES), past(powers, 2 * LANES), past(powers, 3 * LANES)
    a0, a1, a2, a3 = 0.0, 0.0, 0.0, 0.0
    b0, b1, b2, b3 = 0.0, 0.0, 0.0, 0.0
    c0, c1, c2, c3 = 0.0, 0.0, 0.0, 0.0
    for lane in range(lanes):
        x, y, z = row[lane] * u[lane], row[lane] * v[lane], row[lane] * w[lane]
        q0, q1, q2, q3 = powers[lane], p1[lane], p2[lane], p3[lane]
        a0, a1, a2, a3 = a0 + x * q0, a1 + x * q1, a2 + x * q2, a3 + x * q3
        b0, b1, b2, b3 = b0 + y * q0, b1 + y * q1, b2 + y * q2, b3 + y * q3
        c0, c1, c2, c3 = c0 + z * q0, c1 + z * q1, c2 + z * q2, c3 + z * q3
    _added(out, a0, a1, a2, a3)
    _added(past(out, terms), b0, b1, b2, b3)
    _added(past(out, 2 * terms), c0, c1, c2, c3)


@njit(**VECTORS)
@no_type_check
def gather(stems, offset, rows, channels, lanes, moments):
    """Add the moments of some keys: sums of weighted channels by monomial."""
    (levels, sides, begins, number), (powers, ladder) = stems, rows
    (values, stride, count), (sums, terms) = channels, moments
    for stem in range(number):
        if levels[stem]:
            step(ladder, levels[stem], past(offset, sides[stem] * LANES), lanes)
        row, first = past(ladder, levels[stem] * LANES), begins[stem]
        for at in range(first, begins[stem + 1], 4):
            some, out, c = past(powers, (at - first) * LANES), past(sums, at - begins[0]), 0
            while count - c >= 3:
                u, outs = past(values, c * stride), (past(out, c * terms), terms)
                _three(row, (u, stride), some, lanes, outs)
                c += 3
            while c < count:
                _one(row, past(values, c * stride), some, lanes, past(out, c * terms))
                c += 1


@njit(**PASTED)
@no_type_check
def _four(x, s, c):
    """Four steps of Horner's rule, from s on."""
    return (((s * x + c[3]) * x + c[2]) * x + c[1]) * x + c[0]


@njit(**PASTED)
@no_type_check
def _picked(chain, first):
    return chain[first], chain[first + 1], chain[first + 2], chain[first + 3]


@njit(**PASTED)
@no_type_check
def _short(y, chain, row, lanes, out):
    """Add a row times a polynomial of four or eight coefficients."""
    coefficients, count = chain
    c = _picked(coefficients, 0)
    if count == 4:
        for lane in range(lanes):
            out[lane] += row[lane] * _four(y[lane], 0.0, c)
        return
    b = _picked(coefficients, 4)
    for lane in range(lanes):
        out[lane] += row[lane] * _four(y[lane], _four(y[lane], 0.0, b), c)


@njit(**PASTED)
@no_type_check
def _long(y, chain, row, lanes, out):
    """Add a row times a polynomial of more coefficients; the row after `y` is free."""
    (coefficients, count), scratch = chain, past(y, LANES)
    b, c = _picked(coefficients, count - 4), _picked(coefficients, count - 8)
    for lane in range(lanes):
        scratch[lane] = _four(y[lane], _four(y[lane], 0.0, b), c)
    for low in range(count - 12, 0, -4):
        c = _picked(coefficients, low)
        for lane in range(lanes):
            scratch[lane] = _four(y[lane], scratch[lane], c)
    c = _picked(coefficients, 0)
    for lane in range(lanes):
        out[lane] += row[lane] * _four(y[lane], scratch[lane], c)


@njit(**VECTORS)
@no_type_check
def evaluate(stems, offset, ladder, moments, lanes, totals):
    """Add the polynomials with these moments at some queries, for each channel.

    `offset` is (address, number); the row after its last one is free.
    """
    (levels, sides, begins, number), (sides_of, d) = stems, offset
    (sums, terms), (out, stride, count) = moments, totals
    last = past(sides_of, (d - 1) * LANES)
    for stem in range(number):
        if levels[stem]:
            step(ladder, levels[stem], past(sides_of, sides[stem] * LANES), lanes)
        row, length = past(ladder, levels[stem] * LANES), begins[stem + 1] - begins[stem]
        for c in range(count):
            chain = past(sums, c * terms + begins[stem] - begins[0]), length
            if length > 8:
                _long(last, chain, row, lanes, past(out, c * stride))
            else:
                _short(last, chain, row, lanes, past(out, c * stride))
