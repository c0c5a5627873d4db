r"""One compiled pass over all pairs, for tokens of small width on the CPU.

.. math:: Z_i = \sum_j 2^{\langle q_i \log_2 e,\, k_j\rangle + (b_j - \max_l b_l) \log_2 e - s_i}

With :math:`s_i = 0` wherever the exponents cannot leave the range of the number format; else
:math:`s_i` is the largest exponent of the row, found by a pass of its own. No row maximum is kept
while summing: several times the rate of `fused`. Sums are float64 across tiles of keys. The
answer depends neither on the number of threads nor on the other members of a batch.

Sums with gradients are those of `fused`.
"""

__all__ = ["Direct", "direct_sums", "reach"]

import math
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor
from torch.nn import functional

from vlasov.engines.base import Engine, PairKernel
from vlasov.engines.fused import Fused, obstacle
from vlasov.engines.pairs import Pairs
from vlasov.engines.prefixes import masked_sums
from vlasov.engines.threads import in_threads
from vlasov.errors import EngineUnsupported

_FUSED: Engine = Fused()
_WIDTHS = (1, 2, 3, 4, 6, 8)
"""Widths that are compiled; others are padded with zeros."""
_RANGE = {torch.float64: 900.0, torch.float32: 60.0}
"""Exponents (base 2) that need no shift; the format ends at 1022 and 126."""
_ABSENT = -1e30
_ROWS, _CACHE = 64, 2_500  # queries in a block, numbers in a tile of keys


def reach(pairs: Pairs) -> str | None:
    """What of a sum the compiled pass cannot take; None if nothing."""
    width = max(pairs.k.shape[-1], pairs.v.shape[-1])
    if width > _WIDTHS[-1] or width == 0:
        return f"a width of {width}"
    if pairs.q.device.type != "cpu":
        return f"tensors on {pairs.q.device}"
    return obstacle(pairs.mask)


@dataclass(frozen=True)
class Direct(Engine):
    """Compiled sums of exponentials for widths up to 8, unmasked, causal or causal ALiBi."""

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
        raise _refusal("a kernel that is no exponential")

    def _leader_average(self, pairs: Pairs, tie: float) -> Tensor:
        raise _refusal("the average over leaders")

    def memory(self, *, queries: int, keys: int, width: int, itemsize: int) -> int:  # noqa: D102
        return 8 * max(queries, keys) * (width + 1) * itemsize + 2**22


def _refusal(what: str) -> EngineUnsupported:
    return EngineUnsupported(
        f"Engine 'direct' sums exponentials of widths up to {_WIDTHS[-1]} on the CPU, unmasked or "
        f"in causal order, but was asked for {what}; use engine 'tiled' or 'dense' (or 'auto', "
        "which chooses)."
    )


def direct_sums(pairs: Pairs, triangular: bool) -> Tensor:
    """Averages and log-sums over all keys; if `triangular`, over keys 0 to i for query i."""
    from vlasov.engines import direct_kernel  # compiles, and loads numba

    width = next(w for w in _WIDTHS if w >= max(pairs.k.shape[-1], pairs.v.shape[-1]))
    batch, nq, nk = pairs.batch, pairs.q.shape[-2], pairs.k.shape[-2]
    if not (batch.numel() and nq and nk):
        nothing = torch.zeros(*batch, nq, pairs.v.shape[-1], dtype=pairs.q.dtype)
        return functional.pad(nothing, (0, 1), value=-torch.inf)
    logits, searched, absent = _exponents(pairs, triangular)
    coordinates = partial(_coordinates, batch=batch, width=width)
    values = coordinates(pairs.v)
    averages = np.empty((batch.numel() * nq, width), dtype=logits.dtype)
    logs = np.empty(batch.numel() * nq, dtype=logits.dtype)
    tile = _CACHE // (2 * width + 1) // 16 * 16
    run = partial(
        direct_kernel.sums,
        (coordinates(pairs.q * math.log2(math.e)), coordinates(pairs.k), logits, values),
        (nq, nk, _ROWS, tile, int(triangular)),
        searched,
        (averages, logs),
    )
    in_threads(run, batch.numel() * -(-nq // _ROWS))
    return _joined(averages[:, : pairs.v.shape[-1]], logs, absent).unflatten(0, (*batch, nq))


def _coordinates(
    x: Tensor, *, batch: torch.Size, width: int
) -> tuple[npt.NDArray[np.floating[Any]], ...]:
    """One contiguous array for each of `width` coordinates, member after member."""
    x = functional.pad(x.detach(), (0, width - x.shape[-1])).expand(*batch, *x.shape[-2:-1], width)
    return tuple(x.movedim(-1, 0).reshape(width, -1).contiguous().numpy())


def _exponents(
    pairs: Pairs, triangular: bool
) -> tuple[npt.NDArray[np.floating[Any]], npt.NDArray[np.bool_], Tensor]:
    """Key logits over log 2 from their largest; which members need a shift for every row.

    And the largest logit of each member, which the log-sums get back.
    """
    q, k, logits = pairs.q.detach(), pairs.k.detach(), pairs.logits.detach()
    logits = logits.expand(*pairs.batch, k.shape[-2]).reshape(-1, k.shape[-2])
    top = logits.amax(-1, keepdim=True)
    top = torch.where(top.isneginf(), 0.0, top)
    absent = logits.isneginf()
    logits = torch.where(absent, _ABSENT, (logits - top) * math.log2(math.e))
    bound = (_longest(q) * _longest(k)).expand(pairs.batch).reshape(-1) * math.log2(math.e)
    if triangular:  # the largest logit may belong to a key that a query does not see
        bound = bound - torch.where(absent, 0.0, logits).amin(-1)
    searched = (bound > _RANGE[q.dtype]) | absent.any(-1)
    return logits.reshape(-1).contiguous().numpy(), searched.numpy(), top


def _longest(x: Tensor) -> Tensor:
    return torch.linalg.vector_norm(x, dim=-1).amax(-1)


def _joined(
    averages: npt.NDArray[np.floating[Any]], logs: npt.NDArray[np.floating[Any]], top: Tensor
) -> Tensor:
    """Averages beside natural log-sums; 0 and ``-inf`` for rows that see no present key."""
    binary = torch.from_numpy(logs)
    blind = binary < _ABSENT / 2
    lift = top.expand(-1, len(binary) // len(top)).reshape(-1)
    natural = torch.where(blind, -torch.inf, binary * math.log(2) + lift)
    seen = torch.where(blind.unsqueeze(-1), 0.0, torch.from_numpy(averages))
    return torch.cat([seen, natural.unsqueeze(-1)], dim=-1)
