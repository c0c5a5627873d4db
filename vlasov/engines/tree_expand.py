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

from numba import njit

from vlasov.engines.compiling import ENTRY_VECTORS, PASTED
from vlasov.engines.expansion import LONGEST
from vlasov.engines.intrinsics import larger, past, room, start
from vlasov.engines.tree_moments import evaluate, gather
from vlasov.engines.tree_rows import LANES, exponents, least, moved, powers_of, raised

_LN2 = 0.6931471805599453


@njit(**PASTED)
@no_type_check
def _stems(basis, polynomial):
    """The stems of a polynomial, as `tree_moments` takes them."""
    starts, stems, _ = basis
    first, end = starts[polynomial], starts[polynomial + 1]
    levels, sides, begins = start(stems, 0), start(stems, 1), past(start(stems, 2), first)
    return (past(levels, first), past(sides, first), begins, end - first)


@njit(**ENTRY_VECTORS)
@no_type_check
def gather_moments(scene, items, moments, tops):
    """Fill moments of key nodes tilted by query nodes, and the exponents that scale them."""
    ((_, k, logits, channels, _), (_, facts, spans, centres), basis) = scene
    (d, n), (_, count, terms) = k.shape, moments.shape
    ladder = room((2 * LONGEST + d) * LANES, 0.0)
    powers, offset = past(ladder, LONGEST * LANES), past(ladder, 2 * LONGEST * LANES)
    for i in range(items.shape[0]):
        item, sums = start(items, i), (start(moments, i), terms)
        tilt, centre, span = start(facts, item[0]), start(centres, item[1]), start(spans, item[1])
        stems, top = _stems(basis, item[2]), -1e300
        _cleared(sums[0], count * terms)
        blocks = (span[1] - span[0] + LANES - 1) // LANES
        for turn in range(2 * blocks):  # the largest exponent of all blocks comes first
            low = span[0] + turn % blocks * LANES
            lanes = least(LANES, span[1] - low)
            if turn < blocks or blocks > 1:
                moved((past(start(k, 0), low), n, d), centre, 1.0, lanes, offset)
                most = exponents(tilt, (offset, LANES, d), start(logits, low), lanes, ladder)
            if turn < blocks:
                top = larger(top, most)
                continue
            raised(ladder, top, lanes)
            powers_of(past(offset, (d - 1) * LANES), powers, stems[2][1] - stems[2][0], lanes)
            values = (past(start(channels, 0), low), n, count)
            gather(stems, offset, (powers, ladder), values, lanes, sums)
        _scaled(sums, count, start(basis[2], stems[2][0]), stems[2][stems[3]] - stems[2][0])
        tops[i] = top


@njit(**PASTED)
@no_type_check
def _cleared(sums, count):
    for i in range(count):
        sums[i] = 0.0


@njit(**PASTED)
@no_type_check
def _scaled(sums, count, coefficients, terms):
    for c in range(count):
        row = past(sums[0], c * sums[1])
        for term in range(terms):
            row[term] *= coefficients[term]


@njit(**ENTRY_VECTORS)
@no_type_check
def spread(scene, items, gathered, task, totals):
    """Add expansions to the queries of their nodes, or of the node `task` where it lies below.

    A negative `task` stands for the nodes of the items themselves.
    """
    ((q, _, _, _, lifts), (spans, facts, _, centres), basis), (moments, tops) = scene, gathered
    (d, n), (_, count, terms) = q.shape, moments.shape
    ladder = room((LONGEST + d + 1) * LANES, 0.0)
    offset = past(ladder, LONGEST * LANES)
    for i in range(items.shape[0]):
        item, sums = start(items, i), (start(moments, i), terms)
        own, part = start(spans, item[0]), start(spans, task if task >= 0 else item[0])
        if part[0] < own[0] or own[1] < part[1]:
            continue
        stems = _stems(basis, item[2])
        for low in range(part[0], part[1], LANES):
            lanes, x = least(LANES, part[1] - low), (past(start(q, 0), low), n, d)
            moved(x, start(facts, item[0]), _LN2, lanes, offset)
            exponents(start(centres, item[1]), x, start(lifts, low), lanes, ladder)
            raised(ladder, -tops[i], lanes)
            out = (past(start(totals, 0), low), n, count)
            evaluate(stems, (offset, d), ladder, sums, lanes, out)
