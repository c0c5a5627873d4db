"""Projections at several times in one set of maps, for clouds that have their own times."""

__all__ = ["at_times"]

from collections.abc import Callable
from typing import TYPE_CHECKING

from torch import Tensor

from vlasov.projections.maps import stacked

if TYPE_CHECKING:
    from vlasov.projections.per_head import Projections


def at_times(now: "Callable[[float], Projections]", t: float | Tensor) -> "Projections":
    """The maps `now` gives at `t`, joined for a tensor of times unless all are the same object."""
    if not isinstance(t, Tensor):
        return now(t)
    times: list[float] = t.detach().double().flatten().tolist()
    known = {time: now(time) for time in set(times)}
    first, *others = (known[time] for time in times)
    if all(other is first for other in others):
        return first
    joined = stacked([known[time].parts() for time in times], tuple(t.shape))
    return first.with_parts(joined)
