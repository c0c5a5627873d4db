# pyright: basic, reportCallIssue=false
# ruff: noqa: ANN001, ANN201, ANN202 - numba reads types off the arguments
"""What to do with the pairs of nodes: prune, expand, sum directly, or split one of them.

`scene` are the spans and facts of the query tree with the best keys of its nodes, those of the key
tree, and a table of the polynomials (their radii and terms). `rule` are: the first leaf of the
queries and of the keys, log2 of the relative mass that one key may drop, and in nanoseconds a term
at a query and at a key, a pair of tokens, an expansion, a row of pairs, and a token in an
expansion.
"""

__all__ = ["plan"]

from typing import no_type_check

import numpy as np
from numba import njit

from vlasov.engines.compiling import INNER
from vlasov.engines.tree_search import STACK, highest

_DIRECT, _SPLIT_QUERIES, _SPLIT_KEYS, _PRUNED = -1, -2, -3, -4
_LN2 = 0.6931471805599453
_SMALL = 4096  # pairs that may be summed directly above the leaves


@njit(nogil=True, cache=True)
@no_type_check
def plan(scene, rule, starts, first, counts):
    """Walk downwards from pairs of nodes, in order.

    Returns the pairs to expand as rows (query node, key node, polynomial), the pairs to sum
    directly, and those at which the walk stopped, whose query node is `first` or later. Added to
    the counts are the pruned, expanded and direct pairs of tokens; the last one is the largest
    exponent of an expansion.
    """
    spans, others = scene[0], scene[3]
    lists = (np.empty((16, 3), np.int64), np.empty((16, 3), np.int64), np.empty((16, 3), np.int64))
    expanded, direct, left = lists
    used, stack = np.zeros(3, np.int64), np.zeros((STACK, 2), np.int64)
    at = (np.int64(0), np.int64(1), np.int64(2))  # bare numbers would be compiled one by one
    for start in range(starts.shape[0]):
        stack[0, 0], stack[0, 1], height = starts[start, 0], starts[start, 1], 1
        while height:
            height -= 1
            a, b = stack[height, 0], stack[height, 1]
            size = (spans[a, 1] - spans[a, 0]) * (others[b, 1] - others[b, 0])
            what, width = _decision(scene, rule, a, b)
            if what == _PRUNED:
                counts[0] += size
            elif a >= first:
                left = _listed(left, used, at[2], a, b, at[0])
            elif what == _DIRECT:
                counts[2] += size
                direct = _listed(direct, used, at[1], a, b, at[0])
            elif what >= 0:
                counts[1], counts[3] = counts[1] + size, max(counts[3], width)
                expanded = _listed(expanded, used, at[0], a, b, what)
            else:
                height = _push(stack, height, a, b, what)
    return expanded[: used[0]], direct[: used[1]], left[: used[2]]


@njit(**INNER)
@no_type_check
def _listed(rows, used, which, a, b, what):
    """The list, moved where it is full, with one more row."""
    if used[which] == rows.shape[0]:
        larger = np.empty((2 * rows.shape[0], 3), np.int64)
        for i in range(rows.shape[0]):
            for j in range(3):
                larger[i, j] = rows[i, j]
        rows = larger
    row = rows[used[which]]
    row[0], row[1], row[2] = a, b, what
    used[which] += 1
    return rows


@njit(**INNER)
@no_type_check
def _push(stack, height, a, b, what):
    """Put the two halves of a pair on the stack; its new height."""
    for child in range(2, 0, -1):
        stack[height, 0] = 2 * a + child if what == _SPLIT_QUERIES else a
        stack[height, 1] = b if what == _SPLIT_QUERIES else 2 * b + child
        height += 1
    return height


@njit(**INNER)
@no_type_check
def _expansion_cost(table, rule, width, size_a, size_b):
    """The cheapest polynomial that holds, and its cost."""
    for m in range(table.shape[1]):
        if width <= table[0, m]:
            at_queries, at_keys = rule[3] * table[1, m], rule[4] * table[1, m]
            return m, (at_queries + rule[8]) * size_a + (at_keys + rule[8]) * size_b + rule[6]
    return -1, np.inf


@njit(**INNER)
@no_type_check
def _norm(own, d):
    total = 0.0
    for c in range(d):
        total += own[c] ** 2
    return np.sqrt(total)


@njit(**INNER)
@no_type_check
def _decision(scene, rule, a, b):
    """A polynomial by its number or one of the choices; the largest |<q - a, k - c>|."""
    spans, facts, aims, others, other_facts, table = scene
    own, other, d = facts[a], other_facts[b], aims.shape[1] - 1
    if highest(own, aims[a], other, d) < rule[2]:
        return _PRUNED, 0.0
    size_a, size_b = 1.0 * (spans[a, 1] - spans[a, 0]), 1.0 * (others[b, 1] - others[b, 0])
    width = own[d] * other[d] * _LN2
    direct = rule[5] * size_a * size_b + rule[7] * size_a
    m, cost = _expansion_cost(table, rule, width, size_a, size_b)
    leaf_a, leaf_b = a >= rule[0], b >= rule[1]
    if leaf_a and leaf_b:
        return (m if cost < direct else _DIRECT), width
    wide_a = own[d] * (_norm(other, d) + other[d])
    splits_a = not leaf_a and (leaf_b or wide_a > other[d] * (_norm(own, d) + own[d]))
    half_a, half_b = (size_a / 2, size_b) if splits_a else (size_a, size_b / 2)
    _, halves = _expansion_cost(table, rule, width * 2 ** (-1 / d), half_a, half_b)
    if cost < direct and cost <= 2 * halves:
        return m, width
    if direct < 2 * halves and direct < cost and size_a * size_b <= _SMALL:
        return _DIRECT, width
    return (_SPLIT_QUERIES if splits_a else _SPLIT_KEYS), width
