"""Connected components of the graph that links points within a radius, in memory of order n.

Neither route stores links, so clumps of many coinciding points cost nothing extra.
"""

__all__ = ["component_labels"]

import numpy as np
import numpy.typing as npt
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components
from scipy.spatial import KDTree
from scipy.spatial.distance import cdist

Points = npt.NDArray[np.float64]
Labels = npt.NDArray[np.intp]

_WIDTH_FOR_TREES = 8  # beyond, a tree visits most points at each query
_FEW = 256
_BLOCK = 2**20


def component_labels(x: Points, radius: float) -> Labels:
    """The component of each row of `x`, numbered from 0 in the order of their first points."""
    distinct, inverse = np.unique(x, axis=0, return_inverse=True)
    by_trees = x.shape[1] <= _WIDTH_FOR_TREES and len(distinct) > _FEW
    labels = _by_halves(distinct, radius) if by_trees else _by_blocks(distinct, radius)
    return _in_order_of_appearance(labels[inverse.reshape(-1)])


def _in_order_of_appearance(labels: Labels) -> Labels:
    _, first, inverse = np.unique(labels, return_index=True, return_inverse=True)
    rank = np.empty(len(first), dtype=np.intp)
    rank[np.argsort(first)] = np.arange(len(first))
    return rank[inverse.reshape(-1)]


def _by_halves(x: Points, radius: float) -> Labels:
    """Components by asking, bit by bit of their numbers, for links between zeros and ones.

    Two components differ in some bit, so once no bit finds a link there is none. Order n log^2 n.
    """
    labels, bit, quiet = np.arange(len(x), dtype=np.intp), 0, 0
    while quiet < (bits := int(labels.max()).bit_length()):
        bit %= bits
        here, there = _links(x, labels >> bit & 1 == 1, radius)
        quiet = 0 if len(here) else quiet + 1
        labels = _merged(labels, here, there) if len(here) else labels
        bit += 1
    return labels


def _links(x: Points, side: npt.NDArray[np.bool_], radius: float) -> tuple[Labels, Labels]:
    """Each point of one side with its nearest one on the other, if within the radius."""
    here, there = np.flatnonzero(side), np.flatnonzero(~side)
    # the tree keeps distances below its bound; a link may be as long as the radius
    bound = np.nextafter(radius, np.inf)
    answer = KDTree(x[there]).query(x[here], distance_upper_bound=bound)
    nearest = np.asarray(answer[1])
    found = nearest < len(there)
    return here[found], there[nearest[found]]


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
