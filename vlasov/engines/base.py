r"""How the sums over a cloud are evaluated; an engine knows no attention variant.

.. math:: Z_i = \sum_j e^{\langle q_i, k_j\rangle + b_j}, \qquad
          \mathrm{average}_i = Z_i^{-1} \sum_j e^{\langle q_i, k_j\rangle + b_j} v_j

A query that sees no key (or only keys of weight zero) averages to 0 and has log-sum ``-inf``;
gradients stay finite there. Half-precision inputs are summed in float32 and rounded once.
"""

__all__ = ["Engine", "PairKernel", "PreparedSum"]

import abc
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

from jaxtyping import Float
from torch import Tensor

from vlasov._shapes import KeyLogits, Keys, Queries, Values
from vlasov.engines.input_checks import KEYS, QUERIES, require_operands
from vlasov.engines.pair_checks import require_pairs
from vlasov.engines.pairs import Pairs
from vlasov.engines.visibility import Visibility

PairKernel = Callable[[Tensor], Tensor]


class Engine(abc.ABC):
    """Evaluates sums over a cloud: the only place where memory, speed and error are discussed.

    A new engine implements the four hooks on `Pairs`; input is checked, number formats and
    centring are done here.

    Every sum raises `ShapeMismatch`, `InvalidValue` or `NotFinite` for tensors that make no sum,
    the same ones for every engine (`input_checks`), and `EngineUnsupported` for a sum that this
    engine cannot evaluate.
    """

    name: ClassVar[str]
    random: ClassVar[bool] = False
    """Whether sums are estimates that differ from one evaluation of a moving cloud to the next."""

    def average(
        self,
        q: Queries,
        k: Keys,
        v: Values,
        key_logits: KeyLogits,
        *,
        mask: Visibility | None = None,
    ) -> Float[Tensor, "*batch nq dv"]:
        r"""The average :math:`\sum_j p_{ij} v_j`, :math:`p_i = \mathrm{softmax}_j(s_{ij})`."""
        pairs = require_pairs(self.name, Pairs(q, k, v, key_logits, mask))
        if pairs.mask is None:
            pairs, _ = pairs.centred()
        return self._average(pairs).to(v.dtype)

    def log_sum(
        self, q: Queries, k: Keys, key_logits: KeyLogits, *, mask: Visibility | None = None
    ) -> Float[Tensor, "*batch nq"]:
        r"""The logarithm :math:`\log \sum_j e^{s_{ij}}`."""
        pairs = require_pairs(self.name, Pairs(q, k, k, key_logits, mask))
        if pairs.mask is not None:
            return self._log_sum(pairs).to(q.dtype)
        pairs, centre = pairs.centred()
        return (self._log_sum(pairs) + (pairs.q * centre).sum(-1)).to(q.dtype)

    def average_and_log_sum(
        self,
        q: Queries,
        k: Keys,
        v: Values,
        key_logits: KeyLogits,
        *,
        mask: Visibility | None = None,
    ) -> tuple[Float[Tensor, "*batch nq dv"], Float[Tensor, "*batch nq"]]:
        """What `average` and `log_sum` return, in one pass where the engine has one."""
        pairs = require_pairs(self.name, Pairs(q, k, v, key_logits, mask))
        if pairs.mask is not None:
            average, log_sum = self._average_and_log_sum(pairs)
            return average.to(v.dtype), log_sum.to(q.dtype)
        pairs, centre = pairs.centred()
        average, log_sum = self._average_and_log_sum(pairs)
        return average.to(v.dtype), (log_sum + (pairs.q * centre).sum(-1)).to(q.dtype)

    def pair_sum(
        self,
        pair: PairKernel,
        q: Queries,
        k: Keys,
        v: Values,
        log_w: KeyLogits,
        *,
        mask: Visibility | None = None,
    ) -> Float[Tensor, "*batch nq dv"]:
        r"""The sum :math:`\sum_j w_j\,\mathrm{pair}(s_{ij})\, v_j` for any kernel.

        The scores are without key logits: :math:`s_{ij} = \langle q_i, k_j\rangle` less the
        penalty of the mask.
        """
        pairs = require_pairs(self.name, Pairs(q, k, v, log_w, mask))
        return self._pair_sum(pair, pairs).to(v.dtype)

    def leader_average(
        self,
        q: Queries,
        k: Keys,
        v: Values,
        log_w: KeyLogits,
        *,
        tie: float,
        mask: Visibility | None = None,
    ) -> Float[Tensor, "*batch nq dv"]:
        """The weighted average of the values whose score ties with the largest of the row.

        A tie is within `tie` times the largest absolute score of the row.
        """
        pairs = require_pairs(self.name, Pairs(q, k, v, log_w, mask))
        return self._leader_average(pairs, tie).to(v.dtype)

    def prepared(self, q: Queries, k: Keys, *, mask: Visibility | None = None) -> "PreparedSum":
        """The sums over these queries and keys, for key logits that change from call to call.

        An engine that sorts tokens does so once.
        """
        require_operands(self.name, {QUERIES: q, KEYS: k}, mask)
        return PreparedSum(self, q, k, mask)

    def within(self, tolerance: float) -> "Engine":
        """This engine with errors no larger than the tolerance, where it has a choice."""
        return self

    @abc.abstractmethod
    def _average(self, pairs: Pairs) -> Tensor: ...

    @abc.abstractmethod
    def _log_sum(self, pairs: Pairs) -> Tensor: ...

    def _average_and_log_sum(self, pairs: Pairs) -> tuple[Tensor, Tensor]:
        return self._average(pairs), self._log_sum(pairs)

    @abc.abstractmethod
    def _pair_sum(self, pair: PairKernel, pairs: Pairs) -> Tensor: ...

    @abc.abstractmethod
    def _leader_average(self, pairs: Pairs, tie: float) -> Tensor: ...

    @abc.abstractmethod
    def memory(
        self, *, queries: int, keys: int, width: int, itemsize: int, mask: Visibility | None = None
    ) -> int:
        """Bytes needed beyond the inputs for one sum without gradients, the largest one.

        Heads and batch members count as queries; `keys` is the number that one query meets.
        """


@dataclass(frozen=True, eq=False)
class PreparedSum:
    """What `Engine.prepared` gives: its `average` and `log_sum` for fixed queries and keys.

    A log-sum may skip what an engine does to check itself; an average does not.
    """

    engine: Engine
    q: Queries
    k: Keys
    mask: Visibility | None

    def log_sum(self, key_logits: KeyLogits) -> Float[Tensor, "*batch nq"]:
        """The log-sums under these key logits."""
        return self.engine.log_sum(self.q, self.k, key_logits, mask=self.mask)

    def average(self, v: Values, key_logits: KeyLogits) -> Float[Tensor, "*batch nq dv"]:
        """The averages of values under these key logits."""
        return self.engine.average(self.q, self.k, v, key_logits, mask=self.mask)
