"""The whole of R^d: every velocity is allowed and every point is on it."""

__all__ = ["Euclid"]

from dataclasses import dataclass
from typing import ClassVar

import torch
from jaxtyping import Float
from torch import Tensor

from vlasov._shapes import Points
from vlasov.geometry.base import Geometry


@dataclass(frozen=True)
class Euclid(Geometry):
    """R^d with its own norm."""

    name: ClassVar[str] = "euclid"

    def tangent(self, x: Points, u: Points) -> Points:
        """All of `u`."""
        return u

    def retract(self, x: Points) -> Points:
        """The point itself."""
        return x

    def normal_acceleration(self, x: Points, u: Points) -> Points:
        """Zero: free tokens move along straight lines."""
        return torch.zeros_like(u)

    def distance(self, x: Points, y: Points) -> Float[Tensor, "*batch n"]:
        """Length of the difference."""
        return torch.linalg.vector_norm(x - y, dim=-1)

    def check(self, x: Points) -> None:
        """Accept every point."""
