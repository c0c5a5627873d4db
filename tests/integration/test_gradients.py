"""Derivatives through a run, and memory that does not grow with the number of steps."""

import math
import tracemalloc
import weakref

import pytest
import torch
from zoo import Frames, scalar

from vlasov.integration import (
    AdaptiveStep,
    AdditiveNoise,
    FixedStep,
    Plan,
    Problem,
    build_method,
    integrate,
)

WAYS = [
    ("euler", FixedStep(1e-4), 1e-3),
    ("rk4", FixedStep(0.01), 1e-8),
    ("dopri5", FixedStep(0.05), 1e-8),
    ("tsit5", AdaptiveStep(1e-9, 1e-12), 1e-7),
    ("doubled", AdaptiveStep(1e-9, 1e-12), 1e-7),
]


def parameter(value: float) -> torch.Tensor:
    return torch.tensor(value, dtype=torch.float64, requires_grad=True)


@pytest.mark.parametrize(("name", "step", "tolerance"), WAYS[1:])
@pytest.mark.parametrize("unused", [False, True])
def test_b10_derivatives_of_the_exponential(name, step, tolerance, unused):
    a, y0 = parameter(1.0), parameter(1.0)
    idle = torch.tensor(0.0, dtype=torch.float64)  # a parameter that needs no gradient
    problem = Problem(lambda t, y: a * y + (idle if unused else 0.0), y0.reshape(1, 1), 1.0)
    end = integrate(problem, Plan(build_method(name), step, save_at=())).state.x
    by_a, by_start = torch.autograd.grad(end.sum(), (a, y0))
    assert by_a.item() == pytest.approx(math.e, rel=tolerance)
    assert by_start.item() == pytest.approx(math.e, rel=tolerance)


def test_second_derivatives_flow_too():
    y0 = parameter(1.0)
    problem = Problem(lambda t, y: y * y, y0.reshape(1, 1), 0.5)
    end = integrate(problem, Plan(build_method("rk4"), FixedStep(0.01))).state.x.sum()
    (first,) = torch.autograd.grad(end, y0, create_graph=True)
    (second,) = torch.autograd.grad(first, y0)
    # y(t) = y0 / (1 - t y0)
    assert first.item() == pytest.approx(4.0, rel=1e-5)
    assert second.item() == pytest.approx(2 * 0.5 / 0.5**3, rel=1e-4)


@pytest.mark.parametrize("name", ["rk4", "dopri5"])
@pytest.mark.parametrize("step", [FixedStep(0.05), AdaptiveStep(1e-6, 1e-9)], ids=["fixed", "own"])
def test_b06_a_blow_up_does_not_spoil_the_gradients_of_the_others(name, step):
    if name == "rk4" and isinstance(step, AdaptiveStep):
        name = "tsit5"
    scale = parameter(1.0)
    x = torch.tensor([-1.0, 1.0], dtype=torch.float64).reshape(2, 1, 1)
    problem = Problem(lambda t, y: scale * y * y, x, 3.0)
    outcome = integrate(problem, Plan(build_method(name), step, save_at=()))
    assert outcome.member_status == ("finished", "blow-up")
    (slope,) = torch.autograd.grad(outcome.state.x[0].sum(), scale)
    # y = -1 / (1 + s t): dy/ds = t / (1 + s t)^2
    assert slope.item() == pytest.approx(3 / 16, rel=1e-4)


def test_gradients_through_noise():
    pull = parameter(1.0)
    problem = scalar(lambda t, x: -pull * x, 1.0, 1.0, noise=AdditiveNoise(0.1))
    generator = torch.Generator().manual_seed(0)
    outcome = integrate(problem, Plan(build_method("heun"), FixedStep(0.1)), generator=generator)
    (slope,) = torch.autograd.grad(outcome.state.x.sum(), pull)
    assert math.isfinite(slope.item())


def test_b12_no_graph_without_a_parameter():
    outcome = integrate(
        scalar(lambda t, y: -y, 1.0, 1.0), Plan(build_method("tsit5"), AdaptiveStep())
    )
    assert not outcome.state.x.requires_grad
    assert outcome.state.x.grad_fn is None


def test_b12_old_states_are_let_go():
    alive = []

    class Watching(Frames):
        def save(self, state):
            alive.append(sum(ref() is not None for ref in self.seen))

        def step(self, state):
            self.seen.append(weakref.ref(state.x))
            return True

    watching = Watching()
    watching.seen = []
    problem = Problem(lambda t, x: -x, torch.ones(2000, 2, dtype=torch.float64), 1.0)
    integrate(problem, Plan(build_method("rk4"), FixedStep(0.01)), observer=watching)
    assert max(alive) <= 2  # the state of this step, and the one before at most


def test_b12_memory_does_not_grow_with_the_number_of_steps():
    def peak(steps: int) -> int:
        problem = Problem(lambda t, x: -x, torch.ones(1, 1, dtype=torch.float64), 1.0)
        tracemalloc.start()
        integrate(problem, Plan(build_method("rk4"), FixedStep(1 / steps)))
        _, top = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        return top

    peak(10)  # caches are filled once
    # 500 more steps: a list of one pointer per step would already take 4 kB
    assert peak(600) - peak(100) < 3000
