r"""Mean and covariance of a cloud as a measure.

.. math:: m = \sum_i w_i x_i, \qquad \Sigma = \sum_i w_i (x_i - m)(x_i - m)^T

The covariance is that of the measure itself (divided by n, not n - 1), the one that Gaussian
reductions call covariance.
"""

__all__ = ["Covariance", "Mean", "covariance", "mean"]

from dataclasses import dataclass
from typing import ClassVar

from jaxtyping import Float
from torch import Tensor

from vlasov.cloud import Cloud
from vlasov.observables.base import Observable


def mean(cloud: Cloud) -> Float[Tensor, "*batch d"]:
    """The weighted mean of the tokens."""
    w, x = cloud.weights.to(cloud.points)[..., None], cloud.points
    first = (w * x).sum(-2)
    # the second pass takes out that rounded weights sum to 1 only up to rounding
    return first + (w * (x - first[..., None, :])).sum(-2)


def covariance(cloud: Cloud) -> Float[Tensor, "*batch d d"]:
    """The weighted covariance, from centred tokens: far from the origin no digits are lost."""
    centred = cloud.points - mean(cloud)[..., None, :]
    scaled = centred * cloud.weights.to(centred).sqrt()[..., None]
    product = scaled.mT @ scaled
    return (product + product.mT) / 2


@dataclass(frozen=True)
class Mean(Observable):
    """The mean, a vector."""

    name: ClassVar[str] = "mean"

    def measure(self, cloud: Cloud) -> Float[Tensor, "*batch d"]:
        """The weighted mean of the tokens."""
        return mean(cloud)


@dataclass(frozen=True)
class Covariance(Observable):
    """The covariance, a symmetric positive semi-definite matrix.

    Example:
        >>> round(Covariance()(Cloud([[0.0], [2.0]])).item(), 12)
        1.0
    """

    name: ClassVar[str] = "covariance"

    def measure(self, cloud: Cloud) -> Float[Tensor, "*batch d d"]:
        """The weighted covariance."""
        return covariance(cloud)
