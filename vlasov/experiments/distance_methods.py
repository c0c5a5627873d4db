"""The distances of `vlasov distance` by name."""

__all__ = ["DISTANCES", "NEEDS_EPS", "Question"]

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import torch

from vlasov.cloud import Cloud
from vlasov.errors import Unsupported
from vlasov.gaussian import Gaussian
from vlasov.geometry import Geometry, Sphere
from vlasov.transport import (
    METHODS,
    Distance,
    conditional_distance,
    debiased_distance,
    distance,
    entropic_distance,
    gelbrich,
    max_sliced,
    sliced,
    spherical_sliced,
)

Law = Cloud | Gaussian

NEEDS_EPS = ("entropic", "debiased")


@dataclass(frozen=True, eq=False)
class Question:
    """Two laws and how far apart they are asked to be."""

    first: Law
    second: Law
    p: float
    method: str
    geometry: Geometry
    eps: float
    directions: int
    seed: int

    @property
    def curved(self) -> bool:
        """Whether distances are arc lengths."""
        return isinstance(self.geometry, Sphere)

    def clouds(self) -> tuple[Cloud, Cloud]:
        """The laws, if both are clouds."""
        if isinstance(self.first, Gaussian) or isinstance(self.second, Gaussian):
            raise Unsupported(
                f"Method '{self.method}' compares two clouds but got a Gaussian. Use 'auto' or "
                "'gelbrich', or a cloud of draws."
            )
        return self.first, self.second

    def flat(self, *, p: bool = False) -> None:
        """Refuse what the method has no formula for: arc lengths and, if `p`, other exponents."""
        if self.curved or (p and self.p != 2):
            raise Unsupported(
                f"Method '{self.method}' is for R^d{' and p = 2' if p else ''} but got "
                f"'{self.geometry.name}' and p = {self.p:g}. Use 'auto'."
            )

    def draws(self) -> torch.Generator:
        """Randomness of the given seed."""
        return torch.Generator().manual_seed(self.seed)


def _exact(q: Question) -> Distance:
    return distance(q.first, q.second, q.p, method=q.method, geometry=q.geometry)


def _conditional(q: Question) -> Distance:
    q.flat()
    return conditional_distance(*q.clouds(), q.p)


def _sliced(q: Question) -> Distance:
    a, b = q.clouds()
    if isinstance(q.geometry, Sphere):
        radius, draws = q.geometry.radius, q.draws()
        return spherical_sliced(a, b, q.p, radius=radius, frames=q.directions, generator=draws)
    return sliced(a, b, q.p, directions=q.directions, generator=q.draws())


def _max_sliced(q: Question) -> Distance:
    q.flat()
    return max_sliced(*q.clouds(), q.p, starts=q.directions, generator=q.draws())


def _entropic(q: Question) -> Distance:
    q.flat(p=True)
    return entropic_distance(*q.clouds(), eps=q.eps)


def _debiased(q: Question) -> Distance:
    q.flat(p=True)
    return debiased_distance(*q.clouds(), eps=q.eps)


def _gelbrich(q: Question) -> Distance:
    q.flat(p=True)
    return gelbrich(q.first, q.second)


DISTANCES: Mapping[str, Callable[[Question], Distance]] = {
    **dict.fromkeys(METHODS, _exact),
    "conditional": _conditional,
    "sliced": _sliced,
    "max-sliced": _max_sliced,
    "entropic": _entropic,
    "debiased": _debiased,
    "gelbrich": _gelbrich,
}
"""What answers a question, by the name of the method."""
