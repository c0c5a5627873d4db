"""The tokens of the nodes of a tree in the order of their positions, level by level."""

__all__ = ["Ranked", "firsts", "levels_of", "ranked"]

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from vlasov.engines.threads import in_threads
from vlasov.engines.tree_build import Grown

Array = npt.NDArray[np.floating[Any]]
Integers = npt.NDArray[np.int64]


class Ranked(NamedTuple):
    """Rows of numbers by position, permuted for some levels of a tree.

    In ``rows[i]`` (rows, n), for level ``levels[i]``, the tokens of a node stand where its span
    says, those of earlier positions first; `positions` says which they are.
    """

    levels: Integers
    positions: Integers
    rows: Array

    def number(self, nodes: Integers) -> Integers:
        """Where the level of each node is listed."""
        return np.searchsorted(self.levels, levels_of(nodes))

    def by_position(self, sums: Array) -> Array:
        """The total over the levels of sums (levels, rows, n), by position."""
        total, back = sums[0].copy(), np.empty(sums.shape[2], dtype=np.int64)
        for level in range(1, len(sums)):
            back[self.positions[level]] = np.arange(len(back))
            total += np.take(sums[level], back, axis=1, mode="clip")
        return total


def ranked(tree: Grown, rows: Array, levels: Integers) -> Ranked:
    """The rows (rows, n), given by position, for some levels; for that of the root if none."""
    levels = np.unique(levels) if len(levels) else np.zeros(1, dtype=np.int64)
    positions = np.empty((len(levels), len(tree.order)), dtype=np.int64)
    permuted = np.empty((len(levels), *rows.shape))

    def fill(r: tuple[int, int]) -> None:
        for i in range(*r):
            positions[i] = _by_node(tree, int(levels[i]))
            np.take(rows, positions[i], axis=1, out=permuted[i], mode="clip")

    in_threads(fill, len(levels))
    return Ranked(levels, positions, permuted)


def _by_node(tree: Grown, level: int) -> Integers:
    """All positions, those of a node together and in order."""
    spans = tree.spans[2**level - 1 : 2 ** (level + 1) - 1]
    # numbers of 16 bits are sorted by counting
    kind = np.uint16 if level <= 16 else np.int64
    node = np.empty(len(tree.order), dtype=kind)
    node[tree.order] = np.repeat(np.arange(len(spans), dtype=kind), spans[:, 1] - spans[:, 0])
    return np.argsort(node, kind="stable")


def levels_of(nodes: Integers) -> Integers:
    """The level of each node: that of the root is 0."""
    return np.frexp(nodes + 1.0)[1].astype(np.int64) - 1


def firsts(tree: Grown, begin: int) -> Integers:
    """The earliest position, not before `begin`, of each node; n where there is none."""
    n = len(tree.order)
    late = np.where(tree.order < begin, n, tree.order)
    found = np.empty(len(tree.spans), dtype=np.int64)
    first = tree.first_leaf
    found[first:] = np.minimum.reduceat(late, tree.spans[first:, 0])
    while first:
        halves = found[first : 2 * first + 1].reshape(-1, 2)
        first //= 2
        found[first : 2 * first + 1] = halves.min(axis=1)
    return found
