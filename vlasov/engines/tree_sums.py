r"""One certified sum over a cloud: two trees, a shift per query, the walk, and the bound.

Every kept weight is off by a factor within :math:`1 \pm \varepsilon`, and a mass of at most
:math:`\tau Z` is dropped, so

.. math:: |\tilde m_i - m_i| \le \Bigl((1 + \tau)\frac{\varepsilon}{1 - \varepsilon} + \tau\Bigr)
          \max_j |v_j - \tilde m_i| + \text{rounding}, \qquad
          |\log \tilde Z_i - \log Z_i| \le -\log(1 - \varepsilon - \tau) + \text{rounding}

with :math:`\varepsilon` the largest error of the polynomials in use and :math:`\tau` what pruning
may drop, both a quarter of the tolerance.

Source: spec, engines page, "Error statement".
"""

__all__ = ["CertifiedSum", "certified_sum", "smallest_tolerance"]

import math
import time
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from vlasov.engines.engine_report import EngineReport
from vlasov.engines.expansion import ROUNDING, Expansion, expansion
from vlasov.engines.threads import in_threads
from vlasov.engines.tree_build import Grown, grown

Array = npt.NDArray[np.floating[Any]]
Integers = npt.NDArray[np.int64]

_TASK_LEVEL = 6
_WIDE = 100.0
"""Where exponents of the queries of a leaf can differ more, each query looks for its own key."""
# Nanoseconds of a monomial and channel at a query and at a key, of a pair, of an expansion, of a
# row of pairs, and of a token in an expansion; measured with two coordinates and values.
_COSTS = (0.08, 0.14, 0.7, 1000.0, 25.0, 8.0)


@dataclass(frozen=True, eq=False)
class CertifiedSum:
    """Averages (n, values), natural log-sums, and bounds of their absolute errors, by query."""

    averages: Array
    logs: Array
    bounds: Array
    log_bound: float
    report: EngineReport


class _Terms(NamedTuple):
    """What the walk is about: trees, values, shifts, polynomials, and the rule of choice."""

    queries: Grown
    keys: Grown
    values: Array
    shifts: Array
    best: Integers
    basis: Expansion
    rule: tuple[float, ...]

    @property
    def trees(self) -> tuple[Any, Any]:
        """The nodes of both trees."""
        return self.queries.nodes, self.keys.nodes

    @property
    def scene(self) -> tuple[Any, ...]:
        """As the compiled walk takes it."""
        queries, keys, basis = self.queries, self.keys, self.basis
        operands = (queries.points, keys.points, keys.logits, self.values, self.shifts)
        terms = np.diff(basis.chains[basis.starts]) * (1.0 + len(self.values))
        chains = (basis.levels, basis.sides, basis.chains, basis.coefficients)
        polynomials = (basis.radii, basis.starts, *chains, terms)
        return operands, self.trees, polynomials, self.best, self.rule


def smallest_tolerance(exponent: float) -> float:
    """What rounding leaves, relative to the spread of the values, at a largest exponent."""
    return 4 * ROUNDING * (16 + exponent)


def certified_sum(q: Array, k: Array, v: Array, logits: Array, tolerance: float) -> CertifiedSum:
    """The sum for queries (n, d), keys (m, d), values (m, c) and finite key logits (m,)."""
    clock = time.perf_counter()
    middle = v.mean(axis=0)
    queries = grown(q * math.log2(math.e), np.zeros(len(q)))
    keys = grown(k, logits * math.log2(math.e))
    shifts, best = _shifts(queries, keys)
    level, accuracy = min(queries.depth, _TASK_LEVEL), tolerance / 4
    terms = _Terms(
        queries,
        keys,
        np.ascontiguousarray((v - middle)[keys.order].T),
        shifts,
        best,
        expansion(q.shape[1], accuracy),
        (2**level - 1, math.log2(accuracy / len(k)), *_COSTS),
    )
    totals, counts = _totals(terms, 2**level)
    averages = totals[:, 1:] / totals[:, :1]
    relative = _relative_bound(terms, counts, accuracy)
    bounds = relative * _distances(terms.values, averages) + ROUNDING * np.abs(v).max()
    pairs = float(len(q)) * len(k)
    shares = (counts[:, :3].sum(axis=0) / pairs).tolist()
    seconds = time.perf_counter() - clock
    report = EngineReport("tree", float(bounds.max()), shares[0], shares[1], shares[2], seconds)
    back = np.empty_like(queries.order)
    back[queries.order] = np.arange(len(q))
    logs = (np.log2(totals[:, 0]) + terms.shifts) * math.log(2)
    log_bound = -math.log1p(-min(relative, 0.5))
    return CertifiedSum((averages + middle)[back], logs[back], bounds[back], log_bound, report)


def _shifts(queries: Grown, keys: Grown) -> tuple[Array, Integers]:
    """The exponent that each query is shifted by, and the best key of each query node."""
    from vlasov.engines import tree_search

    best, points = np.zeros(len(queries.nodes[0]), dtype=np.int64), (keys.points, keys.logits)
    search = partial(tree_search.best_keys, queries.nodes, keys.nodes, points, best)
    for level in range(queries.depth + 1):
        first = 2**level - 1
        in_threads(lambda r, f=first: search((f + r[0], f + r[1])), 2**level)
    shifts, leaf = np.empty(len(queries.order)), queries.nodes[4]
    trees = (queries.nodes, keys.nodes)
    rows = partial(tree_search.row_shifts, (queries.points, *points), trees, best, _WIDE, shifts)
    in_threads(lambda r: rows((leaf + r[0], leaf + r[1])), 2**queries.depth)
    return shifts, best


def _totals(terms: _Terms, tasks: int) -> tuple[Array, Array]:
    """Sums of weights and weighted values, in the order of the query tree, and the counts."""
    from vlasov.engines import tree_walk

    scene, counts = terms.scene, np.zeros((tasks, 4))
    expanded, left = tree_walk.plan(scene, counts[0])
    left = left[np.argsort(left[:, 0], kind="stable")]
    longest = int(np.diff(terms.basis.chains[terms.basis.starts]).max())
    totals = np.zeros((len(terms.queries.order), 1 + len(terms.values)))
    moments = np.empty((len(expanded), totals.shape[1], longest))
    begins = np.searchsorted(left[:, 0], np.arange(tasks + 1))
    planned = (expanded, moments, np.empty(len(expanded)), left, begins)
    go = partial(tree_walk.walk, scene, planned, (totals, counts))
    if len(expanded):
        in_threads(lambda r: go((*r, 1)), len(expanded))
    _sum_directly(terms, in_threads(lambda r: go((*r, 0)), tasks), totals)
    return totals, counts


def _sum_directly(terms: _Terms, lists: list[Integers], totals: Array) -> None:
    """Add the pairs that were left over; the lists belong to disjoint queries."""
    from vlasov.engines import tree_walk

    lists = [pairs for pairs in lists if len(pairs)]
    if not lists:
        return
    queries, keys = terms.queries, terms.keys
    width = len(queries.points)
    values = [*terms.values, *[np.zeros(len(keys.logits))] * (-len(terms.values) % width)]
    for first in range(0, len(values), width):
        columns = tuple(values[first : first + width])
        operands = (tuple(queries.points), tuple(keys.points), keys.logits, columns)
        part = np.zeros((len(totals), 1 + width))
        add = partial(tree_walk.sum_pairs, operands, terms.trees, terms.shifts)
        in_threads(lambda r, a=add, p=part: [a(x, p) for x in lists[r[0] : r[1]]], len(lists))
        kept = min(width, len(terms.values) - first)
        totals[:, 1 + first : 1 + first + kept] += part[:, 1 : 1 + kept]
        if not first:
            totals[:, 0] += part[:, 0]


def _relative_bound(terms: _Terms, counts: Array, accuracy: float) -> float:
    """The error of an average relative to the largest distance of a value from it."""
    queries, keys = terms.queries, terms.keys
    spread = float(counts[:, 3].max())
    exponent = _longest(queries.points) * _longest(keys.points) + float(np.abs(keys.logits).max())
    rounding = ROUNDING * (math.exp(2 * spread) + exponent + 16)
    used = accuracy if counts[:, 1].any() else 0.0
    pruned = accuracy if counts[:, 0].any() else 0.0
    return (1 + pruned) * used / (1 - used) + pruned + 2 * rounding


def _longest(points: Array) -> float:
    return math.sqrt(float(np.square(points).sum(axis=0).max()))


def _distances(values: Array, averages: Array) -> Array:
    """A bound, for each average, of its distance from any value."""
    middle = (values.min(axis=1) + values.max(axis=1)) / 2
    radius = _longest(values - middle[:, None])
    return np.sqrt(np.square(averages - middle).sum(axis=1)) + radius
