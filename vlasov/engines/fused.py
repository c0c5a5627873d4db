r"""Torch's fused attention kernel: the fastest quadratic sum, with memory of order n.

Key logits travel as an additive mask of one row while no gradient is asked of them, else as one
more coordinate, :math:`\langle (q, 1), (k, b)\rangle = \langle q, k\rangle + b`. Values and keys
are padded to one width on four axes: for other shapes torch takes a kernel that stores n × n.
A log-sum with gradients (or on CUDA) takes the row blocks of ``tiled``. First derivatives only.
"""

__all__ = ["Fused", "obstacle"]

import dataclasses
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor
from torch.nn import functional

from vlasov.engines.base import Engine, PairKernel
from vlasov.engines.causal import in_causal_order
from vlasov.engines.pairs import Pairs
from vlasov.engines.tiled import Tiled
from vlasov.engines.visibility import Visibility
from vlasov.errors import EngineUnsupported

_ROW_BLOCKS: Engine = Tiled()
# The exponential of minus this is 0 in float64 and float32.
_UNDERFLOW = 800.0


def obstacle(mask: Visibility | None) -> str | None:
    """What of a mask the fused kernel cannot express; None if nothing."""
    if mask is None:
        return None
    if mask.matrix is not None:
        return "an explicit mask"
    if mask.width is not None:
        return "a window mask"
    return "symmetric ALiBi" if mask.slope is not None and not mask.causal else None


@dataclass(frozen=True)
class Fused(Engine):
    """Torch's scaled_dot_product_attention: exponentials, unmasked, causal or causal ALiBi."""

    name: ClassVar[str] = "fused"

    def _average(self, pairs: Pairs) -> Tensor:
        return _AVERAGE(pairs)

    def _log_sum(self, pairs: Pairs) -> Tensor:
        if pairs.wants_gradient or pairs.q.is_cuda:
            _refuse_obstacle(pairs.mask)
            return _ROW_BLOCKS._log_sum(pairs)
        total = _LOG_SUM(pairs).squeeze(-1)
        offset = None if pairs.mask is None else pairs.mask.query_offset()
        return total if offset is None else total - offset.to(total)

    def _pair_sum(self, pair: PairKernel, pairs: Pairs) -> Tensor:
        raise _refusal("a kernel that is no exponential")

    def _leader_average(self, pairs: Pairs, tie: float) -> Tensor:
        raise _refusal("the average over leaders")

    def memory(  # noqa: D102
        self, *, queries: int, keys: int, width: int, itemsize: int, mask: Visibility | None = None
    ) -> int:
        tokens = max(queries, keys) * (2 if mask is None else 3)
        return (queries + tokens) * (width + 1) * itemsize + 2**22


def _refusal(what: str) -> EngineUnsupported:
    return EngineUnsupported(
        f"Engine 'fused' sums exponentials, unmasked or in causal order, but was asked for "
        f"{what}; use engine 'tiled' or 'dense' (or 'auto', which chooses)."
    )


def _refuse_obstacle(mask: Visibility | None) -> None:
    what = obstacle(mask)
    if what is not None:
        raise _refusal(what)


@dataclass(frozen=True)
class _Kernel:
    """A torch kernel on four axes, and its answer for a query that sees nothing."""

    call: Callable[[Tensor, Tensor, Tensor, Tensor | None, bool], Tensor]
    unseen: float
    ignores_constants: bool

    def __call__(self, pairs: Pairs) -> Tensor:
        mask = pairs.mask
        _refuse_obstacle(mask)
        if mask is None or not mask.causal:
            return self.sum(pairs, False)
        bonus = mask.key_bonus()
        if bonus is not None:
            pairs = dataclasses.replace(pairs, logits=pairs.logits + bonus.to(pairs.logits))
        return in_causal_order(self.sum, pairs, mask, unseen=self.unseen)

    def sum(self, pairs: Pairs, triangular: bool) -> Tensor:
        """The sum over all keys or, if `triangular`, over keys 0 to i for query i."""
        logits = pairs.logits
        if self.ignores_constants and _constant(logits):
            return self._on_four_axes(pairs, None, triangular)
        if logits.detach().amin().item() > -math.inf:
            return self._with_logits(pairs, triangular)
        absent = logits.isneginf()
        pairs = dataclasses.replace(pairs, logits=torch.where(absent, _floor(pairs), logits))
        blind = absent.long().cumprod(-1).bool() if triangular else absent.all(-1, keepdim=True)
        return torch.where(blind.unsqueeze(-1), self.unseen, self._with_logits(pairs, triangular))

    def _with_logits(self, pairs: Pairs, triangular: bool) -> Tensor:
        differentiated = torch.is_grad_enabled() and pairs.logits.requires_grad
        if triangular or differentiated or pairs.q.is_cuda:
            return self._on_four_axes(_with_coordinate(pairs), None, triangular)
        return self._on_four_axes(pairs, pairs.logits.unsqueeze(-2), triangular)

    def _on_four_axes(self, pairs: Pairs, row: Tensor | None, triangular: bool) -> Tensor:
        batch, width = pairs.batch, max(pairs.k.shape[-1], pairs.v.shape[-1])
        if pairs.q.is_cuda:
            width = -(-width // 8) * 8  # torch's kernels for CUDA ask for aligned widths
        q, k, v = (_four(_padded(x, width), batch) for x in (pairs.q, pairs.k, pairs.v))
        total = self.call(q, k, v, None if row is None else _four(row, batch), triangular)
        if total.shape[-1] > pairs.v.shape[-1]:
            total = total[..., : pairs.v.shape[-1]]
        return total.reshape(*batch, *total.shape[-2:])


def _padded(x: Tensor, width: int) -> Tensor:
    missing = width - x.shape[-1]
    return functional.pad(x, (0, missing)) if missing else x


def _four(x: Tensor, batch: torch.Size) -> Tensor:
    """Shape (members, heads, tokens, width); no copy is made of what a batch already has."""
    heads = batch[-1] if batch else 1
    if x.shape[:-2] != batch:
        x = x.expand(*batch, *x.shape[-2:])
    x = x.reshape(-1, heads, *x.shape[-2:])
    # Torch's kernel for log-sums takes the numbers of a row for neighbours, unasked.
    return x if x.stride(-1) == 1 else x.contiguous()


def _constant(logits: Tensor) -> bool:
    """Whether the logits cancel in an average; false for keys that are all absent."""
    if torch.is_grad_enabled() and logits.requires_grad:
        return False
    lowest, highest = logits.aminmax()
    return -math.inf < lowest.item() == highest.item()


def _floor(pairs: Pairs) -> Tensor:
    """A finite logit so low that the weight of its key underflows beside any present one."""
    size = _longest(pairs.q) * _longest(pairs.k)
    present = pairs.logits.detach()
    lowest = torch.where(present.isneginf(), torch.inf, present).min()
    return torch.where(lowest.isinf(), 0.0, lowest) - 2 * size - _UNDERFLOW


def _longest(x: Tensor) -> Tensor:
    return torch.linalg.vector_norm(x.detach(), dim=-1).max()


def _with_coordinate(pairs: Pairs) -> Pairs:
    """The logits as one more coordinate of the keys, which a gradient can pass."""
    logits = pairs.logits.unsqueeze(-1)
    leading = torch.broadcast_shapes(pairs.k.shape[:-1], logits.shape[:-1])
    k = torch.cat([pairs.k.expand(*leading, -1), logits.expand(*leading, -1)], dim=-1)
    q = torch.cat([pairs.q, torch.ones_like(pairs.q[..., :1])], dim=-1)
    return dataclasses.replace(pairs, q=q, k=k)


def _attend(q: Tensor, k: Tensor, v: Tensor, row: Tensor | None, triangular: bool) -> Tensor:
    return functional.scaled_dot_product_attention(
        q, k, v, attn_mask=row, is_causal=triangular, scale=1.0
    )


def _log_sums(q: Tensor, k: Tensor, v: Tensor, row: Tensor | None, triangular: bool) -> Tensor:
    # The kernel that the public function runs on the CPU; it also returns the logarithms.
    flash = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu
    return flash(q, k, v, 0.0, triangular, attn_mask=row, scale=1.0)[1].unsqueeze(-1)


_AVERAGE = _Kernel(_attend, unseen=0.0, ignores_constants=True)
_LOG_SUM = _Kernel(_log_sums, unseen=-torch.inf, ignores_constants=False)
