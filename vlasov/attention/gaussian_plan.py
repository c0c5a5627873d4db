r"""The entropic plan of two standard normal laws.

Under :math:`e^{y^T M x + f(x) + g(y)}\, N(0, I) \otimes N(0, I)` with standard normal marginals,

.. math:: y \mid x \sim N(B M x, B), \qquad B = 2\,[I + (I + 4 M M^T)^{1/2}]^{-1}
"""

__all__ = ["conditional_covariance"]

from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor
from torch.autograd.function import once_differentiable

from vlasov._products import product


class _Covariance(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, m: Tensor) -> Tensor:  # noqa: ANN401 - torch's context has no type
        finite = torch.isfinite(m).all(-1).all(-1)[..., None, None]
        # By singular values: M M^T would lose the 1 beside scores of 1e8.
        u, widths, _ = torch.linalg.svd(torch.where(finite, m, 0.0))
        roots = (1 + 4 * widths.square()).sqrt()
        covariance = product(u * (2 / (1 + roots)).unsqueeze(-2), u.mT)
        ctx.save_for_backward(m, u, roots, covariance)
        return torch.where(finite, covariance, torch.nan)

    @staticmethod
    @once_differentiable
    def backward(  # pyright: ignore[reportIncompatibleMethodOverride] - the decorator hides a name
        ctx: Any,  # noqa: ANN401
        *gradients: Tensor,
    ) -> Tensor:
        r"""With R the root, 2 dB = -B dR B and R dR + dR R = 4 d(M M^T)."""
        m, u, roots, b = ctx.saved_tensors
        upstream = (gradients[0] + gradients[0].mT) / 2
        inner = u.mT @ (b @ upstream @ b) @ u
        inner = inner / (roots.unsqueeze(-1) + roots.unsqueeze(-2))
        return -4 * (u @ inner @ u.mT) @ m


def conditional_covariance(m: Float[Tensor, "*batch r r"]) -> Float[Tensor, "*batch r r"]:
    """The covariance of y given x; the gradient is finite at equal and zero singular values."""
    return _Covariance.apply(m)
