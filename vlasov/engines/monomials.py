r"""Two matrix products over monomials: exponentials of small exponents in up to 16 dimensions.

.. math:: \sum_j e^{\langle q_i, k_j\rangle} v_j \approx
          \sum_\alpha (q_i - a)^\alpha\, c_\alpha \sum_j e^{\langle a, k_j\rangle}
          (k_j - c)^\alpha v_j

The cost is :math:`\binom{m + d}{d}` monomials a token, m the degree of a polynomial that follows
the exponential on :math:`[-r, r]`, with r the radius of the queries times that of the keys, each
about its centre. For r up to 4 in four dimensions, 1 in eight, 1/4 in sixteen. The error of
an average is at most the tolerance times the largest distance of a value from it (`engine_report`
says how far below it stayed); see `monomial_sums`. Sums are float64 whatever the format.

On CUDA this is experimental: it was never run there.

Source: spec, engines page, "Higher d".
"""

__all__ = ["Monomials", "unsummed"]

from dataclasses import dataclass, replace
from typing import ClassVar

import torch
from torch import Tensor
from torch.nn import functional

from vlasov.engines.certified_engine import CertifiedEngine
from vlasov.engines.engine_report import note
from vlasov.engines.members import members, present
from vlasov.engines.monomial_sums import monomial_sum, plan_of
from vlasov.engines.pairs import Pairs
from vlasov.engines.visibility import Visibility
from vlasov.errors import EngineUnsupported

_WIDEST = 16
_DEVICES = ("cpu", "cuda")


@dataclass(frozen=True)
class Monomials(CertifiedEngine):
    """Certified sums of exponentials with small exponents, for keys of width up to 16; unmasked.

    Experimental on CUDA: never run there.
    """

    name: ClassVar[str] = "monomials"
    scope: ClassVar[str] = f"of widths up to {_WIDEST}, without masks and gradients"

    def monomials(self, pairs: Pairs) -> int | None:
        """The largest number that a member of the batch takes; None where one is refused."""
        if unsummed(pairs) is not None:
            return None
        try:
            counts = [
                plan_of(one.q, one.k, one.v, one.logits, self.tolerance).monomials
                for one in map(present, members(pairs))
                if len(one.k) and len(one.q)
            ]
        except EngineUnsupported:
            return None
        return max(counts, default=0)

    def _sums(self, pairs: Pairs) -> Tensor:
        """Averages and log-sums, member by member: each has its own radius and degree."""
        what = unsummed(pairs)
        if what is not None:
            raise self._refusal(what)
        shape = (*pairs.batch, pairs.q.shape[-2], pairs.v.shape[-1] + 1)
        sums = [self._one(member) for member in members(pairs)]
        return torch.stack(sums).reshape(shape)

    def _one(self, pairs: Pairs) -> Tensor:
        seen = present(pairs)
        if not len(seen.k):
            nothing = pairs.v.new_zeros(len(pairs.q), pairs.v.shape[-1])
            return functional.pad(nothing, (0, 1), value=-torch.inf)
        top, scale = seen.logits.max(), seen.value_scale()
        logits = seen.logits - top
        found = monomial_sum(seen.q, seen.k, seen.v / scale, logits, self.tolerance)
        logs = found.logs + top
        log_bound = found.log_bound + torch.finfo(torch.float64).eps * float(logs.abs().max())
        note(replace(found.report, bound=found.bound * scale, log_bound=log_bound))
        return torch.cat([found.averages * scale, logs.unsqueeze(-1)], dim=-1)

    def memory(  # noqa: D102
        self, *, queries: int, keys: int, width: int, itemsize: int, mask: Visibility | None = None
    ) -> int:
        return 8 * 10 * max(queries, keys) * (width + 1) + 2**24


def unsummed(pairs: Pairs) -> str | None:
    """What of a sum the engine cannot take; None if nothing."""
    if pairs.wants_gradient:
        return "a gradient"
    if not 0 < pairs.k.shape[-1] <= _WIDEST:
        return f"keys of width {pairs.k.shape[-1]}"
    if pairs.q.device.type not in _DEVICES:
        return f"tensors on {pairs.q.device}"
    return None if pairs.mask is None else "a sum under a mask"
