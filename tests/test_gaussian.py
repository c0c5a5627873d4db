"""Gaussian laws: roots of singular covariances, pushes, refusals."""

import pytest
import torch

from vlasov._roots import symmetric_root
from vlasov.errors import NotFinite, NotPositive, ShapeMismatch
from vlasov.gaussian import Affine, Gaussian


def _covariances(d, rank, count=5, seed=0):
    generator = torch.Generator().manual_seed(seed)
    roots = torch.randn(count, d, rank, generator=generator, dtype=torch.float64)
    return roots @ roots.mT


@pytest.mark.parametrize("rank", [0, 1, 2, 3])
def test_a_covariance_of_any_rank_comes_back(rank):
    cov = _covariances(3, rank)
    law = Gaussian(torch.zeros(3, dtype=torch.float64), cov)
    assert torch.allclose(law.cov, cov, rtol=1e-13, atol=1e-14)
    assert (law.rank == rank).all()
    assert law.batch_shape == (5,)


def test_a_push_moves_mean_and_covariance():
    law = Gaussian([1.0, 2.0], [[2.0, 0.5], [0.5, 1.0]])
    matrix = torch.tensor([[0.0, 1.0], [-1.0, 3.0]], dtype=torch.float64)
    moved = law.push(Affine(matrix, torch.ones(2, dtype=torch.float64)))
    assert torch.allclose(moved.cov, matrix @ law.cov @ matrix.T, atol=1e-15)
    assert moved.mean.tolist() == [3.0, 6.0]


def test_affine_maps_compose():
    generator = torch.Generator().manual_seed(1)
    a, b = (
        Affine(*(torch.randn(s, generator=generator, dtype=torch.float64) for s in [(2, 2), (2,)]))
        for _ in range(2)
    )
    x = torch.randn(4, 2, generator=generator, dtype=torch.float64)
    assert torch.allclose(a.after(b)(x), a(b(x)), atol=1e-14)


def test_numbers_are_a_law_on_the_line():
    law = Gaussian(3.0, 4.0)
    assert law.mean.tolist() == [3.0]
    assert law.cov.tolist() == [[4.0]]


@pytest.mark.parametrize("diagonal", [[1.0, 0.0], [1.0, 1.0], [0.0, 0.0]])
def test_gradients_pass_singular_and_isotropic_covariances(diagonal):
    cov = torch.diag(torch.tensor(diagonal, dtype=torch.float64)).requires_grad_()
    Gaussian(torch.zeros(2, dtype=torch.float64), cov).cov[0, 0].backward()
    assert cov.grad.tolist() == [[1.0 if diagonal[0] else 0.0, 0.0], [0.0, 0.0]]


def test_the_derivative_of_the_root():
    s = _covariances(3, 3).requires_grad_()
    assert torch.autograd.gradcheck(lambda s: symmetric_root(s + s.mT), s)


@pytest.mark.parametrize(
    ("mean", "cov", "error", "words"),
    [
        ([0.0, 0.0], [[1.0]], ShapeMismatch, "widths"),
        ([0.0], [1.0], ShapeMismatch, "shape"),
        (torch.zeros(3, 2), torch.eye(2).expand(4, 2, 2), ShapeMismatch, "Batches"),
        ([0.0, 0.0], [[1.0, 2.0], [0.0, 1.0]], NotPositive, "symmetric"),
        ([0.0, 0.0], [[1.0, 2.0], [2.0, 1.0]], NotPositive, "negative eigenvalue"),
        ([0.0], [[float("nan")]], NotFinite, "covariance"),
        ([float("inf")], [[1.0]], NotFinite, "mean"),
    ],
)
def test_what_is_no_law_is_refused(mean, cov, error, words):
    with pytest.raises(error, match=words):
        Gaussian(mean, cov)


def test_a_covariance_near_the_largest_number_keeps_its_size():
    law = Gaussian([0.0, 0.0], [[1e308, 0.0], [0.0, 1e300]])
    assert law.rank == 2
    assert law.cov.diagonal().tolist() == pytest.approx([1e308, 1e300])
