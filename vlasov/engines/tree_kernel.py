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

from vlasov.engines.compiling import INNER, VECTORS

_STRIDE, _PRIME = 48271, 2**31 - 1  # Lehmer's generator of whole numbers


@njit(nogil=True, cache=True)
@no_type_check
def halve(points, order, spans, nodes):
    """Split a range of nodes of one level; `points` are (d, n) and move with `order`."""
    for node in range(nodes[0], nodes[1]):
        low, high = spans[node, 0], spans[node, 1]
        middle = (low + high + 1) // 2
        best, side = -1.0, np.int64(0)  # a bare 0 would be compiled for itself
        for c in range(points.shape[0]):
            least, most = _ends(points[c, low:high])
            if most - least > best:
                best, side = most - least, c
        _select(points, order, low, high - 1, middle, side)
        spans[2 * node + 1, 0], spans[2 * node + 1, 1] = low, middle
        spans[2 * node + 2, 0], spans[2 * node + 2, 1] = middle, high


@njit(**VECTORS)
@no_type_check
def _ends(x):
    """The smallest and the largest number."""
    least = most = x[0]
    for i in range(x.shape[0]):
        least, most = min(least, x[i]), max(most, x[i])
    return least, most


@njit(**INNER)
@no_type_check
def _select(points, order, low, high, middle, side):
    """Bring the `middle` smallest coordinates of ``low .. high`` (both included) to the front."""
    key, draw = points[side], np.int64(1)
    while low < high:
        # anywhere: along a circle in order, ends and middle are the extremes, time after time
        size, draw = high - low + 1, draw * _STRIDE % _PRIME
        pivot = _median(key[low + draw % size], key[low + draw // 7 % size], key[high])
        end = _front(points, order, (low, high), side, pivot, np.int64(0))
        if middle < end:
            high = end - 1
        elif end > low:
            low = end
        else:  # nothing is smaller: take out what is equal
            low = _front(points, order, (low, high), side, pivot, np.int64(1))
            if middle <= low:
                return


@njit(**INNER)
@no_type_check
def _front(points, order, span, side, pivot, equal):
    """Bring what is below the pivot (or equal to it) to the front; where that ends."""
    end = span[0]
    for i in range(span[0], span[1] + 1):
        x = points[side, i]
        # exchanged whatever x is: no branch that the processor could guess wrong
        for c in range(points.shape[0]):
            points[c, i], points[c, end] = points[c, end], points[c, i]
        order[i], order[end] = order[end], order[i]
        end += (x < pivot) | (equal & (x == pivot))
    return end


@njit(**INNER)
@no_type_check
def _median(a, b, c):
    return max(min(a, b), min(max(a, b), c))


@njit(nogil=True, cache=True)
@no_type_check
def measure(points, logits, spans, facts, nodes):
    """Fill the facts of a range of nodes."""
    d = points.shape[0]
    for node in range(nodes[0], nodes[1]):
        low, high = spans[node, 0], spans[node, 1]
        own = facts[node]
        for c in range(d):
            least, most = _ends(points[c, low:high])
            own[c], own[d + 2 + c], own[2 * d + 2 + c] = (least + most) / 2, least, most
        # a few roundings on the safe side
        own[d] = np.sqrt(_farthest(points[:, low:high], own)) * (1 + 1e-14)
        own[d + 1] = _ends(logits[low:high])[1]


@njit(**VECTORS)
@no_type_check
def _farthest(points, centre):
    """The largest squared distance of points from a centre."""
    d, most = points.shape[0], 0.0
    if d == 2:
        for i in range(points.shape[1]):
            most = max(most, (points[0, i] - centre[0]) ** 2 + (points[1, i] - centre[1]) ** 2)
        return most
    for i in range(points.shape[1]):
        square = 0.0
        for c in range(d):
            square += (points[c, i] - centre[c]) ** 2
        most = max(most, square)
    return most
