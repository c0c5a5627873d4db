# pyright: basic, reportCallIssue=false
# ruff: noqa: ANN001, ANN201, ANN202 - numba reads types off the arguments
"""Sums over ranges of keys in causal order, without approximation."""

__all__ = ["sum_seen"]

from typing import no_type_check

import numpy as np
from numba import njit

from vlasov.engines.compiling import INNER, VECTORS
from vlasov.engines.power_of_two import exponential
from vlasov.engines.tree_lanes import LANES

_GROUP = 16
"""Lanes come in whole groups, those too many with weight zero: a rest would cost as much."""


@njit(nogil=True, cache=True)
@no_type_check
def sum_seen(scene, items, blocks, totals):
    """Add ranges of keys to ranges of queries.

    A query sees the keys of the blocks of positions before its own; `blocks` are where one begins,
    and their size. If that is 0 it sees all keys that are not later. The scene begins as in
    `tree_causal_walk`; `items` are rows (first query, end of queries, first key, end of keys,
    query level, key level), and the tokens of a range stand in the order of their positions.
    """
    ((q_positions, q), (k_positions, k)), (begin, block) = scene[:2], blocks
    row = np.empty(LANES)
    for item in range(items.shape[0]):
        keys, positions = k[items[item, 5]], k_positions[items[item, 5]]
        queries, out = q[items[item, 4]], totals[items[item, 4]]
        first, end = items[item, 2], items[item, 2]
        for i in range(items[item, 0], items[item, 1]):
            at = q_positions[items[item, 4], i]
            limit = at - (at - begin) % block if block else at + 1
            while end < items[item, 3] and positions[end] < limit:
                end += 1
            for low in range(first, end, LANES):
                _add(queries, i, keys, (low, min(low + LANES, end)), row, out)


@njit(**INNER)
@no_type_check
def _add(queries, i, keys, part, row, totals):
    """Add the keys of a range to the sums of a query."""
    d, last, (low, high) = queries.shape[0] - 1, keys.shape[0] - 1, part
    groups = (high - low + _GROUP - 1) // _GROUP
    span = np.uintp(low), np.uintp(high - low), np.uintp(min(groups * _GROUP, keys.shape[1] - low))
    for lane in range(span[2]):
        row[lane] = keys[d, span[0] + lane]
    for c in range(2, d):
        _tilt(queries[c, i], keys[c], span, row)
    slopes = queries[0, i], queries[1, i] if d > 1 else 0.0, queries[d, i]
    sides = keys[0], keys[min(1, d - 1)], keys[min(d + 2, last)], keys[min(d + 3, last)]
    mass, one, two = _weights(slopes, sides, span, row)
    totals[0, i] += mass
    if totals.shape[0] > 1:
        totals[1, i] += one
    if totals.shape[0] > 2:
        totals[2, i] += two
    for channel in range(3, totals.shape[0]):
        totals[channel, i] += _dot(row, keys[d + 1 + channel], span)


@njit(**VECTORS)
@no_type_check
def _tilt(slope, side, span, row):
    for lane in range(span[2]):
        row[lane] += slope * side[span[0] + lane]


@njit(**VECTORS)
@no_type_check
def _weights(slopes, sides, span, row):
    """Turn what is in a row into weights; their sum, and those of weights times two channels."""
    (a, b, shift), (x, y, u, v), (low, count, lanes) = slopes, sides, span
    mass, one, two = 0.0, 0.0, 0.0
    for lane in range(lanes):
        j = low + lane
        w = exponential(row[lane] + shift + a * x[j] + b * y[j])
        w = w if lane < count else 0.0
        row[lane] = w
        mass, one, two = mass + w, one + w * u[j], two + w * v[j]
    return mass, one, two


@njit(**VECTORS)
@no_type_check
def _dot(row, channel, span):
    total = 0.0
    for lane in range(span[1]):
        total += row[lane] * channel[span[0] + lane]
    return total
