# pyright: basic, reportCallIssue=false
# ruff: noqa: ANN001, ANN201, ANN202 - numba reads types off the arguments
r"""The farthest two points of a tree: pairs of nodes, the most promising first.

A pair of nodes is left out once no pair of its points can be farther apart than two found already.
Two bounds tell: the distance between the far corners of the boxes, and

.. math:: |x - y|^2 = 2|x|^2 + 2|y|^2 - |x + y|^2

with the largest norms in the nodes, which is sharp on a sphere: only opposite leaves remain.
"""

__all__ = ["farthest_two"]

from typing import no_type_check

import numpy as np
from numba import njit

from vlasov.observables.box_distance import (
    farthest,
    mirrored_to_box,
    nearest_mirrored,
    of_points,
)


@njit(nogil=True)
@no_type_check
def _largest_norms(points, tree):
    """The largest squared norm of the points of each node."""
    starts, ends, _, first_leaf = tree
    norms = np.zeros(len(starts))
    for node in range(len(starts) - 1, -1, -1):
        if node < first_leaf:
            norms[node] = max(norms[2 * node + 1], norms[2 * node + 2])
            continue
        for i in range(starts[node], ends[node]):
            norms[node] = max(norms[node], _square(points, i))
    return norms


@njit(nogil=True)
@no_type_check
def _square(points, i):
    total = 0.0
    for c in range(points.shape[0]):
        total += points[c, i] ** 2
    return total


@njit(nogil=True)
@no_type_check
def _bound(boxes, norms, a, b):
    """No two points of the nodes are farther apart, squared."""
    mirrored = 2 * (norms[a] + norms[b]) - nearest_mirrored(boxes, a, b)
    return min(farthest(boxes, a, b), mirrored)


@njit(nogil=True)
@no_type_check
def _compare(points, tree, norms, found, pair):
    """Compare the points of two leaves; `found` is (squared distance, first, second)."""
    (starts, ends, boxes, _), (a, b) = tree, pair
    best, first, second = found
    for i in range(starts[a], ends[a]):
        if 2 * (_square(points, i) + norms[b]) - mirrored_to_box(points, i, boxes, b) <= best:
            continue
        for j in range(starts[b], ends[b]):
            square = of_points(points, i, j)
            if square > best:
                best, first, second = square, i, j
    return best, first, second


@njit(nogil=True)
@no_type_check
def _push_halves(stack, height, tree, norms, pair):
    """Split the node with the longer diagonal; the more promising half comes off first."""
    (_, _, boxes, first_leaf), (a, b) = tree, pair
    wider = farthest(boxes, a, a) > farthest(boxes, b, b)
    splits_a = a < first_leaf and (b >= first_leaf or wider)
    parent, other = (a, b) if splits_a else (b, a)
    left, right = 2 * parent + 1, 2 * parent + 2
    if _bound(boxes, norms, left, other) > _bound(boxes, norms, right, other):
        left, right = right, left
    stack[height, 0], stack[height, 1] = left, other
    stack[height + 1, 0], stack[height + 1, 1] = right, other
    return height + 2


@njit(nogil=True, cache=True)
@no_type_check
def farthest_two(points, tree):
    """Squared distance and places of the farthest two points, in the order of the tree.

    Bounds and distances are rounded: a pair that is longer by less than that may be missed.
    `tree` is (starts, ends, boxes, number of the first leaf).
    """
    boxes, first_leaf, norms = tree[2], tree[3], _largest_norms(points, tree)
    stack, height = np.zeros((256, 2), dtype=np.int64), 1
    found = (0.0, 0, 0)
    while height:
        height -= 1
        a, b = stack[height, 0], stack[height, 1]
        if _bound(boxes, norms, a, b) <= found[0]:
            continue
        if a < first_leaf and a == b:
            # a node with itself: either half with itself, and one with the other
            left, right = 2 * a + 1, 2 * a + 2
            stack[height, 0], stack[height, 1] = left, left
            stack[height + 1, 0], stack[height + 1, 1] = right, right
            stack[height + 2, 0], stack[height + 2, 1] = left, right
            height += 3
        elif a >= first_leaf and b >= first_leaf:
            found = _compare(points, tree, norms, found, (a, b))
        else:
            height = _push_halves(stack, height, tree, norms, (a, b))
    return found
