"""Adaptive steps: tolerance, save times, failures, and systems that keep their own time."""

import itertools
import math

import pytest
import torch
from scipy import integrate as quadrature
from zoo import Frames, normalised, scalar, self_attention, wide

from vlasov.errors import Unsupported
from vlasov.integration import (
    AdaptiveStep,
    DormandPrince,
    Heun,
    Limits,
    OneStep,
    Plan,
    Problem,
    RungeKutta4,
    Step,
    Tsitouras,
    build_method,
    integrate,
)

pytestmark = pytest.mark.usefixtures("unchecked_types")

NAMES = ["bosh3", "dopri5", "tsit5", "doubled:inner=rk4", "stiff", "stiff:method=bdf"]
STEP = AdaptiveStep(rtol=1e-6, atol=1e-9)


def until_twenty(t, y):
    """Case B04: y' = y, with a field that is NaN above 20."""
    return y + 0 * torch.sqrt(20 - y)


@pytest.mark.parametrize("name", NAMES)
def test_b04_before_the_field_ends(name):
    plan = Plan(build_method(name), STEP, save_at=())
    outcome = integrate(scalar(until_twenty, 1.0, math.log(19.9)), plan)
    assert outcome.status == "finished"
    assert outcome.state.x.item() == pytest.approx(19.9, abs=2e-4)


@pytest.mark.parametrize("name", NAMES)
def test_b04_fails_where_the_field_returns_nan(name):
    frames = Frames()
    plan = Plan(build_method(name), STEP, save_at=(math.log(21.0),))
    outcome = integrate(scalar(until_twenty, 1.0, math.log(21.0)), plan, observer=frames)
    assert outcome.status == "non-finite"
    assert outcome.stopped_at == pytest.approx(2.9957, abs=1e-4)
    assert outcome.state.x.item() == pytest.approx(20.0, abs=1e-3)
    assert frames.times == [0.0, outcome.stopped_at]
    assert outcome.evaluations < 2000
    assert "NaN or infinite" in outcome.message


@pytest.mark.parametrize("name", ["dopri5", "tsit5", "stiff"])
def test_blow_up_without_an_event_is_located(name):
    plan = Plan(build_method(name), STEP, save_at=())
    outcome = integrate(scalar(lambda t, s: 2 * s * s, 1.0, 1.0), plan)
    assert outcome.status == "blow-up"
    assert outcome.stopped_at == pytest.approx(0.5, abs=5e-6)
    assert torch.isfinite(outcome.state.x).all()


@pytest.mark.parametrize("name", ["dopri5", "tsit5", "stiff"])
@pytest.mark.parametrize("sign", [1.0, -1.0], ids=["forwards", "backwards"])
def test_a_blow_up_at_a_finite_size_is_recognised(name, sign):
    # x' = x exp(x^2) from 0.7 ends at t = E_1(0.49) / 2 with x in single digits
    problem = scalar(lambda t, x: sign * x * torch.exp(x * x), 0.7, sign)
    outcome = integrate(problem, Plan(build_method(name), AdaptiveStep(1e-8, 1e-10), save_at=()))
    assert outcome.status == "blow-up"
    assert outcome.stopped_at == pytest.approx(sign * 0.286044418, abs=1e-6)
    assert outcome.state.x.item() < 10


def test_a_step_that_cannot_meet_its_tolerance_is_too_small():
    # y = sqrt(1 - 2t) ends at t = 1/2 with infinite slope, without growing
    outcome = integrate(scalar(lambda t, y: -1 / y, 1.0, 1.0), Plan(DormandPrince(), STEP))
    assert outcome.status == "step-too-small"
    assert outcome.stopped_at == pytest.approx(0.5, abs=1e-6)
    assert "Loosen rtol" in outcome.message


def test_a_field_that_is_nan_at_the_start_fails_there():
    plan = Plan(Tsitouras(), STEP)
    outcome = integrate(scalar(lambda t, y: y * math.nan, 1.0, 1.0), plan)
    assert (outcome.status, outcome.stopped_at) == ("non-finite", 0.0)
    assert outcome.message.endswith("at the very start.")


def test_saving_lands_on_a_hundred_and_one_equal_times():
    frames = Frames()
    integrate(scalar(lambda t, y: -y, 1.0, 2.0), Plan(Tsitouras(), STEP), observer=frames)
    assert frames.times == [2.0 * (k / 100) for k in range(101)]


def test_given_save_times_are_landed_on_exactly():
    frames = Frames()
    times = (0.1, 0.7, math.pi)
    problem = scalar(lambda t, y: -y, 1.0, 4.0)
    integrate(problem, Plan(DormandPrince(), STEP, save_at=times), observer=frames)
    assert frames.times == [0.0, *times, 4.0]
    for state in frames.saved:
        assert state.x.item() == pytest.approx(math.exp(-state.t), rel=1e-5)


def test_a_save_time_does_not_shrink_the_steps_after_it():
    problem = scalar(lambda t, y: -y, 1.0, 10.0)
    free = integrate(problem, Plan(DormandPrince(), STEP, save_at=()))
    cut = integrate(problem, Plan(DormandPrince(), STEP, save_at=(5.0, 5.0 + 1e-9)))
    assert cut.steps <= free.steps + 4


def test_save_every_counts_accepted_steps():
    frames = Frames()
    plan = Plan(Tsitouras(), AdaptiveStep(largest=0.1), save_every=4)
    outcome = integrate(scalar(lambda t, y: -y, 1.0, 1.0), plan, observer=frames)
    assert len(frames.times) == 2 + (outcome.steps - 1) // 4


def test_largest_and_first_step_are_respected():
    frames = Frames()
    plan = Plan(Tsitouras(), AdaptiveStep(first=1e-3, largest=0.05), save_at=())
    integrate(scalar(lambda t, y: -y, 1.0, 1.0), plan, observer=frames)
    times = [0.0, *(state.t for state in frames.stepped)]
    assert times[1] == pytest.approx(1e-3)
    assert max(b - a for a, b in itertools.pairwise(times)) <= 0.05 + 1e-12


def test_backwards_in_time():
    problem = scalar(lambda t, y: -y, 1.0, -3.0)
    outcome = integrate(problem, Plan(DormandPrince(), STEP))
    assert outcome.state.t == -3.0
    assert outcome.state.x.item() == pytest.approx(math.exp(3.0), rel=1e-5)


def stacked(t, x):
    """Case B06: a slow decay beside a stiff relaxation to a cosine."""
    time = wide(t, x[1])
    return torch.stack([-x[0], -1000 * (x[1] - torch.cos(time[1] if time.ndim else time))])


def alone(t, x):
    return -x


def test_b06_a_result_does_not_depend_on_its_neighbours():
    plan = Plan(DormandPrince(), AdaptiveStep(rtol=1e-3, atol=1e-9), save_at=())
    together = integrate(Problem(stacked, torch.ones(2, 1, 1, dtype=torch.float64), 5.0), plan)
    single = integrate(scalar(alone, 1.0, 5.0), plan)
    assert together.state.x[0].item() == pytest.approx(single.state.x.item(), rel=1e-13)
    assert single.state.x.item() == pytest.approx(0.00673795, rel=1e-3)
    assert together.state.x[1].item() == pytest.approx(math.cos(5.0), abs=2e-3)


def explosive(t, x):
    return x * x


def test_b06_one_blow_up_neither_ends_nor_spoils_the_others():
    frames = Frames()
    x = torch.tensor([-1.0, 1.0, -2.0], dtype=torch.float64).reshape(3, 1, 1)
    plan = Plan(DormandPrince(), STEP, save_at=(0.5, 2.0))
    outcome = integrate(Problem(explosive, x, 4.0), plan, observer=frames)
    assert outcome.member_status == ("finished", "blow-up", "finished")
    assert outcome.member_stopped_at[1] == pytest.approx(1.0, abs=1e-5)
    assert outcome.status == "blow-up"
    assert "1 of 3 systems stopped" in outcome.message
    exact = [x0 / (1 - 4 * x0) for x0 in (-1.0, -2.0)]
    assert outcome.state.x[[0, 2], 0, 0].tolist() == pytest.approx(exact, rel=1e-5)
    assert all(torch.isfinite(state.x).all() for state in frames.saved)
    assert frames.times == [0.0, 0.5, 2.0, 4.0]


def test_systems_of_a_batch_keep_their_own_time():
    frames = Frames()
    x = torch.tensor([1.0, 1e-3], dtype=torch.float64).reshape(2, 1, 1)
    plan = Plan(DormandPrince(), STEP, save_at=())
    integrate(Problem(explosive, x, 0.9), plan, observer=frames)
    apart = [state for state in frames.stepped if state.t[0] != state.t[1]]
    assert apart
    assert frames.saved[-1].t.tolist() == [0.9, 0.9]


def test_a_batch_of_several_axes():
    x = torch.linspace(0.1, 0.6, 6, dtype=torch.float64).reshape(2, 3, 1, 1)
    outcome = integrate(Problem(explosive, x, 1.0), Plan(Tsitouras(), STEP))
    torch.testing.assert_close(outcome.state.x, x / (1 - x), rtol=1e-5, atol=0)
    assert outcome.member_status == ("finished",) * 6


def test_two_tokens_on_the_circle_take_the_time_of_the_integral():
    beta, first, last = 2.0, 2.0, 0.5

    def rate(theta: float) -> float:
        weight = math.exp(beta * math.cos(theta))
        return (math.exp(beta) + weight) / (2 * weight * math.sin(theta))

    time, _ = quadrature.quad(rate, last, first, epsabs=1e-13)
    x = torch.tensor([[1.0, 0.0], [math.cos(first), math.sin(first)]], dtype=torch.float64)
    problem = Problem(self_attention(beta), x, time, retract=normalised)
    outcome = integrate(problem, Plan(Tsitouras(), AdaptiveStep(1e-10, 1e-12), save_at=()))
    angle = math.acos(float(outcome.state.x[0] @ outcome.state.x[1]))
    assert angle == pytest.approx(last, abs=1e-8)


def test_jumps_of_the_field_are_landed_on():
    problem = scalar(
        lambda t, y: torch.full_like(y, 10.0 ** math.floor(t)), 0.0, 2.0, breaks=(1.0, 2.0)
    )
    frames = Frames()
    outcome = integrate(problem, Plan(Tsitouras(), STEP, save_at=()), observer=frames)
    assert outcome.rejected == 0
    assert outcome.state.x.item() == pytest.approx(11.0, rel=1e-13)
    assert 1.0 in [state.t for state in frames.stepped]


def test_max_steps_counts_rejected_trials_too():
    plan = Plan(DormandPrince(), STEP, save_at=(), limits=Limits(max_steps=30))
    outcome = integrate(scalar(explosive, 1.0, 2.0), plan)
    assert outcome.status == "max-steps"
    assert outcome.steps + outcome.rejected == 30


def test_a_method_without_an_estimate_is_refused():
    with pytest.raises(Unsupported, match="doubled:inner=rk4"):
        integrate(scalar(alone, 1.0, 1.0), Plan(RungeKutta4(), STEP))


def test_save_every_in_an_adaptive_batch_is_refused():
    problem = Problem(alone, torch.ones(2, 1, 1, dtype=torch.float64), 1.0)
    with pytest.raises(Unsupported, match="Give save_at"):
        integrate(problem, Plan(Tsitouras(), STEP, save_every=2))


class Boastful(OneStep):
    """A method that promises an estimate and gives none."""

    name = "boastful"
    order = 1
    error_order = 2  # pyright: ignore[reportAssignmentType]

    def step(self, field, t, x, h, first_slope=None) -> Step:
        return Step(x)


def test_a_promised_estimate_that_is_missing_is_named():
    with pytest.raises(Unsupported, match="'boastful' has none"):
        integrate(scalar(alone, 1.0, 1.0), Plan(Boastful(), STEP))


def test_errors_add_up_and_bound_the_true_one():
    outcome = integrate(scalar(alone, 1.0, 5.0), Plan(Heun(), AdaptiveStep(1e-4, 1e-6)))
    true = abs(outcome.state.x.item() - math.exp(-5.0))
    assert outcome.state.error is not None
    assert outcome.state.error.item() > true
