"""Time cut into segments: the stretches between the times on which steps must land."""

__all__ = ["Segment", "natural_cadence", "segments"]

import math
from dataclasses import dataclass
from itertools import pairwise

from vlasov.errors import InvalidValue
from vlasov.integration.problem import Problem
from vlasov.integration.stepping import AdaptiveStep, Plan

_FRAMES = 100
_WHOLE = 1e-9  # a span this close (relative) to a whole number of steps is meant to be one
_MOST_STEPS = 2**50


@dataclass(frozen=True)
class Segment:
    """A stretch of time without a jump or a save time inside.

    `ceiling` is the largest time at which the field is evaluated: just left of a jump at the upper
    end.
    """

    begin: float
    end: float
    saves: bool
    jumps: bool
    ceiling: float

    def count(self, dt: float) -> int:
        """Number of fixed steps that cross it, the last one possibly shorter.

        Raises:
            InvalidValue: if `dt` is lost in the rounding of the times.
        """
        exact = abs(self.end - self.begin) / dt
        if exact > _MOST_STEPS:
            raise InvalidValue(
                f"A step size of {dt:.3g} is lost in the rounding of times up to "
                f"{self.end:.6g}. Take larger steps."
            )
        whole = round(exact)
        return whole if whole > 0 and abs(exact - whole) <= _WHOLE * whole else math.ceil(exact)

    def knot(self, k: int, *, count: int, dt: float) -> float:
        """Time after `k` of `count` fixed steps: a multiple, no running sum; the end exactly."""
        return (
            self.end if k >= count else self.begin + math.copysign(k * dt, self.end - self.begin)
        )


def segments(problem: Problem, plan: Plan) -> tuple[Segment, ...]:
    """The segments of a run, in the order in which they are crossed.

    Raises:
        InvalidValue: for a save time outside the run.
    """
    low, high = sorted((problem.start, problem.until))
    saves = set(_save_times(problem, plan))
    outside = sorted(s for s in saves if not low <= s <= high)
    if outside:
        raise InvalidValue(
            f"Save times must lie between {low} and {high} but {outside[0]} does not. "
            f"Drop it or run longer."
        )
    jumps = set(problem.breaks)
    inside = {s for s in saves | jumps if low < s < high}
    stops = sorted(inside | {low, high}, reverse=problem.until < problem.start)
    return tuple(
        Segment(
            begin=begin,
            end=end,
            saves=end in saves or end == problem.until,
            jumps=end in jumps,
            ceiling=_ceiling(max(begin, end), problem.breaks),
        )
        for begin, end in pairwise(stops)
    )


def _ceiling(upper: float, jumps: tuple[float, ...]) -> float:
    """The last time before the next jump at or above `upper`."""
    following = min((jump for jump in jumps if jump >= upper), default=math.inf)
    return following if following == math.inf else math.nextafter(following, -math.inf)


def _save_times(problem: Problem, plan: Plan) -> tuple[float, ...]:
    if plan.save_at is not None:
        return plan.save_at
    if plan.save_every is not None or not isinstance(plan.step, AdaptiveStep):
        return ()
    span = problem.until - problem.start
    inner = (problem.start + span * (k / _FRAMES) for k in range(1, _FRAMES))
    return (*inner, problem.until)


def natural_cadence(pieces: tuple[Segment, ...], plan: Plan) -> int | None:
    """Every how many steps a state is saved; None where only the ends of segments are saved."""
    if plan.save_every is not None or plan.save_at is not None:
        return plan.save_every
    if isinstance(plan.step, AdaptiveStep):
        return None
    dt = plan.step.dt
    return max(1, math.ceil(sum(piece.count(dt) for piece in pieces) / _FRAMES))
