"""A sum over a cloud taken some queries at a time, with memory of order n on the way back too.

The gradient evaluates each block again. Results are written into tensors allocated beforehand:
small results kept between large temporaries would fragment the heap until it is of order n².
A gradient that is to be differentiated again keeps every block, so it takes the memory of `dense`.
"""

__all__ = ["BlockSum", "sum_by_rows"]

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor

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
    def backward(
        ctx: Any,  # noqa: ANN401 - torch's own context
        *grads: Tensor,
    ) -> tuple[Tensor | None, ...]:
        block_sum, rows, mask = ctx.setting
        pairs = Pairs(*ctx.saved_tensors, mask=mask)
        if torch.is_grad_enabled():
            found = _differentiable_gradients(block_sum, pairs, grads[0])
        else:
            found = _summed_gradients(block_sum, pairs, grads[0], rows)
        wanted: Sequence[bool] = ctx.needs_input_grad[3:]
        kept = (x if want else None for x, want in zip(found, wanted, strict=True))
        return None, None, None, *kept


def _summed_gradients(
    block_sum: BlockSum, pairs: Pairs, grad: Tensor, rows: int
) -> Sequence[Tensor]:
    sums = [torch.zeros_like(x) for x in (pairs.q, pairs.k, pairs.v, pairs.logits)]
    start = 0
    for block, part in zip(pairs.blocks(rows), grad.split(rows, dim=-2), strict=True):
        found = _gradients(block_sum, block.detach(), part)
        taken = slice(start, start + block.q.shape[-2])
        for total, term in zip([sums[0][..., taken, :], *sums[1:]], found, strict=True):
            total += term
        start = taken.stop
    return sums


def _gradients(block_sum: BlockSum, block: Pairs, grad: Tensor) -> Sequence[Tensor]:
    operands = [x.requires_grad_() for x in (block.q, block.k, block.v, block.logits)]
    with torch.enable_grad():
        total = block_sum(block)
    return torch.autograd.grad(total, operands, grad, materialize_grads=True)


def _differentiable_gradients(block_sum: BlockSum, pairs: Pairs, grad: Tensor) -> Sequence[Tensor]:
    # Views: queries, keys and values may be one tensor, whose parts are wanted one by one.
    operands = [x.view_as(x) for x in (pairs.q, pairs.k, pairs.v, pairs.logits)]
    operands = [x if x.requires_grad else x.detach().requires_grad_() for x in operands]
    total = block_sum(Pairs(*operands, mask=pairs.mask))
    return torch.autograd.grad(total, operands, grad, create_graph=True, materialize_grads=True)
