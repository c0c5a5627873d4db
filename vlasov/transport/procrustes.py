r"""The rotation that brings one factor of a covariance closest to another.

.. math:: \min_{U^T U = 1} |L - M U|_F^2 = \mathrm{tr}(S) + \mathrm{tr}(T)
          - 2\,\mathrm{tr}(S^{1/2} T S^{1/2})^{1/2}, \qquad S = LL^T, \; T = MM^T

The minimum lies at the polar factor U of :math:`M^T L`. A sum of squares is never negative, and
for nearly equal covariances it keeps the digits that the traces would cancel.

Source: Bhatia, Jain and Lim, Expo. Math. 37 (2019), Theorem 1.
"""

__all__ = ["closest_rotation", "common_factors", "cross_product", "rounding", "squared_gap"]

from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor
from torch.autograd.function import once_differentiable
from torch.nn.functional import pad

from vlasov._shapes import Matrix
from vlasov.errors import ShapeMismatch
from vlasov.gaussian import Gaussian


def common_factors(a: Gaussian, b: Gaussian) -> tuple[Matrix, Matrix]:
    """The factors of two laws in one shape and precision.

    Raises:
        ShapeMismatch: for widths that differ.
    """
    if a.d != b.d:
        raise ShapeMismatch(
            f"Two Gaussians need the same width but have {a.d} and {b.d}. Project one of them."
        )
    dtype = torch.promote_types(a.factor.dtype, b.factor.dtype)
    columns = max(a.factor.shape[-1], b.factor.shape[-1])
    left, right = (pad(x.to(dtype), (0, columns - x.shape[-1])) for x in (a.factor, b.factor))
    left, right = torch.broadcast_tensors(left, right)
    return left, right


def squared_gap(left: Matrix, right: Matrix) -> Float[Tensor, "*batch"]:
    """The minimum over rotations; first derivatives only, finite at every rank."""
    gap: Tensor = _Gap.apply(left, right)
    return gap


def closest_rotation(left: Matrix, right: Matrix) -> Float[Tensor, "*batch c c"]:
    """The minimising U; the identity where that is as good."""
    w, _, vh = torch.linalg.svd(cross_product(left, right))
    polar = w @ vh
    eye = torch.eye(polar.shape[-1], dtype=polar.dtype, device=polar.device)
    turned, plain = (torch.linalg.matrix_norm(left - right @ u) for u in (polar, eye))
    # Small directions leave the polar factor loose: equal factors must be at distance 0 exactly.
    return torch.where((plain <= turned)[..., None, None], eye, polar)


def cross_product(left: Matrix, right: Matrix) -> Float[Tensor, "*batch c c"]:
    """A positive multiple of ``M^T L`` that neither overflows nor underflows."""
    return _scaled(right).mT @ _scaled(left)


def rounding(x: Matrix) -> float:
    """What rounding leaves, relative to the size of a factor."""
    return 10 * x.shape[-1] * torch.finfo(x.dtype).eps


def _scaled(x: Tensor) -> Tensor:
    size = _size(x)
    return x / torch.where(size > 0, size, 1.0)


def _size(x: Tensor) -> Tensor:
    return x.abs().amax((-2, -1), keepdim=True)


class _Gap(torch.autograd.Function):
    """By the envelope theorem the rotation counts as a constant on the way back."""

    @staticmethod
    def forward(ctx: Any, left: Tensor, right: Tensor) -> Tensor:  # noqa: ANN401 - torch's own
        rotation = closest_rotation(left, right)
        rest = left - right @ rotation
        largest, size_l, size_r = (_size(x) for x in (rest, left, right))
        rest = torch.where(largest <= rounding(left) * (size_l + size_r), 0.0, rest)
        ctx.save_for_backward(rest, rotation)
        return rest.square().sum((-2, -1))

    @staticmethod
    @once_differentiable
    def backward(  # pyright: ignore[reportIncompatibleMethodOverride] - the decorator hides a name
        ctx: Any,  # noqa: ANN401
        *gradients: Tensor,
    ) -> tuple[Tensor, Tensor]:
        rest, rotation = ctx.saved_tensors
        slope = 2 * gradients[0][..., None, None] * rest
        return slope, -slope @ rotation.mT
