r"""Cosines between the directions of tokens, over pairs drawn from :math:`\mu \otimes \mu`.

.. math:: \mathrm{mean\_cosine} = \Bigl|\sum_i w_i \frac{x_i}{|x_i|}\Bigr|^2, \qquad
          \mathrm{min\_cosine} = \min_{i, j} \frac{\langle x_i, x_j\rangle}{|x_i||x_j|}

A token forms a pair with itself too: as a measure a cloud cannot tell one token from two halves of
it. For n tokens of equal weight the mean over distinct pairs is (n^2 m - n) / (n^2 - n) with m the
value here. Tokens at the origin have no direction and are left out; a cloud that sits there gives
NaN.
"""

__all__ = ["MeanCosine", "MinCosine"]

from dataclasses import dataclass
from typing import ClassVar

import torch
from jaxtyping import Float
from torch import Tensor

from vlasov.cloud import Cloud
from vlasov.observables.base import Observable, per_cloud
from vlasov.observables.farthest import farthest_pair


def _directions(x: Tensor) -> tuple[Tensor, Tensor]:
    """Unit vectors, and where they exist; zero vectors at the origin."""
    # divided by the largest coordinate first: squares of 1e-200 and 1e200 leave the range
    scale = x.detach().abs().amax(-1, keepdim=True)
    there = scale > 0
    scaled = x / torch.where(there, scale, 1.0)
    length = torch.linalg.vector_norm(scaled, dim=-1, keepdim=True)
    return scaled / torch.where(there, length, 1.0), there.squeeze(-1)


@dataclass(frozen=True)
class MeanCosine(Observable):
    """The mean cosine of two tokens, in time of order n.

    Example:
        >>> MeanCosine()(Cloud([[1.0, 0.0], [0.0, 3.0]])).item()
        0.5
    """

    name: ClassVar[str] = "mean_cosine"

    def measure(self, cloud: Cloud) -> Float[Tensor, "*batch"]:
        """The mean over pairs, from 0 (directions balance) to 1 (all agree)."""
        directions, there = _directions(cloud.points)
        w = cloud.weights.to(directions) * there
        sums = (w[..., None] * directions).sum(-2)
        return sums.square().sum(-1) / w.sum(-1).square()


@dataclass(frozen=True)
class MinCosine(Observable):
    """The smallest cosine of two tokens, exact; the cost is that of the diameter."""

    name: ClassVar[str] = "min_cosine"

    def measure(self, cloud: Cloud) -> Float[Tensor, "*batch"]:
        """The minimum over pairs, from -1 (two tokens are opposite) to 1."""
        return per_cloud(cloud, _smallest_cosine)


def _smallest_cosine(x: Tensor, w: Tensor) -> Tensor:
    directions, there = _directions(x)
    if not bool(there.any()):
        return x.new_tensor(torch.nan)
    first, second = farthest_pair(directions[there])
    # of unit vectors the farthest two have the smallest cosine, 1 - |x - y|^2 / 2
    return 1 - (first - second).square().sum() / 2
