"""The stiff method: plateaus, stiffness, manifolds, and what it refuses."""

import itertools
import math

import pytest
import torch
from zoo import Frames, normalised, scalar, self_attention

from vlasov.errors import UnknownName, Unsupported
from vlasov.integration import (
    AdaptiveStep,
    Event,
    FixedStep,
    Plan,
    Problem,
    Stiff,
    build_method,
    integrate,
)

pytestmark = pytest.mark.usefixtures("unchecked_types")

BETA = 9.0
STEP = AdaptiveStep(rtol=1e-7, atol=1e-10)


def level(x: torch.Tensor) -> torch.Tensor:
    """Interaction energy over its maximum."""
    return torch.exp(BETA * (x @ x.mT - 1)).mean((-2, -1))


def crosses(value: float) -> Event:
    return Event(f"{value}", lambda t, x: value - level(x), terminal=False)


@pytest.mark.parametrize("vectorised", [True, False])
@pytest.mark.parametrize("method", ["radau", "bdf"])
def test_v20_plateaus_within_ten_thousand_evaluations(method, vectorised):
    angles = torch.tensor([0.0, 1.3, 2.9, 4.4], dtype=torch.float64)
    x = torch.stack([angles.cos(), angles.sin()], -1)
    calls = []

    def field(t, x):
        calls.append(x.numel() // 8)
        return self_attention(BETA)(t, x)

    problem = Problem(field, x, 1e7, retract=normalised, vectorised=vectorised)
    times = (20.0, 150.0, *(10.0**k for k in range(3, 7)))
    plan = Plan(Stiff(method), STEP, save_at=times, events=(crosses(0.32), crosses(0.45)))
    frames = Frames()
    outcome = integrate(problem, plan, observer=frames)
    jumps = [time for _, time, _ in outcome.events]
    assert jumps == pytest.approx([50.4, 258.0], rel=0.02)
    levels = [float(level(state.x)) for state in frames.saved]
    assert levels == pytest.approx([0.25, 0.25, 0.375] + [0.5] * 5, abs=1e-3)
    assert outcome.evaluations <= 10_000
    assert outcome.evaluations == sum(calls)
    for state in frames.saved:
        assert state.x.norm(dim=-1).tolist() == pytest.approx([1.0] * 4, abs=1e-15)


def test_a_stiff_relaxation_takes_few_evaluations():
    problem = scalar(lambda t, z: -1e6 * (z - math.cos(t)), 0.0, 10.0)
    outcome = integrate(problem, Plan(Stiff(), AdaptiveStep(1e-6, 1e-9), save_at=()))
    assert outcome.state.x.item() == pytest.approx(math.cos(10.0), abs=1e-5)
    assert outcome.evaluations < 1000


def test_save_times_cost_nothing():
    problem = scalar(lambda t, y: -y, 1.0, 5.0)
    few = integrate(problem, Plan(Stiff(), STEP, save_at=()))
    frames = Frames()
    many = integrate(problem, Plan(Stiff(), STEP), observer=frames)
    assert many.evaluations == few.evaluations
    assert frames.times == [5.0 * (k / 100) for k in range(101)]
    for state in frames.saved:
        # the interpolation is of lower order than the steps
        assert state.x.item() == pytest.approx(math.exp(-state.t), abs=1e-5)


def test_jumps_are_not_stepped_over():
    problem = scalar(
        lambda t, y: torch.full_like(y, float(math.floor(t) == 1)), 0.0, 3.0, breaks=(1.0, 2.0)
    )
    outcome = integrate(problem, Plan(Stiff(), STEP, save_at=(0.5,)))
    assert outcome.state.x.item() == pytest.approx(1.0, abs=1e-12)


@pytest.mark.parametrize("method", ["radau", "bdf"])
def test_backwards(method):
    outcome = integrate(scalar(lambda t, y: -y, 1.0, -2.0), Plan(Stiff(method), STEP))
    assert outcome.state.x.item() == pytest.approx(math.exp(2.0), rel=1e-4)


def test_float32_states():
    problem = Problem(lambda t, y: -100 * y, torch.ones(1, 1), 1.0)
    outcome = integrate(problem, Plan(Stiff(), AdaptiveStep(1e-4, 1e-6)))
    assert outcome.state.x.dtype == torch.float32
    assert abs(outcome.state.x.item()) < 1e-4


def test_step_sizes_are_respected():
    frames = Frames()
    plan = Plan(Stiff(), AdaptiveStep(1e-3, 1e-3, first=0.01, largest=0.1), save_at=())
    integrate(scalar(lambda t, y: -y, 1.0, 1.0), plan, observer=frames)
    times = [0.0, *(state.t for state in frames.stepped)]
    assert times[1] == pytest.approx(0.01)
    assert max(b - a for a, b in itertools.pairwise(times)) <= 0.1 + 1e-12


def test_a_field_that_is_nan_at_the_start_fails_there():
    outcome = integrate(scalar(lambda t, y: y * math.nan, 1.0, 1.0), Plan(Stiff(), STEP))
    assert (outcome.status, outcome.stopped_at) == ("non-finite", 0.0)


def test_fixed_steps_are_refused():
    with pytest.raises(Unsupported, match="chooses its own steps"):
        integrate(scalar(lambda t, y: -y, 1.0, 1.0), Plan(Stiff(), FixedStep(0.1)))


def test_batches_are_refused():
    problem = Problem(lambda t, y: -y, torch.ones(2, 1, 1), 1.0)
    with pytest.raises(Unsupported, match="one system at a time"):
        integrate(problem, Plan(Stiff(), STEP))


def test_gradients_of_the_field_are_refused():
    rate = torch.ones((), dtype=torch.float64, requires_grad=True)
    with pytest.raises(Unsupported, match="carries no gradients"):
        integrate(scalar(lambda t, y: -rate * y, 1.0, 1.0), Plan(Stiff(), STEP))


def test_large_states_are_refused():
    problem = Problem(lambda t, y: -y, torch.ones(1001, 2), 1.0)
    with pytest.raises(Unsupported, match="up to 2000 coordinates, but the state has 2002"):
        integrate(problem, Plan(Stiff(), STEP))


def test_gradients_are_refused():
    problem = Problem(lambda t, y: -y, torch.ones(1, 1, requires_grad=True), 1.0)
    with pytest.raises(Unsupported, match="carries no gradients"):
        integrate(problem, Plan(Stiff(), STEP))


def test_unknown_method():
    with pytest.raises(UnknownName, match="did you mean 'radau'"):
        build_method("stiff:method=rado")
