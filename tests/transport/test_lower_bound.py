"""Gelbrich's bound: below W_2, equal to it for Gaussians and affine images."""

import pytest
import torch

from vlasov.cloud import Cloud
from vlasov.errors import NotFinite, ShapeMismatch
from vlasov.gaussian import Gaussian
from vlasov.transport.gaussian import bures_wasserstein
from vlasov.transport.lower_bound import gelbrich, moments
from vlasov.transport.to_gaussian import to_gaussian
from vlasov.transport.wasserstein import distance

DOUBLE = torch.float64


def _cloud(n, d, generator):
    x = torch.randn(n, d, generator=generator, dtype=DOUBLE)
    w = torch.rand(n, generator=generator, dtype=DOUBLE)
    return Cloud(x, w / w.sum())


def test_c03_moments_are_those_of_the_measure():
    assert moments(Cloud([[0.0], [2.0]])).cov.item() == pytest.approx(1.0, abs=1e-15)
    assert moments(Cloud([[5.0]])).cov.item() == 0


@pytest.mark.parametrize("d", [1, 2, 5])
def test_it_lies_below_the_distance(d, generator):
    for _ in range(5):
        a, b = _cloud(8, d, generator), _cloud(11, d, generator)
        bound = gelbrich(a, b)
        assert bound.value <= distance(a, b).value + 1e-12
        assert (bound.optimal, "lower bound" in bound.method) == (False, True)


def test_it_lies_below_the_distance_to_a_gaussian(generator):
    cloud, law = _cloud(20, 1, generator), Gaussian(0.3, 0.7)
    assert gelbrich(cloud, law).value <= to_gaussian(cloud, law).value


def test_it_is_the_distance_of_an_affine_image(generator):
    a = _cloud(10, 3, generator)
    root = torch.randn(3, 3, generator=generator, dtype=DOUBLE)
    b = a.with_points(a.points @ (root @ root.mT) + 1.0)
    assert gelbrich(a, b).value.item() == pytest.approx(distance(a, b).value.item(), rel=1e-10)


def test_gaussians_are_at_their_distance(generator):
    a, b = Gaussian([0.0, 1.0], torch.eye(2)), Gaussian([2.0, 0.0], 3 * torch.eye(2))
    found = gelbrich(a, b)
    assert found.value.item() == pytest.approx(bures_wasserstein(a, b).item(), rel=1e-14)
    assert found.optimal


def test_nodes_of_a_gaussian_have_its_moments():
    law = Gaussian([1.0, -1.0], [[2.0, 0.5], [0.5, 1.0]])
    nodes = Cloud.hermite(5, law.mean, law.cov)
    assert gelbrich(nodes, law).value.item() < 1e-7


def test_gradients_are_finite_where_the_moments_agree(generator):
    cloud = _cloud(6, 2, generator)
    x = cloud.points.requires_grad_()
    (slope,) = torch.autograd.grad(gelbrich(cloud.with_points(x), cloud).value, x)
    assert slope.tolist() == torch.zeros_like(x).tolist()
    other = _cloud(5, 2, generator)
    assert torch.autograd.gradcheck(lambda x: gelbrich(cloud.with_points(x), other).power, x)


def test_bad_clouds_are_refused():
    bad = Cloud([[0.0]]).with_points(torch.tensor([[float("nan")]], dtype=DOUBLE))
    with pytest.raises(NotFinite):
        gelbrich(bad, Cloud([[0.0]]))
    with pytest.raises(ShapeMismatch, match="width"):
        gelbrich(Cloud([[0.0]]), Cloud([[0.0, 1.0]]))
    with pytest.raises(ShapeMismatch, match="batch"):
        gelbrich(Cloud([[[0.0]], [[1.0]]]), Cloud([[0.0]]))
