"""What every way of stepping shares: the course it runs on, and the move it returns."""

__all__ = ["Course", "March", "Move", "Path", "all_at", "latest", "time_of"]

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Protocol, runtime_checkable

import torch
from torch import Tensor

from vlasov.integration.field import Time, WatchedField, select
from vlasov.integration.problem import Problem
from vlasov.integration.progress import Progress
from vlasov.integration.segments import Segment
from vlasov.integration.stepping import Plan

Path = Callable[[Tensor], Tensor]
"""From the fraction of a step covered, one per system, to the state there."""


@dataclass(frozen=True, eq=False)
class Course:
    """A problem and a plan, ready to run."""

    problem: Problem
    plan: Plan
    field: WatchedField
    progress: Progress
    segments: tuple[Segment, ...]
    generator: torch.Generator | None

    @property
    def segment(self) -> Segment:
        """The segment being crossed."""
        return self.segments[self.progress.segment]


@dataclass(frozen=True, eq=False)
class Move:
    """What one pass found: times and states at both ends, and the path between them.

    `moved` is False where no system advanced; `failed` names, by flat index, the systems that
    cannot go on; `given_up` says that the observer ended the pass.
    """

    begin_t: Time
    begin_x: Tensor
    t: Time
    x: Tensor
    path: Path
    batch_shape: tuple[int, ...]
    moved: bool = True
    failed: Mapping[int, str] = field(default_factory=dict[int, str])
    given_up: bool = False

    def time_at(self, fraction: Tensor) -> Time:
        """Time at a fraction of the step, one per system (a number for a single system)."""
        if fraction.ndim == 0:
            return float(self.begin_t + float(fraction) * (self.t - self.begin_t))
        return self.begin_t + fraction * (self.t - self.begin_t)

    def member_time(self, member: int, fraction: float) -> float:
        """Time of one system at a fraction of its step."""
        begin, end = time_of(self.begin_t, member), time_of(self.t, member)
        return end if fraction == 1.0 else begin + fraction * (end - begin)

    def cut(self, kept: Mapping[int, float]) -> tuple[Time, Tensor]:
        """The end of the move, with some systems left at a fraction of their step."""
        fraction = torch.ones(self.batch_shape, dtype=torch.float64, device=self.x.device)
        flat = fraction.view(-1)
        for member, part in kept.items():
            flat[member] = part
        inside = (fraction > 0) & (fraction < 1)
        x = select(inside, self.path(fraction), self.x) if bool(inside.any()) else self.x
        x = select(fraction == 0, self.begin_x, x)
        return (self.t, x) if not isinstance(self.t, Tensor) else (self.time_at(fraction), x)


@runtime_checkable
class March(Protocol):
    """A way to advance a state towards the end of the current segment."""

    def advance(self, t: Time, x: Tensor, active: Tensor | None) -> Move:
        """One pass: a step of every active system, or a rejected trial."""
        ...


def time_of(t: Time, member: int) -> float:
    """Time of one system (flat index)."""
    return float(t.reshape(-1)[member]) if isinstance(t, Tensor) else t


def latest(t: Time, direction: float) -> float:
    """The time of the system that is farthest along."""
    return float((t * direction).max()) * direction if isinstance(t, Tensor) else t


def all_at(t: Time, end: float, active: Tensor | None) -> bool:
    """Whether every active system is at the time `end`."""
    if not isinstance(t, Tensor):
        return t == end
    return bool((t == end).all() if active is None else ((t == end) | ~active).all())
