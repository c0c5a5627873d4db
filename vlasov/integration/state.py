"""Where a run stands, how it ended, and who listens."""

__all__ = ["Observer", "Outcome", "State"]

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

from jaxtyping import Bool, Float, Int
from torch import Tensor

from vlasov.integration.progress import PER_SYSTEM


@dataclass(frozen=True, eq=False)
class State:
    """A point of a run from which it can go on bit for bit.

    `t` is the common time, or one per system where these keep their own (adaptive batches).
    `active` says which systems still run; None means all. `memory` holds plain numbers and tensors
    only.
    """

    t: float | Float[Tensor, "*batch"]
    x: Float[Tensor, "*state"]
    active: Bool[Tensor, "*batch"] | None
    memory: Mapping[str, Any]

    @property
    def error(self) -> Float[Tensor, "*batch"] | None:
        """Sum over the steps of the largest local error estimate; None without an estimate."""
        return self.memory["error"]

    @property
    def ended(self) -> Mapping[int, tuple[str, float]]:
        """Status and located time of the systems (flat index) that have stopped by themselves."""
        return self.memory["ended"]

    @property
    def saved_at(self) -> float:
        """Time of the last save: of this very state, when an observer is asked to save it."""
        return self.memory["saved_at"]

    def of_systems(self, index: Int[Tensor, " some"]) -> "State":
        """The state of some running systems of a batch with one axis, by flat index."""
        memory: dict[str, Any] = {**self.memory, "ended": {}, "events": ()}
        memory |= {name: memory[name][index] for name in PER_SYSTEM if memory[name] is not None}
        t = self.t[index.to(self.t.device)] if isinstance(self.t, Tensor) else self.t
        return State(t, self.x[index], None, memory)

    def to_dict(self) -> dict[str, Any]:
        """Plain numbers, containers and tensors, which a weights-only load reads back."""
        return {"t": self.t, "x": self.x, "active": self.active, "memory": dict(self.memory)}

    @classmethod
    def from_dict(cls, saved: Mapping[str, Any]) -> "State":
        """The state that `to_dict` wrote."""
        return cls(saved["t"], saved["x"], saved["active"], saved["memory"])


@runtime_checkable
class Observer(Protocol):
    """Who is told about a run."""

    def save(self, state: State) -> None:
        """A state that was asked for: the start, each save time, and where the run ended."""
        ...

    def step(self, state: State) -> bool:
        """Any state after an accepted step, again while the next one takes long.

        False interrupts the run in that state.
        """
        ...


@dataclass(frozen=True, eq=False)
class Outcome:
    """How a run ended.

    `stopped_at` is the located time of the end, which for a blow-up lies after the last finite
    state. Events are (name, located time, flat index of the system). The members are the systems
    of the batch, flattened.
    """

    state: State
    status: str
    message: str
    stopped_at: float
    events: tuple[tuple[str, float, int], ...]
    steps: int
    rejected: int
    evaluations: int
    member_status: tuple[str, ...]
    member_stopped_at: tuple[float, ...]
