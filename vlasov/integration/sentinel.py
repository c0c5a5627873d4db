"""Watching the steps for events and for states that are no longer finite."""

__all__ = ["Sentinel", "Sighting"]

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from vlasov.errors import ShapeMismatch
from vlasov.integration.events import Event
from vlasov.integration.field import Time, select
from vlasov.integration.locate import first_crossing, last_finite
from vlasov.integration.march import Course, Move
from vlasov.integration.verdict import verdict


@dataclass(frozen=True)
class Sighting:
    """What happened to one system, and at which fraction of the step.

    A failure is no event: it has no state of its own, and the system stays where the step began.
    """

    name: str
    member: int
    fraction: float
    terminal: bool = True
    failure: bool = False


class Sentinel:
    """Keeps the margins of the last point, and compares the next one with them."""

    def __init__(self, course: Course) -> None:
        self._course = course
        self._problem = course.problem
        self._events = course.plan.events
        self._margins: list[Tensor] = []

    def arm(self, t: Time, x: Tensor) -> list[Sighting]:
        """Take `x` as the last point; terminal events that hold there already are sighted."""
        self._margins = [self._margin(event, t, x) for event in self._events]
        for event, margin in zip(self._events, self._margins, strict=True):
            self._check(event, margin)
        return [
            Sighting(event.name, member, 0.0)
            for event, margin in zip(self._events, self._margins, strict=True)
            if event.terminal
            for member in _members(margin <= 0)
        ]

    def look(self, move: Move, active: Tensor | None) -> list[Sighting]:
        """Everything that happened on a move, in the order of time."""
        lost = self._problem.lost(move.x)
        if lost is None and not self._events:
            return []
        sightings: list[Sighting] = []
        for i, event in enumerate(self._events):
            before, after = self._margins[i], self._guarded(event, move.t, move.x, move, lost)
            self._margins[i] = after
            if float(after.min()) > 0:
                continue
            crossed = (before > 0) & (after <= 0)
            if active is not None:
                crossed = crossed & active
            if bool(crossed.any()):
                sightings += self._located(event, move, before, after, crossed)
        if lost is not None:
            sightings += self._failures(move, lost)
        return sorted(sightings, key=lambda sighting: sighting.fraction)

    def _located(
        self, event: Event, move: Move, before: Tensor, after: Tensor, crossed: Tensor
    ) -> list[Sighting]:
        if not event.located:
            found = _members(crossed & torch.isfinite(after))
            return [Sighting(event.name, member, 1.0, event.terminal) for member in found]

        def margin(fraction: Tensor) -> Tensor:
            x = move.path(fraction)
            return self._guarded(event, move.time_at(fraction), x, move, self._problem.lost(x))

        fraction = first_crossing(margin, before=before, after=after, sought=crossed)
        # A margin that falls only because the state is no longer finite is a failure instead.
        lost = self._problem.lost(move.path(fraction))
        found = _members(crossed if lost is None else crossed & ~lost)
        at = fraction.reshape(-1).tolist()
        return [Sighting(event.name, member, at[member], event.terminal) for member in found]

    def _failures(self, move: Move, lost: Tensor) -> list[Sighting]:
        def finite(fraction: Tensor) -> Tensor:
            bad = self._problem.lost(move.path(fraction))
            return torch.ones_like(lost) if bad is None else ~bad

        fraction = last_finite(finite, sought=lost)
        edge = move.path(fraction)
        bad = self._problem.lost(edge)
        edge = edge if bad is None else select(bad, move.begin_x, edge)
        at = fraction.reshape(-1).tolist()
        return [
            Sighting(
                verdict(self._course, i, "non-finite", t=move.begin_t, x=edge),
                i,
                at[i],
                failure=True,
            )
            for i in _members(lost)
        ]

    def _guarded(
        self, event: Event, t: Time, x: Tensor, move: Move, lost: Tensor | None
    ) -> Tensor:
        """The margin; minus infinity where the state is lost, which no margin is asked to bear."""
        if lost is None:
            return self._margin(event, t, x)
        margin = self._margin(event, t, select(lost, move.begin_x, x))
        return torch.where(lost, -math.inf, margin)

    def _margin(self, event: Event, t: Time, x: Tensor) -> Tensor:
        return event.margin(t, x).detach().to(x.device, torch.float64)

    def _check(self, event: Event, margin: Tensor) -> None:
        batch = self._problem.batch_shape
        if margin.shape != batch:
            raise ShapeMismatch(
                f"The margin of an event is one number per system, shape {tuple(batch)}, but that "
                f"of '{event.name}' has shape {tuple(margin.shape)}. Reduce the last axes only."
            )


def _members(mask: Tensor) -> list[int]:
    return mask.reshape(-1).nonzero().reshape(-1).tolist()
