r"""Brownian noise with diffusion coefficient D: :math:`dx = \Gamma\,dt + \sqrt{2D}\,P_x \circ dW`.

The law of tokens under independent noise solves the equation with :math:`+ D\,\Delta\mu`
(Laplace-Beltrami on the sphere): tangent increments followed by retraction give the Stratonovich
projection, whose Ito correction is normal to the sphere.
"""

__all__ = ["NOISES", "Common", "Independent", "Noise"]

import abc
import math
from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from vlasov._shapes import Points
from vlasov.catalogue import Catalogue
from vlasov.errors import InvalidValue


@dataclass(frozen=True)
class Noise(abc.ABC):
    """Gaussian increments of variance ``2 D h`` per coordinate over a time h."""

    name: ClassVar[str]
    diffusion: float = 0.5

    def __post_init__(self) -> None:
        if not (math.isfinite(self.diffusion) and self.diffusion >= 0):
            raise InvalidValue(
                "A diffusion coefficient must be finite and not negative but got "
                f"{self.diffusion}."
            )

    @abc.abstractmethod
    def draw(self, x: Points, h: float, generator: torch.Generator) -> Tensor:
        """Ambient increments for tokens `x`, broadcastable to their shape."""

    def _scaled(
        self, shape: tuple[int, ...], x: Tensor, h: float, generator: torch.Generator
    ) -> Tensor:
        # drawn on the CPU, so that one seed gives the same noise on every device
        xi = torch.randn(shape, generator=generator, dtype=x.dtype)
        return (math.sqrt(2 * self.diffusion * h) * xi).to(x.device)


@dataclass(frozen=True)
class Independent(Noise):
    """Every token has its own Brownian motion."""

    name: ClassVar[str] = "independent"

    def draw(self, x: Points, h: float, generator: torch.Generator) -> Tensor:
        """One increment for every token and coordinate, all of them independent."""
        return self._scaled(tuple(x.shape), x, h, generator)


@dataclass(frozen=True)
class Common(Noise):
    """All tokens of a cloud share one Brownian motion of the ambient space."""

    name: ClassVar[str] = "common"

    def draw(self, x: Points, h: float, generator: torch.Generator) -> Tensor:
        """One increment a cloud, of shape ``(*batch, 1, d)``; members of a batch differ."""
        return self._scaled((*x.shape[:-2], 1, x.shape[-1]), x, h, generator)


NOISES: Catalogue[Noise] = Catalogue("noise", [Independent, Common])
