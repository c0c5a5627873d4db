"""Sums over intervals of a sorted axis, without cancellation."""

__all__ = ["first_true", "interval_sums"]

from collections.abc import Callable

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor
from torch.nn.functional import pad


def first_true(
    holds: Callable[[Int[Tensor, "*batch n"]], Bool[Tensor, "*batch n"]],
    count: int,
    like: Float[Tensor, "*batch n"],
) -> Int[Tensor, "*batch n"]:
    """The first index below `count` at which a monotone predicate holds, else `count`.

    Bisection with the predicate itself, so that a border falls where a direct comparison puts it.
    """
    low = torch.zeros_like(like, dtype=torch.long)
    high = torch.full_like(low, count)
    for _ in range(count.bit_length()):
        middle = (low + high) // 2
        found = holds(middle.clamp(max=count - 1)) | (low >= high)
        low, high = torch.where(found, low, middle + 1), torch.where(found, middle, high)
    return high


def interval_sums(
    w: Float[Tensor, "*batch nk"],
    start: Int[Tensor, "*batch nq"],
    stop: Int[Tensor, "*batch nq"],
) -> Float[Tensor, "*batch nq"]:
    """The sums of ``w[start:stop]``, each put together from disjoint blocks of lengths 2^l.

    Differences of prefix sums would lose the weight of a narrow window among a million tokens.
    """
    total = torch.zeros_like(start, dtype=w.dtype)
    length = (stop - start).clamp(min=0)
    for bit in range(w.shape[-1].bit_length()):
        taken = (length >> bit) & 1
        block = w.gather(-1, start.clamp(max=w.shape[-1] - 1))
        total = total + torch.where(taken.bool(), block, 0.0)
        start = start + (taken << bit)
        w = w + pad(w[..., 1 << bit :], (0, min(1 << bit, w.shape[-1])))
    return total
