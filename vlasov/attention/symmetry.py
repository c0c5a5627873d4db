"""Whether the scores of a cloud form a symmetric matrix, without forming it."""

__all__ = ["symmetric_and_positive"]

import torch
from torch import Tensor


def symmetric_and_positive(q: Tensor, k: Tensor) -> Tensor:
    """Where the scores form a symmetric matrix of positive trace, of shape ``(*batch, 1)``.

    ``q kᵀ - k qᵀ`` maps into the span of q and k, so it vanishes if it does on their columns.
    """
    q, k = q.detach(), k.detach()
    basis = torch.cat(torch.broadcast_tensors(q, k), dim=-1)
    forth, back = q @ (k.mT @ basis), k @ (q.mT @ basis)
    off, size = (forth - back).abs(), forth.abs() + back.abs()
    limit = 100 * torch.finfo(q.dtype).eps * size.amax(dim=(-2, -1), keepdim=True)
    symmetric = (off <= limit).all(dim=-1).all(dim=-1, keepdim=True)
    return symmetric & ((q * k).sum(dim=-1).sum(dim=-1, keepdim=True) > 0)
