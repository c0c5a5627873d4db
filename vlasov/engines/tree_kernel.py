# pyright: basic, reportCallIssue=false
# ruff: noqa: ANN001, ANN201, ANN202 - numba reads types off the arguments
"""A balanced tree over points: each node halves the points along the longest side of its box.

Node i has the children 2 i + 1 and 2 i + 2, and the points ``starts[i]`` to ``ends[i]`` of the
permuted order; all leaves are on the last level. Ties and repeated points need no care: the halves
are of equal number.
"""

__all__ = ["halve", "measure"]

from typing import no_type_check

import numpy as np
from numba import njit


@njit(nogil=True, cache=True)
@no_type_check
def halve(points, order, starts, ends, nodes):
    """Split a range of nodes of one level; `points` are (d, n) and move with `order`."""
    for node in range(nodes[0], nodes[1]):
        low, high = starts[node], ends[node]
        middle = (low + high + 1) // 2
        _select(points, order, low, high - 1, middle, _longest_side(points, low, high))
        starts[2 * node + 1], ends[2 * node + 1] = low, middle
        starts[2 * node + 2], ends[2 * node + 2] = middle, high


@njit(nogil=True)
@no_type_check
def _ends(x, low, high):
    """The smallest and the largest number of a range."""
    least = most = x[low]
    for i in range(low + 1, high):
        least, most = min(least, x[i]), max(most, x[i])
    return least, most


@njit(nogil=True)
@no_type_check
def _longest_side(points, low, high):
    best, side = -1.0, 0
    for c in range(points.shape[0]):
        least, most = _ends(points[c], low, high)
        if most - least > best:
            best, side = most - least, c
    return side


@njit(nogil=True)
@no_type_check
def _select(points, order, low, high, middle, side):
    """Bring the `middle` smallest coordinates of ``low .. high`` (both included) to the front."""
    key = points[side]
    while low < high:
        pivot = _median(key[low], key[(low + high) // 2], key[high])
        i, j = low, high
        while i <= j:
            while key[i] < pivot:
                i += 1
            while key[j] > pivot:
                j -= 1
            if i <= j:
                _swap(points, order, i, j)
                i += 1
                j -= 1
        if middle <= j:
            high = j
        elif middle >= i:
            low = i
        else:
            return


@njit(nogil=True)
@no_type_check
def _median(a, b, c):
    return max(min(a, b), min(max(a, b), c))


@njit(nogil=True)
@no_type_check
def _swap(points, order, i, j):
    for c in range(points.shape[0]):
        points[c, i], points[c, j] = points[c, j], points[c, i]
    order[i], order[j] = order[j], order[i]


@njit(nogil=True, cache=True)
@no_type_check
def measure(points, logits, spans, boxes, facts, nodes):
    """Box, centre, radius and largest logit of a range of nodes.

    `boxes` are (nodes, 2, d); `facts` hold the centre, the radius about it and the logit.
    """
    (starts, ends), d = spans, points.shape[0]
    for node in range(nodes[0], nodes[1]):
        low, high = starts[node], ends[node]
        for c in range(d):
            boxes[node, 0, c], boxes[node, 1, c] = _ends(points[c], low, high)
            facts[node, c] = (boxes[node, 0, c] + boxes[node, 1, c]) / 2
        radius = 0.0
        for i in range(low, high):
            square = 0.0
            for c in range(d):
                square += (points[c, i] - facts[node, c]) ** 2
            radius = max(radius, square)
        # a few roundings on the safe side
        facts[node, d] = np.sqrt(radius) * (1 + 1e-14)
        facts[node, d + 1] = _ends(logits, low, high)[1]
