r"""The reference engine: it stores the n × n matrix of scores.

.. math:: \mathrm{average} = \frac{e^{s - \max_j s}\, v}{\sum_j e^{s_{ij} - \max_j s_{ij}}}

Derivatives of every order flow. About three matrices of n × n numbers are alive at once.
"""

__all__ = ["Dense", "matrices"]

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from vlasov.engines.base import Engine, PairKernel
from vlasov.engines.pairs import Pairs
from vlasov.engines.visibility import Visibility


@dataclass(frozen=True)
class Dense(Engine):
    """Stores the n × n matrix; any mask, any kernel, derivatives of every order."""

    name: ClassVar[str] = "dense"

    def _average(self, pairs: Pairs) -> Tensor:
        weights, total, _ = _exponentials(pairs)
        return (weights @ pairs.v) / total.clamp_min(1.0)

    def _log_sum(self, pairs: Pairs) -> Tensor:
        _, total, top = _exponentials(pairs)
        return (top + total.clamp_min(1.0).log()).squeeze(-1)

    def _pair_sum(self, pair: PairKernel, pairs: Pairs) -> Tensor:
        scores, visible = _scores(pairs)
        weighted = pairs.logits.exp().unsqueeze(-1) * pairs.v
        if visible is None:
            return pair(scores) @ weighted
        # Masked before the kernel too: 0 times an overflow there would poison the gradient.
        kernel = pair(torch.where(visible, scores, 0.0))
        return torch.where(visible, kernel, 0.0) @ weighted

    def _leader_average(self, pairs: Pairs, tie: float) -> Tensor:
        scores, visible = _scores(pairs)
        absent = pairs.logits.isneginf().unsqueeze(-2)
        hidden = absent if visible is None else absent | ~visible
        scores = scores.detach()
        size = scores.abs().masked_fill(hidden, 0.0).amax(-1, keepdim=True)
        scores = scores.masked_fill(hidden, -torch.inf)
        leaders = scores >= scores.amax(-1, keepdim=True) - tie * size
        # Equal scores: among the leaders only the weights count.
        chosen = torch.where(leaders & ~hidden, pairs.logits.unsqueeze(-2), -torch.inf)
        weights = (chosen - _finite(chosen.detach().amax(-1, keepdim=True))).exp()
        return (weights @ pairs.v) / weights.sum(-1, keepdim=True).clamp_min(1.0)

    def memory(  # noqa: D102
        self, *, queries: int, keys: int, width: int, itemsize: int, mask: Visibility | None = None
    ) -> int:
        return int(matrices(mask) * queries * keys + queries * width) * itemsize


def matrices(mask: Visibility | None) -> float:
    """How many numbers are alive at once for a query and a key, in a pair sum."""
    return 3.0 if mask is None else 4.25


def _scores(pairs: Pairs) -> tuple[Tensor, Tensor | None]:
    """The scores without key logits, and where they are seen (None: everywhere)."""
    scores = pairs.q @ pairs.k.mT
    if pairs.mask is None:
        return scores, None
    penalty = pairs.mask.penalty()
    return scores if penalty is None else scores - penalty.to(scores), pairs.mask.visible()


def _exponentials(pairs: Pairs) -> tuple[Tensor, Tensor, Tensor]:
    """Weights relative to the row's largest, their sum, and the logarithm of that scale.

    Where nothing is seen the sum is 0 and the scale ``-inf``; else the sum is at least 1, the
    largest weight. Hidden keys are ``-inf`` before the exponential: weight and gradient are
    exactly 0.
    """
    scores, visible = _scores(pairs)
    scores = scores + pairs.logits.unsqueeze(-2)
    if visible is not None:
        scores = torch.where(visible, scores, -torch.inf)
    top = scores.detach().amax(-1, keepdim=True)
    # In place: `scores` is new, and no gradient needs it as it was.
    weights = scores.sub_(_finite(top)).exp_()
    return weights, weights.sum(-1, keepdim=True), top


def _finite(top: Tensor) -> Tensor:
    """The largest of each row, finite where nothing is seen: ``-inf`` less itself is NaN."""
    return top.clamp_min(torch.finfo(top.dtype).min)
