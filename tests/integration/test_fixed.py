"""Fixed steps: where they land, what they save, and runs backwards in time."""

import math

import pytest
import torch
from zoo import Frames, normalised, scalar, self_attention

from vlasov.errors import InvalidValue
from vlasov.integration import (
    DormandPrince,
    Euler,
    FixedStep,
    Limits,
    Plan,
    Problem,
    RungeKutta4,
    integrate,
)
from vlasov.integration.segments import segments


def growth(t, y):
    return y


def decay(t, y):
    return -y


def still(t, y):
    return torch.zeros_like(y)


@pytest.mark.parametrize(
    ("until", "dt", "steps"),
    [(1.0, 0.1, 10), (0.05, 0.05 / 11, 11), (0.3, 0.1, 3), (5.9, 1e-4, 59000)],
)
def test_b01_step_count_and_last_time(until, dt, steps):
    (piece,) = segments(scalar(still, 1.0, until), Plan(Euler(), FixedStep(dt)))
    assert piece.count(dt) == steps
    assert piece.knot(steps, count=steps, dt=dt) == until


@pytest.mark.parametrize(("until", "dt", "steps"), [(1.0, 0.1, 10), (0.3, 0.1, 3)])
def test_b01_times_are_multiples(until, dt, steps):
    frames = Frames()
    outcome = integrate(scalar(still, 1.0, until), Plan(Euler(), FixedStep(dt)), observer=frames)
    assert outcome.steps == steps
    assert frames.times == [0.0, *(k * dt for k in range(1, steps)), until]
    assert outcome.stopped_at == until


def test_b01_many_float32_steps_end_exactly():
    problem = Problem(still, torch.ones(1, 1, dtype=torch.float32), 1.0)
    outcome = integrate(problem, Plan(Euler(), FixedStep(1e-3)))
    assert outcome.state.t == 1.0
    assert outcome.state.x.dtype == torch.float32


def test_b02_last_step_is_shorter():
    outcome = integrate(scalar(growth, 1.0, 1.0), Plan(Euler(), FixedStep(0.3)))
    assert outcome.state.x.item() == pytest.approx(1.3**3 * 1.1, abs=1e-12)
    assert outcome.state.x.item() == pytest.approx(2.4167, abs=1e-12)
    assert outcome.steps == 4


@pytest.mark.parametrize(("start", "until"), [(-5.0, 0.0), (0.0, -5.0)])
def test_b05_any_interval(start, until):
    outcome = integrate(
        scalar(decay, 1.0, until, start=start), Plan(RungeKutta4(), FixedStep(0.01))
    )
    assert outcome.state.t == until
    # RK4's error of dt^4 / 120 per unit time, over five units
    assert outcome.state.x.item() == pytest.approx(math.exp(start - until), rel=1e-9)


def test_b05_there_and_back():
    plan = Plan(RungeKutta4(), FixedStep(0.01))
    there = integrate(scalar(decay, 1.0, 1.0), plan)
    back = integrate(scalar(decay, there.state.x.item(), 0.0, start=1.0), plan)
    assert back.state.x.item() == pytest.approx(1.0, abs=1e-8)


def test_b08_the_output_grid_does_not_set_the_step():
    plan = Plan(RungeKutta4(), FixedStep(0.01), save_at=(0.0, 5.0))
    frames = Frames()
    outcome = integrate(scalar(decay, 1.0, 5.0), plan, observer=frames)
    assert outcome.state.x.item() == pytest.approx(0.0067379, abs=1e-7)
    assert frames.times == [0.0, 5.0]
    assert outcome.steps == 500


def test_explicit_save_times_shorten_the_step_before_them():
    frames = Frames()
    plan = Plan(Euler(), FixedStep(0.1), save_at=(0.25,))
    integrate(scalar(growth, 1.0, 0.5), plan, observer=frames)
    assert frames.times == [0.0, 0.25, 0.5]
    assert [state.t for state in frames.stepped] == pytest.approx(
        [0.1, 0.2, 0.25, 0.35, 0.45, 0.5]
    )


def test_save_times_on_the_grid_change_no_step():
    plain = integrate(scalar(growth, 1.0, 1.0), Plan(Euler(), FixedStep(0.1)))
    saved = integrate(
        scalar(growth, 1.0, 1.0),
        Plan(Euler(), FixedStep(0.1), save_at=tuple(k * 0.1 for k in range(10))),
    )
    assert saved.steps == plain.steps
    # the steps differ by the rounding of the times only
    assert saved.state.x.item() == pytest.approx(plain.state.x.item(), rel=1e-14)


@pytest.mark.parametrize(("save_every", "count"), [(None, 101), (1, 501), (200, 4)])
def test_natural_saving_keeps_steps_of_the_grid(save_every, count):
    frames = Frames()
    plan = Plan(Euler(), FixedStep(0.01), save_every=save_every)
    outcome = integrate(scalar(decay, 1.0, 5.0), plan, observer=frames)
    assert len(frames.times) == count
    assert outcome.steps == 500


def test_a_run_of_no_length_saves_its_start_once():
    frames = Frames()
    outcome = integrate(scalar(decay, 1.0, 0.0), Plan(Euler(), FixedStep(0.1)), observer=frames)
    assert (outcome.status, frames.times, outcome.evaluations) == ("finished", [0.0], 0)


def jumping(t, y):
    return torch.full_like(y, math.floor(t))


@pytest.mark.parametrize(("start", "until"), [(0.0, 3.0), (3.0, 0.0), (0.5, 2.2)])
@pytest.mark.parametrize("method", [Euler(), RungeKutta4(), DormandPrince()], ids=lambda m: m.name)
def test_steps_land_on_jumps_and_see_the_left_limit(method, start, until):
    breaks = (0.0, 1.0, 2.0, 3.0)
    problem = scalar(jumping, 0.0, until, start=start, breaks=breaks)
    outcome = integrate(problem, Plan(method, FixedStep(0.4)))

    def exact(t: float) -> float:
        whole = math.floor(t)
        return whole * (whole - 1) / 2 + whole * (t - whole)

    # A field that is constant between its jumps is integrated exactly.
    assert outcome.state.x.item() == pytest.approx(exact(until) - exact(start), abs=1e-14)


def test_max_steps_has_a_status_of_its_own():
    frames = Frames()
    plan = Plan(Euler(), FixedStep(0.1), limits=Limits(max_steps=3))
    outcome = integrate(scalar(decay, 1.0, 1.0), plan, observer=frames)
    assert outcome.status == "max-steps"
    assert "after 3 steps" in outcome.message
    assert frames.times[-1] == outcome.stopped_at == pytest.approx(0.3)


def test_wall_time_has_a_status_of_its_own():
    plan = Plan(Euler(), FixedStep(1e-9), limits=Limits(wall_time=0.02))
    outcome = integrate(scalar(decay, 1.0, 1.0), plan)
    assert outcome.status == "wall-time"
    assert "wall-time limit" in outcome.message


def test_a_step_lost_in_rounding_is_refused():
    with pytest.raises(InvalidValue, match="lost in the rounding"):
        integrate(scalar(decay, 1.0, 1e6), Plan(Euler(), FixedStep(1e-12)))


def test_the_input_is_left_alone():
    x = normalised(torch.randn(5, 3, dtype=torch.float64, generator=torch.Generator()))
    before = x.clone()
    integrate(
        Problem(self_attention(2.0), x, 1.0, retract=normalised),
        Plan(DormandPrince(), FixedStep(0.1)),
    )
    assert torch.equal(x, before)


def test_first_same_as_last_saves_evaluations_in_flat_space_only():
    flat = integrate(scalar(decay, 1.0, 1.0), Plan(DormandPrince(), FixedStep(0.1)))
    curved = integrate(
        scalar(decay, 1.0, 1.0, retract=lambda x: x.clone()),
        Plan(DormandPrince(), FixedStep(0.1)),
    )
    assert (flat.evaluations, curved.evaluations) == (6 * 10 + 1, 7 * 10)


def test_members_of_a_batch_are_independent():
    x = torch.tensor([1.0, 2.0, 3.0], dtype=torch.float64).reshape(3, 1, 1)
    together = integrate(Problem(lambda t, y: -y * y, x, 1.0), Plan(Euler(), FixedStep(0.1)))
    for i in range(3):
        alone = integrate(Problem(lambda t, y: -y * y, x[i], 1.0), Plan(Euler(), FixedStep(0.1)))
        assert torch.equal(together.state.x[i], alone.state.x)
    assert together.member_status == ("finished",) * 3
