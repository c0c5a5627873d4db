"""Events: located in time, terminal or not, per system, and failures of fixed steps."""

import math

import pytest
import torch
from zoo import Frames, blow_up, normalised, scalar, self_attention

from vlasov.errors import InvalidValue, ShapeMismatch
from vlasov.integration import (
    AdaptiveStep,
    AdditiveNoise,
    Euler,
    Event,
    FixedStep,
    Plan,
    Problem,
    RungeKutta4,
    Tsitouras,
    build_method,
    collapsed,
    exploded,
    integrate,
    steady,
)

pytestmark = pytest.mark.usefixtures("unchecked_types")

STEP = AdaptiveStep(rtol=1e-10, atol=1e-12)


def below(level: float, *, name: str = "below", terminal: bool = True) -> Event:
    return Event(name, lambda t, x: x.amin((-2, -1)) - level, terminal)


@pytest.mark.parametrize("dt", [1e-2, 1e-3])
def test_b03_blow_up_is_located(dt):
    frames = Frames()
    plan = Plan(RungeKutta4(), FixedStep(dt), events=(exploded(1e6),), save_every=1)
    outcome = integrate(blow_up(), plan, observer=frames)
    assert outcome.status == "blow-up"
    assert abs(outcome.stopped_at - 0.5) <= 2 * dt
    assert "grew without bound" in outcome.message
    assert all(torch.isfinite(state.x).all() for state in frames.saved)
    assert frames.times[-1] == outcome.stopped_at
    assert outcome.state.x.item() == pytest.approx(1e6, rel=1e-9)


def test_b03_values_before_the_blow_up():
    plan = Plan(RungeKutta4(), FixedStep(1e-2), save_at=(0.25,), events=(exploded(1e6),))
    frames = Frames()
    integrate(blow_up(), plan, observer=frames)
    assert frames.saved[1].x.item() == pytest.approx(2.0, abs=1e-6)


def test_b03_without_an_event_the_last_finite_state_ends_the_run():
    frames = Frames()
    outcome = integrate(blow_up(), Plan(RungeKutta4(), FixedStep(1e-2)), observer=frames)
    assert outcome.status == "blow-up"
    assert outcome.stopped_at == pytest.approx(0.5, abs=2e-2 + 1e-12)
    assert all(torch.isfinite(state.x).all() for state in frames.saved)
    assert torch.equal(frames.saved[-1].x, outcome.state.x)


@pytest.mark.parametrize("step", [FixedStep(1e-2), AdaptiveStep()], ids=["fixed", "adaptive"])
def test_b11_terminal_event_before_the_first_output(step):
    frames = Frames()
    method = Tsitouras() if isinstance(step, AdaptiveStep) else RungeKutta4()
    plan = Plan(method, step, save_at=(1.0,), events=(exploded(1e6),))
    outcome = integrate(blow_up(), plan, observer=frames)
    assert outcome.status == "blow-up"
    assert outcome.stopped_at == pytest.approx(0.5, abs=2e-2)
    assert frames.times == [0.0, outcome.stopped_at]
    assert {state.x.shape for state in frames.saved} == {(1, 1)}


def test_b13_a_too_large_step_that_leaves_the_admissible_set_is_caught():
    admissible = Event("not positive", lambda t, s: s.amin((-2, -1)))
    problem = scalar(lambda t, s: -2 * s * s, 10.0, 1.0)
    outcome = integrate(problem, Plan(Euler(), FixedStep(0.2), events=(admissible,)))
    assert outcome.status == "not positive"
    assert outcome.stopped_at == pytest.approx(0.05)  # where Euler's line from 10 meets 0
    assert "The event 'not positive' stopped the run" in outcome.message


def test_b13_contraction_is_right_with_small_steps():
    problem = scalar(lambda t, s: -2 * s * s, 1.0, 50.0)
    outcome = integrate(problem, Plan(RungeKutta4(), FixedStep(0.1)))
    assert outcome.state.x.item() == pytest.approx(0.00990099, abs=1e-8)


def test_a_state_that_leaves_the_domain_without_growing_is_no_blow_up():
    problem = scalar(lambda t, y: y + 0 * torch.sqrt(20 - y), 1.0, 4.0)
    outcome = integrate(problem, Plan(RungeKutta4(), FixedStep(0.01), events=(exploded(1e6),)))
    assert outcome.status == "non-finite"
    assert outcome.stopped_at == pytest.approx(math.log(20.0), abs=1e-2)
    assert outcome.events == ()
    assert outcome.state.x.item() < 20


def test_overflow_in_one_step():
    outcome = integrate(
        scalar(lambda t, y: torch.exp(y * y), 30.0, 1.0), Plan(Euler(), FixedStep(0.1))
    )
    assert outcome.status == "blow-up"  # the field itself overflows, pointing outwards
    assert outcome.stopped_at == 0.0
    large = integrate(scalar(lambda t, y: 1e308 * y, 1.0, 4.0), Plan(Euler(), FixedStep(2.0)))
    assert large.status == "blow-up"  # the field is finite, the step is not
    assert large.state.x.item() == 1.0


@pytest.mark.parametrize("name", ["euler", "rk4", "dopri5", "stiff"])
def test_events_are_located_to_the_accuracy_of_the_method(name):
    method = build_method(name)
    step = STEP if name == "stiff" else FixedStep(1e-3)
    plan = Plan(method, step, events=(below(0.5),))
    outcome = integrate(scalar(lambda t, y: -y, 1.0, 2.0), plan)
    assert outcome.stopped_at == pytest.approx(
        math.log(2.0), abs=1e-3 if name == "euler" else 1e-9
    )
    # the state is the one at which the margin vanishes, to the sharpness of the search
    assert outcome.state.x.item() == pytest.approx(0.5, abs=1e-12)
    assert outcome.events == (("below", outcome.stopped_at, 0),)


def test_backwards_events():
    plan = Plan(RungeKutta4(), FixedStep(1e-2), events=(below(0.5),))
    outcome = integrate(scalar(lambda t, y: y, 1.0, -2.0), plan)
    assert outcome.stopped_at == pytest.approx(-math.log(2.0), abs=1e-9)


@pytest.mark.parametrize("adaptive", [False, True])
def test_an_event_that_goes_on_may_come_again(adaptive):
    turning = scalar(lambda t, y: torch.full_like(y, math.cos(t)), 0.0, 20.0)
    plan = Plan(
        Tsitouras(),
        AdaptiveStep(1e-10, 1e-12, largest=0.5) if adaptive else FixedStep(0.05),
        events=(below(0.0, terminal=False),),
    )
    outcome = integrate(turning, plan)
    assert outcome.status == "finished"
    times = [time for _, time, _ in outcome.events]
    assert times == pytest.approx([math.pi, 3 * math.pi, 5 * math.pi], abs=1e-8)


def test_what_lies_behind_a_terminal_event_is_not_recorded():
    events = (below(0.3, name="late", terminal=False), below(0.5), below(0.7, name="early"))
    plan = Plan(Euler(), FixedStep(1.0), events=events)
    outcome = integrate(scalar(lambda t, y: -y, 1.0, 2.0), plan)
    assert [name for name, _, _ in outcome.events] == ["early"]
    assert outcome.stopped_at == pytest.approx(0.3)


def test_an_event_that_holds_at_the_start_ends_the_run_there():
    frames = Frames()
    plan = Plan(Euler(), FixedStep(0.1), events=(below(2.0), below(3.0, terminal=False)))
    outcome = integrate(scalar(lambda t, y: -y, 1.0, 2.0), plan, observer=frames)
    assert (outcome.status, outcome.stopped_at, outcome.steps) == ("below", 0.0, 0)
    assert outcome.message.endswith("at the very start.")
    assert frames.times == [0.0]


@pytest.mark.parametrize(
    "step", [FixedStep(0.01), AdaptiveStep(1e-9, 1e-12)], ids=["fixed", "own"]
)
def test_every_system_stops_at_its_own_event(step):
    frames = Frames()
    x = torch.tensor([1.0, 2.0, 0.6, 40.0], dtype=torch.float64).reshape(2, 2, 1, 1)
    plan = Plan(Tsitouras(), step, events=(below(0.5),), save_at=(1.0, 2.0))
    outcome = integrate(Problem(lambda t, y: -y, x, 3.0), plan, observer=frames)
    times = [math.log(value / 0.5) for value in (1.0, 2.0, 0.6)]
    assert outcome.member_stopped_at[:3] == pytest.approx(times, abs=1e-8)
    assert outcome.member_status == ("below", "below", "below", "finished")
    torch.testing.assert_close(
        outcome.state.x.reshape(-1),
        torch.tensor([0.5, 0.5, 0.5, 40 * math.exp(-3.0)], dtype=torch.float64),
        rtol=1e-8,
        atol=0,
    )
    assert [state.active is None for state in frames.saved] == [True, False, False, False]
    assert frames.saved[1].active.tolist() == [[False, True], [False, True]]
    assert set(frames.saved[1].ended) == {0, 2}


@pytest.mark.parametrize(
    "step", [FixedStep(0.01), AdaptiveStep(1e-9, 1e-12)], ids=["fixed", "own"]
)
def test_a_batch_ends_when_all_its_systems_have(step):
    frames = Frames()
    x = torch.tensor([1.0, 2.0], dtype=torch.float64).reshape(2, 1, 1)
    plan = Plan(Tsitouras(), step, events=(below(0.5),), save_at=(5.0,))
    outcome = integrate(Problem(lambda t, y: -y, x, 5.0), plan, observer=frames)
    assert outcome.status == "below"
    assert outcome.stopped_at == pytest.approx(math.log(4.0), abs=1e-8)
    assert frames.times == pytest.approx([0.0, math.log(4.0)], abs=1e-8)


def test_one_lost_system_of_a_fixed_batch_leaves_the_others_alone():
    x = torch.tensor([-1.0, 1.0], dtype=torch.float64).reshape(2, 1, 1)
    outcome = integrate(Problem(lambda t, y: y * y, x, 4.0), Plan(RungeKutta4(), FixedStep(0.01)))
    assert outcome.member_status == ("finished", "blow-up")
    assert outcome.state.x[0].item() == pytest.approx(-0.2, abs=1e-8)
    assert torch.isfinite(outcome.state.x).all()


def test_collapse_on_the_sphere():
    x = normalised(torch.tensor([[1.0, 0.1, 0.0], [1.0, -0.2, 0.1]], dtype=torch.float64))
    problem = Problem(self_attention(1.0), x, 50.0, retract=normalised)
    outcome = integrate(problem, Plan(Tsitouras(), STEP, events=(collapsed(1e-3),)))
    assert outcome.status == "collapse"
    assert (outcome.state.x[0] - outcome.state.x[1]).norm().item() == pytest.approx(2e-3, rel=1e-6)


def test_steady_state():
    def field(t, y):
        return 1 - y

    plan = Plan(Tsitouras(), STEP, events=(steady(1e-3, field),))
    outcome = integrate(scalar(field, 0.0, 50.0), plan)
    assert outcome.status == "steady"
    assert outcome.stopped_at == pytest.approx(math.log(1e3), abs=1e-6)


def test_events_of_noisy_runs_lie_on_the_chord():
    problem = scalar(lambda t, y: -y, 1.0, 5.0, noise=AdditiveNoise(0.1))
    plan = Plan(Euler(), FixedStep(0.05), events=(below(0.0),))
    outcome = integrate(problem, plan, generator=torch.Generator().manual_seed(3))
    assert outcome.status == "below"
    assert outcome.state.x.item() == pytest.approx(0.0, abs=1e-12)


def test_noise_that_overflows_ends_at_the_last_finite_state():
    problem = scalar(lambda t, y: y**3, 3.0, 5.0, noise=AdditiveNoise(0.1))
    plan = Plan(Euler(), FixedStep(0.5))
    outcome = integrate(problem, plan, generator=torch.Generator().manual_seed(3))
    assert outcome.status == "blow-up"
    assert torch.isfinite(outcome.state.x).all()


@pytest.mark.parametrize("make", [exploded, collapsed, lambda v: steady(v, lambda t, x: x)])
def test_thresholds_must_be_positive(make):
    with pytest.raises(InvalidValue, match="finite number above 0"):
        make(-1.0)


def test_a_margin_of_the_wrong_shape_is_refused():
    event = Event("bad", lambda t, x: x)
    with pytest.raises(ShapeMismatch, match="one number per system"):
        integrate(scalar(lambda t, y: y, 1.0, 1.0), Plan(Euler(), FixedStep(0.1), events=(event,)))
