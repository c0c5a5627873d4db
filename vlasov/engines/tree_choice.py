# pyright: basic, reportCallIssue=false
# ruff: noqa: ANN001, ANN201, ANN202 - numba reads types off the arguments
"""What to do with a pair of nodes: prune, expand, sum directly, or split one of them.

`rule` are: first task, log2 of the relative mass that one key may drop, and in nanoseconds a
monomial at a query and at a key, a pair of tokens, an expansion, a row of pairs, and a token in an
expansion.
"""

__all__ = ["DIRECT", "PRUNED", "decision", "push", "spread"]

from typing import no_type_check

import numpy as np
from numba import njit

from vlasov.engines.tree_search import highest

DIRECT, PRUNED = -1, -4
_SPLIT_QUERIES, _SPLIT_KEYS = -2, -3
_LN2 = 0.6931471805599453
_SMALL = 4096  # pairs that may be summed directly above the leaves


@njit(nogil=True)
@no_type_check
def spread(queries, keys, a, b):
    """The largest |<q - a, k - c>|, in natural units."""
    d = queries[3].shape[1] - 2
    return queries[3][a, d] * keys[3][b, d] * _LN2


@njit(nogil=True)
@no_type_check
def _expansion_cost(table, rule, width, sizes):
    """The cheapest polynomial that holds, and its cost."""
    (radii, counts), (size_a, size_b) = table, sizes
    for m in range(radii.shape[0]):
        if width <= radii[m]:
            at_queries, at_keys = rule[2] * counts[m] + rule[7], rule[3] * counts[m] + rule[7]
            return m, at_queries * size_a + at_keys * size_b + rule[5]
    return -1, np.inf


@njit(nogil=True)
@no_type_check
def _norm(facts, d):
    total = 0.0
    for c in range(d):
        total += facts[c] ** 2
    return np.sqrt(total)


@njit(nogil=True)
@no_type_check
def _choice(queries, keys, table, rule, pair):
    """A polynomial by its number, or -1: sum directly, -2: split the queries, -3: the keys."""
    (a, b), d = pair, queries[3].shape[1] - 2
    size_a, size_b = queries[1][a] - queries[0][a], keys[1][b] - keys[0][b]
    width = spread(queries, keys, a, b)
    direct = rule[4] * size_a * size_b + rule[6] * size_a
    m, cost = _expansion_cost(table, rule, width, (1.0 * size_a, 1.0 * size_b))
    leaf_a, leaf_b = a >= queries[4], b >= keys[4]
    if leaf_a and leaf_b:
        return m if cost < direct else DIRECT
    wide_a = queries[3][a, d] * (_norm(keys[3][b], d) + keys[3][b, d])
    wide_b = keys[3][b, d] * (_norm(queries[3][a], d) + queries[3][a, d])
    splits_a = not leaf_a and (leaf_b or wide_a > wide_b)
    half_a = size_a / 2 if splits_a else size_a * 1.0
    half_b = size_b * 1.0 if splits_a else size_b / 2
    _, halves = _expansion_cost(table, rule, width * 2 ** (-1 / d), (half_a, half_b))
    if cost < direct and cost <= 2 * halves:
        return m
    if direct < 2 * halves and direct < cost and size_a * size_b <= _SMALL:
        return DIRECT
    return _SPLIT_QUERIES if splits_a else _SPLIT_KEYS


@njit(nogil=True)
@no_type_check
def decision(scene, pair):
    """PRUNED, a polynomial by its number, DIRECT, or which node to split (see `push`)."""
    operands, (queries, keys), polynomials, best, rule = scene
    if highest((operands[1], operands[2]), queries, keys, best, pair) < rule[1]:
        return PRUNED
    return _choice(queries, keys, (polynomials[0], polynomials[6]), rule, pair)


@njit(nogil=True)
@no_type_check
def push(stack, height, pair, what):
    """Put the two halves of a pair on the stack; its new height."""
    a, b = pair
    for child in range(2, 0, -1):
        stack[height, 0] = 2 * a + child if what == _SPLIT_QUERIES else a
        stack[height, 1] = b if what == _SPLIT_QUERIES else 2 * b + child
        height += 1
    return height
