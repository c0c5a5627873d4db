"""Predictions V01, V07-V10, V21 on the sphere (SA: softmax, USA: unnormalised)."""

import math

import pytest
import torch
from flows import circle, slope, sphere_pde
from scipy.integrate import quad
from scipy.optimize import brentq

import vlasov as vl


@pytest.mark.parametrize("attention", ["softmax", "unnormalised"])
def test_v01_permutation_and_rotation_equivariance(attention):
    cloud = vl.Cloud.sphere(n=16, d=3, seed=1)
    pde = sphere_pde(attention, 3.0)
    v = vl.velocity(pde, cloud)
    order = torch.randperm(16, generator=torch.Generator().manual_seed(2))
    permuted = vl.velocity(pde, vl.Cloud(cloud.points[order]))
    torch.testing.assert_close(permuted, v[order], rtol=1e-12, atol=1e-13)
    rotation = torch.linalg.qr(
        torch.randn(3, 3, dtype=torch.float64, generator=torch.Generator().manual_seed(3))
    ).Q
    rotated = vl.velocity(pde, vl.Cloud(cloud.points @ rotation.mT))
    torch.testing.assert_close(rotated, v @ rotation.mT, rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize("attention", ["softmax", "unnormalised"])
def test_v01_velocity_is_tangent(attention):
    cloud = vl.Cloud.sphere(n=16, d=3, seed=1)
    v = vl.velocity(sphere_pde(attention, 3.0), cloud)
    assert (v * cloud.points).sum(-1).abs().max() <= 1e-12 * v.norm(dim=-1).max()


def test_v01_rows_sum_to_one():
    cloud = vl.Cloud.sphere(n=16, d=3, seed=1)
    rows = vl.attention_matrix(sphere_pde("softmax", 3.0), cloud).sum(-1)
    torch.testing.assert_close(rows, torch.ones_like(rows), rtol=1e-12, atol=0)


@pytest.mark.parametrize("attention", ["softmax", "unnormalised"])
def test_v01_duplicates_equal_one_token_of_their_weight(attention):
    x = vl.Cloud.sphere(n=5, d=3, seed=4).points
    repeated = vl.Cloud(torch.cat([x, x[:1], x[:1]]))
    weighted = vl.Cloud(x, weights=[3 / 7, 1 / 7, 1 / 7, 1 / 7, 1 / 7])
    pde = sphere_pde(attention, 3.0)
    torch.testing.assert_close(
        vl.velocity(pde, repeated)[:5], vl.velocity(pde, weighted), rtol=1e-12, atol=1e-13
    )


@pytest.mark.parametrize(
    ("attention", "rate"), [("softmax", -2.0), ("unnormalised", -2 * math.exp(2))]
)
def test_v21_contraction_inside_a_cluster(attention, rate):
    generator = torch.Generator().manual_seed(5)
    angles = 1e-4 * torch.randn(30, dtype=torch.float64, generator=generator)
    run = vl.simulate(
        sphere_pde(attention, 2.0), circle(angles), until=4 / abs(rate), step=0.01 / abs(rate)
    )
    angle = torch.atan2(run.points[..., 1], run.points[..., 0])
    variance = angle.var(dim=-1, unbiased=False)
    assert slope(run.times.numpy(), variance.log().numpy()) == pytest.approx(rate, rel=1e-3)


@pytest.mark.parametrize("attention", ["softmax", "unnormalised"])
def test_v07_energy_balance(attention):
    cloud = vl.Cloud.sphere(n=20, d=3, seed=6)
    run = vl.simulate(
        sphere_pde(attention, 3.0),
        cloud,
        until=0.5,
        step=2.5e-3,
        save_every=1,
        observe=("energy", "dissipation"),
    )
    energy, dissipation = run.observables["energy"], run.observables["dissipation"]
    assert (energy.diff() <= 1e-14).all()
    # Simpson on the recorded grid: fourth order, as the trajectory
    h = float(run.times[1] - run.times[0])
    weights = torch.full_like(dissipation, 2.0)
    weights[1::2] = 4.0
    weights[0] = weights[-1] = 1.0
    lost = float((weights * dissipation).sum()) * h / 3
    assert float(energy[0] - energy[-1]) == pytest.approx(lost, abs=1e-9)


@pytest.mark.parametrize("d", [2, 3, 5])
def test_v08_cross_ratios_are_conserved_without_temperature(d):
    cloud = vl.Cloud.sphere(n=12, d=d, seed=9)

    def ratio(x: torch.Tensor) -> torch.Tensor:
        gap = torch.cdist(x, x, compute_mode="donot_use_mm_for_euclid_dist")
        return gap[..., 0, 1] * gap[..., 2, 3] / (gap[..., 0, 2] * gap[..., 1, 3])

    def drift(beta: float) -> float:
        run = vl.simulate(sphere_pde("softmax", beta), cloud, until=4.0, step=0.02)
        ratios = ratio(run.points)
        return float((ratios / ratios[0] - 1).abs().max())

    assert drift(0.0) < 1e-9
    assert drift(1.0) > 0.01  # the control moves


@pytest.mark.slow
def test_v09_ott_antonsen():
    r0, n = 0.2, 4001
    mobius = (1 - r0) / (1 + r0)
    u = (torch.arange(n, dtype=torch.float64) + 0.5) / n
    angles = 2 * torch.atan(
        mobius * torch.tan(math.pi * (u - 0.5))
    )  # quantiles of the Poisson kernel
    run = vl.simulate(
        sphere_pde("softmax", 0.0), circle(angles), until=8.0, step=0.1, save_at=(2, 4, 6, 8)
    )
    order = run.points[-4:].mean(dim=-2).norm(dim=-1)
    times = torch.tensor([2.0, 4.0, 6.0, 8.0], dtype=torch.float64)
    exact = (1 + (r0**-2 - 1) * torch.exp(-times)) ** -0.5
    torch.testing.assert_close(order, exact, atol=1e-5, rtol=0)


def two_token_angle(attention: str, beta: float, phi0: float, t: float) -> float:
    """Angle after time t, from the time between two angles as an integral."""

    def rate(phi: float) -> float:
        if attention == "softmax":
            return 2 * math.sin(phi) / (1 + math.exp(beta * (1 - math.cos(phi))))
        return math.exp(beta * math.cos(phi)) * math.sin(phi)

    def lateness(phi: float) -> float:
        return quad(lambda p: 1 / rate(p), phi, phi0, epsabs=1e-13, epsrel=1e-13)[0] - t

    return float(brentq(lateness, 1e-6, phi0 - 1e-12, xtol=1e-14))


@pytest.mark.parametrize("attention", ["softmax", "unnormalised"])
@pytest.mark.parametrize("beta", [0.0, 1.0, 4.0])
def test_v10_two_tokens(attention, beta):
    phi0 = 2.0
    run = vl.simulate(
        sphere_pde(attention, beta),
        circle(torch.tensor([0.0, phi0]).double()),
        until=1.0,
        step=5e-3,
    )
    a, b = run.points[-1]
    phi = float(2 * torch.atan2((a - b).norm(), (a + b).norm()))
    assert phi == pytest.approx(two_token_angle(attention, beta, phi0, 1.0), abs=1e-9)
    if beta == 0:
        assert math.tan(phi / 2) == pytest.approx(math.tan(phi0 / 2) * math.exp(-1), abs=1e-9)
