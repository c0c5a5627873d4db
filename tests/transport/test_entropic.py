"""Entropic transport: closed forms, sharp and debiased values, small eps, gradients, refusals."""

import math

import pytest
import torch

from vlasov.cloud import Cloud
from vlasov.errors import InvalidValue, NotConverged, NotFinite, ShapeMismatch
from vlasov.transport.entropic import debiased_distance, entropic_distance

DOUBLE = torch.float64
MARGINAL = 1e-9  # the default tolerance
ROUNDING = 1e-10  # of a divergence: second order in the marginals, over the weakest link


def _cloud(n, d, generator, *, weighted=False):
    x = torch.randn(n, d, generator=generator, dtype=DOUBLE)
    w = torch.rand(n, generator=generator, dtype=DOUBLE) + 0.1
    return Cloud(x, w / w.sum() if weighted else None)


def _gaussian_objective(a, s, b, t, eps):
    """OT_eps of N(a, s) and N(b, t) on the line: Janati et al., arXiv:2006.02572, Theorem 1."""
    half = eps / 2
    root = math.sqrt(4 * s * t + half**2)
    return (a - b) ** 2 + s + t - root + half * (1 - math.log(eps)) + half * math.log(root + half)


@pytest.mark.parametrize("eps", [0.5, 2.0, 10.0])
def test_quadrature_nodes_have_the_closed_form_of_gaussians(eps):
    a, b = Cloud.hermite(60, [0.3], [[0.5]]), Cloud.hermite(60, [-0.4], [[0.8]])
    found = entropic_distance(a, b, eps=eps).facts["objective"]
    assert found == pytest.approx(_gaussian_objective(0.3, 0.5, -0.4, 0.8, eps), abs=1e-8)
    debiased = _gaussian_objective(0.3, 0.5, -0.4, 0.8, eps)
    debiased -= _gaussian_objective(0, 0.5, 0, 0.5, eps) / 2
    debiased -= _gaussian_objective(0, 0.8, 0, 0.8, eps) / 2
    assert debiased_distance(a, b, eps=eps).power.item() == pytest.approx(debiased, abs=1e-8)


@pytest.mark.parametrize("weighted", [False, True])
def test_it_agrees_with_pot(weighted, generator):
    import ot

    a, b = _cloud(12, 2, generator, weighted=weighted), _cloud(9, 2, generator, weighted=weighted)
    cost = torch.cdist(a.points, b.points).square().numpy()
    plan = ot.bregman.sinkhorn_log(
        a.weights.numpy(), b.weights.numpy(), cost, 1.0, stopThr=1e-12, numItermax=10_000
    )
    found = entropic_distance(a, b, eps=1.0).power.item()
    assert found == pytest.approx((plan * cost).sum(), abs=1e-8)


def test_c04_the_entropic_cost_of_a_cloud_to_itself_is_not_zero(generator):
    """Of 50 points of N(0, I) at eps 0.1, for the whole squared distance and without entropy."""
    clouds = [_cloud(50, d, generator) for d in (1, 2) for _ in range(4)]
    costs = [entropic_distance(cloud, cloud, eps=0.1).power.item() for cloud in clouds]
    assert sum(costs) / len(costs) == pytest.approx(0.044, abs=0.004)
    for cloud in clouds:
        assert abs(debiased_distance(cloud, cloud, eps=0.1).power.item()) < ROUNDING


def test_c04_the_entropic_cost_is_least_at_a_shrunken_copy(generator):
    cloud = _cloud(50, 2, generator)
    shrunk = cloud.with_points(0.99 * cloud.points)
    biased = [entropic_distance(c, cloud, eps=0.1).facts["objective"] for c in (shrunk, cloud)]
    assert biased[0] < biased[1]
    debiased = [debiased_distance(c, cloud, eps=0.1).power for c in (shrunk, cloud)]
    assert debiased[0] > debiased[1]


def test_d05_a_small_translation_costs_its_square(generator):
    cloud = _cloud(50, 2, generator)
    moved = cloud.with_points(cloud.points + 0.01)
    distance = debiased_distance(cloud, moved, eps=0.1)
    assert distance.power.item() == pytest.approx(2.0e-4, abs=1e-12)
    assert distance.value.item() == pytest.approx(math.sqrt(2) * 0.01, abs=1e-9)
    assert (distance.optimal, "debiased" in distance.method) == (False, True)


def test_d05_the_divergence_is_not_negative(generator):
    for _ in range(10):
        cloud = _cloud(20, 2, generator, weighted=True)
        near = cloud.with_points(
            cloud.points + 1e-6 * torch.randn(20, 2, generator=generator, dtype=DOUBLE)
        )
        assert debiased_distance(cloud, near, eps=0.1).power.item() > -ROUNDING


def test_a10_small_eps_is_transport():
    a, b = Cloud([[0.0], [1.0], [2.0]]), Cloud([[0.5], [1.5], [3.0]])
    for distance in (entropic_distance, debiased_distance):
        assert distance(a, b, eps=1e-3).power.item() == pytest.approx(0.5, abs=1e-3)


@pytest.mark.parametrize("eps", [1e-1, 1e-2, 1e-3])
def test_lonely_points_and_small_eps_converge(eps, generator):
    """Where alternation needs more than 10^5 sweeps; the plan bounds W_2 from above."""
    from scipy.optimize import linear_sum_assignment

    a = _cloud(50, 2, generator)
    b = Cloud(1.2 * torch.randn(50, 2, generator=generator, dtype=DOUBLE) + 0.3)
    cost = torch.cdist(a.points, b.points).square().numpy()
    exact = cost[linear_sum_assignment(cost)].mean()
    distance = entropic_distance(a, b, eps=eps)
    assert distance.facts["marginal_error"] <= MARGINAL
    # the entropy of a plan of n points is at most log n per token
    assert exact - 1e-8 <= distance.power.item() <= exact + eps * math.log(50)


def test_single_precision_weights_are_normalised(generator):
    x = torch.randn(7, 2, generator=generator, dtype=DOUBLE)
    single = Cloud(x.float(), torch.full((7,), 1 / 7))
    double = Cloud(x.float().double())
    other = _cloud(5, 2, generator)
    found = debiased_distance(single, other, eps=0.5).power
    assert found.dtype == DOUBLE
    assert found.item() == pytest.approx(
        debiased_distance(double, other, eps=0.5).power.item(), abs=1e-6
    )


def test_atoms_without_weight_are_left_out():
    a = Cloud([[0.0], [1.0], [50.0]], [0.5, 0.5, 0.0])
    b = Cloud([[0.0], [1.0]])
    assert abs(debiased_distance(a, b, eps=0.1).power.item()) < ROUNDING


def test_scale_and_place_do_not_matter(generator):
    a, b = _cloud(10, 2, generator), _cloud(10, 2, generator)
    far = [c.with_points(1e3 * c.points + 1e6) for c in (a, b)]
    wanted = debiased_distance(a, b, eps=0.1).value.item()
    found = debiased_distance(*far, eps=0.1e6).value.item()
    assert found == pytest.approx(1e3 * wanted, rel=1e-7)


def test_gradients_agree_with_differences(generator):
    a, b = _cloud(3, 2, generator, weighted=True), _cloud(2, 2, generator)
    inputs = [c.points.requires_grad_() for c in (a, b)]

    def power(x, y):
        return debiased_distance(
            a.with_points(x), b.with_points(y), eps=0.5, tolerance=1e-12
        ).power

    assert torch.autograd.gradcheck(power, inputs)


def test_the_gradient_of_a_translation_is_the_translation(generator):
    cloud = _cloud(30, 2, generator)
    x = cloud.points.requires_grad_()
    moved = cloud.with_points(x.detach() + 0.5)
    debiased_distance(cloud.with_points(x), moved, eps=0.1).power.backward()
    assert torch.allclose(x.grad, torch.full_like(x, -2 * 0.5 / 30), atol=1e-9)


def test_at_distance_zero_the_gradient_is_small(generator):
    cloud = _cloud(10, 2, generator)
    x = cloud.points.requires_grad_()
    debiased_distance(cloud.with_points(x), cloud, eps=0.1).power.backward()
    assert x.grad.abs().max() < 1e-8


@pytest.mark.parametrize("distance", [entropic_distance, debiased_distance])
@pytest.mark.parametrize("eps", [0.0, -1.0, float("nan"), float("inf")])
def test_a_wrong_eps_is_refused(distance, eps):
    cloud = Cloud([[0.0], [1.0]])
    with pytest.raises(InvalidValue, match="eps > 0"):
        distance(cloud, cloud, eps=eps)


def test_a_cap_is_an_error(generator):
    a, b = _cloud(20, 2, generator), _cloud(20, 2, generator)
    with pytest.raises(NotConverged, match="after 3 steps"):
        entropic_distance(a, b, eps=0.01, max_steps=3)
    with pytest.raises(NotConverged, match="raise eps"):
        debiased_distance(a, a, eps=0.01, max_steps=3)


def test_diverged_and_mismatched_clouds_are_refused():
    good = Cloud([[0.5], [1.5], [2.5]])
    for z in (math.nan, math.inf, 1e308):
        bad = good.with_points(torch.tensor([[0.0], [1.0], [z]], dtype=DOUBLE))
        with pytest.raises(NotFinite):
            entropic_distance(bad, good, eps=0.1)
    with pytest.raises(ShapeMismatch, match="width"):
        debiased_distance(good, Cloud([[0.0, 0.0]]), eps=0.1)
