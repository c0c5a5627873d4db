"""What problems, steps, limits and plans refuse, and in which words."""

import math

import pytest
import torch
from zoo import scalar

from vlasov.errors import InvalidValue, NotFinite, ShapeMismatch, UnknownName
from vlasov.integration import (
    STATUSES,
    AdaptiveStep,
    Euler,
    FixedStep,
    Limits,
    Plan,
    Problem,
    build_method,
    integrate,
)
from vlasov.integration.status import describe


def still(t, x):
    return 0 * x


@pytest.mark.parametrize("dt", [0.0, -0.1, math.nan, math.inf])
def test_step_sizes_must_be_positive(dt):
    with pytest.raises(InvalidValue, match="A step size must be a finite number above 0"):
        FixedStep(dt)


@pytest.mark.parametrize("given", [{"rtol": -1.0}, {"atol": math.nan}, {"rtol": math.inf}])
def test_tolerances_must_be_finite_and_not_negative(given):
    with pytest.raises(InvalidValue, match="must be finite and >= 0"):
        AdaptiveStep(**given)


def test_two_zero_tolerances_are_refused():
    with pytest.raises(InvalidValue, match="no step can meet"):
        AdaptiveStep(rtol=0.0, atol=0.0)


@pytest.mark.parametrize(
    ("given", "phrase"),
    [({"first": 0.0}, "first step size"), ({"largest": -1.0}, "largest step size")],
)
def test_adaptive_sizes_must_be_positive(given, phrase):
    with pytest.raises(InvalidValue, match=phrase):
        AdaptiveStep(**given)


@pytest.mark.parametrize(
    ("given", "phrase"),
    [({"max_steps": 0}, "max_steps"), ({"wall_time": -1.0}, "wall-time limit in seconds")],
)
def test_limits_must_be_positive(given, phrase):
    with pytest.raises(InvalidValue, match=phrase):
        Limits(**given)


def test_two_ways_of_saving_are_refused():
    with pytest.raises(InvalidValue, match="Choose one of them"):
        Plan(Euler(), FixedStep(0.1), save_at=(0.5,), save_every=2)


def test_save_every_is_a_count():
    with pytest.raises(InvalidValue, match="at least 1"):
        Plan(Euler(), FixedStep(0.1), save_every=0)


def test_save_times_outside_the_run_are_refused():
    with pytest.raises(InvalidValue, match=r"between 0.0 and 1.0 but 2.0 does not"):
        integrate(scalar(still, 1.0, 1.0), Plan(Euler(), FixedStep(0.1), save_at=(0.5, 2.0)))


@pytest.mark.parametrize("bad", [math.nan, math.inf])
def test_b04_a_state_that_is_not_finite_is_refused_at_once(bad):
    with pytest.raises(NotFinite, match="1 of 1 entries are NaN or infinite"):
        scalar(still, bad, 1.0)


@pytest.mark.parametrize("until", [math.nan, math.inf])
def test_times_must_be_finite(until):
    with pytest.raises(InvalidValue, match="needs finite times"):
        scalar(still, 1.0, until)


@pytest.mark.parametrize("x", [torch.ones(2, 2, dtype=torch.int64), torch.ones(0, 2)])
def test_states_are_non_empty_and_floating(x):
    with pytest.raises(InvalidValue, match="non-empty tensor of floating-point numbers"):
        Problem(still, x, 1.0)


def test_a_state_with_too_few_axes_is_refused():
    with pytest.raises(ShapeMismatch, match="A system has 2 axes"):
        Problem(still, torch.ones(3), 1.0)


def test_systems_may_have_other_numbers_of_axes():
    outcome = integrate(
        Problem(lambda t, x: -x, torch.ones(3, dtype=torch.float64), 1.0, system_ndim=0),
        Plan(build_method("tsit5"), AdaptiveStep()),
    )
    assert outcome.member_status == ("finished",) * 3
    assert outcome.state.x.tolist() == pytest.approx([math.exp(-1)] * 3, rel=1e-5)


def test_unknown_integrators_are_named():
    with pytest.raises(UnknownName, match="did you mean 'tsit5'"):
        build_method("tsit6")


def test_build_method_passes_methods_through():
    assert build_method(Euler()) == Euler()


@pytest.mark.parametrize("status", STATUSES)
def test_every_status_has_a_sentence(status):
    text = describe(status, t=1.0, until=2.0, steps=3)
    assert text.endswith(".")
    assert "{" not in text
