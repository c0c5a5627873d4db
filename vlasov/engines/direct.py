r"""One compiled pass over all pairs, for tokens of small width on the CPU.

.. math:: Z_i = \sum_j 2^{\langle q_i \log_2 e,\, k_j\rangle + (b_j - \max_l b_l) \log_2 e - s_i}

The shift :math:`s_i` only keeps the exponents in the range of the number format: it lies between
the largest exponent over a few keys and a bound by norms. Where these are too far apart it is the
largest exponent of the row, found by a pass of its own. No row maximum is kept while summing:
several times the rate of `fused`. Sums are float64 across tiles of keys. The answer depends
neither on the number of threads nor on the other members of a batch.

Of other kernels it sums the logistic function and the score itself (`pair_kernels`). Sums with
gradients are those of `fused` and `tiled`.
"""

__all__ = ["Direct", "direct_sums", "pair_reach", "reach"]

import math
from dataclasses import dataclass
from functools import partial
from typing import ClassVar

import numpy as np
import torch
from torch import Tensor

from vlasov.engines.base import Engine, PairKernel
from vlasov.engines.causal import in_causal_order
from vlasov.engines.direct_operands import (
    WIDEST,
    blind_rows,
    operands,
    range_of_values,
)
from vlasov.engines.fused import Fused, obstacle
from vlasov.engines.pair_kernels import Identity, Logistic
from vlasov.engines.pairs import Pairs
from vlasov.engines.prefixes import masked_sums
from vlasov.engines.threads import in_threads
from vlasov.engines.tiled import Tiled
from vlasov.engines.visibility import Visibility
from vlasov.errors import EngineUnsupported

_FUSED: Engine = Fused()
_TILED: Engine = Tiled()
_ROWS = 64  # queries in a block
_PAIR = 0.5  # nanoseconds of a pair


def reach(pairs: Pairs) -> str | None:
    """What of a sum the compiled pass cannot take; None if nothing."""
    width = max(pairs.k.shape[-1], pairs.v.shape[-1])
    if width > WIDEST or width == 0:
        return f"a width of {width}"
    if pairs.q.device.type != "cpu":
        return f"tensors on {pairs.q.device}"
    return obstacle(pairs.mask)


def pair_reach(pair: PairKernel, pairs: Pairs) -> str | None:
    """What of a pair sum the compiled pass cannot take; None if nothing."""
    if not isinstance(pair, Identity | Logistic):
        return "a kernel that is no exponential"
    if pairs.mask is not None and pairs.mask.slope is not None:
        return "ALiBi with a kernel that is no exponential"
    return reach(pairs)


@dataclass(frozen=True)
class Direct(Engine):
    """Compiled sums for widths up to 8: exponentials and the sigmoid, unmasked or causal."""

    name: ClassVar[str] = "direct"

    def _average(self, pairs: Pairs) -> Tensor:
        if pairs.wants_gradient:
            return _FUSED._average(pairs)
        return self._sums(pairs)[..., :-1]

    def _log_sum(self, pairs: Pairs) -> Tensor:
        if pairs.wants_gradient:
            return _FUSED._log_sum(pairs)
        return self._sums(pairs)[..., -1]

    def _average_and_log_sum(self, pairs: Pairs) -> tuple[Tensor, Tensor]:
        if pairs.wants_gradient:
            return super()._average_and_log_sum(pairs)
        both = self._sums(pairs)
        return both[..., :-1], both[..., -1]

    def _sums(self, pairs: Pairs) -> Tensor:
        what = reach(pairs)
        if what is not None:
            raise _refusal(what)
        return masked_sums(direct_sums, pairs)

    def _pair_sum(self, pair: PairKernel, pairs: Pairs) -> Tensor:
        what = pair_reach(pair, pairs)
        if what is not None:
            raise _refusal(what)
        if pairs.wants_gradient:
            return _TILED._pair_sum(pair, pairs)
        prefix, mask = partial(_pair_sums, pair), pairs.mask
        bare = Pairs(pairs.q, pairs.k, pairs.v, pairs.logits)
        if mask is None or not mask.causal:
            return prefix(bare, False)
        return in_causal_order(prefix, bare, mask, unseen=0.0)

    def _leader_average(self, pairs: Pairs, tie: float) -> Tensor:
        raise _refusal("the average over leaders")

    def memory(  # noqa: D102
        self, *, queries: int, keys: int, width: int, itemsize: int, mask: Visibility | None = None
    ) -> int:
        tokens = max(queries, keys) * (7 if mask is None else 8)
        return (2 * queries + tokens) * (width + 1) * itemsize + 2**22


def _refusal(what: str) -> EngineUnsupported:
    return EngineUnsupported(
        f"Engine 'direct' sums exponentials, the logistic function and the score itself, for "
        f"widths up to {WIDEST} on the CPU, unmasked or in causal order, but was asked for "
        f"{what}; use engine 'tiled' or 'dense' (or 'auto', which chooses)."
    )


def direct_sums(pairs: Pairs, triangular: bool) -> Tensor:
    """Averages and log-sums over all keys; if `triangular`, over keys 0 to i for query i."""
    from vlasov.engines import direct_kernel  # compiles, and loads numba

    batch, nq = pairs.batch, pairs.q.shape[-2]
    scale = range_of_values(pairs)
    packed = operands(pairs, exponents=math.log2(math.e), values=scale)
    both = np.empty((batch.numel() * nq, pairs.v.shape[-1] + 1), packed.queries.dtype)
    sizes = packed.sizes(pairs.k.shape[-2], _ROWS, triangular)
    hints = packed.longest, packed.scouts
    run = partial(direct_kernel.sums, packed.arguments, sizes, hints, both)
    in_threads(run, batch.numel() * -(-nq // _ROWS), _PAIR * len(both) * pairs.k.shape[-2])
    both.reshape(len(packed.top), nq, -1)[..., -1] += packed.top[:, None]
    found = torch.from_numpy(both).unflatten(0, (*batch, nq))
    if scale != 1:
        found[..., :-1] *= scale
    if packed.absent:
        blind = blind_rows(pairs, triangular)
        found[..., :-1].masked_fill_(blind.unsqueeze(-1), 0.0)
        found[..., -1].masked_fill_(blind, -torch.inf)
    return found


def _pair_sums(pair: PairKernel, pairs: Pairs, triangular: bool) -> Tensor:
    """Sums of weighted values times the kernel, over all keys or over keys 0 to i for query i."""
    from vlasov.engines import direct_kernel

    batch, nq = pairs.batch, pairs.q.shape[-2]
    bounded = isinstance(pair, Logistic)
    bias = torch.full_like(pairs.logits, pair.bias if isinstance(pair, Logistic) else 0.0)
    weighted = pairs.logits.exp().unsqueeze(-1) * pairs.v
    packed = operands(
        Pairs(pairs.q, pairs.k, weighted, bias),
        exponents=math.log2(math.e) if bounded else 1.0,
        lifted=False,
    )
    totals = np.zeros((batch.numel() * nq, packed.queries.shape[-1]))
    sizes = packed.sizes(pairs.k.shape[-2], _ROWS, triangular)
    run = partial(direct_kernel.pair_sums, packed.arguments, sizes, bounded, totals)
    in_threads(run, batch.numel() * -(-nq // _ROWS), _PAIR * len(totals) * pairs.k.shape[-2])
    found = torch.from_numpy(totals)[:, : pairs.v.shape[-1]]
    return found.to(pairs.q.dtype).unflatten(0, (*batch, nq))
