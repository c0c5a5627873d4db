"""Splitting and step doubling."""

import pytest
import torch
from zoo import PLANE, normalised, observed_order, scalar, self_attention, tangent

from vlasov.errors import InvalidValue, UnknownName, Unsupported
from vlasov.integration import (
    Doubled,
    FixedStep,
    Lie,
    Method,
    Plan,
    Problem,
    RungeKutta,
    RungeKutta4,
    SplitField,
    Stiff,
    Strang,
    build_method,
    integrate,
)


def seeded(*shape: int) -> torch.Tensor:
    return torch.randn(*shape, dtype=torch.float64, generator=torch.Generator().manual_seed(1))


@pytest.mark.parametrize(("name", "order"), [("lie", 1), ("strang", 2)])
def test_v12_splitting_of_attention_and_mlp(name, order):
    inner, outer = seeded(3, 8), seeded(8, 3) / 4

    def perceptron(t, x):
        return tangent(x, torch.tanh(x @ inner) @ outer)

    field = SplitField((self_attention(2.0), perceptron))
    problem = Problem(field, normalised(seeded(16, 3)), 1.0, retract=normalised)
    exact = integrate(problem, Plan(RungeKutta4(), FixedStep(1e-3))).state.x
    sizes = [0.2, 0.1, 0.05, 0.025, 0.0125]
    errors = [
        float((integrate(problem, Plan(build_method(name), FixedStep(dt))).state.x - exact).norm())
        for dt in sizes
    ]
    assert observed_order(sizes, errors) == pytest.approx(order, abs=0.1)


def test_lie_steps_the_parts_in_their_order():
    add, double = (lambda t, x: torch.ones_like(x)), (lambda t, x: x)
    step = Lie(inner="euler").step(SplitField((add, double)), 0.0, torch.ones(1, 1), 1.0)
    assert step.x.item() == 4.0


def test_strang_with_inexact_parts_counts_each_part():
    outcome = integrate(PLANE.problem(1.0), Plan(Strang(inner="euler"), FixedStep(0.1)))
    assert outcome.evaluations == 3 * 10


def test_other_methods_count_a_split_field_once():
    outcome = integrate(PLANE.problem(1.0), Plan(RungeKutta4(), FixedStep(0.1)))
    assert outcome.evaluations == 4 * 10


def test_parts_see_the_left_limit_at_a_jump():
    def late(t, x):
        return torch.full_like(x, float(t >= 1.0))

    problem = scalar(SplitField((late, late)), 0.0, 1.0, breaks=(1.0,))
    assert integrate(problem, Plan(Strang(), FixedStep(0.5))).state.x.item() == 0.0


@pytest.mark.parametrize("name", ["lie", "strang"])
def test_a_field_of_one_part_is_refused(name):
    for field in (lambda t, x: x, SplitField((lambda t, x: x,))):
        with pytest.raises(Unsupported, match="this field has one part"):
            integrate(scalar(field, 1.0, 1.0), Plan(build_method(name), FixedStep(0.1)))


def test_a_field_of_no_part_is_refused():
    with pytest.raises(InvalidValue, match="at least one part"):
        SplitField(())


@pytest.mark.parametrize("name", ["lie", "strang", "doubled"])
def test_unknown_inner_methods_are_named(name):
    with pytest.raises(UnknownName, match="did you mean 'rk4'"):
        build_method(f"{name}:inner=rk5")


def test_doubling_keeps_the_trajectory_of_the_inner_method():
    plain = integrate(PLANE.problem(1.0), Plan(RungeKutta4(), FixedStep(0.1)))
    doubled = integrate(PLANE.problem(1.0), Plan(Doubled(RungeKutta4()), FixedStep(0.1)))
    assert torch.equal(plain.state.x, doubled.state.x)
    assert plain.state.error is None
    true = (plain.state.x - PLANE.solution(1.0)).abs().max()
    assert doubled.state.error == pytest.approx(float(true), rel=1.0)


def test_doubling_takes_methods_and_specs():
    assert Doubled(Strang(inner="heun")) == build_method("doubled:inner=strang:inner=heun")
    assert Doubled(Strang(inner="heun")).order == 2


class Midpoint(RungeKutta):
    """A table of the user's own."""

    name = "midpoint"
    order = 2
    tableau = build_method("heun").tableau


def test_doubling_takes_a_method_outside_the_catalogue():
    step = Doubled(Midpoint()).step(lambda t, x: -x, 0.0, torch.ones(1, 1), 0.1)
    assert step.error is not None


def test_doubling_refuses_what_has_no_single_step():
    with pytest.raises(Unsupported, match="no single step"):
        Doubled(Stiff())


class Odd(Method):
    """A way to cross time that no march knows."""

    name = "odd"
    order = 1


def test_a_method_that_no_march_knows_is_refused():
    with pytest.raises(Unsupported, match="no one-step method"):
        integrate(scalar(lambda t, x: x, 1.0, 1.0), Plan(Odd(), FixedStep(0.1)))
