"""Growing a tree over points, level by level, each level in parallel."""

__all__ = ["Grown", "grown", "with_logits"]

import dataclasses
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from vlasov.engines.threads import in_threads

Array = npt.NDArray[np.floating[Any]]
Integers = npt.NDArray[np.int64]

_LEAF = 128
_MEASURE, _HALVE = 2.0, 8.0
"""Nanoseconds of a coordinate on a level, and of a point that is brought to its half."""
_ALIKE = 1e-3
"""How far two clouds of the same shape may differ, relative to it, and share an order."""
_SAMPLE = 1000


@dataclass(frozen=True, eq=False)
class Grown:
    """A tree over points: coordinates (d, n) and logits in its order, and that order.

    `spans` and `facts` of its nodes: see `tree_kernel`. The shape depends on n alone.
    """

    points: Array
    logits: Array
    order: Integers
    spans: Integers
    facts: Array
    depth: int

    @property
    def first_leaf(self) -> int:
        """The number of the first node of the last level."""
        return 2**self.depth - 1

    @property
    def nodes(self) -> tuple[Integers, Integers, Array, Array, int]:
        """Starts, ends, boxes (nodes, 2, d), facts, and the number of the first leaf."""
        starts, ends = self.spans.T.copy()
        boxes = self.facts[:, -2 * len(self.points) :].reshape(len(starts), 2, -1).copy()
        return starts, ends, boxes, self.facts, self.first_leaf


def grown(x: Array, logits: Array, like: Grown | None = None) -> Grown:
    """The tree over points (n, d); in the order of another tree, if it has similar points."""
    from vlasov.engines import tree_kernel  # compiles, and loads numba

    if like is not None and _alike(x, like):
        points, order, spans = np.take(x, like.order, axis=0).T.copy(), like.order, like.spans
    else:
        points, order, spans = _halved(x)
    logits, facts = logits[order], np.empty((len(spans), 3 * len(points) + 2))
    measure = partial(tree_kernel.measure, points, logits, spans, facts)
    in_threads(measure, len(spans), _MEASURE * points.size * _depth(len(order)))
    return Grown(points, logits, order, spans, facts, _depth(len(order)))


def with_logits(tree: Grown, logits: Array) -> Grown:
    """The same tree with other logits, given in the order of the points."""
    d, first, permuted = len(tree.points), tree.first_leaf, logits[tree.order]
    facts = tree.facts.copy()
    facts[first:, d + 1] = np.maximum.reduceat(permuted, tree.spans[first:, 0])
    while first:
        halves = facts[first : 2 * first + 1, d + 1].reshape(-1, 2)
        first //= 2
        facts[first : 2 * first + 1, d + 1] = halves.max(axis=1)
    return dataclasses.replace(tree, logits=permuted, facts=facts)


def _halved(x: Array) -> tuple[Array, Integers, Integers]:
    from vlasov.engines import tree_kernel

    n = len(x)
    depth = _depth(n)
    points, order = np.array(x.T, order="C"), np.arange(n)  # a copy, which is permuted
    spans = np.zeros((2 ** (depth + 1) - 1, 2), dtype=np.int64)
    spans[0, 1] = n
    halve = partial(tree_kernel.halve, points, order, spans)
    for level in range(depth):
        first = 2**level - 1
        in_threads(lambda r, f=first: halve((f + r[0], f + r[1])), 2**level, _HALVE * n)
    return points, order, spans


def _alike(x: Array, tree: Grown) -> bool:
    """Whether points are those of a tree up to a factor and a shift, nearly, in a sample.

    Any order gives right sums: this one only decides how compact the nodes are.
    """
    if x.shape != tree.points.shape[::-1]:
        return False
    step = -(-len(x) // _SAMPLE)
    sample, there = x[tree.order[::step]].T, tree.points[:, ::step]
    size, wide = (float(np.ptp(y, axis=1).max()) for y in (sample, there))
    if not size * wide > 0:
        return False
    off = (sample - sample[:, :1]) / size - (there - there[:, :1]) / wide
    return bool(np.abs(off).max() < _ALIKE)


def _depth(n: int) -> int:
    """The number of halvings that leaves at most `_LEAF` points in a leaf."""
    depth = 0
    while -(-n >> depth) > _LEAF:
        depth += 1
    return depth
