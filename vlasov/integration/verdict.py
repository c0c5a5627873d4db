r"""Why a system could not go on: whether it blew up.

A solution that ends at a finite time :math:`t^*` leaves at a rate
:math:`\langle x, f \rangle / |x|^2 \sim 1 / (t^* - t)`.
"""

__all__ = ["time_floor", "verdict"]

import sys

import torch
from torch import Tensor

from vlasov.integration.field import Time
from vlasov.integration.march import Course

_GROWN = 1e3  # a state this much larger than the initial one did not fail for want of a domain
_ESCAPE = 1e-6  # relative growth within the rounding of time that no smooth field shows
_ROUND_OFF = 10 * sys.float_info.epsilon
_LEAST = 1e-300  # beside t = 0, where times have no rounding


def time_floor(clock: Tensor) -> Tensor:
    """Step sizes that would be lost in the rounding of the time."""
    return (_ROUND_OFF * clock.abs()).clamp_min(_LEAST)


def verdict(course: Course, member: int, name: str, *, t: Time, x: Tensor) -> str:
    """The status of a failure at `x`: a blow-up if the system grew or escapes, else `name`."""
    grown = _size(course, course.problem.initial, member) * _GROWN < _size(course, x, member)
    return "blow-up" if grown or _escapes(course, member, t=t, x=x) else name


def _size(course: Course, x: Tensor, member: int) -> float:
    return float(course.problem.per_system(x.detach()).reshape(-1)[member]) or sys.float_info.min


def _escapes(course: Course, member: int, *, t: Time, x: Tensor) -> bool:
    """Whether it leaves at a rate whose reciprocal is near the rounding of time.

    Growth of the state alone does not tell: solutions of x' = x exp(x^2) end at single digits.
    """
    problem, point = course.problem, x.detach()
    velocity = course.field(t, point).detach() * problem.direction
    system = point.reshape(problem.members, -1)[member]
    outward = (system * velocity.reshape(problem.members, -1)[member]).sum()
    rate = (outward / system.square().sum()).cpu().double()
    clock = torch.as_tensor(t, dtype=torch.float64).cpu().expand(problem.batch_shape)
    return bool(rate * time_floor(clock).reshape(-1)[member] > _ESCAPE)
