"""Parts of a convergence study: slopes, rates, laws, distances, errors."""

import math

import numpy as np
import pytest
import torch
from scipy.special import ive

from vlasov.cloud import Cloud
from vlasov.errors import InvalidValue
from vlasov.experiments.converge_config import ConvergeConfig
from vlasov.experiments.converge_distances import conditional, line_distances
from vlasov.experiments.converge_errors import moment_errors
from vlasov.experiments.converge_moments import moments
from vlasov.experiments.converge_rates import Rate, distance_rate
from vlasov.experiments.converge_slopes import fitted_slope
from vlasov.experiments.converge_source import source_of
from vlasov.geometry import Euclid
from vlasov.transport import conditional_distance, distance

NS = (50, 100, 200, 400)


def test_the_slope_of_a_power_law_is_its_exponent():
    samples = [torch.full((5,), 3.0 * n**-0.7, dtype=torch.float64) for n in NS]
    fit = fitted_slope(NS, samples, power=1.0, seed=0)
    assert (fit.slope, fit.low, fit.high) == pytest.approx((-0.7, -0.7, -0.7), abs=1e-12)
    assert math.exp(fit.intercept) == pytest.approx(3.0)


def test_sizes_weigh_in_a_slope_by_their_clouds():
    errors, counts = (1.0, 0.3, 0.2, 0.02), (64, 32, 8, 2)
    samples = [
        torch.full((m,), e, dtype=torch.float64) for e, m in zip(errors, counts, strict=True)
    ]
    fit = fitted_slope(NS, samples, power=2.0, seed=0)
    exact = np.polyfit(np.log(NS), np.log(errors), 1, w=np.sqrt(counts))
    assert (fit.slope, fit.intercept) == pytest.approx(tuple(exact), rel=1e-12)


def test_the_interval_of_a_slope_holds_the_truth_as_often_as_it_says(generator):
    held = 0
    for seed in range(60):
        normal = [torch.randn(200, generator=generator, dtype=torch.float64) for _ in NS]
        samples = [z.abs() * n**-0.5 for n, z in zip(NS, normal, strict=True)]
        fit = fitted_slope(NS, samples, power=2.0, seed=seed)
        held += fit.low <= -0.5 <= fit.high
    # 60 draws of a chance of 0.95: fewer than 51 have the probability 0.002
    assert held >= 51


def test_slopes_need_two_sizes_and_positive_errors():
    with pytest.raises(InvalidValue, match="two numbers"):
        fitted_slope((10,), [torch.ones(3)], power=1.0, seed=0)
    with pytest.raises(InvalidValue, match="above 0"):
        fitted_slope((10, 20), [torch.ones(3), torch.zeros(3)], power=1.0, seed=0)


@pytest.mark.parametrize(
    ("p", "dimension", "gaussian", "low", "high"),
    [
        (1, 1, False, -0.5, -0.5),
        (1, 1, True, -0.5, -0.5),
        (2, 1, False, -0.5, -0.5),
        (1, 3, False, -0.403, -0.263),
        (2, 8, True, -0.195, -0.055),
        (2, 2, True, -0.5, -0.25),
        (3, 1, True, -0.5, -1 / 3),
    ],
)
def test_expected_rates(p, dimension, gaussian, low, high):
    rate = distance_rate(p, dimension, gaussian=gaussian, ns=NS)
    assert (rate.steepest, rate.flattest) == pytest.approx((low, high), abs=1e-3)


@pytest.mark.parametrize("n", [100, 10**6])
def test_logarithms_flatten_a_rate_as_their_own_slope(n):
    def shift(value):
        return (math.log(value(n * 1.001)) - math.log(value(n / 1.001))) / (2 * math.log(1.001))

    line = distance_rate(2, 1, gaussian=True, ns=(n, n))
    assert line.flattest == pytest.approx(
        shift(lambda n: math.sqrt(math.log(math.log(n)) / n)), abs=1e-5
    )
    plane = distance_rate(1, 2, gaussian=True, ns=(n, n))
    assert plane.flattest == pytest.approx(shift(lambda n: math.log(n) / math.sqrt(n)), abs=1e-5)


def test_verdicts_in_words():
    rate = Rate(-0.5, -0.4, "")
    assert rate.verdict(-0.6, -0.5) == "holds"
    assert "faster" in rate.verdict(-0.7, -0.51)
    assert rate.verdict(-0.39, -0.3).startswith("does not hold")


@pytest.mark.parametrize(
    ("law", "d", "mean", "variance"),
    [
        ("ball:radius=2", 1, 0.0, 4 / 3),
        ("ball", 3, 0.0, 1 / 5),
        ("cube:radius=2", 3, 0.0, 4 / 3),
        ("gaussian", 2, 0.0, 1 / 4),
    ],
)
def test_draws_and_nodes_have_the_moments_of_their_law(law, d, mean, variance):
    source = source_of(ConvergeConfig(law=law, d=d))
    for x, error in ((source.nodes(2**14), 2e-3), (source.draw(2**16, (0, 1)), 2e-2)):
        found = moments(x)
        assert torch.allclose(found.mean, torch.full((d,), mean).double(), atol=error)
        exact = variance * torch.eye(d, dtype=torch.float64)
        assert torch.allclose(found.cov, exact, atol=error * variance * 3)


def test_the_von_mises_law_has_its_resultant():
    source = source_of(ConvergeConfig(law="von-mises:concentration=2", geometry="sphere"))
    x = source.nodes(4096)
    # the trapezoidal table of 2^15 angles is good to 1e-8
    assert float(x[:, 0].mean()) == pytest.approx(ive(1, 2.0) / ive(0, 2.0), abs=1e-6)
    assert float(x[:, 1].mean()) == pytest.approx(0.0, abs=1e-12)


def test_a_singular_gaussian_counts_the_dimension_of_its_support():
    source = source_of(ConvergeConfig(d=3, cov=(1.0, 1.0, 0.0), mean=(0.0, 0.0, 5.0)))
    assert source.dimension == 2
    assert torch.equal(source.draw(9, (1,))[:, 2], torch.full((9,), 5.0).double())


def test_laws_of_the_sphere_are_scaled_to_it():
    source = source_of(ConvergeConfig(d=3, geometry="sphere:radius=2"))
    assert source.dimension == 2
    assert torch.allclose(source.draw(50, (0,)).norm(dim=-1), torch.tensor(2.0).double())
    assert float(source.nodes(1024).mean(0).norm()) < 0.02


@pytest.mark.parametrize("p", [1.0, 2.0, 3.0])
def test_distances_on_the_line_are_those_of_the_sorted_clouds(generator, p):
    x = torch.randn(3, 12, 1, generator=generator, dtype=torch.float64)
    limit = torch.randn(1, 7, 1, generator=generator, dtype=torch.float64)
    found = line_distances(x, limit, p)
    exact = [float(distance(Cloud(one), Cloud(limit[0]), p)) for one in x]
    assert found.tolist() == pytest.approx(exact, rel=1e-12)


@pytest.mark.parametrize("d", [1, 2])
def test_distances_of_masked_clouds_are_conditional(generator, d):
    a, b = torch.randn(2, 12, d, generator=generator, dtype=torch.float64)
    s = torch.arange(3.0, dtype=torch.float64).repeat_interleave(4)
    exact = float(conditional_distance(Cloud(a, positions=s), Cloud(b, positions=s), 2))
    assert conditional(a, b, 3, 2.0, Euclid()) == pytest.approx(exact, rel=1e-12)
    if d == 1:
        found = line_distances(a[None], b.unflatten(0, (3, 4)), 2.0)
        assert float(found) == pytest.approx(exact, rel=1e-12)


def test_errors_of_a_shifted_and_stretched_cloud(generator):
    x = torch.randn(8, 2, generator=generator, dtype=torch.float64)
    x = x - x.mean(0)
    shift = torch.tensor([3.0, 4.0], dtype=torch.float64)
    limit = moments(x.unflatten(0, (1, 8)))
    moved = moment_errors((x + shift)[None], x[None], limit)
    assert float(moved["coupling"]) == pytest.approx(5.0)
    assert float(moved["mean"]) == pytest.approx(5.0)
    assert float(moved["covariance"]) == pytest.approx(0.0, abs=1e-12)
    stretched = moment_errors(2 * x[None], x[None], limit)
    assert float(stretched["covariance"]) == pytest.approx(3 * float(limit.cov.norm()))


def test_errors_of_positions_are_joined_by_their_mean_square(generator):
    x = torch.randn(1, 8, 2, generator=generator, dtype=torch.float64)
    limit = moments(x.unflatten(1, (2, 4))[0])
    moved = x.clone()
    moved[:, :4, 0] += 1.0
    found = moment_errors(moved, x, limit)
    assert float(found["mean"]) == pytest.approx(math.sqrt(0.5))
    assert float(found["coupling"]) == pytest.approx(math.sqrt(0.5))
