"""The sums of a causal walk: its plan carried out in parallel, and the block of every query."""

__all__ = ["causal_totals", "seen_totals"]

import math
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from vlasov.engines.threads import in_threads
from vlasov.engines.tree_causal_terms import CausalTerms
from vlasov.engines.tree_positions import Descent, Ranked, levels_of, ranked

Array = npt.NDArray[np.floating[Any]]
Integers = npt.NDArray[np.int64]

_TASKS = 16
"""Tasks for the threads."""
_SHARED, _DEAR = 0.3, 0.1
"""A query node with more of the work at a key level, and of all, is shared by threads,"""
_RANGES = 16
"""which take ranges of its positions: moments are then gathered twice."""
_ITEMS = 64
_TOGETHER = 8
"""Queries that are summed directly together, each key being read once for all."""


def causal_totals(terms: CausalTerms, block: int) -> tuple[Array, Array]:
    """Sums of the weighted channels (channels, n) by position, and the counts of the plan."""
    expanded, direct, counts = terms.plan(block)
    nodes, blocks = np.concatenate([expanded, direct]), (terms.begin, block, terms.count)
    queries = ranked(terms.queries, terms.query_rows, np.append(levels_of(nodes[:, 0]), 0))
    items = np.column_stack([nodes, queries.number(nodes[:, 0]), 0 * nodes[:, 0]])
    levels, near = levels_of(nodes[:, 1]), np.arange(len(nodes)) >= len(expanded)
    sums = np.zeros((len(queries.levels), terms.channels, terms.count))
    descent = Descent(terms.keys, terms.key_rows)  # keys of all levels would take much memory
    dear = _DEAR * float(_costs(terms, expanded).sum())
    _Work(terms, blocks, dear, queries, descent.to(0), sums).sum_own()
    for level in np.unique(levels).tolist():
        work = _Work(terms, blocks, dear, queries, descent.to(level), sums)
        work.expand(items[(levels == level) & ~near])
        work.sum_near(items[(levels == level) & near])
    return queries.by_position(sums), counts


def _costs(terms: CausalTerms, items: Integers) -> Array:
    """What expansions cost: terms times tokens."""
    spans = terms.queries.spans[items[:, 0]], terms.keys.spans[items[:, 1]]
    tokens = sum(x[:, 1] - x[:, 0] for x in spans)
    return tokens * terms.basis.table[1, items[:, 2]]


def _tasks(nodes: Integers, costs: Array, dear: float) -> Integers:
    """A task for each item, that of all items of its query node: they add to the same sums.

    Tasks cost about the same, the dearest nodes coming first. -1 for nodes that have so much of
    the work, and are so dear, that threads share them.
    """
    _, group = np.unique(nodes, return_inverse=True)
    whole = np.bincount(group, costs)
    rank = np.empty(len(whole), dtype=np.int64)
    rank[np.argsort(-whole, kind="stable")] = np.arange(len(whole))
    place = rank % (2 * _TASKS)  # dealt forwards, then backwards
    task = np.minimum(place, 2 * _TASKS - 1 - place)
    return np.where(whole > max(_SHARED * whole.sum(), dear), -1, task)[group]


class _Work(NamedTuple):
    """What the compiled loops take.

    Blocks are (first query, size of a block, tokens). Expansions of a query node of a key level
    that cost more than `dear` are shared by threads, if they are much of the level.
    """

    terms: CausalTerms
    blocks: tuple[int, int, int]
    dear: float
    queries: Ranked
    keys: Ranked
    sums: Array

    def expand(self, items: Integers) -> None:
        """Add expansions, those of a task one after the other."""
        tasks = _tasks(items[:, 0], _costs(self.terms, items), self.dear)
        for i in np.flatnonzero(tasks < 0):
            self._expand_in_ranges(items[i : i + 1])
        in_threads(lambda r: [self._expand(items[tasks == i]) for i in range(*r)], _TASKS)

    def sum_near(self, items: Integers) -> None:
        """Add pairs of nodes directly."""
        terms = self.terms
        tasks = _tasks(items[:, 0], np.ones(len(items)), math.inf)
        spans = terms.queries.spans[items[:, 0]], terms.keys.spans[items[:, 1]]
        ranges, block = np.column_stack([*spans, items[:, 3:]]), self.blocks[1]
        in_threads(
            lambda r: [self._sum_seen(ranges[tasks == i], block) for i in range(*r)], _TASKS
        )

    def sum_own(self) -> None:
        """Add the keys of the block of every query, directly."""
        begin, block, n = self.blocks
        ends = np.append(np.arange(begin, n, block), n)
        ranges = np.zeros((len(ends) - 1, 6), dtype=np.int64)
        ranges[:, 0] = ranges[:, 2] = ends[:-1]
        ranges[:, 1] = ranges[:, 3] = ends[1:]
        in_threads(lambda r: self._sum_seen(ranges[slice(*r)], 0), len(ranges))

    def _sum_seen(self, ranges: Integers, block: int) -> None:
        from vlasov.engines import tree_causal_direct  # compiles

        tree_causal_direct.sum_seen(self._tokens, ranges, (self.blocks[0], block), self.sums)

    def _expand(self, items: Integers) -> None:
        begin, block, n = self.blocks
        for low in range(0, len(items), _ITEMS):
            some = items[low : low + _ITEMS]
            moments = self._moments(len(some))
            self._add(some, (begin, 0, begin, begin), moments)
            self._add(some, (block, begin, n, begin), moments)

    def _expand_in_ranges(self, item: Integers) -> None:
        """Add one expansion: first the moments of every range, then what comes of them."""
        begin, block, n = self.blocks
        step = -(-(n - begin) // (_RANGES * block)) * block
        ends = [0, *range(begin, n, step), n]
        moments = self._moments(len(ends) - 2)[:, None]

        def gather(r: tuple[int, int]) -> None:
            for i in range(*r):
                self._add(item, (n, ends[i], ends[i + 1], ends[i + 1]), moments[i])

        def spread(r: tuple[int, int]) -> None:
            for i in range(*r):
                self._add(item, (block, ends[i + 1], ends[i + 2], ends[i + 1]), moments[i])

        in_threads(gather, len(moments))
        np.cumsum(moments, axis=0, out=moments)
        in_threads(spread, len(moments))

    def _add(self, items: Integers, window: tuple[int, ...], moments: Array) -> None:
        from vlasov.engines import tree_causal_walk  # compiles

        terms = self.terms
        nodes = terms.queries.spans, terms.queries.facts, terms.keys.spans, terms.keys.facts
        scene = (*self._tokens, nodes, tuple(terms.chains))
        size = tree_causal_walk.scratch_size(terms.width, terms.channels, *terms.chains.most)
        scratch = np.empty(size)
        tree_causal_walk.add_expansions(scene, items, window, moments, scratch, self.sums)

    @property
    def _tokens(self) -> tuple[Any, Any]:
        queries, keys = self.queries, self.keys
        return (queries.positions, queries.rows), (keys.positions, keys.rows)

    def _moments(self, items: int) -> Array:
        return np.zeros((items, self.terms.channels, self.terms.chains.terms))


def seen_totals(terms: CausalTerms, positions: Integers) -> Array:
    """The sums (channels, positions) of some queries without approximation."""
    from vlasov.engines import tree_causal_direct  # compiles

    count = len(positions)
    scene = (
        (positions.astype(np.int32)[None], np.take(terms.query_rows, positions, axis=1)[None]),
        (np.arange(terms.count, dtype=np.int32)[None], terms.key_rows[None]),
    )
    ends = np.arange(0, count + _TOGETHER, _TOGETHER).clip(max=count)
    items = np.zeros((len(ends) - 1, 6), dtype=np.int64)
    items[:, 0], items[:, 1], items[:, 3] = ends[:-1], ends[1:], terms.count
    sums = np.zeros((1, terms.channels, count))
    add = partial(tree_causal_direct.sum_seen, scene)
    in_threads(lambda r: add(items[slice(*r)], (0, 0), sums), len(items))
    return sums[0]
