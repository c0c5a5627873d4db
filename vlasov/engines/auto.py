"""The choice of an engine for each sum."""

__all__ = ["Auto"]

from dataclasses import dataclass
from typing import ClassVar

import torch
from jaxtyping import Float
from torch import Tensor

from vlasov._shapes import KeyLogits, Keys, Queries, Values
from vlasov.engines.base import Engine, PairKernel, PreparedSum
from vlasov.engines.certified_engine import require_tolerance
from vlasov.engines.cheapest import cheapest
from vlasov.engines.direct import Direct, pair_reach
from vlasov.engines.fused import Fused, obstacle
from vlasov.engines.input_checks import KEYS, QUERIES, require_operands
from vlasov.engines.pair_checks import require_fitting
from vlasov.engines.pairs import Pairs
from vlasov.engines.tiled import Tiled
from vlasov.engines.tree import Tree
from vlasov.engines.visibility import Visibility

_DIRECT: Engine = Direct()
_FUSED: Engine = Fused()
_TILED: Engine = Tiled()
# Pairs from which on the compiled pass of another kernel saves more than its call costs.
_COMPILED = 400**2


@dataclass(frozen=True)
class Auto(Engine):
    """The cheapest engine that can take the sum.

    Of an exponential sum by a table of costs (`costs`): fused for few tokens, large widths and
    gradients, the compiled pass for more of small width, trees for many where they can hold
    `tolerance`. Tiled for the rest: other kernels, and masks that none of them knows.

    Second derivatives need ``engine="dense"``.

    Raises:
        InvalidValue: for a tolerance outside (0, 0.1].
    """

    name: ClassVar[str] = "auto"
    tolerance: float = 1e-8

    def __post_init__(self) -> None:
        require_tolerance(self.name, self.tolerance)

    def within(self, tolerance: float) -> "Auto":
        """The same rule with the smaller of the two tolerances for the trees."""
        return Auto(min(self.tolerance, tolerance))

    def choice(self, pairs: Pairs) -> Engine:
        """The engine of an exponential sum."""
        # On CUDA torch has no fused kernel for float64: it would store n x n.
        stored = pairs.q.is_cuda and pairs.q.dtype == torch.float64
        if stored or obstacle(pairs.mask):
            return _TILED
        return cheapest(pairs, self.tolerance)

    def prepared(self, q: Queries, k: Keys, *, mask: Visibility | None = None) -> PreparedSum:
        """Trees are kept where they are chosen; the choice is made at every sum."""
        require_operands(self.name, {QUERIES: q, KEYS: k}, mask)
        return _Prepared(self, q, k, mask, Tree(self.tolerance).prepared(q, k, mask=mask))

    def _average(self, pairs: Pairs) -> Tensor:
        return self.choice(pairs)._average(pairs)

    def _log_sum(self, pairs: Pairs) -> Tensor:
        return self.choice(pairs)._log_sum(pairs)

    def _average_and_log_sum(self, pairs: Pairs) -> tuple[Tensor, Tensor]:
        return self.choice(pairs)._average_and_log_sum(pairs)

    def _pair_sum(self, pair: PairKernel, pairs: Pairs) -> Tensor:
        return _of_pairs(pair, pairs)._pair_sum(pair, pairs)

    def _leader_average(self, pairs: Pairs, tie: float) -> Tensor:
        return _TILED._leader_average(pairs, tie)

    def memory(  # noqa: D102
        self, *, queries: int, keys: int, width: int, itemsize: int, mask: Visibility | None = None
    ) -> int:
        size = {"queries": queries, "keys": keys, "width": width, "itemsize": itemsize}
        return max(one.memory(**size, mask=mask) for one in (_DIRECT, _FUSED, _TILED, Tree()))


@dataclass(frozen=True, eq=False)
class _Prepared(PreparedSum):
    trees: PreparedSum

    def log_sum(self, key_logits: KeyLogits) -> Float[Tensor, "*batch nq"]:
        best = self.trees if self._by_trees(self.k, key_logits) else super()
        return best.log_sum(key_logits)

    def average(self, v: Values, key_logits: KeyLogits) -> Float[Tensor, "*batch nq dv"]:
        best = self.trees if self._by_trees(v, key_logits) else super()
        return best.average(v, key_logits)

    def _by_trees(self, v: Tensor, key_logits: Tensor) -> bool:
        pairs = Pairs(self.q, self.k, v, key_logits, self.mask)
        require_fitting(self.engine.name, pairs)
        return isinstance(self.engine, Auto) and isinstance(self.engine.choice(pairs), Tree)


def _of_pairs(pair: PairKernel, pairs: Pairs) -> Engine:
    many = pairs.q.shape[-2] * pairs.k.shape[-2] >= _COMPILED
    if many and not pairs.wants_gradient and pair_reach(pair, pairs) is None:
        return _DIRECT
    return _TILED
