"""Exact transport: against other solvers, closed forms and laws, and where solvers fail."""

import itertools
import math

import numpy as np
import ot
import pytest
import torch
from scipy.optimize import linear_sum_assignment
from scipy.spatial.distance import cdist

import vlasov as vl
from vlasov import Cloud, transport
from vlasov.errors import NotConverged, NotFinite, TooLittleMemory
from vlasov.transport import cost, exact
from vlasov.transport.certificate import certify

DOUBLE = torch.float64
METHODS = ["simplex", "paths"]


def draw(generator, n, d=2, *, weighted=False):
    x = torch.randn(n, d, generator=generator, dtype=DOUBLE)
    w = torch.rand(n, generator=generator, dtype=DOUBLE)
    return Cloud(x, w / w.sum() if weighted else None)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("p", [1, 1.5, 2, 3])
@pytest.mark.parametrize("d", [2, 5])
def test_equal_weights_agree_with_an_assignment(generator, method, p, d):
    a, b = draw(generator, 60, d), draw(generator, 60, d)
    costs = cdist(a.points, b.points) ** p
    best = costs[linear_sum_assignment(costs)].mean()
    found = transport.distance(a, b, p, method=method)
    assert found.power.item() == pytest.approx(best, rel=1e-12)
    assert found.value.item() == pytest.approx(best ** (1 / p), rel=1e-12)
    assert found.optimal
    assert found.gap <= 1e-9


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("weighted", [False, True])
def test_all_weights_agree_with_pot(generator, method, weighted):
    for n, m in ((1, 7), (30, 41), (41, 30)):
        a, b = draw(generator, n, weighted=weighted), draw(generator, m, weighted=weighted)
        peer = ot.emd2(a.weights.numpy(), b.weights.numpy(), cdist(a.points, b.points) ** 2)
        found = transport.distance(a, b, method=method)
        assert found.power.item() == pytest.approx(float(peer), rel=1e-11)


def test_few_points_agree_with_all_permutations(generator):
    for _ in range(20):
        a, b = draw(generator, 5, 3), draw(generator, 5, 3)
        costs = cdist(a.points, b.points)
        orders = itertools.permutations(range(5))
        best = min(float(np.mean([costs[i, j] for i, j in enumerate(order)])) for order in orders)
        assert vl.wasserstein(a, b, 1).item() == pytest.approx(best, rel=1e-13)


@pytest.mark.parametrize("p", [1, 2, 3])
def test_a_translation_costs_its_length(generator, p):
    a, shift = draw(generator, 40, 3, weighted=True), torch.tensor([1.0, -2.0, 2.0], dtype=DOUBLE)
    moved = a.with_points(a.points.flip(0) * 0 + a.points + shift)
    assert vl.wasserstein(a, moved, p).item() == pytest.approx(3, rel=1e-13)


def test_affine_images_have_the_distance_of_their_map(generator):
    # x -> M x + b with M symmetric positive is optimal for p = 2, from any cloud
    a = draw(generator, 50, 2, weighted=True)
    matrix, offset = (
        torch.tensor([[2.0, 0.5], [0.5, 1.0]], dtype=DOUBLE),
        torch.ones(2, dtype=DOUBLE),
    )
    b = a.with_points(a.points @ matrix + offset)
    expected = (a.weights * (a.points - b.points).square().sum(-1)).sum()
    assert transport.distance(a, b).power.item() == pytest.approx(expected.item(), rel=1e-12)


@pytest.mark.parametrize("p", [1, 2])
def test_it_is_a_distance(generator, p):
    for _ in range(5):
        a, b, c = (draw(generator, n, weighted=True) for n in (11, 15, 20))
        ab, bc, ac = (vl.wasserstein(x, y, p) for x, y in ((a, b), (b, c), (a, c)))
        assert ab.item() == pytest.approx(vl.wasserstein(b, a, p).item(), rel=1e-12)
        assert ac <= ab + bc + 1e-12
        assert vl.wasserstein(a, a.split(3), p).item() <= 1e-12
        scaled = vl.wasserstein(a.with_points(7 * a.points), b.with_points(7 * b.points), p)
        assert scaled.item() == pytest.approx(7 * ab.item(), rel=1e-12)


@pytest.mark.parametrize("shift", [1e3, 1e6])
def test_clouds_far_from_the_origin_lose_no_digits(generator, shift):
    x = torch.randint(-1000, 1000, (30, 2), generator=generator) / 1024.0
    y = torch.randint(-1000, 1000, (30, 2), generator=generator) / 1024.0
    here = vl.wasserstein(Cloud(x.double()), Cloud(y.double()))
    there = vl.wasserstein(Cloud(x.double() + shift), Cloud(y.double() + shift))
    assert there.item() == pytest.approx(here.item(), rel=1e-14)


@pytest.mark.parametrize("far", [1e4, 1e6, 1e8, 1e12])
@pytest.mark.parametrize("weighted", [False, True])
def test_one_far_pair_does_not_spoil_the_rest(generator, far, weighted):
    # two far tokens of one weight, at distance 1: they meet, and the rest is as without them
    a, b = draw(generator, 60, weighted=weighted), draw(generator, 60, weighted=weighted)
    rest = transport.distance(a, b).power.item()
    ends = [torch.tensor([[far, y]], dtype=DOUBLE) for y in (0.0, 1.0)]
    share = 1 / 64
    a, b = (
        Cloud(
            torch.cat((cloud.points, end)),
            torch.cat((cloud.weights * (1 - share), torch.tensor([share], dtype=DOUBLE))),
        )
        for cloud, end in zip((a, b), ends, strict=True)
    )
    found = transport.distance(a, b)
    assert found.power.item() == pytest.approx((1 - share) * rest + share, rel=1e-9)
    assert found.gap <= 1e-9


def test_the_network_simplex_alone_is_caught_where_it_fails(generator):
    a, b = draw(generator, 50), draw(generator, 50)
    a.points[3], b.points[5] = torch.tensor([1e8, 0.0]), torch.tensor([1e8, 1.0])
    with pytest.raises(NotConverged, match="relative duality gap"):
        transport.distance(a, b, method="simplex")
    found = transport.distance(a, b)
    costs = cdist(a.points, b.points, "sqeuclidean")
    best = costs[linear_sum_assignment(costs)].mean()
    assert found.power.item() == pytest.approx(best, rel=1e-12)
    assert found.method == "shortest augmenting paths, duals checked"


@pytest.mark.parametrize("size", [1e-3, 1e-6, 1e-9, 1e-12])
def test_nearly_equal_clouds_keep_relative_precision(generator, size):
    x = torch.randn(50, 2, generator=generator, dtype=DOUBLE)
    nearby = x[torch.randperm(50, generator=generator)] + size * torch.rand(
        50, 2, generator=generator, dtype=DOUBLE
    )
    costs = cdist(x, nearby, "sqeuclidean")
    best = costs[linear_sum_assignment(costs)].mean()
    assert transport.distance(Cloud(x), Cloud(nearby)).power.item() == pytest.approx(
        best, rel=1e-12
    )


def test_a_wrong_plan_or_wrong_potentials_are_not_certified(generator):
    costs = torch.rand(20, 20, generator=generator, dtype=DOUBLE).numpy()
    w = np.full(20, 1 / 20)
    plan = exact.optimal_plan(costs, w, w)
    assert plan.certificate.holds
    v = plan.certificate.v
    assert not certify(costs, v, a=w, b=w, value=plan.value * 1.00001).holds
    assert not certify(costs, v + np.linspace(0, 1e-3, 20), a=w, b=w, value=plan.value).holds
    slack = costs - plan.certificate.u[:, None] - plan.certificate.v
    assert slack.min() >= -1e-15


def test_a_hit_cap_is_an_error(generator):
    costs = torch.rand(40, 40, generator=generator, dtype=DOUBLE).numpy()
    w = np.full(40, 1 / 40)
    with pytest.raises(NotConverged, match="at most 5 pivots"):
        exact.network_simplex(costs, w, w, pivots=5)


def test_a_plan_that_leaves_mass_behind_is_refused(generator, monkeypatch):
    costs = torch.rand(9, 9, generator=generator, dtype=DOUBLE).numpy()
    w = np.full(9, 1 / 9)
    best = exact.optimal_plan(costs, w, w)
    # half of the least mass, on pairs of a cost that hides the loss from the gap
    free = np.zeros((9, 9))
    lossy = exact.Support(best.support.rows, best.support.columns, best.support.mass / 2)
    broken = {"network simplex": lambda *_: (lossy, np.zeros(9))}
    monkeypatch.setattr(exact, "SOLVERS", broken)
    with pytest.raises(NotConverged, match="relative duality gap"):
        exact.optimal_plan(free, w, w)


def test_weights_that_do_not_balance_are_an_error():
    costs, w = np.ones((2, 2)), np.array([0.5, 0.5])
    with pytest.raises(NotConverged, match="found no room"):
        exact.optimal_plan(costs, w, 0.9 * w, solver="shortest augmenting paths")


def test_costs_that_overflow_are_refused():
    a, b = Cloud([[0.0, 0.0], [1.0, 1.0]]), Cloud([[0.0, 0.1], [1.0, 1.1]])
    with pytest.raises(NotFinite, match="lower p"):
        transport.distance(a, b, 1e4, method="simplex")


def test_memory_is_asked_before_it_is_taken(generator, monkeypatch):
    monkeypatch.setattr(cost, "available_memory", lambda _: 41 * 50**2)
    a = draw(generator, 60)
    with pytest.raises(TooLittleMemory, match="at most 50 tokens"):
        vl.wasserstein(a, a)
    assert transport.distance(draw(generator, 50), draw(generator, 50)).optimal


@pytest.mark.parametrize("p", [1, 1.5, 2, 3])
@pytest.mark.parametrize("d", [1, 2])
def test_gradients_agree_with_differences(generator, p, d):
    a, b = draw(generator, 6, d, weighted=True), draw(generator, 8, d, weighted=True)
    x, y = (c.points.clone().requires_grad_() for c in (a, b))
    logits = [c.log_weights.clone().requires_grad_() for c in (a, b)]

    def power(x, y, u, v):
        clouds = (Cloud.from_log_weights(z, w.log_softmax(-1)) for z, w in ((x, u), (y, v)))
        left, right = clouds
        return transport.distance(left, right, p).power

    # differences of 1e-6 of a function that is smooth until the plan changes
    assert torch.autograd.gradcheck(power, (x, y, *logits), eps=1e-7, atol=1e-6)


def test_distance_to_a_dirac_is_a_moment(generator):
    a = draw(generator, 30, 3, weighted=True)
    expected = (a.weights * a.points.norm(dim=-1).pow(3)).sum() ** (1 / 3)
    found = vl.wasserstein(a, Cloud(torch.zeros(1, 3, dtype=DOUBLE)), 3)
    assert found.item() == pytest.approx(expected.item(), rel=1e-13)


def test_lattices_with_many_optimal_plans_are_certified():
    axis = torch.arange(8, dtype=DOUBLE)
    grid = torch.cartesian_prod(axis, axis)
    found = transport.distance(Cloud(grid), Cloud(grid + 0.5), 1)
    assert found.value.item() == pytest.approx(math.sqrt(0.5), rel=1e-12)
