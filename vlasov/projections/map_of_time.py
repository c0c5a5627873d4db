"""A map or bias that may be a function of the time of the equation."""

__all__ = ["MapOfTime", "constant", "evaluated", "moved"]

from collections.abc import Callable, Mapping

import torch
from torch import Tensor

from vlasov._numbers import Numbers, floating
from vlasov.errors import InvalidValue

MapOfTime = Callable[[float], Numbers]
"""A map or bias as a function of the time of the equation."""


def evaluated(fields: Mapping[str, Numbers | MapOfTime], t: float) -> dict[str, Numbers]:
    """The numbers at one time."""
    return {name: one(t) if callable(one) else one for name, one in fields.items()}


def constant(fields: Mapping[str, Tensor | MapOfTime]) -> dict[str, Tensor]:
    """The tensors, which all must be.

    Raises:
        InvalidValue: for maps that depend on time.
    """
    tensors = {name: one for name, one in fields.items() if isinstance(one, Tensor)}
    if len(tensors) < len(fields):
        raise InvalidValue(
            f"Constant maps are wanted but {sorted(fields.keys() - tensors.keys())} depend "
            "on time. Evaluate them first, as in `projections.at(t)`."
        )
    return tensors


def moved(
    one: Tensor | MapOfTime, device: torch.device | str | None, dtype: torch.dtype | None
) -> Tensor | MapOfTime:
    """The same on another device or in another precision."""
    if isinstance(one, Tensor):
        return one.to(device=device, dtype=dtype)
    return lambda t: floating(one(t), name="A map").to(device=device, dtype=dtype)
