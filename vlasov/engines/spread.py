r"""How much the trees find to do in a cloud: as in a ball of scores up to R, or as in clumps.

Trees split what lies farther apart than a polynomial reaches. A sample of a cloud is put into
cells of about that size, and again into cells of twice the side, of which tokens on a surface of
m dimensions fill :math:`2^m` times as few. Clumps (m = 0) cost an expansion for each query and
clump; curves (m = 1) in the plane or in space as much as the ball with as many cells,
:math:`N = V_d R^{d/2} / h^d`; anything else as much as the whole ball. No bound depends on it.
"""

__all__ = ["Spread", "spread_of"]

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from vlasov.engines.pairs import Pairs

Numbers = npt.NDArray[np.float64]

_SAMPLE = 512
_MOST = 160
"""Cells that a sample is enough to count."""
_MIXED = np.random.default_rng(0).integers(1, 2**40, 16)
"""Factors that give each cell a number of its own; the widest tokens have 16 coordinates."""
_FARTHEST = 2.0**62
"""The last cell."""
_CELL = 0.75
"""The side of a cell."""
_CLUMPED, _CURVED = 0.5, 1.1
"""Dimensions below which cells hold clumps, and parts of a curve."""


class Spread(NamedTuple):
    """The radius R of a ball of scores, and how many clumps there are; 0 if none are seen."""

    radius: float
    clumps: int


def spread_of(pairs: Pairs) -> Spread:
    """The spread of the member of a batch that spreads farthest."""
    q, k = (_sampled(x, pairs.batch) for x in (pairs.q, pairs.k))
    with np.errstate(over="ignore"):
        found = [_spread(*members) for members in zip(q, k, strict=True)]
    return max(found, key=lambda spread: (not spread.clumps, *spread))


def _spread(q: Numbers, k: Numbers) -> Spread:
    long_q, long_k = _longest(q), _longest(k)
    radius = long_q * long_k
    if not 0 < radius < math.inf:
        return Spread(0.0, 0)
    d, balance = q.shape[-1], math.sqrt(long_k / long_q)
    q, k = q * (balance / _CELL), k / (balance * _CELL)
    filled = math.sqrt(_cells(q) * _cells(k))
    if filled > _MOST:
        return Spread(radius, 0)
    dimension = math.log2(filled / math.sqrt(_cells(q / 2) * _cells(k / 2)))
    if dimension < _CLUMPED:
        return Spread(radius, round(filled))
    if dimension > _CURVED or d > 3:
        return Spread(radius, 0)
    volume = math.pi ** (d / 2) / math.gamma(d / 2 + 1)
    return Spread(min(radius, _CELL**2 * (filled / volume) ** (2 / d)), 0)


def _sampled(x: Tensor, batch: torch.Size) -> Numbers:
    """Tokens of every member (members, n, d), evenly taken."""
    found = x.detach()[..., :: -(-x.shape[-2] // _SAMPLE), :].double().cpu().numpy()
    return np.broadcast_to(found, (*batch, *found.shape[-2:])).reshape(-1, *found.shape[-2:])


def _longest(x: Numbers) -> float:
    return float(np.sqrt(np.square(x).sum(-1).max()))


def _cells(x: Numbers) -> int:
    """The number of cells that hold a token; a rare coincidence of two codes does no harm."""
    corners = np.floor(x).clip(-_FARTHEST, _FARTHEST).astype(np.int64)
    return len(set((corners @ _MIXED[: x.shape[-1]]).tolist()))
