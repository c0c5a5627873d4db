r"""Potentials of entropic transport between two clouds, in the log domain.

.. math:: f_i = -\varepsilon \log \sum_j v_j\, e^{(g_j - |x_i-y_j|^2)/\varepsilon}, \qquad
          g_j = -\varepsilon \log \sum_i w_i\, e^{(f_i - |x_i-y_j|^2)/\varepsilon}

The plan is :math:`w_i v_j e^{(f_i + g_j - |x_i-y_j|^2)/\varepsilon}`. Sinkhorn's alternation of
the two is linear at best, and at a rate that a few lonely points drive to 1. So g is found by
Newton's method on the concave dual, along a descent in eps; a plan is held, memory of order n m.

Source: Sinkhorn, Amer. Math. Monthly 74 (1967); Brauer, Clason, Lorenz and Wirth, arXiv:1710.06635
for Newton's method; Feydy et al., arXiv:1810.08278 for the symmetric case.
"""

__all__ = ["Solution", "potentials", "self_potentials"]

import math
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from vlasov.errors import NotConverged
from vlasov.transport.newton import Plan, newton_step
from vlasov.transport.sides import Side, softmin

_ROUGH = 1e-2  # marginal error at which the next smaller eps is tried
_FAR = 0.5  # marginal error above which a half-step does more than Newton's


@dataclass(frozen=True, eq=False)
class Solution:
    """Potentials; one marginal is exact, the other off by `error` in the sum of differences."""

    f: Float[Tensor, " n"]
    g: Float[Tensor, " m"]
    error: float
    steps: int


def potentials(a: Side, b: Side, *, eps: float, tolerance: float, max_steps: int) -> Solution:
    """The potentials of two clouds, on numbers without gradient.

    Raises:
        NotConverged: if a marginal is off by more than `tolerance` after `max_steps`.
    """
    widest = sum(float(torch.linalg.vector_norm(side.x, dim=-1).max()) for side in (a, b))
    stages = max(0, math.ceil(math.log2(widest**2 / eps))) if widest > 0 else 0
    g, error = torch.zeros_like(b.log_w), math.inf
    for step in range(max_steps):
        now = eps * 2**stages
        plan = Plan.of(a, b, g, now)
        error = plan.error
        if stages == 0 and error <= tolerance:
            return Solution(plan.f, g, error, step)
        if error <= _ROUGH and stages > 0:
            stages -= 1
            continue
        moved = newton_step(plan, lambda h, now=now: _dual(a, b, h, now)) if error < _FAR else None
        g = softmin(b, a, plan.f, now) if moved is None else moved
    raise _not_converged(error, tolerance, max_steps, eps)


def self_potentials(a: Side, *, eps: float, tolerance: float, max_steps: int) -> Solution:
    """The potentials of a cloud with itself, which are equal: the average of both is taken.

    Raises:
        NotConverged: if a marginal is off by more than `tolerance` after `max_steps`.
    """
    f, error = torch.zeros_like(a.log_w), math.inf
    for step in range(max_steps):
        rows = softmin(a, a, f, eps)
        error = float(a.mean(((f - rows) / eps).expm1().abs()))
        if error <= tolerance:
            return Solution(f, f, error, step)
        f = (f + rows) / 2
    raise _not_converged(error, tolerance, max_steps, eps)


def _dual(a: Side, b: Side, g: Tensor, eps: float) -> float:
    return float(a.mean(softmin(a, b, g, eps)) + b.mean(g))


def _not_converged(error: float, tolerance: float, steps: int, eps: float) -> NotConverged:
    return NotConverged(
        f"Entropic transport wanted marginals within {tolerance:.1e} but after {steps} steps "
        f"they were off by {error:.1e}; raise eps (now {eps:.3g}) or the tolerance, or use the "
        "exact distance."
    )
