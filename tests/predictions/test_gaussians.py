"""Gaussian closures of the literature (V39 to V42): reductions, and clouds beside them."""

import math

import pytest
import torch

import vlasov as vl

D = torch.float64
CLOSE = 5e-3  # what the catalogue allows to clouds of a few hundred tokens


def line(attention="softmax", *, value, **parts):
    maps = vl.Projections([[1.0]], [[1.0]], [[value]])
    return vl.TransformerPDE(attention, maps, **parts)


def variance(run, frame):
    return run.points[frame].var(correction=0).item()


def both(pde, cloud, law, times, step):
    """A cloud and its law at the same times."""
    run = vl.simulate(pde, cloud, until=times[-1], step=step, save_at=times)
    return run, vl.reduce(pde, law, until=times[-1], save_at=times)


def test_v39_softmax_with_a_negative_product():
    times = [0.5, 1.0, 1.5, 2.0]
    run, red = both(line(value=-1.0), vl.Cloud.quantiles(1000), vl.Gaussian(0.0, 1.0), times, 0.1)
    for i, (t, points, law) in enumerate(
        zip(times, [0.5010, 0.3337, 0.2502, 0.2001], [0.4998, 0.3333, 0.25, 0.2], strict=True), 1
    ):
        assert red.cov[i, 0, 0].item() == pytest.approx(1 / (1 + 2 * t), rel=1e-9)
        assert red.cov[i, 0, 0].item() == pytest.approx(law, rel=1e-3)
        assert variance(run, i) == pytest.approx(points, rel=CLOSE)


def test_v39_the_mean_moves_too():
    cloud, law = vl.Cloud.quantiles(1000, 0.4, 0.6), vl.Gaussian(0.4, 0.36)
    run, red = both(line(value=-1.0), cloud, law, [1.0], 0.1)
    assert red.mean[-1, 0].item() == pytest.approx(0.4 / math.e / math.sqrt(1.72), rel=1e-9)
    assert red.cov[-1, 0, 0].item() == pytest.approx(0.36 / 1.72, rel=1e-9)
    # The catalogue's numbers start from the moments of its points.
    assert red.mean[-1, 0].item() == pytest.approx(0.11225, rel=2e-3)
    assert red.cov[-1, 0, 0].item() == pytest.approx(0.20908, rel=2e-3)
    assert run.points[-1].mean().item() == pytest.approx(0.11228, rel=CLOSE)
    assert variance(run, -1) == pytest.approx(0.20924, rel=CLOSE)


def test_v40_blow_up_and_its_sampling_limit():
    times = [1.0, 1.4, 1.6, 1.8]
    cloud = vl.Cloud.quantiles(600, 0.0, 0.5)
    start = cloud.points.var(correction=0).item()
    assert start == pytest.approx(0.2495, abs=1e-4)
    run, red = both(line(value=1.0), cloud, vl.Gaussian(0.0, start), times, 0.05)
    wanted = zip([0.4961, 0.8128, 1.168, 1.893], [0.4978, 0.8274, 1.237, 2.447], strict=True)
    for i, (points, law) in enumerate(wanted, 1):
        # The law is the steeper in its start, given to four digits, the nearer it is to the end.
        assert red.cov[i, 0, 0].item() == pytest.approx(law, rel=5e-3)
        assert variance(run, i) == pytest.approx(points, rel=1e-2)
    assert abs(variance(run, 1) / red.cov[1, 0, 0].item() - 1) < 1e-2
    end = vl.reduce(line(value=1.0), vl.Gaussian(0.0, start), until=3.0, frames=2)
    assert end.blow_up_time == pytest.approx(1 / (2 * start), rel=1e-9)
    assert end.blow_up_time == pytest.approx(2.004, abs=1e-3)


def test_v40_anisotropy_is_forgotten():
    eye = torch.eye(2, dtype=D)
    pde = vl.TransformerPDE(projections=vl.Projections(eye, eye, -eye))
    law = vl.Gaussian([0.0, 0.0], [[2.25, 0.0], [0.0, 0.25]])
    red = vl.reduce(pde, law, until=1000.0, save_at=[1.0])
    assert red.cov[1].diagonal().tolist() == pytest.approx([0.4091, 0.1667], abs=5e-5)
    assert (2 * 1000 * red.cov[-1].diagonal()).tolist() == pytest.approx([1, 1], rel=3e-3)


@pytest.mark.parametrize(
    ("value", "points", "laws"),
    [(1.0, [1.7596, 3.5844], [1.7584, 3.5790]), (-1.0, [0.6408, 0.4519], [0.6411, 0.4523])],
)
def test_v41_l2_attention_does_not_blow_up(value, points, laws):
    """The kernel exp(-(x - y)^2 / 2) is beta = 1/2."""
    pde, times = line("l2", value=value, beta=0.5), [0.5, 1.0]
    run, red = both(pde, vl.Cloud.quantiles(600), vl.Gaussian(0.0, 1.0), times, 0.05)
    for i, t in enumerate(times, 1):
        s = red.cov[i, 0, 0].item()
        assert -1 / s + math.log(s) == pytest.approx(-1 + 2 * value * t, rel=1e-8)
        assert min(abs(s / points[i - 1] - 1), abs(s / laws[i - 1] - 1)) < CLOSE
        assert variance(run, i) == pytest.approx(points[i - 1], rel=CLOSE)


@pytest.mark.parametrize(
    ("eps", "measured"), [(2.0, 0.4142), (1.0, 0.6185), (0.5, 0.7807), (0.2, 0.9050)]
)
def test_v42_the_barycentric_map_of_sinkhorn(eps, measured):
    pde = line(f"sinkhorn:eps={eps}", value=1.0)
    law = vl.Gaussian(0.0, 1.0)
    field = pde.gaussian_field(law)
    slope = eps * field(0.0, field.initial(0.0))[0, 0].item()
    assert slope == pytest.approx(math.sqrt(1 + (eps / 2) ** 2) - eps / 2, rel=1e-12)
    cloud = vl.Cloud.quantiles(300)
    x, seen = cloud.points[:, 0], eps * vl.velocity(pde, cloud)[:, 0]
    centre = x.abs() < 1
    found = ((x * seen)[centre].sum() / x[centre].square().sum()).item()
    assert found == pytest.approx(slope, rel=CLOSE)
    assert found == pytest.approx(measured, rel=CLOSE)


def test_v42_the_drift_of_sinkhorn_tends_to_that_of_the_heat_flow():
    field = line("sinkhorn:eps=0.001", value=1.0).gaussian_field(vl.Gaussian(0.0, 1.0))
    slope = 0.001 * field(0.0, field.initial(0.0))[0, 0].item()
    assert (1 - slope) / 0.001 == pytest.approx(0.5, rel=1e-3)
    softmax = line(value=1.0, beta=2.0).gaussian_field(vl.Gaussian(0.0, 1.0))
    assert softmax(0.0, softmax.initial(0.0))[0, 0].item() == pytest.approx(2.0)


@pytest.mark.parametrize("eps", [1.0, 0.3])
def test_v42_sinkhorn_is_bistochastic(eps):
    cloud = vl.Cloud.quantiles(300)
    pde = line(f"sinkhorn:eps={eps},tolerance=1e-13", value=1.0)
    weights = eps * vl.attention_matrix(pde, cloud)[0]
    torch.testing.assert_close(weights.sum(0), torch.ones(300, dtype=D), rtol=0, atol=1e-12)
    torch.testing.assert_close(weights.sum(1), torch.ones(300, dtype=D), rtol=0, atol=1e-12)
