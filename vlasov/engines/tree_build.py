"""Growing a tree over points, level by level, each level in parallel."""

__all__ = ["Grown", "grown"]

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from vlasov.engines.threads import in_threads

Array = npt.NDArray[np.floating[Any]]
Integers = npt.NDArray[np.int64]

_LEAF = 128


@dataclass(frozen=True, eq=False)
class Grown:
    """A tree over points: coordinates (d, n) and logits in its order, and that order.

    `nodes` are (starts, ends, boxes, facts, number of the first leaf), see `tree_kernel`.
    """

    points: Array
    logits: Array
    order: Integers
    nodes: tuple[Integers, Integers, Array, Array, int]
    depth: int


def grown(x: Array, logits: Array) -> Grown:
    """The tree over points (n, d); its shape depends on n alone."""
    from vlasov.engines import tree_kernel  # compiles, and loads numba

    n, d = x.shape
    depth = _depth(n)
    count = 2 ** (depth + 1) - 1
    points, order = np.array(x.T, order="C"), np.arange(n)  # a copy, which is permuted
    starts, ends = np.zeros(count, dtype=np.int64), np.full(count, n, dtype=np.int64)
    halve = partial(tree_kernel.halve, points, order, starts, ends)
    for level in range(depth):
        first = 2**level - 1
        in_threads(lambda r, f=first: halve((f + r[0], f + r[1])), 2**level)
    logits = logits[order]
    boxes, facts = np.empty((count, 2, d)), np.empty((count, d + 2))
    measure = partial(tree_kernel.measure, points, logits, (starts, ends), boxes, facts)
    in_threads(measure, count)
    return Grown(points, logits, order, (starts, ends, boxes, facts, 2**depth - 1), depth)


def _depth(n: int) -> int:
    """The number of halvings that leaves at most `_LEAF` points in a leaf."""
    depth = 0
    while -(-n >> depth) > _LEAF:
        depth += 1
    return depth
