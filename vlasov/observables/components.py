"""Connected components of the graph that links points within a radius, in memory of order n.

Neither route stores all links, so clumps of many coinciding points cost nothing extra.
"""

__all__ = ["component_labels"]

from functools import partial

import numpy as np
import numpy.typing as npt
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components
from scipy.spatial.distance import cdist

from vlasov.engines.threads import in_threads
from vlasov.observables.boxes import boxes_over

Points = npt.NDArray[np.float64]
Labels = npt.NDArray[np.intp]

_WIDTH_FOR_TREES = 8  # beyond, boxes of a tree come near most others
_FEW = 512
_BLOCK = 2**20


def component_labels(x: Points, radius: float) -> Labels:
    """The component of each row of `x`, numbered from 0 in the order of their first points."""
    if x.shape[1] <= _WIDTH_FOR_TREES and len(x) > _FEW:
        return _by_tree(x, radius)
    distinct, inverse = np.unique(x, axis=0, return_inverse=True)
    return _in_order_of_appearance(_by_blocks(distinct, radius)[inverse.reshape(-1)])


def _by_tree(x: Points, radius: float) -> Labels:
    """Components by a walk over pairs of boxes; near linear in n for low width."""
    from vlasov.observables import component_tree  # compiles, and loads numba

    tree = boxes_over(x)
    forest = (np.arange(len(x)), np.zeros(len(tree.nodes[0]), dtype=np.bool_))
    connect = partial(component_tree.connect, tree.points, tree.nodes, forest, radius)
    for level in range(tree.depth, -1, -1):
        first = 2**level - 1
        in_threads(lambda r, f=first: connect((f + r[0], f + r[1])), 2**level)
    labels = np.empty(len(x), dtype=np.intp)
    component_tree.number(forest[0], tree.order, labels)
    return labels


def _in_order_of_appearance(labels: Labels) -> Labels:
    _, first, inverse = np.unique(labels, return_index=True, return_inverse=True)
    rank = np.empty(len(first), dtype=np.intp)
    rank[np.argsort(first)] = np.arange(len(first))
    return rank[inverse.reshape(-1)]


def _merged(labels: Labels, here: Labels, there: Labels) -> Labels:
    """The labels after linking points `here` to points `there`."""
    count, ones = int(labels.max()) + 1, np.ones(len(here), dtype=bool)
    graph = coo_array((ones, (labels[here], labels[there])), shape=(count, count))
    return connected_components(graph, directed=False)[1].astype(np.intp)[labels]


def _by_blocks(x: Points, radius: float) -> Labels:
    """Components by comparing all pairs, some rows at a time, for any width. Order n^2."""
    labels = np.arange(len(x), dtype=np.intp)
    rows = max(1, _BLOCK // len(x))
    for start in range(0, len(x), rows):
        near = cdist(x[start : start + rows], x[start:]) <= radius
        here, there = np.nonzero(near)
        labels = _merged(labels, start + here, start + there)
    return labels
