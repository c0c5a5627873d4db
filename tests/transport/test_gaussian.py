"""Bures-Wasserstein: known values, singular and equal covariances, gradients, refusals."""

import math

import pytest
import torch

from vlasov.errors import NotFinite, ShapeMismatch
from vlasov.gaussian import Gaussian
from vlasov.transport.gaussian import (
    bures_wasserstein,
    bures_wasserstein_squared,
    gaussian_distance,
)
from vlasov.transport.gaussian_path import gaussian_map

DOUBLE = torch.float64
ROUNDING = 1e-12


def _laws(d, rank, count, generator):
    factor = torch.randn(count, d, rank, generator=generator, dtype=DOUBLE)
    mean = torch.randn(count, d, generator=generator, dtype=DOUBLE)
    return Gaussian(mean, factor @ factor.mT)


def _centred(cov):
    cov = torch.as_tensor(cov, dtype=DOUBLE)
    return Gaussian(torch.zeros(cov.shape[-1], dtype=DOUBLE), cov)


@pytest.mark.parametrize(
    ("s", "t", "square"),
    [
        ([[1.0, 0.0], [0.0, 0.0]], [[0.0, 0.0], [0.0, 1.0]], 2.0),
        ([[1.0, 1.0], [1.0, 1.0]], [[1.0, -1.0], [-1.0, 1.0]], 4.0),
        ([[0.0, 0.0], [0.0, 0.0]], [[0.0, 0.0], [0.0, 0.0]], 0.0),
    ],
)
def test_c01_singular_and_zero_covariances(s, t, square):
    found = bures_wasserstein_squared(_centred(s), _centred(t))
    assert found.dtype == DOUBLE
    assert found.item() == pytest.approx(square, abs=ROUNDING)


def test_c01_on_the_line():
    distance = gaussian_distance(Gaussian(0.0, 1.0), Gaussian(3.0, 4.0))
    assert distance.power.item() == pytest.approx(10.0, abs=ROUNDING)
    assert float(distance) == pytest.approx(math.sqrt(10.0), abs=ROUNDING)
    assert (distance.p, distance.optimal) == (2.0, True)


def test_c02_the_distance_to_itself_is_zero(generator):
    steep = _centred([[1.0, 0.999999], [0.999999, 1.0]])
    assert bures_wasserstein(steep, steep).item() == 0
    for law in (_laws(20, 20, 5, generator), _laws(20, 3, 5, generator)):
        assert bures_wasserstein(law, law).tolist() == [0.0] * 5


@pytest.mark.parametrize("ranks", [(3, 3), (3, 1), (1, 2), (0, 3), (0, 0)])
def test_the_formula_of_the_roots(ranks, generator):
    a, b = (_laws(3, rank, 4, generator) for rank in ranks)
    values, u = torch.linalg.eigh(a.cov)
    root = u @ torch.diag_embed(values.clamp(min=0).sqrt()) @ u.mT
    cross = torch.linalg.eigvalsh(root @ b.cov @ root).clamp(min=0).sqrt().sum(-1)
    traces = (a.cov + b.cov).diagonal(dim1=-2, dim2=-1).sum(-1)
    wanted = (a.mean - b.mean).square().sum(-1) + traces - 2 * cross
    # a null eigenvalue of size u is a root of size sqrt(u)
    assert torch.allclose(bures_wasserstein_squared(a, b), wanted, atol=1e-6)


def test_factors_of_different_shape_are_one_law(generator):
    wide = torch.randn(3, 7, generator=generator, dtype=DOUBLE)
    mean = torch.zeros(3, dtype=DOUBLE)
    law, same = Gaussian.of_factor(mean, wide), Gaussian(mean, wide @ wide.mT)
    assert bures_wasserstein(law, same).item() < 1e-13 * wide.norm()


@pytest.mark.parametrize("step", [1e-3, 1e-6, 1e-9, 1e-12])
def test_small_differences_keep_their_digits(step, generator):
    spread = torch.rand(4, generator=generator, dtype=DOUBLE) + 0.5
    mean = torch.zeros(4, dtype=DOUBLE)
    a = Gaussian.of_factor(mean, torch.diag(spread))
    b = Gaussian.of_factor(mean, torch.diag(spread + step))
    assert bures_wasserstein(a, b).item() == pytest.approx(2 * step, rel=1e-15 / step)


def test_it_is_a_metric(generator):
    a, b, c = (_laws(3, 2, 50, generator) for _ in range(3))
    ab, bc, ac = bures_wasserstein(a, b), bures_wasserstein(b, c), bures_wasserstein(a, c)
    assert torch.allclose(ab, bures_wasserstein(b, a), rtol=1e-12)
    assert (ac <= ab + bc + 1e-12).all()


def test_a_batch_meets_one_law(generator):
    many, one = _laws(3, 3, 6, generator), _laws(3, 2, 1, generator)
    single = Gaussian.of_factor(one.mean[0], one.factor[0])
    found = bures_wasserstein(many, single)
    assert found.shape == (6,)
    fourth = Gaussian.of_factor(many.mean[3], many.factor[3])
    assert found[3].item() == pytest.approx(bures_wasserstein(fourth, single).item(), rel=1e-12)


def test_the_derivative_in_means_and_covariances(generator):
    a, b = _laws(3, 3, 2, generator), _laws(3, 3, 2, generator)
    inputs = [x.detach().requires_grad_() for x in (a.mean, a.cov, b.mean, b.cov)]

    def square(m, s, n, t):
        return bures_wasserstein_squared(Gaussian(m, s + s.mT), Gaussian(n, t + t.mT))

    assert torch.autograd.gradcheck(square, inputs)


def test_the_derivative_is_the_identity_less_the_map(generator):
    a, b = _laws(3, 3, 1, generator), _laws(3, 3, 1, generator)
    cov = a.cov.requires_grad_()
    bures_wasserstein_squared(Gaussian(a.mean, cov), b).sum().backward()
    wanted = torch.eye(3, dtype=DOUBLE) - gaussian_map(a, b).matrix
    assert torch.allclose(cov.grad, wanted, atol=1e-10)


@pytest.mark.parametrize("diagonal", [(1.0, 1.0), (2.0, 2.0), (1.0, 0.0), (0.0, 0.0), (0.0, 3.0)])
def test_gradients_are_finite_at_equal_isotropic_and_singular_covariances(diagonal):
    cov = torch.diag(torch.tensor(diagonal, dtype=DOUBLE)).requires_grad_()
    mean = torch.zeros(2, dtype=DOUBLE, requires_grad=True)
    other = _centred([[1.0, 0.0], [0.0, 1.0]])
    for function in (bures_wasserstein, bures_wasserstein_squared):
        slopes = torch.autograd.grad(function(Gaussian(mean, cov), other), (mean, cov))
        assert all(slope.isfinite().all() for slope in slopes)
        if diagonal == (1.0, 1.0):
            assert all((slope == 0).all() for slope in slopes)


def test_a_second_derivative_is_refused(generator):
    law = _laws(2, 2, 1, generator)
    cov = law.cov.requires_grad_()
    square = bures_wasserstein_squared(Gaussian(law.mean, cov), _laws(2, 2, 1, generator))
    (slope,) = torch.autograd.grad(square.sum(), cov, create_graph=True)
    with pytest.raises(RuntimeError, match="does not require grad"):
        slope.sum().backward()


@pytest.mark.parametrize(
    ("a", "b", "error", "words"),
    [
        (Gaussian(0.0, 1.0), _centred(torch.eye(2)), ShapeMismatch, "same width"),
        (Gaussian(1e200, 1.0), Gaussian(0.0, 1.0), NotFinite, "overflows"),
        (
            Gaussian.of_factor(torch.zeros(1).double(), torch.full((1, 1), 1e200, dtype=DOUBLE)),
            Gaussian(0.0, 1.0),
            NotFinite,
            "overflows",
        ),
        (_centred(torch.eye(2).expand(3, 2, 2)), _centred(torch.eye(2)), ShapeMismatch, "batch"),
    ],
)
def test_what_has_no_distance_is_refused(a, b, error, words):
    with pytest.raises(error, match=words):
        gaussian_distance(a, b)
