"""Values of energies and dissipations known from formulas."""

import math

import pytest
import torch
from torch.testing import assert_close

from vlasov.cloud import Cloud
from vlasov.energies import dissipation, energy
from vlasov.pde import TransformerPDE, velocity
from vlasov.projections import Projections


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_l2_energy_does_not_lose_digits_far_from_the_origin(dtype):
    pde = TransformerPDE("l2", terms="decay")
    near = Cloud(torch.tensor([[0.0], [0.5], [1.25]], dtype=dtype))
    far = near.with_points(near.points + 4096)
    assert_close(energy(pde, far), energy(pde, near))


def test_the_energy_of_one_token_is_that_of_the_formula():
    x0 = 0.7
    pde = TransformerPDE("softmax")
    assert_close(energy(pde, Cloud([[x0]])).item(), -math.exp(x0**2) / 2)
    assert_close(dissipation(pde, Cloud([[x0]])).item(), x0**2 * math.exp(x0**2))


def test_golden_10_sinkhorn_energy_of_a_gaussian():
    maps = Projections([[0.9]], [[1.0]], [[0.9]])
    pde = TransformerPDE("sinkhorn:tolerance=1e-13", maps)
    cloud = Cloud.hermite(60, [0.0], [[0.8]])
    assert_close(2 * energy(pde, cloud).item(), -0.216781644, atol=1e-9, rtol=0.0)


@pytest.mark.parametrize("attention", ["softmax", "unnormalised"])
def test_v07_energy_and_weighted_speed_by_their_formulas(attention):
    beta, cloud = 3.0, Cloud.sphere(20, 3, seed=0)
    pde = TransformerPDE(attention, beta=beta, geometry="sphere")
    kernel = torch.exp(beta * cloud.points @ cloud.points.mT)
    assert_close(-energy(pde, cloud) / beta, kernel.mean() / (2 * beta))
    w = kernel.mean(1) if attention == "softmax" else torch.ones(20, dtype=torch.float64)
    speeds = velocity(pde, cloud).square().sum(-1)
    assert_close(dissipation(pde, cloud) / beta, (w * speeds).mean())
