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

from vlasov.engines.compiling import ENTRY, INNER, PASTED
from vlasov.engines.intrinsics import larger, past, room, start

STACK = 512  # nodes waiting: a walk leaves one for each level of the two trees


@njit(**ENTRY)
@no_type_check
def search(queries, keys, found, wide, nodes):
    """Find the key of the largest exponent for a range of query nodes, from that of their parent.

    The trees are (points, spans, facts, first leaf) and, of the keys, the logits. Filled are the
    number of the key, its coordinates and logit, and for the queries of leaves the exponent that
    each is shifted by: that of the key of the leaf, or of a key of its own where the exponents of
    the leaf may differ by `wide`. A negative `wide` keeps the first key for all.
    """
    (q, spans, facts, first_leaf), (best, aims, shifts) = queries, found
    cloud, tree = _keys(keys)
    x, stride, d, logits = cloud
    query, stack = room(d, 0.0), room(STACK, 0)
    for node in range(nodes[0], nodes[1]):
        star, own, aim = (
            best[(node - 1) // 2] if node else 0,
            start(facts, node),
            start(aims, node),
        )
        if wide >= 0:
            star = _best_key(own, cloud, tree, star, stack)
        best[node], aim[d] = star, logits[star]
        for c in range(d):
            aim[c] = x[c * stride + star]
        if node < first_leaf:
            continue
        apart, span = wide >= 0 and own[d] * 2 * tree[1][d] > wide, start(spans, node)
        for i in range(span[0], span[1]):
            for c in range(d):
                query[c] = q[c, i]
            nearest = _best_key(query, cloud, tree, star, stack) if apart else star
            shifts[i] = _score(query, cloud, nearest)


@njit(**PASTED)
@no_type_check
def _keys(keys):
    """Addresses of the points, their stride and width, and of the logits; and those of nodes."""
    k, spans, facts, first_leaf, logits = keys
    cloud = start(k, 0), k.shape[1], k.shape[0], start(logits, 0)
    return cloud, (start(spans, 0), start(facts, 0), first_leaf)


@njit(**PASTED)
@no_type_check
def _score(a, cloud, j):
    x, stride, d, logits = cloud
    total = logits[j]
    for c in range(d):
        total += a[c] * x[c * stride + j]
    return total


@njit(**PASTED)
@no_type_check
def _reach(a, own, d):
    """The largest of <a, k> over the box of a node, plus its largest logit."""
    total = own[d + 1]
    for c in range(d):
        total += larger(a[c] * own[d + 2 + c], a[c] * own[2 * d + 2 + c])
    return total


@njit(**INNER)
@no_type_check
def _best_key(a, cloud, tree, found, stack):
    """The key of the largest exponent for a query, by branch and bound from a first guess."""
    (spans, facts, first_leaf), d = tree, cloud[2]
    size, top = 3 * d + 2, _score(a, cloud, found)
    stack[0], height = 0, 1
    while height:
        height -= 1
        node = stack[height]
        if _reach(a, past(facts, node * size), d) <= top:
            continue
        if node >= first_leaf:
            for j in range(spans[2 * node], spans[2 * node + 1]):
                score = _score(a, cloud, j)
                if score > top:
                    top, found = score, j
            continue
        left, right = 2 * node + 1, 2 * node + 2
        if _reach(a, past(facts, left * size), d) < _reach(a, past(facts, right * size), d):
            left, right = right, left
        stack[height], stack[height + 1] = right, left
        height += 2
    return found


@njit(**PASTED)
@no_type_check
def highest(own, aim, other, d):
    """A bound, over all pairs of two nodes, of exponents above that of the query node's best key.

    The arguments are the facts of the query node, its best key, and the facts of the key node.
    """
    total, square = other[d + 1] - aim[d], 0.0
    for c in range(d):
        low, high = other[d + 2 + c] - aim[c], other[2 * d + 2 + c] - aim[c]
        total += larger(own[c] * low, own[c] * high)
        far = larger(abs(low), abs(high))
        square += far * far
    return total + own[d] * np.sqrt(square)
