"""A simulation set up: a cloud under an equation as problem and plan of the integrator."""

__all__ = ["Setup", "require_controllable", "stepping", "usual_integrator"]

import math
from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from vlasov.cloud import Cloud
from vlasov.errors import InvalidValue
from vlasov.integration import (
    AdaptiveStep,
    Doubled,
    Event,
    FixedStep,
    Limits,
    Method,
    Observer,
    Outcome,
    Plan,
    Problem,
    SplitField,
    State,
    build_method,
    integrate,
)
from vlasov.pde import TransformerPDE
from vlasov.phase_space import PhaseSpace
from vlasov.stopping import BlowUp, Custom, Stop

Velocity = Callable[[float | Tensor, Tensor], Tensor]


def usual_integrator(pde: TransformerPDE, step: float | str) -> str:
    """The integrator where none is named: Heun under noise, by the kind of step elsewhere.

    Random batches are a matter of Euler's method: no estimate sees through their scatter.
    """
    if pde.engine.random:
        return "euler"
    if pde.noise is not None:
        return "heun"
    return "tsit5" if step == "adaptive" else "rk4"


def stepping(
    step: float | str, integrator: str | Method, error: str, adaptive: AdaptiveStep
) -> tuple[Method, FixedStep | AdaptiveStep]:
    """The method and the rule for its steps, as the user names them.

    Raises:
        InvalidValue: for a step or an error estimate that does not exist.
    """
    if isinstance(step, str) and step != "adaptive":
        raise InvalidValue(
            f"step is a number or 'adaptive' but got '{step}'; give one of the two."
        )
    if error not in {"embedded", "doubling"}:
        raise InvalidValue(f"error is 'embedded' or 'doubling' but got '{error}'; choose one.")
    method = build_method(integrator)
    if error == "doubling":
        method = Doubled(method)
    return method, adaptive if isinstance(step, str) else FixedStep(float(step))


def require_controllable(pde: TransformerPDE, step: float | str) -> None:
    """Refuse to control the size of steps by differences that are random.

    Raises:
        InvalidValue: for adaptive steps with an engine whose sums are random.
    """
    if pde.engine.random and step == "adaptive":
        raise InvalidValue(
            f"Engine '{pde.engine.name}' draws anew at every evaluation, which no control of the "
            "step follows, but got adaptive steps; give a number, as step=0.05."
        )


@dataclass(frozen=True, eq=False)
class Setup:
    """Everything about a run but the state it starts from."""

    pde: TransformerPDE
    method: Method
    step: FixedStep | AdaptiveStep
    stop: tuple[Stop, ...]
    limits: Limits
    generator: torch.Generator
    save_every: int | None = None

    def integrate(
        self,
        cloud: Cloud,
        span: tuple[float, float],
        *,
        save_at: tuple[float, ...] | None,
        observer: Observer,
        resume: State | None = None,
    ) -> Outcome:
        """Move a cloud over a span of time."""
        space = PhaseSpace(self.pde, cloud)
        field = self.pde.particle_field(cloud)
        start, until = span
        problem = Problem(
            field=SplitField(field.parts) if len(field.parts) > 1 else field,
            initial=space.initial(),
            until=until,
            start=start,
            retract=space.retract,
            noise=space.noise,
            breaks=self._breaks(span),
            vectorised=cloud.points.ndim == 2,
        )
        plan = Plan(
            method=self.method,
            step=self.step,
            save_at=save_at,
            save_every=self.save_every,
            events=self._events(space, field),
            limits=self.limits,
        )
        return integrate(problem, plan, observer=observer, resume=resume, generator=self.generator)

    def _breaks(self, span: tuple[float, float]) -> tuple[float, ...]:
        """Jumps of the parameters, one at the later end included.

        A stage there must not look across it.
        """
        return self.pde.breakpoints(min(span), math.nextafter(max(span), math.inf))

    def _events(self, space: PhaseSpace, field: Velocity) -> tuple[Event, ...]:
        """Stop conditions as events of the integrated state; growth is watched in any case."""
        stops = list(self.stop)
        if not any(isinstance(item, BlowUp) for item in stops):
            stops.append(_growth_watch(self.pde, space.cloud.points.dtype))
        return tuple(_event(item, space, field) for item in stops)


def _growth_watch(pde: TransformerPDE, dtype: torch.dtype) -> Stop:
    """Blow-up where the variant allows one; else a norm well before scores overflow."""
    if not pde.attention.bounded:
        return BlowUp(1e12)
    limit = torch.finfo(dtype).max ** 0.4
    return Custom("overflow", BlowUp(limit).distance_to_threshold)


def _event(item: Stop, space: PhaseSpace, field: Velocity) -> Event:
    def margin(t: float | Tensor, x: Tensor) -> Tensor:
        cloud = space.cloud.with_points(space.tokens(x))
        return item.margin(cloud, lambda: field(t, x))

    return Event(item.label if isinstance(item, Custom) else item.name, margin, item.ends_run)
