"""The state that is integrated: tokens alone, or tokens with their velocities under momentum."""

__all__ = ["PhaseSpace"]

from dataclasses import dataclass

import torch
from torch import Tensor

from vlasov._shapes import Points
from vlasov.cloud import Cloud
from vlasov.errors import Unsupported
from vlasov.geometry import Euclid
from vlasov.integration.problem import Retraction
from vlasov.pde import Noise, TransformerPDE


@dataclass(frozen=True, eq=False)
class BoundNoise:
    """The noise of an equation on its geometry; under momentum it acts on the velocities."""

    noise: Noise
    space: "PhaseSpace"

    def draw(self, x: Tensor, h: float, generator: torch.Generator) -> Tensor:
        """Ambient increments of the tokens or, under momentum, of their velocities."""
        return self.noise.draw(self.space.tokens(x), h, generator)

    def project(self, x: Tensor, xi: Tensor) -> Tensor:
        """The tangent part of the increments, placed in the state."""
        tokens = self.space.tokens(x)
        kick = self.space.pde.geometry.tangent(tokens, xi.expand(tokens.shape))
        if not self.space.doubled:
            return kick
        return torch.cat([torch.zeros_like(kick), kick], dim=-1)


@dataclass(frozen=True, eq=False)
class PhaseSpace:
    """How an equation's tokens sit in the integrated state of a cloud."""

    pde: TransformerPDE
    cloud: Cloud

    @property
    def doubled(self) -> bool:
        """Whether the state carries velocities behind the points."""
        return self.pde.momentum is not None

    @property
    def noise(self) -> BoundNoise | None:
        """The noise as the integrator takes it."""
        return None if self.pde.noise is None else BoundNoise(self.pde.noise, self)

    def initial(self) -> Tensor:
        """The state at the start: tokens at rest under momentum."""
        x = self.cloud.points
        return torch.cat([x, torch.zeros_like(x)], dim=-1) if self.doubled else x

    def tokens(self, state: Tensor) -> Points:
        """The points of a state."""
        return state[..., : self.cloud.d]

    @property
    def retract(self) -> Retraction | None:
        """How a state returns to the geometry at the end of a step; None in R^d."""
        geometry = self.pde.geometry
        if isinstance(geometry, Euclid):
            return None
        return self._retract_pair if self.doubled else geometry.retract

    def _retract_pair(self, state: Tensor) -> Tensor:
        x, u = state.chunk(2, dim=-1)
        x = self.pde.geometry.retract(x)
        return torch.cat([x, self.pde.geometry.tangent(x, u)], dim=-1)

    def require_tokens_only(self, what: str) -> None:
        """Refuse what is not defined with velocities.

        Raises:
            Unsupported: under momentum.
        """
        if self.doubled:
            raise Unsupported(f"{what} is not defined under momentum; drop one of the two.")
