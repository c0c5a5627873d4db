r"""The field as scipy's implicit solvers want it: a function of a flat vector, and its Jacobian.

.. math:: J_{\cdot j} \approx \frac{f(y + \epsilon_j e_j) - f(y)}{\epsilon_j}
"""

__all__ = ["FlatField", "Vector", "flat_rows", "no_gradients"]

from collections.abc import Iterator

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from vlasov.errors import Unsupported
from vlasov.integration.march import Course

Vector = NDArray[np.float64]

_PAIRS = (
    2**22
)  # entries of a batch of columns times entries of a state: bounds the memory of one call


class FlatField:
    """The velocity of a single system as a float64 vector, pulled towards its manifold."""

    def __init__(self, course: Course) -> None:
        self._course = course
        self._shape = course.problem.initial.shape
        self._last: tuple[float, Vector, Vector] | None = None
        self._relative = float(torch.finfo(course.problem.initial.dtype).eps) ** 0.5
        self.broken = False
        """Whether the last evaluation was not finite."""

    def state(self, y: Vector) -> Tensor:
        """The state, or a stack of states, that a flat vector or its rows stand for."""
        flat = torch.from_numpy(np.array(y))
        return flat.to(self._course.problem.initial).reshape(y.shape[:-1] + self._shape)

    def __call__(self, t: float, y: Vector) -> Vector:
        """The velocity at `y`."""
        velocity = self._velocity(t, y)
        self.broken = not bool(np.isfinite(velocity).all())
        self._last = (t, np.array(y), velocity)
        return velocity

    def jacobian(self, t: float, y: Vector) -> Vector:
        """Forward differences, one evaluation per column; in few calls if the field is vectorised.

        Columns that are not finite are 0: the solver then fails to converge and shortens its step.
        """
        known = self._last is not None and self._last[0] == t and np.array_equal(self._last[1], y)
        base = self._last[2] if known and self._last is not None else self(t, y)
        bump = self._relative * (np.abs(y) + (np.sqrt(np.mean(y**2)) or 1.0))
        moved = y + np.diag(bump)
        rows = np.vstack([self._velocity(t, part) for part in self._stacks(moved)])
        slopes = (rows - base) / bump[:, None]
        return np.nan_to_num(slopes.T, nan=0.0, posinf=0.0, neginf=0.0)

    def _stacks(self, rows: Vector) -> Iterator[Vector]:
        """The rows one by one, or in stacks whose pair sums fit in memory."""
        if not self._course.problem.vectorised:
            return (row for row in rows)
        height = max(1, _PAIRS // rows.shape[1] ** 2)
        return (rows[i : i + height] for i in range(0, len(rows), height))

    def _velocity(self, t: float, y: Vector) -> Vector:
        """The field at a state or a stack of them, a stack counting one evaluation per state."""
        x, problem = self.state(y), self._course.problem
        velocity = self._course.field(t, x)
        if velocity.requires_grad:
            raise no_gradients()
        self._course.progress.evaluations += len(y) - 1 if y.ndim > 1 else 0
        if problem.retract is not None:
            velocity = velocity + (problem.retract(x) - x)
        return flat_rows(velocity).reshape(y.shape)


def flat_rows(x: Tensor) -> Vector:
    """A state as a float64 array of its own."""
    return x.detach().to("cpu", torch.float64).numpy().copy()


def no_gradients() -> Unsupported:
    """The refusal of gradients through scipy's solvers."""
    return Unsupported(
        "The integrator 'stiff' carries no gradients but the field or the state asks for them. "
        "Use 'tsit5', or run under torch.no_grad()."
    )
