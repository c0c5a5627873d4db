r"""How many directions a cloud fills, from the eigenvalues :math:`\lambda_k` of its covariance.

.. math:: \mathrm{effective\_rank} = \exp\Bigl(-\sum_k p_k \log p_k\Bigr), \quad
          p_k = \frac{\lambda_k}{\sum_l \lambda_l}, \qquad
          \mathrm{rank} = \#\{k : \lambda_k > \mathrm{threshold} \cdot \mathrm{tr}\,\Sigma\}

A cloud whose tokens coincide up to rounding has rank 0 in both senses.

Source: the exponential of the entropy of a spectrum is Roy and Vetterli's effective rank (EUSIPCO
2007), applied here to covariance eigenvalues.
"""

__all__ = ["EffectiveRank", "Rank"]

from dataclasses import dataclass
from typing import ClassVar

import torch
from jaxtyping import Float
from torch import Tensor

from vlasov.cloud import Cloud
from vlasov.errors import InvalidValue
from vlasov.observables.base import Observable
from vlasov.observables.moments import covariance


def _shares(cloud: Cloud) -> Float[Tensor, "*batch d"]:
    """Eigenvalues over their sum; all zero where the spread is within rounding."""
    eigenvalues = torch.linalg.eigvalsh(covariance(cloud)).clamp_min(0)
    total = eigenvalues.sum(-1, keepdim=True)
    visible = torch.where(cloud.weights[..., None] > 0, cloud.points, 0.0)
    rounding = 8 * torch.finfo(visible.dtype).eps * visible.abs().amax(dim=-2).amax(-1)
    spread = total > rounding[..., None].square()
    return torch.where(spread, eigenvalues / torch.where(spread, total, 1.0), 0.0)


def _require_share(value: float, *, name: str) -> None:
    if not 0 <= value < 1:
        raise InvalidValue(
            f"{name} is a share of the total variance in [0, 1) but got {value}. "
            "Take for example 0.01."
        )


@dataclass(frozen=True)
class EffectiveRank(Observable):
    """The exponential of the entropy of the eigenvalue shares, between 1 and d.

    Shares of `floor` or less count as zero: by default only what rounding leaves.
    """

    name: ClassVar[str] = "effective_rank"
    floor: float = 1e-12

    def __post_init__(self) -> None:
        _require_share(self.floor, name="The floor of effective_rank")

    def measure(self, cloud: Cloud) -> Float[Tensor, "*batch"]:
        """The effective rank; 0 for tokens at one point."""
        shares = _shares(cloud)
        floor = max(self.floor, cloud.d * torch.finfo(shares.dtype).eps)
        kept = torch.where(shares > floor, shares, 0.0)
        total = kept.sum(-1, keepdim=True)
        kept = kept / torch.where(total > 0, total, 1.0)
        rank = torch.special.entr(kept).sum(-1).exp()
        return torch.where(total.squeeze(-1) > 0, rank, 0.0)


@dataclass(frozen=True)
class Rank(Observable):
    """The number of directions that hold more than `threshold` of the total variance."""

    name: ClassVar[str] = "rank"
    threshold: float = 0.01

    def __post_init__(self) -> None:
        _require_share(self.threshold, name="The threshold of rank")

    def measure(self, cloud: Cloud) -> Float[Tensor, "*batch"]:
        """The rank, as a floating number."""
        shares = _shares(cloud)
        return (shares > self.threshold).sum(-1).to(shares)
