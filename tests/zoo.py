"""Problems on plain callables that carry their exact solution, and what their tests share."""

__all__ = [
    "PLANE",
    "SPHERE",
    "TIMED",
    "Exact",
    "Frames",
    "blow_up",
    "last_error",
    "normalised",
    "observed_order",
    "scalar",
    "self_attention",
    "tangent",
    "wide",
]

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
import torch
from torch import Tensor

from vlasov.integration import Problem, SplitField, State, integrate

# Chosen so that the leading term of every method's error dominates at steps from 1/8 to 1/128.
_PLANE = (
    [[0.4, -1.6, 0.0], [0.8, 0.1, 0.0], [0.0, 0.0, 0.5]],
    [[0.0, 0.0, 0.4], [0.0, 0.0, -1.5], [0.6, 1.2, 0.6]],
)
_SPHERE = (
    [[0.9, -0.3, 0.9], [-0.5, -0.4, 0.9], [1.2, 0.5, 0.5]],
    [[-0.9, 1.1, -0.3], [0.9, 0.0, -1.8], [1.5, -1.1, 0.7]],
)
_START = torch.tensor([[1.0, 0.2, -0.3], [-0.4, 0.8, 0.5]], dtype=torch.float64)


@dataclass(frozen=True, eq=False)
class Exact:
    """A field in two parts that do not commute, and the solution at any time."""

    parts: tuple[Callable, Callable]
    initial: Tensor
    solution: Callable[[float], Tensor]
    retract: Callable[[Tensor], Tensor] | None = None

    def problem(self, until: float, **choices: object) -> Problem:
        """The problem up to a time, with its field split."""
        return Problem(
            SplitField(self.parts), self.initial, until, retract=self.retract, **choices
        )


def normalised(x: Tensor) -> Tensor:
    """Points on the unit sphere."""
    return x / x.norm(dim=-1, keepdim=True)


def tangent(x: Tensor, u: Tensor) -> Tensor:
    """The tangent part of `u` at `x`, off the sphere too."""
    return u - (x * u).sum(-1, keepdim=True) / (x * x).sum(-1, keepdim=True) * x


def matrix(rows: list[list[float]]) -> Tensor:
    return torch.tensor(rows, dtype=torch.float64)


def flow(parts: tuple, t: float) -> Tensor:
    """Points of the linear field that is the sum of two matrices, at time t."""
    return _START @ torch.linalg.matrix_exp(t * (matrix(parts[0]) + matrix(parts[1]))).mT


PLANE = Exact(
    (lambda t, x: x @ matrix(_PLANE[0]).mT, lambda t, x: x @ matrix(_PLANE[1]).mT),
    _START,
    lambda t: flow(_PLANE, t),
)
"""x' = M x: the matrix exponential."""

SPHERE = Exact(
    (
        lambda t, x: tangent(x, x @ matrix(_SPHERE[0]).mT),
        lambda t, x: tangent(x, x @ matrix(_SPHERE[1]).mT),
    ),
    normalised(_START),
    lambda t: normalised(flow(_SPHERE, t)),
    normalised,
)
"""x' = P_x M x on the sphere: the matrix exponential, normalised; not linear."""

TIMED = Exact(
    (lambda t, x: torch.cos(wide(t, x)) * x, lambda t, x: 0.5 * x),
    _START,
    lambda t: _START * float(np.exp(np.sin(t) + 0.5 * t)),
)
"""x' = (cos t + 1/2) x: the field depends on time, so the nodes matter."""


def wide(t: float | Tensor, x: Tensor) -> Tensor:
    """A time, or one per system, shaped to meet the state."""
    t = torch.as_tensor(t, dtype=x.dtype)
    return t.reshape(t.shape + (1,) * (x.ndim - t.ndim))


def scalar(velocity: Callable, value: float, until: float, **choices: object) -> Problem:
    """A problem with one number as its state."""
    return Problem(velocity, torch.tensor([[value]], dtype=torch.float64), until, **choices)


def blow_up(until: float = 1.0, start: float = 1.0) -> Problem:
    """S' = 2 s^2 (case B03): s = 1 / (1 - 2t) from 1, infinite at t = 1/2."""
    return scalar(lambda t, s: 2 * s * s, start, until)


def self_attention(beta: float) -> Callable[[float, Tensor], Tensor]:
    """Softmax attention on the sphere with Q = K = V = I, written by hand."""

    def velocity(t: float, x: Tensor) -> Tensor:
        return tangent(x, torch.softmax(beta * x @ x.mT, dim=-1) @ x)

    return velocity


@dataclass
class Frames:
    """An observer that keeps what it is told; `patience` is after how many steps it interrupts."""

    patience: int | None = None
    saved: list[State] = field(default_factory=list)
    stepped: list[State] = field(default_factory=list)

    def save(self, state: State) -> None:
        self.saved.append(state)

    def step(self, state: State) -> bool:
        self.stepped.append(state)
        return self.patience is None or len(self.stepped) < self.patience

    @property
    def times(self) -> list[float]:
        return [state.saved_at for state in self.saved]


def last_error(exact: Exact, plan: object, until: float) -> float:
    """Largest error at the end of a run."""
    outcome = integrate(exact.problem(until), plan)
    return float((outcome.state.x - exact.solution(until)).abs().max())


def observed_order(sizes: Sequence[float], errors: Sequence[float]) -> float:
    """Least-squares slope of log error over log size."""
    return float(np.polyfit(np.log(sizes), np.log(errors), 1)[0])
