# pyright: basic, reportCallIssue=false
# ruff: noqa: ANN001, ANN201, ANN202 - numba reads types off the arguments
r"""Sums over a node of keys for the queries of another node, by a polynomial of the scores.

.. math:: \sum_j e^{\langle q, k_j\rangle + b_j} v_j
          = e^{\langle q, c\rangle} \sum_\alpha a_\alpha (q - a)^\alpha
            \sum_j e^{\langle a, k_j - c\rangle + b_j} (k_j - c)^\alpha v_j

for the centres a and c of the nodes, up to the relative error of the polynomial. Loops run over
lanes of tokens; the powers of the last coordinate are taken four at a time, see `expansion`.
`polynomials` are (radii, starts, levels, sides, chains, coefficients, terms).
"""

__all__ = ["LANES", "moments_of", "spread_to"]

from typing import no_type_check

import numpy as np
from numba import njit

from vlasov.engines.power_of_two import FAST, exponential

LANES = 128
_LN2 = 0.6931471805599453


@njit(nogil=True)
@no_type_check
def moments_of(scene, item, moments):
    """Fill the moments of key node b, tilted by query node a; the exponent they are scaled by."""
    (_, k, logits, v, _), (queries, keys), polynomials, _, _ = scene
    a, b, m = item[0], item[1], item[2]
    first, last = polynomials[1][m], polynomials[1][m + 1]
    levels, sides = polynomials[2][first:last], polynomials[3][first:last]
    chains = polynomials[4][first : last + 1]
    d, longest, terms = k.shape[0], chains[1] - chains[0], chains[-1] - chains[0]
    ladder, powers = np.empty((longest, LANES)), np.empty((longest, LANES))
    offset, scratch = np.empty((d, LANES)), np.empty(LANES)
    centre_q, centre_k = queries[3][a, :d], keys[3][b, :d]
    top = _tilted_top(centre_q, centre_k, (k, logits), (keys[0][b], keys[1][b]))
    for c in range(v.shape[0] + 1):
        for term in range(terms):
            moments[c, term] = 0.0
    for low in range(keys[0][b], keys[1][b], LANES):
        high = min(low + LANES, keys[1][b])
        for c in range(d):
            for lane in range(high - low):
                offset[c, lane] = k[c, low + lane] - centre_k[c]
        _powers(offset[d - 1], powers, high - low)
        _weights(centre_q, offset, logits[low:high], top, ladder[0])
        stems = (levels, sides, chains, high - low)
        _gather(stems, offset, (powers, ladder), scratch, v[:, low:high], moments)
    for c in range(v.shape[0] + 1):
        for term in range(terms):
            moments[c, term] *= polynomials[5][chains[0] + term]
    return top


@njit(nogil=True)
@no_type_check
def spread_to(scene, item, gathered, rows, totals):
    """Add an expansion to the queries of some rows; `gathered` are moments and their scale."""
    (q, _, _, v, shifts), (queries, keys), polynomials, _, _ = scene
    a, b, m = item[0], item[1], item[2]
    moments, top = gathered
    first, last = polynomials[1][m], polynomials[1][m + 1]
    levels, sides = polynomials[2][first:last], polynomials[3][first:last]
    chains = polynomials[4][first : last + 1]
    d = q.shape[0]
    ladder, reach = np.empty((chains[1] - chains[0], LANES)), np.empty((v.shape[0] + 1, LANES))
    offset, scratch = np.empty((d, LANES)), np.empty(LANES)
    for low in range(rows[0], rows[1], LANES):
        high = min(low + LANES, rows[1])
        lanes = high - low
        for c in range(d):
            for lane in range(lanes):
                offset[c, lane] = (q[c, low + lane] - queries[3][a, c]) * _LN2
        _lift(keys[3][b, :d], q, shifts, (low, lanes, top), ladder[0])
        for c in range(v.shape[0] + 1):
            for lane in range(lanes):
                reach[c, lane] = 0.0
        _evaluate((levels, sides, chains), offset, ladder, scratch[:lanes], moments, reach)
        for c in range(v.shape[0] + 1):
            for lane in range(lanes):
                totals[low + lane, c] += reach[c, lane]


@njit(nogil=True, fastmath=FAST)
@no_type_check
def _powers(side, powers, lanes):
    for lane in range(lanes):
        powers[0, lane] = 1.0
    for level in range(1, powers.shape[0]):
        above, row = powers[level - 1], powers[level]
        for lane in range(lanes):
            row[lane] = above[lane] * side[lane]


@njit(nogil=True, fastmath=FAST)
@no_type_check
def _tilted_top(centre_q, centre_k, key_points, span):
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
def _weights(centre_q, offset, logits, top, row):
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
def _lift(centre_k, q, shifts, where, row):
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
def _gather(stems, offset, rows, scratch, values, moments):
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
def _evaluate(stems, offset, ladder, scratch, moments, reach):
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
