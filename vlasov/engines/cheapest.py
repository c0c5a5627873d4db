"""The cheapest engine for an exponential sum on the CPU, by the table of `costs`."""

__all__ = ["cheapest"]

import dataclasses
import math

import torch

from vlasov.engines.base import Engine
from vlasov.engines.certified import holds
from vlasov.engines.cost_model import Work
from vlasov.engines.costs import costs, few_pairs
from vlasov.engines.direct import Direct, reach
from vlasov.engines.fused import Fused
from vlasov.engines.monomial_choice import fewest_monomials
from vlasov.engines.monomials import Monomials, unsummed
from vlasov.engines.pairs import Pairs
from vlasov.engines.spread import spread_of
from vlasov.engines.tree import Tree, branches

_DIRECT: Engine = Direct()
_FUSED: Engine = Fused()
_LOOK = 2e-4
"""Seconds that it takes to see how far a cloud spreads."""
_GAIN = 0.75
"""Of the seconds that meeting every pair takes, which gains more from several threads."""
_OFFSET = 4
"""How much smaller exponents may be, seen from centres."""
_NARROW = 2
"""Widths up to which the trees beat one centre wherever that is accurate."""


def cheapest(pairs: Pairs, tolerance: float) -> Engine:
    """By the sizes of one member of a batch, not their number, and by the widest of them."""
    if pairs.wants_gradient or _few(pairs):
        return _FUSED
    work = _work(pairs)
    best = _quadratic(pairs, work)
    grows, centres = branches(pairs) is None, work.width > _NARROW and unsummed(pairs) is None
    least = min(
        costs().near_linear(work) if grows else math.inf,
        costs().about_one_centre(work, work.width) if centres else math.inf,
    )
    if least + _LOOK >= _GAIN * best[0]:
        return best[1]
    work = dataclasses.replace(work, **spread_of(pairs)._asdict())
    best = _GAIN * best[0], best[1]
    best = _near_linear(pairs, work, tolerance, best) if grows else best
    return (_about_one_centre(pairs, work, tolerance, best) if centres else best)[1]


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


def _near_linear(
    pairs: Pairs, work: Work, tolerance: float, best: tuple[float, Engine]
) -> tuple[float, Engine]:
    """The trees if they cost less than the best so far."""
    seconds = costs().near_linear(work)
    if seconds >= best[0] or not holds(tolerance, pairs):
        return best
    return seconds, Tree(tolerance)


def _about_one_centre(
    pairs: Pairs, work: Work, tolerance: float, best: tuple[float, Engine]
) -> tuple[float, Engine]:
    """Monomials if they cost less than the best so far; first by the fewest there can be."""
    fewest = fewest_monomials(work.width, work.radius / _OFFSET, tolerance)
    if costs().about_one_centre(work, fewest) >= best[0]:
        return best
    engine = Monomials(tolerance)
    count = engine.monomials(pairs)
    seconds = None if count is None else costs().about_one_centre(work, count)
    return best if seconds is None or seconds >= best[0] else (seconds, engine)


def _work(pairs: Pairs) -> Work:
    return Work(
        queries=pairs.q.shape[-2],
        keys=pairs.k.shape[-2],
        width=pairs.k.shape[-1],
        values=pairs.v.shape[-1],
        single=pairs.q.dtype == torch.float32,
        triangular=pairs.mask is not None and pairs.mask.causal,
    )
