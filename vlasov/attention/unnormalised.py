"""Unnormalised attention: the numerator of softmax alone."""

__all__ = ["Unnormalised"]

from dataclasses import dataclass
from typing import ClassVar

import torch
from jaxtyping import Float
from torch import Tensor

from vlasov._shapes import KeyLogits, Keys, Queries, Values
from vlasov.attention.base import Attention
from vlasov.engines import Engine
from vlasov.engines.visibility import Visibility


@dataclass(frozen=True)
class Unnormalised(Attention):
    r"""A sum weighted by the exponential of the score, over the cloud as a measure.

    .. math:: \sum_j w_j\, e^{\beta\langle Qx_i, Kx_j\rangle}\, V x_j

    The gradient flow of an interaction energy, used on the sphere; in Euclidean space it can blow
    up in finite time, and overflows to infinity (never to NaN) when it does.

    Source: Geshkovski et al., arXiv:2312.10794, Eq. (USA), with the partition function left out.
    """

    name: ClassVar[str] = "unnormalised"

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
        """The engine's average times the exponential of its log-sum."""
        average, log_total = engine.average_and_log_sum(beta * q, k, v, log_w, mask=mask)
        if mask is not None and mask.hides:
            seen = mask.visible_weight(log_w)
            log_total = log_total - torch.where(seen == 0, 1.0, seen).log()
        total = log_total.exp().unsqueeze(-1)
        # 0 times infinity is no number, but the sum of nothing is 0.
        return torch.where((average == 0) & total.isinf(), average, average * total)
