"""The sums that a plan over two trees gives: shifts, plan, and work in parallel."""

__all__ = ["Terms", "direct_totals", "totals"]

import math
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from vlasov.engines.expansion import Expansion, expansion
from vlasov.engines.threads import in_threads
from vlasov.engines.tree_build import Grown

Array = npt.NDArray[np.floating[Any]]
Integers = npt.NDArray[np.int64]

_TASK_LEVEL = 6
_ITEMS = 64
"""Expansions at a time, so that their moments stay in the cache."""
_WIDE = 100.0
"""Where exponents of the queries of a leaf can differ more, each query looks for its own key."""
# Nanoseconds of a term and channel at a query and at a key, of a pair, of an expansion, of a row
# of pairs, and of a token in an expansion; measured with two coordinates and values.
_COSTS = (0.08, 0.14, 0.7, 1000.0, 25.0, 8.0)
_SEARCH, _LEFT, _PAIR = 1000.0, 10_000.0, 1.0
"""Nanoseconds of the search for a node, of a pair of nodes left to a task, of a checked pair."""


class Terms(NamedTuple):
    """What is summed: trees, channels, polynomials, and for every query node its best key.

    `channels` are values in the order of the key tree, whose first row is ones.
    """

    queries: Grown
    keys: Grown
    channels: Array
    basis: Expansion
    dropped: float
    shifts: Array
    aims: Array

    @classmethod
    def of(cls, queries: Grown, keys: Grown, channels: Array, tolerance: float) -> "Terms":
        """With a quarter of the tolerance for the polynomials, and one for pruning."""
        accuracy = tolerance / 4
        dropped = math.log2(accuracy / channels.shape[1])
        shifts, aims = _shifts(queries, keys, dropped)
        basis = expansion(len(keys.points), accuracy)
        return cls(queries, keys, channels, basis, dropped, shifts, aims)

    @property
    def scene(self) -> tuple[Any, ...]:
        """All of it, as `tree_expand` takes it."""
        return self.operands, self.trees, self.polynomials

    def room(self, items: int) -> tuple[Array, Array]:
        """Where the moments of so many expansions go, and their scales."""
        terms = int(self.basis.table[1].max())
        return np.empty((items, len(self.channels), terms)), np.empty(items)

    @property
    def operands(self) -> tuple[Array, ...]:
        """The tokens, as `tree_expand` takes them."""
        queries, keys = self.queries, self.keys
        return queries.points, keys.points, keys.logits, self.channels, -self.shifts

    @property
    def trees(self) -> tuple[Any, ...]:
        """The nodes, as `tree_expand` takes them."""
        return self.queries.spans, self.queries.facts, self.keys.spans, self.keys.facts

    @property
    def polynomials(self) -> tuple[Any, ...]:
        """As `tree_expand` takes them."""
        return self.basis.starts, self.basis.stems.T.copy(), self.basis.coefficients

    @property
    def question(self) -> tuple[Any, ...]:
        """The scene and the rule, as `tree_choice` takes them."""
        spans, facts, others, other_facts = self.trees
        table = self.basis.table * [[1.0], [float(len(self.channels))]]
        leaves = float(self.queries.first_leaf), float(self.keys.first_leaf)
        scene = (spans, facts, self.aims, others, other_facts, table)
        return scene, (*leaves, self.dropped, *_COSTS)


def totals(terms: Terms) -> tuple[Array, Array]:
    """Sums of the weighted channels, in the order of the query tree, and the counts of the plan.

    These are pruned, expanded and direct pairs, and the largest exponent of an expansion.
    """
    from vlasov.engines import tree_choice, tree_direct, tree_expand  # compile

    level = min(terms.queries.depth, _TASK_LEVEL)
    first, tasks = 2**level - 1, 2**level
    plan = partial(tree_choice.plan, *terms.question)
    counts = np.zeros((tasks + 1, 4))
    shared, direct, left = plan(np.zeros((1, 2), dtype=np.int64), first, counts[tasks])
    left = _by_task(left, first, level)
    begins = np.searchsorted(left[:, 2], np.arange(tasks + 1))
    sums = np.zeros((len(terms.channels), len(terms.shifts)))
    scene, above = terms.scene, terms.room(len(shared))
    gather = partial(tree_expand.gather_moments, scene)
    if len(shared):
        some = partial(_some, gather, shared, above)
        in_threads(some, len(shared), _terms_of(terms, terms.keys, shared[:, [1, 2]], _COSTS[1]))

    def task(r: tuple[int, int]) -> None:
        for node in range(*r):
            tree_expand.spread(scene, shared, above, first + node, sums)
        starts = np.ascontiguousarray(left[begins[r[0]] : begins[r[1]], :2])
        expanded, near, _ = plan(starts, 2**62, counts[r[0]])
        _expand(scene, expanded, terms.room(min(len(expanded), _ITEMS)), sums)
        tree_direct.sum_directly(scene, near, sums)

    queries = _terms_of(terms, terms.queries, shared[:, [0, 2]], _COSTS[0])
    in_threads(task, tasks, queries + _LEFT * len(left))
    if len(direct):
        tree_direct.sum_directly(scene, direct, sums)
    return sums, np.append(counts[:, :3].sum(axis=0), counts[:, 3].max())


def _some(
    gather: Callable[..., None], items: Integers, room: tuple[Array, ...], r: tuple[int, int]
) -> None:
    gather(items[slice(*r)], *(x[slice(*r)] for x in room))


def _terms_of(terms: Terms, tree: Grown, items: Integers, cost: float) -> float:
    """What terms of a cost take at the tokens of nodes, for items (node, polynomial)."""
    sizes = tree.spans[items[:, 0], 1] - tree.spans[items[:, 0], 0]
    return cost * len(terms.channels) * float(sizes @ terms.basis.table[1, items[:, 1]])


def _expand(
    scene: tuple[Any, ...], items: Integers, room: tuple[Array, Array], sums: Array
) -> None:
    """Add expansions to the queries of their nodes, as many at a time as there is room for."""
    from vlasov.engines import tree_expand  # compiles

    for low in range(0, len(items), _ITEMS):
        some = items[low : low + _ITEMS]
        tree_expand.gather_moments(scene, some, *room)
        tree_expand.spread(scene, some, room, -1, sums)


def _by_task(pairs: Integers, first: int, level: int) -> Integers:
    """Pairs sorted by the task of their query node, whose number is the last column."""
    pairs = pairs.copy()
    pairs[:, 2] = pairs[:, 0] - first
    return pairs[np.argsort(pairs[:, 2], kind="stable")]


def _shifts(queries: Grown, keys: Grown, dropped: float) -> tuple[Array, Array]:
    """The exponent that each query is shifted by, and the best key of each query node."""
    from vlasov.engines import tree_search  # compiles

    d, count = len(keys.points), len(queries.spans)
    wide = _WIDE if _varies(queries, keys, -dropped) else -1.0
    found = np.zeros(count, dtype=np.int64), np.empty((count, d + 1)), np.empty(len(queries.order))
    search = partial(
        tree_search.search,
        (queries.points, queries.spans, queries.facts, queries.first_leaf),
        (keys.points, keys.spans, keys.facts, keys.first_leaf, keys.logits),
        found,
        wide,
    )
    for level in range(queries.depth + 1):
        first = 2**level - 1
        in_threads(lambda r, f=first: search((f + r[0], f + r[1])), 2**level, _SEARCH * 2**level)
    return found[2], found[1]


def _varies(queries: Grown, keys: Grown, limit: float) -> bool:
    """Whether exponents can differ by more than a limit, below which no pair can be pruned."""
    d = len(keys.points)
    far = [np.abs(tree.facts[0, d + 2 :].reshape(2, d)).max(axis=0) for tree in (queries, keys)]
    return 2 * float((far[0] * far[1]).sum()) + float(np.ptp(keys.logits)) > limit


def direct_totals(terms: Terms, rows: Integers, shifts: Array) -> Array:
    """The sums of some queries, by their number in the query tree, without approximation."""
    from vlasov.engines import tree_direct  # compiles

    (d, keys), few = terms.keys.points.shape, 8
    spans = np.array([(low, min(low + few, len(rows))) for low in range(0, len(rows), few)])
    operands = (terms.queries.points[:, rows].copy(), *terms.operands[1:4], -shifts)
    trees = (spans, np.zeros((1, 3 * d + 2)), terms.keys.spans, terms.keys.facts)
    sums = np.zeros((len(terms.channels), len(rows)))
    items = np.zeros((len(spans), 3), dtype=np.int64)
    items[:, 0] = np.arange(len(spans))
    add = partial(tree_direct.sum_directly, (operands, trees, terms.polynomials))
    in_threads(lambda r: add(items[slice(*r)], sums), len(spans), _PAIR * shifts.size * keys)
    return sums
