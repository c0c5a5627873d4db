r"""The certified near-linear engine: two trees, tilted polynomial expansions, a proven bound.

.. math:: \langle q, k\rangle = \langle q, c\rangle + \langle a, k - c\rangle
          + \langle q - a, k - c\rangle

For a group of queries about a and one of keys about c, the exponential of the last term is a
polynomial: moments of the keys are gathered once and evaluated at every query. Groups whose weight
cannot matter are left out. The error of an average is at most the tolerance times the largest
distance of a value from it (`engine_report` says how far below it stayed); see `tree_sums`.

Sums are float64 whatever the format of the tokens; a float32 answer is rounded once, whatever the
tolerance. The answer depends neither on the number of
threads nor on the other members of a batch. Causal sums go by halves: the later tokens see all of
the earlier half, and each half goes on by itself.

Source: spec, engines page.
"""

__all__ = ["Tree", "branches"]

import dataclasses
from dataclasses import dataclass
from functools import partial
from typing import ClassVar

import torch
from torch import Tensor

from vlasov._shapes import Keys, Queries
from vlasov.engines.base import Engine, PairKernel, PreparedSum
from vlasov.engines.fused import obstacle
from vlasov.engines.pairs import Pairs
from vlasov.engines.prefixes import masked_sums
from vlasov.engines.tree_members import certified_sums
from vlasov.engines.visibility import Visibility
from vlasov.errors import EngineUnsupported, InvalidValue

_WIDEST = 8


def branches(pairs: Pairs) -> str | None:
    """What of a sum the trees cannot take; None if nothing."""
    if pairs.wants_gradient:
        return "a gradient"
    if not 0 < pairs.k.shape[-1] <= _WIDEST:
        return f"keys of width {pairs.k.shape[-1]}"
    if pairs.q.device.type != "cpu":
        return f"tensors on {pairs.q.device}"
    return obstacle(pairs.mask)


@dataclass(frozen=True)
class Tree(Engine):
    """Sums of exponentials with a certified error, for keys of width up to 8 on the CPU.

    Args:
        tolerance: of an average, relative to the largest distance of a value from it; of a
            log-sum, absolute.

    Raises:
        InvalidValue: for a tolerance outside (0, 0.1].
    """

    name: ClassVar[str] = "tree"
    tolerance: float = 1e-8

    def __post_init__(self) -> None:
        if not 0 < self.tolerance <= 0.1:
            raise InvalidValue(
                f"Engine 'tree' takes a tolerance above 0 and up to 0.1 but got {self.tolerance}."
            )

    def within(self, tolerance: float) -> "Tree":
        """The trees with the smaller of the two tolerances."""
        return Tree(min(self.tolerance, tolerance))

    def prepared(self, q: Queries, k: Keys, *, mask: Visibility | None = None) -> PreparedSum:
        """Both trees, grown once; a masked sum is not prepared."""
        logits = torch.zeros(k.shape[:-1], dtype=k.dtype, device=k.device)
        if mask is not None or branches(Pairs(q, k, k, logits)) or not k.shape[-2]:
            return PreparedSum(self, q, k, mask)
        from vlasov.engines.tree_prepared import PreparedTrees

        return PreparedTrees(self, q, k, None, self.tolerance)

    def _average(self, pairs: Pairs) -> Tensor:
        return self._sums(pairs)[..., :-1]

    def _log_sum(self, pairs: Pairs) -> Tensor:
        return self._sums(dataclasses.replace(pairs, v=pairs.k[..., :0]))[..., -1]

    def _average_and_log_sum(self, pairs: Pairs) -> tuple[Tensor, Tensor]:
        both = self._sums(pairs)
        return both[..., :-1], both[..., -1]

    def _sums(self, pairs: Pairs) -> Tensor:
        what = branches(pairs)
        if what is not None:
            raise _refusal(what)
        return masked_sums(partial(certified_sums, self.tolerance), pairs)

    def _pair_sum(self, pair: PairKernel, pairs: Pairs) -> Tensor:
        raise _refusal("a kernel that is no exponential")

    def _leader_average(self, pairs: Pairs, tie: float) -> Tensor:
        raise _refusal("the average over leaders")

    def memory(self, *, queries: int, keys: int, width: int, itemsize: int) -> int:  # noqa: D102
        return 8 * 8 * max(queries, keys) * (2 * width + 3) + 2**26


def _refusal(what: str) -> EngineUnsupported:
    return EngineUnsupported(
        f"Engine 'tree' sums exponentials of widths up to {_WIDEST} on the CPU, unmasked or in "
        f"causal order, but was asked for {what}; use engine 'fused', 'tiled' or 'dense' (or "
        "'auto', which chooses)."
    )
