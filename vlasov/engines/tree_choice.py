# pyright: basic, reportCallIssue=false
# ruff: noqa: ANN001, ANN201, ANN202 - numba reads types off the arguments
"""What to do with the pairs of nodes: prune, expand, sum directly, or split one of them.

`scene` are the spans and facts of the query tree with the best keys of its nodes, those of the key
tree, and a table of the polynomials (their radii and terms). `rule` are: the first leaf of the
queries and of the keys, log2 of the relative mass that one key may drop, and in nanoseconds a term
at a query and at a key, a pair of tokens, an expansion, a row of pairs, and a token in an
expansion.
"""

__all__ = ["plan", "walk"]

from typing import no_type_check

import numpy as np
from numba import njit

from vlasov.engines.compiling import ENTRY, INNER, PASTED
from vlasov.engines.intrinsics import larger, start
from vlasov.engines.tree_search import STACK, highest

_DIRECT, _SPLIT_QUERIES, _SPLIT_KEYS, _PRUNED, _LEFT = -1, -2, -3, -4, -5
_ROWS = 4096  # pairs of nodes that one turn of the walk can list
_LN2 = 0.6931471805599453
_SMALL = 4096  # pairs that may be summed directly above the leaves


@no_type_check
def plan(scene, rule, starts, first, counts):
    """Walk downwards from pairs of nodes, in order.

    Returns the pairs to expand as rows (query node, key node, polynomial), the pairs to sum
    directly, and those at which the walk stopped, whose query node is `first` or later. Added to
    the counts are the pruned, expanded and direct pairs of tokens; the last one is the largest
    exponent of an expansion.
    """
    height, found = len(starts), [np.empty((0, 3), np.int64)]
    stack = np.empty((height + STACK, 2), np.int64)
    stack[:height] = starts[::-1]
    while height:
        rows = np.empty((_ROWS, 3), np.int64)
        used, height = walk(scene, rule, first, (stack, height), rows, counts)
        found.append(rows[:used])
    pairs = np.concatenate(found)
    kinds = pairs[:, 2]
    return pairs[kinds >= 0], pairs[kinds == _DIRECT], pairs[kinds == _LEFT]


@njit(**ENTRY)
@no_type_check
def walk(scene, rule, first, waiting, rows, counts):
    """Fill the rows with pairs of nodes and what to do; the number of rows, and of pairs left."""
    (spans, facts, aims, others, other_facts, table), (stack, height), used = scene, waiting, 0
    d, polynomials = aims.shape[1] - 1, (start(table, 0), table.shape[1])
    while height and used < rows.shape[0]:
        height -= 1
        pair, row = start(stack, height), start(rows, used)
        a, b = pair[0], pair[1]
        sizes = _size(spans, a), _size(others, b)
        nodes = start(facts, a), start(aims, a), start(other_facts, b), d
        what, width = _decision(nodes, rule, polynomials, sizes, (a >= rule[0], b >= rule[1]))
        if what == _PRUNED:
            counts[0] += sizes[0] * sizes[1]
            continue
        if what < _DIRECT and a < first:
            height = _push(pair, height, a, b, what)
            continue
        if a >= first:
            what = _LEFT
        elif what == _DIRECT:
            counts[2] += sizes[0] * sizes[1]
        else:
            counts[1] += sizes[0] * sizes[1]
            counts[3] = larger(counts[3], width)
        row[0], row[1], row[2] = a, b, what
        used += 1
    return used, height


@njit(**PASTED)
@no_type_check
def _size(spans, node):
    span = start(spans, node)
    return 1.0 * (span[1] - span[0])


@njit(**PASTED)
@no_type_check
def _push(pairs, height, a, b, what):
    """Put the two halves of a pair on the stack; its new height."""
    for child in range(2):
        pairs[2 * child] = 2 * a + 2 - child if what == _SPLIT_QUERIES else a
        pairs[2 * child + 1] = b if what == _SPLIT_QUERIES else 2 * b + 2 - child
    return height + 2


@njit(**PASTED)
@no_type_check
def _expansion_cost(polynomials, rule, width, size_a, size_b):
    """The cheapest polynomial that holds, and its cost."""
    radii, number = polynomials
    for m in range(number):
        if width <= radii[m]:
            terms = radii[number + m]
            at_queries, at_keys = rule[3] * terms, rule[4] * terms
            return m, (at_queries + rule[8]) * size_a + (at_keys + rule[8]) * size_b + rule[6]
    return -1, np.inf


@njit(**PASTED)
@no_type_check
def _norm(own, d):
    total = 0.0
    for c in range(d):
        total += own[c] * own[c]
    return np.sqrt(total)


@njit(**INNER)
@no_type_check
def _decision(nodes, rule, polynomials, sizes, leaves):
    """A polynomial by its number or one of the choices; the largest |<q - a, k - c>|."""
    (own, aim, other, d), (size_a, size_b), (leaf_a, leaf_b) = nodes, sizes, leaves
    if highest(own, aim, other, d) < rule[2]:
        return _PRUNED, 0.0
    width = own[d] * other[d] * _LN2
    direct = rule[5] * size_a * size_b + rule[7] * size_a
    m, cost = _expansion_cost(polynomials, rule, width, size_a, size_b)
    if leaf_a and leaf_b:
        return (m if cost < direct else _DIRECT), width
    wide_a = own[d] * (_norm(other, d) + other[d])
    splits_a = not leaf_a and (leaf_b or wide_a > other[d] * (_norm(own, d) + own[d]))
    half_a, half_b = (size_a / 2, size_b) if splits_a else (size_a, size_b / 2)
    _, halves = _expansion_cost(polynomials, rule, width * 2 ** (-1 / d), half_a, half_b)
    if cost < direct and cost <= 2 * halves:
        return m, width
    if direct < 2 * halves and direct < cost and size_a * size_b <= _SMALL:
        return _DIRECT, width
    return (_SPLIT_QUERIES if splits_a else _SPLIT_KEYS), width
