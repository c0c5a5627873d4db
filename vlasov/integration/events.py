"""Events: something happens when a margin falls to zero."""

__all__ = ["Event", "Margin", "collapsed", "exploded", "steady"]

import math
from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from vlasov.errors import InvalidValue
from vlasov.integration.field import Field, Time

Margin = Callable[[Time, Tensor], Tensor]


@dataclass(frozen=True, eq=False)
class Event:
    """Fires when `margin`, one number per system, falls to zero after having been positive.

    A terminal event stops its system at the located time; any other one is recorded and the run
    goes on. An event that is not `located` counts as happening at the end of the step in which its
    margin falls: nothing is spent on the search, and the state is one that a step led to.
    """

    name: str
    margin: Margin
    terminal: bool = True
    located: bool = True


def _positive(value: float, what: str) -> None:
    if not (math.isfinite(value) and value > 0):
        raise InvalidValue(f"{what} must be a finite number above 0 but is {value}. Give one.")


def _largest(x: Tensor) -> Tensor:
    return x.abs().amax((-2, -1))


def exploded(threshold: float = 1e6, measure: Callable[[Tensor], Tensor] = _largest) -> Event:
    """Blow-up: a measure of the system (by default its largest coordinate) reaches `threshold`.

    Raises:
        InvalidValue: unless the threshold is finite and positive.
    """
    _positive(threshold, "The threshold of a blow-up")
    return Event("blow-up", lambda t, x: threshold - measure(x))


def collapsed(tolerance: float = 1e-6) -> Event:
    """Collapse: the farthest point is within `tolerance` of the plain mean of the points.

    Raises:
        InvalidValue: unless the tolerance is finite and positive.
    """
    _positive(tolerance, "The tolerance of a collapse")

    def margin(t: Time, x: Tensor) -> Tensor:
        return (x - x.mean(-2, keepdim=True)).norm(dim=-1).amax(-1) - tolerance

    return Event("collapse", margin)


def steady(tolerance: float, field: Field) -> Event:
    """Rest: the fastest point moves slower than `tolerance`. Costs one field evaluation per step.

    Raises:
        InvalidValue: unless the tolerance is finite and positive.
    """
    _positive(tolerance, "The tolerance of a steady state")

    def margin(t: Time, x: Tensor) -> Tensor:
        return torch.linalg.vector_norm(field(t, x), dim=-1).amax(-1) - tolerance

    return Event("steady", margin)
