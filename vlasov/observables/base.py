"""An observable: a number, vector or matrix that a cloud has as a measure.

The order of the tokens does not matter, nor whether one token of weight w is written as two of
w/2; tokens of weight zero are not part of the cloud.
"""

__all__ = ["Observable", "per_cloud"]

import abc
from collections.abc import Callable
from typing import ClassVar

import torch
from jaxtyping import Float
from torch import Tensor

from vlasov.cloud import Cloud


class Observable(abc.ABC):
    """A function of a cloud; members of a catalogue are frozen dataclasses of scalars.

    Values are at least fp32 also for half-precision clouds; leading batch axes are kept.
    """

    name: ClassVar[str]

    def __call__(self, cloud: Cloud) -> Float[Tensor, "..."]:
        """The value for each cloud of the batch; NaN for a cloud that is not finite."""
        wide = cloud.to(dtype=torch.promote_types(cloud.points.dtype, torch.float32))
        finite = wide.points.isfinite().all(dim=-1).all(dim=-1)
        if bool(finite.all()):
            return self.measure(wide)
        filled = torch.where(finite[..., None, None], wide.points, 0.0)
        value = self.measure(wide.with_points(filled))
        return value.masked_fill(
            ~finite.reshape((*finite.shape, *_ones(value, finite))), torch.nan
        )

    @abc.abstractmethod
    def measure(self, cloud: Cloud) -> Float[Tensor, "..."]:
        """The value for a finite cloud in fp32 or fp64."""


def _ones(value: Tensor, batch: Tensor) -> tuple[int, ...]:
    return (1,) * (value.dim() - batch.dim())


def per_cloud(cloud: Cloud, function: Callable[[Tensor, Tensor], Tensor]) -> Float[Tensor, "..."]:
    """The values of ``function(points, weights)`` for each cloud of a batch, stacked.

    The function is given the tokens of positive weight only.
    """
    points = cloud.points.reshape(-1, cloud.n, cloud.d)
    weights = cloud.weights.reshape(-1, cloud.n)
    values = [function(x[w > 0], w[w > 0]).to(x) for x, w in zip(points, weights, strict=True)]
    return torch.stack(values).reshape((*cloud.batch_shape, *values[0].shape))
