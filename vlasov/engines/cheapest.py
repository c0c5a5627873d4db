"""The cheapest engine for an exponential sum on the CPU, by the table of `costs`."""

__all__ = ["cheapest"]

import dataclasses

import torch

from vlasov.engines.base import Engine
from vlasov.engines.certified import holds
from vlasov.engines.costs import Work, costs, few_pairs
from vlasov.engines.direct import Direct, reach
from vlasov.engines.fused import Fused
from vlasov.engines.monomials import Monomials
from vlasov.engines.pairs import Pairs
from vlasov.engines.spread import radius_of
from vlasov.engines.tree import Tree, branches

_DIRECT: Engine = Direct()
_FUSED: Engine = Fused()
_LOOK = 3e-4
"""Seconds that it takes to see how far a cloud spreads."""
_NARROW = 2
"""Widths up to which the trees beat one centre wherever that is accurate."""


def cheapest(pairs: Pairs, tolerance: float) -> Engine:
    """By the sizes of one member of a batch, not their number, and by the widest of them."""
    if pairs.wants_gradient or _few(pairs):
        return _FUSED
    work = _work(pairs)
    best = _near_linear(pairs, work, tolerance, _quadratic(pairs, work))
    if work.width <= _NARROW:
        return best[1]
    return _about_one_centre(pairs, work, tolerance, best)[1]


def _few(pairs: Pairs) -> bool:
    width = max(pairs.k.shape[-1], pairs.v.shape[-1])
    few = few_pairs(width, pairs.q.dtype == torch.float32)
    return pairs.q.shape[-2] * pairs.k.shape[-2] < few


def _quadratic(pairs: Pairs, work: Work) -> tuple[float, Engine]:
    fused = costs().quadratic("fused", work)
    if reach(pairs) is not None:
        return fused, _FUSED
    direct = costs().quadratic("direct", work)
    return (fused, _FUSED) if fused < direct else (direct, _DIRECT)


def _about_one_centre(
    pairs: Pairs, work: Work, tolerance: float, best: tuple[float, Engine]
) -> tuple[float, Engine]:
    """Monomials if they cost less than the best so far."""
    engine = Monomials(tolerance)
    if costs().about_one_centre(work, work.width) >= best[0]:
        return best
    count = engine.monomials(pairs)
    seconds = None if count is None else costs().about_one_centre(work, count)
    return best if seconds is None or seconds >= best[0] else (seconds, engine)


def _near_linear(
    pairs: Pairs, work: Work, tolerance: float, best: tuple[float, Engine]
) -> tuple[float, Engine]:
    """The trees if they cost less than the best so far; first by a bound that is quick to see."""
    if branches(pairs) is not None or costs().near_linear(work) + _LOOK >= best[0]:
        return best
    spread = dataclasses.replace(work, radius=radius_of(pairs))
    seconds = costs().near_linear(spread)
    if seconds >= best[0] or not holds(tolerance, pairs):
        return best
    return seconds, Tree(tolerance)


def _work(pairs: Pairs) -> Work:
    return Work(
        queries=pairs.q.shape[-2],
        keys=pairs.k.shape[-2],
        width=pairs.k.shape[-1],
        values=pairs.v.shape[-1],
        single=pairs.q.dtype == torch.float32,
        triangular=pairs.mask is not None and pairs.mask.causal,
    )
