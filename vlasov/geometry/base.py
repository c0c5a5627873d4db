"""A geometry: where tokens live, what a velocity may be, and how to come back."""

__all__ = ["Geometry"]

import abc
from typing import ClassVar

from jaxtyping import Float
from torch import Tensor

from vlasov._shapes import Points


class Geometry(abc.ABC):
    """A submanifold of R^d with the ambient metric."""

    name: ClassVar[str]

    @abc.abstractmethod
    def tangent(self, x: Points, u: Points) -> Points:
        """The part of `u` tangent at `x`; also off the manifold, where Runge-Kutta stages lie."""

    @abc.abstractmethod
    def retract(self, x: Points) -> Points:
        """The nearest point of the manifold."""

    @abc.abstractmethod
    def normal_acceleration(self, x: Points, u: Points) -> Points:
        """What keeps a free token at `x` with tangent velocity `u` on a geodesic."""

    @abc.abstractmethod
    def distance(self, x: Points, y: Points) -> Float[Tensor, "*batch n"]:
        """Geodesic distance, token by token, in the units of the ambient norm."""

    @abc.abstractmethod
    def check(self, x: Points) -> None:
        """Refuse points that are not on the manifold.

        Raises:
            NotOnGeometry: with the largest deviation found and what to do.
        """
