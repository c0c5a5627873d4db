r"""Certified causal sums by halves: the later tokens see all of the earlier half.

The sums a and b over two disjoint groups of keys are one sum with

.. math:: s = Z_b / (Z_a + Z_b), \qquad m = m_a + s\,(m_b - m_a)

An error of :math:`\delta` in the difference of the logarithms moves s by at most
:math:`s(1 - s)(e^{\delta} - 1)`; the error of the logarithm of the whole is at most the larger
one of the parts.

Source: spec, engines page, "Causal order".
"""

__all__ = ["by_halves"]

import dataclasses

import torch
from torch import Tensor

from vlasov.engines.certified import Sums, certified_whole, least_tolerance
from vlasov.engines.direct import direct_sums
from vlasov.engines.engine_report import collecting, note
from vlasov.engines.members import require_finite
from vlasov.engines.pairs import Pairs

_EPS = torch.finfo(torch.float64).eps
_END = 4096
"""Sums of no more tokens than this are direct."""


def by_halves(tolerance: float, pairs: Pairs, *, end: int = _END) -> Sums:
    """The sums over keys 0 to i for query i, of one cloud.

    Raises:
        NotFinite, EngineUnsupported, NotConverged: as `certified_whole`.
    """
    require_finite("tree", pairs)
    with collecting() as reports:
        found = _halved(tolerance, pairs, end)
    if reports:
        bounds = float(found.bounds.max()), float(found.log_bounds.max())
        note(dataclasses.replace(reports[0], bound=bounds[0], log_bound=bounds[1], sums=1))
    return found


def _halved(tolerance: float, pairs: Pairs, end: int) -> Sums:
    n = pairs.q.shape[-2]
    if n == 0:
        return certified_whole(tolerance, pairs)
    if n <= end:
        return _direct(pairs)
    m = n // 2
    early, late = _part(pairs, 0, m), _part(pairs, m, n)
    across = Pairs(late.q, early.k, early.v, early.logits)
    later = _merged(_halved(tolerance, late, end), certified_whole(tolerance, across))
    parts = zip(_halved(tolerance, early, end), later, strict=True)
    return Sums(*(torch.cat(part) for part in parts))


def _part(pairs: Pairs, low: int, high: int) -> Pairs:
    q, k, v = (x[low:high] for x in (pairs.q, pairs.k, pairs.v))
    return Pairs(q, k, v, pairs.logits[low:high])


def _direct(pairs: Pairs) -> Sums:
    """Direct sums, whose errors are those of rounding."""
    found = direct_sums(pairs, True)
    relative = least_tolerance(pairs)[0]
    middle = pairs.v.mean(dim=0)
    bound = relative * (2 * _norms(pairs.v - middle).max() + _norms(pairs.v).max())
    logs = found[:, -1]
    log_bounds = relative + _EPS * torch.where(logs.isinf(), 0.0, logs.abs())
    return Sums(found[:, :-1], logs, bound.expand(len(found)), log_bounds)


def _merged(a: Sums, b: Sums) -> Sums:
    """The sums over two disjoint groups of keys as one."""
    logs = torch.logaddexp(a.logs, b.logs)
    empty = logs.isneginf()
    share = torch.where(empty, 0.0, (b.logs - torch.where(empty, 0.0, logs)).exp())
    step = b.averages - a.averages
    apart = _norms(step)
    log_bounds = torch.maximum(a.log_bounds, b.log_bounds) + _EPS * (
        2 + torch.where(empty, 0.0, logs.abs())
    )
    # the share is computed from logarithms, whose rounding counts with their errors
    moved = share * (1 - share) * (a.log_bounds + b.log_bounds + 2 * log_bounds).expm1() + _EPS
    bounds = a.bounds + share * (b.bounds - a.bounds)
    bounds = bounds + moved * (apart + (b.bounds - a.bounds).abs())
    bounds = bounds + 4 * _EPS * (_norms(a.averages) + apart)
    return Sums(a.averages + share.unsqueeze(-1) * step, logs, bounds, log_bounds)


def _norms(x: Tensor) -> Tensor:
    return torch.linalg.vector_norm(x, dim=-1)
