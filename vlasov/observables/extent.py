"""How far a cloud reaches: the largest norm and the largest distance of two tokens."""

__all__ = ["Diameter", "MaxNorm"]

from dataclasses import dataclass
from typing import ClassVar

import torch
from jaxtyping import Float
from torch import Tensor

from vlasov.cloud import Cloud
from vlasov.observables.base import Observable, per_cloud
from vlasov.observables.farthest import farthest_pair


@dataclass(frozen=True)
class MaxNorm(Observable):
    """The largest norm of a token."""

    name: ClassVar[str] = "max_norm"

    def measure(self, cloud: Cloud) -> Float[Tensor, "*batch"]:
        """The largest norm in the ambient space."""
        lengths = torch.linalg.vector_norm(cloud.points, dim=-1)
        return torch.where(cloud.weights > 0, lengths, 0.0).amax(-1)


@dataclass(frozen=True)
class Diameter(Observable):
    """The largest distance of two tokens, exact, in the ambient norm (the chord on a sphere).

    Near linear time for d <= 3, on spheres of few dimensions, and where few tokens are extreme;
    else up to order n^2 d, like one velocity evaluation. Memory of order n.
    """

    name: ClassVar[str] = "diameter"

    def measure(self, cloud: Cloud) -> Float[Tensor, "*batch"]:
        """The diameter; 0 for one token."""
        return per_cloud(cloud, _diameter)


def _diameter(x: Tensor, w: Tensor) -> Tensor:
    first, second = farthest_pair(x)
    return torch.linalg.vector_norm(first - second)
