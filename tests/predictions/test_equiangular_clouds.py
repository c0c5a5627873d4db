"""Predictions V02-V04: clouds whose pairs all enclose one angle, reduced to one equation."""

import math

import numpy as np
import pytest
import torch
from flows import slope, sphere_pde

import vlasov as vl


def equiangular(n: int, d: int, rho: float) -> vl.Cloud:
    """N unit vectors of R^d whose pairs all have inner product rho."""
    gram = torch.full((n, n), rho, dtype=torch.float64) + (1 - rho) * torch.eye(
        n, dtype=torch.float64
    )
    x = torch.zeros(n, d, dtype=torch.float64)
    x[:, :n] = torch.linalg.cholesky(gram)
    return vl.Cloud(x / x.norm(dim=-1, keepdim=True))


def pairs(x: torch.Tensor) -> torch.Tensor:
    gram = x @ x.mT
    i, j = torch.triu_indices(len(x), len(x), offset=1)
    return gram[i, j]


EQUIANGULAR = {
    ("softmax", 0.0): (0.29049, 0.549615, 0.773989, 0.903997),
    ("softmax", 1.0): (0.27318, 0.517158, 0.74603, 0.888841),
    ("softmax", 4.0): (0.152212, 0.228386, 0.343179, 0.510708),
    ("unnormalised", 1.0): (0.34775, 0.772339, 0.976081, 0.998351),
}


def reduced_rate(attention: str, beta: float, n: int):
    def softmax(t, rho):
        return 2 * (1 - rho) * (1 + (n - 1) * rho) / (np.exp(beta * (1 - rho)) + n - 1)

    def unnormalised(t, rho):
        return (2 / n) * np.exp(beta * rho) * (1 - rho) * (1 + (n - 1) * rho)

    return softmax if attention == "softmax" else unnormalised


@pytest.mark.parametrize(("attention", "beta"), EQUIANGULAR)
def test_v02_equiangular_reduction(attention, beta):
    from scipy.integrate import solve_ivp

    times = (0.5, 1.0, 1.5, 2.0)
    run = vl.simulate(
        sphere_pde(attention, beta),
        equiangular(16, 32, 0.1),
        until=2.0,
        step=0.01,
        save_at=(0.0, *times),
    )
    rate = reduced_rate(attention, beta, 16)
    exact = solve_ivp(rate, (0, 2), [0.1], t_eval=times, rtol=1e-12, atol=1e-13).y[0]
    measured = torch.stack([pairs(x) for x in run.points[1:]])
    spread = measured.amax(-1) - measured.amin(-1)
    assert spread.max() < 1e-13
    np.testing.assert_allclose(measured.mean(-1).numpy(), exact, atol=1e-8)
    np.testing.assert_allclose(
        measured.mean(-1).numpy(), EQUIANGULAR[attention, beta], atol=6e-7
    )  # the printed digits


def test_v03_closed_form_without_temperature():
    n = 32
    half = math.log(n + 1) / 2
    run = vl.simulate(
        sphere_pde("softmax", 0.0),
        equiangular(n, n, 0.0),
        until=half,
        step=0.01,
        save_at=(1.0, half),
    )
    rho = [float(pairs(x).mean()) for x in run.points[-2:]]
    assert rho[0] == pytest.approx(math.expm1(2) / (math.exp(2) + n - 1), abs=1e-9)
    assert rho[1] == pytest.approx(0.5, abs=1e-9)


@pytest.mark.parametrize(
    ("attention", "beta", "rate"),
    [
        ("softmax", 1.0, -2.0),
        ("unnormalised", 1.0, -2 * math.exp(1)),
        ("unnormalised", 2.0, -2 * math.exp(2)),
    ],
)
def test_v04_terminal_clustering_rate(attention, beta, rate):
    run = vl.simulate(
        sphere_pde(attention, beta),
        equiangular(8, 8, 0.1),
        until=30 / abs(rate) + 3,
        step="adaptive",
        rtol=1e-11,
        atol=1e-13,
    )
    gap = np.array([float(1 - pairs(x).mean()) for x in run.points])
    tail = (gap > 1e-8) & (gap < 1e-3)
    assert slope(run.times.numpy()[tail], np.log(gap[tail])) == pytest.approx(rate, rel=1e-3)
