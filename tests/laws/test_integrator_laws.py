"""Laws of every integrator: its order on flat space and on the sphere, its error estimate."""

import pytest
import torch
from zoo import PLANE, SPHERE, TIMED, last_error, observed_order

from vlasov.integration import (
    INTEGRATORS,
    AdaptiveStep,
    FixedStep,
    OneStep,
    Plan,
    SplitField,
    build_method,
    integrate,
)

pytestmark = pytest.mark.usefixtures("unchecked_types")

ONE_STEP = [name for name in INTEGRATORS if isinstance(build_method(name), OneStep)]
ESTIMATING = [name for name in ONE_STEP if build_method(name).error_order is not None]
GEOMETRIES = {"euclid": PLANE, "sphere": SPHERE, "time-dependent": TIMED}

SIZES = [2.0**-k for k in range(3, 8)]  # far from round-off: a fifth-order error is >= 1e-13
COARSE = [1 / k for k in range(6, 15)]  # an eighth-order error is >= 1e-14


def sizes(order: int) -> tuple[list[float], float]:
    """Step sizes that show an order, and how closely they do."""
    return (SIZES, 0.15) if order <= 6 else (COARSE, 0.4)


def commute(name: str, geometry: str) -> bool:
    """Where the parts commute, splitting has no error of its own to measure."""
    return geometry == "time-dependent" and name in {"lie", "strang"}


@pytest.mark.parametrize(
    ("name", "geometry"),
    [(n, g) for n in ONE_STEP for g in GEOMETRIES if not commute(n, g)],
)
def test_observed_order(name, geometry):
    method, exact = build_method(name), GEOMETRIES[geometry]
    steps, close = sizes(method.order)
    errors = [last_error(exact, Plan(method, FixedStep(dt)), 1.0) for dt in steps]
    assert observed_order(steps, errors) == pytest.approx(method.order, abs=close)


@pytest.mark.parametrize("name", ESTIMATING)
def test_slope_of_the_error_estimate(name):
    method = build_method(name)
    field = SplitField(PLANE.parts)
    steps, close = sizes(method.error_order)
    estimates = [float(method.step(field, 0.0, PLANE.initial, h).error.abs().max()) for h in steps]
    assert observed_order(steps, estimates) == pytest.approx(method.error_order, abs=close)


@pytest.mark.parametrize("name", ESTIMATING)
def test_error_estimate_is_of_the_size_of_the_local_error(name):
    method = build_method(name)
    h = 0.05
    step = method.step(SplitField(PLANE.parts), 0.0, PLANE.initial, h)
    local = (step.x - PLANE.solution(h)).abs().max()
    assert step.error.abs().max() >= 0.5 * local


@pytest.mark.parametrize("name", ESTIMATING)
def test_adaptive_steps_meet_the_tolerance(name):
    step = AdaptiveStep(rtol=1e-4, atol=1e-7)
    error = last_error(SPHERE, Plan(build_method(name), step, save_at=()), 2.0)
    # A pair controls the local error: its sum over the run stays within a small multiple.
    assert error <= 50 * step.rtol


@pytest.mark.parametrize("name", ONE_STEP)
def test_states_stay_on_the_sphere(name):
    outcome = integrate(SPHERE.problem(1.0), Plan(build_method(name), FixedStep(0.1)))
    lengths = outcome.state.x.norm(dim=-1)
    torch.testing.assert_close(lengths, torch.ones_like(lengths), rtol=1e-15, atol=1e-15)


@pytest.mark.parametrize("name", INTEGRATORS)
def test_spec_round_trip(name):
    method = build_method(name)
    assert INTEGRATORS.build(INTEGRATORS.spec(method)) == method


@pytest.mark.parametrize("name", INTEGRATORS)
def test_docstring_has_a_source(name):
    assert "Source:" in (INTEGRATORS[name].__doc__ or "")


@pytest.mark.parametrize("name", ONE_STEP)
def test_a_step_of_size_zero_changes_nothing(name):
    step = build_method(name).step(SplitField(PLANE.parts), 0.0, PLANE.initial, 0.0)
    assert torch.equal(step.x, PLANE.initial)


@pytest.mark.parametrize("name", ONE_STEP)
def test_one_size_per_system_is_each_system_alone(name):
    method, field = build_method(name), SplitField(TIMED.parts)
    x = torch.stack([PLANE.initial, 2 * PLANE.initial])
    t, h = torch.tensor([[0.0, 0.7], [0.1, 0.2]], dtype=torch.float64)
    together = method.step(field, t, x, h).x
    alone = [method.step(field, float(t[i]), x[i], float(h[i])).x for i in range(2)]
    torch.testing.assert_close(together, torch.stack(alone), rtol=1e-14, atol=1e-14)
