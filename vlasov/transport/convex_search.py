"""The minimum of a convex function of one number, by bisection and by tangents."""

__all__ = ["Probe", "minimise"]

from collections.abc import Callable
from dataclasses import dataclass

_STEPS = 200
_CLOSED = 1e-13  # relative difference of the bounds at which the search ends
_ROUNDING = 4e-16  # width of an interval that holds no other number


@dataclass(frozen=True)
class Probe:
    """A function at one place: its value and its two one-sided slopes."""

    at: float
    value: float
    left: float
    right: float


def minimise(function: Callable[[float], Probe], low: float, high: float) -> tuple[Probe, float]:
    """The best probe found in [low, high], and a lower bound of the minimum.

    The minimiser lies between the ends. Tangents meet below the function: their crossing bounds it
    and is probed next, in turn with the middle, so that the interval halves at least every other
    step.
    """
    a, b = function(low), function(high)
    best, bound = min(a, b, key=_value), 0.0
    for step in range(_STEPS):
        crossing, bound = _crossing(a, b)
        closed = best.value - bound <= _CLOSED * best.value or b.at - a.at <= _ROUNDING
        if closed:
            break
        middle = (a.at + b.at) / 2
        probe = function(middle if step % 2 else crossing)
        best = min(best, probe, key=_value)
        if probe.left <= 0 <= probe.right:
            return probe, probe.value
        a, b = (probe, b) if probe.right < 0 else (a, probe)
    return best, bound


def _value(probe: Probe) -> float:
    return probe.value


def _crossing(a: Probe, b: Probe) -> tuple[float, float]:
    """Where the inner tangents of two probes meet: between them, and below the function."""
    fall = a.right - b.left
    if fall >= 0:
        return (a.at + b.at) / 2, min(a.value, b.value)
    at = (b.value - a.value + a.right * a.at - b.left * b.at) / fall
    at = min(max(at, a.at), b.at)
    return at, a.value + a.right * (at - a.at)
