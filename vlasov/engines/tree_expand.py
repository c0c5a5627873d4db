# pyright: basic, reportCallIssue=false
# ruff: noqa: ANN001, ANN201, ANN202 - numba reads types off the arguments
r"""Sums over a node of keys for the queries of another node, by a polynomial of the scores.

.. math:: \sum_j e^{\langle q, k_j\rangle + b_j} v_j
          = e^{\langle q, c\rangle} \sum_\alpha a_\alpha (q - a)^\alpha
            \sum_j e^{\langle a, k_j - c\rangle + b_j} (k_j - c)^\alpha v_j

for the centres a and c of the nodes, up to the relative error of the polynomial.

`operands` are queries, keys, logits, channels (values whose first row is ones) and minus the
shift of each query; `trees` are spans and facts of the queries, then of the keys; `basis` are
starts, stems and coefficients. `items` are rows (query node, key node, number of a polynomial).
"""

__all__ = ["gather_moments", "spread"]

from typing import no_type_check

import numpy as np
from numba import njit

from vlasov.engines.compiling import INNER
from vlasov.engines.expansion import LONGEST
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
def _stems(basis, polynomial):
    starts, stems, _ = basis
    return stems[starts[polynomial] : starts[polynomial + 1] + 1]


@njit(nogil=True, cache=True)
@no_type_check
def gather_moments(scene, items, moments, tops):
    """Fill moments of key nodes tilted by query nodes, and the exponents that scale them."""
    ((_, k, logits, channels, _), (_, facts, spans, centres), basis) = scene
    d = k.shape[0]
    scratch, begin = np.empty((2 * LONGEST + d, LANES)), np.int64(0)  # a 0 compiles for itself
    ladder, powers, offset = scratch[:LONGEST], scratch[LONGEST:-d], scratch[-d:]
    for i in range(items.shape[0]):
        tilt, centre, stems = facts[items[i, 0]], centres[items[i, 1]], _stems(basis, items[i, 2])
        first, end, top = spans[items[i, 1], 0], spans[items[i, 1], 1], -1e300
        longest = stems[1, 2] - stems[0, 2]
        moments[i, :, : stems[stems.shape[0] - 1, 2] - stems[0, 2]] = 0.0
        blocks = (end - first + LANES - 1) // LANES
        for turn in range(2 * blocks):  # the largest exponent of all blocks comes first
            low = first + turn % blocks * LANES
            high = min(low + LANES, end)
            if turn < blocks or blocks > 1:
                _moved(k, low, high, centre, 1.0, offset)
                most = exponents(tilt, offset, begin, logits[low:high], ladder[0])
            if turn < blocks:
                top = max(top, most)
                continue
            raised(ladder[0], top, high - low)
            powers_of(offset[d - 1], powers[:longest], high - low)
            gather(stems, offset, (powers, ladder), channels, (low, high), moments[i])
        _scaled(moments[i], basis[2], stems)
        tops[i] = top


@njit(**INNER)
@no_type_check
def _scaled(moments, coefficients, stems):
    first = stems[0, 2]
    for c in range(moments.shape[0]):
        for term in range(stems[stems.shape[0] - 1, 2] - first):
            moments[c, term] *= coefficients[first + term]


@njit(nogil=True, cache=True)
@no_type_check
def spread(scene, items, gathered, task, totals):
    """Add expansions to the queries of their nodes, or of the node `task` where it lies below.

    A negative `task` stands for the nodes of the items themselves.
    """
    ((q, _, _, _, lifts), (spans, facts, _, centres), basis), (moments, tops) = scene, gathered
    scratch = np.empty((LONGEST + q.shape[0] + 1, LANES))
    ladder, offset, row = scratch[:LONGEST], scratch[LONGEST:-1], scratch[-1]
    for i in range(items.shape[0]):
        own, part = spans[items[i, 0]], spans[task if task >= 0 else items[i, 0]]
        if part[0] < own[0] or own[1] < part[1]:
            continue
        stems = _stems(basis, items[i, 2])
        for low in range(part[0], part[1], LANES):
            high = min(low + LANES, part[1])
            _moved(q, low, high, facts[items[i, 0]], _LN2, offset)
            exponents(centres[items[i, 1]], q, low, lifts[low:high], ladder[0])
            raised(ladder[0], -tops[i], high - low)
            evaluate(stems, offset, (ladder, row), moments[i], (low, high), totals)
