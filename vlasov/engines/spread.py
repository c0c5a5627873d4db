r"""How much the trees find to do in a cloud, as the radius of a ball with the same work.

Trees split what lies farther apart than a polynomial reaches, so their work grows with the number
of cells of that size that a cloud fills: :math:`N = V_d R^{d/2} / h^d` for a full ball of scores
up to R, few for clumps and curves. Counted on a sample; no bound depends on it.
"""

__all__ = ["radius_of"]

import math

import numpy as np
import torch
from torch import Tensor

from vlasov.engines.pairs import Pairs

_SAMPLE = 512
_MIXED = np.random.default_rng(0).integers(1, 2**40, 8)
"""Factors that give each cell a number of its own; the widest tokens have 8 coordinates."""
_CELL, _SMALL_CELL = 0.75, 0.35
"""Sides of a cell in up to three dimensions, and in more, where degrees are lower.

Below it a polynomial takes the spread of scores at a low degree.
"""


def radius_of(pairs: Pairs) -> float:
    """The radius of a full ball of scores that fills as many cells; the largest of a batch."""
    q, k = (_sampled(x, pairs.batch) for x in (pairs.q, pairs.k))
    return max(_radius(*members) for members in zip(q, k, strict=True))


def _radius(q: Tensor, k: Tensor) -> float:
    long_q, long_k = _longest(q), _longest(k)
    radius = long_q * long_k
    if not 0 < radius < math.inf:
        return 0.0
    d, balance = q.shape[-1], math.sqrt(long_k / long_q)
    side = _CELL if d <= 3 else _SMALL_CELL
    filled = math.sqrt(_cells(q * (balance / side)) * _cells(k / (balance * side)))
    if filled > _SAMPLE / 2:
        return radius
    volume = math.pi ** (d / 2) / math.gamma(d / 2 + 1)
    return min(radius, side**2 * (filled / volume) ** (2 / d))


def _sampled(x: Tensor, batch: torch.Size) -> Tensor:
    """Tokens of every member (members, n, d), evenly taken."""
    x = x.detach()[..., :: max(1, x.shape[-2] // _SAMPLE), :].double()
    return x.expand(*batch, *x.shape[-2:]).reshape(-1, *x.shape[-2:])


def _longest(x: Tensor) -> float:
    return float(torch.linalg.vector_norm(x, dim=-1).amax())


def _cells(x: Tensor) -> int:
    """The number of cells that hold a token; a rare coincidence of two codes does no harm."""
    corners = x.floor().long().numpy()
    return len(np.unique(corners @ _MIXED[: x.shape[-1]]))
