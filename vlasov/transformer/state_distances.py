r"""How far two stacks of states are from each other, layer by layer.

.. math:: W_2(X_l, Y_l), \qquad \sum_i w_i \cos(x_i, y_i)

W2 is that of clouds and does not care which token is which; it is computed in fp64, and `relative`
is W2 over the size of what it is measured from. Above `most` tokens it is taken between `most` of
them, evenly spaced in their order: an estimate.
"""

__all__ = [
    "MOST_TOKENS",
    "StateDistances",
    "consecutive_distances",
    "state_cosines",
    "state_distances",
]

import math
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from vlasov._shapes import LogWeights, Points
from vlasov.cloud import Cloud
from vlasov.errors import ShapeMismatch
from vlasov.transformer.diagnostics import input_cosine, token_norm
from vlasov.transport import wasserstein

MOST_TOKENS = 256
"""Above this number of tokens W2 is taken between a part of them."""


@dataclass(frozen=True, eq=False)
class StateDistances:
    """Means over the batch; NaN where a state is not finite."""

    w2: Float[Tensor, " states"]
    relative: Float[Tensor, " states"]
    cosine: Float[Tensor, " states"]


def consecutive_distances(
    states: Sequence[Points], log_w: LogWeights | None = None, *, most: int = MOST_TOKENS
) -> StateDistances:
    """Distances of each state from the one before; NaN at the start, which has none."""
    before = [torch.full_like(states[0], torch.nan), *states[:-1]]
    return state_distances(states, before, log_w, most=most)


def state_distances(
    states: Sequence[Points],
    others: Sequence[Points],
    log_w: LogWeights | None = None,
    *,
    most: int = MOST_TOKENS,
) -> StateDistances:
    """Distances between two stacks of the same tokens; `relative` to the size of the others.

    Raises:
        ShapeMismatch: for stacks of different lengths.
    """
    if len(states) != len(others):
        raise ShapeMismatch(
            f"Two stacks of states need one length but have {len(states)} and {len(others)}. "
            "Compare networks of the same depth."
        )
    rows = [_between(x, y, log_w, most) for x, y in zip(states, others, strict=True)]
    return StateDistances(*torch.stack(rows, dim=-1))


def state_cosines(
    states: Sequence[Points], others: Sequence[Points], log_w: LogWeights | None = None
) -> Float[Tensor, " states"]:
    """The cosines alone, without transport; NaN where a state is not finite."""
    pairs = zip(states, others, strict=True)
    return torch.stack([input_cosine(x, y, log_w).mean().cpu().double() for x, y in pairs])


def _between(x: Tensor, y: Tensor, log_w: Tensor | None, most: int) -> Tensor:
    """W2, its ratio to the size of y, and the cosine."""
    x, y = x.detach().double().cpu(), y.detach().double().cpu()
    if not bool(x.isfinite().all() and y.isfinite().all()):
        return torch.full((3,), torch.nan, dtype=torch.float64)
    if log_w is None:
        log_w = x.new_zeros(x.shape[-2]) - math.log(x.shape[-2])
    log_w = log_w.detach().cpu().double().expand(x.shape[:-1])
    pairs = zip(_clouds(x), _clouds(y), log_w.reshape(-1, x.shape[-2]), strict=True)
    w2 = torch.stack([_w2(a, b, w, most) for a, b, w in pairs])
    size = token_norm(y, log_w).flatten() * y.shape[-1] ** 0.5
    cosine = input_cosine(x, y, log_w)
    ratio = w2 / torch.where(size > 0, size, 1.0)
    return torch.stack([w2.mean(), ratio.mean(), cosine.mean()])


def _clouds(x: Tensor) -> Tensor:
    return x.reshape(-1, *x.shape[-2:])


def _w2(a: Tensor, b: Tensor, log_w: Tensor, most: int) -> Tensor:
    real = (log_w > -torch.inf).nonzero().squeeze(-1)
    if len(real) > most:
        real = real[torch.linspace(0, len(real) - 1, most).round().long()]
    w = log_w[real].softmax(-1)
    return wasserstein(Cloud(a[real], w), Cloud(b[real], w))
