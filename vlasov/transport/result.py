"""A distance and how it was obtained."""

__all__ = ["Distance"]

from collections.abc import Mapping
from dataclasses import dataclass, field

from jaxtyping import Float
from torch import Tensor


@dataclass(frozen=True, eq=False)
class Distance:
    """One number between two laws, with what is known of it.

    `value` is the distance in the units of the points and `power` its p-th power, each with the
    gradient of the points. `method` says how the number was obtained. `optimal` is true for a
    closed form or a certified optimum and false for a bound or an estimate. `gap` is the relative
    duality gap where one was computed. `facts` holds counts and errors by name.
    """

    value: Float[Tensor, ""]
    power: Float[Tensor, ""]
    p: float
    method: str
    optimal: bool
    gap: float | None = None
    facts: Mapping[str, float | int | str] = field(default_factory=dict[str, float | int | str])

    def __float__(self) -> float:
        return float(self.value.detach())
