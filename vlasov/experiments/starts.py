"""How a cloud begins: laws to draw tokens from, by spec string."""

__all__ = ["STARTS", "Start"]

import abc
from dataclasses import dataclass
from typing import ClassVar

import torch

from vlasov.catalogue import Catalogue
from vlasov.cloud import Cloud
from vlasov.errors import InvalidValue


@dataclass(frozen=True)
class Start(abc.ABC):
    """A law of tokens."""

    name: ClassVar[str]

    @abc.abstractmethod
    def cloud(self, n: int, d: int, seed: int) -> Cloud:
        """A cloud of about `n` tokens of width `d`."""


@dataclass(frozen=True)
class Gaussian(Start):
    """Independent draws of N(0, std^2)."""

    name: ClassVar[str] = "gaussian"
    std: float = 1.0

    def cloud(self, n: int, d: int, seed: int) -> Cloud:
        """Draws."""
        return Cloud.gaussian(n, torch.zeros(d), self.std**2 * torch.eye(d), seed=seed)


@dataclass(frozen=True)
class OnSphere(Start):
    """Independent uniform draws on a sphere."""

    name: ClassVar[str] = "sphere"
    radius: float = 1.0

    def cloud(self, n: int, d: int, seed: int) -> Cloud:
        """Draws."""
        return Cloud.sphere(n, d, radius=self.radius, seed=seed)


@dataclass(frozen=True)
class InBall(Start):
    """Independent uniform draws in a ball."""

    name: ClassVar[str] = "ball"
    radius: float = 1.0

    def cloud(self, n: int, d: int, seed: int) -> Cloud:
        """Draws."""
        return Cloud.ball(n, d, radius=self.radius, seed=seed)


@dataclass(frozen=True)
class Mixture(Start):
    """Gaussian clusters of deviation `spread` about random points at distance `radius`."""

    name: ClassVar[str] = "mixture"
    clusters: int = 4
    spread: float = 0.3
    radius: float = 1.0

    def cloud(self, n: int, d: int, seed: int) -> Cloud:
        """Draws, cluster after cluster."""
        if self.clusters < 1:
            raise InvalidValue(f"A mixture needs at least 1 cluster but got {self.clusters}.")
        if self.spread < 0:
            raise InvalidValue(f"A mixture needs a spread of 0 or more but got {self.spread}.")
        # another seed than the draws: their first numbers would be the centres
        means = Cloud.sphere(self.clusters, d, radius=self.radius, seed=seed + 1).points
        cov = self.spread**2 * torch.eye(d).expand(self.clusters, d, d)
        return Cloud.mixture(n, means, cov, seed=seed)


@dataclass(frozen=True)
class Hermite(Start):
    """Gauss-Hermite product nodes of N(0, std^2): `nodes` in each direction, whatever n is."""

    name: ClassVar[str] = "hermite"
    nodes: int = 8
    std: float = 1.0

    def cloud(self, n: int, d: int, seed: int) -> Cloud:
        """Weighted nodes."""
        return Cloud.hermite(self.nodes, torch.zeros(d), self.std**2 * torch.eye(d))


@dataclass(frozen=True)
class Quantiles(Start):
    """The (i - 1/2)/n quantiles of N(mean, std^2) on the line."""

    name: ClassVar[str] = "quantiles"
    mean: float = 0.0
    std: float = 1.0

    def cloud(self, n: int, d: int, seed: int) -> Cloud:
        """Quantiles, in order."""
        if d != 1:
            raise InvalidValue(f"Quantiles lie on the line but d is {d}. Set d to 1.")
        return Cloud.quantiles(n, self.mean, self.std)


STARTS: Catalogue[Start] = Catalogue(
    "start", [Gaussian, OnSphere, InBall, Mixture, Hermite, Quantiles]
)
