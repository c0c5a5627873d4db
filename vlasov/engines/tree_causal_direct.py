# pyright: basic, reportCallIssue=false, reportArgumentType=false
# ruff: noqa: ANN001, ANN201, ANN202 - numba reads types off the arguments
"""Sums over ranges of keys in causal order, without approximation."""

__all__ = ["sum_seen"]

from typing import no_type_check

from numba import njit

from vlasov.engines.compiling import ENTRY_VECTORS, INNER, VECTORS
from vlasov.engines.intrinsics import past, room, start
from vlasov.engines.power_of_two import power_of_two
from vlasov.engines.register_ends import first, total
from vlasov.engines.registers import ONE, WIDE, filled, fused, loaded, plus, stored
from vlasov.engines.tree_rows import LANES, least

_NONE = -1e300
"""The exponent of a key that is none."""


@njit(**ENTRY_VECTORS)
@no_type_check
def sum_seen(scene, items, blocks, totals):
    """Add ranges of keys to ranges of queries.

    A query sees the keys of the blocks of positions before its own; `blocks` are where one begins,
    and their size. If that is 0 it sees all keys that are not later. The scene begins as in
    `tree_causal_walk`; `items` are rows (first query, end of queries, first key, end of keys,
    query level, key level), and the tokens of a range stand in the order of their positions.
    """
    ((q_positions, q), (k_positions, k)), (begin, block) = scene, blocks
    (d, n), row = (q.shape[1] - 1, q.shape[2]), room(LANES + WIDE, 0.0)
    for i in range(items.shape[0]):
        item = start(items, i)
        early, seen = start(q_positions, item[4]), start(k_positions, item[5])
        queries, keys = (start(q, item[4]), n), (start(k, item[5]), k.shape[2])
        sums = start(totals, item[4]), n, totals.shape[1]
        for low in range(item[2], item[3], LANES):  # few keys at a time, which stay near
            high = least(low + LANES, item[3])
            end = low
            for query in range(item[0], item[1]):
                at = early[query]
                limit = at - (at - begin) % block if block else at + 1
                while end < high and seen[end] < limit:
                    end += 1
                if end > low:
                    _add(queries, keys, (query, low, end, d), row, sums)


@njit(**INNER)
@no_type_check
def _add(queries, keys, part, row, sums):
    """Add the keys of a range to the sums of a query."""
    (q, nq), (k, n), (query, low, end, d), (out, stride, channels) = queries, keys, part, sums
    own, x, count = past(q, query), past(k, low), end - low
    logits, u = past(x, d * n), past(x, (d + 1) * n)  # and of the channels, of which one is there
    if d > 2:
        _tilt((own, nq, d), x, n, count, row)
        logits = row
    y = past(x, n) if d > 1 else x
    slopes = own[0], own[nq] if d > 1 else 0.0, own[d * nq]
    v = past(u, n) if channels > 1 else u
    w = past(u, 2 * n) if channels > 2 else u
    mass, one, two = _weights(slopes, (x, y, logits, v, w), count, row)
    out[query] += mass
    if channels > 1:
        out[stride + query] += one
    if channels > 2:
        out[2 * stride + query] += two
    for channel in range(3, channels):
        out[channel * stride + query] += _dot(row, past(u, channel * n), count)


@njit(**VECTORS)
@no_type_check
def _tilt(query, x, n, count, row):
    """Fill a row with logits, and what the coordinates after the second one add."""
    own, nq, d = query
    for lane in range(count):
        row[lane] = x[d * n + lane]
    for c in range(2, d):
        slope, side = own[c * nq], past(x, c * n)
        for lane in range(count):
            row[lane] += slope * side[lane]


@njit(**VECTORS)
@no_type_check
def _weights(slopes, sides, count, row):
    """Fill a row with weights; their sum, and those of weights times two channels."""
    x, y, logits, v, w = sides
    a, b, shift = filled(slopes[0], ONE), filled(slopes[1], ONE), filled(slopes[2], ONE)
    mass = one = two = filled(0.0, ONE)
    whole = count - count % WIDE
    for j in range(0, whole, WIDE):
        t = fused(b, loaded(past(y, j), ONE), plus(loaded(past(logits, j), ONE), shift))
        weight = power_of_two(fused(a, loaded(past(x, j), ONE), t))
        stored(past(row, j), weight)
        mass, one = plus(mass, weight), fused(weight, loaded(past(v, j), ONE), one)
        two = fused(weight, loaded(past(w, j), ONE), two)
    if whole < count:
        rest = count - whole
        t = plus(first(past(logits, whole), rest, _NONE), shift)
        t = fused(b, first(past(y, whole), rest, 0.0), t)
        weight = power_of_two(fused(a, first(past(x, whole), rest, 0.0), t))
        stored(past(row, whole), weight)
        mass = plus(mass, weight)
        one = fused(weight, first(past(v, whole), rest, 0.0), one)
        two = fused(weight, first(past(w, whole), rest, 0.0), two)
    return total(mass), total(one), total(two)


@njit(**VECTORS)
@no_type_check
def _dot(row, channel, count):
    found = 0.0
    for lane in range(count):
        found += row[lane] * channel[lane]
    return found
