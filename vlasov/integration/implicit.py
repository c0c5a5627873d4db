"""The march of scipy's implicit solvers."""

__all__ = ["StiffMarch"]

import math
import sys
from collections.abc import Callable
from functools import partial
from typing import Protocol, runtime_checkable

import numpy as np
import torch
from torch import Tensor

from vlasov.errors import Unsupported
from vlasov.integration.field import Time
from vlasov.integration.jacobian import FlatField, Vector, flat_rows, no_gradients
from vlasov.integration.march import Course, Move
from vlasov.integration.stepping import AdaptiveStep
from vlasov.integration.stiff import Stiff

_LARGEST = 2000
_NEWTON = 0.03  # of the tolerance; scipy's own 1e-5 and less is below the rounding of long steps
_REPLAYED = 256  # at most so many steps are repeated when a run is resumed


@runtime_checkable
class _Solver(Protocol):
    """What is used of scipy's solvers."""

    t: float
    y: Vector
    status: str
    newton_tol: float

    def step(self) -> str | None: ...

    def dense_output(self) -> Callable[[float], Vector]: ...


class StiffMarch:
    """Steps of a solver that keeps a history; save times are read off its interpolation.

    The solver starts afresh at every jump and after a number of steps. From that anchor a resumed
    run replays its steps, silently, and so gets the history back.

    Raises:
        Unsupported: for more than one system, more than 2000 coordinates, or gradients.
    """

    def __init__(self, course: Course, method: Stiff, step: AdaptiveStep) -> None:
        size, members = course.problem.initial.numel(), course.problem.members
        if members > 1:
            raise Unsupported(
                f"The integrator 'stiff' runs one system at a time but the batch has {members}. "
                f"Run them one by one, or use 'tsit5' with adaptive steps."
            )
        if size > _LARGEST:
            raise Unsupported(
                f"The integrator 'stiff' solves dense linear systems, up to {_LARGEST} "
                f"coordinates, but the state has {size}. Use 'tsit5' with adaptive steps, merge "
                f"coinciding tokens, or take fewer."
            )
        if course.problem.initial.requires_grad and torch.is_grad_enabled():
            raise no_gradients()
        self._course = course
        self._method = method
        self._step = step
        self._flat = FlatField(course)
        self._solver: _Solver | None = None

    def advance(self, t: Time, x: Tensor, active: Tensor | None) -> Move:
        """To the end of the solver's step, or to the end of the segment if that is nearer."""
        begin, end = float(t), self._course.segment.end
        solver = self._solver_at(begin, x)
        if solver is not None and solver.t == begin:
            self._step_of(solver)
        if solver is None or solver.status == "failed" or self._flat.broken:
            return self._failure(begin, x)
        if (end - solver.t) * self._course.problem.direction >= 0:
            end, after = float(solver.t), self._handed_out(solver.y)
        else:
            after = self._handed_out(solver.dense_output()(end))
        path = partial(self._between, dense=solver.dense_output(), begin=begin, end=end)
        return Move(begin, x, end, after, path, self._course.problem.batch_shape)

    def _step_of(self, solver: _Solver) -> None:
        progress = self._course.progress
        with np.errstate(all="ignore"):  # overflow makes a failed step, and is reported as one
            solver.step()
        progress.anchor_steps += 1
        progress.add_error(self._bound(self._flat.state(solver.y)), None)

    def _solver_at(self, t: float, x: Tensor) -> _Solver | None:
        """The solver under way, or one at the anchor that has taken the steps since."""
        progress = self._course.progress
        worn = progress.anchor_steps >= _REPLAYED and self._solver and self._solver.t == t
        if progress.anchor is None or worn:
            progress.anchor, progress.anchor_t, progress.anchor_steps = x, t, 0
        elif self._solver is not None:
            return self._solver
        spent = progress.evaluations
        self._solver = self._started(progress.anchor_t, flat_rows(progress.anchor).reshape(-1))
        if progress.anchor_steps:
            progress.evaluations = spent
        return self._solver

    def _started(self, t: float, start: Vector) -> _Solver | None:
        """A solver that has taken the steps since the anchor."""
        from scipy import integrate  # heavy: only when a stiff run asks for it

        self._flat(t, start)
        if self._flat.broken:
            return None
        solvers = {"radau": integrate.Radau, "bdf": integrate.BDF}
        bound, step = self._bound_of_time(), self._step
        solver = solvers[self._method.method](
            self._flat,
            t,
            start,
            bound,
            rtol=max(step.rtol, 100 * sys.float_info.epsilon),
            atol=step.atol,
            jac=self._flat.jacobian,
            first_step=None if step.first is None else min(step.first, abs(bound - t)),
            max_step=math.inf if step.largest is None else step.largest,
        )
        solver.newton_tol = _NEWTON
        for _ in range(self._course.progress.anchor_steps):
            solver.step()
        return solver

    def _bound_of_time(self) -> float:
        """The next jump of the field, or the end of the run: the solver never looks beyond."""
        ahead = self._course.segments[self._course.progress.segment :]
        return next((piece.end for piece in ahead if piece.jumps), self._course.problem.until)

    def _failure(self, begin: float, x: Tensor) -> Move:
        name = "non-finite" if self._flat.broken else "step-too-small"
        shape = self._course.problem.batch_shape
        return Move(begin, x, begin, x, lambda _: x, shape, moved=False, failed={0: name})

    def _handed_out(self, y: Vector) -> Tensor:
        """A state as the caller sees it: on its manifold."""
        return self._course.problem.back(self._flat.state(y))

    def _between(
        self, fraction: Tensor, *, dense: Callable[[float], Vector], begin: float, end: float
    ) -> Tensor:
        """The solver's own interpolation inside its step."""
        return self._handed_out(dense(begin + float(fraction) * (end - begin)))

    def _bound(self, x: Tensor) -> Tensor:
        """A bound of the local error, which scipy keeps to itself: the tolerance of the step."""
        largest = self._course.problem.per_system(x)
        return math.sqrt(x.numel()) * (self._step.atol + self._step.rtol * largest)
