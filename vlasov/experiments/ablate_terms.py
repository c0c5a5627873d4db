r"""Local terms of the continuous system beside the MLP: along positions, and of stability.

.. math::

    F_i = \mathrm{rate}\,(x_{i+1} - 2 x_i + x_{i-1}), \qquad
    F_i = -\mathrm{rate}\,\Bigl(\frac{|x_i|^2}{d} - 1\Bigr) x_i

The first is diffusion along the order of the tokens without flux at the ends (prediction V61); the
second draws every token to unit root mean square, where LayerNorm would put it at once.
"""

__all__ = ["PARTS", "Diffusion", "LocalPart", "Stability"]

import math
from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from vlasov._shapes import Points
from vlasov.catalogue import Catalogue
from vlasov.errors import InvalidValue
from vlasov.pde import Term

Force = Callable[[float | Tensor, Tensor], Tensor]


class LocalPart(Term):
    """A part of a finite rate."""

    @property
    @abstractmethod
    def fastest(self) -> float:
        """The largest rate at which the part brings a token back, per unit of time."""


@dataclass(frozen=True)
class Diffusion(LocalPart):
    """Exchange between neighbours in the order of the tokens."""

    name: ClassVar[str] = "diffusion"
    rate: float = 0.1

    def __post_init__(self) -> None:
        _require_positive(self.rate, name=self.name)

    @property
    def fastest(self) -> float:
        """Four times the rate: the mode that alternates from token to token."""
        return 4 * self.rate

    def bind(self, x: Points) -> Force:
        """The second difference with reflecting ends; it needs nothing of `x`."""

        def force(t: float | Tensor, x: Tensor) -> Tensor:
            flux = self.rate * x.diff(dim=-2)
            still = torch.zeros_like(x[..., :1, :])
            return torch.cat([flux, still], -2) - torch.cat([still, flux], -2)

        return force


@dataclass(frozen=True)
class Stability(LocalPart):
    """A pull of every token towards unit root mean square."""

    name: ClassVar[str] = "stability"
    rate: float = 1.0

    def __post_init__(self) -> None:
        _require_positive(self.rate, name=self.name)

    @property
    def fastest(self) -> float:
        """Twice the rate, near unit root mean square."""
        return 2 * self.rate

    def bind(self, x: Points) -> Force:
        """The radial force; it needs nothing of `x`."""
        return lambda t, x: -self.rate * (x.square().mean(-1, keepdim=True) - 1) * x


PARTS: Catalogue[LocalPart] = Catalogue("part of the continuous system", [Diffusion, Stability])


def _require_positive(rate: float, *, name: str) -> None:
    if not 0 < rate < math.inf:
        raise InvalidValue(
            f"The rate of {name} must be finite and above 0 but is {rate}. Drop the part."
        )
