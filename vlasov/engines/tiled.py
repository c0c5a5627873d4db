"""Row blocks of the dense engine: memory of order n, whatever the kernel or the mask.

The gradient evaluates each block again. Second derivatives flow with the memory of `dense`.
"""

__all__ = ["Tiled"]

from dataclasses import dataclass
from functools import partial
from typing import ClassVar

from torch import Tensor

from vlasov.engines.base import Engine, PairKernel
from vlasov.engines.dense import Dense, matrices
from vlasov.engines.pairs import Pairs
from vlasov.engines.rows import BlockSum, sum_by_rows
from vlasov.engines.visibility import Visibility
from vlasov.errors import InvalidValue

# Scores in a block: fits the cache; a block of 2**20 and more is 3-4 times slower (page faults).
_BLOCK = 2**18
_DENSE: Engine = Dense()


@dataclass(frozen=True)
class Tiled(Engine):
    """Row blocks of the dense engine; `rows` queries at a time (0: as many as fit the cache)."""

    name: ClassVar[str] = "tiled"
    rows: int = 0

    def __post_init__(self) -> None:
        if self.rows < 0:
            raise InvalidValue(
                f"Engine 'tiled' takes rows >= 0 but got {self.rows}; 0 chooses the block."
            )

    def _average(self, pairs: Pairs) -> Tensor:
        return self._by_rows(_DENSE._average, pairs)

    def _log_sum(self, pairs: Pairs) -> Tensor:
        return self._by_rows(lambda block: _DENSE._log_sum(block).unsqueeze(-1), pairs).squeeze(-1)

    def _pair_sum(self, pair: PairKernel, pairs: Pairs) -> Tensor:
        return self._by_rows(partial(_DENSE._pair_sum, pair), pairs)

    def _leader_average(self, pairs: Pairs, tie: float) -> Tensor:
        return self._by_rows(partial(_DENSE._leader_average, tie=tie), pairs)

    def _by_rows(self, block_sum: BlockSum, pairs: Pairs) -> Tensor:
        row = pairs.batch.numel() * pairs.k.shape[-2]
        return sum_by_rows(block_sum, pairs, self.rows or max(1, _BLOCK // max(row, 1)))

    def memory(  # noqa: D102
        self, *, queries: int, keys: int, width: int, itemsize: int, mask: Visibility | None = None
    ) -> int:
        tokens = max(queries, keys)
        block = max(_BLOCK, max(self.rows, 1) * tokens)
        return int(matrices(mask) * block + (2 * queries + 2 * tokens) * width) * itemsize
