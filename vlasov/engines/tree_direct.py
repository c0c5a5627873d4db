# pyright: basic, reportCallIssue=false
# ruff: noqa: ANN001, ANN201, ANN202 - numba reads types off the arguments
"""Sums over pairs of nodes of the trees without approximation; arguments as in `tree_expand`."""

__all__ = ["sum_directly"]

from typing import no_type_check

import numpy as np
from numba import njit

from vlasov.engines.compiling import VECTORS
from vlasov.engines.power_of_two import exponential
from vlasov.engines.tree_lanes import LANES


@njit(nogil=True, cache=True)
@no_type_check
def sum_directly(scene, items, totals):
    """Add the keys of nodes to the queries of other ones without approximation."""
    (q, k, logits, channels, lifts), (queries, _, spans, _) = scene[0], scene[1]
    query, moved, row = np.empty(q.shape[0]), np.empty(LANES), np.empty(LANES)
    for item in range(items.shape[0]):
        low, end = spans[items[item, 1], 0], spans[items[item, 1], 1]
        for j in range(low, end, LANES):
            high = min(j + LANES, end)
            for i in range(queries[items[item, 0], 0], queries[items[item, 0], 1]):
                for c in range(q.shape[0]):
                    query[c] = q[c, i]
                shift = -lifts[i]
                for lane in range(high - j):
                    moved[lane] = logits[j + lane] - shift
                _weights(query, k, j, moved[: high - j], row)
                _add_totals(row, channels, (j, high), totals, i)


@njit(**VECTORS)
@no_type_check
def _weights(a, points, low, logits, row):
    """Fill a row with 2 to the power <a, point> + logit for the points from `low` on."""
    lanes, d = logits.shape[0], points.shape[0]
    x, y, z = points[0, low:], points[min(d - 1, 1), low:], points[min(d - 1, 2), low:]
    a1, a2 = a[1] if d > 1 else 0.0, a[2] if d > 2 else 0.0
    for lane in range(lanes):
        row[lane] = logits[lane] + a[0] * x[lane] + a1 * y[lane] + a2 * z[lane]
    for c in range(3, d):
        side = points[c, low : low + lanes]
        for lane in range(lanes):
            row[lane] += a[c] * side[lane]
    for lane in range(lanes):
        row[lane] = exponential(row[lane])


@njit(**VECTORS)
@no_type_check
def _add_totals(row, channels, span, totals, query):
    """Add the sums of the weighted channels, of a range of keys, to one query."""
    (first, end), c = span, 0
    lanes = end - first
    while channels.shape[0] - c >= 3:
        u, v, w = channels[c, first:end], channels[c + 1, first:end], channels[c + 2, first:end]
        a, b, e = 0.0, 0.0, 0.0
        for lane in range(lanes):
            x = row[lane]
            a, b, e = a + x * u[lane], b + x * v[lane], e + x * w[lane]
        totals[c, query] += a
        totals[c + 1, query] += b
        totals[c + 2, query] += e
        c += 3
    while c < channels.shape[0]:
        total, channel = 0.0, channels[c, first:end]
        for lane in range(lanes):
            total += row[lane] * channel[lane]
        totals[c, query] += total
        c += 1
