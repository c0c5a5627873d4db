# pyright: basic, reportCallIssue=false
# ruff: noqa: ANN001, ANN201, ANN202 - numba reads types off the arguments
"""For every query node a key of a large exponent among those that all of its queries see."""

__all__ = ["search_seen"]

from typing import no_type_check

import numpy as np
from numba import njit

from vlasov.engines.compiling import INNER
from vlasov.engines.tree_search import STACK


@njit(nogil=True, cache=True)
@no_type_check
def search_seen(queries, keys, found, nodes):
    """Find the key for a range of query nodes, from that of their parent.

    `queries` are the facts of the nodes and the earliest position of each; `keys` the points, the
    logits and positions, the spans, facts and earliest positions of the nodes, and the first leaf.
    Filled are the number of the key, its coordinates and logit.
    """
    (facts, limits), (points, logits) = queries, keys[:2]
    best, aims = found
    d, stack = points.shape[0], np.empty(STACK, np.int64)
    for node in range(nodes[0], nodes[1]):
        star = best[(node - 1) // 2] if node else best[0]
        best[node] = _best_seen(facts[node], limits[node], keys, star, stack)
        aims[node, d] = logits[best[node]]
        for c in range(d):
            aims[node, c] = points[c, best[node]]


@njit(**INNER)
@no_type_check
def _score(a, points, logits, j):
    total = logits[j]
    for c in range(points.shape[0]):
        total += a[c] * points[c, j]
    return total


@njit(**INNER)
@no_type_check
def _best_seen(a, limit, keys, found, stack):
    """The key of the largest exponent at a point, not later than a limit, by branch and bound."""
    points, logits, positions, spans, facts, firsts, first_leaf = keys
    d, top = points.shape[0], _score(a, points, logits, found)
    stack[0], height = 0, 1
    while height:
        height -= 1
        node = stack[height]
        if firsts[node] > limit:
            continue
        reach = facts[node, d + 1]
        for c in range(d):
            reach += max(a[c] * facts[node, d + 2 + c], a[c] * facts[node, 2 * d + 2 + c])
        if reach <= top:
            continue
        if node < first_leaf:
            stack[height], stack[height + 1] = 2 * node + 1, 2 * node + 2
            height += 2
            continue
        for j in range(spans[node, 0], spans[node, 1]):
            score = _score(a, points, logits, j)
            if score > top and positions[j] <= limit:
                top, found = score, j
    return found
