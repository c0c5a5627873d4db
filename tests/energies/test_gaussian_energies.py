"""Energies of Gaussian laws: closed forms against Gauss-Hermite clouds, and where they end."""

import math

import pytest
import torch
from covariance_equation import normal, positive
from torch.testing import assert_close

import vlasov as vl
from vlasov.errors import NotFinite, Unsupported
from vlasov.pde import LinearTerm

EYE = torch.eye(2, dtype=torch.float64)
VARIANTS = ["softmax", "unnormalised", "linear", "sinkhorn:eps=0.5,tolerance=1e-13", "l2"]
signs = pytest.mark.parametrize("sigma", [1.0, -1.0], ids=["up", "down"])


def equation(
    attention: str, sigma: float, *, seed: int = 0, beta: float = 0.7
) -> vl.TransformerPDE:
    """A = beta K^T Q symmetric, V = sigma B A, and for l2 its drift."""
    a, key = normal(2, 2, seed=seed) / 4, EYE + normal(2, 2, seed=seed + 1) / 4
    a, b = a + a.mT, positive(2, seed=seed + 2) + EYE / 2
    maps = vl.Projections(torch.linalg.solve(key.mT, a) / beta, key, sigma * b @ a)
    drift = (LinearTerm(-sigma * beta * b @ key.mT @ key),) if attention == "l2" else ()
    return vl.TransformerPDE(attention, maps, beta=beta, terms=drift)


def narrow(seed: int) -> vl.Gaussian:
    """A law with rho(Sigma A) well below 1."""
    return vl.Gaussian(normal(2, seed=seed) / 2, 0.25 * positive(2, seed=seed + 1) + 0.05 * EYE)


@signs
@pytest.mark.parametrize("attention", VARIANTS)
@pytest.mark.parametrize("seed", [0, 1])
def test_closed_forms_are_the_energies_of_hermite_clouds(attention, sigma, seed):
    pde, law = equation(attention, sigma, seed=10 * seed), narrow(100 + seed)
    cloud = vl.Cloud.hermite(30, law.mean, law.cov)
    assert_close(vl.energy(pde, law), vl.energy(pde, cloud), atol=1e-11, rtol=1e-11)


@pytest.mark.parametrize("attention", VARIANTS)
def test_singular_laws_have_energies(attention):
    law = vl.Gaussian([0.3, -0.2], [[0.4, 0.2], [0.2, 0.1]])
    cloud = vl.Cloud.hermite(40, law.mean, law.cov)
    pde = equation(attention, 1.0)
    assert_close(vl.energy(pde, law), vl.energy(pde, cloud), atol=1e-11, rtol=1e-11)
    point = vl.Gaussian(law.mean, 0 * EYE)
    assert_close(vl.energy(pde, point), vl.energy(pde, vl.Cloud(law.mean[None])))


@pytest.mark.parametrize("attention", [name for name in VARIANTS if name != "unnormalised"])
def test_the_energy_of_a_law_falls_at_the_rate_of_its_cloud(attention):
    pde, law = equation(attention, 1.0), narrow(100)
    field = pde.gaussian_field(law)
    speed = field(0.0, field.initial(0.0))
    mean, factor = (x.clone().requires_grad_() for x in (law.mean, law.factor))
    value = vl.energy(pde, vl.Gaussian.of_factor(mean, factor))
    by_mean, by_factor = torch.autograd.grad(value, (mean, factor))
    matrix, offset = speed[..., :2], speed[..., 2]
    slope = by_mean @ (matrix @ law.mean + offset) + (by_factor * (matrix @ law.factor)).sum()
    rate = vl.dissipation(pde, vl.Cloud.hermite(30, law.mean, law.cov))
    assert_close(slope, -rate, atol=1e-9, rtol=1e-8)


def test_heads_add_up():
    first, second = equation("linear", 1.0), equation("unnormalised", 1.0)
    a = [pde.projections.maps() for pde in (first, second)]
    maps = vl.Projections(
        torch.cat([one["query"] for one in a]),
        torch.cat([one["key"] for one in a]),
        torch.cat([one["value"] for one in a]),
    )
    both = vl.TransformerPDE("linear+unnormalised", maps, beta=0.7)
    law = narrow(100)
    assert_close(vl.energy(both, law), vl.energy(first, law) + vl.energy(second, law))


def test_golden_10_sinkhorn_energy_of_a_gaussian():
    pde = vl.TransformerPDE("sinkhorn", vl.Projections([[0.9]], [[1.0]], [[0.9]]))
    assert_close(2 * vl.energy(pde, vl.Gaussian(0.0, 0.8)).item(), -0.216781644, atol=1e-9, rtol=0)


def test_batches_of_laws_have_one_energy_each():
    pde, laws = equation("softmax", 1.0), [narrow(seed) for seed in (100, 101)]
    batch = vl.Gaussian(torch.stack([x.mean for x in laws]), torch.stack([x.cov for x in laws]))
    assert_close(vl.energy(pde, batch), torch.stack([vl.energy(pde, law) for law in laws]))


@pytest.mark.parametrize("a", [1.0, -1.0])
def test_wide_laws_have_infinite_energies(a):
    pde = vl.TransformerPDE(projections=vl.Projections([[a]], [[1.0]], [[a]]))
    assert_close(vl.energy(pde, vl.Gaussian(0.0, 0.6)).item(), -0.5 / math.sqrt(1 - 0.6**2))
    with pytest.raises(NotFinite, match=r"rho\(Sigma A\) < 1, which is 1 here"):
        vl.energy(pde, vl.Gaussian(0.0, 1.0))


def test_an_energy_without_closed_form_is_refused():
    with pytest.raises(Unsupported, match="under 'sigmoid'"):
        vl.energy(vl.TransformerPDE("sigmoid"), vl.Gaussian([0.0, 0.0], EYE))


def test_no_gaussian_lives_on_the_sphere():
    with pytest.raises(Unsupported, match="flat space"):
        vl.energy(vl.TransformerPDE(geometry="sphere"), vl.Gaussian([0.0, 0.0], EYE))
