"""Every row of the table of energies: along the flow the energy falls at the rate D."""

import pytest
import torch
from torch.testing import assert_close

from vlasov.cloud import Cloud
from vlasov.energies import Dissipation, Energy, dissipation, energy
from vlasov.pde import LinearTerm, TransformerPDE, velocity
from vlasov.projections import Projections

pytestmark = pytest.mark.usefixtures("unchecked_types")

D, N = 3, 10
TIGHT_SINKHORN = "sinkhorn:eps=0.3,tolerance=1e-13"
ROWS = ["softmax", "unnormalised", "linear", "sigmoid:bias=-0.5", TIGHT_SINKHORN, "l2"]
SUMS = ["unnormalised", "linear", "sigmoid:bias=0.3", "sinkhorn:tolerance=1e-13"]
signs = pytest.mark.parametrize("sigma", [1.0, -1.0], ids=["up", "down"])


def normal(*shape: int, seed: int) -> torch.Tensor:
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(*shape, generator=generator, dtype=torch.float64)


def symmetric(seed: int, size: float = 0.3) -> torch.Tensor:
    a = size * normal(D, D, seed=seed)
    return (a + a.mT) / 2


def positive(seed: int) -> torch.Tensor:
    root = normal(D, D, seed=seed) / 2
    return root @ root.mT + 0.2 * torch.eye(D, dtype=torch.float64)


def weighted_cloud() -> Cloud:
    w = torch.rand(N, generator=torch.Generator().manual_seed(9), dtype=torch.float64)
    return Cloud(0.7 * normal(N, D, seed=8), w / w.sum())


def equation(attention: str, sigma: float, *, beta: float = 0.8) -> TransformerPDE:
    """A = beta K^T Q symmetric and V = sigma B A; with its drift for L2."""
    a, b, key = symmetric(1), positive(2), normal(D, D, seed=3) / 2
    maps = Projections(torch.linalg.solve(key.mT, a) / beta, key, sigma * b @ a)
    drift = LinearTerm(-sigma * beta * b @ key.mT @ key)
    terms = (drift,) if attention == "l2" else ()
    return TransformerPDE(attention, maps, beta=beta, terms=terms)


def two_heads(attention: str) -> TransformerPDE:
    """Heads of opposite signs and one B."""
    first, second, b = symmetric(4), symmetric(5), positive(6)
    eye = torch.eye(D, dtype=torch.float64)
    maps = Projections(
        torch.stack([first, second]),
        torch.stack([eye, eye]),
        torch.stack([b @ first, -b @ second]),
    )
    return TransformerPDE(attention, maps)


def derivative_along_flow(pde: TransformerPDE, cloud: Cloud) -> torch.Tensor:
    """dF/dt as the gradient of F in the points times their velocity."""
    x = cloud.points.clone().requires_grad_()
    (slope,) = torch.autograd.grad(energy(pde, cloud.with_points(x)).sum(), x)
    return (slope * velocity(pde, cloud)).sum()


def require_balance(pde: TransformerPDE, cloud: Cloud) -> None:
    # the potentials of Sinkhorn attention are known to 1e-13, the rest to rounding
    rate = derivative_along_flow(pde, cloud)
    assert_close(rate, -dissipation(pde, cloud), atol=1e-12, rtol=1e-9)


def rk4(pde: TransformerPDE, cloud: Cloud, h: float) -> Cloud:
    field, x = pde.particle_field(cloud), cloud.points
    k1 = field(0.0, x)
    k2 = field(0.0, x + h / 2 * k1)
    k3 = field(0.0, x + h / 2 * k2)
    k4 = field(0.0, x + h * k3)
    return cloud.with_points(pde.geometry.retract(x + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)))


@signs
@pytest.mark.parametrize("attention", ROWS)
def test_golden_9_energy_falls_at_the_rate_of_its_dissipation(attention, sigma):
    pde, cloud, h = equation(attention, sigma), weighted_cloud(), 1e-3
    after, before = (energy(pde, rk4(pde, cloud, step)) for step in (h, -h))
    rate = dissipation(pde, cloud)
    assert rate > 0
    assert_close((after - before) / (2 * h), -rate, atol=1e-7, rtol=1e-5)


@signs
@pytest.mark.parametrize("attention", ROWS)
def test_gradient_of_the_energy_times_velocity_is_minus_the_dissipation(attention, sigma):
    pde, cloud = equation(attention, sigma), weighted_cloud()
    require_balance(pde, cloud)


@pytest.mark.parametrize("attention", [*SUMS, "linear+sinkhorn:eps=0.5,tolerance=1e-13"])
def test_energies_of_heads_that_share_b_add_up(attention):
    pde, cloud = two_heads(attention), weighted_cloud()
    require_balance(pde, cloud)


@signs
@pytest.mark.parametrize("attention", ["softmax", "linear", TIGHT_SINKHORN])
def test_a_may_be_singular(attention, sigma):
    row, b = normal(1, D, seed=7), positive(2)
    maps = Projections(row, -row, -sigma * b @ row.mT @ row)
    pde, cloud = TransformerPDE(attention, maps), weighted_cloud()
    require_balance(pde, cloud)


@signs
@pytest.mark.parametrize("attention", ROWS)
def test_the_same_energies_descend_on_the_sphere(attention, sigma):
    eye = torch.eye(D, dtype=torch.float64)
    a = 0.7 * eye if attention == "l2" else symmetric(1)
    maps = Projections(a, eye, 0.4 * sigma * a)
    pde = TransformerPDE(attention, maps, beta=2.0, geometry="sphere", terms="decay")
    cloud = Cloud.sphere(N, D)
    require_balance(pde, cloud)


@pytest.mark.parametrize("attention", ROWS)
def test_energies_are_functions_of_the_measure(attention):
    pde, cloud = equation(attention, 1.0), weighted_cloud()
    ghost = Cloud(
        torch.cat([cloud.points, torch.full((1, D), 30.0).double()]),
        torch.cat([cloud.weights, torch.zeros(1).double()]),
    )
    for measure in (Energy(pde), Dissipation(pde)):
        value = measure(cloud)
        assert_close(measure(cloud.split(2)), value, atol=1e-12, rtol=1e-9)
        assert_close(measure(ghost), value, atol=1e-12, rtol=1e-9)


@pytest.mark.parametrize("attention", ROWS)
@pytest.mark.parametrize("engine", ["dense", "tiled:rows=3"])
def test_energies_agree_between_engines(attention, engine):
    pde, cloud = equation(attention, 1.0), weighted_cloud()
    other = pde.replace(engine=engine)
    assert_close(energy(other, cloud), energy(pde, cloud), rtol=1e-12, atol=1e-14)
    assert_close(dissipation(other, cloud), dissipation(pde, cloud), rtol=1e-9, atol=1e-12)


def test_a_batch_of_clouds_has_one_energy_each():
    pde, cloud = two_heads("linear+unnormalised"), weighted_cloud()
    batch = Cloud(torch.stack([cloud.points, 2 * cloud.points]), cloud.weights)
    for measure in (energy, dissipation):
        value = measure(pde, batch)
        assert value.shape == (2,)
        assert_close(value[0], measure(pde, cloud))


def test_half_precision_clouds_have_energies_in_single_precision():
    pde, cloud = equation("softmax", 1.0), weighted_cloud().to(dtype=torch.float16)
    value = energy(pde, cloud)
    assert value.dtype == torch.float32
    assert_close(value, energy(pde, cloud.to(dtype=torch.float32)))


@pytest.mark.slow
@pytest.mark.parametrize("attention", ["softmax", "unnormalised"])
def test_v07_energy_balance_on_the_sphere(attention):
    beta, h, steps = 3.0, 2.5e-3, 200  # errors of order h^4 = 4e-11
    pde = TransformerPDE(attention, beta=beta, geometry="sphere")
    cloud = Cloud.sphere(20, 3, seed=0)
    frames = [cloud.points]
    for _ in range(steps):
        frames.append(rk4(pde, cloud.with_points(frames[-1]), h).points)
    run = Cloud(torch.stack(frames))
    heights, rates = -energy(pde, run) / beta, dissipation(pde, run) / beta
    simpson = rates[0] + rates[-1] + 4 * rates[1:-1:2].sum() + 2 * rates[2:-1:2].sum()
    assert_close(heights[-1] - heights[0], h / 3 * simpson, atol=1e-9, rtol=0.0)
    assert bool((heights.diff() > 0).all())
