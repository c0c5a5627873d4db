"""Maps and geodesics between Gaussians: optimality, singular laws, midpoints of energies."""

import pytest
import torch

from vlasov.attention import Sinkhorn
from vlasov.cloud import Cloud
from vlasov.engines import Dense
from vlasov.errors import InvalidValue, Unsupported
from vlasov.gaussian import Gaussian
from vlasov.transport.gaussian import bures_wasserstein, bures_wasserstein_squared
from vlasov.transport.gaussian_path import gaussian_geodesic, gaussian_map

DOUBLE = torch.float64


def _laws(d, rank, count, generator):
    factor = torch.randn(count, d, rank, generator=generator, dtype=DOUBLE)
    mean = torch.randn(count, d, generator=generator, dtype=DOUBLE)
    return Gaussian(mean, factor @ factor.mT)


def _centred(cov):
    cov = torch.as_tensor(cov, dtype=DOUBLE)
    return Gaussian(torch.zeros(cov.shape[-1], dtype=DOUBLE), cov)


@pytest.mark.parametrize("ranks", [(3, 3), (3, 2), (2, 2)])
def test_the_map_is_optimal_and_reaches_its_target(ranks, generator):
    a = _laws(3, ranks[0], 5, generator)
    b = _laws(3, ranks[1], 5, generator)
    if ranks == (2, 2):  # a target on the range of the source
        turn = torch.randn(5, 2, 2, generator=generator, dtype=DOUBLE)
        basis = torch.linalg.svd(a.factor).U[..., :2]
        b = Gaussian.of_factor(b.mean, basis @ turn)
    flow = gaussian_map(a, b)
    moved = a.push(flow)
    assert torch.allclose(moved.mean, b.mean, atol=1e-12)
    assert torch.allclose(moved.cov, b.cov, atol=1e-9)
    away = flow.matrix @ a.factor - a.factor
    cost = away.square().sum((-2, -1)) + (a.mean - b.mean).square().sum(-1)
    assert torch.allclose(cost, bures_wasserstein_squared(a, b), rtol=1e-9)
    assert torch.allclose(flow.matrix, flow.matrix.mT, atol=1e-7)


def test_no_map_leads_to_more_directions():
    line, plane = _centred([[1.0, 0.0], [0.0, 0.0]]), _centred([[1.0, 0.0], [0.0, 1.0]])
    with pytest.raises(Unsupported, match="out of reach"):
        gaussian_map(line, plane)


@pytest.mark.parametrize("ranks", [(3, 3), (1, 3), (1, 1), (0, 2)])
@pytest.mark.parametrize("s", [0.0, 0.3, 1.0])
def test_distances_along_a_geodesic_are_proportional(ranks, s, generator):
    a, b = (_laws(3, rank, 5, generator) for rank in ranks)
    middle, whole = gaussian_geodesic(a, b, s), bures_wasserstein(a, b)
    assert torch.allclose(bures_wasserstein(a, middle), s * whole, atol=1e-7)
    assert torch.allclose(bures_wasserstein(middle, b), (1 - s) * whole, atol=1e-7)


def test_the_midpoint_of_the_map_is_that_of_the_factors(generator):
    a, b = _laws(3, 3, 5, generator), _laws(3, 3, 5, generator)
    m = (torch.eye(3, dtype=DOUBLE) + gaussian_map(a, b).matrix) / 2
    assert torch.allclose(gaussian_geodesic(a, b, 0.5).cov, m @ a.cov @ m.mT, atol=1e-9)


def test_covariance_energies_are_not_convex_where_a_is_indefinite():
    """Recipe of spec 3.2: both energies rise in the middle of a Bures-Wasserstein geodesic."""
    a = torch.diag(torch.tensor([1.0, -1.0], dtype=DOUBLE))
    first, last = ends = [_centred([[1.0, c], [c, 1.0]]) for c in (0.9, -0.9)]
    middle = gaussian_geodesic(first, last, 0.5)

    def softmax(law):
        product = a @ law.cov @ a @ law.cov
        return product.trace().item() / 4

    def sinkhorn(law):
        values = torch.linalg.svdvals(law.factor.mT @ a @ law.factor)
        m = 2 * values / (1 + (1 + 4 * values.square()).sqrt())
        return (values * m + (m / values).log() / 2).sum().item() / 2

    assert [softmax(law) for law in ends] == pytest.approx([0.0950, 0.0950], abs=5e-5)
    assert softmax(middle) == pytest.approx(0.2577, abs=5e-5)
    assert [sinkhorn(law) for law in ends] == pytest.approx([0.0877, 0.0877], abs=5e-5)
    assert sinkhorn(middle) == pytest.approx(0.2157, abs=5e-5)


def test_the_sinkhorn_energy_of_a_covariance_is_that_of_its_cloud():
    """Golden test 10: the value that the midpoint probe uses, against potentials of nodes."""
    cloud = Cloud.hermite(40, [0.0], [[0.8]])
    q = (0.9 * cloud.points)[None]
    f, g = Sinkhorn().potentials(q, cloud.points[None], cloud.log_weights[None], Dense())
    value = (cloud.weights * (f + g)).sum().item()
    assert value == pytest.approx(-0.216781644, abs=1e-8)


@pytest.mark.parametrize("s", [-0.1, 1.1, float("nan")])
def test_a_fraction_outside_the_path_is_refused(s):
    with pytest.raises(InvalidValue, match="between 0 and 1"):
        gaussian_geodesic(Gaussian(0.0, 1.0), Gaussian(0.0, 1.0), s)
