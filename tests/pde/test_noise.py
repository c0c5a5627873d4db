"""Noise: exact variances in R^d, Brownian motion on the sphere, common noise, refusals."""

import math

import pytest
import torch
from flows import no_attention

import vlasov as vl
from vlasov.errors import InvalidValue, Unsupported
from vlasov.pde import NOISES

pytestmark = pytest.mark.usefixtures("unchecked_types")


@pytest.mark.parametrize("name", NOISES)
def test_specs_build_again(name):
    assert NOISES.spec(NOISES.build(f"{name}:diffusion=0.25")) == f"{name}:diffusion=0.25"


@pytest.mark.parametrize("integrator", ["euler", "heun"])
@pytest.mark.parametrize("step", [0.1, 0.01])
def test_b09_variance_does_not_depend_on_the_step(integrator, step):
    n = 20_000
    cloud = vl.Cloud(torch.zeros(n, 1, 2, dtype=torch.float64))
    run = vl.simulate(
        no_attention(noise="independent:diffusion=0.5"),
        cloud,
        until=1.0,
        step=step,
        integrator=integrator,
        seed=1,
        keep="last",
    )
    variance = float(run.points[-1].square().mean())
    assert variance == pytest.approx(1.0, abs=4 * math.sqrt(2 / (2 * n)))


def test_b09_stationary_variance_of_the_scheme():
    # x' = -x with D = 1: Euler-Maruyama has the stationary variance 1/(1 - h/2)
    n = 40_000
    cloud = vl.Cloud(torch.zeros(n, 1, 2, dtype=torch.float64))
    run = vl.simulate(
        no_attention(terms="decay:rate=1", noise="independent:diffusion=1"),
        cloud,
        until=6.0,
        step=0.1,
        integrator="euler",
        keep="last",
    )
    exact = 1 / (1 - 0.05)
    assert float(run.points[-1].square().mean()) == pytest.approx(
        exact, abs=4 * exact * math.sqrt(2 / (2 * n))
    )


@pytest.mark.parametrize("integrator", ["euler", "heun"])
def test_brownian_motion_on_the_sphere(integrator):
    # first spherical harmonic: E x(t) = e^{-(d-1) D t} x(0)
    n, d, diffusion, t = 20_000, 3, 0.25, 1.0
    north = torch.zeros(n, 1, d, dtype=torch.float64)
    north[..., 0] = 1.0
    identity = torch.eye(d).double()
    pde = vl.TransformerPDE(
        projections=vl.Projections(query=identity, key=identity, value=0 * identity),
        geometry="sphere",
        noise=f"independent:diffusion={diffusion}",
    )
    run = vl.simulate(
        pde, vl.Cloud(north), until=t, step=0.01, integrator=integrator, keep="last", seed=2
    )
    x = run.points[-1][:, 0]
    torch.testing.assert_close(
        x.norm(dim=-1), torch.ones(n, dtype=torch.float64), atol=1e-12, rtol=0
    )
    exact = math.exp(-(d - 1) * diffusion * t)
    # four standard errors and the weak error of the scheme, of order h
    assert float(x[:, 0].mean()) == pytest.approx(exact, abs=4 / math.sqrt(n) + 0.01)


def test_common_noise_moves_all_tokens_alike():
    cloud = vl.Cloud.gaussian(n=5, d=2, seed=3)
    run = vl.simulate(
        no_attention(noise="common:diffusion=0.5"),
        cloud,
        until=1.0,
        step=0.1,
        integrator="euler",
    )
    moved = run.points[-1] - cloud.points
    torch.testing.assert_close(moved, moved[:1].expand_as(moved), rtol=0, atol=1e-14)
    assert moved.abs().max() > 1e-3


@pytest.mark.slow
def test_noise_under_momentum_acts_on_velocities():
    # free Langevin from x(0) = u(0) = 0, in the limit of small steps:
    # Var u(t) = D (1 - e^{-2 gamma t}) / gamma, integrated twice for Var x(t)
    n, gamma, diffusion = 20_000, 1.0, 0.5
    cloud = vl.Cloud(torch.zeros(n, 1, 2, dtype=torch.float64))
    pde = no_attention(
        terms=f"momentum:damping={gamma}", noise=f"independent:diffusion={diffusion}"
    )
    run = vl.simulate(
        pde, cloud, until=2.0, step=0.005, integrator="heun", keep="last", save_at=(2.0,)
    )
    t = 2.0
    exact = (2 * diffusion / gamma**2) * (
        t - 2 * (1 - math.exp(-gamma * t)) / gamma + (1 - math.exp(-2 * gamma * t)) / (2 * gamma)
    )
    assert float(run.points[-1].square().mean()) == pytest.approx(
        exact, abs=5 * exact * math.sqrt(2 / (2 * n))
    )


def test_one_seed_one_path():
    cloud = vl.Cloud.gaussian(n=5, d=2, seed=3)
    pde = vl.TransformerPDE(noise="independent")
    runs = [
        vl.simulate(pde, cloud, until=1.0, step=0.1, integrator="euler", seed=s).points
        for s in (7, 7, 8)
    ]
    assert torch.equal(runs[0], runs[1])
    assert not torch.equal(runs[0], runs[2])


def test_refusals():
    with pytest.raises(InvalidValue, match="diffusion coefficient"):
        NOISES.build("independent:diffusion=-1")
    pde = vl.TransformerPDE(noise="independent")
    cloud = vl.Cloud.gaussian(n=5, d=2, seed=3)
    with pytest.raises(Unsupported, match="rk4"):
        vl.simulate(pde, cloud, until=1.0, step=0.1, integrator="rk4")
    with pytest.raises(Unsupported, match=r"[Nn]oise"):
        vl.simulate(pde, cloud, until=1.0, step="adaptive")
