r"""The sphere of a given radius about the origin, with arc lengths as distances.

.. math:: T_x u = u - \frac{\langle x, u\rangle}{|x|^2}\, x, \qquad
          \mathrm{retract}(x) = \frac{r\,x}{|x|}

The origin has no direction: there every velocity counts as tangent, and retraction leaves it.
"""

__all__ = ["Sphere"]

import math
from dataclasses import dataclass
from typing import ClassVar

import torch
from jaxtyping import Float
from torch import Tensor

from vlasov._shapes import Points
from vlasov.errors import InvalidValue, NotOnGeometry
from vlasov.geometry.base import Geometry

# Relative deviation of |x| that rounding explains: hundreds of operations in wide formats,
# the rounding of every coordinate in half precision.
_TOLERANCE = {
    torch.float64: 1e-10,
    torch.float32: 1e-5,
    torch.float16: 4e-3,
    torch.bfloat16: 3e-2,
}


@dataclass(frozen=True)
class Sphere(Geometry):
    """The sphere of `radius` about the origin of R^d.

    Raises:
        InvalidValue: for a radius that is not positive and finite.

    Example:
        >>> north, south = torch.tensor([[0.0, 2.0]]), torch.tensor([[0.0, -2.0]])
        >>> round(Sphere(radius=2.0).distance(north, south).item(), 6)
        6.283185
    """

    name: ClassVar[str] = "sphere"
    radius: float = 1.0

    def __post_init__(self) -> None:
        if not (math.isfinite(self.radius) and self.radius > 0):
            raise InvalidValue(
                f"A sphere needs a positive, finite radius but got {self.radius}. "
                "Give the norm of your tokens, as in 'sphere:radius=2'."
            )

    def tangent(self, x: Points, u: Points) -> Points:
        """The part of `u` orthogonal to `x`."""
        return u - x * ((x * u).sum(-1, keepdim=True) / _square(x))

    def retract(self, x: Points) -> Points:
        """The point on the ray of `x`; the origin stays."""
        length = torch.linalg.vector_norm(x, dim=-1, keepdim=True)
        return x * (self.radius / torch.where(length > 0, length, self.radius))

    def normal_acceleration(self, x: Points, u: Points) -> Points:
        """Minus ``|u|^2 x / |x|^2``: free tokens move along great circles."""
        return -x * (u.square().sum(-1, keepdim=True) / _square(x))

    def distance(self, x: Points, y: Points) -> Float[Tensor, "*batch n"]:
        """Arc length of the great circle, at most pi times the radius."""
        # an arc tangent of half the chord keeps all digits for close and for antipodal points
        chord = torch.linalg.vector_norm(x - y, dim=-1)
        return 2 * self.radius * torch.atan2(chord, torch.linalg.vector_norm(x + y, dim=-1))

    def check(self, x: Points) -> None:
        """Refuse points whose norm is not the radius.

        Raises:
            NotOnGeometry: with the norm that deviates most.
        """
        wide = x.detach().to(torch.promote_types(x.dtype, torch.float32))
        length = torch.linalg.vector_norm(wide, dim=-1).flatten()
        deviation = (length / self.radius - 1).abs()
        if bool((deviation <= _TOLERANCE[x.dtype]).all()):
            return
        worst = int(deviation.argmax())
        raise NotOnGeometry(
            f"Tokens of the sphere need |x| = {self.radius:g} up to a relative "
            f"{_TOLERANCE[x.dtype]:g}, but one has |x| = {float(length[worst]):.12g}. Project "
            "the cloud with `cloud.with_points(pde.geometry.retract(cloud.points))`, or change "
            "the radius."
        )


def _square(x: Tensor) -> Tensor:
    """Squared norms that can be divided by: one where they vanish."""
    square = x.square().sum(-1, keepdim=True)
    return torch.where(square >= torch.finfo(x.dtype).tiny, square, 1.0)
