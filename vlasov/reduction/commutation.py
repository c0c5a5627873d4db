"""By how much matrices miss the conditions of the closed forms, as numbers without unit."""

__all__ = ["commutators", "skew_share"]

import torch
from jaxtyping import Float
from torch import Tensor

Square = Float[Tensor, "*#batch d d"]


def skew_share(matrix: Square) -> Float[Tensor, "*batch"]:
    """The norm ``|M - M^T| / |M|``; 0 for a matrix that is 0."""
    return _share(matrix - matrix.mT, torch.linalg.matrix_norm(matrix))


def commutators(value: Square, score: Square, cov: Square) -> dict[str, Float[Tensor, "..."]]:
    r"""What the commuting case of softmax wants to vanish: V - V^T, [V, Sigma_0] and [V, S].

    Relative to the norms of the factors, with :math:`S = VA + A^T V^T`.

    Source: spec 2.2.
    """
    product = value @ score
    s = product + product.mT
    return {
        "V - V^T": skew_share(value),
        "V Sigma_0 - Sigma_0 V": commutator_share(value, cov),
        "V S - S V": commutator_share(value, s),
    }


def commutator_share(first: Square, second: Square) -> Float[Tensor, "*batch"]:
    """The norm ``|XY - YX| / (|X| |Y|)``; 0 where a factor is 0."""
    sizes = torch.linalg.matrix_norm(first) * torch.linalg.matrix_norm(second)
    return _share(first @ second - second @ first, sizes)


def _share(part: Tensor, size: Tensor) -> Tensor:
    return torch.where(
        size > 0, torch.linalg.matrix_norm(part) / torch.where(size > 0, size, 1.0), 0.0
    )
