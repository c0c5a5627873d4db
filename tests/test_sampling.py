import math

import pytest
import torch
from scipy import stats
from torch.testing import assert_close

from vlasov import sampling
from vlasov.errors import InvalidValue, NotFinite, ShapeMismatch

EPS = torch.finfo(torch.float64).eps
COV = [[2.0, 0.6], [0.6, 0.5]]
MEAN = [1.0, -2.0]
N = 20_000
# Bound on the deviation of a mean in its standard deviations: passed by chance once in 10^6.
SIGMAS = 5.0


def covariance(x: torch.Tensor) -> torch.Tensor:
    centred = x - x.mean(0)
    return centred.mT @ centred / len(x)


@pytest.mark.parametrize("n", [0, -1])
def test_no_draw_is_refused(n):
    with pytest.raises(InvalidValue, match=f"`n` must be 1 or more but is {n}"):
        sampling.gaussian(n, d=2)


@pytest.mark.parametrize("d", [1, 2, 5])
def test_sphere_draws_have_the_radius_and_no_direction(d):
    x = sampling.sphere(N, d, radius=3.0, seed=1)
    assert_close(x.norm(dim=-1), torch.full((N,), 3.0).double(), atol=0, rtol=4 * EPS)
    # Each coordinate has variance radius^2 / d.
    assert (x.mean(0).abs() <= SIGMAS * 3 / math.sqrt(d * N)).all()


@pytest.mark.parametrize("d", [1, 2, 5])
def test_ball_draws_fill_the_ball_evenly(d):
    x = sampling.ball(N, d, radius=3.0, seed=1)
    share = (x.norm(dim=-1) / 3) ** d
    assert share.max() <= 1
    # Kolmogorov: sup |F_n - F| > 2.5 / sqrt(n) has probability 2 exp(-12.5) < 10^-5.
    assert stats.kstest(share.numpy(), "uniform").statistic <= 2.5 / math.sqrt(N)


@pytest.mark.parametrize("draw", [sampling.sphere, sampling.ball])
def test_a_round_law_needs_a_radius_and_a_width(draw):
    with pytest.raises(InvalidValue, match="`radius` must be above 0 but is -1"):
        draw(3, 2, radius=-1.0)
    with pytest.raises(InvalidValue, match="`radius` must be above 0 but is nan"):
        draw(3, 2, radius=math.nan)
    with pytest.raises(InvalidValue, match="`d` must be 1 or more"):
        draw(3, 0)


def test_a_mixture_draws_each_component_at_its_rate():
    x = sampling.mixture(N, [[-100.0], [0.0], [100.0]], [[1.0]], [0.5, 0.0, 0.5], seed=1)
    right = (x > 50).double().mean().item()
    assert abs(right - 0.5) <= SIGMAS * math.sqrt(0.25 / N)
    assert ((x.abs() - 100).abs() < 10).all()
    assert torch.equal(x[:, 0] > 0, (x[:, 0] > 0).sort().values)  # component after component


def test_a_mixture_has_one_covariance_for_each_component():
    x = sampling.mixture(
        N, [[-100.0, 0.0], [100.0, 0.0]], [torch.eye(2), 4 * torch.eye(2)], seed=1
    )
    for side, scale in ((x[x[:, 0] < 0], 1.0), (x[x[:, 0] > 0], 4.0)):
        # The variance of a sample variance is 2 scale^2 / n.
        bound = SIGMAS * scale * math.sqrt(2 / len(side))
        assert ((covariance(side) - scale * torch.eye(2)).abs() <= bound).all()


@pytest.mark.parametrize(
    ("means", "covs"),
    [
        ([0.0, 1.0], [[1.0]]),
        ([[0.0], [1.0]], 1.0),
        ([[0.0], [1.0]], torch.ones(3, 1, 1)),
        ([[0.0], [1.0]], torch.ones(2, 2, 1, 1)),
    ],
)
def test_a_mixture_that_does_not_fit_is_refused(means, covs):
    with pytest.raises(ShapeMismatch, match=r"means of shape \(m, d\) and covariances"):
        sampling.mixture(4, means, covs)


def test_a_mixture_with_wrong_weights_is_refused():
    with pytest.raises(InvalidValue, match=r"sum to 1 but sum to 1.1"):
        sampling.mixture(4, [[0.0], [1.0]], [[1.0]], [0.6, 0.5])


def gaussian_moment(degree: int) -> float:
    """E z^k of a standard normal: (k - 1)!! for even k, else 0."""
    return 0.0 if degree % 2 else float(math.prod(range(1, degree, 2)))


@pytest.mark.parametrize("nodes", [1, 2, 5, 12])
def test_hermite_nodes_have_every_moment_of_their_degree(nodes):
    x, log_w = sampling.hermite(nodes, 0.0, 1.0)
    for degree in range(2 * nodes):
        terms = log_w.exp() * x[:, 0] ** degree
        scale = terms.abs().sum().item()
        assert abs(terms.sum().item() - gaussian_moment(degree)) <= 1e-12 * scale


def test_hermite_nodes_have_the_mean_and_covariance():
    x, log_w = sampling.hermite(6, MEAN, COV)
    w = log_w.exp()[:, None]
    mean = (w * x).sum(0)
    assert x.shape == (36, 2)
    assert_close(log_w.logsumexp(0).item(), 0.0, atol=1e-14, rtol=0)
    assert_close(mean, torch.tensor(MEAN).double(), atol=1e-12, rtol=0)
    cov = (w * (x - mean)).mT @ (x - mean)
    assert_close(cov, torch.tensor(COV, dtype=torch.float64), atol=1e-12, rtol=0)


@pytest.mark.parametrize(("cov", "count"), [([[1.0, 2.0], [2.0, 4.0]], 7), (torch.zeros(2, 2), 1)])
def test_hermite_nodes_extend_where_the_law_does(cov, count):
    x, log_w = sampling.hermite(7, MEAN, cov)
    centred = x - torch.tensor(MEAN).double()
    assert len(x) == count
    found = (log_w.exp()[:, None] * centred).mT @ centred
    assert_close(found, torch.as_tensor(cov).double(), atol=1e-12, rtol=0)


def test_tiny_hermite_weights_are_kept():
    _, log_w = sampling.hermite(350, 0.0, 1.0)
    assert log_w.isfinite().all()
    assert log_w.min() < math.log(1e-280)


@pytest.mark.parametrize(("nodes", "d"), [(351, 1), (65, 4), (0, 1)])
def test_hermite_nodes_have_bounds(nodes, d):
    with pytest.raises(InvalidValue, match=r"At most 350 nodes|`nodes` must be 1 or more"):
        sampling.hermite(nodes, [0.0] * d)


@pytest.mark.parametrize("n", [1, 2, 7, 100])
def test_quantiles_are_those_of_the_normal_law(n):
    expected = stats.norm(1.0, 2.0).ppf([(i + 0.5) / n for i in range(n)])
    found = sampling.quantiles(n, 1.0, 2.0)
    assert_close(found[:, 0], torch.from_numpy(expected), atol=1e-13, rtol=1e-13)


def test_quantiles_of_a_law_of_scipy():
    found = sampling.quantiles_of(4, stats.uniform(-1, 4).ppf)
    assert_close(found[:, 0], torch.tensor([-0.5, 0.5, 1.5, 2.5]).double(), atol=4 * EPS, rtol=0)


def test_wrong_quantiles_are_refused():
    with pytest.raises(InvalidValue, match="`std` must be above 0 but is 0"):
        sampling.quantiles(3, std=0.0)
    with pytest.raises(ShapeMismatch, match="must return 3 numbers for 3 probabilities"):
        sampling.quantiles_of(3, lambda p: p[:, None])
    with pytest.raises(NotFinite, match="Quantiles must be finite"):
        sampling.quantiles_of(3, lambda p: p / 0)
