# pyright: basic, reportCallIssue=false
# ruff: noqa: ANN001, ANN201, ANN202 - numba reads types off the arguments
"""The walk over pairs of nodes: first above the tasks, then in every task by itself.

A task is a query node of one level: tasks share nothing, so threads may take them in any order.
"""

__all__ = ["plan", "sum_pairs", "walk"]

from typing import no_type_check

import numpy as np
from numba import njit

from vlasov.engines.coordinates import row, span, tile, zeros_like
from vlasov.engines.tree_choice import DIRECT, PRUNED, decision, push, spread
from vlasov.engines.tree_expand import moments_of, spread_to
from vlasov.engines.tree_search import STACK


@njit(nogil=True, cache=True)
@no_type_check
def plan(scene, counts):
    """Walk over the query nodes above the first task; arguments as in `walk`.

    Returns the pairs to expand there, as rows (query node, key node, polynomial), and the pairs
    left to the tasks, as rows (task, key node).
    """
    (queries, keys), first = scene[1], scene[4][0]
    expanded, left = np.empty((16, 3), np.int64), np.empty((16, 2), np.int64)
    used = np.zeros(2, np.int64)
    stack = np.zeros((STACK, 2), np.int64)
    height = 1
    while height:
        height -= 1
        a, b = stack[height, 0], stack[height, 1]
        what = decision(scene, (a, b))
        if what == PRUNED:
            counts[0] += (queries[1][a] - queries[0][a]) * (keys[1][b] - keys[0][b])
        elif a >= first or what == DIRECT:
            left = _below(left, used, first, a, b)
        elif what >= 0:
            expanded = _room(expanded, used[0])
            expanded[used[0], 0], expanded[used[0], 1], expanded[used[0], 2] = a, b, what
            used[0] += 1
        else:
            height = push(stack, height, (a, b), what)
    return expanded[: used[0]], left[: used[1]]


@njit(nogil=True)
@no_type_check
def _room(rows, used):
    if used < rows.shape[0]:
        return rows
    larger = np.empty((2 * rows.shape[0], rows.shape[1]), np.int64)
    for i in range(used):
        for j in range(rows.shape[1]):
            larger[i, j] = rows[i, j]
    return larger


@njit(nogil=True)
@no_type_check
def _below(left, used, first, a, b):
    """A pair handed to every task at or below its query node."""
    low = high = a
    while low < first:
        low, high = 2 * low + 1, 2 * high + 2
    for node in range(low, high + 1):
        left = _room(left, used[1])
        left[used[1], 0], left[used[1], 1] = node - first, b
        used[1] += 1
    return left


@njit(nogil=True, cache=True)
@no_type_check
def walk(scene, planned, found, tasks):
    """Expand for the queries of a range of tasks; the pairs to sum directly are returned.

    `scene` is (operands, trees, polynomials, best keys, rule). `planned` are the expansions above
    the tasks with their moments and scales, and the pairs of each task from ``begins[task]`` on;
    for ``tasks[2] = 1`` the range is one of expansions, whose moments are gathered. `found` are
    the totals (n, 1 + values), and for each task the counts of pruned, expanded and direct pairs
    of tokens with the largest spread.
    """
    expanded, above, tops, left, begins = planned
    direct, used = np.empty((16, 2), np.int64), np.int64(0)
    moments = np.empty((scene[0][3].shape[0] + 1, above.shape[2]))
    for index in range(tasks[0], tasks[1]):
        if tasks[2]:
            tops[index] = moments_of(scene, expanded[index], above[index])
            continue
        node, into = scene[4][0] + index, (found[0], found[1][index])
        for item in range(expanded.shape[0]):
            _inherit(scene, expanded[item], (above[item], tops[item]), node, into)
        for pair in range(begins[index], begins[index + 1]):
            start = (node, left[pair, 1])
            direct, used = _descend(scene, start, moments, into, (direct, used))
    return direct[:used]


@njit(nogil=True)
@no_type_check
def _inherit(scene, item, gathered, node, into):
    """An expansion for a query node at or above this task's."""
    queries, keys = scene[1]
    low, high = queries[0][node], queries[1][node]
    if queries[0][item[0]] <= low and high <= queries[1][item[0]]:
        into[1][1] += (high - low) * (keys[1][item[1]] - keys[0][item[1]])
        into[1][3] = max(into[1][3], spread(queries, keys, item[0], item[1]))
        spread_to(scene, item, gathered, (low, high), into[0])


@njit(nogil=True)
@no_type_check
def _descend(scene, start, moments, into, listed):
    """The walk from one pair downwards."""
    queries, keys = scene[1]
    stack, item = np.empty((STACK, 2), np.int64), np.empty(3, np.int64)
    (direct, used), (totals, counts) = listed, into
    (stack[0, 0], stack[0, 1]), height = start, 1
    while height:
        height -= 1
        a, b = stack[height, 0], stack[height, 1]
        size = (queries[1][a] - queries[0][a]) * (keys[1][b] - keys[0][b])
        what = decision(scene, (a, b))
        if what == PRUNED:
            counts[0] += size
        elif what == DIRECT:
            counts[2] += size
            direct = _room(direct, used)
            direct[used, 0], direct[used, 1] = a, b
            used += 1
        elif what >= 0:
            counts[1] += size
            counts[3] = max(counts[3], spread(queries, keys, a, b))
            item[0], item[1], item[2] = a, b, what
            rows, top = (queries[0][a], queries[1][a]), moments_of(scene, item, moments)
            spread_to(scene, item, (moments, top), rows, totals)
        else:
            height = push(stack, height, (a, b), what)
    return direct, used


@njit(nogil=True, cache=True)
@no_type_check
def sum_pairs(operands, trees, shifts, pairs, totals):
    """Add pairs of nodes (query node, key node) without approximation; widths are compiled in."""
    q, k, logits, v = operands
    queries, keys = trees
    for index in range(pairs.shape[0]):
        a, b = pairs[index, 0], pairs[index, 1]
        low, high = keys[0][b], keys[1][b]
        near, far, bias = span(k, low, high), span(v, low, high), logits[low:high]
        for i in range(queries[0][a], queries[1][a]):
            query = row(q, i)
            mass, part = tile(query, near, bias, far, shifts[i], zeros_like(query))
            totals[i, 0] += mass
            for c in range(len(v)):
                totals[i, c + 1] += part[c]
