"""Predictions V35-V38 of the particle system in R^d."""

import numpy as np
import pytest
import torch
from scipy.spatial import ConvexHull

import vlasov as vl


def dedrifted_run(cloud: vl.Cloud, until: float, **choices) -> vl.Run:
    moving = vl.dedrifted(vl.TransformerPDE(), cloud.d)
    return vl.simulate(moving.pde, cloud, until=until, **choices)


def boolean_limit(seed: int):
    cloud = vl.Cloud.gaussian(n=40, d=1, seed=seed)
    times = torch.linspace(4.5, 6.5, 21, dtype=torch.float64)
    run = dedrifted_run(cloud, 6.5, step="adaptive", rtol=1e-9, atol=1e-11, save_at=times.tolist())
    z = run.points[-21:, :, 0]
    x = z * torch.exp(times)[:, None]
    logits = x[:, :, None] * x[:, None, :]
    return times, z, torch.softmax(logits, dim=-1), logits


def test_v35_boolean_limit_in_one_dimension():
    times, z, weights, logits = boolean_limit(seed=11)
    rank = int(torch.linalg.matrix_rank(weights[-1].round()))
    assert rank <= 3
    # for a token away from 0, -log(1 - P) grows like the product of its size and the gap
    i = int(z[0].argmax())
    gap = logits[:, i].sort(descending=True).values
    lost = torch.logsumexp(gap[:, 1:] - gap[:, :1], dim=-1)  # log(1 - P) without cancellation
    assert np.polyfit(times.numpy(), torch.log(-lost).numpy(), 1)[0] == pytest.approx(
        1.0, abs=0.15
    )


def test_v35_rescaled_tokens_have_two_limits():
    cloud = vl.Cloud.gaussian(n=40, d=1, seed=11)
    run = dedrifted_run(cloud, 30.0, step="adaptive", rtol=1e-8, atol=1e-10)
    limits = torch.unique((run.points[-1, :, 0] * 1e3).round())
    assert run.status == "finished"
    assert len(limits) <= 3  # the two ends and at most one exceptional token


@pytest.mark.parametrize("seed", range(5))
def test_v36_limits_are_vertices_of_a_polygon(seed):
    cloud = vl.Cloud.gaussian(n=30, d=2, seed=seed)
    run = dedrifted_run(cloud, 25.0, step="adaptive", rtol=1e-7, atol=1e-9)
    limits = torch.unique((run.points[-1] / 1e-3).round(), dim=0) * 1e-3
    away = limits[limits.norm(dim=-1) > 2e-3]
    hull = ConvexHull(away.numpy())
    assert len(hull.vertices) == len(away)
    assert len(away) <= len(ConvexHull(cloud.points.numpy()).vertices)


def test_v37_negative_value_map_collapses_algebraically():
    cloud = vl.Cloud.gaussian(n=300, d=2, seed=3)
    minus = vl.Projections(
        query=torch.eye(2).double(), key=torch.eye(2).double(), value=-torch.eye(2).double()
    )
    run = vl.simulate(
        vl.TransformerPDE(projections=minus), cloud, until=30.0, step=0.05, save_at=(20.0, 30.0)
    )
    rms = run.points[-2:].square().sum(-1).mean(-1).sqrt()
    assert rms.tolist() == pytest.approx([20**-0.5, 30**-0.5], rel=0.03)


@pytest.mark.parametrize("alpha", [0.5, 1.0, 3.0])
def test_v38_hardmax_leaders_and_contraction(alpha):
    cloud = vl.Cloud.gaussian(n=60, d=2, seed=5)
    # z <- z + alpha/(1+alpha) (mean over leaders - z): Euler for hardmax with the term -x
    pde = vl.TransformerPDE(attention="hardmax", terms="decay:rate=1")
    step = alpha / (1 + alpha)
    run = vl.simulate(pde, cloud, until=150 * step, step=step, integrator="euler", save_every=1)
    x = cloud.points
    leaders = (x @ x.mT).argmax(-1) == torch.arange(60)
    for frame in run.points:
        torch.testing.assert_close(frame[leaders], x[leaders], rtol=0, atol=1e-11)
    # followers approach their limit by 1/(1+alpha) a layer once the assignment is frozen
    late, later = run.points[14], run.points[15]
    gap = (late - run.points[-1]).norm(dim=-1)
    moving = gap > 1e-4
    if alpha < 3:
        assert moving.any()
    factor = (later - run.points[-1]).norm(dim=-1)[moving] / gap[moving]
    torch.testing.assert_close(factor, torch.full_like(factor, 1 / (1 + alpha)), rtol=1e-6, atol=0)
