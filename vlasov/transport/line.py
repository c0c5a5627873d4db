r"""The distance on the line, by sorting: exact for every p and all weights.

.. math:: W_p^p = \int_0^1 |F^{-1}(t) - G^{-1}(t)|^p \, dt

for the quantile functions of the two measures. Both are constant between the merged cumulative
weights, so the integral is a finite sum.

Source: spec section 5; Santambrogio, Optimal Transport for Applied Mathematicians (2015), 2.9.
"""

__all__ = ["line_power", "matched_power", "merged", "pair_power"]

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from vlasov.transport.checks import Atoms, Pair


def pair_power(pair: Pair) -> Float[Tensor, ""]:
    """The p-th power for two measures in R^1."""
    if pair.matched:
        return matched_power(pair.a.points[:, 0], pair.b.points[:, 0], pair.p)
    return line_power(pair.a, pair.b, pair.p)


def matched_power(
    x: Float[Tensor, "*batch n"], y: Float[Tensor, "*batch n"], p: float
) -> Float[Tensor, "*batch"]:
    """The p-th power between equally many points of one weight: both sorted, then compared."""
    if x.requires_grad or y.requires_grad:
        gap = x.sort(dim=-1).values - y.sort(dim=-1).values
    else:
        # numpy sorts values alone, several times faster than torch, which also returns the order
        gap = torch.from_numpy(np.sort(x.numpy(), axis=-1))
        gap -= torch.from_numpy(np.sort(y.numpy(), axis=-1))
    if p == 2:
        return torch.linalg.vecdot(gap, gap) / gap.shape[-1]
    return (gap.abs() if p == 1 else gap.abs().pow(p)).mean(-1)


def line_power(a: Atoms, b: Atoms, p: float) -> Float[Tensor, ""]:
    """The p-th power between weighted points ``(n, 1)`` and ``(m, 1)``, with all gradients."""
    (x, ends_x), (y, ends_y) = _quantiles(a), _quantiles(b)
    i, j, mass = merged(ends_x, ends_y)
    gap = (x[i] - y[j]).abs()
    return (mass * (gap if p == 1 else gap.pow(p))).sum()


def _quantiles(side: Atoms) -> tuple[Tensor, Tensor]:
    """Sorted points, and the cumulative weight at which each but the last ends."""
    order = torch.from_numpy(np.argsort(side.points[:, 0].detach().numpy()))
    x = side.points[order, 0]
    if side.equal and not side.weights.requires_grad:
        return x, torch.arange(1, side.n, dtype=x.dtype) / side.n
    return x, side.weights[order].cumsum(0)[:-1]


def merged(
    ends_x: Float[Tensor, " n"], ends_y: Float[Tensor, " m"]
) -> tuple[Tensor, Tensor, Float[Tensor, " k"]]:
    """Which two points meet on every piece of [0, 1], and the length of the piece.

    Pieces no longer than the rounding of cumulative weights count as nothing: they arise where
    equal weights were added in another order, and would carry a rounding error to any distance.
    """
    cuts = torch.cat((ends_x.new_zeros(1), ends_x, ends_y, ends_x.new_ones(1))).clamp(0.0, 1.0)
    # a stable sort merges runs that are already sorted, in one pass
    order = torch.from_numpy(np.argsort(cuts.detach().numpy(), kind="stable"))
    mass = cuts[order].diff()
    sliver = 2 * torch.finfo(cuts.dtype).eps * len(cuts) ** 0.5
    mass = torch.where(mass > sliver, mass, 0.0)
    passed, n = order[:-1], len(ends_x)
    i = ((passed > 0) & (passed <= n)).cumsum(0)
    j = ((passed > n) & (passed <= n + len(ends_y))).cumsum(0)
    return i, j, mass
