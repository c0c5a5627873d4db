r"""One certified sum over a cloud: two trees, a shift per query, a plan, its work, and the bound.

Every kept weight is off by a factor within :math:`1 \pm \varepsilon`, and a mass of at most
:math:`\tau Z` is dropped, so

.. math:: |\tilde m_i - m_i| \le \Bigl((1 + \tau)\frac{\varepsilon}{1 - \varepsilon} + \tau\Bigr)
          \max_j |v_j - \tilde m_i| + \text{rounding}, \qquad
          |\log \tilde Z_i - \log Z_i| \le -\log(1 - \varepsilon - \tau) + \text{rounding}

with :math:`\varepsilon` the largest error of the polynomials in use and :math:`\tau` what pruning
may drop, both a quarter of the tolerance.

Source: spec, engines page, "Error statement".
"""

__all__ = [
    "CertifiedSum",
    "Trees",
    "certified_sum",
    "check",
    "longest",
    "relative_bound",
    "require_held",
    "trees_over",
]

import math
import time
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from vlasov.engines.engine_report import EngineReport
from vlasov.engines.expansion import ROUNDING
from vlasov.engines.tree_build import Grown, grown, with_logits
from vlasov.engines.tree_terms import Terms, direct_totals, totals
from vlasov.errors import NotConverged

Array = npt.NDArray[np.floating[Any]]

_CHECKED = 64
"""Queries of every sum that are compared with the direct sum."""


@dataclass(frozen=True, eq=False)
class Trees:
    """The trees over queries and keys, which serve for any values and key logits."""

    queries: Grown
    keys: Grown


@dataclass(frozen=True, eq=False)
class CertifiedSum:
    """Averages (n, values), natural log-sums, and bounds of their absolute errors, by query."""

    averages: Array
    logs: Array
    bounds: Array
    log_bound: float
    report: EngineReport
    middle: Array
    terms: Terms


def trees_over(q: Array, k: Array) -> Trees:
    """The trees over queries (n, d) and keys (m, d); similar clouds share an order."""
    keys = grown(k, np.zeros(len(k)))
    return Trees(grown(q * math.log2(math.e), np.zeros(len(q)), like=keys), keys)


def certified_sum(trees: Trees, v: Array, logits: Array, tolerance: float) -> CertifiedSum:
    """The sum for values (m, c) and finite key logits (m,); for log-sums alone c may be 0."""
    clock = time.perf_counter()
    keys = with_logits(trees.keys, logits * math.log2(math.e))
    channels = np.ones((1 + v.shape[1], len(v)))
    middle = v.mean(axis=0)
    channels[1:] = np.take(v - middle, keys.order, axis=0).T
    terms = Terms.of(trees.queries, keys, channels, tolerance)
    sums, counts = totals(terms)
    averages = sums[1:] / sums[0]
    exponent = longest(terms.queries.points) * longest(keys.points)
    relative = relative_bound(exponent + float(np.abs(keys.logits).max()), counts, tolerance / 4)
    bounds = relative * _distances(channels[1:], averages) + ROUNDING * np.abs(v).max(initial=0.0)
    log_bound = -math.log1p(-min(relative, 0.5))
    pruned, expanded, direct = (counts[:3] / (len(trees.queries.order) * len(logits))).tolist()
    seconds = time.perf_counter() - clock
    shares = {"pruned": pruned, "expanded": expanded, "direct": direct}
    report = EngineReport(
        "tree", float(bounds.max()), **shares, seconds=seconds, log_bound=log_bound
    )
    back = np.empty_like(trees.queries.order)
    back[trees.queries.order] = np.arange(len(back))
    logs = (np.log2(sums[0]) + terms.shifts) * math.log(2)
    averages = (averages + middle[:, None]).T[back]
    return CertifiedSum(averages, logs[back], bounds[back], log_bound, report, middle, terms)


def relative_bound(exponent: float, counts: Array, accuracy: float) -> float:
    """The error of an average relative to the largest distance of a value from it.

    From the largest exponent to the base 2, and the counts of a plan.
    """
    rounding = ROUNDING * (math.exp(2 * counts[3]) + exponent + 16)
    used = accuracy if counts[1] else 0.0
    pruned = accuracy if counts[0] else 0.0
    return (1 + pruned) * used / (1 - used) + pruned + 2 * rounding


def longest(points: Array) -> float:
    """The largest norm of points (d, n)."""
    return math.sqrt(float(np.square(points).sum(axis=0).max(initial=0.0)))


def _distances(values: Array, averages: Array) -> Array:
    """A bound, for each average, of its distance from any value."""
    if not len(values):
        return np.zeros(averages.shape[1])
    middle = (values.min(axis=1) + values.max(axis=1)) / 2
    radius = longest(values - middle[:, None])
    return np.sqrt(np.square(averages - middle[:, None]).sum(axis=0)) + radius


def check(found: CertifiedSum) -> None:
    """Compare some queries with the direct sum.

    Raises:
        NotConverged: if a bound does not hold, which is an error of the engine.
    """
    order, middle = found.terms.queries.order, found.middle
    rows = np.linspace(0, len(order) - 1, min(len(order), _CHECKED)).astype(np.int64)
    logs = found.logs[order[rows]] / math.log(2)
    sums = direct_totals(found.terms, rows, logs)
    off = found.averages[order[rows]] - middle - (sums[1:] / sums[0]).T
    require_held(off.T, found.bounds[order[rows]], np.log(sums[0]), found.log_bound)


def require_held(off: Array, bounds: Array, log_off: Array, log_bound: float) -> None:
    """Refuse averages that are off (values, n) by more than their bounds, or such log-sums.

    Raises:
        NotConverged: if a bound does not hold, which is an error of the engine.
    """
    far, log_far = np.sqrt(np.square(off).sum(axis=0)), np.abs(log_off)
    if not ((far <= bounds).all() and (log_far <= log_bound).all()):
        raise NotConverged(
            f"Engine 'tree' promised errors below {bounds.max():.1e} (of logarithms "
            f"{log_bound:.1e}) but a direct sum differs by {far.max():.1e} "
            f"({log_far.max():.1e}). Please report this; use engine 'direct'."
        )
