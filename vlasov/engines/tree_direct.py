# pyright: basic, reportCallIssue=false
# ruff: noqa: ANN001, ANN201, ANN202 - numba reads types off the arguments
"""Sums over pairs of nodes of the trees without approximation; arguments as in `tree_expand`."""

__all__ = ["sum_directly"]

from typing import no_type_check

from numba import njit

from vlasov.engines.compiling import ENTRY_VECTORS, PASTED
from vlasov.engines.intrinsics import past, room, start
from vlasov.engines.power_of_two import power_of_two
from vlasov.engines.tree_rows import LANES, least


@njit(**ENTRY_VECTORS)
@no_type_check
def sum_directly(scene, items, totals):
    """Add the keys of nodes to the queries of other ones without approximation."""
    (q, k, logits, channels, lifts), (queries, _, spans, _), _ = scene
    (d, n), m, count = q.shape, k.shape[1], channels.shape[0]
    query, row = room(d + 2, 0.0), room(LANES, 0.0)
    query[1], query[2] = 0.0, 0.0
    for item in range(items.shape[0]):
        own, span = start(queries, items[item, 0]), start(spans, items[item, 1])
        for low in range(span[0], span[1], LANES):
            lanes = least(span[1] - low, LANES)
            keys = past(start(k, 0), low), m, d
            values = past(start(channels, 0), low), m, count
            for i in range(own[0], own[1]):
                for c in range(d):
                    query[c] = q[c, i]
                _weights(query, keys, start(logits, low), lifts[i], lanes, row)
                _add_totals(row, values, lanes, past(start(totals, 0), i), n)


@njit(**PASTED)
@no_type_check
def _weights(a, points, logits, lift, lanes, row):
    """Fill a row with 2 to the power <a, point> + logit + lift."""
    x, stride, d = points
    y, z = past(x, stride * (d > 1)), past(x, 2 * stride * (d > 2))
    a0, a1, a2 = a[0], a[1], a[2]
    for lane in range(lanes):
        row[lane] = logits[lane] + lift + a0 * x[lane] + a1 * y[lane] + a2 * z[lane]
    for c in range(3, d):
        side, slope = past(x, c * stride), a[c]
        for lane in range(lanes):
            row[lane] += slope * side[lane]
    for lane in range(lanes):
        row[lane] = power_of_two(row[lane])


@njit(**PASTED)
@no_type_check
def _add_totals(row, channels, lanes, totals, queries):
    """Add the sums of the weighted channels to one of so many queries."""
    (u, stride, count), c = channels, 0
    while count - c >= 3:
        v, w = past(u, stride), past(u, 2 * stride)
        a, b, e = 0.0, 0.0, 0.0
        for lane in range(lanes):
            x = row[lane]
            a, b, e = a + x * u[lane], b + x * v[lane], e + x * w[lane]
        totals[c * queries] += a
        totals[(c + 1) * queries] += b
        totals[(c + 2) * queries] += e
        u, c = past(u, 3 * stride), c + 3
    while c < count:
        total = 0.0
        for lane in range(lanes):
            total += row[lane] * u[lane]
        totals[c * queries] += total
        u, c = past(u, stride), c + 1
