"""Draws of the normal law."""

import math

import pytest
import torch
from torch.testing import assert_close

from vlasov import sampling
from vlasov.errors import NotFinite, NotPositive, ShapeMismatch

EPS = torch.finfo(torch.float64).eps
COV = [[2.0, 0.6], [0.6, 0.5]]
MEAN = [1.0, -2.0]
N = 20_000
# Bound on the deviation of a mean in its standard deviations: passed by chance once in 10^6.
SIGMAS = 5.0


def covariance(x: torch.Tensor) -> torch.Tensor:
    centred = x - x.mean(0)
    return centred.mT @ centred / len(x)


def test_gaussian_draws_have_the_mean_and_covariance():
    x, cov = sampling.gaussian(N, MEAN, COV, seed=1), torch.tensor(COV, dtype=torch.float64)
    deviation = (cov.diagonal() / N).sqrt()
    assert ((x.mean(0) - torch.tensor(MEAN)).abs() <= SIGMAS * deviation).all()
    # Var of an entry of the sample covariance: (S_ii S_jj + S_ij^2) / n
    variance = (torch.outer(cov.diagonal(), cov.diagonal()) + cov.square()) / N
    assert ((covariance(x) - cov).abs() <= SIGMAS * variance.sqrt()).all()


@pytest.mark.parametrize("slope", [0.0, 0.5, -3.0])
def test_a_singular_covariance_keeps_every_draw_on_its_line(slope):
    x = sampling.gaussian(500, cov=[[1.0, slope], [slope, slope**2]], seed=2)
    assert_close(x[:, 1], slope * x[:, 0], atol=100 * EPS, rtol=0)


def test_a_covariance_of_zero_draws_the_mean():
    x = sampling.gaussian(3, MEAN, torch.zeros(2, 2))
    assert torch.equal(x, torch.tensor([MEAN] * 3, dtype=torch.float64))


def test_a_seed_fixes_the_draws():
    first, again, other = (sampling.gaussian(4, d=2, seed=seed) for seed in (5, 5, 6))
    assert torch.equal(first, again)
    assert not torch.equal(first, other)


def test_draws_do_not_touch_the_global_generator():
    before = torch.get_rng_state()
    sampling.gaussian(4, d=2)
    assert torch.equal(torch.get_rng_state(), before)


@pytest.mark.parametrize(
    "law",
    [
        {"mean": 2.0, "cov": 9.0},
        {"mean": [2.0], "cov": [[9.0]]},
        {"mean": 2.0, "cov": 9.0, "d": 1},
    ],
)
def test_numbers_are_a_law_on_the_line(law):
    expected = 2 + 3 * sampling.gaussian(4, d=1, seed=3)
    assert_close(sampling.gaussian(4, **law, seed=3), expected, atol=10 * EPS, rtol=10 * EPS)


def test_defaults_are_the_standard_law():
    standard = sampling.gaussian(4, d=2)
    assert torch.equal(sampling.gaussian(4, mean=[0, 0]), standard)
    assert torch.equal(sampling.gaussian(4, cov=torch.eye(2)), standard)


@pytest.mark.parametrize(
    "law",
    [
        {},
        {"mean": [0.0, 0.0], "cov": torch.eye(3)},
        {"mean": [0.0, 0.0], "d": 3},
        {"mean": [0.0, 0.0], "cov": 1.0},
        {"mean": [[0.0, 0.0]]},
        {"cov": [1.0, 2.0]},
        {"cov": [[1.0, 2.0]], "d": 2},
    ],
)
def test_widths_that_do_not_agree_are_refused(law):
    with pytest.raises(ShapeMismatch, match=r"mean of shape \(d,\) and a cov of shape \(d, d\)"):
        sampling.gaussian(4, **law)


def test_a_negative_eigenvalue_is_named():
    with pytest.raises(NotPositive, match=r"the smallest found is -1. Check"):
        sampling.gaussian(4, cov=[[1.0, 2.0], [2.0, 1.0]])


def test_a_negative_variance_is_named():
    with pytest.raises(NotPositive, match="smallest found is -2"):
        sampling.gaussian(4, cov=-2.0)


def test_an_eigenvalue_negative_by_rounding_counts_as_zero():
    x = sampling.gaussian(4, cov=[[1.0, 0.0], [0.0, -1e-12]])
    assert torch.equal(x[:, 1], torch.zeros(4, dtype=torch.float64))


def test_a_covariance_computed_in_single_precision_is_accepted():
    cov = torch.tensor([[1.0, 0.5], [0.5, 0.25]])
    cov[0, 1] += torch.finfo(torch.float32).eps
    assert sampling.gaussian(4, cov=cov).shape == (4, 2)


def test_an_unsymmetric_covariance_is_refused():
    with pytest.raises(NotPositive, match=r"differ by 0.5. Pass \(cov \+ cov.T\) / 2"):
        sampling.gaussian(4, cov=[[1.0, 0.5], [0.0, 1.0]])


@pytest.mark.parametrize(
    ("law", "name"), [({"mean": [math.nan]}, "mean"), ({"cov": math.inf}, "cov")]
)
def test_a_law_that_is_not_finite_is_refused(law, name):
    with pytest.raises(NotFinite, match=f"The {name}.* must be finite"):
        sampling.gaussian(4, **law)
