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

__all__ = ["Monomials"]

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import ClassVar

import torch
from torch import Tensor
from torch.nn import functional

from vlasov.engines.base import Engine, PairKernel
from vlasov.engines.engine_report import note
from vlasov.engines.monomial_sums import monomial_sum, plan_of
from vlasov.engines.pairs import Pairs
from vlasov.errors import EngineUnsupported, InvalidValue, NotFinite

_WIDEST = 16
_DEVICES = ("cpu", "cuda")


@dataclass(frozen=True)
class Monomials(Engine):
    """Certified sums of exponentials with small exponents, for keys of width up to 16; unmasked.

    Experimental on CUDA: never run there.

    Args:
        tolerance: of an average, relative to the largest distance of a value from it; of a
            log-sum, absolute.

    Raises:
        InvalidValue: for a tolerance outside (0, 0.1].
    """

    name: ClassVar[str] = "monomials"
    tolerance: float = 1e-8

    def __post_init__(self) -> None:
        if not 0 < self.tolerance <= 0.1:
            raise InvalidValue(
                f"Engine 'monomials' takes a tolerance above 0 and up to 0.1 but got "
                f"{self.tolerance}."
            )

    def within(self, tolerance: float) -> "Monomials":
        """The same engine with the smaller of the two tolerances."""
        return Monomials(min(self.tolerance, tolerance))

    def _average(self, pairs: Pairs) -> Tensor:
        return self._sums(pairs)[..., :-1]

    def _log_sum(self, pairs: Pairs) -> Tensor:
        return self._sums(pairs)[..., -1]

    def _average_and_log_sum(self, pairs: Pairs) -> tuple[Tensor, Tensor]:
        both = self._sums(pairs)
        return both[..., :-1], both[..., -1]

    def monomials(self, pairs: Pairs) -> int | None:
        """The largest number that a member of the batch takes; None where one is refused."""
        if _obstacle(pairs) is not None:
            return None
        try:
            counts = [
                plan_of(one.q, one.k, one.v, one.logits, self.tolerance).monomials
                for one in map(_present, _members(pairs))
                if len(one.k) and len(one.q)
            ]
        except EngineUnsupported:
            return None
        return max(counts, default=0)

    def _sums(self, pairs: Pairs) -> Tensor:
        """Averages and log-sums, member by member: each has its own radius and degree."""
        what = _obstacle(pairs)
        if what is not None:
            raise _refusal(what)
        sums = [self._one(member) for member in _members(pairs)]
        return torch.stack(sums).unflatten(0, pairs.batch) if pairs.batch else sums[0]

    def _one(self, pairs: Pairs) -> Tensor:
        operands = (pairs.q, pairs.k, pairs.v)
        if not all(bool(x.isfinite().all()) for x in operands) or not bool(
            (pairs.logits < math.inf).all()
        ):
            raise NotFinite(
                "Engine 'monomials' needs finite tokens but found NaN or infinity; repair them."
            )
        present = _present(pairs)
        if not len(present.k) or not len(pairs.q):
            nothing = pairs.v.new_zeros(len(pairs.q), pairs.v.shape[-1])
            return functional.pad(nothing, (0, 1), value=-torch.inf)
        top, scale = present.logits.max(), present.value_scale()
        logits = present.logits - top
        found = monomial_sum(pairs.q, present.k, present.v / scale, logits, self.tolerance)
        logs = found.logs + top
        log_bound = found.log_bound + torch.finfo(torch.float64).eps * float(logs.abs().max())
        note(replace(found.report, bound=found.bound * scale, log_bound=log_bound))
        return torch.cat([found.averages * scale, logs.unsqueeze(-1)], dim=-1)

    def _pair_sum(self, pair: PairKernel, pairs: Pairs) -> Tensor:
        raise _refusal("a kernel that is no exponential")

    def _leader_average(self, pairs: Pairs, tie: float) -> Tensor:
        raise _refusal("the average over leaders")

    def memory(self, *, queries: int, keys: int, width: int, itemsize: int) -> int:  # noqa: D102
        return 8 * 8 * max(queries, keys) * (width + 1) + 2**27


def _members(pairs: Pairs) -> Iterator[Pairs]:
    """Each member of a batch, in float64."""
    batch = pairs.batch
    q, k, v, logits = (
        x.detach().double().expand(*batch, *x.shape[-2:]).reshape(batch.numel(), *x.shape[-2:])
        for x in (pairs.q, pairs.k, pairs.v, pairs.logits.unsqueeze(-1))
    )
    members = zip(q, k, v, logits.squeeze(-1), strict=True)
    return (Pairs(*member) for member in members)


def _present(pairs: Pairs) -> Pairs:
    """Without the keys of weight zero."""
    there = ~pairs.logits.isneginf()
    return Pairs(pairs.q, pairs.k[there], pairs.v[there], pairs.logits[there])


def _obstacle(pairs: Pairs) -> str | None:
    """What of a sum the engine cannot take; None if nothing."""
    if pairs.wants_gradient:
        return "a gradient"
    if not 0 < pairs.k.shape[-1] <= _WIDEST:
        return f"keys of width {pairs.k.shape[-1]}"
    if pairs.q.device.type not in _DEVICES:
        return f"tensors on {pairs.q.device}"
    return None if pairs.mask is None else "a sum under a mask"


def _refusal(what: str) -> EngineUnsupported:
    return EngineUnsupported(
        f"Engine 'monomials' sums exponentials of widths up to {_WIDEST}, without masks and "
        f"gradients, but was asked for {what}; use engine 'fused', 'tiled' or 'dense' (or 'auto', "
        "which chooses)."
    )
