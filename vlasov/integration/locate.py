r"""Where along a step a margin falls to zero.

Regula falsi with the Illinois weight, all systems at once; bisection where a value is not finite
and on every third pass, so that the bracket halves at least that often.
"""

__all__ = ["first_crossing", "last_finite"]

from collections.abc import Callable

import torch
from torch import Tensor

_PASSES = 60
_SHARP = 1e-12


def first_crossing(
    margin: Callable[[Tensor], Tensor], *, before: Tensor, after: Tensor, sought: Tensor
) -> Tensor:
    """The fraction of the step, one per system, at which the margin is no longer positive.

    `before` > 0 and `after` <= 0 are the margins at the ends, `sought` the systems that are looked
    at. The bracket is closed to 1e-12 of the step; its far end, where the event holds, is
    returned.
    """
    low, high = torch.zeros_like(before), torch.ones_like(before)
    value_low, value_high = before, after
    for turn in range(_PASSES):
        guess = _guess(low, high, value_low, value_high, bisect=turn % 3 == 2)
        value = margin(torch.where(sought, guess, 1.0))
        crossed = ~(value > 0)  # NaN is past the event: the state was finite and positive before
        # Illinois: the end that stays loses half its weight, so that it too moves in.
        value_low = torch.where(crossed, value_low / 2, value)
        value_high = torch.where(crossed, value, value_high / 2)
        low, high = torch.where(crossed, low, guess), torch.where(crossed, guess, high)
        if bool(((high - low <= _SHARP) | ~sought).all()):
            break
    return torch.where(sought, high, 1.0)


def _guess(
    low: Tensor, high: Tensor, value_low: Tensor, value_high: Tensor, *, bisect: bool
) -> Tensor:
    middle = (low + high) / 2
    if bisect:
        return middle
    chord = low + (high - low) * (value_low / (value_low - value_high))
    return torch.where((chord > low) & (chord < high), chord, middle)


def last_finite(finite: Callable[[Tensor], Tensor], *, sought: Tensor) -> Tensor:
    """The largest fraction of the step, one per system, that bisection finds finite."""
    low = torch.zeros(sought.shape, dtype=torch.float64, device=sought.device)
    high = torch.ones_like(low)
    for _ in range(_PASSES):
        middle = (low + high) / 2
        good = finite(torch.where(sought, middle, 0.0))
        low, high = torch.where(good, middle, low), torch.where(good, high, middle)
    return torch.where(sought, low, 1.0)
