# pyright: basic, reportCallIssue=false
# ruff: noqa: ANN001, ANN201, ANN202 - numba reads types off the arguments
"""What a plan asks for, done: expansions and direct sums of the pairs of nodes of some tasks.

A task is a query node of one level: tasks share nothing, so threads may take them in any order.
"""

__all__ = ["work"]

from typing import no_type_check

import numpy as np
from numba import njit

from vlasov.engines.compiling import INNER
from vlasov.engines.tree_direct import sum_directly
from vlasov.engines.tree_expand import moments_of, spread_to
from vlasov.engines.tree_lanes import LANES


@njit(**INNER)
@no_type_check
def _room(d, stems):
    """Scratch: offsets, a ladder of monomials, powers, and one row."""
    longest = 0
    for i in range(stems.shape[0] - 1):
        longest = max(longest, stems[i + 1, 2] - stems[i, 2])
    ladder, powers = np.empty((longest, LANES)), np.empty((longest, LANES))
    return np.empty((d, LANES)), ladder, powers, np.empty(LANES)


@njit(nogil=True, cache=True)
@no_type_check
def work(scene, above, lists, totals, nodes):
    """Fill the totals (channels, n) of a range of query nodes by expansions and direct sums.

    `scene` are operands, trees and basis, see `tree_expand`. `above` are expansions (query node,
    key node, polynomial) that whole families of tasks share, with their moments and scales; for
    ``nodes[2] = 1`` the range is one of these expansions, whose moments are gathered. `lists` are
    the expansions and the direct pairs of the nodes alone.
    """
    (items, shared, tops), spans = above, scene[1][0]
    room = _room(scene[0][0].shape[0], scene[2][1])
    for node in range(nodes[0], nodes[1]):
        if nodes[2]:
            tops[node] = moments_of(scene, items[node], room, shared[node])
            continue
        rows = (spans[node, 0], spans[node, 1])
        for i in range(items.shape[0]):
            if spans[items[i, 0], 0] <= rows[0] and rows[1] <= spans[items[i, 0], 1]:
                gathered = (shared[i], tops[i])
                spread_to(scene, items[i], room, gathered, rows, totals)
    moments = np.empty(shared.shape[1:])
    for i in range(lists[0].shape[0]):
        item = lists[0][i]
        gathered = (moments, moments_of(scene, item, room, moments))
        rows = (spans[item[0], 0], spans[item[0], 1])
        spread_to(scene, item, room, gathered, rows, totals)
    for i in range(lists[1].shape[0]):
        sum_directly(scene, lists[1][i], room[3], totals)
