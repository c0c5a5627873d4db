r"""Tokens sorted by position in equal groups, and the moments of each group.

.. math:: m, \qquad \Sigma, \qquad \mathbb E \cos(\langle e, X\rangle - \pi/4), \quad
          e = (1, \dots, 1)/\sqrt d

The phase keeps the first derivative of the observable away from 0 at the origin.
"""

__all__ = ["PHASE", "Moments", "like", "moments", "positions"]

import math
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from vlasov._shapes import Points
from vlasov.experiments.cloud_checks import DTYPES
from vlasov.experiments.converge_config import ConvergeConfig

PHASE = math.pi / 4
"""Of the observable."""


@dataclass(frozen=True, eq=False)
class Moments:
    """Mean, covariance and the mean of a bounded smooth function, at each position."""

    mean: Float[Tensor, "*groups d"]
    cov: Float[Tensor, "*groups d d"]
    cosine: Float[Tensor, "*groups"]


def moments(x: Points) -> Moments:
    """The moments of groups of points of equal weight."""
    mean = x.mean(-2)
    centred = x - mean.unsqueeze(-2)
    cosine = torch.cos(x.sum(-1) / math.sqrt(x.shape[-1]) - PHASE).mean(-1)
    return Moments(mean, centred.mT @ centred / x.shape[-2], cosine)


def positions(n: int, groups: int, x: Tensor) -> Float[Tensor, " n"]:
    """Positions 0, 1, ... of so many tokens each, on the device of `x`."""
    return torch.arange(groups, dtype=x.dtype, device=x.device).repeat_interleave(n // groups)


def like(config: ConvergeConfig) -> Float[Tensor, ""]:
    """A number in the format and on the device of the settings."""
    return torch.zeros((), dtype=DTYPES[config.dtype or "float64"], device=config.device)
