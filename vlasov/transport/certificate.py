r"""Whether a transport plan is optimal, decided by a bound that needs no trust in the solver.

.. math:: \sum_{ij} C_{ij} \pi_{ij} \;\ge\; \sum_i a_i u_i + \sum_j b_j v_j
          \quad\text{for all } u_i + v_j \le C_{ij}

A solver's potentials v are made feasible by :math:`u_i = \min_j (C_{ij} - v_j)`; how far the bound
then stays below the cost of the plan is the gap.

Source: Kantorovich duality; Peyré and Cuturi, Computational Optimal Transport (2019), section 2.5.
"""

__all__ = ["TOLERANCE", "Certificate", "certify"]

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Vector = npt.NDArray[np.float64]

TOLERANCE = 1e-9  # of the gap and of its rounding, relative to the cost of the plan
_BLOCK = 2**20
_EPS = float(np.finfo(np.float64).eps)


@dataclass(frozen=True, eq=False)
class Certificate:
    """Feasible potentials, the relative gap they leave, and what rounding may hide of it."""

    u: Vector
    v: Vector
    gap: float
    rounding: float

    @property
    def holds(self) -> bool:
        """Whether the plan is optimal up to the tolerance."""
        return abs(self.gap) <= TOLERANCE and self.rounding <= TOLERANCE


def certify(
    cost: npt.NDArray[np.float64], v: Vector, *, a: Vector, b: Vector, value: float
) -> Certificate:
    """The certificate of a plan whose cost is `value`, from potentials `v` of the columns.

    Costs are not negative, so a value of 0 is optimal by itself.
    """
    u = np.empty(len(a))
    rows = max(1, _BLOCK // len(b))
    for start in range(0, len(a), rows):
        block = cost[start : start + rows]
        np.min(block - v, axis=1, out=u[start : start + len(block)])
    middle = float(np.median(v))
    u, v = u + middle, v - middle
    if value == 0:
        return Certificate(u, v, 0.0, 0.0)
    bound = float(a @ u + b @ v)
    # a sum of this many roundings; the weights themselves are known no better than to one
    rounding = 4 * _EPS * float(a @ np.abs(u) + b @ np.abs(v))
    return Certificate(u, v, (value - bound) / value, rounding / value)
