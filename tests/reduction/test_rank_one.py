"""Laws on a line: where their curve rests, blows up, or turns for ever."""

import math

import pytest
import torch
from covariance_equation import normal, one_head
from torch.testing import assert_close

import vlasov as vl
from vlasov.errors import InvalidValue, NotConverged, Unsupported
from vlasov.reduction.exact import closed_form, exact, exact_blow_up_time, exact_limit

EYE = torch.eye(2, dtype=torch.float64)
J = torch.tensor([[0.0, -1.0], [1.0, 0.0]], dtype=torch.float64)
SHEAR = torch.tensor([[0.0, 1.0], [0.0, 0.0]], dtype=torch.float64)
STRETCH = torch.diag(torch.tensor([1.0, -1.0], dtype=torch.float64))


def on_a_line(x: float, y: float) -> vl.Gaussian:
    line = torch.tensor([x, y], dtype=torch.float64)
    return vl.Gaussian(0 * line, torch.outer(line, line))


@pytest.mark.parametrize("attention", ["softmax", "l2", "sinkhorn:eps=0.5"])
def test_the_curve_rests_on_an_isotropic_line(attention):
    """The line l = (a e^s, c e^-s) rests where l^T A l = c^2 e^-2s - a^2 e^2s vanishes."""
    pde, law = one_head(attention, STRETCH, -STRETCH), on_a_line(0.5, 2.0)
    assert closed_form(pde, law).case == "the law has rank one"
    assert_close(exact_limit(pde, law), torch.ones(2, 2).double(), rtol=1e-9, atol=0.0)
    assert_close(exact(pde, law, 50.0).cov, torch.ones(2, 2).double(), rtol=1e-9, atol=0.0)
    assert exact_blow_up_time(pde, law) is None


def test_the_curve_shrinks_to_zero():
    pde, law = one_head("softmax", EYE + 0.3 * SHEAR, -EYE), on_a_line(1.0, 2.0)
    assert exact_limit(pde, law).abs().max() < 1e-12


def test_the_curve_turns_for_ever():
    """V = J and A = I: l^T A l is constant, and the line turns at that rate."""
    pde, law = one_head("softmax", J, EYE), on_a_line(2.0, 0.0)
    turned = torch.tensor([2 * math.cos(4 * 3.0), 2 * math.sin(4 * 3.0)], dtype=torch.float64)
    assert_close(exact(pde, law, 3.0).cov, torch.outer(turned, turned))
    assert_close(exact(pde, law, -3.0).cov[0, 1], -exact(pde, law, 3.0).cov[0, 1])
    assert exact_blow_up_time(pde, law) is None
    with pytest.raises(InvalidValue, match="but this one goes on"):
        exact_limit(pde, law)
    with pytest.raises(NotConverged, match="has only reached t = "):
        exact(pde, law, 1e6)


def test_a_blow_up_that_comes_slowly_is_left_open():
    """V nilpotent: l = (s, 1) and dt = ds/(1 + s^2), so t* = pi/2 is approached as 1/s."""
    pde, law = one_head("softmax", SHEAR, EYE), on_a_line(0.0, 1.0)
    found = exact(pde, law, 1.5).cov
    assert found[0, 0].item() == pytest.approx(math.tan(1.5) ** 2, rel=1e-10)
    with pytest.raises(NotConverged, match="integrate the equation"):
        exact_blow_up_time(pde, law)


def test_a_curve_that_blows_up_has_no_limit_and_an_end():
    value = EYE + 0.3 * SHEAR
    pde, law = one_head("softmax", value, EYE), on_a_line(1.0, 0.5)
    end = exact_blow_up_time(pde, law)
    assert end is not None
    with pytest.raises(InvalidValue, match="goes on; ask for its blow-up time"):
        exact_limit(pde, law)
    with pytest.raises(InvalidValue, match=r"ends at t\* = "):
        exact(pde, law, 1.01 * end)
    assert torch.linalg.eigvalsh(exact(pde, law, (1 - 1e-6) * end).cov)[-1] > 1e5


def test_a_mean_off_the_theory_is_refused():
    law = vl.Gaussian([1.0, 0.0], on_a_line(1.0, 0.5).cov)
    with pytest.raises(Unsupported, match="its mean has none; centre the law"):
        exact(one_head("softmax", normal(2, 2, seed=1), EYE), law, 0.1)


def test_limits_under_linear_attention_are_those_of_the_covariance():
    score, law = -torch.outer(EYE[0], EYE[0]), vl.Gaussian([0.3, 0.4], EYE)
    pde = one_head("linear", EYE, score)
    assert_close(exact_limit(pde, law), exact(pde, law, 1e12).cov, rtol=1e-5, atol=1e-5)
    still = vl.Gaussian([1.0, 0.0], [[0.0, 0.0], [0.0, 1.0]])
    with pytest.raises(InvalidValue, match="may turn for ever"):
        exact_limit(one_head("linear", EYE, J), still)
    centred = vl.Gaussian([0.0, 0.0], EYE)
    assert_close(exact_limit(one_head("linear", EYE, J), centred), EYE)
