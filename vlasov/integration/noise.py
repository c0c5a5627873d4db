r"""Noise as the loop sees it: a draw that knows no point, and its projection at a point.

.. math:: dx = f(t, x)\,dt + P(x) \circ \sqrt{2 D}\, dW
"""

__all__ = ["AdditiveNoise", "Noise"]

import math
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import torch
from torch import Tensor

from vlasov.errors import InvalidValue


@runtime_checkable
class Noise(Protocol):
    """Brownian increments of a state.

    The two halves are apart so that one draw can be projected at both ends of a step.
    """

    def draw(self, x: Tensor, h: float, generator: torch.Generator) -> Tensor:
        r"""An increment :math:`\sqrt{2 D h}\,\xi` in space, :math:`\xi` standard normal."""
        ...

    def project(self, x: Tensor, xi: Tensor) -> Tensor:
        """The part of the increment `xi` that acts at the state `x`."""
        ...


@dataclass(frozen=True)
class AdditiveNoise:
    """Independent noise of constant strength on every coordinate, in flat space.

    Raises:
        InvalidValue: for a negative or non-finite diffusion.
    """

    diffusion: float

    def __post_init__(self) -> None:
        if not (math.isfinite(self.diffusion) and self.diffusion >= 0):
            raise InvalidValue(
                f"A diffusion must be finite and >= 0 but is {self.diffusion}. "
                f"Give D, half the variance per time."
            )

    def draw(self, x: Tensor, h: float, generator: torch.Generator) -> Tensor:
        """Variance ``2 D h`` on every coordinate."""
        xi = torch.randn(x.shape, generator=generator, dtype=x.dtype, device=x.device)
        return math.sqrt(2 * self.diffusion * h) * xi

    def project(self, x: Tensor, xi: Tensor) -> Tensor:
        """Flat space: the increment itself."""
        return xi
