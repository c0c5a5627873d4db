# pyright: basic, reportCallIssue=false
# ruff: noqa: ANN001, ANN201 - numba reads types off the arguments
r"""Sums over a node of keys for the queries of another node, by a polynomial of the scores.

.. math:: \sum_j e^{\langle q, k_j\rangle + b_j} v_j
          = e^{\langle q, c\rangle} \sum_\alpha a_\alpha (q - a)^\alpha
            \sum_j e^{\langle a, k_j - c\rangle + b_j} (k_j - c)^\alpha v_j

for the centres a and c of the nodes, up to the relative error of the polynomial. Loops run over
lanes of tokens; the powers of the last coordinate are taken four at a time, see `expansion`.
`polynomials` are (radii, starts, levels, sides, chains, coefficients, terms).
"""

__all__ = ["moments_of", "spread_to"]

from typing import no_type_check

import numpy as np
from numba import njit

from vlasov.engines.tree_lanes import (
    LANES,
    evaluate,
    gather,
    lift,
    powers_of,
    tilted_top,
    weights,
)

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
    top = tilted_top(centre_q, centre_k, (k, logits), (keys[0][b], keys[1][b]))
    for c in range(v.shape[0] + 1):
        for term in range(terms):
            moments[c, term] = 0.0
    for low in range(keys[0][b], keys[1][b], LANES):
        high = min(low + LANES, keys[1][b])
        for c in range(d):
            for lane in range(high - low):
                offset[c, lane] = k[c, low + lane] - centre_k[c]
        powers_of(offset[d - 1], powers, high - low)
        weights(centre_q, offset, logits[low:high], top, ladder[0])
        stems = (levels, sides, chains, high - low)
        gather(stems, offset, (powers, ladder), scratch, v[:, low:high], moments)
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
        lift(keys[3][b, :d], q, shifts, (low, lanes, top), ladder[0])
        for c in range(v.shape[0] + 1):
            for lane in range(lanes):
                reach[c, lane] = 0.0
        evaluate((levels, sides, chains), offset, ladder, scratch[:lanes], moments, reach)
        for c in range(v.shape[0] + 1):
            for lane in range(lanes):
                totals[low + lane, c] += reach[c, lane]
