"""Diameter, norms and cosines against all pairs, and on sizes where all pairs are too many."""

import math

import pytest
import torch
from torch.testing import assert_close

from vlasov.cloud import Cloud
from vlasov.observables import Diameter, MaxNorm, MeanCosine, MinCosine
from vlasov.observables.farthest import farthest_pair


def all_pairs(x: torch.Tensor) -> float:
    return max(float((x[i : i + 200, None] - x).norm(dim=-1).max()) for i in range(0, len(x), 200))


CLOUDS = {
    "gaussian": lambda g: torch.randn(4500, 2, generator=g, dtype=torch.float64),
    "three clumps": lambda g: (
        1e-3 * torch.randn(4500, 2, generator=g, dtype=torch.float64)
        + torch.tensor([[0.0, 0.0], [1.0, 0.0], [0.5, 0.866]]).double().repeat(1500, 1)
    ),
    "coinciding": lambda g: torch.tensor([[0.0, 1.0], [1.0, 0.0], [0.0, 0.0]]).double()[
        torch.randint(3, (4500,), generator=g)
    ],
    "circle": lambda g: Cloud.sphere(4500, 2, seed=1).points,
    "sphere": lambda g: Cloud.sphere(4500, 3, seed=1).points,
    "wide sphere": lambda g: Cloud.sphere(4500, 8, seed=1).points,
    "ellipsoid": lambda g: (
        Cloud.sphere(4500, 3, seed=1).points * torch.tensor([1.0, 1.0, 0.9]).double()
    ),
    "far circle": lambda g: 1e3 + Cloud.sphere(4500, 2, seed=1).points,
    "high sphere": lambda g: Cloud.sphere(4500, 12, seed=1).points,
    "line in space": lambda g: (
        torch.randn(4500, 1, generator=g, dtype=torch.float64)
        * torch.tensor([1.0, 2.0, -1.0]).double()
    ),
    "far away": lambda g: 1e6 + torch.rand(3000, 3, generator=g, dtype=torch.float64),
}


@pytest.mark.parametrize("kind", list(CLOUDS))
def test_diameter_is_the_largest_of_all_distances(kind):
    x = CLOUDS[kind](torch.Generator().manual_seed(0))
    # the farthest pair may be another one whose length agrees to rounding
    assert_close(Diameter()(Cloud(x)).item(), all_pairs(x), rtol=1e-14, atol=0.0)


def test_diameter_of_a_large_cloud_needs_no_pair_matrix():
    x = Cloud.sphere(100_000, 2).points
    assert 1.999999 < Diameter()(Cloud(x)).item() <= 2.0 + 1e-15


def test_diameter_has_a_gradient():
    x = torch.tensor([[0.0, 0.0], [3.0, 4.0], [1.0, 1.0]], dtype=torch.float64, requires_grad=True)
    first, second = farthest_pair(x)
    (gradient,) = torch.autograd.grad((first - second).norm(), x)
    assert_close(gradient.abs(), torch.tensor([[0.6, 0.8], [0.6, 0.8], [0.0, 0.0]]).double())


def test_diameter_in_single_precision_is_of_that_format():
    value = Diameter()(Cloud.gaussian(50, d=2, dtype=torch.float32))
    assert value.dtype == torch.float32


def test_max_norm():
    assert_close(MaxNorm()(Cloud([[3.0, 4.0], [0.0, 1.0]])).item(), 5.0)


def test_cosines_against_all_pairs():
    cloud = Cloud.gaussian(40, d=3)
    unit = cloud.points / cloud.points.norm(dim=-1, keepdim=True)
    gram = unit @ unit.mT
    assert_close(MeanCosine()(cloud), gram.mean())
    assert_close(MinCosine()(cloud), gram.min())


def test_mean_over_distinct_pairs_follows_from_the_mean_cosine():
    n, cloud = 40, Cloud.gaussian(40, d=3)
    unit = cloud.points / cloud.points.norm(dim=-1, keepdim=True)
    distinct = ((unit @ unit.mT).sum() - n) / (n * (n - 1))
    assert_close((n**2 * MeanCosine()(cloud) - n) / (n**2 - n), distinct)


@pytest.mark.parametrize("scale", [1e-200, 1e200])
@pytest.mark.parametrize("observable", [MeanCosine(), MinCosine()])
def test_cosines_do_not_depend_on_norms(observable, scale):
    cloud = Cloud([[1.0, 0.0], [0.5, math.sqrt(0.75)]])
    assert_close(observable(cloud.with_points(scale * cloud.points)), observable(cloud))


@pytest.mark.parametrize("observable", [MeanCosine(), MinCosine()])
def test_tokens_at_the_origin_have_no_direction(observable):
    assert_close(observable(Cloud([[0.0, 0.0], [2.0, 0.0], [3.0, 0.0]])).item(), 1.0)
    assert observable(Cloud([[0.0, 0.0]])).isnan()
