"""Softmax attention: the variant of the Transformer."""

__all__ = ["Softmax"]

from dataclasses import dataclass
from typing import ClassVar

from jaxtyping import Float
from torch import Tensor

from vlasov._products import product
from vlasov._shapes import KeyLogits, Keys, Queries, Values
from vlasov.attention.base import Attention
from vlasov.engines import Engine
from vlasov.engines.visibility import Visibility
from vlasov.gaussian import Affine, Gaussian


@dataclass(frozen=True)
class Softmax(Attention):
    r"""An average weighted by the exponential of the score.

    .. math:: \frac{\sum_j w_j\, e^{\beta\langle Qx_i, Kx_j\rangle}\, V x_j}
                   {\sum_j w_j\, e^{\beta\langle Qx_i, Kx_j\rangle}}

    The default, and the reference for the others. Gaussians stay Gaussian under it; tokens of a
    finite cloud never blow up in finite time.

    Source: Vaswani et al., Attention is all you need (2017), Eq. (1), without its 1/sqrt(d);
    as a measure-valued flow in Castin et al., arXiv:2501.18322.
    """

    name: ClassVar[str] = "softmax"

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
        """The engine's average with the log weights as key logits."""
        return engine.average(beta * q, k, v, log_w, mask=mask)

    def affine(self, q: Gaussian, k: Gaussian, v: Gaussian, *, beta: float = 1.0) -> Affine:
        r"""The mean of the values, tilted: :math:`m_V + \beta\, \mathrm{Cov}(v, k)\, q`."""
        return Affine(beta * product(v.factor, k.factor.mT), v.mean)
