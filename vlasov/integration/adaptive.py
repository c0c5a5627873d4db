"""Steps sized by the error, every system of a batch by its own."""

__all__ = ["AdaptiveMarch", "no_estimate"]

from functools import partial
from typing import NamedTuple

import torch
from torch import Tensor

from vlasov.errors import Unsupported
from vlasov.integration.control import Controller
from vlasov.integration.field import Time, select
from vlasov.integration.march import Course, Move
from vlasov.integration.method import OneStep
from vlasov.integration.tableau import Step
from vlasov.integration.tableaux import Euler
from vlasov.integration.verdict import time_floor


class _Trial(NamedTuple):
    """A step that was tried, and how its error compares with the tolerance."""

    step: Step
    after: Tensor
    ratio: Tensor


class AdaptiveMarch:
    """Trial steps that are kept where their error is within tolerance.

    A system that is done with the segment, or has stopped, takes steps of size 0. Times and sizes
    are float64 tensors of the batch's shape on the CPU.
    """

    def __init__(self, course: Course, method: OneStep, control: Controller) -> None:
        self._course = course
        self._method = method
        self._control = control

    def advance(self, t: Time, x: Tensor, active: Tensor | None) -> Move:
        """One trial step of every system that is not yet at the end of the segment."""
        end, progress = self._course.segment.end, self._course.progress
        batch = self._course.problem.batch_shape
        clock = torch.as_tensor(t, dtype=torch.float64).cpu().expand(batch)
        left = (end - clock).abs()
        moving = left > 0 if active is None else (left > 0) & active.cpu()
        size = self._first_size(clock, x, left) if progress.size is None else progress.size
        stuck = moving & (size < left) & (size < time_floor(clock))
        if bool(stuck.any()):
            return self._failure(t, x, stuck)
        reach = torch.where(size < left, size.minimum(left / 2), left)  # no sliver of a last step
        h, slope = self._signed(reach, moving), progress.slope
        trial = self._try(clock, x, h)
        judged = _judged(trial, moving)
        accepted = judged & (trial.ratio <= 1)
        self._remember(trial, accepted, judged)
        self._resize(size, reach, ratio=trial.ratio, judged=judged)
        h = self._signed(reach, accepted)
        return Move(
            begin_t=t,
            begin_x=x,
            t=_plain(torch.where(accepted & (reach == left), end, clock + h), x),
            x=_kept(accepted, trial.after, x),
            path=partial(self._between, t=clock, x=x, h=h, slope=slope),
            batch_shape=batch,
            moved=bool(accepted.any()),
        )

    def _failure(self, t: Time, x: Tensor, stuck: Tensor) -> Move:
        """The systems whose step became too small, named by whether their trials were finite."""
        broken, shape = self._course.progress.broken, self._course.problem.batch_shape
        seen = (torch.zeros_like(stuck) if broken is None else broken).reshape(-1)
        members: list[int] = stuck.reshape(-1).nonzero().reshape(-1).tolist()
        names = {i: "non-finite" if bool(seen[i]) else "step-too-small" for i in members}
        return Move(t, x, t, x, lambda _: x, shape, moved=False, failed=names)

    def _signed(self, reach: Tensor, of: Tensor) -> Tensor:
        return torch.where(of, reach, 0.0) * self._course.problem.direction

    def _try(self, clock: Tensor, x: Tensor, h: Tensor) -> _Trial:
        field, slope = self._course.field, self._course.progress.slope
        step = self._method.step(field, _plain(clock, x), x, _plain(h, x), slope)
        if step.error is None:
            raise no_estimate(self._method)
        after = self._course.problem.back(step.x)
        return _Trial(step, after, self._control.ratio(step.error, before=x, after=after))

    def _between(
        self, fraction: Tensor, *, t: Tensor, x: Tensor, h: Tensor, slope: Tensor | None
    ) -> Tensor:
        """The same step, cut short: where an event is looked for."""
        part = _plain(h * fraction.cpu(), x)
        step = self._method.step(self._course.field, _plain(t, x), x, part, slope)
        return self._course.problem.back(step.x)

    def _remember(self, trial: _Trial, accepted: Tensor, judged: Tensor) -> None:
        """Count the pass, add up the errors, keep the slopes known at the new points."""
        problem, progress = self._course.problem, self._course.progress
        progress.rejected += int(bool((judged & ~accepted).any()))
        step = trial.step
        if step.error is not None:
            progress.add_error(problem.per_system(step.error.detach()), accepted.to(step.x.device))
        last = step.last_slope if problem.retract is None else None
        if not bool(accepted.any()):
            progress.slope = step.first_slope
        elif bool(accepted.all()) or last is None or step.first_slope is None:
            progress.slope = last if bool(accepted.all()) else None
        else:
            progress.slope = select(accepted, last, step.first_slope)

    def _resize(self, size: Tensor, reach: Tensor, *, ratio: Tensor, judged: Tensor) -> None:
        """The next size of the judged systems; one cut short by a stop is taken up again."""
        progress = self._course.progress
        previous = torch.ones_like(ratio) if progress.ratio is None else progress.ratio
        proposed = self._control.next_size(reach, ratio=ratio, previous=previous)
        proposed = torch.where((ratio <= 1) & (reach < size), proposed.maximum(size), proposed)
        progress.size = torch.where(judged, proposed, size)
        before = torch.zeros_like(judged) if progress.broken is None else progress.broken
        progress.broken = torch.where(judged, ~torch.isfinite(ratio), before)
        taken = judged & (ratio <= 1)
        progress.ratio = torch.where(taken, self._control.remembered(ratio), previous)

    def _first_size(self, clock: Tensor, x: Tensor, left: Tensor) -> Tensor:
        """A first step size from the field and its change; costs one evaluation more.

        Source: Hairer, Norsett, Wanner, Solving ODEs I, II.4.
        """
        control, course = self._control, self._course
        if control.step.first is not None:
            return control.capped(torch.full_like(left, control.step.first))
        time, power = _plain(clock, x), 1 / control.error_order
        slope = course.progress.slope = course.field(time, x)
        scale = control.scale(x.detach(), x.detach())
        point, speed = control.measure(x / scale), control.measure(slope / scale)
        small = (point < 1e-5) | (speed < 1e-5)
        probe = torch.where(small, 1e-6 * left, 0.01 * point / speed).minimum(left)
        h = _plain(probe * course.problem.direction, x)
        there = Euler().step(course.field, time, x, h, slope).x
        change = control.measure((course.field(time + h, there) - slope) / scale) / probe
        fastest = change.maximum(speed)
        size = torch.where(fastest <= 1e-15, 1e-3 * probe, (0.01 / fastest) ** power)
        size = size.minimum(100 * probe)
        return control.capped(torch.where(torch.isfinite(size), size, left))


def _plain(value: Tensor, x: Tensor) -> Time:
    """A number for a single system, else a tensor beside the state."""
    return float(value) if value.ndim == 0 else value.to(x.device)


def _kept(accepted: Tensor, new: Tensor, old: Tensor) -> Tensor:
    """The new state where accepted; no mask where all agree, so no gradient meets a rejection."""
    if bool(accepted.all()):
        return new
    return select(accepted, new, old) if bool(accepted.any()) else old


def _judged(trial: _Trial, moving: Tensor) -> Tensor:
    """The systems on whose trial a verdict is passed.

    With gradients, a trial that is not finite somewhere is repeated for the others: a mask would
    hide its values, but let its NaN derivatives through to shared parameters.
    """
    broken = moving & ~torch.isfinite(trial.ratio)
    return broken if trial.after.requires_grad and bool(broken.any()) else moving


def no_estimate(method: OneStep) -> Unsupported:
    """The refusal of adaptive steps for a method without an error estimate."""
    return Unsupported(
        f"Adaptive steps need an error estimate but the integrator '{method.name}' has none. "
        f"Use 'tsit5', or double its steps: 'doubled:inner={method.name}'."
    )
