r"""Certified causal sums by one walk over two trees, for all queries but the first ones.

Positions come in blocks. The keys of the blocks before that of a query are summed by the trees,
whose nodes hold their tokens in the order of the positions, see `tree_causal_walk`; those of its
own block directly. The shift of a query is attained by a key that it sees, and the statement is
that of `tree_sums`: kept weights are within a factor :math:`1 \pm \varepsilon`, and a mass of at
most :math:`\tau Z_i` is dropped. Values are seen from the mean of those before `begin`.

Source: spec, engines page, "Causal order".
"""

__all__ = ["fits_walk", "walked"]

import math
import time
from typing import Any

import numpy as np
import numpy.typing as npt
import torch

from vlasov.engines.certified import Sums, least_tolerance
from vlasov.engines.engine_report import EngineReport, note
from vlasov.engines.expansion import ROUNDING
from vlasov.engines.pairs import Pairs
from vlasov.engines.tree_causal_terms import CausalTerms
from vlasov.engines.tree_causal_totals import causal_totals, seen_totals
from vlasov.engines.tree_sums import relative_bound, require_held

Array = npt.NDArray[np.floating[Any]]

_RANGE = 970.0
"""Bits of exponents: what is summed, relative to the weight of any key, stays finite."""
_CHECKED = 64
"""Queries of every sum that are compared with the direct sum."""
_EPS = float(np.finfo(np.float64).eps)


def fits_walk(tolerance: float, pairs: Pairs) -> bool:
    """Whether a walk can take the sums of this cloud."""
    if bool(pairs.logits.isneginf().any()):
        return False
    least, exponent = least_tolerance(pairs)
    # a corner of a box may be farther than any key
    return tolerance >= least and (1 + math.sqrt(pairs.k.shape[-1])) * exponent <= _RANGE


def walked(tolerance: float, pairs: Pairs, *, begin: int, block: int | None = None) -> Sums:
    """The sums of the queries from `begin` on, over keys 0 to i for query i; of values near 1.

    Raises:
        NotConverged: if a bound does not hold, which is an error of the engine.
    """
    clock = time.perf_counter()
    top, v = pairs.logits.max(), pairs.v.numpy()
    logits = (pairs.logits - top).numpy()
    middle = v[:begin].mean(axis=0)
    terms = CausalTerms.of(
        pairs.q.numpy(), pairs.k.numpy(), v - middle, logits, tolerance=tolerance, begin=begin
    )
    block = block or terms.block()
    sums, counts = causal_totals(terms, block)
    masses, averages = sums[0, begin:], sums[1:, begin:] / sums[0, begin:]
    relative = relative_bound(terms.largest, counts, tolerance / 4)
    log_bound = -math.log1p(-min(relative, 0.5))
    # of the values, those that a query sees count in its bound
    farthest = np.maximum.accumulate(_norms(terms.values))[begin:]
    bounds = relative * (_norms(averages) + farthest)
    bounds += ROUNDING * (farthest + math.sqrt(float(middle @ middle)))
    _check(terms, averages, masses, (bounds, log_bound))
    logs = torch.from_numpy((np.log2(masses) + terms.shifts[begin:]) * math.log(2)) + top
    log_bounds = log_bound + _EPS * logs.abs()
    largest = float(bounds.max()), float(log_bounds.max())
    note(_report(counts / len(v) ** 2, block / len(v), largest, time.perf_counter() - clock))
    found = torch.from_numpy((averages + middle[:, None]).T)
    return Sums(found, logs, torch.from_numpy(bounds), log_bounds)


def _norms(columns: Array) -> Array:
    return np.sqrt(np.square(columns).sum(axis=0))


def _check(
    terms: CausalTerms, averages: Array, masses: Array, promised: tuple[Array, float]
) -> None:
    """Compare some queries with the direct sum."""
    count = len(masses)
    rows = np.linspace(0, count - 1, min(count, _CHECKED)).astype(np.int64)
    wanted, (bounds, log_bound) = seen_totals(terms, terms.begin + rows), promised
    off, log_off = averages[:, rows] - wanted[1:] / wanted[0], np.log(masses[rows] / wanted[0])
    require_held(off, bounds[rows], log_off, log_bound)


def _report(
    shares: Array, in_blocks: float, bounds: tuple[float, float], seconds: float
) -> EngineReport:
    """With the shares of the plan, and of the pairs in blocks, which are summed directly."""
    own = min(in_blocks, 1.0)
    pruned, expanded, direct = ((1 - own) * shares[:3]).tolist()
    shown = {"pruned": pruned, "expanded": expanded, "direct": direct + own}
    return EngineReport("tree", bounds[0], **shown, seconds=seconds, log_bound=bounds[1])
