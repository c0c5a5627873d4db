"""A tree of boxes over a set of points, for searches that leave out far or near ones."""

__all__ = ["Boxes", "boxes_over"]

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from vlasov.engines.tree_build import grown

Integers = npt.NDArray[np.int64]
Nodes = tuple[Integers, Integers, npt.NDArray[Any], int]


@dataclass(frozen=True, eq=False)
class Boxes:
    """Points (d, n) in the order of the tree, and the number of each in the order given.

    `nodes` are their starts, ends, boxes (nodes, 2, d), and the number of the first leaf. Node i
    has the children 2 i + 1 and 2 i + 2.
    """

    points: npt.NDArray[Any]
    order: Integers
    nodes: Nodes
    depth: int


def boxes_over(x: npt.NDArray[np.float64]) -> Boxes:
    """The tree over points (n, d)."""
    tree = grown(x, np.zeros(len(x)))
    starts, ends, boxes, _, first_leaf = tree.nodes
    return Boxes(tree.points, tree.order, (starts, ends, boxes, first_leaf), tree.depth)
