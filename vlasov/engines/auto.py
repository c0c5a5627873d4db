"""The choice of an engine for each sum."""

__all__ = ["Auto"]

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from vlasov.engines.base import Engine, PairKernel
from vlasov.engines.fused import Fused, obstacle
from vlasov.engines.pairs import Pairs
from vlasov.engines.tiled import Tiled

_FUSED: Engine = Fused()
_TILED: Engine = Tiled()


@dataclass(frozen=True)
class Auto(Engine):
    """Fused for exponentials under a mask it knows, else tiled (which is dense in one block).

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
        return max(_FUSED.memory(**size), _TILED.memory(**size))


def _exponential(pairs: Pairs) -> Engine:
    # On CUDA torch has no fused kernel for float64: it would store n x n.
    stored = pairs.q.is_cuda and pairs.q.dtype == torch.float64
    return _TILED if stored or obstacle(pairs.mask) else _FUSED
