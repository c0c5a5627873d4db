"""The line: against general transport, closed forms and quantile functions."""

import math

import pytest
import torch

import vlasov as vl
from vlasov import Cloud, transport

DOUBLE = torch.float64


def draw(generator, n, *, weighted=False):
    x = torch.randn(n, 1, generator=generator, dtype=DOUBLE)
    w = torch.rand(n, generator=generator, dtype=DOUBLE)
    return Cloud(x, w / w.sum() if weighted else None)


@pytest.mark.parametrize("p", [1, 1.5, 2, 4])
@pytest.mark.parametrize(("n", "m"), [(50, 50), (50, 37), (1, 9)])
@pytest.mark.parametrize("weighted", [False, True])
def test_sorting_is_optimal(generator, p, n, m, weighted):
    a, b = draw(generator, n, weighted=weighted), draw(generator, m, weighted=weighted)
    found, other = transport.distance(a, b, p), transport.distance(a, b, p, method="simplex")
    assert found.method == "sorting"
    assert found.power.item() == pytest.approx(other.power.item(), rel=1e-9)


def test_mixed_weights_agree_with_repeated_points(generator):
    counts = torch.randint(1, 6, (20,), generator=generator)
    x, y = draw(generator, 20), draw(generator, int(counts.sum()))
    weighted = Cloud(x.points, counts / counts.sum().double())
    repeated = Cloud(x.points.repeat_interleave(counts, dim=0))
    for p in (1, 2, 3):
        expected = vl.wasserstein(repeated, y, p).item()
        assert vl.wasserstein(weighted, y, p).item() == pytest.approx(expected, rel=1e-13)


def test_quantised_laws_have_the_distance_of_their_parameters():
    n = 2000
    a, b = Cloud.quantiles(n, mean=0.0, std=1.0), Cloud.quantiles(n, mean=3.0, std=2.0)
    # the second is 3 + 2 x: W_2^2 = 9 + the mean square of the quantiles
    square = a.points.square().mean().item()
    assert transport.distance(a, b).power.item() == pytest.approx(9 + square, rel=1e-13)


def test_uniform_draws_are_as_far_as_the_theory_says(generator):
    # E W_2^2 = 1/(6n) for n draws against the uniform law on [0, 1]
    n, repeats = 400, 200
    grid = ((torch.arange(20_000, dtype=DOUBLE) + 0.5) / 20_000)[:, None]
    draws = torch.rand(repeats, n, 1, generator=generator, dtype=DOUBLE)
    powers = torch.stack([transport.distance(Cloud(x), Cloud(grid)).power for x in draws])
    error = powers.std() / math.sqrt(repeats)
    assert abs(powers.mean() - 1 / (6 * n)) < 4 * error


def test_equal_weights_added_in_another_order_meet(generator):
    x = torch.randn(40, generator=generator, dtype=DOUBLE)
    x[7] = 1e12
    w = torch.rand(40, generator=generator, dtype=DOUBLE)
    order = torch.randperm(40, generator=generator)
    a, b = Cloud(x[:, None], w / w.sum()), Cloud(x[order, None], (w / w.sum())[order])
    assert vl.wasserstein(a, b).item() == 0


def test_ties_and_repeated_points(generator):
    x = torch.randint(0, 4, (60, 1), generator=generator).double()
    y = torch.randint(0, 4, (45, 1), generator=generator).double()
    for p in (1, 2):
        found = transport.distance(Cloud(x), Cloud(y), p).power.item()
        other = transport.distance(Cloud(x), Cloud(y), p, method="paths").power.item()
        assert found == pytest.approx(other, rel=1e-12, abs=1e-15)


def test_w_1_is_the_area_between_distribution_functions(generator):
    a, b = draw(generator, 30, weighted=True), draw(generator, 40, weighted=True)
    cuts = torch.cat((a.points, b.points))[:, 0].sort().values
    heights = [(c.weights * (c.points[:, 0] <= cuts[:-1, None])).sum(-1) for c in (a, b)]
    area = ((heights[0] - heights[1]).abs() * cuts.diff()).sum().item()
    assert vl.wasserstein(a, b, 1).item() == pytest.approx(area, rel=1e-12)


def test_matched_clouds_have_gradients(generator):
    x, y = (torch.randn(7, 1, generator=generator, dtype=DOUBLE).requires_grad_() for _ in "ab")
    for p in (1, 2, 3):
        call = lambda x, y, p=p: transport.distance(Cloud(x), Cloud(y), p).value  # noqa: E731
        assert torch.autograd.gradcheck(call, (x, y))
