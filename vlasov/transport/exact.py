r"""Exact transport between finite measures: an optimal plan that carries its proof.

.. math:: \min_{\pi \ge 0} \sum_{ij} C_{ij} \pi_{ij}, \qquad \pi 1 = a, \quad \pi^T 1 = b

The network simplex of POT is fast and its answer is checked against the dual bound of
`vlasov.transport.certificate`. Where the check fails, as with one token at 1e8 beside tokens at 1,
shortest augmenting paths solve the problem again, and the same check decides.

Source: Bonneel et al., ACM Trans. Graph. 30(6) (2011), for the network simplex.
"""

__all__ = ["SOLVERS", "Plan", "exact_power", "optimal_plan"]

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np
import numpy.typing as npt
import torch
from jaxtyping import Float
from torch import Tensor

from vlasov.errors import NotConverged, NotFinite
from vlasov.transport.certificate import TOLERANCE, Certificate, certify
from vlasov.transport.checks import Pair
from vlasov.transport.cost import cost_matrix, pair_costs, require_room
from vlasov.transport.record import require_no_underflow

_PIVOTS = 10**12
_BLOCK = 2**20

Vector = npt.NDArray[np.float64]
Matrix = npt.NDArray[np.float64]
Solved = tuple["Support", Vector]


@dataclass(frozen=True, eq=False)
class Support:
    """The pairs that carry mass."""

    rows: npt.NDArray[np.intp]
    columns: npt.NDArray[np.intp]
    mass: Vector

    def misplaced(self, a: Vector, b: Vector) -> float:
        """Mass by which the sums of rows and columns differ from the weights."""
        sums = ((self.rows, a), (self.columns, b))
        return max(float(np.abs(np.bincount(i, self.mass, len(w)) - w).sum()) for i, w in sums)


@dataclass(frozen=True, eq=False)
class Plan:
    """A plan, whether its marginals and its certificate hold, and the solver that found it."""

    support: Support
    value: float
    certificate: Certificate
    method: str
    proven: bool


def optimal_plan(cost: Matrix, a: Vector, b: Vector, *, solver: str = "auto") -> Plan:
    """The plan of least cost between weights `a` of the rows and `b` of the columns.

    Weights are positive and sum to 1, costs are not negative, and rows are contiguous in memory.

    Raises:
        NotFinite: for costs that overflow.
        NotConverged: where no solver reaches a certified optimum.
    """
    largest = float(cost.max())
    if not np.isfinite(largest):
        raise NotFinite(
            f"Costs must be finite but the largest is {largest}. Rescale both clouds, or lower p."
        )
    first, *others = SOLVERS if solver == "auto" else (solver,)
    plan = _attempt(first, cost, a, b)
    for name in others:
        plan = plan if plan.proven else _attempt(name, cost, a, b)
    if not plan.proven:
        raise NotConverged(
            f"An exact distance needs a relative duality gap of {TOLERANCE:g} but reached "
            f"{plan.certificate.gap:.3g}, with rounding {plan.certificate.rounding:.3g}. Costs "
            "spread too widely for fp64: remove the farthest tokens or rescale them."
        )
    return plan


def _attempt(name: str, cost: Matrix, a: Vector, b: Vector) -> Plan:
    support, v = SOLVERS[name](cost, a, b)
    value = float(support.mass @ cost[support.rows, support.columns])
    certificate = certify(cost, v, a=a, b=b, value=value)
    proven = certificate.holds and support.misplaced(a, b) <= TOLERANCE
    return Plan(support, value, certificate, name, proven)


def exact_power(
    pair: Pair, *, sphere: bool, solver: str = "auto"
) -> tuple[Float[Tensor, ""], Plan]:
    """The least cost, with gradients through the optimal plan, and the plan itself."""
    require_room(pair.a.n, pair.b.n)
    a, b = pair.a.weights, pair.b.weights
    left, right = (w.detach().numpy() for w in (a, b))
    plan = optimal_plan(cost_matrix(pair, sphere=sphere), left, right, solver=solver)
    rows, columns, mass = (
        torch.from_numpy(part)
        for part in (plan.support.rows, plan.support.columns, plan.support.mass)
    )
    x, y = pair.a.points[rows], pair.b.points[columns]
    power = (mass * pair_costs(x, y, pair.p, sphere=sphere)).sum()
    require_no_underflow(power, lambda: pair_costs(x, y, 1.0, sphere=sphere).max())
    for w, potential in ((a, plan.certificate.u), (b, plan.certificate.v)):
        if w.requires_grad:
            # the potential is the derivative by the weight; the added number is 0
            power = power + ((w - w.detach()) * torch.from_numpy(potential)).sum()
    return power, plan


def network_simplex(cost: Matrix, a: Vector, b: Vector, *, pivots: int = _PIVOTS) -> Solved:
    """POT's solver: the support of its plan and the potentials of the columns.

    Raises:
        NotConverged: if it stops at the cap of pivots or calls the problem infeasible.
    """
    import ot  # heavy: only where a plan is asked for

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # its status is read below
        plan, log = ot.emd(a, b, cost, numItermax=pivots, log=True, center_dual=False)
    if log["warning"] is not None:
        raise NotConverged(
            f"The network simplex must end at an optimum but said '{log['warning']}' after at "
            f"most {pivots} pivots. Use fewer tokens, or `sliced`."
        )
    return _support(plan), log["v"]


def _augmenting_paths(cost: Matrix, a: Vector, b: Vector) -> Solved:
    from vlasov.transport.augmenting import augment  # compiles, and loads numba

    plan, _, v, stuck = augment(cost, a, b)
    if stuck > TOLERANCE:
        raise NotConverged(
            f"Weights of both sides must balance but {stuck:.3g} found no room. Check the weights."
        )
    return _support(plan), v


def _support(plan: Matrix) -> Support:
    rows = max(1, _BLOCK // plan.shape[1])
    found = [np.nonzero(plan[i : i + rows]) for i in range(0, len(plan), rows)]
    i = np.concatenate([part[0] + k * rows for k, part in enumerate(found)])
    j = np.concatenate([part[1] for part in found])
    return Support(i, j, plan[i, j])


SOLVERS: MappingProxyType[str, Callable[[Matrix, Vector, Vector], Solved]] = MappingProxyType(
    {"network simplex": network_simplex, "shortest augmenting paths": _augmenting_paths}
)
"""The solvers by the name that `Plan.method` carries, in the order in which they are tried."""
