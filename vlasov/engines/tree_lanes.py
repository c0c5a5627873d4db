# pyright: basic, reportCallIssue=false
# ruff: noqa: ANN001, ANN201, ANN202 - numba reads types off the arguments
"""The loops of an expansion over lanes of tokens, `LANES` at a time, which become vectors.

`stems` are (levels, sides, chains), see `expansion`: powers of the last coordinate are taken four
at a time. Exponents are in base 2.
"""

__all__ = ["LANES", "evaluate", "gather", "lift", "powers_of", "tilted_top", "weights"]

from typing import no_type_check

from numba import njit

from vlasov.engines.power_of_two import FAST, exponential

LANES = 128


@njit(nogil=True, fastmath=FAST)
@no_type_check
def powers_of(side, powers, lanes):
    """Fill the rows with the powers of a coordinate."""
    for lane in range(lanes):
        powers[0, lane] = 1.0
    for level in range(1, powers.shape[0]):
        above, row = powers[level - 1], powers[level]
        for lane in range(lanes):
            row[lane] = above[lane] * side[lane]


@njit(nogil=True, fastmath=FAST)
@no_type_check
def tilted_top(centre_q, centre_k, key_points, span):
    """The largest exponent of keys about their centre, tilted by the centre of the queries."""
    (k, logits), (low, high) = key_points, span
    top = -1e300
    for j in range(low, high):
        total = logits[j]
        for c in range(k.shape[0]):
            total += centre_q[c] * (k[c, j] - centre_k[c])
        top = max(top, total)
    return top


@njit(nogil=True, fastmath=FAST)
@no_type_check
def weights(centre_q, offset, logits, top, row):
    """The weights of keys relative to that exponent."""
    lanes = logits.shape[0]
    for lane in range(lanes):
        row[lane] = logits[lane] - top
    for c in range(offset.shape[0]):
        a, side = centre_q[c], offset[c]
        for lane in range(lanes):
            row[lane] += a * side[lane]
    for lane in range(lanes):
        row[lane] = exponential(row[lane])


@njit(nogil=True, fastmath=FAST)
@no_type_check
def lift(centre_k, q, shifts, where, row):
    """What turns an expansion into weights of each query: the rest of its exponent."""
    low, lanes, top = where
    for lane in range(lanes):
        row[lane] = top - shifts[low + lane]
    for c in range(q.shape[0]):
        a, side = centre_k[c], q[c, low : low + lanes]
        for lane in range(lanes):
            row[lane] += a * side[lane]
    for lane in range(lanes):
        row[lane] = exponential(row[lane])


@njit(nogil=True, fastmath=FAST)
@no_type_check
def _step(ladder, level, side, lanes):
    above, row = ladder[level - 1], ladder[level]
    for lane in range(lanes):
        row[lane] = above[lane] * side[lane]


@njit(nogil=True, fastmath=FAST)
@no_type_check
def _dots(row, powers, first, lanes):
    p0, p1, p2, p3 = powers[first], powers[first + 1], powers[first + 2], powers[first + 3]
    s0, s1, s2, s3 = 0.0, 0.0, 0.0, 0.0
    for lane in range(lanes):
        x = row[lane]
        s0 += x * p0[lane]
        s1 += x * p1[lane]
        s2 += x * p2[lane]
        s3 += x * p3[lane]
    return s0, s1, s2, s3


@njit(nogil=True, fastmath=FAST)
@no_type_check
def _chain(row, powers, lanes, moments):
    """Add the moments of one stem: sums of a row times every power of the last coordinate."""
    for first in range(0, moments.shape[0], 4):
        s0, s1, s2, s3 = _dots(row, powers, first, lanes)
        moments[first] += s0
        moments[first + 1] += s1
        moments[first + 2] += s2
        moments[first + 3] += s3


@njit(nogil=True, fastmath=FAST)
@no_type_check
def gather(stems, offset, rows, scratch, values, moments):
    """Add the moments of some keys: sums of weights, and of weighted values, by monomial."""
    (levels, sides, chains, lanes), (powers, ladder) = stems, rows
    for stem in range(levels.shape[0]):
        level = levels[stem]
        if level:
            _step(ladder, level, offset[sides[stem]], lanes)
        row = ladder[level]
        low, high = chains[stem] - chains[0], chains[stem + 1] - chains[0]
        _chain(row, powers, lanes, moments[0, low:high])
        for c in range(values.shape[0]):
            value = values[c]
            for lane in range(lanes):
                scratch[lane] = row[lane] * value[lane]
            _chain(scratch, powers, lanes, moments[c + 1, low:high])


@njit(nogil=True, fastmath=FAST)
@no_type_check
def _horner(y, chain, scratch):
    """The polynomial of the last coordinate, four coefficients at a time from the highest."""
    first = chain.shape[0] - 4
    c0, c1, c2, c3 = chain[first], chain[first + 1], chain[first + 2], chain[first + 3]
    for lane in range(scratch.shape[0]):
        x = y[lane]
        scratch[lane] = ((c3 * x + c2) * x + c1) * x + c0
    for low in range(first - 4, -1, -4):
        c0, c1, c2, c3 = chain[low], chain[low + 1], chain[low + 2], chain[low + 3]
        for lane in range(scratch.shape[0]):
            x = y[lane]
            scratch[lane] = (((scratch[lane] * x + c3) * x + c2) * x + c1) * x + c0


@njit(nogil=True, fastmath=FAST)
@no_type_check
def evaluate(stems, offset, ladder, scratch, moments, reach):
    """Add the polynomials with these moments at some queries, one row for each channel."""
    levels, sides, chains = stems
    lanes, last = scratch.shape[0], offset[offset.shape[0] - 1]
    for stem in range(levels.shape[0]):
        level = levels[stem]
        if level:
            _step(ladder, level, offset[sides[stem]], lanes)
        row = ladder[level]
        low, high = chains[stem] - chains[0], chains[stem + 1] - chains[0]
        for c in range(moments.shape[0]):
            _horner(last, moments[c, low:high], scratch)
            out = reach[c]
            for lane in range(lanes):
                out[lane] += row[lane] * scratch[lane]
