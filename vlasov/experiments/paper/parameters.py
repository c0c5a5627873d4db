r"""Parameters of the paper's figures: matrices Q, K, V, drawn as its scripts draw them.

.. math:: A = K^T Q, \qquad x' = V \,\mathrm{average}(y \mid e^{y^T A x})

Source: spec section 4; Castin, Ablin, Carrillo, Peyré (2025), the released plotting scripts.
"""

__all__ = ["Parameters", "contracting", "mixed", "one_row", "spreading", "two_lines"]

import math
from collections.abc import Callable
from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Generator, Tensor

from vlasov.experiments.paper.lines import attraction, growth, isotropic

Draw = Callable[[Generator], "Parameters"]


@dataclass(frozen=True, eq=False)
class Parameters:
    """The maps of one system or of a batch of them."""

    query: Float[Tensor, "*batch k d"]
    key: Float[Tensor, "*batch k d"]
    value: Float[Tensor, "*batch d d"]

    @property
    def score(self) -> Float[Tensor, "*batch d d"]:
        """The matrix A."""
        return self.key.mT @ self.query

    def part(self, chosen: Int[Tensor, " m"]) -> "Parameters":
        """Some systems of a batch."""
        return Parameters(self.query[chosen], self.key[chosen], self.value[chosen])


def contracting(generator: Generator) -> Parameters:
    """Q uniform on [0, 1], K = -Q and V = G G^T: every covariance tends to 0."""
    query = torch.rand(2, 2, generator=generator, dtype=torch.float64)
    root = _normal(generator)
    return Parameters(query, -query, root @ root.mT)


def one_row(generator: Generator) -> Parameters:
    """Q = q a row of length 1, K = -q and V = I.

    Nothing moves along ker q. The angle of q is at least 15 degrees from each axis, so that the
    two-head limits are seen off the boundary of the cone.
    """
    share = torch.rand((), generator=generator, dtype=torch.float64)
    angle = math.radians(15.0) + math.radians(60.0) * share
    query = torch.stack([angle.cos(), angle.sin()]).unsqueeze(0)
    return Parameters(query, -query, torch.eye(2, dtype=torch.float64))


def spreading(generator: Generator) -> Parameters:
    """Q, K normal until A + A^T is positive definite; V = I."""
    while True:
        drawn = Parameters(
            _normal(generator), _normal(generator), torch.eye(2, dtype=torch.float64)
        )
        if float(_symmetric_eigenvalues(drawn).min()) > 0:
            return drawn


def two_lines(generator: Generator) -> Parameters:
    """Q, K, V normal until A + A^T is indefinite and both its isotropic directions attract."""
    while True:
        drawn = _indefinite(generator)
        if all(attraction(drawn.score, drawn.value, line) < 0 for line in _isotropic(drawn)):
            return drawn


def mixed(generator: Generator) -> Parameters:
    """Q, K, V normal until A + A^T is indefinite and both outcomes are possible.

    One isotropic direction attracts, and of the two eigenvectors of V one grows, one shrinks.
    """
    while True:
        drawn = _indefinite(generator)
        pulls = [attraction(drawn.score, drawn.value, line) for line in _isotropic(drawn)]
        rates = growth(drawn.score, drawn.value)
        if min(pulls) < 0 < max(pulls) and rates and min(rates) < 0 < max(rates):
            return drawn


def _indefinite(generator: Generator) -> Parameters:
    while True:
        drawn = Parameters(_normal(generator), _normal(generator), _normal(generator))
        low, high = _symmetric_eigenvalues(drawn).tolist()
        if low < 0 < high:
            return drawn


def _isotropic(drawn: Parameters) -> Float[Tensor, "2 2"]:
    return isotropic(drawn.score)


def _symmetric_eigenvalues(drawn: Parameters) -> Float[Tensor, " 2"]:
    return torch.linalg.eigvalsh(drawn.score + drawn.score.mT)


def _normal(generator: Generator) -> Float[Tensor, "2 2"]:
    return torch.randn(2, 2, generator=generator, dtype=torch.float64)
