"""The record of a simulation: frames, observables, how and why it ended."""

__all__ = ["EventRecord", "Monitor", "Run"]

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol, runtime_checkable

from jaxtyping import Float
from torch import Tensor

from vlasov.cloud import Cloud
from vlasov.engines.engine_report import EngineReport


@runtime_checkable
class Monitor(Protocol):
    """What watches a simulation from outside: it may write frames, show progress, interrupt."""

    def frame(
        self, time: float, points: Tensor, observables: Mapping[str, Tensor], error: float | None
    ) -> None:
        """Called with each recorded frame, in order."""
        ...

    def checkpoint(self, state: Mapping[str, object]) -> None:
        """Called after each frame with all that is needed to go on bit for bit."""
        ...

    def step(self, time: float) -> bool:
        """Called after each accepted step, and again while the next one takes long.

        False interrupts the run.
        """
        ...


@dataclass(frozen=True)
class EventRecord:
    """Something that happened at a located time."""

    name: str
    time: float
    member: tuple[int, ...] = ()


@dataclass(frozen=True, eq=False)
class Run:
    """A simulated token cloud.

    Times are in layers × step, the time of the equation. `times` and every observable have one
    entry per recorded frame; `points` has one frame per entry of `point_times`, which equals
    `times` unless only the last state was kept. Frames end at the last finite state. In a batch
    whose members stop at different times, a member's frames after its own stop are NaN (never a
    plausible number).
    """

    times: Float[Tensor, " f"]
    points: Float[Tensor, "g *batch n d"]
    point_times: Float[Tensor, " g"]
    log_weights: Float[Tensor, "*batch n"]
    positions: Float[Tensor, "*batch n"] | None
    status: str
    message: str
    stopped_at: float
    observables: Mapping[str, Tensor] = field(default_factory=dict)
    events: tuple[EventRecord, ...] = ()
    error: Float[Tensor, " f"] | None = None
    steps: int = 0
    rejected: int = 0
    evaluations: int = 0
    facts: Mapping[str, str | float | int | None] = field(default_factory=dict)
    member_status: tuple[str, ...] = ()
    member_stopped_at: tuple[float, ...] = ()
    engine_report: EngineReport | None = None
    """Of a certified engine: the bound of its error, and shares of the pairs by treatment."""

    @property
    def final(self) -> Cloud:
        """The last state as a cloud."""
        return self.cloud(-1)

    def cloud(self, frame: int) -> Cloud:
        """The state of one frame, with the weights and positions of the run."""
        return Cloud.from_log_weights(self.points[frame], self.log_weights, self.positions)

    @property
    def finished(self) -> bool:
        """Whether the run reached its end time."""
        return self.status == "finished"
