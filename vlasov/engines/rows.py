"""A sum over a cloud taken some queries at a time, with memory of order n on the way back too.

The gradient evaluates each block again. Results are written into tensors allocated beforehand:
small results kept between large temporaries would fragment the heap until it is of order n².
"""

__all__ = ["BlockSum", "sum_by_rows"]

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from vlasov.engines.pairs import Pairs
from vlasov.engines.visibility import Visibility

BlockSum = Callable[[Pairs], Tensor]
"""A sum of shape (*batch, queries, c)."""


def sum_by_rows(block_sum: BlockSum, pairs: Pairs, rows: int) -> Tensor:
    """The sum of all queries, `rows` at a time."""
    if rows >= pairs.q.shape[-2]:
        return block_sum(pairs)
    if pairs.wants_gradient and not _has_parameters(block_sum, pairs):
        operands = (pairs.q, pairs.k, pairs.v, pairs.logits)
        total: Tensor = _ByRows.apply(block_sum, rows, pairs.mask, *operands)
        return total
    return _filled(block_sum, pairs, rows)


def _has_parameters(block_sum: BlockSum, pairs: Pairs) -> bool:
    """Whether a kernel or mask holds tensors of its own that want a gradient."""
    first = next(pairs.detach().blocks(1))
    return block_sum(first).requires_grad


def _filled(block_sum: BlockSum, pairs: Pairs, rows: int) -> Tensor:
    total, start = torch.empty(0), 0
    for block in pairs.blocks(rows):
        part = block_sum(block)
        if start == 0:
            total = part.new_empty(*part.shape[:-2], pairs.q.shape[-2], part.shape[-1])
        total[..., start : start + part.shape[-2], :] = part
        start += part.shape[-2]
    return total


class _ByRows(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any,  # noqa: ANN401 - torch's own context
        block_sum: BlockSum,
        rows: int,
        mask: Visibility | None,
        *operands: Tensor,
    ) -> Tensor:
        ctx.setting = (block_sum, rows, mask)
        ctx.save_for_backward(*operands)
        return _filled(block_sum, Pairs(*operands, mask=mask), rows)

    @staticmethod
    @once_differentiable
    def backward(  # pyright: ignore[reportIncompatibleMethodOverride]
        ctx: Any,  # noqa: ANN401 - torch's own context
        *grads: Tensor,
    ) -> tuple[Tensor | None, ...]:
        block_sum, rows, mask = ctx.setting
        wanted: Sequence[bool] = ctx.needs_input_grad[3:]
        operands = [x.detach() for x in ctx.saved_tensors]
        sums = [torch.zeros_like(x) for x in operands]
        pairs, start = Pairs(*operands, mask=mask), 0
        for block, grad in zip(pairs.blocks(rows), grads[0].split(rows, dim=-2), strict=True):
            parts = _block_gradients(block_sum, block, grad)
            taken = slice(start, start + block.q.shape[-2])
            for total, part in zip([sums[0][..., taken, :], *sums[1:]], parts, strict=True):
                total += part
            start = taken.stop
        kept = (total if want else None for total, want in zip(sums, wanted, strict=True))
        return None, None, None, *kept


def _block_gradients(block_sum: BlockSum, block: Pairs, grad: Tensor) -> Sequence[Tensor]:
    operands = [x.detach().requires_grad_() for x in (block.q, block.k, block.v, block.logits)]
    with torch.enable_grad():
        total = block_sum(Pairs(*operands, mask=block.mask))
    return torch.autograd.grad(total, operands, grad, materialize_grads=True)
