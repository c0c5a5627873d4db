r"""One step of Newton's method on the dual of entropic transport.

.. math:: h(g) = \sum_i w_i f_i(g) + \sum_j v_j g_j, \qquad
          \nabla h = v - c, \qquad -\varepsilon \nabla^2 h = \mathrm{diag}(c) - P^T W P

with the row-stochastic plan P, the row weights W and the column sums :math:`c = P^T w`. The system
is solved by conjugate gradients in the inner product of c, where the matrix is the identity less
an average of averages.
"""

__all__ = ["Plan", "newton_step"]

from collections.abc import Callable
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from vlasov.transport.sides import Side

_BLOCK = 2**18  # entries of a plan written at a time: fits the cache
_MAX_INNER = 100  # conjugate gradients
_DAMPING = 1e-13  # relative, of links too weak for fp64
_STRIDE = 30.0  # largest change of a potential, in units of eps
_HALVINGS = 12


@dataclass(frozen=True, eq=False)
class Plan:
    """The plan of a column potential, with rows of sum one."""

    rows: Float[Tensor, "n m"]
    w: Float[Tensor, " n"]
    v: Float[Tensor, " m"]
    f: Float[Tensor, " n"]
    g: Float[Tensor, " m"]
    eps: float

    @classmethod
    def of(cls, a: Side, b: Side, g: Float[Tensor, " m"], eps: float) -> "Plan":
        """The plan in which every row is exact."""
        logits = (g - b.x.square().sum(-1)) / eps + b.log_w
        n, m = len(a.x), len(b.x)
        rows, f = a.x.new_empty(n, m), torch.empty_like(a.log_w)
        height = max(1, _BLOCK // m)
        for start in range(0, n, height):
            part = slice(start, start + height)
            scores = torch.addmm(logits, a.x[part], b.x.mT, alpha=2 / eps)
            total = torch.logsumexp(scores, dim=-1)
            rows[part] = scores.sub_(total[:, None]).exp_()
            f[part] = a.x[part].square().sum(-1) - eps * total
        return cls(rows, a.log_w.exp(), b.log_w.exp(), f, g, eps)

    @property
    def columns(self) -> Float[Tensor, " m"]:
        """The column sums, which should be v."""
        return self.w @ self.rows

    @property
    def error(self) -> float:
        """The sum of absolute differences of column sums and weights."""
        return float((self.columns - self.v).abs().sum())

    def value(self) -> float:
        """The dual objective."""
        return float(self.w @ self.f + self.v @ self.g)


def newton_step(plan: Plan, dual: Callable[[Tensor], float]) -> Tensor | None:
    """The next column potential; None where no multiple of the step raises the dual."""
    c = plan.columns
    if not bool((c > 0).all()):
        return None
    slope = plan.v - c
    step = _solved(plan, c, slope)
    step = step * (plan.eps * min(1.0, _STRIDE / float(step.abs().max().clamp(min=1e-300))))
    gain, before = float(slope @ step), plan.value()
    allowance = 1e-14 * (1 + abs(before))
    for halving in range(_HALVINGS):
        g = plan.g + step * 0.5**halving
        if dual(g) >= before + 1e-4 * 0.5**halving * gain - allowance:
            return g
    return None


def _solved(plan: Plan, c: Tensor, slope: Tensor) -> Tensor:
    """The solution of the Newton system; by elimination where gradients are slow."""
    quick, reached = _conjugate_gradients(plan, c, slope / c, min(0.1, plan.error))
    return quick if reached else _eliminated(plan, c, slope)


def _conjugate_gradients(
    plan: Plan, c: Tensor, target: Tensor, tolerance: float
) -> tuple[Tensor, bool]:
    """The solution h of ``h - column average of (row average of h) = target``, if in reach."""
    h, rest = torch.zeros_like(target), target
    direction, size = rest, float(c @ rest.square())
    goal = tolerance**2 * size
    for _ in range(_MAX_INNER):
        image = direction - (plan.w * (plan.rows @ direction)) @ plan.rows / c
        curvature = float(c @ (direction * image))
        if size <= goal or curvature <= 0:
            break
        h = h + direction * (size / curvature)
        rest = rest - image * (size / curvature)
        size, before = float(c @ rest.square()), size
        direction = rest + direction * (size / before)
    return h, size <= goal


def _eliminated(plan: Plan, c: Tensor, slope: Tensor) -> Tensor:
    """The solution from the graph Laplacian of the columns, slightly damped."""
    links = plan.rows.mT @ (plan.w[:, None] * plan.rows)
    links.fill_diagonal_(0)
    # the diagonal from what leaves: no digits cancel where links are weak
    damped = torch.diag(links.sum(-1) + _DAMPING * c).sub_(links)
    scale = c.rsqrt()
    factor, _ = torch.linalg.cholesky_ex(damped.mul_(scale).mul_(scale[:, None]))
    return scale * torch.cholesky_solve((scale * slope)[:, None], factor)[:, 0]
