# pyright: basic, reportCallIssue=false
# ruff: noqa: ANN001, ANN201, ANN202 - numba reads types off the arguments
"""Single-link components in a tree over points, from the leaves to the root.

A node whose box is no longer than the radius is one component at once. Elsewhere the two halves of
a node are linked by a walk over pairs of their nodes, which leaves out pairs that are too far
apart and pairs that are one component already. `parents` is a forest over the points, `single`
says which nodes are known to be one component.
"""

__all__ = ["connect", "number"]

from typing import no_type_check

import numpy as np
from numba import njit

from vlasov.observables.box_distance import SLACK, farthest, nearest, of_points, to_box


@njit(nogil=True)
@no_type_check
def _root(parents, i):
    while parents[i] != i:
        parents[i] = parents[parents[i]]
        i = parents[i]
    return i


@njit(nogil=True)
@no_type_check
def _join(parents, i, j):
    """One component; its root is its first point, whatever the order of the joins."""
    i, j = _root(parents, i), _root(parents, j)
    parents[max(i, j)] = min(i, j)


@njit(nogil=True)
@no_type_check
def _join_all(tree, forest, node):
    (starts, ends, _, _), (parents, single) = tree, forest
    if not single[node]:
        for i in range(starts[node] + 1, ends[node]):
            _join(parents, starts[node], i)
        single[node] = True


@njit(nogil=True)
@no_type_check
def _one(tree, forest, a, b):
    """Whether two nodes are known to be one and the same component."""
    starts, (parents, single) = tree[0], forest
    if not (single[a] and single[b]):
        return False
    return _root(parents, starts[a]) == _root(parents, starts[b])


@njit(nogil=True)
@no_type_check
def _link_leaves(points, tree, forest, radius, pair):
    """Compare the points of two leaves, or of one with itself."""
    (starts, ends, boxes, _), (parents, single), (a, b) = tree, forest, pair
    both = single[a] and single[b]
    reach = radius**2 * (1 + SLACK)
    for i in range(starts[a], ends[a]):
        if to_box(points, i, boxes, b) > reach:
            continue
        for j in range(max(i + 1, starts[b]) if a == b else starts[b], ends[b]):
            if np.sqrt(of_points(points, i, j)) <= radius:
                _join(parents, i, j)
                if both:
                    return


@njit(nogil=True)
@no_type_check
def _touches(points, tree, radius, i, node):
    """Whether a point is linked to any point of a node."""
    starts, ends, boxes, first_leaf = tree
    reach = radius**2 * (1 + SLACK)
    stack, height = np.empty(64, dtype=np.int64), 1
    stack[0] = node
    while height:
        height -= 1
        b = stack[height]
        if to_box(points, i, boxes, b) > reach:
            continue
        if b < first_leaf:
            left, right = 2 * b + 1, 2 * b + 2
            near = to_box(points, i, boxes, left) < to_box(points, i, boxes, right)
            stack[height], stack[height + 1] = (right, left) if near else (left, right)
            height += 2
            continue
        for j in range(starts[b], ends[b]):
            if np.sqrt(of_points(points, i, j)) <= radius:
                return True
    return False


@njit(nogil=True)
@no_type_check
def _attach(points, tree, forest, radius, pair):
    """Link the points of a leaf, one by one, to a node that is one component."""
    (starts, ends, _, _), parents, (leaf, node) = tree, forest[0], pair
    for i in range(starts[leaf], ends[leaf]):
        apart = _root(parents, i) != _root(parents, starts[node])
        if apart and _touches(points, tree, radius, i, node):
            _join(parents, i, starts[node])


@njit(nogil=True)
@no_type_check
def _push_halves(stack, height, tree, pair):
    """Split the node with the longer diagonal; the half nearer to the other comes off first."""
    (_, _, boxes, first_leaf), (a, b) = tree, pair
    wider = farthest(boxes, a, a) > farthest(boxes, b, b)
    splits_a = a < first_leaf and (b >= first_leaf or wider)
    parent, other = (a, b) if splits_a else (b, a)
    left, right = 2 * parent + 1, 2 * parent + 2
    if nearest(boxes, left, other) < nearest(boxes, right, other):
        left, right = right, left
    stack[height, 0], stack[height, 1] = left, other
    stack[height + 1, 0], stack[height + 1, 1] = right, other
    return height + 2


@njit(nogil=True)
@no_type_check
def _link(points, tree, forest, radius, pair):
    """Join what is linked between two nodes that share no point."""
    (starts, _, boxes, first_leaf), single, square = tree, forest[1], radius**2
    stack, height = np.empty((256, 2), dtype=np.int64), 1
    stack[0, 0], stack[0, 1] = pair
    while height:
        height -= 1
        a, b = stack[height, 0], stack[height, 1]
        if nearest(boxes, a, b) > square * (1 + SLACK) or _one(tree, forest, a, b):
            continue
        if farthest(boxes, a, b) < square * (1 - SLACK):
            _join_all(tree, forest, a)
            _join_all(tree, forest, b)
            _join(forest[0], starts[a], starts[b])
        elif single[b] and a >= first_leaf and not single[a]:
            _attach(points, tree, forest, radius, (a, b))
        elif single[a] and b >= first_leaf and not single[b]:
            _attach(points, tree, forest, radius, (b, a))
        elif a >= first_leaf and b >= first_leaf:
            _link_leaves(points, tree, forest, radius, (a, b))
        else:
            height = _push_halves(stack, height, tree, (a, b))


@njit(nogil=True)
@no_type_check
def _is_single(tree, parents, node):
    starts, ends = tree[0], tree[1]
    top, apart = _root(parents, starts[node]), 0
    for i in range(starts[node] + 1, ends[node]):
        apart += _root(parents, i) != top
    return apart == 0


@njit(nogil=True, cache=True)
@no_type_check
def connect(points, tree, forest, radius, nodes):
    """Find the components of a range of nodes, whose children are done.

    `tree` is (starts, ends, boxes, number of the first leaf), `forest` (parents, single).
    """
    (starts, _, boxes, first_leaf), (parents, single) = tree, forest
    for node in range(nodes[0], nodes[1]):
        short = farthest(boxes, node, node) < radius**2 * (1 - SLACK)
        if node >= first_leaf and short:
            _join_all(tree, forest, node)
        elif node >= first_leaf:
            _link_leaves(points, tree, forest, radius, (node, node))
            single[node] = _is_single(tree, parents, node)
        elif short:
            _join(parents, starts[2 * node + 1], starts[2 * node + 2])
            single[node] = True
        else:
            _link(points, tree, forest, radius, (2 * node + 1, 2 * node + 2))
            single[node] = _one(tree, forest, 2 * node + 1, 2 * node + 2)


@njit(nogil=True, cache=True)
@no_type_check
def number(parents, order, labels):
    """Number the components by their first points; `order` says which point is at which place."""
    names, fresh = np.full(len(parents), -1), 0
    places = np.empty(len(parents), dtype=np.int64)
    for place in range(len(parents)):
        places[order[place]] = place
    for i in range(len(labels)):
        top = _root(parents, places[i])
        if names[top] < 0:
            names[top] = fresh
            fresh += 1
        labels[i] = names[top]
