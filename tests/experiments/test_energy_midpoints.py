"""Energies at the midpoints of geodesics: the pairs of the spec, random draws, and the metric."""

import pytest
import torch
from torch.testing import assert_close

import vlasov as vl
from vlasov.energies import covariance_energy
from vlasov.errors import NotFinite, Unsupported
from vlasov.experiments.energy_midpoints import (
    cloud_midpoints,
    covariance_midpoints,
    midpoints_of_pair,
)

EYE = torch.eye(2, dtype=torch.float64)
INDEFINITE = torch.diag(torch.tensor([1.0, -1.0], dtype=torch.float64))
DEFINITE = torch.tensor([[0.8, 0.2], [0.2, 0.5]], dtype=torch.float64)
LAW = vl.Gaussian([0.0, 0.0], EYE)


def equation(attention: str, a: torch.Tensor, sigma: float, b: torch.Tensor = EYE):
    return vl.TransformerPDE(attention, vl.Projections(a, EYE, sigma * b @ a))


@pytest.mark.parametrize(
    ("attention", "ends", "middle"), [("softmax", 0.0950, 0.2577), ("sinkhorn", 0.0877, 0.2157)]
)
def test_an_indefinite_a_is_not_convex_by_the_pair_of_the_spec(attention, ends, middle):
    pde = equation(attention, INDEFINITE, -1.0)
    first, second = (EYE + c * (torch.ones(2, 2).double() - EYE) for c in (0.9, -0.9))
    for cov in (first, second):
        value = covariance_energy(pde, vl.Gaussian([0.0, 0.0], cov)).item()
        assert value == pytest.approx(ends, abs=5e-5)
    assert midpoints_of_pair(pde, first, second)[0].item() == pytest.approx(middle, abs=5e-5)


@pytest.mark.parametrize(
    ("attention", "a", "sigma", "convex"),
    [
        ("softmax", DEFINITE, -1.0, True),
        ("softmax", -DEFINITE, -1.0, True),
        ("softmax", DEFINITE, 1.0, False),
        ("softmax", INDEFINITE, -1.0, False),
        ("linear", DEFINITE, -1.0, True),
        ("sinkhorn", DEFINITE, -1.0, True),
        ("sinkhorn", DEFINITE, 1.0, False),
        ("sinkhorn", INDEFINITE, -1.0, False),
        ("l2", -2.0 * EYE, -1.0, True),
        ("l2", 0.5 * EYE, 1.0, False),
    ],
)
def test_four_hundred_midpoints_of_covariances(attention, a, sigma, convex):
    found = covariance_midpoints(equation(attention, a, sigma), LAW, draws=400, seed=0)
    assert len(found.gaps) == 400
    assert (found.refuted == 0) == convex
    assert (found.bound >= 0) == convex


def test_midpoints_follow_the_metric_of_b():
    root = torch.tensor([[1.3, 0.0], [0.4, 0.7]], dtype=torch.float64)
    outer = equation("softmax", INDEFINITE, -1.0, root @ root.mT)
    inner = equation("softmax", root.mT @ INDEFINITE @ root, -1.0)
    pair = covariance_midpoints(inner, LAW, draws=5, seed=1).ends.unbind(1)
    moved = [root @ cov @ root.mT for cov in pair]
    for found, expected in zip(
        midpoints_of_pair(outer, *moved), midpoints_of_pair(inner, *pair), strict=True
    ):
        assert_close(found, expected)


def test_a_pair_of_diracs_refutes_the_unnormalised_energy():
    # F(mid) - average = .1106 between -.5 and .5 for A = -I
    pde = vl.TransformerPDE("unnormalised", vl.Projections([[-1.0]], [[1.0]], [[1.0]]))
    ends = [vl.energy(pde, vl.Cloud([[x]])).item() for x in (-0.5, 0.5)]
    middle = vl.energy(pde, vl.Cloud([[0.0]])).item()
    assert middle - sum(ends) / 2 == pytest.approx(0.1106, abs=5e-5)
    found = cloud_midpoints(pde, vl.Gaussian(0.0, 0.3), n=1, draws=20, seed=0)
    assert found.refuted > 0
    x = found.ends[:, :, 0, 0]
    expected = torch.exp(-(x.mean(1) ** 2)) / 2 - torch.exp(-(x**2)).mean(1) / 2
    assert_close(found.gaps, expected)
    assert_close(found.squares, (x[:, 0] - x[:, 1]) ** 2)


def test_clouds_are_joined_along_optimal_plans():
    pde = equation("linear", DEFINITE, -1.0)
    found = cloud_midpoints(pde, LAW, n=6, draws=10, seed=0)
    assert_close(found.squares[3].sqrt(), vl.wasserstein(*map(vl.Cloud, found.ends[3])))
    assert found.refuted == 0


def test_displacement_needs_a_constant_metric():
    with pytest.raises(Unsupported, match="for 'softmax' it is B / Z"):
        cloud_midpoints(equation("softmax", DEFINITE, 1.0), LAW, n=4, draws=2, seed=0)


def test_draws_that_overflow_are_refused():
    wide = vl.Gaussian([0.0, 0.0], 1e4 * EYE)
    with pytest.raises(NotFinite, match="all 5 random pairs overflow"):
        cloud_midpoints(equation("unnormalised", DEFINITE, 1.0), wide, n=4, draws=5, seed=0)
