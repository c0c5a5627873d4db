r"""Certified causal sums: by one walk where there are many tokens, else by halves.

By halves, the later tokens see all of the earlier half, and each half goes on by itself.

The sums a and b over two disjoint groups of keys are one sum with

.. math:: s = Z_b / (Z_a + Z_b), \qquad m = m_a + s\,(m_b - m_a)

An error of :math:`\delta` in the difference of the logarithms moves s by at most
:math:`s(1 - s)(e^{\delta} - 1)`; the error of the logarithm of the whole is at most the larger
one of the parts.

Source: spec, engines page, "Causal order".
"""

__all__ = ["WALKED", "by_halves", "causal_sums"]

import dataclasses
import itertools
from collections.abc import Iterable

import torch
from torch import Tensor

from vlasov.engines.certified import Sums, certified_whole, least_tolerance
from vlasov.engines.direct import WIDEST, direct_sums
from vlasov.engines.engine_report import EngineReport, collecting, note
from vlasov.engines.pairs import Pairs
from vlasov.engines.threads import in_threads

_EPS = torch.finfo(torch.float64).eps
_END = 4096
"""Sums of no more tokens than this are direct."""
_MANY = 1.5
"""Times as many tokens make a walk cheaper."""
WALKED = int(_MANY * _END)
"""Sums of more tokens walk the trees, where they can."""
_FIRST = 64
"""The part of the tokens, one in so many, that a walk leaves out."""
Split = tuple[int, int, int]


def causal_sums(tolerance: float, pairs: Pairs, *, end: int = _END) -> Sums:
    """The sums over keys 0 to i for query i, of one cloud.

    Raises:
        EngineUnsupported, NotConverged: as `certified_whole`.
    """
    scale = pairs.value_scale()
    pairs = dataclasses.replace(pairs, v=pairs.v / scale)
    walks = len(pairs.q) > _MANY * end and _fits(tolerance, pairs)
    with collecting() as reports:
        parts = _by_walk(tolerance, pairs, end) if walks else by_halves(tolerance, pairs, end)
    found = parts._replace(averages=parts.averages * scale, bounds=parts.bounds * scale)
    if reports:
        bounds = float(found.bounds.max()), float(found.log_bounds.max())
        note(dataclasses.replace(reports[0], bound=bounds[0], log_bound=bounds[1], sums=1))
    return found


def _fits(tolerance: float, pairs: Pairs) -> bool:
    from vlasov.engines.tree_causal import fits_walk

    return fits_walk(tolerance, pairs)


def _by_walk(tolerance: float, pairs: Pairs, end: int) -> Sums:
    """One walk for all but the first tokens, which see too few keys to prune by."""
    from vlasov.engines.tree_causal import walked

    begin = max(1, len(pairs.q) // _FIRST)
    early = by_halves(tolerance, _part(pairs, 0, begin), end)
    return _joined([early, walked(tolerance, pairs, begin=begin)])


def by_halves(tolerance: float, pairs: Pairs, end: int) -> Sums:
    """The sums over keys 0 to i for query i, by halves down to `end` tokens.

    All sums are independent; those of a level are added to the rows of its later halves.
    """
    levels, leaves = _division(len(pairs.q), end)

    def some(r: tuple[int, int]) -> list[Sums]:
        return [_direct(_part(pairs, *leaf)) for leaf in leaves[slice(*r)]]

    found = _joined(itertools.chain(*in_threads(some, len(leaves))))
    for level in reversed(levels):
        rows = torch.cat([torch.arange(middle, high) for _, middle, high in level])
        across = _across(tolerance, pairs, level)
        later = _merged(Sums(*(x[rows] for x in found)), across)
        for whole, part in zip(found, later, strict=True):
            whole[rows] = part
    return found


def _division(n: int, end: int) -> tuple[list[list[Split]], list[tuple[int, int]]]:
    """The halvings (begin, middle, end) of each level, and the ranges that are left."""
    levels: list[list[Split]] = []
    whole, leaves = [(0, n)], list[tuple[int, int]]()
    while whole:
        leaves += [(low, high) for low, high in whole if high - low <= end]
        level = [(low, (low + high) // 2, high) for low, high in whole if high - low > end]
        if level:
            levels.append(level)
        whole = [x for low, middle, high in level for x in ((low, middle), (middle, high))]
    return levels, sorted(leaves)


def _across(tolerance: float, pairs: Pairs, level: list[Split]) -> Sums:
    """The sums of the later halves over the earlier ones."""

    def some(r: tuple[int, int]) -> tuple[list[Sums], list[EngineReport]]:
        with collecting() as reports:
            found = [certified_whole(tolerance, _crossed(pairs, x)) for x in level[slice(*r)]]
        return found, reports

    few = len(level) < torch.get_num_threads()  # then each sum takes all threads
    parts = [some((0, len(level)))] if few else in_threads(some, len(level))
    for report in itertools.chain(*(reports for _, reports in parts)):
        note(report)
    return _joined(itertools.chain(*(found for found, _ in parts)))


def _joined(parts: Iterable[Sums]) -> Sums:
    return Sums(*(torch.cat(columns) for columns in zip(*parts, strict=True)))


def _crossed(pairs: Pairs, split: Split) -> Pairs:
    low, middle, high = split
    early, late = _part(pairs, low, middle), _part(pairs, middle, high)
    return Pairs(late.q, early.k, early.v, early.logits)


def _part(pairs: Pairs, low: int, high: int) -> Pairs:
    q, k, v = (x[low:high] for x in (pairs.q, pairs.k, pairs.v))
    return Pairs(q, k, v, pairs.logits[low:high])


def _direct(pairs: Pairs) -> Sums:
    """Direct sums, whose errors are those of rounding."""
    found = _in_columns(pairs)
    relative = least_tolerance(pairs)[0]
    middle = pairs.v.mean(dim=0)
    bound = relative * (2 * _norms(pairs.v - middle).max() + _norms(pairs.v).max())
    logs = found[:, -1]
    log_bounds = relative + _EPS * torch.where(logs.isinf(), 0.0, logs.abs())
    return Sums(found[:, :-1], logs, bound.expand(len(found)), log_bounds)


def _in_columns(pairs: Pairs) -> Tensor:
    """Direct sums, of as many values at a time as they take."""
    columns = pairs.v.split(WIDEST, dim=-1)
    parts = [direct_sums(dataclasses.replace(pairs, v=v), True) for v in columns]
    return torch.cat([*(part[:, :-1] for part in parts), parts[0][:, -1:]], dim=-1)


def _merged(a: Sums, b: Sums) -> Sums:
    """The sums over two disjoint groups of keys as one."""
    logs = torch.logaddexp(a.logs, b.logs)
    empty = logs.isneginf()
    # from the difference alone: its rounding matters as little as the smaller share
    share = torch.where(empty, 0.0, (b.logs - a.logs).sigmoid())
    step = b.averages - a.averages
    apart = _norms(step)
    log_bounds = torch.maximum(a.log_bounds, b.log_bounds) + _EPS * (
        2 + torch.where(empty, 0.0, logs.abs())
    )
    moved = share * (1 - share) * (a.log_bounds + b.log_bounds + 2 * log_bounds).expm1() + _EPS
    bounds = a.bounds + share * (b.bounds - a.bounds)
    bounds = bounds + moved * (apart + (b.bounds - a.bounds).abs())
    bounds = bounds + 4 * _EPS * (_norms(a.averages) + apart)
    return Sums(a.averages + share.unsqueeze(-1) * step, logs, bounds, log_bounds)


def _norms(x: Tensor) -> Tensor:
    return torch.linalg.vector_norm(x, dim=-1)
