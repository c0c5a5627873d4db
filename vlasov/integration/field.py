r"""Velocity fields: plain callables of time and state, possibly made of parts.

.. math:: f(t, x) = \sum_p f_p(t, x)
"""

__all__ = ["Field", "SplitField", "Time", "WatchedField", "select", "spread"]

import math
from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from vlasov.errors import InvalidValue, ShapeMismatch
from vlasov.integration.progress import Progress

Time = float | Tensor
"""A common time, or a float64 tensor of the batch's shape when systems have their own times."""

Field = Callable[[Time, Tensor], Tensor]
"""A velocity ``(t, x) -> dx/dt``; where it jumps in `t` it is right-continuous."""


def spread(value: Tensor, x: Tensor) -> Tensor:
    """One number per system, shaped to meet the state `x` on its device."""
    return value.to(x.device).reshape(value.shape + (1,) * (x.ndim - value.ndim))


def select(mask: Tensor | None, new: Tensor, old: Tensor) -> Tensor:
    """The new state of the systems in `mask` (None: of all), the old one of the others."""
    return new if mask is None else torch.where(spread(mask, new), new, old)


@dataclass(frozen=True, eq=False)
class SplitField:
    """A field that is the sum of parts, for methods that step one part at a time.

    Raises:
        InvalidValue: if there is no part.
    """

    parts: tuple[Field, ...]

    def __post_init__(self) -> None:
        if not self.parts:
            raise InvalidValue("A split field needs at least one part but got none. Give `parts`.")

    def __call__(self, t: Time, x: Tensor) -> Tensor:
        """The sum of the parts."""
        total = self.parts[0](t, x)
        for part in self.parts[1:]:
            total = total + part(t, x)
        return total


class WatchedField:
    """A field as the loop calls it: counted, checked for shape, and held left of the next jump.

    `ceiling` is the largest time at which it is evaluated, so that a stage at the end of a segment
    uses the left limit there. Whoever is to be asked between evaluations may end them by raising.
    """

    def __init__(self, field: Field, progress: Progress) -> None:
        self._field = field
        self._progress = progress
        self._ask: Callable[[], None] | None = None
        self.ceiling = math.inf
        split = isinstance(field, SplitField) and len(field.parts) > 1
        parts = field.parts if isinstance(field, SplitField) and split else ()
        self.parts = tuple(WatchedField(part, progress) for part in parts) or (self,)

    def hold_left_of(self, ceiling: float) -> None:
        """Set the ceiling here and on every part."""
        self.ceiling = ceiling
        if len(self.parts) > 1:
            for part in self.parts:
                part.ceiling = ceiling

    def ask_between(self, ask: Callable[[], None] | None) -> None:
        """Call `ask` before each evaluation here and of every part; None ends that."""
        self._ask = ask
        if len(self.parts) > 1:
            for part in self.parts:
                part.ask_between(ask)

    def __call__(self, t: Time, x: Tensor) -> Tensor:
        """The velocity at time `t`, or at the ceiling if that is earlier."""
        if self._ask is not None:
            self._ask()
        self._progress.evaluations += 1
        if self.ceiling != math.inf:
            t = torch.clamp(t, max=self.ceiling) if isinstance(t, Tensor) else min(t, self.ceiling)
        slope = self._field(t, x)
        if slope.shape != x.shape:
            raise ShapeMismatch(
                f"A field must return one velocity per coordinate, shape {tuple(x.shape)}, "
                f"but returned {tuple(slope.shape)}. Check its sums and broadcasts."
            )
        return slope
