"""Steps of a fixed size, with or without noise."""

__all__ = ["FixedMarch", "NoisyMarch"]

from collections.abc import Callable
from functools import partial

import torch
from torch import Tensor

from vlasov.integration.field import Time, select, spread
from vlasov.integration.march import Course, Move, Path
from vlasov.integration.method import OneStep, Stochastic
from vlasov.integration.noise import Noise


class FixedMarch:
    """Equal steps on the grid ``begin + k dt`` of each segment."""

    def __init__(self, course: Course, method: OneStep, dt: float) -> None:
        self._course = course
        self._method = method
        self._dt = dt

    def advance(self, t: Time, x: Tensor, active: Tensor | None) -> Move:
        """One step; stopped systems keep their state."""
        course, progress = self._course, self._course.progress
        piece = course.segment
        count = piece.count(self._dt)
        end = piece.knot(progress.within + 1, count=count, dt=self._dt)
        last = progress.within + 1 >= count
        h = end - float(t) if last else course.problem.direction * self._dt
        # Stopped systems stand where the run began: where they stopped the field may be infinite.
        begin = select(active, x, course.problem.initial)
        after, path = self._step(float(t), begin, h, active)
        progress.within += 1
        after = select(active, after, x)
        return Move(float(t), x, end, after, path, course.problem.batch_shape)

    def _step(self, t: float, x: Tensor, h: float, active: Tensor | None) -> tuple[Tensor, Path]:
        problem, progress = self._course.problem, self._course.progress
        slope = progress.slope
        step = self._method.step(self._course.field, t, x, h, slope)
        progress.slope = step.last_slope if problem.retract is None else None
        if step.error is not None:
            progress.add_error(problem.per_system(step.error.detach()), active)
        after = self._mended(
            step.x, x, lambda begin: self._method.step(self._course.field, t, begin, h).x
        )
        return problem.back(after), partial(self._between, t=t, x=x, h=h, slope=slope)

    def _mended(self, after: Tensor, x: Tensor, again: Callable[[Tensor], Tensor]) -> Tensor:
        """With gradients, a step in which a system is lost is repeated for the others.

        A mask would hide its values, but let its NaN derivatives through to shared parameters.
        """
        lost = self._course.problem.lost(after) if after.requires_grad else None
        if lost is None:
            return after
        return select(lost, after.detach(), again(select(lost, self._course.problem.initial, x)))

    def _between(
        self, fraction: Tensor, *, t: float, x: Tensor, h: float, slope: Tensor | None
    ) -> Tensor:
        """The same step, cut short: where an event is looked for."""
        part = h * (float(fraction) if fraction.ndim == 0 else fraction)
        step = self._method.step(self._course.field, t, x, part, slope)
        return self._course.problem.back(step.x)


class NoisyMarch(FixedMarch):
    """Equal steps of a stochastic method."""

    def __init__(
        self,
        course: Course,
        method: Stochastic,
        dt: float,
        *,
        noise: Noise,
        generator: torch.Generator,
    ) -> None:
        self._course = course
        self._stochastic = method
        self._dt = dt
        self._noise = noise
        self._generator = generator

    def _step(self, t: float, x: Tensor, h: float, active: Tensor | None) -> tuple[Tensor, Path]:
        course = self._course
        xi = self._noise.draw(x, h, self._generator)
        stepped = partial(self._noisy, t=t, h=h, xi=xi)
        after = course.problem.back(self._mended(stepped(x), x, stepped))
        return after, partial(self._chord, begin=x, end=after)

    def _noisy(self, begin: Tensor, *, t: float, h: float, xi: Tensor) -> Tensor:
        field = self._course.field
        return self._stochastic.noisy_step(field, t, begin, h, noise=self._noise, xi=xi)

    def _chord(self, fraction: Tensor, *, begin: Tensor, end: Tensor) -> Tensor:
        """The straight line of a noisy step: between its ends the path is not known."""
        weight = spread(fraction, begin).to(begin.dtype)
        return self._course.problem.back(torch.lerp(begin, end, weight))
