# pyright: basic, reportCallIssue=false
# ruff: noqa: ANN001, ANN201, ANN202 - numba reads types off the arguments
r"""Bounds of exponents over nodes, and for every query node a key whose exponent is large.

Exponents are in base 2: queries and logits carry the factor :math:`\log_2 e`. With such a key,
:math:`\log_2 Z_i \ge \langle q_i, k^*\rangle + b^*` for the queries of the node.

A tree is (starts, ends, boxes, facts, first leaf), see `tree_build`.
"""

__all__ = ["STACK", "best_keys", "highest", "reach", "row_shifts"]

from typing import no_type_check

import numpy as np
from numba import njit

STACK = 512  # nodes waiting: a walk leaves one for each level of the two trees


@njit(nogil=True)
@no_type_check
def reach(a, box, base):
    """The largest of <a, k - base> over a box."""
    total = 0.0
    for c in range(a.shape[0]):
        total += max(a[c] * (box[0, c] - base[c]), a[c] * (box[1, c] - base[c]))
    return total


@njit(nogil=True)
@no_type_check
def _farthest(box, base):
    total = 0.0
    for c in range(base.shape[0]):
        total += max(abs(box[0, c] - base[c]), abs(box[1, c] - base[c])) ** 2
    return np.sqrt(total)


@njit(nogil=True)
@no_type_check
def _score(a, points, logits, j):
    total = logits[j]
    for c in range(a.shape[0]):
        total += a[c] * points[c, j]
    return total


@njit(nogil=True)
@no_type_check
def _best_key(a, tree, key_points, found, scratch):
    """The key of the largest exponent for a query, by branch and bound from a first guess."""
    starts, ends, boxes, facts, first_leaf = tree
    (points, logits), (origin, stack), d = key_points, scratch, a.shape[0]
    top = _score(a, points, logits, found)
    stack[0], height = 0, 1
    while height:
        height -= 1
        node = stack[height]
        if reach(a, boxes[node], origin) + facts[node, d + 1] <= top:
            continue
        if node >= first_leaf:
            for j in range(starts[node], ends[node]):
                score = _score(a, points, logits, j)
                if score > top:
                    top, found = score, j
            continue
        left, right = 2 * node + 1, 2 * node + 2
        higher = reach(a, boxes[left], origin) + facts[left, d + 1]
        if higher < reach(a, boxes[right], origin) + facts[right, d + 1]:
            left, right = right, left
        stack[height], stack[height + 1] = right, left
        height += 2
    return found


@njit(nogil=True, cache=True)
@no_type_check
def best_keys(queries, keys, key_points, best, nodes):
    """The best key for the centre of every query node of a range, from that of its parent."""
    stack = np.empty(STACK, np.int64)
    d = key_points[0].shape[0]
    scratch = (np.zeros(d), stack)
    for node in range(nodes[0], nodes[1]):
        guess = best[(node - 1) // 2] if node else 0
        centre = queries[3][node, :d]
        best[node] = _best_key(centre, keys, key_points, guess, scratch)


@njit(nogil=True, cache=True)
@no_type_check
def row_shifts(operands, trees, best, wide, shifts, leaves):
    """The exponent that each query is shifted by, attained by a real key.

    That of its leaf; a key of its own where the leaf is so wide that they may differ by `wide`.
    """
    (q, k, logits), (queries, keys), d = operands, trees, operands[0].shape[0]
    starts, ends, _, facts, _ = queries
    query, scratch = np.empty(d), (np.zeros(d), np.empty(STACK, np.int64))
    for leaf in range(leaves[0], leaves[1]):
        apart = facts[leaf, d] * 2 * keys[3][0, d] > wide
        for i in range(starts[leaf], ends[leaf]):
            for c in range(d):
                query[c] = q[c, i]
            found = best[leaf]
            if apart:
                found = _best_key(query, keys, (k, logits), found, scratch)
            shifts[i] = _score(query, k, logits, found)


@njit(nogil=True)
@no_type_check
def highest(key_points, queries, keys, best, pair):
    """A bound, over all pairs of the two nodes, of exponents above that of the node's best key."""
    (k, logits), (a, b) = key_points, pair
    d = k.shape[0]
    star = k[:, best[a]]
    box = keys[2][b]
    centre, radius = queries[3][a, :d], queries[3][a, d]
    above = keys[3][b, d + 1] - logits[best[a]]
    return reach(centre, box, star) + radius * _farthest(box, star) + above
