# pyright: basic, reportCallIssue=false
# ruff: noqa: ANN001, ANN201, ANN202 - numba reads types off the arguments
"""The loops of the causal walk over lanes of tokens that are cut into segments.

As in `tree_lanes`, but the moments of each segment of keys are kept apart, and each segment of
queries has moments of its own; what does not depend on them is done for all lanes at once.
"""

__all__ = ["through_segments"]

from typing import no_type_check

import numpy as np
from numba import njit

from vlasov.engines.compiling import INNER, VECTORS

_U1, _U2, _U3 = np.uintp(1), np.uintp(2), np.uintp(3)  # no sign to be checked


@njit(**INNER)
@no_type_check
def through_segments(stems, rows, cut, moments, channels, evaluates):
    """Add keys to the moments of their segments or, if it evaluates, those moments to queries.

    `rows` are the powers of the last coordinate, the ladder, whose first row are the weights, and
    the offsets; `cut` are the ends of the segments, their number, and the range of tokens. The
    channels are those of the keys, or the sums of the queries.
    """
    (powers, ladder, offset), (ends, segments, low, high) = rows, cut
    spans = np.empty((segments, 3), np.uintp)
    for segment in range(segments):
        first, end = max(ends[segment], low), min(ends[segment + 1], high)
        spans[segment, 0], spans[segment, 1] = first - low, first
        spans[segment, 2] = max(end - first, 0)
    for stem in range(stems.shape[0] - 1):
        level, base = stems[stem, 0], stems[stem, 2] - stems[0, 2]
        if level:
            _step(ladder[level - 1], offset[stems[stem, 1]], high - low, ladder[level])
        for first in range(0, stems[stem + 1, 2] - stems[stem, 2], 4):
            four = powers[first], powers[first + 1], powers[first + 2], powers[first + 3]
            where = moments, np.uintp(base + first)
            _all_channels(ladder[level], four, spans, where, channels, evaluates)


@njit(**INNER)
@no_type_check
def _all_channels(row, four, spans, where, channels, evaluates):
    (moments, at), c, count = where, np.uintp(0), channels.shape[0]
    while c + _U3 <= count:
        three = channels[c], channels[c + _U1], channels[c + _U2]
        for segment in range(spans.shape[0]):
            span = spans[segment, 0], spans[segment, 1], spans[segment, 2]
            if evaluates:
                _three_sums(row, four, span, (moments[segment], c, at), three)
            else:
                _three_moments(row, four, span, (moments[segment], c, at), three)
        c += _U3
    while c < count:
        for segment in range(spans.shape[0]):
            span = spans[segment, 0], spans[segment, 1], spans[segment, 2]
            if evaluates:
                _one_sum(row, four, span, (moments[segment], c, at), channels[c])
            else:
                _one_moment(row, four, span, (moments[segment], c, at), channels[c])
        c += _U1


@njit(**VECTORS)
@no_type_check
def _step(above, side, lanes, row):
    for lane in range(lanes):
        row[lane] = above[lane] * side[lane]


@njit(**VECTORS)
@no_type_check
def _one_moment(row, powers, span, where, u):
    """Add the sums of a row times a channel times four powers over a range of lanes."""
    (p0, p1, p2, p3), (lane, there, count), (out, c, at) = powers, span, where
    a0, a1, a2, a3 = 0.0, 0.0, 0.0, 0.0
    for i in range(count):
        x = row[lane + i] * u[there + i]
        a0 += x * p0[lane + i]
        a1 += x * p1[lane + i]
        a2 += x * p2[lane + i]
        a3 += x * p3[lane + i]
    _added(out[c], at, a0, a1, a2, a3)


@njit(**VECTORS)
@no_type_check
def _added(out, at, a0, a1, a2, a3):
    out[at] += a0
    out[at + _U1] += a1
    out[at + _U2] += a2
    out[at + _U3] += a3


@njit(**VECTORS)
@no_type_check
def _three_moments(row, powers, span, where, channels):
    """The same for three channels in one pass."""
    (u, v, w), (p0, p1, p2, p3), (lane, there, count), (out, c, at) = channels, powers, span, where
    a0, a1, a2, a3 = 0.0, 0.0, 0.0, 0.0
    b0, b1, b2, b3 = 0.0, 0.0, 0.0, 0.0
    c0, c1, c2, c3 = 0.0, 0.0, 0.0, 0.0
    for i in range(count):
        here, far = lane + i, there + i
        x, y, z = row[here] * u[far], row[here] * v[far], row[here] * w[far]
        q0, q1, q2, q3 = p0[here], p1[here], p2[here], p3[here]
        a0, a1, a2, a3 = a0 + x * q0, a1 + x * q1, a2 + x * q2, a3 + x * q3
        b0, b1, b2, b3 = b0 + y * q0, b1 + y * q1, b2 + y * q2, b3 + y * q3
        c0, c1, c2, c3 = c0 + z * q0, c1 + z * q1, c2 + z * q2, c3 + z * q3
    _added(out[c], at, a0, a1, a2, a3)
    _added(out[c + _U1], at, b0, b1, b2, b3)
    _added(out[c + _U2], at, c0, c1, c2, c3)


@njit(**VECTORS)
@no_type_check
def _picked(chain, at):
    return chain[at], chain[at + _U1], chain[at + _U2], chain[at + _U3]


@njit(**VECTORS)
@no_type_check
def _one_sum(row, powers, span, where, u):
    """Add a row times a polynomial of four coefficients over a range of lanes."""
    (p0, p1, p2, p3), (lane, there, count), (moments, c, at) = powers, span, where
    a0, a1, a2, a3 = _picked(moments[c], at)
    for i in range(count):
        j = lane + i
        u[there + i] += row[j] * (a0 * p0[j] + a1 * p1[j] + a2 * p2[j] + a3 * p3[j])


@njit(**VECTORS)
@no_type_check
def _three_sums(row, powers, span, where, sums):
    """The same for three channels in one pass."""
    (u, v, w), (p0, p1, p2, p3), (lane, there, count), (moments, c, at) = sums, powers, span, where
    a0, a1, a2, a3 = _picked(moments[c], at)
    b0, b1, b2, b3 = _picked(moments[c + _U1], at)
    c0, c1, c2, c3 = _picked(moments[c + _U2], at)
    for i in range(count):
        j, far = lane + i, there + i
        x, q0, q1, q2, q3 = row[j], p0[j], p1[j], p2[j], p3[j]
        u[far] += x * (a0 * q0 + a1 * q1 + a2 * q2 + a3 * q3)
        v[far] += x * (b0 * q0 + b1 * q1 + b2 * q2 + b3 * q3)
        w[far] += x * (c0 * q0 + c1 * q1 + c2 * q2 + c3 * q3)
