# pyright: basic, reportCallIssue=false
# ruff: noqa: ANN001, ANN201, ANN202 - numba reads types off the arguments
r"""Sums over a node of keys for the queries of another node, by a polynomial of the scores.

.. math:: \sum_j e^{\langle q, k_j\rangle + b_j} v_j
          = e^{\langle q, c\rangle} \sum_\alpha a_\alpha (q - a)^\alpha
            \sum_j e^{\langle a, k_j - c\rangle + b_j} (k_j - c)^\alpha v_j

for the centres a and c of the nodes, up to the relative error of the polynomial.

`operands` are queries, keys, logits, channels (values whose first row is ones) and minus the
shift of each query; `trees` are spans and facts of the queries, then of the keys; `basis` are
starts, stems and coefficients. An `item` is a query node, a key node and the number of a
polynomial.
"""

__all__ = ["moments_of", "spread_to"]

from typing import no_type_check

import numpy as np
from numba import njit

from vlasov.engines.compiling import INNER
from vlasov.engines.tree_lanes import LANES, evaluate, exponents, gather, powers_of, raised

_LN2 = 0.6931471805599453


@njit(**INNER)
@no_type_check
def _moved(points, low, high, centre, factor, offset):
    """Fill the offsets of some points from a centre."""
    for c in range(points.shape[0]):
        for i in range(low, high):
            offset[c, i - low] = (points[c, i] - centre[c]) * factor


@njit(**INNER)
@no_type_check
def moments_of(scene, item, room, moments):
    """Fill the moments of a key node tilted by a query node; the exponent they are scaled by."""
    operands, trees, basis = scene
    (_, k, logits, channels, _), (_, facts, spans, centres) = operands, trees
    (offset, ladder, powers, _), (starts, all_stems, coefficients) = room, basis
    tilt, centre, m = facts[item[0]], centres[item[1]], item[2]
    stems = all_stems[starts[m] : starts[m + 1] + 1]
    first, longest = stems[0, 2], stems[1, 2] - stems[0, 2]
    terms = stems[stems.shape[0] - 1, 2] - first
    moments[:, :terms] = 0.0
    low, end = spans[item[1], 0], spans[item[1], 1]
    top, begin = -1e300, np.int64(0)  # a bare 0 would be compiled for itself
    for j in range(low, end, LANES):
        high = min(j + LANES, end)
        _moved(k, j, high, centre, 1.0, offset)
        top = max(top, exponents(tilt, offset, begin, logits[j:high], ladder[0]))
    for j in range(low, end, LANES):
        high = min(j + LANES, end)
        if end - low > LANES:
            _moved(k, j, high, centre, 1.0, offset)
            exponents(tilt, offset, begin, logits[j:high], ladder[0])
        raised(ladder[0], top, high - j)
        powers_of(offset[k.shape[0] - 1], powers[:longest], high - j)
        gather(stems, offset, (powers, ladder), channels, (j, high), moments)
    for c in range(channels.shape[0]):
        for term in range(terms):
            moments[c, term] *= coefficients[first + term]
    return top


@njit(**INNER)
@no_type_check
def spread_to(scene, item, room, gathered, rows, totals):
    """Add an expansion to the queries of some rows; `gathered` are moments and their scale."""
    operands, trees, basis = scene
    (q, _, _, _, lifts), (_, facts, _, centres) = operands, trees
    (offset, ladder, _, scratch), (starts, all_stems, _) = room, basis
    stems = all_stems[starts[item[2]] : starts[item[2] + 1] + 1]
    moments, top = gathered
    for low in range(rows[0], rows[1], LANES):
        high = min(low + LANES, rows[1])
        _moved(q, low, high, facts[item[0]], _LN2, offset)
        exponents(centres[item[1]], q, low, lifts[low:high], ladder[0])
        raised(ladder[0], -top, high - low)
        evaluate(stems, offset, (ladder, scratch), moments, (low, high), totals)
