"""Prepared sums behind the door that every other sum has."""

__all__ = ["FittingSum"]

from dataclasses import dataclass

from jaxtyping import Float
from torch import Tensor

from vlasov._shapes import KeyLogits, Values
from vlasov.engines.base import PreparedSum
from vlasov.engines.pair_checks import require_fitting
from vlasov.engines.pairs import Pairs


@dataclass(frozen=True, eq=False)
class FittingSum(PreparedSum):
    """Another prepared sum, which only sees values and key logits that fit its keys."""

    inner: PreparedSum

    def log_sum(self, key_logits: KeyLogits) -> Float[Tensor, "*batch nq"]:  # noqa: D102
        self._require(self.k, key_logits)
        return self.inner.log_sum(key_logits)

    def average(  # noqa: D102
        self, v: Values, key_logits: KeyLogits
    ) -> Float[Tensor, "*batch nq dv"]:
        self._require(v, key_logits)
        return self.inner.average(v, key_logits)

    def _require(self, v: Tensor, key_logits: Tensor) -> None:
        require_fitting(self.engine.name, Pairs(self.q, self.k, v, key_logits, self.mask))
