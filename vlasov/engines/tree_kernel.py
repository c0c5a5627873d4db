# pyright: basic, reportCallIssue=false
# ruff: noqa: ANN001, ANN201, ANN202 - numba reads types off the arguments
"""A balanced tree over points: each node halves the points along the longest side of its box.

Node i has the children 2 i + 1 and 2 i + 2, and the points ``spans[i, 0]`` to ``spans[i, 1]`` of
the permuted order; all leaves are on the last level. Ties and repeated points need no care: the
halves are of equal number. `facts` of a node are its centre (d numbers), the radius about it, the
largest logit, and the lower and the upper corner of its box.
"""

__all__ = ["halve", "measure"]

from typing import no_type_check

import numpy as np
from numba import njit

from vlasov.engines.compiling import ENTRY_VECTORS, INNER, PASTED
from vlasov.engines.intrinsics import larger, past, smaller, start

_STRIDE, _PRIME = 48271, 2**31 - 1  # Lehmer's generator of whole numbers


@njit(**ENTRY_VECTORS)
@no_type_check
def halve(points, order, spans, nodes):
    """Split a range of nodes of one level; `points` are (d, n) and move with `order`."""
    (d, n), moved = points.shape, start(order, 0)
    for node in range(nodes[0], nodes[1]):
        span, halves = start(spans, node), start(spans, 2 * node + 1)
        low, high = span[0], span[1]
        middle = (low + high + 1) // 2
        best, side = -1.0, np.int64(0)  # a bare 0 would be compiled for itself
        for c in range(d):
            least, most = _ends(past(start(points, c), low), high - low)
            if most - least > best:
                best, side = most - least, c
        _select((start(points, 0), n, d, moved), low, high - 1, middle, side)
        halves[0], halves[1], halves[2], halves[3] = low, middle, middle, high


@njit(**PASTED)
@no_type_check
def _ends(x, count):
    """The smallest and the largest number."""
    least = most = x[0]
    for i in range(count):
        least, most = smaller(least, x[i]), larger(most, x[i])
    return least, most


@njit(**INNER)
@no_type_check
def _select(cloud, low, high, middle, side):
    """Bring the `middle` smallest coordinates of ``low .. high`` (both included) to the front."""
    key, draw = past(cloud[0], side * cloud[1]), np.int64(1)
    while low < high:
        # anywhere: along a circle in order, ends and middle are the extremes, time after time
        size, draw = high - low + 1, draw * _STRIDE % _PRIME
        pivot = _median(key[low + draw % size], key[low + draw // 7 % size], key[high])
        end = _front(cloud, (low, high), key, pivot, np.int64(0))
        if middle < end:
            high = end - 1
        elif end > low:
            low = end
        else:  # nothing is smaller: take out what is equal
            low = _front(cloud, (low, high), key, pivot, np.int64(1))
            if middle <= low:
                return


@njit(**PASTED)
@no_type_check
def _front(cloud, span, key, pivot, equal):
    """Bring what is below the pivot (or equal to it) to the front; where that ends."""
    (x, stride, d, order), (end, high) = cloud, span
    for i in range(end, high + 1):
        own = key[i]
        # exchanged whatever it is: no branch that the processor could guess wrong
        for c in range(d):
            here, there = c * stride + i, c * stride + end
            x[here], x[there] = x[there], x[here]
        order[i], order[end] = order[end], order[i]
        end += (own < pivot) | (equal & (own == pivot))
    return end


@njit(**PASTED)
@no_type_check
def _median(a, b, c):
    return larger(smaller(a, b), smaller(larger(a, b), c))


@njit(**ENTRY_VECTORS)
@no_type_check
def measure(points, logits, spans, facts, nodes):
    """Fill the facts of a range of nodes."""
    d, n = points.shape
    for node in range(nodes[0], nodes[1]):
        own, span = start(facts, node), start(spans, node)
        low, count = span[0], span[1] - span[0]
        for c in range(d):
            least, most = _ends(past(start(points, c), low), count)
            own[c], own[d + 2 + c], own[2 * d + 2 + c] = (least + most) / 2, least, most
        # a few roundings on the safe side
        square = _farthest((past(start(points, 0), low), n, d), own, count)
        own[d] = np.sqrt(square) * (1 + 1e-14)
        own[d + 1] = _ends(start(logits, low), count)[1]


@njit(**PASTED)
@no_type_check
def _farthest(points, centre, count):
    """The largest squared distance of points from a centre."""
    (x, stride, d), most = points, 0.0
    if d == 2:
        y = past(x, stride)
        for i in range(count):
            along, across = x[i] - centre[0], y[i] - centre[1]
            most = larger(most, along * along + across * across)
        return most
    for i in range(count):
        square = 0.0
        for c in range(d):
            off = x[c * stride + i] - centre[c]
            square += off * off
        most = larger(most, square)
    return most
