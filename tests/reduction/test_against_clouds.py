"""Reductions against the clouds they stand for: nodes of the law, and tokens drawn from it."""

import pytest
import torch

import vlasov as vl

pytestmark = pytest.mark.usefixtures("unchecked_types")

D = torch.float64
DRAWS, NODES = 200, 14


def normal(*shape, generator):
    return torch.randn(*shape, generator=generator, dtype=D)


def moments(x, w):
    """Mean and covariance of weighted points."""
    mean = (w[..., None] * x).sum(-2)
    rest = x - mean.unsqueeze(-2)
    return mean, (w[..., None] * rest).mT @ rest


def nodes_of(law):
    """The nodes of a batch of laws, as one batch of clouds."""
    cloud = vl.Cloud.hermite(NODES, [0.0, 0.0], torch.eye(2, dtype=D))
    points = cloud.points @ law.factor.mT + law.mean.unsqueeze(-2)
    return vl.Cloud.from_log_weights(points, cloud.log_weights.expand(len(points), -1))


@pytest.mark.parametrize(
    ("attention", "tolerance"),
    [
        ("softmax", 1e-9),
        ("l2", 1e-9),
        pytest.param("sinkhorn", 1e-8, marks=pytest.mark.slow),
        ("linear", 1e-9),
        ("softmax+l2", 1e-9),
        ("softmax+linear", 1e-9),
    ],
)
def test_200_draws_against_gauss_hermite_clouds(attention, tolerance):
    """The same fixed steps on both sides: the difference is the quadrature's alone."""
    generator = torch.Generator().manual_seed(1)
    h = attention.count("+") + 1
    query, key, value = (normal(DRAWS, h, 2, 2, generator=generator) for _ in range(3))
    # |R A R| is held at 0.15, where 14 nodes a side are exact to rounding.
    root = normal(DRAWS, 2, 2, generator=generator)
    strength = torch.linalg.matrix_norm(root.mT[:, None] @ key.mT @ query @ root[:, None], 2)
    norms = (key @ root[:, None]).square().sum((-2, -1)).maximum(strength)
    scale = (0.15 / norms).sqrt()[..., None, None]
    maps = vl.Projections(query * scale, key * scale, value)
    law = vl.Gaussian.of_factor(normal(DRAWS, 2, generator=generator) / 2, root)
    pde = vl.TransformerPDE(attention, maps, engine="dense")
    steps = {"until": 0.2, "step": 0.1, "integrator": "heun"}
    run, red = vl.simulate(pde, nodes_of(law), **steps, keep="last"), vl.reduce(pde, law, **steps)
    mean, cov = moments(run.final.points, run.final.weights)
    size = red.final.cov.abs().amax((-2, -1))
    assert ((mean - red.final.mean).abs().amax(-1) <= tolerance * size.sqrt().clamp_min(1)).all()
    assert ((cov - red.final.cov).abs().amax((-2, -1)) <= tolerance * size.clamp_min(1)).all()


def tame(attention, generator):
    """A random equation and law with |R A R| <= 1/2 up to min(1, t*/2), and that time."""
    query, key, value = (normal(2, 2, generator=generator) for _ in range(3))
    law = vl.Gaussian.of_factor(*(normal(*s, generator=generator) for s in [(2,), (2, 2)]))
    query = query * 0.5 / torch.linalg.matrix_norm(law.factor.mT @ key.mT @ query @ law.factor, 2)
    while True:
        pde = vl.TransformerPDE(attention, vl.Projections(query, key, value))
        until = min(1.0, 0.5 * (vl.reduce(pde, law, until=2.0, frames=2).blow_up_time or 2.0))
        run = vl.reduce(pde, law, until=until, frames=11)
        root = vl.Gaussian(run.mean, run.cov).factor
        if torch.linalg.matrix_norm(root.mT @ key.mT @ query @ root, 2).max() <= 0.5:
            return pde, law, until
        query = 0.7 * query


def outcome(pde, cloud, until):
    """Mean and covariance at the end, as one vector."""
    run = vl.simulate(pde, cloud, until=until, step=until / 5, integrator="heun", keep="last")
    mean, cov = moments(run.final.points, run.final.weights)
    return torch.cat([mean, cov.flatten()])


def standard_errors(pde, law, until, n):
    """The delta method: the variance of the first-order effect of a token, over n.

    The effects are the derivatives of the outcome by the weights of the nodes of the law.
    """
    nodes = vl.Cloud.hermite(12, law.mean, law.cov)
    logits = nodes.log_weights.clone().requires_grad_()
    found = outcome(pde, vl.Cloud.from_log_weights(nodes.points, logits.log_softmax(0)), until)
    slopes = torch.stack([torch.autograd.grad(one, logits, retain_graph=True)[0] for one in found])
    return ((slopes**2 / nodes.weights).sum(-1) / n).sqrt()


@pytest.mark.slow
@pytest.mark.parametrize("attention", ["softmax", "l2", "sinkhorn", "linear"])
def test_20_draws_against_2000_tokens(attention):
    """Mean and covariance within five standard errors."""
    generator, n = torch.Generator().manual_seed(2), 2000
    for draw in range(20):
        pde, law, until = tame(attention, generator)
        red = vl.reduce(pde, law, until=until, step=until / 5, integrator="heun")
        wanted = torch.cat([red.final.mean, red.final.cov.flatten()])
        found = outcome(pde, vl.Cloud.gaussian(n, law.mean, law.cov, seed=draw), until)
        off = (found - wanted).abs() / standard_errors(pde, law, until, n)
        assert off.max() <= 5, f"draw {draw}: {off}"
        assert off.max() >= 0.02
