r"""The random batch method: tokens meet only the few others of their batch, drawn anew each time.

.. math:: \tilde N_i = w_i e^{s_{ii}} v_i + \frac{n - 1}{p_i - 1}
          \sum_{j \in B_i,\, j \ne i} w_j e^{s_{ij}} v_j, \qquad E\, \tilde N_i = N_i

:math:`B_i` is the batch of token i and :math:`p_i` its size: n // p batches, as equal as can be,
none smaller than p. A sum costs n p pairs. Along a flow the errors of the steps average out: for
unnormalised attention the error at a fixed time falls like
:math:`\sqrt{dt}\,\sqrt{1/(p - 1) - 1/(n - 1)}`. A ratio of two such sums is biased.

The batches are a function of `seed` and of the queries and keys of each member and head: equal
clouds get equal batches, and a run resumes bit for bit. Every evaluation of a moving cloud draws
new ones, so the stages of a Runge-Kutta step see different batches; the theory is about ``euler``.

Source: Jin, Li and Liu, Random batch methods, arXiv:1812.10575; spec, predictions V54 and V55.
"""

__all__ = ["RandomBatch"]

import dataclasses
import hashlib
import math
from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from vlasov.engines.auto import Auto
from vlasov.engines.base import Engine, PairKernel
from vlasov.engines.batches import Batches
from vlasov.engines.certified_engine import require_tolerance
from vlasov.engines.pairs import Pairs
from vlasov.engines.visibility import Visibility
from vlasov.errors import EngineUnsupported, InvalidValue

_NORMALISERS = ("full", "batch")


@dataclass(frozen=True)
class RandomBatch(Engine):
    """Unbiased estimates of sums over a cloud from random batches of tokens; unmasked.

    Averages (softmax, L2, Sinkhorn), pair sums and the unnormalised sum are estimates; `log_sum`
    is that of ``auto``. Average and log-sum of one call come from the same batches and only their
    product, the unnormalised sum, is unbiased. The batches are a function of the cloud and `seed`,
    new ones at every evaluation of a moving cloud: take ``integrator="euler"``, since the stages
    of other methods see different batches. Experimental on CUDA: never run there.

    **Bias.** A softmax within each batch (``normaliser="batch"``) does not converge: for 64 tokens
    on a circle, beta = 1, until time 1, steps 0.1 to 0.00625, its error levels off at p = 2
    (0.0725, 0.0549, 0.0444, 0.0370, 0.0332) and has slopes 0.28, 0.39, 0.48 in the step at p = 2,
    4, 16 instead of 1/2 (more for uneven clouds). The default divides by the sum over all tokens,
    as ``auto`` finds it: unbiased, at the cost of one log-sum of the whole cloud.

    Args:
        p: the smallest size of a batch; a cloud of fewer than 2 p tokens is summed whole.
        seed: of the batches; other values are independent runs.
        normaliser: of an average, ``"full"`` over all tokens or ``"batch"`` (biased).
        tolerance: of the full normaliser.

    Raises:
        InvalidValue: for p below 2, an unknown normaliser or a tolerance outside (0, 0.1].
    """

    name: ClassVar[str] = "rbm"
    random: ClassVar[bool] = True
    p: int = 2
    seed: int = 0
    normaliser: str = "full"
    tolerance: float = 1e-8

    def __post_init__(self) -> None:
        require_tolerance(self.name, self.tolerance)
        if self.p < 2:
            raise InvalidValue(f"Engine 'rbm' takes batches of p >= 2 tokens but got {self.p}.")
        if self.normaliser not in _NORMALISERS:
            raise InvalidValue(
                f"Engine 'rbm' takes normaliser 'full' or 'batch' but got '{self.normaliser}'."
            )

    def within(self, tolerance: float) -> "RandomBatch":
        """The same batches, with the smaller of the two tolerances for the normaliser."""
        return dataclasses.replace(self, tolerance=min(self.tolerance, tolerance))

    def _average(self, pairs: Pairs) -> Tensor:
        batches, parts = self._batched(pairs)
        if self.normaliser == "batch":
            # Every token of the batch counts alike: an average needs no estimate of a sum.
            weights, total, _ = _exponentials(parts, batches.present().log())
            return batches.joined((weights @ parts.v) / torch.where(total == 0, 1.0, total))
        whole = self._log_sum(pairs).unsqueeze(-1).expand(*pairs.batch, pairs.q.shape[-2], 1)
        logs = batches.split(torch.where(whole.isneginf(), 0.0, whole))
        scores = _scores(parts, batches.shares().log())
        return batches.joined((scores - logs).exp() @ parts.v)

    def _log_sum(self, pairs: Pairs) -> Tensor:
        _require_whole(pairs)
        return _general(self.tolerance)._log_sum(pairs)

    def _average_and_log_sum(self, pairs: Pairs) -> tuple[Tensor, Tensor]:
        batches, parts = self._batched(pairs)
        weights, total, top = _exponentials(parts, batches.shares().log())
        blind = total == 0
        total = torch.where(blind, 1.0, total)
        logs = torch.where(blind, -torch.inf, top + total.log())
        return batches.joined((weights @ parts.v) / total), batches.joined(logs).squeeze(-1)

    def _pair_sum(self, pair: PairKernel, pairs: Pairs) -> Tensor:
        batches, parts = self._batched(pairs)
        kernel = pair(parts.q @ parts.k.mT) * batches.shares()
        return batches.joined(kernel @ (parts.logits.exp().unsqueeze(-1) * parts.v))

    def _leader_average(self, pairs: Pairs, tie: float) -> Tensor:
        raise _refusal("the average over leaders, which is no sum")

    def _batched(self, pairs: Pairs) -> tuple[Batches, Pairs]:
        """The batches, and the operands of each as a member of shape (batches, p, width)."""
        _require_whole(pairs)
        order = _orders(pairs, self.seed).expand(*pairs.batch, -1)
        batches = Batches(order, max(1, order.shape[-1] // self.p), pairs.q.dtype)
        q, k, v = (batches.split(x) for x in (pairs.q, pairs.k, pairs.v))
        return batches, Pairs(q, k, v, batches.split(pairs.logits.unsqueeze(-1)).squeeze(-1))

    def memory(  # noqa: D102
        self, *, queries: int, keys: int, width: int, itemsize: int, mask: Visibility | None = None
    ) -> int:
        size = {"queries": queries, "keys": keys, "width": width, "itemsize": itemsize}
        scores = queries * (4 * min(2 * self.p, keys) + 6 * width + 6) * itemsize
        if self.normaliser == "batch":
            return scores
        # The batches wait while all tokens are summed.
        return max(scores, Auto().memory(**size, mask=mask) + queries * 3 * width * itemsize)


def _general(tolerance: float) -> Engine:
    return Auto(tolerance)


def _scores(parts: Pairs, log_shares: Tensor) -> Tensor:
    return parts.q @ parts.k.mT + (parts.logits.unsqueeze(-2) + log_shares)


def _exponentials(parts: Pairs, log_shares: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Weights relative to the largest of the row, their sum, and the logarithm of that scale."""
    scores = _scores(parts, log_shares)
    top = scores.detach().amax(-1, keepdim=True)
    top = torch.where(top.isneginf(), 0.0, top)
    weights = (scores - top).exp()
    return weights, weights.sum(-1, keepdim=True), top


def _orders(pairs: Pairs, seed: int) -> Tensor:
    """A random order of the tokens of every member and head, drawn from its own bytes."""
    batch = torch.broadcast_shapes(pairs.q.shape[:-2], pairs.k.shape[:-2])
    both = torch.cat([x.detach().expand(*batch, *x.shape[-2:]) for x in (pairs.q, pairs.k)], -1)
    tokens = both.reshape(math.prod(batch), *both.shape[-2:]).cpu().contiguous().numpy()
    orders = [_order(str(seed).encode() + one.tobytes(), one.shape[0]) for one in tokens]
    return torch.stack(orders).unflatten(0, batch).to(both.device) if batch else orders[0]


def _order(text: bytes, n: int) -> Tensor:
    digest = hashlib.blake2b(text, digest_size=8).digest()
    drawn = torch.Generator().manual_seed(int.from_bytes(digest, "little"))
    return torch.randperm(n, generator=drawn)


def _require_whole(pairs: Pairs) -> None:
    queries, keys = pairs.q.shape[-2], pairs.k.shape[-2]
    if pairs.mask is not None:
        raise _refusal("a sum under a mask")
    if queries != keys or keys == 0:
        raise _refusal(f"{queries} queries of {keys} keys")


def _refusal(what: str) -> EngineUnsupported:
    return EngineUnsupported(
        "Engine 'rbm' lets the tokens of a cloud see each other in random batches, unmasked, but "
        f"was asked for {what}; use engine 'auto'."
    )
