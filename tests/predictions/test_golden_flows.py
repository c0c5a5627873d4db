"""Golden tests 11-15 of the particle system in R^d."""

import math

import pytest
import torch
from scipy.special import exp1

import vlasov as vl


@pytest.mark.slow
def test_golden_11_one_token_blows_up():
    token = vl.Cloud([[0.7]])
    exact = {"unnormalised": exp1(0.49) / 2, "linear": 1 / (2 * 0.49)}
    for attention, time in exact.items():
        run = vl.simulate(
            vl.TransformerPDE(attention=attention), token, until=2.0, step="adaptive", rtol=1e-11
        )
        assert run.status == "blow-up"
        assert run.stopped_at == pytest.approx(time, rel=1e-6)
        assert run.points.isfinite().all()
    assert exact["unnormalised"] == pytest.approx(0.286044418, abs=1e-9)
    assert exact["linear"] == pytest.approx(1.020408163, abs=1e-9)


def random_maps(d: int, seed: int, scale: float = 0.5) -> vl.Projections:
    return vl.Projections.random(d, seed=seed, scale=scale)


def test_golden_12_mean_under_sinkhorn():
    eps, maps = 0.5, random_maps(3, seed=1)
    cloud = vl.Cloud.gaussian(n=50, d=3, seed=2)
    run = vl.simulate(
        vl.TransformerPDE(attention=f"sinkhorn:eps={eps}", projections=maps),
        cloud,
        until=0.3,
        step=0.01,
        observe=("mean",),
    )
    flow = torch.linalg.matrix_exp(0.3 * maps.maps()["value"][0] / eps)
    torch.testing.assert_close(
        run.observables["mean"][-1], flow @ cloud.points.mean(0), rtol=1e-8, atol=1e-9
    )


def test_golden_13_masked_prefix_independence():
    maps = random_maps(2, seed=3)
    pde = vl.TransformerPDE(projections=maps, mask="causal")
    long = vl.Cloud.gaussian(n=12, d=2, seed=4)
    whole = vl.simulate(pde, long, until=1.0, step=0.05).points[-1]
    prefix = vl.simulate(pde, vl.Cloud(long.points[:5]), until=1.0, step=0.05).points[-1]
    torch.testing.assert_close(whole[:5], prefix, rtol=1e-14, atol=1e-15)
    flow = torch.linalg.matrix_exp(maps.maps()["value"][0])
    torch.testing.assert_close(whole[0], flow @ long.points[0], rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("attention", ["softmax", "l2", "sigmoid", "sinkhorn:eps=1"])
def test_golden_14_support_radius(attention):
    maps = random_maps(2, seed=6, scale=0.3)
    cloud = vl.Cloud.ball(n=40, d=2, seed=7)
    run = vl.simulate(
        vl.TransformerPDE(attention=attention, projections=maps), cloud, until=1.0, step=0.05
    )
    radius = run.points.norm(dim=-1).amax(-1)
    value = float(torch.linalg.matrix_norm(maps.maps()["value"][0], 2))
    bound = radius[0] * torch.exp(value * run.times)
    assert (radius <= bound * (1 + 1e-12)).all()


@pytest.mark.parametrize("attention", ["softmax", "l2"])
def test_golden_14_stability_estimate(attention):
    import ot

    maps = random_maps(1, seed=8, scale=0.4)
    q, k, v = (float(maps.maps()[name]) for name in ("query", "key", "value"))
    generator = torch.Generator().manual_seed(9)
    x = 2 * torch.rand(60, 1, dtype=torch.float64, generator=generator) - 1
    y = (x + 0.1 * torch.randn(60, 1, dtype=torch.float64, generator=generator)).clamp(-1, 1)
    pde = vl.TransformerPDE(attention=attention, projections=maps)
    ends = [vl.simulate(pde, vl.Cloud(c), until=0.5, step=0.02).points[-1] for c in (x, y)]
    radius = math.exp(abs(v) * 0.5)
    a = abs(q * k)
    if attention == "softmax":
        lipschitz = abs(v) * a * radius**2
        kernel = abs(v) * (1 + 2 * a * radius**2) * math.exp(2 * a * radius**2)
    else:
        lipschitz = 2 * abs(v) * a * radius**2
        grow = (abs(q) + abs(k)) ** 2 * radius**2
        kernel = abs(v) * (1 + 2 * math.sqrt(2 / math.e) * abs(k) * radius) * math.exp(grow)
    bound = math.exp(0.5 * (lipschitz + kernel))
    for p in (1, 2):
        before = float(ot.wasserstein_1d(x.numpy()[:, 0], y.numpy()[:, 0], p=p)) ** (1 / p)
        after = float(ot.wasserstein_1d(ends[0].numpy()[:, 0], ends[1].numpy()[:, 0], p=p)) ** (
            1 / p
        )
        assert after <= bound * before


def test_golden_15_linear_attention_follows_the_softmax_covariance_equation():
    maps = random_maps(2, seed=10)
    cloud = vl.Cloud.mixture(
        n=50, means=[[1, 0], [-1, 0.5]], covs=[[[0.2, 0], [0, 0.1]]] * 2, seed=1
    )
    run = vl.simulate(
        vl.TransformerPDE(attention="linear", projections=maps), cloud, until=0.5, step=0.01
    )
    a = maps.maps()["key"][0].mT @ maps.maps()["query"][0]
    value = maps.maps()["value"][0]

    def rate(m: torch.Tensor) -> torch.Tensor:
        half = value @ m @ a @ m
        return half + half.mT

    moment = cloud.points.mT @ cloud.points / cloud.n
    h = 0.5 / 200
    for _ in range(200):
        k1 = rate(moment)
        k2 = rate(moment + h / 2 * k1)
        k3 = rate(moment + h / 2 * k2)
        k4 = rate(moment + h * k3)
        moment = moment + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
    final = run.points[-1]
    torch.testing.assert_close(final.mT @ final / cloud.n, moment, rtol=1e-7, atol=1e-8)
