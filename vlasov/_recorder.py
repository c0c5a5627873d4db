"""Who listens to the integrator: frames, streamed observables, monitor and final record."""

__all__ = ["Recorder"]

from collections.abc import Callable, Mapping, Sequence

import torch
from torch import Tensor

from vlasov.catalogue import nearest
from vlasov.cloud import Cloud
from vlasov.energies import Dissipation, Energy
from vlasov.errors import InvalidValue
from vlasov.integration import Outcome, State
from vlasov.observables import OBSERVABLES, Observable
from vlasov.pde import TransformerPDE
from vlasov.run import EventRecord, Monitor, Run

Measure = Callable[[Cloud], Tensor]
Observed = str | Sequence[str | Observable] | Mapping[str, Measure]


def observables_of(pde: TransformerPDE, observe: Observed) -> dict[str, Measure]:
    """Functions of a cloud by name; ``"energy"`` and ``"dissipation"`` are the equation's own."""
    if isinstance(observe, Mapping):
        return dict(observe)
    own: dict[str, Measure] = {"energy": Energy(pde), "dissipation": Dissipation(pde)}
    named: dict[str, Measure] = {}
    for item in [observe] if isinstance(observe, str) else observe:
        if isinstance(item, str):
            if item.partition(":")[0] not in {*own, *OBSERVABLES}:
                raise nearest(item, [*own, *OBSERVABLES], kind="observable")
            named[item] = own[item] if item in own else OBSERVABLES.build(item)
        else:
            named[OBSERVABLES.spec(item)] = item
    return named


class Recorder:
    """Turns the states that the integrator saves into frames of clouds."""

    def __init__(
        self,
        pde: TransformerPDE,
        cloud: Cloud,
        observe: Observed,
        *,
        keep: str,
        monitor: Monitor | None,
    ) -> None:
        if keep not in {"all", "last"}:
            raise InvalidValue(f"keep is 'all' or 'last' but got '{keep}'.")
        self._pde, self._cloud = pde, cloud
        self._labels: Tensor | None = None
        self._extra: dict[str, object] = {}
        self._measures = observables_of(pde, observe)
        self._keep, self._monitor = keep, monitor
        self._times: list[float] = []
        self._points: list[Tensor] = []
        self._errors: list[Tensor | None] = []
        self._observed: dict[str, list[Tensor]] = {name: [] for name in self._measures}

    def follow(self, labels: Tensor, extra: dict[str, object]) -> None:
        """From now on states hold merged tokens: token i is row ``labels[i]``.

        `extra` joins every checkpoint.
        """
        self._labels, self._extra = labels, extra

    def save(self, state: State) -> None:
        """Record one frame."""
        x = self._tokens(state)
        time = state.saved_at
        measured = {name: self._measure(name, x, state) for name in self._measures}
        frame = _blanked(x, state).to(self._cloud.points.dtype)
        if self._keep == "last":
            self._points.clear()
        self._points.append(frame)
        self._times.append(time)
        self._errors.append(state.error)
        for name, value in measured.items():
            self._observed[name].append(value)
        if self._monitor is not None:
            error = None if state.error is None else float(state.error.max())
            self._monitor.frame(time, frame.detach(), measured, error)
            self._monitor.checkpoint(state.to_dict() | self._extra)

    def step(self, state: State) -> bool:
        """Whether to go on; where the monitor says no, it gets the state to go on from."""
        goes_on = self.asks(state)
        if not goes_on and self._monitor is not None:
            self._monitor.checkpoint(state.to_dict() | self._extra)
        return goes_on

    def asks(self, state: State) -> bool:
        """Ask the monitor whether to go on."""
        if self._monitor is None:
            return True
        return self._monitor.step(float(torch.as_tensor(state.t, dtype=torch.float64).min()))

    def _tokens(self, state: State) -> Tensor:
        x = state.x[..., : self._cloud.d]  # velocities of a momentum equation follow behind
        return x if self._labels is None else x[self._labels]

    def _measure(self, name: str, x: Tensor, state: State) -> Tensor:
        value = self._measures[name](self._cloud.with_points(x))
        return _blanked(torch.as_tensor(value), state)

    def run(self, outcome: Outcome, *, integrator: str, seed: int) -> Run:
        """The finished record."""
        batch = tuple(self._cloud.batch_shape)
        times = torch.tensor(self._times, dtype=torch.float64)
        kept = self._points or [self._tokens(outcome.state).to(self._cloud.points.dtype)]
        kept_times = times if self._keep == "all" else times[-1:]
        return Run(
            times=times,
            points=torch.stack(kept),
            point_times=kept_times,
            log_weights=self._cloud.log_weights,
            positions=self._cloud.positions,
            status=outcome.status,
            message=outcome.message,
            stopped_at=outcome.stopped_at,
            observables={name: torch.stack(seen) for name, seen in self._observed.items() if seen},
            events=tuple(
                EventRecord(name, time, _index(member, batch))
                for name, time, member in outcome.events
            ),
            error=_series(self._errors),
            steps=outcome.steps,
            rejected=outcome.rejected,
            evaluations=outcome.evaluations,
            facts=self._facts(integrator, seed),
            member_status=outcome.member_status,
            member_stopped_at=outcome.member_stopped_at,
        )

    def _facts(self, integrator: str, seed: int) -> dict[str, str | float | int | None]:
        pde, x = self._pde, self._cloud.points
        return {
            "attention": pde.attention.name,
            "beta": pde.beta,
            "geometry": pde.geometry.name,
            "engine": pde.engine.name,
            "mask": None if pde.mask is None else pde.mask.name,
            "terms": ", ".join(term.name for term in pde.terms) or None,
            "noise": None if pde.noise is None else pde.noise.name,
            "integrator": integrator,
            "seed": seed,
            "dtype": str(x.dtype).removeprefix("torch."),
            "device": str(x.device),
        }


def _blanked(value: Tensor, state: State) -> Tensor:
    """NaN for the members of a batch that have stopped before this frame."""
    if state.active is None or state.active.ndim == 0:
        return value
    stopped = ~state.active.to(value.device)
    if not bool(stopped.any()):
        return value
    shape = stopped.shape + (1,) * (value.ndim - stopped.ndim)
    lost = stopped.reshape(shape)
    return torch.where(lost, torch.full_like(value, torch.nan, dtype=value.dtype), value)


def _series(errors: list[Tensor | None]) -> Tensor | None:
    """The error estimates of all frames; None for a method without one.

    Zero before the first step.
    """
    known = [error for error in errors if error is not None]
    if not known:
        return None
    return torch.stack([torch.zeros_like(known[0]) if e is None else e for e in errors])


def _index(member: int, batch: tuple[int, ...]) -> tuple[int, ...]:
    index: list[int] = []
    for size in reversed(batch):
        index.insert(0, member % size)
        member //= size
    return tuple(index)
