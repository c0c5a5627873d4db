r"""Lines on which planar covariances of rank one come to rest or grow under softmax.

.. math:: \Sigma = l l^T: \quad l' = (l^T A l)\, V l

A line rests where :math:`l^T A l = 0` (isotropic for A + A^T) and grows along a real eigenvector
of V, :math:`V l = \lambda l`, where :math:`\lambda\, l^T A l > 0`.

Source: spec 2.2 (rank one).
"""

__all__ = ["attraction", "growth", "isotropic", "kernel", "nearest_line"]

import math

import torch
from jaxtyping import Float, Int
from torch import Tensor

Matrix = Float[Tensor, "2 2"]


def isotropic(score: Matrix) -> Matrix:
    """The two unit rows l with ``l^T A l = 0``, of an A with indefinite A + A^T.

    Example:
        >>> lines = isotropic(torch.tensor([[0.0, 1.0], [0.0, 0.0]]))
        >>> sorted(lines.abs().round(decimals=6).tolist())
        [[0.0, 1.0], [1.0, 0.0]]
    """
    (low, high), axes = torch.linalg.eigh(score + score.mT)
    along, across = (-low).sqrt() * axes[:, 1], high.sqrt() * axes[:, 0]
    return torch.nn.functional.normalize(torch.stack([across - along, across + along]), dim=-1)


def kernel(query: Float[Tensor, "m 2"]) -> Float[Tensor, "m 2"]:
    """The unit rows orthogonal to given ones."""
    turned = torch.stack([-query[:, 1], query[:, 0]], dim=-1)
    return torch.nn.functional.normalize(turned, dim=-1)


def attraction(score: Matrix, value: Matrix, line: Float[Tensor, " 2"]) -> float:
    """The rate ``l^T (A_s V + V^T A_s) l`` at an isotropic line; negative where it attracts."""
    symmetric = (score + score.mT) / 2
    return float(2 * line @ symmetric @ value @ line)


def growth(score: Matrix, value: Matrix) -> list[float]:
    """The numbers ``λ l^T A l`` of the unit eigenvectors of V; none where they are complex."""
    eigenvalues, vectors = torch.linalg.eig(value)
    if bool((eigenvalues.imag != 0).any()):
        return []
    pairs = zip(eigenvalues.real, vectors.real.mT, strict=True)
    return [float(eigenvalue * (line @ score @ line)) for eigenvalue, line in pairs]


def nearest_line(
    cov: Float[Tensor, "n 2 2"], lines: Float[Tensor, "m 2"]
) -> tuple[Int[Tensor, " n"], Float[Tensor, " n"]]:
    """Which line is nearest to the long axis of each covariance, and the angle, in degrees."""
    axes = torch.linalg.eigh(cov)[1][..., -1]
    across = (axes.unsqueeze(-2) * kernel(lines)).sum(-1).abs()
    distance, index = across.min(dim=-1)
    return index, torch.arcsin(distance.clamp(max=1.0)) * (180 / math.pi)
