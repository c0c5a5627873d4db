"""Linear attention: the score itself is the weight."""

__all__ = ["Linear"]

from dataclasses import dataclass
from typing import ClassVar

import torch
from jaxtyping import Float
from torch import Tensor

from vlasov._products import product
from vlasov._shapes import KeyLogits, Keys, Queries, Values
from vlasov.attention.base import Attention, per_seen_weight
from vlasov.engines import Engine
from vlasov.engines.pair_kernels import Identity
from vlasov.engines.visibility import Visibility
from vlasov.gaussian import Affine, Gaussian


@dataclass(frozen=True)
class Linear(Attention):
    r"""A sum weighted by the score, over the cloud as a measure.

    .. math:: \sum_j w_j\, \beta\langle Qx_i, Kx_j\rangle\, V x_j
              = \beta \Bigl(\sum_j w_j\, V x_j (K x_j)^\top\Bigr) Q x_i

    Depends on the cloud through its second moment alone, so it costs O(n); Gaussians stay
    Gaussian. It can blow up in finite time, even with one token.

    Source: Katharopoulos et al., arXiv:2006.16236, with the identity as feature map and no
    normalisation; as a measure-valued flow in Castin et al., arXiv:2501.18322.
    """

    name: ClassVar[str] = "linear"

    @property
    def row_sum(self) -> None:  # noqa: D102
        return None

    @property
    def bounded(self) -> bool:  # noqa: D102
        return False

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
        """The second moment of keys and values applied to the query; under a mask, a pair sum."""
        if mask is None:
            return (beta * q) @ (k.mT @ (log_w.exp().unsqueeze(-1) * v))
        return per_seen_weight(
            engine.pair_sum(Identity(), beta * q, k, v, log_w, mask=mask), log_w, mask
        )

    def affine(self, q: Gaussian, k: Gaussian, v: Gaussian, *, beta: float = 1.0) -> Affine:
        r"""The second moment of values and keys: :math:`\beta\, E[v k^T]\, q`."""
        spread = product(v.factor, k.factor.mT)
        centre = v.mean.unsqueeze(-1) * k.mean.unsqueeze(-2)
        return Affine(beta * (spread + centre), torch.zeros_like(v.mean))
