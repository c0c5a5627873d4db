r"""Planar covariances as points of a cone, and the grid of starts at trace one.

.. math:: (u, w, s) = (\Sigma_{11} - \Sigma_{22},\; 2\Sigma_{12},\; \Sigma_{11} + \Sigma_{22}),
          \qquad \Sigma \ge 0 \iff u^2 + w^2 \le s^2

The boundary of the cone holds the covariances of rank one. Source: spec section 4.
"""

__all__ = ["Grid", "coordinates"]

from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float
from torch import Tensor


@dataclass(frozen=True)
class Grid:
    """The points of a square grid of (u, w) inside the cone, at trace one.

    Attributes:
        side: points along each side.
        reach: u and w go from -reach to reach.
        every: paths are recorded from every such point along each side.
    """

    side: int
    reach: float
    every: int = 1

    def covariances(self) -> Float[Tensor, "n 2 2"]:
        """The starts, positive definite."""
        u, w = self._points().unbind(-1)
        rows = [torch.stack([1 + u, w], dim=-1), torch.stack([w, 1 - u], dim=-1)]
        return torch.stack(rows, dim=-2)[self._inside()] / 2

    def recorded(self) -> Bool[Tensor, " n"]:
        """Which of the starts have their paths recorded."""
        chosen = torch.arange(self.side) % self.every == (self.every - 1) // 2
        return (chosen[:, None] & chosen).flatten()[self._inside()]

    def _points(self) -> Float[Tensor, "m 2"]:
        line = torch.linspace(-self.reach, self.reach, self.side, dtype=torch.float64)
        return torch.cartesian_prod(line, line)

    def _inside(self) -> Bool[Tensor, " m"]:
        return self._points().square().sum(-1) < 1 - 1e-9


def coordinates(cov: Float[Tensor, "*batch 2 2"]) -> Float[Tensor, "*batch 3"]:
    """The coordinates (u, w, s) of covariances.

    Example:
        >>> coordinates(torch.tensor([[1.0, 0.5], [0.5, 2.0]])).tolist()
        [-1.0, 1.0, 3.0]
    """
    a, b, c = cov[..., 0, 0], cov[..., 0, 1], cov[..., 1, 1]
    return torch.stack([a - c, 2 * b, a + c], dim=-1)
