# pyright: basic, reportCallIssue=false
# ruff: noqa: ANN001, ANN201, ANN202 - numba reads types off the arguments
r"""Bounds of exponents over nodes, and for every query node a key whose exponent is large.

Exponents are in base 2: queries and logits carry the factor :math:`\log_2 e`. With such a key,
:math:`\log_2 Z_i \ge \langle q_i, k^*\rangle + b^*` for the queries of the node.
"""

__all__ = ["STACK", "highest", "search"]

from typing import no_type_check

import numpy as np
from numba import njit

from vlasov.engines.compiling import INNER

STACK = 512  # nodes waiting: a walk leaves one for each level of the two trees


@njit(nogil=True, cache=True)
@no_type_check
def search(queries, keys, found, wide, nodes):
    """Find the key of the largest exponent for a range of query nodes, from that of their parent.

    The trees are (points, spans, facts, first leaf) and, of the keys, the logits. Filled are the
    number of the key, its coordinates and logit, and for the queries of leaves the exponent that
    each is shifted by: that of the key of the leaf, or of a key of its own where the exponents of
    the leaf may differ by `wide`. A negative `wide` keeps the first key for all.
    """
    (q, spans, facts, first_leaf), (k, _, key_facts, _, logits) = queries, keys
    best, aims, shifts = found
    d, stack = k.shape[0], np.empty(STACK, np.int64)
    query = np.empty(d)
    for node in range(nodes[0], nodes[1]):
        star = best[(node - 1) // 2] if node else 0
        if wide >= 0:
            star = _best_key(facts[node], keys, star, stack)
        best[node], aims[node, d] = star, logits[star]
        for c in range(d):
            aims[node, c] = k[c, star]
        if node < first_leaf:
            continue
        apart = wide >= 0 and facts[node, d] * 2 * key_facts[0, d] > wide
        for i in range(spans[node, 0], spans[node, 1]):
            for c in range(d):
                query[c] = q[c, i]
            own = _best_key(query, keys, star, stack) if apart else star
            shifts[i] = _score(query, k, logits, own)


@njit(**INNER)
@no_type_check
def _score(a, points, logits, j):
    total = logits[j]
    for c in range(points.shape[0]):
        total += a[c] * points[c, j]
    return total


@njit(**INNER)
@no_type_check
def _reach(a, own, d):
    """The largest of <a, k> over the box of a node, plus its largest logit."""
    total = own[d + 1]
    for c in range(d):
        total += max(a[c] * own[d + 2 + c], a[c] * own[2 * d + 2 + c])
    return total


@njit(**INNER)
@no_type_check
def _best_key(a, keys, found, stack):
    """The key of the largest exponent for a query, by branch and bound from a first guess."""
    points, spans, facts, first_leaf, logits = keys
    d = points.shape[0]
    top = _score(a, points, logits, found)
    stack[0], height = 0, 1
    while height:
        height -= 1
        node = stack[height]
        if _reach(a, facts[node], d) <= top:
            continue
        if node >= first_leaf:
            for j in range(spans[node, 0], spans[node, 1]):
                score = _score(a, points, logits, j)
                if score > top:
                    top, found = score, j
            continue
        left, right = 2 * node + 1, 2 * node + 2
        if _reach(a, facts[left], d) < _reach(a, facts[right], d):
            left, right = right, left
        stack[height], stack[height + 1] = right, left
        height += 2
    return found


@njit(**INNER)
@no_type_check
def highest(own, aim, other, d):
    """A bound, over all pairs of two nodes, of exponents above that of the query node's best key.

    The arguments are the facts of the query node, its best key, and the facts of the key node.
    """
    total, square = other[d + 1] - aim[d], 0.0
    for c in range(d):
        low, high = other[d + 2 + c] - aim[c], other[2 * d + 2 + c] - aim[c]
        total += max(own[c] * low, own[c] * high)
        square += max(abs(low), abs(high)) ** 2
    return total + own[d] * np.sqrt(square)
