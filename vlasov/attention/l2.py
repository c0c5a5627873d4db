"""L2 attention: weights that fall with the squared distance of query and key."""

__all__ = ["L2"]

from dataclasses import dataclass
from typing import ClassVar

import torch
from jaxtyping import Float
from torch import Tensor

from vlasov._products import product
from vlasov._shapes import KeyLogits, Keys, Queries, Values
from vlasov.attention.base import Attention
from vlasov.engines import Engine
from vlasov.engines.visibility import Visibility
from vlasov.gaussian import Affine, Gaussian


@dataclass(frozen=True)
class L2(Attention):
    r"""An average weighted by a Gaussian kernel.

    .. math:: \frac{\sum_j w_j\, e^{-\beta|Qx_i - Kx_j|^2}\, V x_j}
                   {\sum_j w_j\, e^{-\beta|Qx_i - Kx_j|^2}}

    For dynamics that do not depend on the origin (with Q = K), and for a Lipschitz variant of
    softmax. Gaussians stay Gaussian under it.

    Source: Kim, Papamakarios and Mnih, arXiv:2006.04710; as a measure-valued flow in Castin et
    al., arXiv:2501.18322.
    """

    name: ClassVar[str] = "l2"

    def average(
        self,
        q: Queries,
        k: Keys,
        v: Values,
        log_w: KeyLogits,
        engine: Engine,
        *,
        beta: float = 1.0,
        mask: Visibility | None = None,
    ) -> Float[Tensor, "*batch nq dv"]:
        """The average with queries ``2 q`` and key logits ``-|k|²``; ``|q|²`` cancels in a row."""
        if mask is None:
            # Far from the origin the squares swamp the distances; under a mask the mean of all
            # keys would leak unseen ones into the rounding.
            middle = k.detach().mean(dim=-2, keepdim=True)
            q, k = q - middle, k - middle
        return engine.average(2 * beta * q, k, v, log_w - beta * k.square().sum(dim=-1), mask=mask)

    def affine(self, q: Gaussian, k: Gaussian, v: Gaussian, *, beta: float = 1.0) -> Affine:
        r"""The mean of the values under the law of the keys times the kernel.

        .. math:: m_V + L_V (I + 2\beta L_K^T L_K)^{-1}\, 2\beta L_K^T (q - m_K)

        For beta < 0 the integral diverges unless the matrix to invert is positive.
        """
        back = 2 * beta * k.factor.mT
        precision = product(back, k.factor)
        precision = precision + torch.eye(precision.shape[-1]).to(precision)
        root, failed = torch.linalg.cholesky_ex(precision)
        root = torch.where((failed != 0)[..., None, None], torch.nan, root)
        gain = product(v.factor, torch.cholesky_solve(back, root))
        return Affine(gain, v.mean - product(gain, k.mean.unsqueeze(-1)).squeeze(-1))
