"""The choice of an engine for each sum."""

__all__ = ["Auto"]

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from vlasov.engines.base import Engine, PairKernel
from vlasov.engines.direct import Direct, reach
from vlasov.engines.fused import Fused, obstacle
from vlasov.engines.pairs import Pairs
from vlasov.engines.tiled import Tiled

_DIRECT: Engine = Direct()
_FUSED: Engine = Fused()
_TILED: Engine = Tiled()
_MANY = 2**20  # pairs; below, a call costs as much as it saves


@dataclass(frozen=True)
class Auto(Engine):
    """Direct for many exponentials of small width, fused for others, tiled for the rest.

    The rest are other kernels, and masks that neither of the two knows.

    Second derivatives need ``engine="dense"``.
    """

    name: ClassVar[str] = "auto"

    def _average(self, pairs: Pairs) -> Tensor:
        return _exponential(pairs)._average(pairs)

    def _log_sum(self, pairs: Pairs) -> Tensor:
        return _exponential(pairs)._log_sum(pairs)

    def _pair_sum(self, pair: PairKernel, pairs: Pairs) -> Tensor:
        return _TILED._pair_sum(pair, pairs)

    def _leader_average(self, pairs: Pairs, tie: float) -> Tensor:
        return _TILED._leader_average(pairs, tie)

    def memory(self, *, queries: int, keys: int, width: int, itemsize: int) -> int:  # noqa: D102
        size = {"queries": queries, "keys": keys, "width": width, "itemsize": itemsize}
        return max(one.memory(**size) for one in (_DIRECT, _FUSED, _TILED))


def _exponential(pairs: Pairs) -> Engine:
    # On CUDA torch has no fused kernel for float64: it would store n x n.
    stored = pairs.q.is_cuda and pairs.q.dtype == torch.float64
    if stored or obstacle(pairs.mask):
        return _TILED
    return _DIRECT if _worth_compiling(pairs) else _FUSED


def _worth_compiling(pairs: Pairs) -> bool:
    """Whether the compiled pass can take the sum, and saves more than its calls cost.

    The rule looks at one member: its answer must not depend on its neighbours in a batch.
    """
    if pairs.wants_gradient or reach(pairs) is not None:
        return False
    return pairs.q.shape[-2] * pairs.k.shape[-2] >= _MANY
