r"""Laws of a token that can be drawn at random and placed evenly, by one map of the unit cube.

.. math:: X = T(U), \qquad U \text{ uniform on } [0, 1)^k

Random U give independent draws; a Sobol sequence (on the line, midpoints) gives a quantisation.
"""

__all__ = ["LAWS", "Normal", "StartLaw"]

import abc
import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from vlasov._shapes import Points
from vlasov.catalogue import Catalogue
from vlasov.errors import InvalidValue

_GRID = 2**15 + 1  # angles at which the von Mises distribution function is tabulated


@dataclass(frozen=True)
class StartLaw(abc.ABC):
    """A law on R^d."""

    name: ClassVar[str]

    def uniforms(self, d: int) -> int:
        """The number k of uniform numbers in a draw."""
        return d

    def dimension(self, d: int) -> int:
        """The dimension of the support."""
        return d

    @abc.abstractmethod
    def place(self, u: Float[Tensor, "*batch n k"], d: int) -> Points:
        """The points of uniform numbers; on the line an increasing map."""


@dataclass(frozen=True)
class Normal(StartLaw):
    """The Gaussian law of the settings `mean` and `cov`; standard where it stands alone."""

    name: ClassVar[str] = "gaussian"

    def place(self, u: Tensor, d: int) -> Tensor:
        """Quantiles of N(0, 1) in each coordinate."""
        return torch.special.ndtri(u.clamp_min(2.0**-54))


@dataclass(frozen=True)
class Ball(StartLaw):
    """Uniform in the ball."""

    name: ClassVar[str] = "ball"
    radius: float = 1.0

    def uniforms(self, d: int) -> int:
        """A direction takes d, the norm one more; the line needs one alone."""
        return d + 1 if d > 1 else 1

    def place(self, u: Tensor, d: int) -> Tensor:
        """The direction of Gaussian numbers, and P(|x| < r) = (r / radius)^d."""
        if d == 1:
            return self.radius * (2 * u - 1)
        return self.radius * u[..., :1] ** (1 / d) * _directions(u[..., 1:])


@dataclass(frozen=True)
class Cube(StartLaw):
    """Uniform in the cube of half side `radius`."""

    name: ClassVar[str] = "cube"
    radius: float = 1.0

    def place(self, u: Tensor, d: int) -> Tensor:
        """Scaled and centred."""
        return self.radius * (2 * u - 1)


@dataclass(frozen=True)
class OnSphere(StartLaw):
    """Uniform on the sphere of radius 1."""

    name: ClassVar[str] = "sphere"

    def dimension(self, d: int) -> int:
        """One less than the space around."""
        return d - 1

    def uniforms(self, d: int) -> int:
        """An angle on the circle; elsewhere d."""
        return 1 if d == 2 else d

    def place(self, u: Tensor, d: int) -> Tensor:
        """The direction of Gaussian numbers, or of a uniform angle."""
        return _on_circle(2 * math.pi * u) if d == 2 else _directions(u)


@dataclass(frozen=True)
class VonMises(StartLaw):
    r"""On the unit circle, with density proportional to :math:`e^{\kappa\cos\theta}`.

    Source: Mardia and Jupp, Directional Statistics (2000), section 3.5.4.
    """

    name: ClassVar[str] = "von-mises"
    concentration: float = 1.0

    def dimension(self, d: int) -> int:
        """That of the circle."""
        return 1

    def uniforms(self, d: int) -> int:
        """The quantile of the angle."""
        return 1

    def place(self, u: Tensor, d: int) -> Tensor:
        """The quantile function of the angle, tabulated.

        Raises:
            InvalidValue: off the circle.
        """
        if d != 2:
            raise InvalidValue(
                f"The law 'von-mises' lives on the circle but d is {d}. Set d to 2."
            )
        angles = np.linspace(-math.pi, math.pi, _GRID)
        density = np.exp(self.concentration * (np.cos(angles) - 1))
        rises = np.concatenate(([0.0], np.cumsum((density[1:] + density[:-1]) / 2)))
        found = np.interp(u.cpu().numpy(), rises / rises[-1], angles)
        return _on_circle(torch.from_numpy(found))


LAWS: Catalogue[StartLaw] = Catalogue("law", [Normal, Ball, Cube, OnSphere, VonMises])


def _directions(u: Tensor) -> Tensor:
    z = torch.special.ndtri(u.clamp_min(2.0**-54))
    return z / torch.linalg.vector_norm(z, dim=-1, keepdim=True)


def _on_circle(angles: Tensor) -> Tensor:
    return torch.cat([angles.cos(), angles.sin()], dim=-1)
