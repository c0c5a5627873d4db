"""A pass that takes long is given up when the observer wants to stop, and nothing is lost."""

import itertools

import pytest
import torch
from zoo import Frames, self_attention

from vlasov.integration import (
    AdaptiveStep,
    AdditiveNoise,
    FixedStep,
    Plan,
    Problem,
    SplitField,
    build_method,
    integrate,
    patience,
)

WAYS = {
    "rk4": FixedStep(0.03),
    "dopri5": FixedStep(0.07),
    "doubled:inner=heun": FixedStep(0.07),
    "tsit5": AdaptiveStep(1e-5, 1e-8),
    "stiff": AdaptiveStep(1e-4, 1e-6),
}


def cloud(*shape: int) -> torch.Tensor:
    return torch.randn(*shape, dtype=torch.float64, generator=torch.Generator().manual_seed(0))


@pytest.fixture
def slow_field(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every look at the clock is two seconds later than the one before."""
    seconds = itertools.count(0.0, 2.0)
    monkeypatch.setattr(patience.time, "monotonic", lambda: next(seconds))


def check_given_up(problem: Problem, plan: Plan, *, seed: int | None = None) -> None:
    def generator() -> torch.Generator | None:
        return None if seed is None else torch.Generator().manual_seed(seed)

    whole = Frames()
    expected = integrate(problem, plan, observer=whole, generator=generator())
    assert len(whole.stepped) > expected.steps  # asked in the middle of steps too
    for count in (1, 2, 3, 11):
        first, second = Frames(patience=count), Frames()
        stopped = integrate(problem, plan, observer=first, generator=generator())
        assert (stopped.status, len(first.stepped)) == ("interrupted", count)
        outcome = integrate(
            problem, plan, observer=second, resume=stopped.state, generator=generator()
        )
        assert torch.equal(outcome.state.x, expected.state.x)
        assert (outcome.steps, outcome.evaluations) == (expected.steps, expected.evaluations)
        assert [s.saved_at for s in (*first.saved, *second.saved)] == whole.times


@pytest.mark.usefixtures("slow_field")
@pytest.mark.parametrize("name", WAYS)
def test_a_run_given_up_within_a_step_goes_on_bit_for_bit(name):
    problem = Problem(self_attention(2.0), cloud(4, 3), 1.0)
    check_given_up(problem, Plan(build_method(name), WAYS[name], save_at=(0.2, 0.55)))


@pytest.mark.usefixtures("slow_field")
def test_noise_is_drawn_again_as_it_was():
    problem = Problem(lambda t, x: -x, cloud(5, 2), 1.0, noise=AdditiveNoise(0.3))
    check_given_up(problem, Plan(build_method("heun"), FixedStep(0.03), save_every=5), seed=4)


@pytest.mark.usefixtures("slow_field")
def test_parts_of_a_split_field_are_asked_too():
    parts = SplitField((lambda t, x: -x, self_attention(2.0)))
    check_given_up(
        Problem(parts, cloud(4, 3), 1.0), Plan(build_method("lie:inner=rk4"), FixedStep(0.1))
    )


def test_quick_passes_are_not_interrupted():
    frames = Frames()
    plan = Plan(build_method("rk4"), FixedStep(0.1))
    outcome = integrate(Problem(self_attention(2.0), cloud(4, 3), 1.0), plan, observer=frames)
    assert len(frames.stepped) == outcome.steps
