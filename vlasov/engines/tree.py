r"""The certified near-linear engine: two trees, tilted polynomial expansions, a proven bound.

.. math:: \langle q, k\rangle = \langle q, c\rangle + \langle a, k - c\rangle
          + \langle q - a, k - c\rangle

For a group of queries about a and one of keys about c, the exponential of the last term is a
polynomial: moments of the keys are gathered once and evaluated at every query. Groups whose weight
cannot matter are left out. The error of an average is at most the tolerance times the largest
distance of a value from it (`engine_report` says how far below it stayed); see `tree_sums`.

Sums are float64 whatever the format of the tokens; a float32 answer is rounded once, whatever the
tolerance. The answer depends neither on the number of threads nor on the other members of a batch.
Causal sums of many tokens walk the trees once, with the tokens of each node in the order of their
positions; fewer ones go by halves, see `tree_halves`.

Source: spec, engines page.
"""

__all__ = ["Tree", "branches"]

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from vlasov._shapes import Keys, Queries
from vlasov.engines.base import PreparedSum
from vlasov.engines.certified import certified_whole
from vlasov.engines.certified_engine import CertifiedEngine
from vlasov.engines.fitting_sum import FittingSum
from vlasov.engines.fused import obstacle
from vlasov.engines.input_checks import KEYS, QUERIES, require_operands
from vlasov.engines.members import members
from vlasov.engines.pairs import Pairs
from vlasov.engines.prefixes import masked_sums
from vlasov.engines.tree_halves import causal_sums
from vlasov.engines.visibility import Visibility

_WIDEST = 8
_NUMBERS = 18
"""Numbers that are kept for a coordinate of a token."""
_CAUSAL = 3.2
"""Times as many in causal order."""


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
class Tree(CertifiedEngine):
    """Sums of exponentials with a certified error, for keys of width up to 8 on the CPU."""

    name: ClassVar[str] = "tree"
    scope: ClassVar[str] = f"of widths up to {_WIDEST} on the CPU, unmasked or in causal order"

    def prepared(self, q: Queries, k: Keys, *, mask: Visibility | None = None) -> PreparedSum:
        """Both trees, grown once; a masked sum is not prepared."""
        require_operands(self.name, {QUERIES: q, KEYS: k}, mask)
        logits = torch.zeros(k.shape[:-1], dtype=k.dtype, device=k.device)
        if mask is not None or branches(Pairs(q, k, k, logits)):
            return PreparedSum(self, q, k, mask)
        from vlasov.engines.tree_prepared import PreparedTrees

        return FittingSum(self, q, k, None, PreparedTrees(self, q, k, None, self.tolerance))

    def _sums(self, pairs: Pairs) -> Tensor:
        what = branches(pairs)
        if what is not None:
            raise self._refusal(what)
        return masked_sums(self._prefixes, pairs)

    def _prefixes(self, pairs: Pairs, triangular: bool) -> Tensor:
        """Sums over all keys; if `triangular`, over keys 0 to i for query i."""
        shape = (*pairs.batch, pairs.q.shape[-2], pairs.v.shape[-1] + 1)
        one = causal_sums if triangular else certified_whole
        found = [one(self.tolerance, member) for member in members(pairs)]
        joined = [torch.cat([x.averages, x.logs.unsqueeze(-1)], dim=-1) for x in found]
        return torch.stack(joined).reshape(shape).to(pairs.q.dtype)

    def memory(  # noqa: D102
        self, *, queries: int, keys: int, width: int, itemsize: int, mask: Visibility | None = None
    ) -> int:
        walks = mask is not None and mask.causal
        whole = 8 * _NUMBERS * max(queries, keys) * width
        return int(whole * (_CAUSAL if walks else 1)) + 2**23
