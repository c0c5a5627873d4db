"""The run of a block of systems: the integrator, started anew when few of them still move."""

__all__ = ["PartRecord", "run_part"]

import dataclasses
import math

import torch
from torch import Tensor

from vlasov.integration import AdaptiveStep, Outcome, Plan, Problem, State, integrate
from vlasov.reduction.blow_up import Growth
from vlasov.reduction.global_existence import never_blows_up
from vlasov.reduction.systems import Systems

_FEW = 64  # systems; of fewer an operation costs its call, whatever their number


class PartRecord:
    """Frames by time and the end of every system, by its place in the block."""

    def __init__(self, initial: Tensor, until: float, members: int) -> None:
        self.final = initial.reshape(members, *initial.shape[-2:])
        self.frames: dict[float, Tensor] = {}
        self.status = ["finished"] * members
        self.stopped_at = [until] * members
        self.blow_up_time = torch.full((members,), torch.inf, dtype=torch.float64)
        self.outcome: Outcome | None = None
        self._until = until

    def save(self, time: float, places: Tensor, x: Tensor) -> None:
        """Fill in some rows of a frame; rows that are not filled are NaN."""
        blank = torch.full_like(self.final, torch.nan)
        self.frames[time] = self.frames.get(time, blank).index_copy(0, places, self._rows(x))

    def end(self, places: Tensor, outcome: Outcome, status: list[str], times: Tensor) -> None:
        """Where these systems stand; those that go on will be recorded again."""
        self.outcome = outcome
        self.final = self.final.index_copy(0, places, self._rows(outcome.state.x))
        self.blow_up_time[places.cpu()] = times
        for place, name, at in zip(
            places.tolist(), status, outcome.member_stopped_at, strict=True
        ):
            there = at == self._until and name in {"interrupted", "max-steps"}
            self.status[place] = "finished" if there else name
            self.stopped_at[place] = at

    def close(self) -> "PartRecord":
        """The last frame holds every system that reached the end, in whatever round."""
        reached = torch.tensor([name == "finished" for name in self.status])
        if bool(reached.any()):
            places = reached.nonzero().reshape(-1).to(self.final.device)
            self.save(self._until, places, self.final[places])
        return self

    def _rows(self, x: Tensor) -> Tensor:
        return x.reshape(-1, *self.final.shape[1:])


def run_part(
    systems: Systems, span: tuple[float, float], plan: Plan, threshold: float
) -> PartRecord:
    """Cross the span with all systems of a block."""
    start, until = span
    field, initial = systems.centred(start)
    places = torch.arange(math.prod(systems.batch), device=initial.device)
    record = PartRecord(initial, until, len(places))
    growth, state = Growth(field, initial, span, threshold), None
    while True:
        problem = Problem(
            field=field,
            initial=initial,
            until=until,
            start=start,
            breaks=systems.pde.breakpoints(*sorted(span)),
            magnitude=_magnitude,
        )
        watched = dataclasses.replace(plan, events=(growth.event(),))
        observer = _Watch(record, places, growth, until, systems.separable)
        outcome = integrate(problem, watched, observer=observer, resume=state)
        adaptive = isinstance(plan.step, AdaptiveStep)
        record.end(places, outcome, *_verdicts(outcome, growth, systems, adaptive=adaptive))
        if outcome.status != "interrupted":
            return record.close()
        index = _moving(outcome.state, until).nonzero().reshape(-1).to(places.device)
        systems, places, state = (
            systems.take(index),
            places[index],
            outcome.state.of_systems(index),
        )
        field, initial = systems.centred(start)
        growth = growth.of_systems(index, field)


class _Watch:
    """Saves frames, looks at the growth, and interrupts when half of the systems are done."""

    def __init__(
        self, record: PartRecord, places: Tensor, growth: Growth, until: float, separable: bool
    ) -> None:
        self._record, self._places, self._growth = record, places, growth
        self._until, self._separable = until, separable

    def save(self, state: State) -> None:
        """Keep one frame; in a batch no frame of the time at which its last system ended."""
        x, active = state.x, state.active
        if active is not None and active.dim() > 0:
            if not bool(active.any()) and self._record.frames:
                return
            x = torch.where(active.to(x.device)[..., None, None], x, torch.nan)
        self._record.save(state.saved_at, self._places, x)

    def step(self, state: State) -> bool:
        """Whether to go on with all systems."""
        self._growth.look(state)
        count = len(self._places)
        if not self._separable or count <= _FEW:
            return True
        moving = int(_moving(state, self._until).sum())
        return moving == 0 or moving > count // 2


def _moving(state: State, until: float) -> Tensor:
    """The systems that have neither ended nor arrived."""
    t = torch.as_tensor(state.t, dtype=torch.float64).cpu().expand(state.x.shape[:-2])
    moving = t != until
    return moving if state.active is None else moving & state.active.cpu()


def _magnitude(x: Tensor) -> Tensor:
    """What errors are compared with: the largest entry of a row of A, of the mean, of C."""
    d = x.shape[-2]
    size = x.detach().abs()
    rows = size[..., :d].amax(-1, keepdim=True).expand(*x.shape[:-1], d)
    rest = [
        block.amax((-2, -1), keepdim=True).expand_as(block)
        for block in (size[..., d : d + 1], size[..., d + 1 :])
        if block.shape[-1]
    ]
    return torch.cat([rows, *rest], dim=-1)


def _verdicts(
    outcome: Outcome, growth: Growth, systems: Systems, *, adaptive: bool
) -> tuple[list[str], Tensor]:
    """The status of each system, and the time of its blow-up, infinite without one."""
    found = list(outcome.member_status)
    ends = torch.tensor(outcome.member_stopped_at, dtype=torch.float64)
    grown = torch.tensor([name == "growth" for name in found])
    if bool(grown.any()):
        known = never_blows_up(systems.pde, systems.law).cpu()
        explosive = (growth.accumulates().cpu() & ~known).reshape(-1)
        ends = torch.where(grown & adaptive, growth.end().cpu().reshape(-1), ends)
        for i in grown.nonzero().reshape(-1).tolist():
            found[i] = "blow-up" if bool(explosive[i]) else "exponential"
    # A law can only become non-finite by leaving the domain of a field that is smooth inside.
    found = ["blow-up" if name == "non-finite" else name for name in found]
    # But a mean that grows exponentially may leave the number format beside a calm covariance.
    for i in (_lost_means(outcome, systems) & ~grown).nonzero().reshape(-1).tolist():
        found[i] = "overflow" if found[i] == "blow-up" else found[i]
    blown = torch.tensor([name == "blow-up" for name in found])
    return found, torch.where(blown, ends, torch.inf)


def _lost_means(outcome: Outcome, systems: Systems) -> Tensor:
    """The systems whose mean is near the end of the number format."""
    x = outcome.state.x.detach()
    mean = x[..., systems.law.d].abs().amax(-1).reshape(-1).cpu()
    return mean > torch.finfo(x.dtype).max ** 0.4
