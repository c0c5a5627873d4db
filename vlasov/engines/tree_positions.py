"""The tokens of the nodes of a tree in the order of their positions, level by level."""

__all__ = ["Descent", "Ranked", "firsts", "levels_of", "ranked", "spacious"]

import math
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from vlasov.engines.threads import in_threads
from vlasov.engines.tree_build import Grown

Array = npt.NDArray[np.floating[Any]]
Integers = npt.NDArray[np.int64]
Places = npt.NDArray[np.int32]
_SPARE = 8
"""Numbers of the widest register."""
_MOVE = 1.0
"""Nanoseconds of a number that is brought to the next level."""
Tokens = tuple[Places, Places, Array]


class Ranked(NamedTuple):
    """Rows of numbers by position, permuted for some levels of a tree.

    In ``rows[i]`` (rows, n), for level ``levels[i]``, the tokens of a node stand where its span
    says, those of earlier positions first; `positions` says which they are.
    """

    levels: Integers
    positions: Places
    rows: Array

    def number(self, nodes: Integers) -> Integers:
        """Where the level of each node is listed."""
        return np.searchsorted(self.levels, levels_of(nodes))

    def by_position(self, sums: Array) -> Array:
        """The total over the levels of sums (levels, rows, n), by position."""
        from vlasov.engines import tree_levels  # compiles

        totals = np.zeros(sums.shape[1:])
        add = partial(tree_levels.add_by_position, sums, self.positions, totals)
        in_threads(add, len(totals))
        return totals


class Descent:
    """Rows (rows, n), given by position, permuted for one level of a tree after the other."""

    def __init__(self, tree: Grown, rows: Array) -> None:
        self._tree, self._level, n = tree, 0, len(tree.order)
        sizes = np.diff(tree.spans[tree.first_leaf :], axis=1)[:, 0]
        leaves = np.empty(n, dtype=np.int32)
        leaves[tree.order] = np.repeat(np.arange(len(sizes), dtype=np.int32), sizes)
        self._tokens: Tokens = np.arange(n, dtype=np.int32), leaves, rows

    def to(self, level: int, into: tuple[Places, Array] | None = None) -> Ranked:
        """The rows of a level, not above the last one asked for; in given room, if any."""
        from vlasov.engines import tree_levels  # compiles

        while self._level < level:
            positions, leaves, rows = self._tokens
            room = into if self._level + 1 == level else None
            places, found = room or (np.empty_like(positions), spacious(*rows.shape))
            below = places, np.empty_like(leaves), found
            shift = self._tree.depth - 1 - self._level
            part = partial(tree_levels.deepen, self._tokens, below, self._tree.spans, shift)
            first, self._level = 2**self._level - 1, self._level + 1
            share = partial(_from, part, first)
            in_threads(share, first + 1, _MOVE * rows.size)
            self._tokens = below
        positions, _, rows = self._tokens
        if into is not None and rows is not into[1]:
            into[0][:], into[1][:] = positions, rows
        return Ranked(np.array([level]), positions[None], rows[None])


def _from(work: Callable[[tuple[int, int]], None], first: int, r: tuple[int, int]) -> None:
    work((first + r[0], first + r[1]))


def ranked(tree: Grown, rows: Array, levels: Integers) -> Ranked:
    """The rows (rows, n), given by position, for some levels, at least one."""
    levels = np.unique(levels)
    descent = Descent(tree, rows)
    positions = np.empty((len(levels), rows.shape[1]), dtype=np.int32)
    permuted = spacious(len(levels), *rows.shape)
    for i, level in enumerate(levels.tolist()):
        descent.to(level, (positions[i], permuted[i]))
    return Ranked(levels, positions, permuted)


def spacious(*shape: int) -> Array:
    """Numbers that loops over whole registers may read a little beyond."""
    size = math.prod(shape)
    return np.empty(size + _SPARE)[:size].reshape(shape)


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
