"""The choice of an engine for each sum."""

__all__ = ["Auto"]

import math
from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from vlasov.engines.base import Engine, PairKernel
from vlasov.engines.certified import holds
from vlasov.engines.direct import Direct, reach
from vlasov.engines.fused import Fused, obstacle
from vlasov.engines.pairs import Pairs
from vlasov.engines.tiled import Tiled
from vlasov.engines.tree import Tree, branches

_DIRECT: Engine = Direct()
_FUSED: Engine = Fused()
_TILED: Engine = Tiled()
# Tokens of one member from which on an engine saves more than its calls cost.
_COMPILED = 1024.0
_TREES = {1: 1e4, 2: 2e4, 3: 1e5}


@dataclass(frozen=True)
class Auto(Engine):
    """The cheapest engine that can take the sum.

    Trees for a very large exponential sum in up to three dimensions, the compiled pass for a large
    one of small width, fused for other exponentials, tiled for the rest: other kernels, and masks
    that none of them knows. Where the trees cannot hold `tolerance`, the compiled pass.

    Second derivatives need ``engine="dense"``.
    """

    name: ClassVar[str] = "auto"
    tolerance: float = 1e-8

    def within(self, tolerance: float) -> "Auto":
        """The same rule with the smaller of the two tolerances for the trees."""
        return Auto(min(self.tolerance, tolerance))

    def _average(self, pairs: Pairs) -> Tensor:
        return _exponential(pairs, self.tolerance)._average(pairs)

    def _log_sum(self, pairs: Pairs) -> Tensor:
        return _exponential(pairs, self.tolerance)._log_sum(pairs)

    def _average_and_log_sum(self, pairs: Pairs) -> tuple[Tensor, Tensor]:
        return _exponential(pairs, self.tolerance)._average_and_log_sum(pairs)

    def _pair_sum(self, pair: PairKernel, pairs: Pairs) -> Tensor:
        return _TILED._pair_sum(pair, pairs)

    def _leader_average(self, pairs: Pairs, tie: float) -> Tensor:
        return _TILED._leader_average(pairs, tie)

    def memory(self, *, queries: int, keys: int, width: int, itemsize: int) -> int:  # noqa: D102
        size = {"queries": queries, "keys": keys, "width": width, "itemsize": itemsize}
        return max(one.memory(**size) for one in (_DIRECT, _FUSED, _TILED, Tree()))


def _exponential(pairs: Pairs, tolerance: float) -> Engine:
    # On CUDA torch has no fused kernel for float64: it would store n x n.
    stored = pairs.q.is_cuda and pairs.q.dtype == torch.float64
    if stored or obstacle(pairs.mask):
        return _TILED
    if _many(pairs, _TREES.get(pairs.k.shape[-1], math.inf)) and branches(pairs) is None:
        return Tree(tolerance) if holds(tolerance, pairs) else _DIRECT
    if _many(pairs, _COMPILED) and not pairs.wants_gradient and reach(pairs) is None:
        return _DIRECT
    return _FUSED


def _many(pairs: Pairs, tokens: float) -> bool:
    """Whether one member has as many pairs as a cloud of so many tokens.

    The rule looks at one member: its answer must not depend on its neighbours in a batch.
    """
    return pairs.q.shape[-2] * pairs.k.shape[-2] >= tokens**2
