r"""The symmetric square root of positive semi-definite matrices, with finite gradients.

.. math:: R^2 = S, \qquad dR = U \Bigl[\frac{(U^T dS\, U)_{ij}}{r_i + r_j}\Bigr] U^T

for :math:`S = U r^2 U^T`: no division by the gaps of eigenvalues, so equal ones do no harm.
Null directions stay null: where :math:`r_i + r_j = 0` the derivative is set to 0.
"""

__all__ = ["symmetric_root"]

from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from vlasov._shapes import Covariance


class _Root(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, s: Tensor) -> Tensor:  # noqa: ANN401 - torch's context has no type
        values, vectors = torch.linalg.eigh(s / 2 + s.mT / 2)
        largest = values.abs().amax(-1, keepdim=True)
        floor = 10 * s.shape[-1] * torch.finfo(s.dtype).eps * largest
        widths = torch.where(values > floor, values, 0.0).sqrt()
        ctx.save_for_backward(widths, vectors)
        return (vectors * widths.unsqueeze(-2)) @ vectors.mT

    @staticmethod
    @once_differentiable
    def backward(  # pyright: ignore[reportIncompatibleMethodOverride] - the decorator hides a name
        ctx: Any,  # noqa: ANN401
        *gradients: Tensor,
    ) -> Tensor:
        widths, u = ctx.saved_tensors
        sums = widths.unsqueeze(-1) + widths.unsqueeze(-2)
        inner = u.mT @ ((gradients[0] + gradients[0].mT) / 2) @ u
        inner = torch.where(sums > 0, inner / torch.where(sums > 0, sums, 1.0), 0.0)
        return u @ inner @ u.mT


def symmetric_root(s: Covariance) -> Covariance:
    """The root; eigenvalues below the rounding of the largest one count as 0."""
    return _Root.apply(s)
