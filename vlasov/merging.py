r"""Coinciding tokens as one token of their joint weight: the same measure, fewer particles.

Splitting a particle changes nothing in the equation, so joining particles that coincide changes
nothing either. Once a cloud has formed clusters this makes its long plateaus cheap; an error of
the order of the merge distance is the price.
"""

__all__ = ["Merging"]

import dataclasses
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from vlasov._recorder import Recorder
from vlasov._setup import Setup
from vlasov.cloud import Cloud
from vlasov.errors import InvalidValue, Unsupported
from vlasov.integration import FixedStep, Outcome, State
from vlasov.observables import cluster_labels

_FRAMES = 100


class _EndOnly:
    """An observer that passes on the end of a leg, and its start only in the first one."""

    def __init__(self, recorder: Recorder, *, with_start: bool) -> None:
        self._recorder, self._skip = recorder, not with_start

    def save(self, state: State) -> None:
        if not self._skip:
            self._recorder.save(state)
        self._skip = False

    def step(self, state: State) -> bool:
        return self._recorder.asks(state)  # a run goes on from the last frame: legs stay whole


@dataclass(frozen=True, eq=False)
class Merging:
    """A run in legs from frame to frame, with coinciding tokens joined in between.

    Raises:
        InvalidValue: for a distance that is not positive.
        Unsupported: for batches, noise, momentum, or a mask without positions.
    """

    setup: Setup
    cloud: Cloud
    distance: float
    recorder: Recorder

    def __post_init__(self) -> None:
        _check(self.setup, self.cloud, self.distance)

    def run(
        self,
        span: tuple[float, float],
        save_at: tuple[float, ...] | None,
        resume: Mapping[str, Any] | None,
    ) -> Outcome:
        """Integrate over the span; a resumed run goes on after the frame of its checkpoint."""
        begin, until = span
        times = save_at or self._frames(begin, until)
        leg = _Leg(begin, self.cloud, torch.arange(self.cloud.n), _Tally())
        if resume is not None:
            leg = self._resumed(resume)
        first = resume is None
        ends = [t for t in dict.fromkeys((*times, until)) if abs(t - begin) > abs(leg.t - begin)]
        for end in ends:
            self.recorder.follow(leg.labels, leg.to_dict())
            observer = _EndOnly(self.recorder, with_start=first)
            outcome = self.setup.integrate(leg.cloud, (leg.t, end), save_at=(), observer=observer)
            first, tally = False, leg.tally.plus(outcome)
            if end == ends[-1] or outcome.status != "finished":
                return tally.total(outcome)
            leg = self._joined(end, leg.cloud.with_points(outcome.state.x), leg.labels, tally)
        raise InvalidValue(
            f"A run needs time to pass but goes from {leg.t} to {until}; run longer."
        )

    def _frames(self, begin: float, until: float) -> tuple[float, ...]:
        """Times of the frames where none are asked for: whole steps apart, about a hundred."""
        step, span = self.setup.step, until - begin
        if not isinstance(step, FixedStep):
            return tuple(begin + span * k / _FRAMES for k in range(1, _FRAMES + 1))
        count = math.ceil(abs(span) / step.dt - 1e-9)
        every = self.setup.save_every or max(1, math.ceil(count / _FRAMES))
        apart = math.copysign(every * step.dt, span)
        return tuple(begin + apart * k for k in range(1, math.ceil(count / every)))

    def _resumed(self, resume: Mapping[str, Any]) -> "_Leg":
        labels, memory = resume["labels"], resume["memory"]
        positions = _of_first(self.cloud.positions, labels)
        cloud = Cloud.from_log_weights(resume["x"], resume["log_weights"], positions)
        before = _Tally(*resume["tally"])
        leg = _Tally(memory["steps"], memory["rejected"], memory["evaluations"], memory["events"])
        return self._joined(float(resume["t"]), cloud, labels, before.plus(leg))

    def _joined(self, t: float, cloud: Cloud, labels: Tensor, tally: "_Tally") -> "_Leg":
        merged, joined = _merged(cloud, self.distance, self.setup)
        return _Leg(t, merged, joined[labels], tally)


def _check(setup: Setup, cloud: Cloud, distance: float) -> None:
    if not distance > 0:
        raise InvalidValue(f"The merge distance must be positive but got {distance}; try 1e-9.")
    obstacles = {
        "a batch of clouds": cloud.points.ndim > 2,
        "noise": setup.pde.noise is not None,
        "momentum": setup.pde.momentum is not None,
        "a mask by order without positions": setup.pde.mask is not None
        and cloud.positions is None,
    }
    for what, present in obstacles.items():
        if present:
            raise Unsupported(f"Merging tokens is not defined for {what}; run without `merge`.")


def _merged(cloud: Cloud, distance: float, setup: Setup) -> tuple[Cloud, Tensor]:
    """The cloud with coinciding tokens joined, and the new row of every old one."""
    seen = cloud
    if cloud.positions is not None:  # only tokens of equal position are the same particle
        apart = (cloud.positions - cloud.positions.min())[:, None] * (4 * distance) * cloud.n
        seen = Cloud.from_log_weights(torch.cat([cloud.points, apart], dim=-1), cloud.log_weights)
    labels = cluster_labels(seen, distance)
    count = int(labels.max()) + 1
    if count == cloud.n or int(labels.min()) < 0:
        return cloud, torch.arange(cloud.n)
    mass = torch.zeros(count, dtype=cloud.weights.dtype).index_add(0, labels, cloud.weights)
    total = torch.zeros(count, cloud.d, dtype=cloud.points.dtype).index_add(
        0, labels, cloud.weights[:, None] * cloud.points
    )
    points = setup.pde.geometry.retract(total / mass[:, None])
    positions = _of_first(cloud.positions, labels)
    return Cloud.from_log_weights(points, mass.log().log_softmax(-1), positions), labels


def _of_first(positions: Tensor | None, labels: Tensor) -> Tensor | None:
    """One position for each merged token."""
    if positions is None:
        return None
    kept = torch.zeros(int(labels.max()) + 1, dtype=positions.dtype)
    return kept.scatter(0, labels, positions)


@dataclass(frozen=True, eq=False)
class _Leg:
    """Where a leg starts: merged tokens, and the row of every original one."""

    t: float
    cloud: Cloud
    labels: Tensor
    tally: "_Tally"

    def to_dict(self) -> dict[str, object]:
        tally = self.tally
        return {
            "labels": self.labels,
            "log_weights": self.cloud.log_weights,
            "tally": (tally.steps, tally.rejected, tally.evaluations, tally.events),
        }


@dataclass(frozen=True)
class _Tally:
    """Counts and events of the legs so far."""

    steps: int = 0
    rejected: int = 0
    evaluations: int = 0
    events: tuple[tuple[str, float, int], ...] = ()

    def plus(self, leg: "Outcome | _Tally") -> "_Tally":
        return _Tally(
            self.steps + leg.steps,
            self.rejected + leg.rejected,
            self.evaluations + leg.evaluations,
            (*self.events, *leg.events),
        )

    def total(self, last: Outcome) -> Outcome:
        return dataclasses.replace(
            last,
            steps=self.steps,
            rejected=self.rejected,
            evaluations=self.evaluations,
            events=self.events,
        )
